// Reports as PDF: from the window, and from the command line without a display.
#include <QAction>
#include <QDialogButtonBox>
#include <QFileDialog>
#include <QImage>
#include <QLineEdit>
#include <QMessageBox>
#include <QPainter>
#include <QPdfWriter>
#include <QProcess>
#include <QPushButton>
#include <QRegularExpression>
#include <QStandardPaths>
#include <QTimer>
#include <algorithm>
#include <filesystem>
#include <optional>

#include "gui/main_window.h"
#include "gui/models/run_colours.h"
#include "gui/report/export_report.h"
#include "gui/report/report_pdf.h"
#include "gui/widgets/message_bar.h"
#include "reports/export/html/page.h"
#include "tests/gui/gui_test.h"
#include "tests/gui/observed_run.h"

namespace ulpscope::gui {
namespace {

class ReportPdfTest : public GuiTest {
 protected:
  /// Pages, by the objects of the file.
  int pagesOf(const std::string& name) const {
    const QString bytes = QString::fromLatin1(QByteArray::fromStdString(read(in(name))));
    static const QRegularExpression page(QStringLiteral("/Type /Page\\b(?!s)"));
    return static_cast<int>(bytes.count(page));
  }
  /// Its text as another program reads it; none if there is none.
  std::optional<QString> textOf(const std::string& name) const {
    const QString program = QStandardPaths::findExecutable(QStringLiteral("pdftotext"));
    if (program.isEmpty()) return std::nullopt;
    QProcess process;
    process.start(program, {QStringLiteral("-layout"), path(name), QStringLiteral("-")});
    EXPECT_TRUE(process.waitForFinished());
    EXPECT_EQ(process.exitCode(), 0);
    return QString::fromUtf8(process.readAllStandardOutput()).normalized(QString::NormalizationForm_KC);  // no ligatures
  }
  /// Of a chart alone.
  std::optional<QString> wordsOf(const ReportChart& chart) const {
    {
      QPdfWriter writer(path("chart.pdf"));
      QPainter painter(&writer);
      QPicture picture = chart.picture;
      picture.play(&painter);
    }
    keepPages("chart.pdf", QStringLiteral("report-chart"));
    return textOf("chart.pdf");
  }
  /// Bars of a colour beside each other, in the row that has most of them.
  static int barsOf(const ReportChart& chart, const QColor& colour) {
    QImage image(chart.size, QImage::Format_RGB32);
    image.fill(Qt::white);
    {
      QPainter painter(&image);
      QPicture picture = chart.picture;
      picture.play(&painter);
    }
    int most = 0;
    for (int y = 0; y < image.height(); ++y) {
      int bars = 0, wide = 0;
      for (int x = 0; x < image.width(); ++x) {
        wide = image.pixelColor(x, y) == colour ? wide + 1 : 0;
        if (wide == 10) ++bars;
      }
      most = std::max(most, bars);
    }
    return most;
  }
  void keepPages(const std::string& name, const QString& as) const {
    const QString program = QStandardPaths::findExecutable(QStringLiteral("pdftoppm"));
    if (!program.isEmpty()) QProcess::execute(program, {QStringLiteral("-png"), QStringLiteral("-r"), QStringLiteral("80"), path(name), QStringLiteral(ULPSCOPE_PICTURES "/%1").arg(as)});
  }
  struct Ended {
    int code = -1;
    QString said{};
  };
  /// The real program, in an environment without a display.
  Ended program(const QStringList& arguments) const {
    QProcess process;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"}) environment.remove(QLatin1String(name));
    environment.insert(QStringLiteral("HOME"), path(""));
    environment.insert(QStringLiteral("XDG_CONFIG_HOME"), path(""));
    process.setProcessEnvironment(environment);
    process.start(QStringLiteral(ULPSCOPE_GUI_PROGRAM), arguments);
    EXPECT_TRUE(process.waitForFinished(60000));
    return {process.exitCode(), QString::fromUtf8(process.readAllStandardError())};
  }
};

TEST_F(ReportPdfTest, HoldsEverySectionWithItsCharts) {
  writeObserved(in("a.ulp"));
  const reports::RunFileReader reader(in("a.ulp"));
  const ReportText text = readReport({&reader});
  const auto charts = drawReportCharts(*text.report);
  for (const char* id : {"loss", "scale", "map", "histogram"}) EXPECT_TRUE(charts.contains(QLatin1String(id))) << id;
  const QString html = documentHtml(text, charts);
  for (const char* gone : {"<figure", "<details", "<section", "<label", "<caption", "<small class"}) EXPECT_FALSE(html.contains(QLatin1String(gone))) << gone;
  EXPECT_EQ(html.count(QStringLiteral("<img ")), static_cast<qsizetype>(charts.size()));
  EXPECT_TRUE(html.contains(QString::fromStdString(text.report->verdict.sentence).left(20)));
  ASSERT_EQ(writeReportPdf(text, charts, path("a.pdf")), QString());
  EXPECT_EQ(read(in("a.pdf")).substr(0, 5), "%PDF-");
  const int pages = pagesOf("a.pdf");
  EXPECT_GE(pages, 3);
  EXPECT_LE(pages, 20);
  keepPages("a.pdf", "report-observed");
  const auto words = textOf("a.pdf");
  if (!words) GTEST_SKIP() << "pdftotext is not there";
  for (const char* word : {"Verdict", "The modes side by side", "Loss scale", "Numerics", "Overflows and their causes", "Memory", "Time", "Where it comes from", "Completeness", "fp16", "head-room"})
    EXPECT_TRUE(words->contains(QLatin1String(word), Qt::CaseInsensitive)) << word;
  for (int page = 1; page <= pages; ++page) EXPECT_TRUE(words->contains(QStringLiteral("page %1 of %2").arg(page).arg(pages))) << page;
}

TEST_F(ReportPdfTest, OfSeveralFilesTimesSayWhichAndWhatWasNotMeasuredHasNoBar) {
  writeOverflowing("a.ulp");
  writeHealthy("other.ulp");
  std::vector<reports::MadeUpRun> untimed{reports::made_up("fp32", 0, 2.0), reports::made_up("fp16", 0, 2.0)};
  for (reports::MadeUpRun& run : untimed) run.run.batch = 16;  // another setting
  const reports::RunFileReader a(in("a.ulp")), other(in("other.ulp")), b = reports::make_run_file(in("b.ulp"), untimed);
  const auto charts = [](const std::vector<const reports::RunFileReader*>& files) { return drawReportCharts(*readReport(files).report); };
  const auto alone = charts({&a}), beside = charts({&a, &b}), two = charts({&a, &other});
  for (const char* id : {"speed", "peak"}) {
    ASSERT_TRUE(alone.contains(QLatin1String(id)) && beside.contains(QLatin1String(id))) << id;
    EXPECT_EQ(barsOf(alone.at(QLatin1String(id)), runColour("fp32")), 1) << id;
    EXPECT_EQ(barsOf(beside.at(QLatin1String(id)), runColour("fp32")), 1) << id << ": the other file's fp32 has none";
  }
  ASSERT_TRUE(alone.contains("time") && two.contains("time"));
  const auto one = wordsOf(alone.at("time")), words = wordsOf(two.at("time"));
  if (!one || !words) GTEST_SKIP() << "pdftotext is not there";
  EXPECT_TRUE(one->contains("fp32") && !one->contains("ulp")) << one->toStdString();
  for (const char* label : {"fp32, a.ulp", "fp32, other.ulp"}) EXPECT_TRUE(words->contains(QLatin1String(label))) << words->toStdString();
}

TEST_F(ReportPdfTest, WhatIsLeftOfARunIsAReportToo) {
  writeHealthy("healthy.ulp");
  writeAllNaN("nan.ulp");
  writeOneMode("one-step.ulp", 1);
  for (const char* name : {"healthy", "nan", "one-step"}) {
    const std::string pdf = std::string(name) + ".pdf";
    EXPECT_EQ(exportReport(path(pdf), {path(std::string(name) + ".ulp")}, false), 0) << name;
    EXPECT_GE(pagesOf(pdf), 1) << name;
    keepPages(pdf, QStringLiteral("report-%1").arg(QLatin1String(name)));
  }
}

TEST_F(ReportPdfTest, TheWindowWritesIt) {
  writeOverflowing("a.ulp");
  MainWindow window;
  window.show();
  window.open({path("a.ulp")});
  ASSERT_TRUE(until([&] { return window.session().current()->snapshot() != nullptr; }));
  const auto said = [&](const char* words) { return until([&] { return window.messages().texts().join(' ').contains(QLatin1String(words)); }); };
  window.exportReport(path("a.pdf"));
  EXPECT_TRUE(said("The report is in")) << window.messages().texts().join(' ').toStdString();
  EXPECT_EQ(read(in("a.pdf")).substr(0, 5), "%PDF-");
  window.exportReport(path("no/such/folder/a.pdf"));
  EXPECT_TRUE(said("could not be written"));
  window.exportReport(path("a.doc"));
  EXPECT_TRUE(said("a report is written as"));
}

TEST_F(ReportPdfTest, ANameWithoutASuffixReplacesNothingUnasked) {
  writeOverflowing("a.ulp");
  write(in("mine.pdf"), "mine");
  MainWindow window;
  window.show();
  window.open({path("a.ulp")});
  ASSERT_TRUE(until([&] { return window.session().current()->snapshot() != nullptr; }));
  QAction* exports = nullptr;
  for (QAction* action : window.findChildren<QAction*>())
    if (action->shortcut() == QKeySequence(Qt::CTRL | Qt::Key_E)) exports = action;
  if (exports == nullptr) GTEST_SKIP() << "this build has no Vega";
  const auto choose = [&](QMessageBox::StandardButton answer) {
    int asked = 0;
    QTimer timer;
    QObject::connect(&timer, &QTimer::timeout, [&] {
      QWidget* const asks = QApplication::activeModalWidget();
      if (auto* const box = qobject_cast<QMessageBox*>(asks)) {
        ++asked;
        EXPECT_TRUE(box->text().contains(path("mine.pdf"))) << box->text().toStdString();
        box->button(answer)->click();
      } else if (auto* const dialog = qobject_cast<QFileDialog*>(asks)) {
        dialog->findChild<QLineEdit*>("fileNameEdit")->setText(path("mine"));
        dialog->findChild<QDialogButtonBox*>()->button(QDialogButtonBox::Save)->click();
      }
    });
    timer.start(50);
    exports->trigger();
    return asked;
  };
  EXPECT_EQ(choose(QMessageBox::No), 1);
  EXPECT_EQ(window.messages().texts(), QStringList());
  EXPECT_EQ(read(in("mine.pdf")), "mine");
  EXPECT_EQ(choose(QMessageBox::Yes), 1);
  EXPECT_TRUE(until([&] { return read(in("mine.pdf")).substr(0, 5) == "%PDF-"; }));
}

TEST_F(ReportPdfTest, TheProgramNeedsNoDisplayAndSaysInALineWhatIsWrong) {
  writeOverflowing("a.ulp");
  write(in("bad.ulp"), "no run file");
  {
    reports::RunFileWriter writer(in("no-runs.ulp"));
    writer.push(reports::ExperimentRecord{.name = "nothing yet"});
    writer.close();
  }
  const Ended good = program({"--export", path("a.pdf"), path("a.ulp")});
  EXPECT_EQ(good.code, 0) << good.said.toStdString();
  EXPECT_EQ(good.said, QString());
  EXPECT_GE(pagesOf("a.pdf"), 2);
  const std::vector<std::pair<QStringList, int>> wrong{{{"--export", path("b.pdf"), path("missing.ulp")}, 2},
                                                      {{"--export", path("b.pdf"), path("bad.ulp")}, 2},
                                                      {{"--export", path("b.pdf"), path("no-runs.ulp")}, 2},
                                                      {{"--export", path("b.pdf")}, 2},
                                                      {{"--export", path("b.doc"), path("a.ulp")}, 2},
                                                      {{"--export=" + path("no/folder/b.pdf"), path("a.ulp")}, 2},
                                                      {{"--export", path("b.pdf"), "--nonsense", path("a.ulp")}, 2}};
  for (const auto& [arguments, code] : wrong) {
    const Ended ended = program(arguments);
    EXPECT_EQ(ended.code, code) << arguments.join(' ').toStdString() << ": " << ended.said.toStdString();
    EXPECT_EQ(ended.said.count('\n'), 1) << ended.said.toStdString();
    EXPECT_TRUE(ended.said.startsWith("ulpscope-gui: ")) << ended.said.toStdString();
  }
  EXPECT_FALSE(std::filesystem::exists(in("b.pdf")));
  EXPECT_EQ(program({"--export", path("a.pdf"), path("a.ulp")}).code, 2) << "it is there";
  EXPECT_EQ(program({"--export", path("a.pdf"), "--force", path("a.ulp")}).code, 0);
  std::filesystem::copy_file(in("a.ulp"), in("run.pdf"));
  EXPECT_EQ(program({"--export", path("run.pdf"), "--force", path("a.ulp")}).code, 2) << "a run file is never replaced";
  EXPECT_EQ(read(in("run.pdf")).substr(0, 6), "SQLite");
  if (!reports::can_write_html()) return;
  EXPECT_EQ(program({"--export", path("a.html"), path("a.ulp")}).code, 0);
  EXPECT_NE(read(in("a.html")).find("<html"), std::string::npos);
}

}  // namespace
}  // namespace ulpscope::gui
