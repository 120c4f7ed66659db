// A panel of the window: shows the current file, or all of them, through the shared selection.
//
// A panel draws in refresh() and nowhere else. It is called in the window's thread, soon after something changed (the file, the current
// file, the selection, the language), several changes at once, and only while the panel can be seen; so it may not take longer than a tenth
// of a second. What takes longer is read with document()->read() and drawn when it comes.
#pragma once

#include <QPointer>
#include <QTimer>
#include <QWidget>
#include <utility>

#include "gui/models/selection.h"
#include "gui/models/session.h"

namespace ulpscope::gui {

struct PanelContext {
  Session& session;
  Selection& selection;
};

class Panel : public QWidget {
  Q_OBJECT

 public:
  explicit Panel(const PanelContext& context, QWidget* parent = nullptr);

 signals:
  /// Wants a line of the message bar: a file could not be written …
  void failed(const QString& message);
  /// Wants another panel to come up ("overflows"), after it has changed the selection.
  void panelWanted(const QString& id);

 protected:
  virtual void refresh() = 0;
  /// What readMore() read came too late: another file is shown. To be read again when its own is.
  virtual void readDropped() {}
  /// refresh() soon.
  void invalidate();

  Session& session() const { return m_context.session; }
  Selection& selection() const { return m_context.selection; }
  /// The current file; none if nothing is open.
  RunDocument* document() const { return m_context.session.current(); }
  /// Of the current file; none while nothing is known of it.
  SnapshotPointer snapshot() const;
  /// Runs of the current file that are shown.
  std::vector<const RunView*> shownRuns(const Snapshot& snapshot) const;

  /// Reads from the current file what the snapshot does not have, in the document's thread. `done` is called in the window's thread if
  /// the panel still shows the same moment of the same file then; a newer call of this panel replaces an older one.
  template <class Body, class Done>
  void readMore(Body body, Done done) {
    RunDocument* const of = document();
    if (of == nullptr || !of->snapshot()) return;
    const int asked = ++m_asked;
    of->read(this, std::move(body), [this, asked, from = QPointer<RunDocument>(of), done = std::move(done)](auto value) {
      if (asked != m_asked) return;
      if (from && from == document()) done(std::move(value));
      else readDropped();
    });
  }

  void showEvent(QShowEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  PanelContext m_context;
  QTimer m_soon;
  bool m_stale = true;
  int m_asked = 0;
};

}  // namespace ulpscope::gui
