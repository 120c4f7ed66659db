# cmake -DNM=… -DLIST=file -P isa_symbols.cmake
# LIST has lines "set object". An object compiled for an instruction set may define global symbols, weak ones above all, only
# in that set's own namespace: the linker keeps one copy of a symbol, and it must not be the AVX-512 copy for everybody.
file(STRINGS "${LIST}" lines)
set(objects 0)
foreach(line IN LISTS lines)
  if(NOT line MATCHES "^([a-z0-9]+) (.+)$")
    message(FATAL_ERROR "not a line of the form 'set object': ${line}")
  endif()
  set(isa "${CMAKE_MATCH_1}")
  set(object "${CMAKE_MATCH_2}")
  string(LENGTH "${isa}" length)
  execute_process(COMMAND "${NM}" --defined-only --extern-only --format=posix "${object}"
    OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" symbols "${symbols}")
  foreach(symbol IN LISTS symbols)
    string(REGEX REPLACE " .*" "" symbol "${symbol}")
    # DW.ref: a pointer to the compiler's exception handler, data and the same for every set. __odr_asan: a sanitizer's marks.
    if(symbol STREQUAL "" OR symbol MATCHES "^_Z(GV|TI|TS|TV)?NK?8ulpscope(3cpu)?${length}${isa}" OR
       symbol STREQUAL "DW.ref.__gxx_personality_v0" OR symbol MATCHES "^__odr_asan")
      continue()
    endif()
    list(APPEND offenders "${symbol} in ${object}")
  endforeach()
  math(EXPR objects "${objects} + 1")
endforeach()
if(objects EQUAL 0)
  message(FATAL_ERROR "no objects to check")
endif()
if(offenders)
  list(JOIN offenders "\n  " offenders)
  message(FATAL_ERROR "global symbols outside the namespace of the instruction set:\n  ${offenders}")
endif()
message(STATUS "${objects} objects, every global symbol in its instruction set's namespace")
