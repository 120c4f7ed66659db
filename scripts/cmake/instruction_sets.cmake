# ulpscope_isa_sources(TARGET a.cpp …): compiles the sources once per instruction set and adds the objects to TARGET.
# Each copy sees ULPSCOPE_ISA (portable, avx2, avx512), the name of its namespace; the right one is chosen at run time.
# Such a source must not define anything with external linkage outside that namespace (tests/house checks the objects):
# the linker could otherwise keep the AVX-512 copy of a function and run it on a processor without AVX-512.
set(ULPSCOPE_ISA_portable "")
# -mfma is for the matrix product, which asks for it by name; nothing is contracted (-ffp-contract=off).
set(ULPSCOPE_ISA_avx2 -mavx2 -mf16c -mbmi2 -mfma)
set(ULPSCOPE_ISA_avx512 -mavx2 -mf16c -mbmi2 -mfma -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512)

function(ulpscope_isa_sources target)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    set(sets portable avx2 avx512)
  else()
    set(sets portable)
  endif()
  foreach(isa IN LISTS sets)
    add_library(${target}_${isa} OBJECT ${ARGN})
    target_link_libraries(${target}_${isa} PRIVATE ulpscope_flags OpenMP::OpenMP_CXX)
    # -O3: the bodies are loops made to be vectorised.
    target_compile_options(${target}_${isa} PRIVATE ${ULPSCOPE_ISA_${isa}} $<$<NOT:$<CONFIG:Debug>>:-O3>)
    target_compile_definitions(${target}_${isa} PRIVATE ULPSCOPE_ISA=${isa})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_${isa}>)
    set_property(GLOBAL APPEND PROPERTY ULPSCOPE_ISA_OBJECT_TARGETS ${target}_${isa})
  endforeach()
endfunction()
