#!/bin/sh
# floors.sh ROOT: no include points to a higher floor (kernels < engine < profiler; reports stands on a few kernel headers).
# Prints one line a violation; exit code 1 if there is any.
set -eu
cd "$1"
rooms=
for room in kernels engine reports profiler gui tests; do
  [ ! -d "$room" ] || rooms="$rooms $room"
done
# shellcheck disable=SC2086  # room names are words
find $rooms -type f \( -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' -o -name '*.inc' \) -exec awk '
  BEGIN {
    top = "^kernels/[a-z_]+[.]h$"
    base = "^kernels/(formats|math|scaling)/|^kernels/(error|portable|nearest)[.]h$"
    rule("kernels/formats/", base)
    rule("kernels/math/", base)
    rule("kernels/scaling/", base)
    rule("kernels/ops/", base "|^kernels/ops/|^kernels/(arithmetic|step_state|tensor)[.]h$")
    rule("kernels/cpu/", base "|" top "|^kernels/(cpu|ops)/")
    rule("kernels/cuda/", base "|" top "|^kernels/(cuda|ops)/")
    rule("kernels/", "^kernels/")
    rule("engine/", "^(kernels|engine)/")
    rule("reports/", "^reports/|^kernels/(formats|scaling)/|^kernels/(error|portable)[.]h$")
    rule("profiler/", "^(kernels|engine|reports|profiler)/")
    rule("gui/", "^(gui|reports)/|^kernels/(formats|scaling)/|^kernels/(error|portable)[.]h$")
    rule("tests/", "^(kernels|engine|reports|profiler|gui|tests)/")
  }
  function rule(prefix, allowed) {
    prefixes[++rules] = prefix
    may_include[rules] = allowed
  }
  function complain(what) {
    printf "%s:%d: includes \"%s\": %s\n", FILENAME, FNR, target, what
    bad = 1
  }
  /^[ \t]*#[ \t]*include[ \t]*["<]/ {
    target = $0
    sub(/^[ \t]*#[ \t]*include[ \t]*/, "", target)
    quoted = substr(target, 1, 1) == "\""
    sub(/^["<]/, "", target)
    sub(/[">].*$/, "", target)
    if (target ~ /(^|\/)[.][.]\//) {
      complain("write the path from the repository root")
      next
    }
    if (target !~ /^(kernels|engine|reports|profiler|gui|tests)\//) {
      folder = FILENAME
      sub(/[^\/]*$/, "", folder)
      if (quoted && (getline line < (folder target)) >= 0) {
        close(folder target)
        complain("write the path from the repository root")
      }
      next
    }
    for (i = 1; i <= rules; ++i) {
      if (index(FILENAME, prefixes[i]) == 1) {
        if (target !~ may_include[i]) complain(prefixes[i] " may not stand on it")
        break
      }
    }
  }
  END { exit bad }
' {} +
