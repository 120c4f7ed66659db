#!/usr/bin/env bash
# scripts.sh ROOT SCRATCH: the scripts parse, refuse wrong arguments in one line, and setup knows what to say where.
set -eu
root=$1
scratch=$2/scripts
failed=0
mkdir -p "$scratch/bin"
# expect CODE TEXT COMMAND…: exit code and a part of what is printed.
expect() {
  local code=0 want=$1 text=$2 output
  shift 2
  output=$("$@" 2>&1 </dev/null) || code=$?
  if [ "$code" != "$want" ] || [[ $output != *"$text"* ]]; then
    echo "$*: code $code, expected $want and '$text', printed: $output"
    failed=1
  fi
}

for script in setup demo test lib.sh; do expect 0 '' bash -n "$root/scripts/$script"; done
expect 0 '' bash -n "$root/.ci/run"
for script in setup demo test; do
  expect 2 "unknown argument '--frobnicate'; usage:" bash "$root/scripts/$script" --frobnicate
  [ "$(bash "$root/scripts/$script" --frobnicate 2>&1 | wc -l)" = 1 ] || { echo "$script: more than one line"; failed=1; }
  expect 0 "usage: scripts/$script" bash "$root/scripts/$script" --help
done

printf 'PRETTY_NAME="Fedora Linux 40"\nID=fedora\n' >"$scratch/fedora"
expect 0 'Fedora Linux 40: not Debian or Ubuntu' env ULPSCOPE_OS_RELEASE="$scratch/fedora" bash "$root/scripts/setup"
expect 0 'SQLite 3' env ULPSCOPE_OS_RELEASE="$scratch/fedora" bash "$root/scripts/setup"

# A package manager that knows nothing, and one where all is installed.
printf 'PRETTY_NAME="Ubuntu 24.04"\nID=ubuntu\nID_LIKE=debian\n' >"$scratch/ubuntu"
setup=(env ULPSCOPE_OS_RELEASE="$scratch/ubuntu" PATH="$scratch/bin:$PATH" bash "$root/scripts/setup")
printf '#!/bin/sh\nexit 1\n' >"$scratch/bin/dpkg-query"
chmod +x "$scratch/bin/dpkg-query"
expect 0 'would install: build-essential cmake' "${setup[@]}" --dry-run
printf '#!/bin/sh\necho installed\n' >"$scratch/bin/dpkg-query"
expect 0 '' "${setup[@]}"
[ -z "$("${setup[@]}" 2>&1)" ] || { echo "setup is not quiet when nothing is missing"; failed=1; }
exit "$failed"
