// What the tests of the timeline share.
#pragma once

#include <memory>
#include <string>

#include "gui/models/timeline.h"
#include "gui/panels/panels.h"
#include "tests/gui/gui_test.h"
#include "tests/gui/traced_run.h"

namespace ulpscope::gui {

class TimelineTest : public GuiTest {
 protected:
  Timeline timelineOf(const std::string& name, TimelineView view = TimelineView::Run, reports::RunId run = reports::RunId{1}) const { return readTimeline(reports::RunFileReader(in(name)), run, view); }
  static const TimelineRow* rowOf(const Timeline& timeline, TimelineRowKind kind, std::int64_t stream = 0) {
    for (const TimelineRow& row : timeline.rows)
      if (row.kind == kind && row.stream == stream) return &row;
    return nullptr;
  }
  RunDocument* opened(const std::string& name) {
    RunDocument* const document = m_session.open(path(name));
    EXPECT_TRUE(until([&] { return document->state() != DocumentState::Loading; }));
    return document;
  }
  std::unique_ptr<Panel> shown() {
    std::unique_ptr<Panel> panel(makeTimelinePanel({m_session, m_selection}, nullptr));
    panel->resize(1060, 700);
    panel->setAutoFillBackground(true);
    panel->show();
    return panel;
  }
  Session m_session;
  Selection m_selection;
};

}  // namespace ulpscope::gui
