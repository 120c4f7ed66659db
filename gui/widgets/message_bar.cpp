#include "gui/widgets/message_bar.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QStyle>
#include <QVBoxLayout>

#include "gui/models/text.h"

namespace ulpscope::gui {

QColor severityColour(Severity severity) {
  switch (severity) {
    case Severity::Note: return {0x3b, 0x82, 0xf6};
    case Severity::Warning: return {0xd9, 0x8a, 0x00};
    case Severity::Fault: return {0xd6, 0x3b, 0x3b};
  }
  return {};
}

NoticeFrame::NoticeFrame(Severity severity, const QString& text, QWidget* parent) : QFrame(parent), m_severity(severity) {
  auto* const row = new QHBoxLayout(this);
  row->setContentsMargins(14, 6, 8, 6);
  const QString sign = severity == Severity::Note ? tr("Note") : severity == Severity::Warning ? tr("Warning") : tr("Fault");
  auto* const head = new QLabel(QStringLiteral("<b>%1</b>").arg(sign.toHtmlEscaped()), this);
  auto* const label = new QLabel(paragraphs(text), this);
  label->setTextFormat(Qt::PlainText);
  label->setWordWrap(true);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  label->setAlignment(Qt::AlignTop | Qt::AlignLeading);
  QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Minimum);
  policy.setHeightForWidth(true);
  label->setSizePolicy(policy);
  policy.setVerticalPolicy(QSizePolicy::Maximum);
  setSizePolicy(policy);
  row->addWidget(head, 0, Qt::AlignTop);
  row->addWidget(label, 1);
}

void NoticeFrame::addAction(const QString& label, std::function<void()> act) {
  for (QLabel* text : findChildren<QLabel*>()) text->setAlignment(Qt::AlignVCenter | Qt::AlignLeading);
  layout()->setAlignment(findChild<QLabel*>(), Qt::AlignVCenter);
  auto* const button = new QPushButton(label, this);
  connect(button, &QPushButton::clicked, this, std::move(act));
  layout()->addWidget(button);
}

void NoticeFrame::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  QColor ground = severityColour(m_severity);
  const int edge = 4;
  const QRect line(layoutDirection() == Qt::LeftToRight ? 0 : width() - edge, 0, edge, height());
  painter.fillRect(line, ground);
  ground.setAlpha(34);
  painter.fillRect(rect(), ground);
}

MessageBar::MessageBar(QWidget* parent) : QWidget(parent), m_layout(new QVBoxLayout(this)) {
  m_layout->setContentsMargins(0, 0, 0, 0);
  m_layout->setSpacing(1);
  hide();
}

void MessageBar::show(const QString& key, Severity severity, const QString& text, const std::vector<MessageAction>& actions) {
  const auto known = m_lines.find(key);
  if (known != m_lines.end() && known->second.text == text) return;
  remove(key);
  auto* const frame = new NoticeFrame(severity, text, this);
  for (const MessageAction& action : actions) frame->addAction(action.label, action.act);
  frame->addAction(tr("Dismiss"), [this, key] { remove(key); });
  m_layout->addWidget(frame);
  m_lines[key] = {text, frame};
  setVisible(true);
}

void MessageBar::remove(const QString& key) {
  const auto known = m_lines.find(key);
  if (known == m_lines.end()) return;
  known->second.widget->hide();
  known->second.widget->deleteLater();  // it may be its own button that was pressed
  m_lines.erase(known);
  setVisible(!m_lines.empty());
}

QStringList MessageBar::texts() const {
  QStringList all;
  for (const auto& [key, line] : m_lines) all << line.text;
  return all;
}

}  // namespace ulpscope::gui
