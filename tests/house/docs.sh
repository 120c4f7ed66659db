#!/bin/sh
# docs.sh ROOT: docs/experiment_file.md has every key of the experiment file, and none that does not exist.
set -eu
cd "$1"
key='[a-z]+\.[a-z0-9_]+(\.[a-z0-9_]+)?'
in_code=$(cat profiler/experiment/keys_*.cpp | grep -oE "\"$key\"" | tr -d '"' | sort -u)
# The first column of the tables.
in_docs=$(sed -n 's/^| \(`[^|]*\) |.*/\1/p' docs/experiment_file.md | grep -oE "\`$key\`" | tr -d '\140' | sort -u)
[ -n "$in_code" ] || { echo "no keys found in profiler/experiment/keys_*.cpp"; exit 1; }
[ "$in_code" = "$in_docs" ] && exit 0
echo "docs/experiment_file.md and profiler/experiment/keys_*.cpp differ:"
for k in $in_code; do printf '%s\n' "$in_docs" | grep -qx "$k" || echo "  $k is not documented"; done
for k in $in_docs; do printf '%s\n' "$in_code" | grep -qx "$k" || echo "  $k is documented, but is no key"; done
exit 1
