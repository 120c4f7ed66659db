#include "gui/widgets/run_toggles.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QToolButton>
#include <algorithm>

#include "gui/models/run_colours.h"
#include "gui/models/text.h"

namespace ulpscope::gui {
namespace {

/// Filled while it is on, hollow while it is off.
QIcon toggleIcon(const QColor& colour) {
  QIcon icon;
  for (const QIcon::State state : {QIcon::On, QIcon::Off}) {
    QPixmap swatch(12, 12);
    swatch.fill(Qt::transparent);
    QPainter painter(&swatch);
    painter.setPen(QPen(colour, 2));
    painter.setBrush(state == QIcon::On ? QBrush(colour) : QBrush(Qt::NoBrush));
    painter.drawRect(1, 1, 9, 9);
    icon.addPixmap(swatch, QIcon::Normal, state);
  }
  return icon;
}

}  // namespace

RunToggles::RunToggles(Session& session, Selection& selection, QWidget* parent)
    : QWidget(parent), m_session(session), m_selection(selection), m_row(new QHBoxLayout(this)) {
  m_row->setContentsMargins(0, 0, 0, 0);
  m_row->setSpacing(4);
  connect(&session, &Session::changed, this, &RunToggles::update);
  connect(&session, &Session::currentChanged, this, &RunToggles::update);
  connect(&selection, &Selection::runsChanged, this, &RunToggles::update);
  update();
}

bool RunToggles::anyShown(const std::function<bool(const RunView&)>& which) const {
  const SnapshotPointer now = m_session.current() != nullptr ? m_session.current()->snapshot() : nullptr;
  return now && std::any_of(now->runs.begin(), now->runs.end(), [&](const RunView& run) {
    return which(run) && m_selection.isShown({now->path, run.record.id});
  });
}

void RunToggles::setShown(const std::function<bool(const RunView&)>& which, bool shown) {
  const SnapshotPointer now = m_session.current() != nullptr ? m_session.current()->snapshot() : nullptr;
  if (!now) return;
  for (const RunView& run : now->runs) {
    if (which(run)) m_selection.setShown({now->path, run.record.id}, shown);
  }
}

void RunToggles::update() {
  QStringList modes;
  QList<std::int64_t> seeds;
  const SnapshotPointer now = m_session.current() != nullptr ? m_session.current()->snapshot() : nullptr;
  for (const RunView& run : now ? now->runs : std::vector<RunView>{}) {
    if (!modes.contains(plain(run.record.mode))) modes << plain(run.record.mode);
    if (!seeds.contains(run.record.seed)) seeds << run.record.seed;
  }
  std::sort(seeds.begin(), seeds.end());
  if (modes != m_modes || seeds != m_seeds) make(modes, seeds);
  for (const auto& [button, which] : m_buttons) {
    const QSignalBlocker quiet(button);
    button->setChecked(anyShown(which));
  }
}

void RunToggles::make(const QStringList& modes, const QList<std::int64_t>& seeds) {
  m_modes = modes;
  m_seeds = seeds;
  m_buttons.clear();
  while (QLayoutItem* const item = m_row->takeAt(0)) {
    delete item->widget();
    delete item;
  }
  const auto add = [this](const QString& label, const QIcon& icon, std::function<bool(const RunView&)> which) {
    auto* const button = new QToolButton(this);
    button->setText(label);
    button->setIcon(icon);
    button->setToolButtonStyle(icon.isNull() ? Qt::ToolButtonTextOnly : Qt::ToolButtonTextBesideIcon);
    button->setCheckable(true);
    button->setFocusPolicy(Qt::StrongFocus);
    m_row->addWidget(button);
    m_buttons.emplace_back(button, which);
    connect(button, &QToolButton::toggled, this, [this, which](bool on) { setShown(which, on); });
  };
  if (!modes.isEmpty()) m_row->addWidget(new QLabel(tr("Modes"), this));
  for (const QString& mode : modes) {
    add(mode, toggleIcon(runColour(mode.toStdString())), [mode](const RunView& run) { return plain(run.record.mode) == mode; });
  }
  if (seeds.size() > 1) {
    m_row->addSpacing(12);
    m_row->addWidget(new QLabel(tr("Seeds"), this));
    for (const std::int64_t seed : seeds) add(QString::number(seed), {}, [seed](const RunView& run) { return run.record.seed == seed; });
  }
  m_row->addStretch(1);
}

}  // namespace ulpscope::gui
