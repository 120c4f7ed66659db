# All of it comes from Debian 12 / Ubuntu 24.04 packages; scripts/setup installs them.
find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)

find_package(SQLite3 REQUIRED)                # libsqlite3-dev
find_package(ZLIB REQUIRED)                   # zlib1g-dev: compressed IDX files
find_package(nlohmann_json CONFIG REQUIRED)   # nlohmann-json3-dev
find_package(tomlplusplus CONFIG REQUIRED)    # libtomlplusplus-dev
find_package(CLI11 CONFIG REQUIRED)           # libcli11-dev
find_package(fmt CONFIG REQUIRED)             # libfmt-dev
find_package(spdlog CONFIG REQUIRED)          # libspdlog-dev
if(ULPSCOPE_TESTS)
  find_package(GTest CONFIG REQUIRED)         # libgtest-dev
endif()
if(ULPSCOPE_BENCH)
  find_package(benchmark CONFIG REQUIRED)     # libbenchmark-dev
  # libdnnl-dev: the yardstick of the bench; nothing of the product links it. Not through its CMake package: Debian's asks
  # for OpenCL headers that nothing here needs.
  find_path(ULPSCOPE_DNNL_INCLUDE oneapi/dnnl/dnnl.h REQUIRED)
  find_library(ULPSCOPE_DNNL_LIBRARY dnnl REQUIRED)
  add_library(ulpscope_dnnl INTERFACE)
  target_include_directories(ulpscope_dnnl SYSTEM INTERFACE "${ULPSCOPE_DNNL_INCLUDE}")
  target_link_libraries(ulpscope_dnnl INTERFACE "${ULPSCOPE_DNNL_LIBRARY}")
endif()
add_feature_info(bench ULPSCOPE_BENCH "figures of docs/performance.md, measured by scripts/bench")
add_feature_info(tests ULPSCOPE_TESTS "unit and end-to-end tests, run with ctest")
