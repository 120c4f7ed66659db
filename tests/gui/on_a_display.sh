#!/bin/bash
# on_a_display.sh VIEWER ULPSCOPE SCREENSHOT FOLDER [WIDTHxHEIGHT]: the real program on a display of its own (Xvfb), driven with keys and
# the mouse: a recording made by the real ulpscope, every panel, the filter, a file that is none, the form that starts a run, its end.
# Screenshots stay in FOLDER. Prints what failed; exit code 1 then.
set -euo pipefail
viewer=$1 ulpscope=$2 screenshot=$3 folder=$4 size=${5:-1280x800}
if [ -z "${ON_A_DISPLAY:-}" ]; then
  # A server that begins anew when its last client goes takes no other in that moment.
  exec env ON_A_DISPLAY=yes xvfb-run -a -s "-screen 0 ${size}x24 -noreset" "$BASH" "$0" "$@"
fi
mkdir -p "$folder"
scratch=$(mktemp -d)
pid=
trap 'if [ -n "$pid" ]; then kill "$pid" 2>/dev/null || true; wait "$pid" 2>/dev/null || true; fi; rm -rf "$scratch"' EXIT
export HOME=$scratch XDG_CONFIG_HOME=$scratch/config XDG_DATA_HOME=$scratch/data QT_QPA_PLATFORM=xcb DBUS_SESSION_BUS_ADDRESS=disabled:
cd "$scratch"
fail() { echo "on_a_display.sh: $*" >&2; "$screenshot" "$folder/failed.png" || true; exit 1; }
picture() { sleep 1; "$screenshot" "$folder/$1.png"; }
title() { xdotool getwindowname "$(xdotool search --onlyvisible --pid "$pid" | tail -n 1)" 2>/dev/null || true; }
# wait_for SECONDS COMMAND…
wait_for() { local left=$(($1 * 5)); shift; until "$@"; do [ $((left--)) -gt 0 ] || return 1; sleep 0.2; done; }
titled() { [[ "$(title)" == *"$1"* ]]; }
alive() { kill -0 "$pid" 2>/dev/null; }
press() { xdotool key --clearmodifiers "$@"; sleep 0.3; }

head -c 8000 /dev/zero | tr '\0' 'a' >text.txt
printf '%s\n' '[model]' 'kind = "gpt"' 'context = 16' 'width = 16' 'layers = 1' 'heads = 1' '[data]' 'path = ["text.txt"]' '[train]' 'steps = 40' 'batch = 2' \
  '[run]' 'modes = ["fp32", "fp16"]' 'timing_steps = 10' >tiny.toml
"$ulpscope" run tiny.toml -o first.ulp >/dev/null 2>&1 || fail "ulpscope run"
echo "no run file" >bad.ulp

"$viewer" first.ulp >viewer.log 2>&1 &
pid=$!
wait_for 30 titled first.ulp || fail "the window does not show first.ulp: $(cat viewer.log)"
window=$(xdotool search --onlyvisible --pid "$pid" | tail -n 1)
xdotool windowmove "$window" 0 0 windowsize "$window" "${size%x*}" "${size#*x}"
xdotool windowfocus "$window"
for key in 1 2 3 4 5 6 7 8 9; do
  press "ctrl+$key"
  picture "panel-$key"
  alive || fail "ended at Ctrl+$key"
done
press ctrl+2
xdotool mousemove $((${size%x*} / 2)) $((${size#*x} / 2)) click 4 click 4
picture zoomed
press ctrl+z
press ctrl+f
xdotool type query
picture filtered
press F5
alive || fail "ended at F5"
press ctrl+w
wait_for 10 titled ulpscope || fail "Ctrl+W does not close the file"
picture first-page

# A run from the form: the fields are reached with the keyboard.
xdotool windowfocus "$window"
press ctrl+n
sleep 1
xdotool type --delay 5 "$scratch/tiny.toml"
picture form
press Return
wait_for 60 titled run.ulp || fail "the run that was started does not come up: $(cat viewer.log)"
press ctrl+2
picture live
finished() { "$ulpscope" info run.ulp 2>/dev/null | grep -q finished && [ ! -e run.ulp-lock ]; }
wait_for 60 finished || fail "the run does not end"
picture finished
xdotool windowfocus "$window"
press ctrl+q
gone() { ! alive; }
wait_for 20 gone || fail "the window does not close"
wait "$pid" || fail "the viewer ended with a fault: $(cat viewer.log)"
pid=

# Trouble is said in the window.
"$viewer" bad.ulp missing.ulp first.ulp >viewer.log 2>&1 &
pid=$!
wait_for 30 titled first.ulp || fail "a bad file hides the good one"
picture trouble
alive || fail "ended at a file that is no run file"
kill "$pid"
wait "$pid" 2>/dev/null || true

# Other languages, where this build has them.
"$viewer" --help | grep -q 'en, ar, vi' || exit 0
code=0
"$viewer" --language xx first.ulp >viewer.log 2>&1 || code=$?
[ "$code" = 2 ] && grep -q "no 'xx'; there are en, ar, vi" viewer.log || fail "--language xx: code $code, $(cat viewer.log)"
"$viewer" --language ar first.ulp >viewer.log 2>&1 &
pid=$!
wait_for 30 titled first.ulp || fail "the window does not open in Arabic: $(cat viewer.log)"
picture arabic
alive || fail "ended in Arabic"
