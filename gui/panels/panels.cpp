#include "gui/panels/panels.h"

#include <QCoreApplication>

namespace ulpscope::gui {

const std::vector<PanelInfo>& panels() {
  static const std::vector<PanelInfo> table{
      {"overview", QT_TRANSLATE_NOOP("panels", "Overview"), "Ctrl+1", makeOverviewPanel},
      {"curves", QT_TRANSLATE_NOOP("panels", "Curves"), "Ctrl+2", makeCurvesPanel},
      {"loss-scale", QT_TRANSLATE_NOOP("panels", "Loss scale"), "Ctrl+3", makeLossScalePanel},
      {"numerics", QT_TRANSLATE_NOOP("panels", "Numerics"), "Ctrl+4", makeNumericsPanel},
      {"overflows", QT_TRANSLATE_NOOP("panels", "Overflows"), "Ctrl+5", makeOverflowsPanel},
      {"memory", QT_TRANSLATE_NOOP("panels", "Memory"), "Ctrl+6", makeMemoryPanel},
      {"timeline", QT_TRANSLATE_NOOP("panels", "Timeline"), "Ctrl+7", makeTimelinePanel},
      {"nodes", QT_TRANSLATE_NOOP("panels", "Nodes"), "Ctrl+8", makeNodesPanel},
      {"generations", QT_TRANSLATE_NOOP("panels", "Generations"), "Ctrl+9", makeGenerationsPanel},
  };
  return table;
}

QString titleOf(const PanelInfo& panel) { return QCoreApplication::translate("panels", panel.title); }

}  // namespace ulpscope::gui
