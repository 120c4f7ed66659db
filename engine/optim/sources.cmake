target_sources(ulpscope_engine PRIVATE
  ${CMAKE_CURRENT_LIST_DIR}/scalars.cpp
  ${CMAKE_CURRENT_LIST_DIR}/schedule.cpp
)
