# Sourced by the scripts beside it. Goes to the repository root and sets what they share.
set -euo pipefail

# Some continuous-integration systems set no HOME; ccache and others want one.
if [ -z "${HOME:-}" ]; then
  HOME=$(getent passwd "$(id -u)" | cut -d: -f6 || true)
  export HOME="${HOME:-/tmp}"
fi
unset CDPATH  # cd would go elsewhere and print where
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

say() { printf '\n== %s\n' "$*"; }

# One line, exit code 2: the same contract as the program's.
usage_error() {
  printf '%s\n' "$*" >&2
  exit 2
}

# How many compilers fit: one a processor, and 1.5 GiB of free memory each (the largest test files need about 1 GiB).
jobs_that_fit() {
  # The variable serves tests/house.
  local processors available limit used cached group=${ULPSCOPE_CGROUP:-/sys/fs/cgroup}
  processors=$(nproc)
  available=$(awk '$1 == "MemAvailable:" { print int($2 / 1024) }' /proc/meminfo)
  # A container may be allowed less than the machine has. Files in the page cache that nobody has used lately are as good as free.
  limit=$(cat "$group/memory.max" 2>/dev/null || echo max)
  if [ "$limit" != max ]; then
    used=$(cat "$group/memory.current" 2>/dev/null || echo 0)
    cached=$(awk '$1 == "inactive_file" { print $2 }' "$group/memory.stat" 2>/dev/null || true)
    limit=$(((limit - used + ${cached:-0}) / 1048576))
    [ "$limit" -ge "$available" ] || available=$limit
  fi
  local fit=$((available / 1536))
  [ "$fit" -le "$processors" ] || fit=$processors
  [ "$fit" -ge 1 ] || fit=1
  echo "$fit"
}
