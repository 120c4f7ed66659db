#!/usr/bin/env bash
# same_steps.sh ULPSCOPE SAME_STEPS EXAMPLES SCRATCH: recordings of the same experiment with different instruction sets (whose products add
# up in another order) pass; those of other experiments do not.
set -eu
ulpscope=$1 same_steps=$2 examples=$3 scratch=$4/same_steps
rm -rf "$scratch"
mkdir -p "$scratch"
failed=0
record() {   # NAME FLAGS…
  local name=$1
  shift
  "$ulpscope" run "$examples/mlp.toml" --set run.device=cpu --modes fp32,fp16,bf16 --seeds 1 --steps 12 --ranges --set run.timing_steps=0 \
    --set train.scaler.init=16777216 -o "$scratch/$name.ulp" "$@" >"$scratch/$name.log" 2>&1 || { cat "$scratch/$name.log"; exit 1; }
}
# expect CODE TEXT FILES…
expect() {
  local code=0 want=$1 text=$2 output
  shift 2
  output=$("$same_steps" "$@" 2>&1) || code=$?
  if [ "$code" != "$want" ] || [[ $output != *"$text"* ]]; then
    printf 'same_steps %s: code %s, expected %s and "%s", printed:\n%s\n' "$*" "$code" "$want" "$text" "$output"
    failed=1
  fi
}
ULPSCOPE_ISA=portable record portable
record here
record rate --set train.lr=1e-2
record scale --set train.scaler.init=65536
record short --steps 11
cd "$scratch"
expect 0 'the same steps skipped' portable.ulp here.ulp
expect 0 '"wrong": ""' --json portable.ulp here.ulp
expect 1 'is skipped by one and not by the other' here.ulp scale.ulp
expect 1 'WRONG: losses of step' here.ulp rate.ulp
expect 1 'WRONG: 12 and 11 steps' here.ulp short.ulp
expect 2 'usage: same_steps' here.ulp
expect 2 'nothing.ulp' here.ulp nothing.ulp
[ "$failed" = 1 ] || rm -rf "$scratch"
exit "$failed"
