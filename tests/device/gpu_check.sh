#!/usr/bin/env bash
# gpu_check.sh ULPSCOPE SAME_STEPS SCRIPTS SCRATCH: the script from end to end where there is no GPU: a program that takes the CPU for one
# GPU stands in the place of the installed one, and small experiments in that of the examples. What is looked at is the script: its parts,
# what it leaves, and its exit codes.
set -eu
ulpscope=$1 same_steps=$2 scripts=$3 scratch=$4/gpu_check
rm -rf "$scratch"
tree=$scratch/tree
mkdir -p "$tree/bin" "$tree/lib/ulpscope/tests" "$tree/share/ulpscope/examples" "$tree/share/ulpscope/scripts"
cp "$scripts/gpu_check" "$scripts/lib.sh" "$tree/share/ulpscope/scripts/"
cat >"$tree/bin/ulpscope" <<END
#!/usr/bin/env bash
words=()
for word in "\$@"; do words+=("\${word//cuda:0/cpu}"); done
case \$1 in
  devices)
    if [ "\${2:-}" = --json ]; then
      cat "$scratch/devices.json"
    else
      echo "GPU   cuda:0: CPU as GPU, compute capability 9.0, 1 GiB"
    fi
    ;;
  tensor-core) echo '{"generation": "hopper", "vectors": []}'; exit "\${UNIT_CODE:-0}" ;;
  run)
    # Memory for a batch of 8 and less.
    if [[ "\$*" == *gpt2-124m*train.batch=16* ]]; then echo "ulpscope: no memory" >&2; exit 2; fi
    exec "$ulpscope" "\${words[@]}"
    ;;
  *) exec "$ulpscope" "\${words[@]}" ;;
esac
END
# As the program writes it: the CPU's name before those of the GPUs, and modes before each.
cat >"$scratch/devices.json" <<'END'
{
  "cpu": {
    "modes": [
      {
        "mode": "fp32",
        "runs": "native"
      }
    ],
    "name": "a CPU",
    "threads": 1
  },
  "cuda": {
    "driver_found": true,
    "gpus": [
      {
        "compute_capability": "9.0",
        "modes": [
          {
            "mode": "fp32",
            "runs": "native"
          }
        ],
        "name": "CPU as GPU"
      }
    ],
    "reasons": []
  }
}
END
for program in kernels_ops_test products_emulated_test engine_device_test engine_ahead_test; do
  printf '#!/bin/sh\necho "tf32 operands of fp32 are rounded to nearest"\n' >"$tree/lib/ulpscope/tests/$program"
done
cp "$same_steps" "$tree/lib/ulpscope/tests/same_steps"
chmod +x "$tree/bin/ulpscope" "$tree"/lib/ulpscope/tests/*
small='[model]\nkind = "gpt"\ncontext = 8\nwidth = 16\nlayers = 1\nheads = 2\n[data]\nrandom = true\nheld_out = 0\n[train]\nbatch = 2\n[run]\nthreads = 1\ncheckpoint_every = -1\n'
for example in mlp gpt cnn encoder llama gpt2-124m; do printf "$small" >"$tree/share/ulpscope/examples/$example.toml"; done

failed=0
wrong() {
  printf '%s\n' "$*" "$(head -n 40 <<<"$output")"
  failed=1
}
# check CODE: what the script says and leaves.
check() {
  local code=0
  output=$("$tree/share/ulpscope/scripts/gpu_check" -o "$scratch/out" 2>&1 </dev/null) || code=$?
  [ "$code" = "$1" ] || wrong "exit code $code, expected $1"
}
check 0
for words in 'CPU as GPU' 'matrix_unit                  passed' 'gpt2_124m                    passed' 'gpt2_124m_products           passed' 'steps_of_llama               passed'; do
  [[ $output == *"$words"* ]] || wrong "not said: $words"
done
[ -f "$scratch/out/CPU_as_GPU.ulp" ] || wrong "no run file"
! command -v python3 >/dev/null || python3 - "$scratch/out/CPU_as_GPU.json" <<'END' || wrong "the JSON is not as it should be"
import json, sys
left = json.load(open(sys.argv[1]))
assert left["passed"] is True and left["device"] == "CPU as GPU", left["passed"]
assert left["matrix_unit"]["generation"] == "hopper"
assert left["tf32_rounding"] == "to nearest", left["tf32_rounding"]
gpt2 = left["gpt2_124m"]
assert len(gpt2["products"]["modes"]) == 8 and len(gpt2["time"]["modes"]) == 8
assert all(mode["step_by_products"] > 0 for mode in gpt2["products"]["modes"]), gpt2["products"]
assert [part["name"] for part in left["parts"]].count("gpt2_124m") == 1
assert set(left["steps_beside_the_cpu"]) == {"mlp", "gpt", "cnn", "encoder", "llama"}
END
# In a clone a bundle is packed wherever there is a device file of a GPU, of either kind; where there is none, any program says why.
clone=$scratch/clone
mkdir -p "$clone/scripts" "$clone/build/release/bin" "$scratch/dev"
cp "$scripts/gpu_check" "$scripts/lib.sh" "$clone/scripts/"
printf '#!/bin/sh\necho "GPU   none seen; all modes absent"\necho "      - no GPU module"\n' >"$clone/build/release/bin/ulpscope"
printf '#!/bin/sh\necho packed\nexit 3\n' >"$clone/scripts/bundle"
chmod +x "$clone/build/release/bin/ulpscope" "$clone/scripts/bundle"
# with_devices FILE…: the script where /dev has these.
with_devices() {
  unshare -rm bash -c 'dev=$1 script=$2; shift 2; mount -t tmpfs none "$dev"; cd "$dev"; touch null "$@"; ln -s /proc/self/fd fd
    mount --bind /dev/null null; mount --rbind "$dev" /dev; exec "$script"' - "$scratch/dev" "$clone/scripts/gpu_check" "$@" 2>&1 </dev/null
}
if unshare -rm mount -t tmpfs none "$scratch/dev" 2>/dev/null; then
  for files in nvidia0 dxg 'nvidia0 dxg'; do
    output=$(with_devices $files) || true
    [ "$output" = packed ] || wrong "a clone on a machine with $files packs nothing"
  done
  output=$(with_devices nvidiactl) || true
  [ "$output" = $'skipped: no GPU\n- no GPU module' ] || wrong "a clone on a machine without a GPU does not say why"
fi
# Seconds of the parts, as they stand in the script: under 6 minutes together, and none that has to pass comes behind the long ones.
output=$(sed -n 's/^ *part \([^ ]*\) \([0-9]*\) .*/\1 \2/p' "$scripts/gpu_check")
seconds=$(awk '{ all += $1 ~ /example/ ? 5 * $2 : $2 } END { print all }' <<<"$output")
[ "$seconds" = 350 ] || wrong "the parts have $seconds seconds"
awk '/gpt2/ { timed = 1 } /example/ && timed { exit 1 }' <<<"$output" || wrong "GPT-2 comes before the steps beside the CPU"
export UNIT_CODE=1   # a unit that adds up otherwise than captured data say
check 1
[[ $output == *'matrix_unit                  failed with exit code 1'* ]] || wrong "a wrong unit is not said"
[ "$failed" = 1 ] || rm -rf "$scratch"
exit "$failed"
