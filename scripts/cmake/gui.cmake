# ULPSCOPE_HAVE_GUI: Qt 6 Widgets and QCustomPlot were found and are wanted: the viewer (gui) is built.
set(ULPSCOPE_HAVE_GUI OFF)
if(NOT ULPSCOPE_GUI STREQUAL "OFF")
  find_package(Qt6 6.4 QUIET COMPONENTS Core DBus Gui Widgets PrintSupport)   # qt6-base-dev
  find_package(QCustomPlotQt6 QUIET)                                      # libqcustomplot-dev
  if(Qt6_FOUND AND QCustomPlotQt6_FOUND)
    set(ULPSCOPE_HAVE_GUI ON)
    find_package(Qt6Svg QUIET)                                            # qt6-svg-dev: charts as SVG, where it is there
    find_package(Qt6LinguistTools QUIET)                                  # qt6-tools-dev, qt6-l10n-tools
    if(ULPSCOPE_TESTS)
      find_package(Qt6 6.4 REQUIRED COMPONENTS Test)
    endif()
  elseif(ULPSCOPE_GUI STREQUAL "ON")
    message(FATAL_ERROR "ULPSCOPE_GUI=ON, but Qt 6.4 (Widgets, PrintSupport) or QCustomPlot for Qt 6 was not found. Install qt6-base-dev and "
                        "libqcustomplot-dev (scripts/setup --gui); or configure with -DULPSCOPE_GUI=AUTO or OFF.")
  endif()
endif()
add_feature_info(gui ULPSCOPE_HAVE_GUI "the viewer ulpscope-gui (ULPSCOPE_GUI=${ULPSCOPE_GUI})")
