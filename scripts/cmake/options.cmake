include(FeatureSummary)

option(ULPSCOPE_TESTS "Build the tests" ON)
option(ULPSCOPE_BENCH "Build the bench, with the tests (scripts/bench)" OFF)
option(ULPSCOPE_FUZZ "Build the libFuzzer targets (clang)" OFF)
option(ULPSCOPE_WERROR "Treat warnings as errors" OFF)
set(ULPSCOPE_CUDA "AUTO" CACHE STRING "Compile for CUDA: ON (an error without the toolkit), OFF, AUTO (if the toolkit is found)")
set_property(CACHE ULPSCOPE_CUDA PROPERTY STRINGS AUTO ON OFF)
set(ULPSCOPE_GUI "AUTO" CACHE STRING "Build the viewer ulpscope-gui: ON (an error without Qt), OFF, AUTO (if Qt and QCustomPlot are found)")
set_property(CACHE ULPSCOPE_GUI PROPERTY STRINGS AUTO ON OFF)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
string(REPLACE "-O3" "-O2" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
string(REPLACE "-DNDEBUG" "" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")

find_program(ULPSCOPE_CCACHE ccache)
if(ULPSCOPE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${ULPSCOPE_CCACHE}")
  set(CMAKE_CUDA_COMPILER_LAUNCHER "${ULPSCOPE_CCACHE}")
endif()

# Flags of every target. No contraction of a*b+c: the same bits on every device is a promise of the design.
add_library(ulpscope_flags INTERFACE)
target_compile_options(ulpscope_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wshadow -Wnon-virtual-dtor -ffp-contract=off -fno-math-errno -fno-trapping-math>
  # Pragmas of GCC; "a | b ? c : d", which is meant.
  $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-unknown-pragmas -Wno-bitwise-conditional-parentheses>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${ULPSCOPE_WERROR}>>:-Werror>)
target_include_directories(ulpscope_flags INTERFACE "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}/generated")

# ulpscope_library(NAME SOURCES a.cpp … LINKS lib …): a static library of one room.
function(ulpscope_library target)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  add_library(${target} STATIC ${ARG_SOURCES})
  target_link_libraries(${target} PUBLIC ulpscope_flags ${ARG_LINKS})
endfunction()
