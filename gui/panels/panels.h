// The table of panels. To add one: a file here with a class that is a Panel and a function that makes it, declared below, and a line in
// panels.cpp. README.md shows it on an example.
#pragma once

#include <vector>

#include "gui/panels/panel.h"

namespace ulpscope::gui {

struct PanelInfo {
  const char* id;        ///< of layout and settings: never changed
  const char* title;     ///< of the context "panels"
  const char* shortcut;  ///< "Ctrl+1"
  Panel* (*make)(const PanelContext& context, QWidget* parent);
};

const std::vector<PanelInfo>& panels();
/// The title in the language of the window.
QString titleOf(const PanelInfo& panel);

Panel* makeCurvesPanel(const PanelContext& context, QWidget* parent);
Panel* makeGenerationsPanel(const PanelContext& context, QWidget* parent);
Panel* makeLossScalePanel(const PanelContext& context, QWidget* parent);
Panel* makeMemoryPanel(const PanelContext& context, QWidget* parent);
Panel* makeNodesPanel(const PanelContext& context, QWidget* parent);
Panel* makeNumericsPanel(const PanelContext& context, QWidget* parent);
Panel* makeOverflowsPanel(const PanelContext& context, QWidget* parent);
Panel* makeOverviewPanel(const PanelContext& context, QWidget* parent);
Panel* makeTimelinePanel(const PanelContext& context, QWidget* parent);

}  // namespace ulpscope::gui
