// Timeline: what happened when in a run, down to the kernels; a range or what is in view summed up by name.
#include <QCoreApplication>
#include <QComboBox>
#include <QElapsedTimer>
#include <QGuiApplication>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QSplitter>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "gui/charts/timeline_chart.h"
#include "gui/models/text.h"
#include "gui/models/timeline_sums.h"
#include "gui/models/timeline_text.h"
#include "gui/panels/panels.h"
#include "gui/widgets/table_view.h"
#include "reports/run_file/kernel_scan.h"

namespace ulpscope::gui {
namespace {

struct Both {
  TimelinePointer run{}, mean{};
};

class TimelinePanel final : public Panel {
  Q_DECLARE_TR_FUNCTIONS(TimelinePanel)

 public:
  TimelinePanel(const PanelContext& context, QWidget* parent) : Panel(context, parent) {
    auto* const column = new QVBoxLayout(this);
    column->setContentsMargins(8, 6, 8, 8);
    column->addLayout(makeBar());
    auto* const split = new QSplitter(Qt::Vertical, this);
    split->setChildrenCollapsible(false);
    split->addWidget(m_chart = new TimelineChart(split));
    m_chart->setName(QStringLiteral("timeline"));
    m_chart->setAccessibleName(tr("Timeline"));
    m_chart->setLayoutDirection(Qt::LeftToRight);  // time runs to the right in every language
    split->addWidget(makeBelow(split));
    split->setStretchFactor(0, 3);
    split->setStretchFactor(1, 2);
    split->setSizes({600, 400});
    column->addWidget(split, 1);
    for (QLabel** label : {&m_legend, &m_notes}) {
      column->addWidget(*label = new QLabel(this));
      (*label)->setWordWrap(true);
      (*label)->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    }
    m_notes->setTextFormat(Qt::PlainText);
    m_soon.setSingleShot(true);
    m_soon.setInterval(60);
    connect(&m_soon, &QTimer::timeout, this, &TimelinePanel::sumUp);
    for (const auto signal : {&TimelineChart::viewChanged, &TimelineChart::rangeChanged, &TimelineChart::rowChanged}) connect(m_chart, signal, &m_soon, qOverload<>(&QTimer::start));
    connect(m_chart, &TimelineChart::selectionChanged, this, &TimelinePanel::shareSelected);
    connect(m_chart, &TimelineChart::failed, this, &Panel::failed);
    connect(m_chart, &TimelineChart::searchWanted, this, [this] {
      m_search->setFocus(Qt::ShortcutFocusReason);
      m_search->selectAll();
    });
  }

 protected:
  void readDropped() override { m_read.clear(); }
  void refresh() override {
    const SnapshotPointer now = snapshot();
    fillRuns(now);
    const auto run = chosenRun();
    if (!now || !run) {
      m_read.clear();
      m_both = {};
      m_path.clear();
    } else if (isOld(*now, *run)) {
      if (m_path != now->path || m_of != *run) m_both = {};
      m_path = now->path;
      m_of = *run;
      m_read = keyOf(*now, *run);
      m_age.start();
      readMore([run = *run](const reports::RunFileReader& file) {
        return Both{std::make_shared<const Timeline>(readTimeline(file, run, TimelineView::Run)), std::make_shared<const Timeline>(readTimeline(file, run, TimelineView::MeanStep))};
      }, [this](Both both) {
        m_took = m_age.elapsed();
        m_both = std::move(both);
        draw();
      });
    }
    draw();
  }

 private:
  QLayout* makeBar() {
    m_runs = new QComboBox(this);
    m_runs->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    m_runs->setAccessibleName(tr("Run whose timeline is shown"));
    m_views = new QComboBox(this);
    m_views->setAccessibleName(tr("What is shown of it"));
    m_views->addItem(tr("as recorded"));
    m_views->addItem(tr("mean step"));
    m_search = new QLineEdit(this);
    m_search->setPlaceholderText(tr("search kernels, nodes, steps"));
    m_search->setAccessibleName(tr("Part of the names of kernels, nodes and steps to find"));
    m_search->setToolTip(tr("Part of the names of kernels, nodes and steps to find (Ctrl+F in the timeline); Return: the next one"));
    m_search->setClearButtonEnabled(true);
    m_search->setMaximumWidth(fontMetrics().averageCharWidth() * 34);
    m_found = new QLabel(this);
    auto* const row = new QHBoxLayout;
    row->addWidget(m_runs);
    row->addWidget(m_views);
    row->addWidget(m_search, 1);
    const auto button = [&](Qt::ArrowType arrow, const QString& name, bool backwards) {
      auto* const made = new QToolButton(this);
      made->setArrowType(arrow);
      made->setAutoRaise(true);
      made->setToolTip(name);
      made->setAccessibleName(name);
      connect(made, &QToolButton::clicked, this, [this, backwards] { goToNext(backwards); });
      row->addWidget(made);
    };
    button(Qt::UpArrow, tr("The one before that is found (Shift+Return)"), true);
    button(Qt::DownArrow, tr("The next one that is found (Return)"), false);
    row->addWidget(m_found);
    row->addStretch(1);
    connect(m_runs, &QComboBox::activated, this, [this] {
      if (const auto run = chosenRun(); run && document() != nullptr) selection().setRun(RunKey{document()->path(), *run});
      invalidate();
    });
    connect(m_views, &QComboBox::activated, this, [this](int view) {
      m_view = static_cast<TimelineView>(view);
      draw();
    });
    connect(m_search, &QLineEdit::textChanged, this, [this] { search(); });
    connect(m_search, &QLineEdit::returnPressed, this, [this] { goToNext(QGuiApplication::keyboardModifiers() & Qt::ShiftModifier); });
    return row;
  }

  QWidget* makeBelow(QWidget* parent) {
    auto* const below = new QSplitter(Qt::Horizontal, parent);
    below->setChildrenCollapsible(false);
    auto* const left = new QWidget(below);
    auto* const column = new QVBoxLayout(left);
    column->setContentsMargins(0, 0, 0, 0);
    m_model = new TimelineSumsModel(this);
    m_proxy = new QSortFilterProxyModel(this);
    m_proxy->setSourceModel(m_model);
    m_proxy->setSortRole(TimelineSumsModel::SortRole);
    m_range = new QLabel(left);
    m_range->setWordWrap(true);
    m_range->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    m_table = new TableView(left);
    m_table->setModel(m_proxy);
    m_table->setSortingEnabled(true);
    m_table->sortByColumn(TimelineSumsModel::TotalColumn, Qt::DescendingOrder);
    m_table->verticalHeader()->hide();
    m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_table->setAccessibleName(tr("Sums by name"));
    m_table->setToolTip(tr("A double click, or Return, leads to the longest of a name"));
    column->addWidget(m_range);
    column->addWidget(m_table, 1);
    m_details = new QPlainTextEdit(below);
    m_details->setReadOnly(true);
    m_details->setTabChangesFocus(true);
    m_details->setAccessibleName(tr("The chosen span"));
    m_details->setPlaceholderText(tr("Choose a span to see all that is on record of it."));
    below->addWidget(left);
    below->addWidget(m_details);
    below->setSizes({1500, 900});
    connect(m_table, &QAbstractItemView::activated, this, [this](const QModelIndex& at) {
      const NameSum& sum = m_model->name(m_proxy->mapToSource(at).row());
      if (m_model->sums().row < 0 || m_chart->timeline() != m_summed) return;
      m_chart->reveal({static_cast<std::size_t>(m_model->sums().row), sum.longest});
      shareSelected();
    });
    return below;
  }

  // --- what is read ---

  QString keyOf(const Snapshot& now, reports::RunId run) const {
    return QStringLiteral("%1|%2|%3|%4").arg(now.path).arg(static_cast<qint64>(run)).arg(now.live).arg(now.live ? 0 : document()->revision());
  }
  /// A live run is read anew every few seconds, and at most a fifth of the time.
  bool isOld(const Snapshot& now, reports::RunId run) const {
    constexpr qint64 whileLiveMs = 5000;
    return keyOf(now, run) != m_read || (now.live && m_age.hasExpired(std::max(whileLiveMs, 5 * m_took)));
  }

  std::optional<reports::RunId> chosenRun() const {
    if (m_runs->currentIndex() < 0) return std::nullopt;
    return static_cast<reports::RunId>(m_runs->currentData().toLongLong());
  }

  void fillRuns(const SnapshotPointer& now) {
    const QSignalBlocker quiet(m_runs);
    std::vector<std::pair<QString, qlonglong>> wanted;
    for (const RunView* run : now ? shownRuns(*now) : std::vector<const RunView*>{}) wanted.emplace_back(run->title(), static_cast<qlonglong>(run->record.id));
    bool same = m_runs->count() == static_cast<int>(wanted.size());
    for (int i = 0; same && i < m_runs->count(); ++i) same = m_runs->itemText(i) == wanted[static_cast<std::size_t>(i)].first && m_runs->itemData(i).toLongLong() == wanted[static_cast<std::size_t>(i)].second;
    if (!same) {
      const QVariant before = m_runs->currentData();
      m_runs->clear();
      for (const auto& [title, id] : wanted) m_runs->addItem(title, id);
      const int at = now && now->path == m_path ? m_runs->findData(before) : -1;
      m_runs->setCurrentIndex(at >= 0 ? at : m_runs->count() > 0 ? 0 : -1);
    }
    if (const auto& run = selection().run(); now && run && run->path == now->path) {
      const int at = m_runs->findData(static_cast<qlonglong>(run->run));
      if (at >= 0) m_runs->setCurrentIndex(at);
    }
  }

  // --- what is shown ---

  /// The run as it was recorded; if that is steps alone, the mean step, unless somebody chose.
  TimelinePointer shown() const {
    if (!m_both.run) return nullptr;
    const bool bare = m_both.run->rows.size() < 2 && m_both.run->kernels == 0;
    const TimelineView view = m_view.value_or(bare ? TimelineView::MeanStep : TimelineView::Run);
    return view == TimelineView::MeanStep && !m_both.mean->empty() ? m_both.mean : m_both.run;
  }

  void draw() {
    const TimelinePointer now = shown();
    const bool another = now != m_chart->timeline();
    if (another) {
      const bool keep = m_drawn == QStringLiteral("%1|%2").arg(m_path).arg(static_cast<qint64>(m_of));
      m_drawn = QStringLiteral("%1|%2").arg(m_path).arg(static_cast<qint64>(m_of));
      m_chart->setTimeline(now, keep);
      m_searched = QStringLiteral("\n");
      m_filtered.reset();
      m_chart->setSearch({});
      describe();
    }
    m_views->setCurrentIndex(now ? static_cast<int>(now->view) : 0);
    m_views->setEnabled(m_both.mean && !m_both.mean->empty());
    search();
    followSelection(another);
    const bool reading = document() != nullptr && document()->state() != DocumentState::Failed && snapshot() && !now && !m_read.isEmpty();
    const QStringList notes = now ? now->notes + m_both.run->traceNotes : QStringList();
    m_notes->setText(reading ? tr("reading …") : notes.join(QLatin1Char('\n')));
    m_notes->setVisible(!m_notes->text().isEmpty());
    m_legend->setText(now ? legend(*now) : QString());
    m_legend->setVisible(!m_legend->text().isEmpty());
    m_soon.start();
  }

  static QString legend(const Timeline& timeline) {
    QStringList parts;
    for (const reports::TimeCategory category : timeline.categories)
      parts << QStringLiteral("<span style=\"color:%1\">■</span>&nbsp;%2").arg(categoryColour(category).name(), categoryName(category).toHtmlEscaped().replace(QLatin1Char(' '), QStringLiteral("&nbsp;")));
    return parts.join(QStringLiteral("&nbsp; "));
  }

  /// The filter of steps, the step and the node that all panels share.
  void followSelection(bool another) {
    const TimelinePointer now = m_chart->timeline();
    if (!now) return;
    const auto& steps = now->view == TimelineView::Run ? selection().steps() : std::nullopt;
    if (steps != m_filtered || another) {
      m_filtered = steps;
      std::optional<TimelineChart::View> extent;
      for (const TimelineStep& step : now->steps) {
        if (!steps || step.step < steps->first || step.step >= steps->second) continue;
        if (!extent) extent = TimelineChart::View{static_cast<double>(step.start), static_cast<double>(step.end)};
        extent->to = static_cast<double>(step.end);
      }
      m_chart->setExtent(extent);
    }
    const auto node = std::find_if(now->nodes.begin(), now->nodes.end(), [this](const TimelineNode& of) { return of.name == selection().node(); });
    m_chart->setNode(selection().node().isEmpty() || node == now->nodes.end() ? -1 : static_cast<std::int32_t>(node - now->nodes.begin()));
    const int step = selection().step() ? now->stepIndex(*selection().step()) : -1;
    m_chart->setStep(step);
    if (selection().step() == m_step || step < 0) return;
    m_step = selection().step();  // chosen in another panel: it is brought into view
    const TimelineStep& of = now->steps[static_cast<std::size_t>(step)];
    const auto start = static_cast<double>(of.start), length = static_cast<double>(of.end - of.start);
    const TimelineChart::View view = m_chart->view();
    if (start < view.from || start + length > view.to || length < 0.02 * (view.to - view.from)) m_chart->showView({start - 0.5 * length, start + 1.5 * length});
  }

  void search() {
    const TimelinePointer now = m_chart->timeline();
    const QString words = m_search->text().trimmed().isEmpty() ? selection().nodeFilter() : m_search->text();
    if (words != m_searched) {
      m_searched = words;
      m_chart->setSearch(TimelineSearch(now, words));
    }
    const TimelineSearch& search = m_chart->search();
    if (!search.active()) return m_found->clear();
    const auto& at = m_chart->selected();
    if (at && search.finds(at->first, at->second)) m_found->setText(tr("%1 of %2").arg(search.place(at->first, at->second)).arg(search.count()));
    else m_found->setText(tr("found: %1").arg(search.count()));
  }

  void goToNext(bool backwards) {
    const auto place = m_chart->search().next(m_chart->selected(), backwards);
    if (!place) return;
    m_chart->reveal(*place);
    shareSelected();
    search();
  }

  void sumUp() {
    m_summed = m_chart->timeline();
    RangeSum sums;
    QString text;
    if (m_summed && !m_summed->empty()) {
      const auto view = m_chart->range().value_or(m_chart->view());
      const auto within = [this](double time) { return std::llround(std::clamp(time, static_cast<double>(m_summed->begin), static_cast<double>(m_summed->end))); };
      sums = sumsOf(*m_summed, m_chart->row(), within(view.from), within(view.to));
      text = rangeText(*m_summed, sums);
      if (!m_chart->range()) text += QLatin1Char('\n') + tr("That is what is in view; Shift and the mouse take a range.");
      if (sums.names.size() > TimelineSumsModel::mostNames) text += QLatin1Char('\n') + tr("The %1 names of the most time, of %2.").arg(TimelineSumsModel::mostNames).arg(sums.names.size());
    }
    const bool first = m_fitted != m_summed;
    m_model->setSums(m_summed, std::move(sums));
    m_range->setText(text);
    m_range->setVisible(!text.isEmpty());
    if (!first || m_model->rowCount() == 0) return;
    m_fitted = m_summed;
    m_table->fitColumns(250);
  }

  /// What a person chose is chosen for all panels.
  void shareSelected() {
    const auto& place = m_chart->selected();
    const TimelinePointer now = m_chart->timeline();
    if (place && now) {
      const TimelineRow& row = now->rows[place->first];
      if (const TimelineNode* const node = now->nodeOf(row, place->second)) selection().setNode(node->name);
      if (const TimelineStep* const step = now->stepOf(row, place->second)) {
        m_step = step->step;
        selection().setStep(step->step);
      }
    }
    describe();
    search();
  }

  /// All that is known of the chosen span; the launch of a kernel comes from the file.
  void describe() {
    const auto& place = m_chart->selected();
    const TimelinePointer now = m_chart->timeline();
    if (!place || !now) return m_details->clear();
    const TimelineRow& row = now->rows[place->first];
    m_details->setPlainText(spanDetails(*now, row, place->second, std::nullopt));
    m_chart->viewport()->setAccessibleDescription(spanToolTip(*now, row, place->second));
    const std::int64_t record = row.spans.record(place->second);
    if (record < 0 || document() == nullptr) return;
    const int asked = ++m_kernelAsked;
    document()->read(this, [run = m_of, record](const reports::RunFileReader& file) { return reports::kernel_at(file, run, record); },
                     [this, now, at = *place, asked](const std::optional<reports::KernelRecord>& kernel) {
                       if (asked != m_kernelAsked || m_chart->timeline() != now || m_chart->selected() != at) return;
                       m_details->setPlainText(spanDetails(*now, now->rows[at.first], at.second, kernel));
                     });
  }

  QComboBox* m_runs = nullptr;
  QComboBox* m_views = nullptr;
  QLineEdit* m_search = nullptr;
  QLabel* m_found = nullptr;
  TimelineChart* m_chart = nullptr;
  QLabel* m_range = nullptr;
  TimelineSumsModel* m_model = nullptr;
  QSortFilterProxyModel* m_proxy = nullptr;
  TableView* m_table = nullptr;
  QPlainTextEdit* m_details = nullptr;
  QLabel* m_legend = nullptr;
  QLabel* m_notes = nullptr;
  QTimer m_soon;

  Both m_both;
  QString m_path, m_read, m_drawn;
  reports::RunId m_of{};
  QElapsedTimer m_age;
  qint64 m_took = 0;
  int m_kernelAsked = 0;
  std::optional<TimelineView> m_view;
  TimelinePointer m_summed, m_fitted;
  QString m_searched;
  std::optional<std::pair<std::int64_t, std::int64_t>> m_filtered;
  std::optional<std::int64_t> m_step;
};

}  // namespace

Panel* makeTimelinePanel(const PanelContext& context, QWidget* parent) { return new TimelinePanel(context, parent); }

}  // namespace ulpscope::gui
