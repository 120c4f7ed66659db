# ULPSCOPE_HAVE_CUDA: nvcc and cuBLASLt were found and are wanted: the GPU module (kernels/cuda) is built.
# ULPSCOPE_CUDA_MAJOR: the major version that CUDA's libraries are asked for at run time.
# ULPSCOPE_CUDA_ARCHITECTURES: compute capabilities to compile for; "all": every generation that the toolkit knows from 7.0 on, with
# PTX of the newest.
set(ULPSCOPE_HAVE_CUDA OFF)
set(ULPSCOPE_CUDA_MAJOR 13)
set(ULPSCOPE_CUDA_ARCHITECTURES "all" CACHE STRING "GPU generations to compile for: all, or numbers such as 80;90")
if(NOT ULPSCOPE_CUDA STREQUAL "OFF")
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    # Before the language is enabled: CMake 3.25 would try a generation that newer toolkits have dropped.
    set(CMAKE_CUDA_ARCHITECTURES 80)
    enable_language(CUDA)
    set(CMAKE_CUDA_STANDARD 20)
    find_package(CUDAToolkit REQUIRED)
    set(ULPSCOPE_HAVE_CUDA ON)
    set(ULPSCOPE_CUDA_MAJOR ${CUDAToolkit_VERSION_MAJOR})
    if(ULPSCOPE_CUDA_ARCHITECTURES STREQUAL "all")
      set(ulpscope_generations 75-real 80-real 86-real 89-real 90-real)
      if(CUDAToolkit_VERSION_MAJOR LESS 13)
        list(PREPEND ulpscope_generations 70-real)
      endif()
      if(CUDAToolkit_VERSION VERSION_GREATER_EQUAL 12.8)
        list(APPEND ulpscope_generations 100-real 120)   # 120: code and PTX, for what comes after
      else()
        list(APPEND ulpscope_generations 90-virtual)
      endif()
      set(CMAKE_CUDA_ARCHITECTURES ${ulpscope_generations})
    else()
      set(CMAKE_CUDA_ARCHITECTURES ${ULPSCOPE_CUDA_ARCHITECTURES})
    endif()
  elseif(ULPSCOPE_CUDA STREQUAL "ON")
    message(FATAL_ERROR "ULPSCOPE_CUDA=ON, but no nvcc was found. Install the CUDA Toolkit (12 or newer), put nvcc on PATH or set "
                        "CUDACXX=/usr/local/cuda/bin/nvcc; or configure with -DULPSCOPE_CUDA=AUTO or OFF.")
  endif()
endif()
add_feature_info(cuda ULPSCOPE_HAVE_CUDA "the GPU module (ULPSCOPE_CUDA=${ULPSCOPE_CUDA}, generations ${CMAKE_CUDA_ARCHITECTURES})")
