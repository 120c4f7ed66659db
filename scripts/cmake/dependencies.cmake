# All of it comes from Debian 12 / Ubuntu 24.04 packages; scripts/setup installs them.
find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)

find_package(SQLite3 REQUIRED)                # libsqlite3-dev
find_package(nlohmann_json CONFIG REQUIRED)   # nlohmann-json3-dev
find_package(tomlplusplus CONFIG REQUIRED)    # libtomlplusplus-dev
find_package(CLI11 CONFIG REQUIRED)           # libcli11-dev
find_package(fmt CONFIG REQUIRED)             # libfmt-dev
find_package(spdlog CONFIG REQUIRED)          # libspdlog-dev
if(ULPSCOPE_TESTS)
  find_package(GTest CONFIG REQUIRED)         # libgtest-dev
endif()
add_feature_info(tests ULPSCOPE_TESTS "unit and end-to-end tests, run with ctest")
