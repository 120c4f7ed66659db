#include "gui/widgets/filter_bar.h"

#include <QHBoxLayout>
#include <QIntValidator>
#include <QLabel>
#include <QLineEdit>
#include <QToolButton>

#include "gui/models/text.h"

namespace ulpscope::gui {

FilterBar::FilterBar(Selection& selection, QWidget* parent) : QWidget(parent), m_selection(selection) {
  const auto field = [this](const QString& hint, const QString& name, int columns) {
    auto* const edit = new QLineEdit(this);
    edit->setPlaceholderText(hint);
    edit->setAccessibleName(name);
    edit->setToolTip(name);
    edit->setClearButtonEnabled(true);
    edit->setFixedWidth(fontMetrics().averageCharWidth() * columns + 40);
    return edit;
  };
  m_first = field(tr("first"), tr("First step to show"), 8);
  m_last = field(tr("last"), tr("Last step to show"), 8);
  for (QLineEdit* edit : {m_first, m_last}) {
    edit->setValidator(new QIntValidator(1, 2'000'000'000, edit));
    connect(edit, &QLineEdit::editingFinished, this, &FilterBar::takeSteps);
    connect(edit, &QLineEdit::textChanged, this, [this](const QString& text) {
      if (text.isEmpty()) takeSteps();
    });
  }
  m_nodes = field(tr("node or tensor"), tr("Part of the names of nodes and tensors to show"), 22);
  connect(m_nodes, &QLineEdit::textChanged, &m_selection, &Selection::setNodeFilter);
  m_clear = new QToolButton(this);
  m_clear->setText(tr("Clear filter"));
  m_clear->setAutoRaise(true);
  connect(m_clear, &QToolButton::clicked, this, [this] {
    m_nodes->clear();
    m_selection.setSteps(std::nullopt);
  });
  auto* const row = new QHBoxLayout(this);
  row->setContentsMargins(6, 2, 6, 2);
  row->addWidget(new QLabel(tr("Steps"), this));
  row->addWidget(m_first);
  row->addWidget(new QLabel(tr("to"), this));
  row->addWidget(m_last);
  row->addSpacing(10);
  row->addWidget(new QLabel(tr("Names"), this));
  row->addWidget(m_nodes);
  row->addWidget(m_clear);
  row->addStretch(1);
  connect(&m_selection, &Selection::stepsChanged, this, &FilterBar::show);
  connect(&m_selection, &Selection::nodeFilterChanged, this, &FilterBar::show);
  show();
}

void FilterBar::focusNodes() {
  m_nodes->setFocus(Qt::ShortcutFocusReason);
  m_nodes->selectAll();
}

void FilterBar::takeSteps() {
  if (m_first->text().isEmpty() && m_last->text().isEmpty()) return m_selection.setSteps(std::nullopt);
  const std::int64_t first = m_first->text().isEmpty() ? 0 : m_first->text().toLongLong() - 1;
  const std::int64_t end = m_last->text().isEmpty() ? INT64_MAX : m_last->text().toLongLong();
  if (first < end) m_selection.setSteps(std::pair{first, end});
}

void FilterBar::show() {
  const auto& steps = m_selection.steps();
  const auto set = [](QLineEdit* edit, const QString& text) {
    const QSignalBlocker quiet(edit);
    if (edit->text() != text) edit->setText(text);
  };
  set(m_first, steps && steps->first > 0 ? QString::number(personStep(steps->first)) : QString());
  set(m_last, steps && steps->second != INT64_MAX ? QString::number(steps->second) : QString());
  set(m_nodes, m_selection.nodeFilter());
  m_clear->setEnabled(steps || !m_selection.nodeFilter().isEmpty());
}

}  // namespace ulpscope::gui
