#!/bin/sh
# self_test.sh CHECKS SCRATCH: the checks beside this file catch what they are for, in a made-up tree, and accept a clean one.
set -eu
checks=$1
root=$2/tree
failed=0
rm -rf "$root"
mkdir -p "$root/kernels/ops" "$root/kernels/formats" "$root/engine/graph" "$root/reports/analysis" "$root/profiler" "$root/tests"
touch "$root/CMakeLists.txt" "$root/README.md" "$root/LICENSE" "$root/.gitignore"
put() {
  mkdir -p "$(dirname "$root/$1")"
  printf '%b' "$2" >"$root/$1"
}
# expect CODE TEXT CHECK: the check ends with that code and prints that text (TEXT may be empty).
expect() {
  code=0
  output=$(sh "$checks/$3" "$root" 2>&1) || code=$?
  case "$code:$output" in
    "$1:"*"$2"*) ;;
    *)
      echo "$3 gave code $code, expected $1 with '$2': $output"
      failed=1
      ;;
  esac
}

put kernels/launch.h '#pragma once\n#include "kernels/ops/params.h"\n#include <vector>\n'
put reports/analysis/a.cpp '#include "kernels/formats/format.h"\n#include "kernels/scaling/loss_scaler.h"\n#include "kernels/error.h"\n'
put engine/graph/operator.cpp '#include "engine/ops/families.h"\n#include "engine/streams.h"\n'
put profiler/cli/a.cpp '#include "profiler/capsule/capsule.h"\n#include "profiler/cli/text.h"\n'
put profiler/mend/a.cpp '#include "profiler/trace/clock.h"\n#include "profiler/experiment/runner.h"\n#include "reports/analysis/mends.h"\n'
put engine/graph/graph.h '#include "kernels/launch.h"\n'
put tests/t.cpp '#include "tests/t.h"\n#include "profiler/p.h"\n'
expect 0 '' floors.sh
expect 0 '' lines.sh
expect 0 '' top_level.sh

# One violation at a time: file, its text, what must be said of it.
violation() {
  put "$1" "$2"
  expect 1 "$3" floors.sh
  rm "$root/$1"
}
violation kernels/bad.cpp '\n#include "engine/graph/graph.h"\n' 'kernels/bad.cpp:2: includes "engine/graph/graph.h"'
violation kernels/bad.h '#  include <engine/graph/graph.h>\n' 'kernels/bad.h:1'
violation kernels/formats/bad.h '#include "kernels/launch.h"\n' 'kernels/formats/bad.h:1'
violation kernels/ops/bad.h '#include "kernels/cpu/device.h"\n' 'kernels/ops/bad.h:1'
violation kernels/cuda/bad.cu '#include "kernels/cpu/view.h"\n' 'kernels/cuda/bad.cu:1'
violation engine/bad.cpp '#include "profiler/p.h"\n' 'engine/bad.cpp:1'
violation engine/bad.cpp '#include "reports/run_file/reader.h"\n' 'engine/bad.cpp:1'
violation engine/bad.cpp '#include "tests/t.h"\n' 'engine/bad.cpp:1'
violation reports/bad.cpp '#include "kernels/device.h"\n' 'reports/bad.cpp:1'
violation reports/bad.cpp '#include "engine/graph/graph.h"\n' 'reports/bad.cpp:1'
violation profiler/bad.cpp '#include "gui/window.h"\n' 'profiler/bad.cpp:1'
violation engine/models/bad.cpp '#include "engine/train/trainer.h"\n' 'engine/models/bad.cpp:1'
violation engine/graph/bad.cpp '#include "engine/ops/families.h"\n' 'engine/graph/bad.cpp:1'
violation reports/run_file/bad.cpp '#include "reports/analysis/a.h"\n' 'reports/run_file/bad.cpp:1'
violation reports/analysis/bad.cpp '#include "reports/export/text.h"\n' 'reports/analysis/bad.cpp:1'
violation profiler/probes/bad.cpp '#include "profiler/experiment/keys.h"\n' 'profiler/probes/bad.cpp:1'
violation profiler/capsule/bad.cpp '#include "profiler/cli/text.h"\n' 'profiler/capsule/bad.cpp:1'
violation profiler/mend/bad.cpp '#include "profiler/capsule/capsule.h"\n' 'profiler/mend/bad.cpp:1'
violation gui/bad.cpp '#include "engine/graph/graph.h"\n' 'gui/bad.cpp:1'
violation engine/graph/bad.cpp '#include "graph.h"\n' 'from the repository root'
violation engine/graph/bad.cpp '#include "../../profiler/p.h"\n' 'from the repository root'

mkdir -p "$root/docs" "$root/profiler/experiment"
put profiler/experiment/keys_a.cpp 'key("observe.every", "half a line", {"interval"}), key("train.scaler.policy")\n'
put docs/experiment_file.md '| `observe.every` | 100 |\n| `train.scaler.policy` | 1 |\n'
expect 0 '' docs.sh
put docs/experiment_file.md '| `train.scaler.policy` | 1 |\n| `train.no` | 1 |\n'
expect 1 'observe.every is not documented' docs.sh
expect 1 'train.no is documented, but is no key' docs.sh

awk 'BEGIN { for (i = 0; i < 400; ++i) print "//" }' >"$root/engine/long.cpp"
expect 0 '' lines.sh
echo '//' >>"$root/engine/long.cpp"
expect 1 'engine/long.cpp: 401 lines' lines.sh
rm "$root/engine/long.cpp"

# The scratch folder may lie inside a git repository: there, only what it tracks counts, and it tracks nothing of this.
touch "$root/notes.txt"
expect 1 'notes.txt: does not belong' top_level.sh
exit "$failed"
