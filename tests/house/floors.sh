#!/bin/sh
# floors.sh ROOT: no include points to a higher floor (kernels < engine < profiler; reports stands on a few kernel headers), nor inside of a
# room to a folder that stands above: each folder may stand on those its rule names. The first rule that fits a file is its rule.
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
    rule("kernels/tensor_core/", base "|^kernels/tensor_core/|^kernels/arithmetic[.]h$")
    rule("kernels/cpu/", base "|" top "|^kernels/(cpu|ops|tensor_core)/")
    rule("kernels/cuda/", base "|" top "|^kernels/(cuda|ops)/")
    rule("kernels/", "^kernels/")
    engine_base = "^kernels/|^engine/[a-z_]+[.]h$|^engine/graph/"
    rule("engine/graph/operator.cpp", engine_base "|^engine/ops/families[.]h$")  # the list of all operators
    rule("engine/graph/", engine_base)
    rule("engine/ops/", engine_base "|^engine/ops/")
    rule("engine/precision/", engine_base "|^engine/precision/")
    rule("engine/optim/", engine_base "|^engine/optim/")
    rule("engine/data/", engine_base "|^engine/data/")
    rule("engine/passes/", engine_base "|^engine/(ops|precision|optim|passes)/")
    rule("engine/models/", engine_base "|^engine/(data|models)/")
    rule("engine/train/", engine_base "|^engine/(precision|optim|data|passes|models|train)/")
    rule("engine/", "^(kernels|engine)/")
    reports_base = "^kernels/(formats|scaling)/|^kernels/(error|nearest|portable)[.]h$|^reports/run_file/"
    rule("reports/run_file/", reports_base)
    rule("reports/hardware/", reports_base "|^reports/hardware/")
    rule("reports/analysis/", reports_base "|^reports/(hardware|analysis)/")
    rule("reports/export/", reports_base "|^reports/(hardware|analysis|export)/")
    rule("reports/", "^reports/|^kernels/(formats|scaling)/|^kernels/(error|nearest|portable)[.]h$")
    profiler_base = "^(kernels|engine|reports)/|^profiler/(probes/|version[.]h$)"
    rule("profiler/probes/", profiler_base)
    rule("profiler/trace/", profiler_base "|^profiler/trace/")
    rule("profiler/experiment/", profiler_base "|^profiler/(trace|experiment)/")
    for (i = split("predict capsule mend sweep import", over, " "); i > 0; --i)
      rule("profiler/" over[i] "/", profiler_base "|^profiler/(trace|experiment|" over[i] ")/")
    rule("profiler/", "^(kernels|engine|reports|profiler)/")
    gui_base = "^reports/|^kernels/(formats|scaling)/|^kernels/(error|portable)[.]h$|^gui/models/"
    rule("gui/models/", gui_base)
    rule("gui/charts/", gui_base "|^gui/charts/")
    rule("gui/widgets/", gui_base "|^gui/(charts|widgets)/")
    rule("gui/panels/", gui_base "|^gui/(charts|widgets|panels)/")
    rule("gui/runs/", gui_base "|^gui/(widgets|runs)/")
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
