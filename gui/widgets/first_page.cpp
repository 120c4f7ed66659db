#include "gui/widgets/first_page.h"

#include <QCommandLinkButton>
#include <QDir>
#include <QFileInfo>
#include <QLabel>
#include <QVBoxLayout>

#include "gui/models/text.h"

namespace ulpscope::gui {

FirstPage::FirstPage(Session& session, QWidget* parent) : QWidget(parent), m_session(session) {
  auto* const title = new QLabel(paragraphs(tr("ulpscope")), this);
  QFont large = font();
  large.setPointSizeF(large.pointSizeF() * 2.2);
  large.setBold(true);
  title->setFont(large);
  auto* const about = new QLabel(tr("Which precision mode for this model? What overflows, and where? What does it cost?\n"
                                    "Open a recording (.ulp), drop one here, or make one."), this);
  about->setWordWrap(true);
  m_buttons = new QVBoxLayout;
  m_recent = new QVBoxLayout;
  m_recent->setSpacing(2);
  auto* const column = new QVBoxLayout;
  column->setSpacing(14);
  column->addStretch(1);
  column->addWidget(title);
  column->addWidget(about);
  column->addLayout(m_buttons);
  column->addLayout(m_recent);
  column->addStretch(2);
  auto* const row = new QHBoxLayout(this);
  row->addStretch(1);
  row->addLayout(column, 3);
  row->addStretch(1);
  connect(&session, &Session::recentFilesChanged, this, &FirstPage::showRecent);
  showRecent();
}

void FirstPage::addButton(const QString& label, const QString& about, std::function<void()> act) {
  auto* const button = new QCommandLinkButton(label, about, this);
  connect(button, &QPushButton::clicked, this, std::move(act));
  m_buttons->addWidget(button);
}

void FirstPage::showRecent() {
  while (QLayoutItem* const item = m_recent->takeAt(0)) {
    if (item->widget() != nullptr) item->widget()->deleteLater();
    delete item;
  }
  QStringList files;
  for (const QString& file : m_session.recentFiles()) {
    if (QFileInfo::exists(file)) files << file;
  }
  if (files.isEmpty()) return;
  m_recent->addWidget(new QLabel(QStringLiteral("<b>%1</b>").arg(tr("Recent files").toHtmlEscaped()), this));
  constexpr qsizetype most = 6;
  for (const QString& file : files.mid(0, most)) {
    auto* const link = new QLabel(QStringLiteral("<a href=\"open\">%1</a>").arg(paragraphs(isolated(QDir::toNativeSeparators(file).toHtmlEscaped()))), this);
    link->setTextInteractionFlags(Qt::LinksAccessibleByMouse | Qt::LinksAccessibleByKeyboard);
    connect(link, &QLabel::linkActivated, this, [this, file] { m_session.open(file); });
    m_recent->addWidget(link);
  }
}

}  // namespace ulpscope::gui
