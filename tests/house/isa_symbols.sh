#!/bin/sh
# isa_symbols.sh NM ISA object…: an object compiled for one instruction set defines nothing visible to the linker outside its
# namespace ulpscope::…::ISA. Anything else (a std:: template, an inline function) could be merged with the copy of another
# instruction set, and AVX-512 code would run on a processor without it.
set -eu
nm=$1
isa=$2
shift 2
[ $# -gt 0 ] || { echo "no object files given for $isa" >&2; exit 1; }
bad=$("$nm" -A --extern-only --defined-only "$@" | awk -v isa="$isa" '
  BEGIN { inside = "^8ulpscope([0-9]+[a-z][a-z0-9_]*)*" length(isa) isa }
  {
    ++seen
    # References to the C++ runtime kept by exception tables; the address sanitizer.
    if ($NF ~ /^DW[.]ref[.]/ || $NF ~ /^__(odr_)?asan/) next
    name = $NF
    sub(/^_Z(GV|TV|TI|TS|TT)?Z*N[rVKRO]*/, "", name)
    if (name == $NF || name !~ inside) print
  }
  END { if (seen == 0) print "no symbol at all: is nm reading these objects?" }')
[ -n "$bad" ] || exit 0
printf '%s\n' "$bad" | c++filt
echo "outside ulpscope::...::$isa: make it ULPSCOPE_BODY or put it into an unnamed namespace"
exit 1
