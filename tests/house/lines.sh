#!/bin/sh
# lines.sh ROOT: no source file of a room is longer than 400 lines.
set -eu
cd "$1"
rooms=
for room in kernels engine reports profiler gui; do
  [ ! -d "$room" ] || rooms="$rooms $room"
done
# shellcheck disable=SC2086  # room names are words
find $rooms -type f \( -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' -o -name '*.inc' \) -exec wc -l {} + |
  awk '$2 != "total" && $1 > 400 { printf "%s: %d lines, over 400: split it\n", $2, $1; bad = 1 } END { exit bad }'
