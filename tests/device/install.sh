#!/usr/bin/env bash
# install.sh CMAKE BUILD PREFIX: what `cmake --install` lays out runs by itself, with its own libraries, from a place of its own.
set -eu
cmake=$1 build=$2 prefix=$3
rm -rf "$prefix"
for component in program libraries; do "$cmake" --install "$build" --prefix "$prefix" --component "$component" >"$build/install.log"; done
failed=0
# expect CODE TEXT COMMAND…: exit code and a part of what is printed.
expect() {
  local code=0 want=$1 text=$2 output
  shift 2
  output=$("$@" 2>&1 </dev/null) || code=$?
  if [ "$code" != "$want" ] || [[ $output != *"$text"* ]]; then
    printf '%s: code %s, expected %s and "%s", printed:\n%s\n' "$*" "$code" "$want" "$text" "$output"
    failed=1
  fi
}
cd /
export LD_LIBRARY_PATH=
expect 0 'ulpscope ' "$prefix/bin/ulpscope" --version
expect 0 'CPU   ' "$prefix/bin/ulpscope" devices
expect 0 'wte' "$prefix/bin/ulpscope" plan "$prefix/share/ulpscope/examples/gpt.toml" --mode fp16
for module in cuda cupti; do
  [ ! -e "$build/bin/libulpscope_cuda.so" ] || [ ! -e "$build/bin/libulpscope_$module.so" ] || expect 0 '' test -e "$prefix/lib/ulpscope/libulpscope_$module.so"
done
# Only what every Linux has comes from outside.
if ldd "$prefix/bin/ulpscope" | grep -v "$prefix/" | grep -Ev 'linux-vdso|ld-linux|lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s)\.so'; then
  echo "the lines above: libraries from outside $prefix"
  failed=1
fi
if [ -n "$(find "$prefix" -name 'libcu*' -o -name 'libnv*')" ]; then
  echo "CUDA's libraries are not to be handed on"
  failed=1
fi
# Without a GPU the check says so and why.
if ! "$prefix/bin/ulpscope" devices | grep -q '^GPU   cuda:'; then
  expect 77 'skipped: no GPU' "$prefix/share/ulpscope/scripts/gpu_check"
fi
[ "$failed" = 1 ] || rm -rf "$prefix"
exit "$failed"
