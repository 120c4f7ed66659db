#include "gui/runs/run_request.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QRegularExpression>
#include <QStandardPaths>

namespace ulpscope::gui {

QStringList RunRequest::arguments() const {
  QStringList list{QStringLiteral("run")};
  if (resume) return list << output << QStringLiteral("--resume");
  if (!experiment.isEmpty()) list << experiment;
  if (!model.isEmpty()) list << QStringLiteral("--model") << model;
  for (const QString& path : data) list << QStringLiteral("--data") << path;
  if (!modes.isEmpty()) list << QStringLiteral("--modes") << modes.join(QLatin1Char(','));
  if (steps) list << QStringLiteral("--steps") << QString::number(*steps);
  if (seeds) list << QStringLiteral("--seeds") << QString::number(*seeds);
  if (!output.isEmpty()) list << QStringLiteral("-o") << output;
  if (replace) list << QStringLiteral("--force");
  return list;
}

QString commandLine(const QString& program, const QStringList& arguments) {
  static const QRegularExpression plain(QStringLiteral("^[A-Za-z0-9_./:=,+@%-]+$"));
  QStringList words;
  for (QString word : QStringList{program} + arguments) {
    if (!plain.match(word).hasMatch()) word = QStringLiteral("'%1'").arg(word.replace(QLatin1Char('\''), QStringLiteral("'\\''")));
    words << word;
  }
  return words.join(QLatin1Char(' '));
}

QString findUlpscope() {
  const QFileInfo beside(QDir(QCoreApplication::applicationDirPath()).filePath(QStringLiteral("ulpscope")));
  if (beside.isFile() && beside.isExecutable()) return beside.absoluteFilePath();
  return QStandardPaths::findExecutable(QStringLiteral("ulpscope"));
}

QString findDemo() {
  const QDir here(QCoreApplication::applicationDirPath());
  // Installed; built in build/PRESET/bin of the source tree.
  for (const char* path : {"../share/ulpscope/examples/demo.toml", "../../../examples/demo.toml"}) {
    const QFileInfo file(here.filePath(QLatin1String(path)));
    if (file.isFile()) return file.canonicalFilePath();
  }
  return {};
}

}  // namespace ulpscope::gui
