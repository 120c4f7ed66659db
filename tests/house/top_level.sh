#!/bin/sh
# top_level.sh ROOT: the top level holds the rooms and a few known files, nothing else. What git does not track does not
# count; without git every entry does, but for build folders and recordings.
set -eu
cd "$1"
entries=$(git ls-files 2>/dev/null | cut -d/ -f1 | sort -u || true)
[ -n "$entries" ] || entries=$(ls -A)
printf '%s\n' "$entries" | {
  bad=0
  while IFS= read -r entry; do
    case $entry in
      kernels | engine | reports | profiler | gui | tests | scripts | examples | docs) ;;
      .* | CMakeLists.txt | CMakePresets.json | README.md | LICENSE | LICENSE.* | LICENSES) ;;
      build | build-* | *.ulp | *.ulp-wal | *.ulp-shm) ;;
      *)
        echo "$entry: does not belong on the top level"
        bad=1
        ;;
    esac
  done
  exit "$bad"
}
