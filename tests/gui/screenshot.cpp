// screenshot FILE.png: what is on the screen of the display named by DISPLAY.
#include <QGuiApplication>
#include <QPixmap>
#include <QScreen>
#include <cstdio>

int main(int argc, char** argv) {
  QGuiApplication application(argc, argv);
  if (argc != 2) {
    std::fputs("usage: screenshot FILE.png\n", stderr);
    return 2;
  }
  const QPixmap picture = QGuiApplication::primaryScreen()->grabWindow(0);
  return !picture.isNull() && picture.save(QString::fromLocal8Bit(argv[1])) ? 0 : 1;
}
