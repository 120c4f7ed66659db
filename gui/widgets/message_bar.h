// Lines above the panels that say what is wrong, each with what one can do about it. Nothing is wrong: no room is taken.
#pragma once

#include <QFrame>
#include <QString>
#include <functional>
#include <map>
#include <vector>

#include "gui/models/snapshot.h"

class QVBoxLayout;

namespace ulpscope::gui {

struct MessageAction {
  QString label{};
  std::function<void()> act{};
};

class MessageBar final : public QWidget {
  Q_OBJECT

 public:
  explicit MessageBar(QWidget* parent = nullptr);
  /// Shows the message under a key of its own; one with the same key is replaced. It stays until it is dismissed or removed.
  void show(const QString& key, Severity severity, const QString& text, const std::vector<MessageAction>& actions = {});
  void remove(const QString& key);
  QStringList texts() const;

 private:
  struct Line {
    QString text{};
    QWidget* widget = nullptr;
  };
  QVBoxLayout* m_layout;
  std::map<QString, Line> m_lines;
};

/// A frame in the colour of a severity, with its sign and a text that can be selected.
class NoticeFrame final : public QFrame {
  Q_OBJECT

 public:
  NoticeFrame(Severity severity, const QString& text, QWidget* parent = nullptr);
  void addAction(const QString& label, std::function<void()> act);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  Severity m_severity;
};

/// Of the sign and the edge, readable on the palette's ground.
QColor severityColour(Severity severity);

}  // namespace ulpscope::gui
