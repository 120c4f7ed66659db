#include "gui/runs/run_dialog.h"

#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPushButton>
#include <QSpinBox>
#include <QVBoxLayout>

namespace ulpscope::gui {
namespace {
// As in `ulpscope run --help`; the program itself refuses what it does not know.
const char* const modeNames[] = {"fp32", "tf32", "fp16", "bf16", "fp16+tf32", "bf16+tf32", "fp16_pure", "bf16_pure"};
const char* const modelNames[] = {"gpt", "llama", "encoder"};  // that train on text; others need an experiment file
}  // namespace

RunDialog::RunDialog(QWidget* parent) : QDialog(parent) {
  setWindowTitle(tr("New run"));
  auto* const form = new QFormLayout;
  form->setFieldGrowthPolicy(QFormLayout::ExpandingFieldsGrow);
  m_experiment = makePath(form, tr("Experiment file"), tr("none: model and data below"), [this] {
    return QFileDialog::getOpenFileName(this, tr("Experiment file"), {}, tr("Experiments (*.toml)"));
  });
  m_model = new QComboBox(this);
  m_model->addItem(tr("as in the file"), QString());
  for (const char* name : modelNames) m_model->addItem(QLatin1String(name), QLatin1String(name));
  form->addRow(tr("Model"), m_model);
  m_data = makePath(form, tr("Data"), tr("text files or folders, several with commas"), [this] { return QFileDialog::getExistingDirectory(this, tr("Folder of texts")); });
  form->addRow(tr("Modes"), makeModes());
  m_steps = new QSpinBox(this);
  m_steps->setRange(0, 100'000'000);
  m_steps->setSpecialValueText(tr("as in the file"));
  form->addRow(tr("Steps"), m_steps);
  m_seeds = new QSpinBox(this);
  m_seeds->setRange(0, 1000);
  m_seeds->setSpecialValueText(tr("as in the file"));
  m_seeds->setToolTip(tr("A verdict needs 3"));
  form->addRow(tr("Seeds"), m_seeds);
  m_output = makePath(form, tr("Run file"), tr("where it is recorded"), [this] {
    return QFileDialog::getSaveFileName(this, tr("Run file"), m_output->text(), tr("Run files (*.ulp)"), nullptr, QFileDialog::DontConfirmOverwrite);
  });
  m_output->setText(QDir::current().absoluteFilePath(QStringLiteral("run.ulp")));
  m_replace = new QCheckBox(tr("replace the file if it is there"), this);
  form->addRow(QString(), m_replace);
  m_command = new QLineEdit(this);
  m_command->setReadOnly(true);
  m_command->setAccessibleName(tr("The same as a command"));
  auto* const copy = new QPushButton(tr("Copy"), this);
  connect(copy, &QPushButton::clicked, this, [this] { QApplication::clipboard()->setText(m_command->text()); });
  auto* const command = new QHBoxLayout;
  command->addWidget(m_command, 1);
  command->addWidget(copy);
  form->addRow(tr("As a command"), command);
  m_problem = new QLabel(this);
  m_problem->setWordWrap(true);
  auto* const buttons = new QDialogButtonBox(QDialogButtonBox::Cancel, this);
  m_start = buttons->addButton(tr("Start"), QDialogButtonBox::AcceptRole);
  m_start->setDefault(true);
  for (QAbstractButton* button : buttons->buttons()) button->setIcon({});  // beside one, Fusion puts the text at the edge from right to left
  connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  auto* const column = new QVBoxLayout(this);
  column->addLayout(form);
  column->addWidget(m_problem);
  column->addStretch(1);
  column->addWidget(buttons);
  for (QLineEdit* edit : {m_experiment, m_data, m_output}) connect(edit, &QLineEdit::textChanged, this, &RunDialog::update);
  for (QSpinBox* box : {m_steps, m_seeds}) connect(box, &QSpinBox::valueChanged, this, &RunDialog::update);
  connect(m_model, &QComboBox::currentIndexChanged, this, &RunDialog::update);
  connect(m_modes, &QListWidget::itemChanged, this, &RunDialog::update);
  connect(m_replace, &QCheckBox::toggled, this, &RunDialog::update);
  resize(640, sizeHint().height());
  update();
}

QLineEdit* RunDialog::makePath(QFormLayout* form, const QString& label, const QString& hint, std::function<QString()> ask) {
  auto* const edit = new QLineEdit(this);
  edit->setPlaceholderText(hint);
  edit->setClearButtonEnabled(true);
  auto* const choose = new QPushButton(tr("Choose…"), this);
  choose->setAccessibleName(tr("Choose: %1").arg(label));
  connect(choose, &QPushButton::clicked, this, [edit, ask = std::move(ask)] {
    const QString path = ask();
    if (!path.isEmpty()) edit->setText(path);
  });
  auto* const row = new QHBoxLayout;
  row->addWidget(edit, 1);
  row->addWidget(choose);
  auto* const name = new QLabel(label, this);
  name->setBuddy(edit);
  form->addRow(name, row);
  return edit;
}

QWidget* RunDialog::makeModes() {
  m_modes = new QListWidget(this);
  m_modes->setFlow(QListView::LeftToRight);
  m_modes->setWrapping(true);
  m_modes->setResizeMode(QListView::Adjust);
  m_modes->setSpacing(2);
  m_modes->setFixedHeight(2 * (fontMetrics().height() + 14) + 6);
  m_modes->setToolTip(tr("None ticked: as in the file"));
  for (const char* name : modeNames) {
    auto* const item = new QListWidgetItem(QLatin1String(name), m_modes);
    item->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemIsUserCheckable);
    item->setCheckState(Qt::Unchecked);
  }
  return m_modes;
}

RunRequest RunDialog::request() const {
  RunRequest request;
  request.experiment = m_experiment->text().trimmed();
  request.model = m_model->currentData().toString();
  for (const QString& path : m_data->text().split(QLatin1Char(','), Qt::SkipEmptyParts)) request.data << path.trimmed();
  for (int i = 0; i < m_modes->count(); ++i) {
    if (m_modes->item(i)->checkState() == Qt::Checked) request.modes << m_modes->item(i)->text();
  }
  if (m_steps->value() > 0) request.steps = m_steps->value();
  if (m_seeds->value() > 0) request.seeds = m_seeds->value();
  request.output = m_output->text().trimmed();
  request.replace = m_replace->isChecked();
  return request;
}

void RunDialog::setRequest(const RunRequest& request) {
  m_experiment->setText(request.experiment);
  m_model->setCurrentIndex(std::max(0, m_model->findData(request.model)));
  m_data->setText(request.data.join(QStringLiteral(", ")));
  for (int i = 0; i < m_modes->count(); ++i)
    m_modes->item(i)->setCheckState(request.modes.contains(m_modes->item(i)->text()) ? Qt::Checked : Qt::Unchecked);
  m_steps->setValue(request.steps.value_or(0));
  m_seeds->setValue(request.seeds.value_or(0));
  if (!request.output.isEmpty()) m_output->setText(request.output);
  m_replace->setChecked(request.replace);
}

QString RunDialog::problem() const {
  const RunRequest now = request();
  if (!now.experiment.isEmpty() && !QFileInfo(now.experiment).isFile()) return tr("There is no experiment file %1").arg(now.experiment);
  if (now.experiment.isEmpty() && now.model.isEmpty()) return tr("Choose an experiment file, or a model and data");
  if (now.experiment.isEmpty() && now.data.isEmpty()) return tr("Choose the data to train on");
  for (const QString& path : now.data) {
    if (!QFileInfo::exists(path)) return tr("There is no file or folder %1").arg(path);
  }
  if (now.output.isEmpty()) return tr("Choose the run file");
  const QFileInfo output(now.output);
  if (!output.absoluteDir().exists()) return tr("There is no folder %1").arg(output.absolutePath());
  if (output.exists() && !now.replace) return tr("%1 is there already: choose another name, or tick that it is replaced").arg(now.output);
  return {};
}

void RunDialog::update() {
  m_command->setText(commandLine(QStringLiteral("ulpscope"), request().arguments()));
  m_command->setCursorPosition(0);
  const QString wrong = problem();
  m_problem->setText(wrong);
  m_start->setEnabled(wrong.isEmpty());
}

}  // namespace ulpscope::gui
