# The matrix product, attention and the device. CMakeLists.txt beside it includes this after its ulpscope_isa_sources.
target_sources(ulpscope_kernels PRIVATE
  ${CMAKE_CURRENT_LIST_DIR}/attention.cpp
  ${CMAKE_CURRENT_LIST_DIR}/convolution.cpp
  ${CMAKE_CURRENT_LIST_DIR}/device.cpp
  ${CMAKE_CURRENT_LIST_DIR}/matmul.cpp
  ${CMAKE_CURRENT_LIST_DIR}/matmul_double.cpp
  ${CMAKE_CURRENT_LIST_DIR}/../matmul_plan.cpp
  ${CMAKE_CURRENT_LIST_DIR}/matmul_work.cpp
  ${CMAKE_CURRENT_LIST_DIR}/multiply.cpp
  ${CMAKE_CURRENT_LIST_DIR}/product.cpp
  ${CMAKE_CURRENT_LIST_DIR}/../self_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/thread_room.cpp
  ${CMAKE_CURRENT_LIST_DIR}/../tensor_core/product.cpp
  ${CMAKE_CURRENT_LIST_DIR}/../unit_questions.cpp
  ${CMAKE_CURRENT_LIST_DIR}/../tensor_core/reference.cpp
  ${CMAKE_CURRENT_LIST_DIR}/../tensor_core/sample.cpp
  ${CMAKE_CURRENT_LIST_DIR}/../tensor_core/units.cpp)
target_link_libraries(ulpscope_kernels PUBLIC OpenMP::OpenMP_CXX)

set(product_isa_sources ${CMAKE_CURRENT_LIST_DIR}/attention_rows.cpp ${CMAKE_CURRENT_LIST_DIR}/matmul_lines.cpp
    ${CMAKE_CURRENT_LIST_DIR}/product_isa.cpp ${CMAKE_CURRENT_LIST_DIR}/../tensor_core/product_isa.cpp)
if(TARGET ulpscope_kernels_portable)
  foreach(isa portable avx2 avx512)
    if(TARGET ulpscope_kernels_${isa})
      target_sources(ulpscope_kernels_${isa} PRIVATE ${product_isa_sources})
    endif()
  endforeach()
else()
  ulpscope_isa_sources(ulpscope_kernels ${product_isa_sources})
endif()
