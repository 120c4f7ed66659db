// Overflows: the steps whose gradients were not finite as a table to filter; of the selected one the diagnosis in words, and what its
// operation reads and makes.
#include <QComboBox>
#include <QCoreApplication>
#include <QHeaderView>
#include <QLabel>
#include <QSplitter>
#include <QTextBrowser>
#include <QVBoxLayout>

#include "gui/models/overflows_model.h"
#include "gui/models/text.h"
#include "gui/panels/panels.h"
#include "gui/widgets/table_view.h"
#include "gui/widgets/theme.h"

namespace ulpscope::gui {
namespace {

class OverflowsPanel final : public Panel {
  Q_DECLARE_TR_FUNCTIONS(OverflowsPanel)

 public:
  OverflowsPanel(const PanelContext& context, QWidget* parent) : Panel(context, parent) {
    m_model = new OverflowsModel(this);
    m_proxy = new OverflowsProxy(this);
    m_proxy->setSourceModel(m_model);
    m_operands = new OperandsModel(this);
    auto* const column = new QVBoxLayout(this);
    column->setContentsMargins(8, 6, 8, 8);
    column->addLayout(makeFilters());
    auto* const split = new QSplitter(Qt::Vertical, this);
    split->setChildrenCollapsible(false);
    split->addWidget(m_table = new TableView(split));
    split->addWidget(makeDetails(split));
    split->setStretchFactor(0, 2);
    split->setStretchFactor(1, 3);
    column->addWidget(split, 1);
    m_table->setModel(m_proxy);
    m_table->setSortingEnabled(true);
    m_table->sortByColumn(OverflowsModel::StepColumn, Qt::AscendingOrder);
    m_table->verticalHeader()->hide();
    m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_table->setSelectionMode(QAbstractItemView::ExtendedSelection);
    m_table->setAccessibleName(tr("Overflows"));
    connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& now) { choose(now); });
  }

 protected:
  void readDropped() override { m_reading.forget(); }
  void refresh() override {
    const SnapshotPointer now = snapshot();
    if (!now || !now->comparison) {
      m_reading.forget();
      show(nullptr);
    } else if (m_reading.due(*now)) {
      if (m_path != now->path) show(nullptr);
      m_path = now->path;
      m_waiting = true;
      readMore([comparison = now->comparison](const reports::RunFileReader& file) { return readOverflows(file, comparison); },
               [this](OverflowsData section) {
                 m_reading.arrived();
                 m_waiting = false;
                 show(std::make_shared<const OverflowsData>(std::move(section)));
               });
    }
    filter();
    showSelected();
  }

 private:
  QLayout* makeFilters() {
    auto* const row = new QHBoxLayout;
    const std::pair<QComboBox**, QString> boxes[] = {{&m_kind, tr("Kind")}, {&m_mode, tr("Mode")}, {&m_layer, tr("Layer")}};
    for (const auto& [box, label] : boxes) {
      row->addWidget(new QLabel(label, this));
      row->addWidget(*box = new QComboBox(this));
      (*box)->setAccessibleName(label);
      (*box)->setSizeAdjustPolicy(QComboBox::AdjustToContents);
      connect(*box, &QComboBox::currentIndexChanged, this, [this] { invalidate(); });
    }
    row->addWidget(m_count = new QLabel(this));
    row->addStretch(1);
    return row;
  }

  QWidget* makeDetails(QWidget* parent) {
    auto* const split = new QSplitter(Qt::Horizontal, parent);
    split->setChildrenCollapsible(false);
    m_text = new QTextBrowser(split);
    m_text->setAccessibleName(tr("Diagnosis"));
    m_text->setOpenLinks(false);
    readAsWindow(*m_text->document());
    auto* const right = new QWidget(split);
    auto* const column = new QVBoxLayout(right);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(m_node = new QLabel(right));
    m_node->setTextFormat(Qt::PlainText);
    m_node->setWordWrap(true);
    m_node->setMargin(4);
    m_node->setAlignment(Qt::AlignTop | Qt::AlignLeading);
    column->addWidget(m_around = new TableView(right), 1);
    m_around->setModel(m_operands);
    m_around->verticalHeader()->hide();
    m_around->setAccessibleName(tr("What the operation reads and makes"));
    split->addWidget(m_text);
    split->addWidget(right);
    split->setStretchFactor(0, 1);
    split->setStretchFactor(1, 1);
    split->setSizes({1000, 1000});
    return split;
  }

  void show(std::shared_ptr<const OverflowsData> section) {
    if (section == m_model->source()) return;
    const bool first = m_model->rowCount() == 0;
    m_quiet = true;
    m_model->setData(std::move(section));
    m_quiet = false;
    m_shown = {};
    for (auto [box, role] : {std::pair{m_kind, OverflowsModel::KindRole}, std::pair{m_mode, OverflowsModel::ModeRole}, std::pair{m_layer, OverflowsModel::LayerRole}}) {
      const QSignalBlocker quiet(box);
      const QString before = box->currentData().toString();
      box->clear();
      box->addItem(tr("all"), QString());
      for (const QString& text : m_model->choices(role)) box->addItem(text, text);
      box->setCurrentIndex(std::max(0, box->findData(before)));
    }
    m_table->setVisible(m_model->rowCount() > 0);
    if (first && m_model->rowCount() > 0) m_table->fitColumns(220);
    filter();
    showSelected();
  }

  void filter() {
    OverflowFilter filter{.kind = m_kind->currentData().toString(), .mode = m_mode->currentData().toString(), .layer = m_layer->currentData().toString(),
                          .words = selection().nodeFilter(), .steps = selection().steps()};
    const SnapshotPointer now = snapshot();
    for (const RunView& run : now ? now->runs : std::vector<RunView>{}) {
      if (!selection().isShown({now->path, run.record.id})) filter.hidden.insert(static_cast<qlonglong>(run.record.id));
    }
    m_hidden = filter.hidden;
    m_quiet = true;
    m_proxy->setFilter(std::move(filter));
    m_quiet = false;
    count();
  }

  void count() {
    const auto& now = m_model->source();
    if (!now) return m_count->setText(!snapshot() ? QString() : m_waiting ? tr("reading …") : tr("no run is on record"));
    std::int64_t total = 0;
    for (const std::int64_t of : now->section.total) total += of;
    if (total == 0) return m_count->setText(tr("The gradients of every recorded step were finite."));
    QString text = tr("overflows: %1 of %2").arg(m_proxy->rowCount()).arg(total);
    if (total > m_model->rowCount()) text += tr(" (of a run the first %1 are listed)").arg(reports::most_overflow_events);
    m_count->setText(text);
  }

  /// A row was chosen here: the others follow.
  void choose(const QModelIndex& at) {
    if (m_quiet || !at.isValid()) return;
    const int row = m_proxy->mapToSource(at).row();
    selection().setRun(RunKey{m_path, m_model->run(row).run.id});
    selection().setStep(m_model->event(row).step);
    if (!m_model->event(row).node.empty()) selection().setNode(plain(m_model->event(row).node));
    showOverflow(row);
  }

  /// The event of the selected run and step, else the one that is shown, else the first.
  void showSelected() {
    int row = -1;
    if (selection().run() && selection().run()->path == m_path && selection().step()) row = m_model->rowOf(selection().run()->run, *selection().step());
    QModelIndex at = row < 0 ? QModelIndex() : m_proxy->mapFromSource(m_model->index(row, 0));
    if (!at.isValid()) at = m_table->currentIndex();
    if (!at.isValid() && m_proxy->rowCount() > 0) at = m_proxy->index(0, 0);
    if (!at.isValid()) return showOverflow(-1);
    if (at.row() != m_table->currentIndex().row()) {
      m_quiet = true;
      m_table->setCurrentIndex(m_proxy->index(at.row(), 0));
      m_table->scrollTo(at);
      m_quiet = false;
    }
    showOverflow(m_proxy->mapToSource(at).row());
  }

  void showOverflow(int row) {
    if (row < 0) {
      if (m_model->source()) m_text->setHtml(verdictsText(*m_model->source(), m_hidden));
      else m_text->clear();
      m_node->clear();
      m_node->parentWidget()->hide();
      m_operands->setNeighbourhood({});
      m_around->setVisible(false);
      m_shown = {};
      return;
    }
    const std::pair<const void*, int> wanted{m_model->source().get(), row};
    if (wanted == m_shown) return;
    m_shown = wanted;
    m_node->parentWidget()->show();
    m_text->setHtml(overflowText(*m_model->source(), static_cast<std::size_t>(row)));
    m_operands->setNeighbourhood({});
    const reports::OverflowEvent& event = m_model->event(row);
    m_around->setVisible(!event.node.empty());
    if (event.node.empty()) return m_node->setText(tr("The operation is unknown."));
    m_node->setText(plain(event.node));
    const reports::RunId run = m_model->run(row).run.id;
    document()->read(this, [run, node = event.node, step = event.step](const reports::RunFileReader& file) { return readNeighbourhood(file, run, node, step); },
                     [this, wanted](Neighbourhood around) {
                       if (wanted == m_shown) showAround(std::move(around));
                     });
  }

  void showAround(Neighbourhood around) {
    QString text = tr("%1: %2").arg(plain(around.node.name), plain(around.node.operation));
    if (!around.node.compute_format.empty()) text += tr(", computed in %1").arg(plain(around.node.compute_format));
    if (!around.node.format_reason.empty()) text += QStringLiteral(". ") + sentence(around.node.format_reason);
    m_node->setText(text);
    m_operands->setNeighbourhood(std::move(around));
    m_around->fitColumns(240);
  }

  OverflowsModel* m_model;
  OverflowsProxy* m_proxy;
  OperandsModel* m_operands;
  TableView* m_table;
  TableView* m_around = nullptr;
  QComboBox* m_kind = nullptr;
  QComboBox* m_mode = nullptr;
  QComboBox* m_layer = nullptr;
  QLabel* m_count = nullptr;
  QLabel* m_node = nullptr;
  QTextBrowser* m_text = nullptr;
  Reading m_reading;
  QString m_path;
  QSet<qlonglong> m_hidden;
  bool m_quiet = false;    // what is chosen is not chosen by a person
  bool m_waiting = false;
  std::pair<const void*, int> m_shown{};
};

}  // namespace

Panel* makeOverflowsPanel(const PanelContext& context, QWidget* parent) { return new OverflowsPanel(context, parent); }

}  // namespace ulpscope::gui
