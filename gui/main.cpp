// ulpscope-gui [--language CODE] [--export FILE [--force]] [RUN.ulp …]
#include <QApplication>
#include <QCommandLineParser>
#include <QSettings>
#include <QThreadPool>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "gui/language.h"
#include "gui/models/reading_thread.h"
#include "gui/report/export_report.h"
#include "gui/viewer.h"
#include "gui/widgets/theme.h"

namespace {

/// What needs no display is answered without one.
bool onlyAsks(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const QString argument = QString::fromLocal8Bit(argv[i]);
    if (argument == QLatin1String("-h") || argument == QLatin1String("--help") || argument == QLatin1String("-v") || argument == QLatin1String("--version")) return true;
  }
  return false;
}

bool hasDisplay() {
  return !qEnvironmentVariableIsEmpty("DISPLAY") || !qEnvironmentVariableIsEmpty("WAYLAND_DISPLAY") || !qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM");
}

}  // namespace

int main(int argc, char** argv) {
  using namespace ulpscope::gui;
  const bool asks = onlyAsks(argc, argv), exports = wantsExport(argc, argv);
  if (exports) {
    qputenv("QT_QPA_PLATFORM", "offscreen");  // charts are drawn, and nobody sees them
    qInstallMessageHandler([](QtMsgType, const QMessageLogContext&, const QString&) {});  // what Qt misses of a desktop
  }
  if (!asks && !exports && !hasDisplay()) {
    std::fputs("ulpscope-gui: there is no display here (DISPLAY and WAYLAND_DISPLAY are not set); ulpscope compare RUN.ulp shows a run in the terminal, ulpscope-gui --export report.pdf RUN.ulp writes its report\n", stderr);
    return 1;
  }
  const std::unique_ptr<QCoreApplication> application = asks ? std::make_unique<QCoreApplication>(argc, argv)
                                                             : std::unique_ptr<QCoreApplication>(std::make_unique<QApplication>(argc, argv));
  QCoreApplication::setOrganizationName(QStringLiteral("ulpscope"));
  QCoreApplication::setApplicationName(QStringLiteral("ulpscope-gui"));
  QCoreApplication::setApplicationVersion(QStringLiteral(ULPSCOPE_GUI_VERSION));
  QStringList codes;
  for (const Language& language : languages()) codes << QLatin1String(language.code);
  QCommandLineParser parser;
  parser.setApplicationDescription(QStringLiteral("Shows recordings of ulpscope, finished and live."));
  parser.addHelpOption();
  parser.addVersionOption();
  const QCommandLineOption languageOption(QStringLiteral("language"), QStringLiteral("language of the window: %1 (else the one of the menu, else the system's)").arg(codes.join(QStringLiteral(", "))),
                                          QStringLiteral("code"));
  parser.addOption(languageOption);
  const QCommandLineOption exportOption(QStringLiteral("export"), QStringLiteral("write the report of the run files into FILE (.pdf or .html), without a window"), QStringLiteral("FILE"));
  parser.addOption(exportOption);
  const QCommandLineOption forceOption(QStringLiteral("force"), QStringLiteral("--export replaces a file that is there"));
  parser.addOption(forceOption);
  parser.addPositionalArgument(QStringLiteral("RUN.ulp"), QStringLiteral("run files to open"), QStringLiteral("[RUN.ulp …]"));
  if (!parser.parse(application->arguments())) {
    std::fprintf(stderr, "ulpscope-gui: %s; ulpscope-gui --help lists what there is\n", qPrintable(parser.errorText()));
    return 2;
  }
  if (parser.isSet(QStringLiteral("help"))) parser.showHelp();
  if (parser.isSet(QStringLiteral("version"))) parser.showVersion();
  if (parser.isSet(exportOption)) return exportReport(parser.value(exportOption), parser.positionalArguments(), parser.isSet(forceOption));
  const QString language = parser.isSet(languageOption) ? parser.value(languageOption) : chosenLanguage();
  if (!isLanguage(language)) {
    std::fprintf(stderr, "ulpscope-gui: --language: there is no '%s'; there are %s\n", qPrintable(language), qPrintable(codes.join(QStringLiteral(", "))));
    return 2;
  }
  useLanguage(language);
  systemIsDark();  // asked before the program has a palette of its own
  applyTheme(static_cast<Theme>(QSettings().value(QStringLiteral("window/theme"), 0).toInt()));
  int code = 0;
  {
    Viewer viewer;
    viewer.window().open(parser.positionalArguments());
    code = QApplication::exec();
  }
  QThreadPool::globalInstance()->waitForDone();  // a report that is being written
  constexpr int patienceMs = 300;                // enough for threads that have nothing to do
  if (!ReadingThread::waitForAll(patienceMs)) {  // an analysis that nobody waits for any more: it only reads
    QSettings().sync();
    std::fflush(nullptr);
    std::_Exit(code);
  }
  return code;
}
