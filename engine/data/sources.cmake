target_sources(ulpscope_engine PRIVATE
  ${CMAKE_CURRENT_LIST_DIR}/text.cpp
  ${CMAKE_CURRENT_LIST_DIR}/text_files.cpp
)
target_link_libraries(ulpscope_engine PRIVATE fmt::fmt)
