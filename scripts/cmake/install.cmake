# The tree that `cmake --install` lays out and scripts/bundle packs: it can be moved and carries what a bare distribution lacks.
#   bin/ulpscope                     the program
#   bin/ulpscope-gui                 the viewer, where it was built (component viewer)
#   lib/ulpscope/                    the GPU module and the one that traces kernels, where there are any; libraries of the distribution (component libraries)
#   lib/ulpscope/tests/              device tests, for scripts/gpu_check (component tests)
#   share/ulpscope/                  README, licence, examples with the text they train on, scripts/gpu_check
# CUDA's libraries are not in it: they are found on the machine (kernels/cuda_module.h).

# For libraries that libraries need, too, which the newer kind of path is not.
target_link_options(ulpscope PRIVATE -Wl,--disable-new-dtags)
set_target_properties(ulpscope PROPERTIES INSTALL_RPATH "\$ORIGIN/../lib/ulpscope")
install(TARGETS ulpscope RUNTIME_DEPENDENCY_SET ulpscope_needs RUNTIME DESTINATION bin COMPONENT program)
if(TARGET ulpscope_gui_program)   # with the distribution's Qt, which is not packed
  install(TARGETS ulpscope_gui_program RUNTIME DESTINATION bin COMPONENT viewer)
  install(FILES gui/LICENSE gui/README.md DESTINATION share/ulpscope/gui COMPONENT viewer)
endif()
if(TARGET ulpscope_cuda)
  install(TARGETS ulpscope_cuda LIBRARY DESTINATION lib/ulpscope COMPONENT program)
  if(TARGET ulpscope_cupti)   # what runs on a GPU are traced with: whoever builds the one gets the other
    add_dependencies(ulpscope_cuda ulpscope_cupti)
    install(TARGETS ulpscope_cupti LIBRARY DESTINATION lib/ulpscope COMPONENT program)
  endif()
endif()
install(RUNTIME_DEPENDENCY_SET ulpscope_needs
  PRE_EXCLUDE_REGEXES "^lib(c|m|dl|rt|pthread|stdc\\+\\+|gcc_s)\\.so" "^ld-linux"
  LIBRARY DESTINATION lib/ulpscope COMPONENT libraries)

if(ULPSCOPE_TESTS)
  set(device_tests kernels_ops_test products_emulated_test engine_device_test engine_ahead_test same_steps)
  foreach(test IN LISTS device_tests)
    target_link_options(${test} PRIVATE -Wl,--disable-new-dtags)
  endforeach()
  set_target_properties(${device_tests} PROPERTIES INSTALL_RPATH "\$ORIGIN/..")
  install(TARGETS ${device_tests} RUNTIME DESTINATION lib/ulpscope/tests COMPONENT tests OPTIONAL)
endif()

install(FILES README.md LICENSE DESTINATION share/ulpscope COMPONENT program)
install(DIRECTORY examples kernels engine reports profiler DESTINATION share/ulpscope COMPONENT program PATTERN "__pycache__" EXCLUDE)
install(FILES scripts/lib.sh DESTINATION share/ulpscope/scripts COMPONENT program)
install(PROGRAMS scripts/gpu_check DESTINATION share/ulpscope/scripts COMPONENT program)
