target_sources(ulpscope_engine PRIVATE
  ${CMAKE_CURRENT_LIST_DIR}/array.cpp
  ${CMAKE_CURRENT_LIST_DIR}/arrays.cpp
  ${CMAKE_CURRENT_LIST_DIR}/checksums.cpp
  ${CMAKE_CURRENT_LIST_DIR}/durable_file.cpp
  ${CMAKE_CURRENT_LIST_DIR}/file_bytes.cpp
  ${CMAKE_CURRENT_LIST_DIR}/idx.cpp
  ${CMAKE_CURRENT_LIST_DIR}/npy.cpp
  ${CMAKE_CURRENT_LIST_DIR}/random_tokens.cpp
  ${CMAKE_CURRENT_LIST_DIR}/safetensors.cpp
  ${CMAKE_CURRENT_LIST_DIR}/text.cpp
  ${CMAKE_CURRENT_LIST_DIR}/text_files.cpp
)
target_link_libraries(ulpscope_engine PRIVATE fmt::fmt ZLIB::ZLIB nlohmann_json::nlohmann_json)
