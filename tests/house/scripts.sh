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

for script in setup demo test bench fuzz sanitize bundle gpu_check translations lib.sh; do expect 0 '' bash -n "$root/scripts/$script"; done
expect 0 '' bash -n "$root/.ci/run"
for script in setup demo test bench fuzz sanitize bundle gpu_check translations; do
  expect 2 "unknown argument '--frobnicate'; usage:" bash "$root/scripts/$script" --frobnicate
  [ "$(bash "$root/scripts/$script" --frobnicate 2>&1 | wc -l)" = 1 ] || { echo "$script: more than one line"; failed=1; }
  expect 0 "usage: scripts/$script" bash "$root/scripts/$script" --help
done

expect 2 "it takes all, or numbers" bash "$root/scripts/bundle" --architectures 'sm_80'
expect 2 'must end in .tar.zst or .tar.gz' bash "$root/scripts/bundle" -o bundle.zip
expect 2 "it takes a number" bash "$root/scripts/gpu_check" --gpu first
expect 2 "'nothing.tar.zst' is no file" bash "$root/scripts/gpu_check" nothing.tar.zst

printf 'PRETTY_NAME="Fedora Linux 40"\nID=fedora\n' >"$scratch/fedora"
expect 0 'Fedora Linux 40: not Debian or Ubuntu' env ULPSCOPE_OS_RELEASE="$scratch/fedora" bash "$root/scripts/setup"
expect 0 'oneDNN' env ULPSCOPE_OS_RELEASE="$scratch/fedora" bash "$root/scripts/setup" --bench
expect 0 'SQLite 3' env ULPSCOPE_OS_RELEASE="$scratch/fedora" bash "$root/scripts/setup"

# A package manager that knows nothing, and one where all is installed.
printf 'PRETTY_NAME="Ubuntu 24.04"\nID=ubuntu\nID_LIKE=debian\n' >"$scratch/ubuntu"
setup=(env ULPSCOPE_OS_RELEASE="$scratch/ubuntu" PATH="$scratch/bin:$PATH" bash "$root/scripts/setup")
printf '#!/bin/sh\nexit 1\n' >"$scratch/bin/dpkg-query"
chmod +x "$scratch/bin/dpkg-query"
expect 0 'would install: build-essential cmake' "${setup[@]}" --dry-run
expect 0 'libgmock-dev libbenchmark-dev libdnnl-dev' "${setup[@]}" --bench --dry-run
printf '#!/bin/sh\necho installed\n' >"$scratch/bin/dpkg-query"
expect 0 '' "${setup[@]}"
# A release whose CMake is too old is refused in one line, whether it is installed or offered.
printf '#!/bin/sh\necho "cmake version 3.22.1"\n' >"$scratch/bin/cmake"
chmod +x "$scratch/bin/cmake"
expect 1 'has CMake 3.22.1; ulpscope needs 3.25' "${setup[@]}" --dry-run
[ "$("${setup[@]}" --dry-run 2>&1 | wc -l)" = 1 ] || { echo "setup: more than one line"; failed=1; }
rm "$scratch/bin/cmake"

# Wherever cd would go by itself, the scripts find their tree.
expect 0 'usage: scripts/setup' env CDPATH=/tmp:/ bash -c "cd '$root' && exec bash scripts/setup --help"
[ "$(cd "$root" && CDPATH="$root:/" bash scripts/setup --help 2>&1 | wc -l)" = 1 ] || { echo "CDPATH prints"; failed=1; }

# Cached files count as free memory: 4 GiB allowed, all used; then all of it is cache, and two compilers fit.
jobs_in() { ULPSCOPE_CGROUP=$1 bash -c "source '$root/scripts/lib.sh' && jobs_that_fit"; }
rm -rf "$scratch/group"
mkdir -p "$scratch/group"
echo 4294967296 | tee "$scratch/group/memory.max" >"$scratch/group/memory.current"
[ "$(jobs_in "$scratch/group")" = 1 ] || { echo "jobs_that_fit: a full container has room"; failed=1; }
echo "inactive_file 4294967296" >"$scratch/group/memory.stat"
[ "$(jobs_in "$scratch/group")" = "$(echo max >"$scratch/group/memory.max"; n=$(jobs_in "$scratch/group"); [ "$n" -le 2 ] || n=2; echo "$n")" ] ||
  { echo "jobs_that_fit: cached files are not counted as free"; failed=1; }

[ -z "$("${setup[@]}" 2>&1)" ] || { echo "setup is not quiet when nothing is missing"; failed=1; }
exit "$failed"
