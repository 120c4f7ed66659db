// ulpscope-gui [RUN.ulp …]
#include <QApplication>
#include <QCommandLineParser>
#include <QLibraryInfo>
#include <QLocale>
#include <QSettings>
#include <QTranslator>
#include <cstdio>
#include <memory>

#include "gui/main_window.h"
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
  const bool asks = onlyAsks(argc, argv);
  if (!asks && !hasDisplay()) {
    std::fputs("ulpscope-gui: there is no display here (DISPLAY and WAYLAND_DISPLAY are not set); ulpscope compare RUN.ulp shows a run in the terminal\n", stderr);
    return 1;
  }
  const std::unique_ptr<QCoreApplication> application = asks ? std::make_unique<QCoreApplication>(argc, argv)
                                                             : std::unique_ptr<QCoreApplication>(std::make_unique<QApplication>(argc, argv));
  QCoreApplication::setOrganizationName(QStringLiteral("ulpscope"));
  QCoreApplication::setApplicationName(QStringLiteral("ulpscope-gui"));
  QCoreApplication::setApplicationVersion(QStringLiteral(ULPSCOPE_GUI_VERSION));
  QCommandLineParser parser;
  parser.setApplicationDescription(QStringLiteral("Shows recordings of ulpscope, finished and live."));
  parser.addHelpOption();
  parser.addVersionOption();
  parser.addPositionalArgument(QStringLiteral("RUN.ulp"), QStringLiteral("run files to open"), QStringLiteral("[RUN.ulp …]"));
  parser.process(*application);
  systemIsDark();  // asked before the program has a palette of its own
  applyTheme(static_cast<Theme>(QSettings().value(QStringLiteral("window/theme"), 0).toInt()));
  MainWindow window;
  window.show();
  window.open(parser.positionalArguments());
  return QApplication::exec();
}
