// Translations: every string of the sources has one in every language, with the same placeholders; and a window is made of them.
#include <QAction>
#include <QComboBox>
#include <QDockWidget>
#include <QFile>
#include <QGroupBox>
#include <QLabel>
#include <QMenuBar>
#include <QProcess>
#include <QRegularExpression>
#include <QTableView>
#include <QXmlStreamReader>
#include <map>
#include <tuple>

#include "gui/charts/chart.h"
#include "gui/language.h"
#include "gui/models/text.h"
#include "gui/panels/panels.h"
#include "gui/runs/run_dialog.h"
#include "gui/viewer.h"
#include "gui/widgets/theme.h"
#include "reports/analysis/diagnosis/kind.h"
#include "reports/analysis/machines.h"
#include "reports/analysis/time_category.h"
#include "tests/gui/gui_test.h"

namespace ulpscope::gui {
namespace {

struct Message {
  QString context{}, source{}, comment{};
  bool plural = false, unfinished = false;
  QStringList translations{};  // one, or one for each plural form
  auto key() const { return std::tuple(context, source, comment); }
};

std::vector<Message> messagesOf(const QString& fileName) {
  QFile file(fileName);
  EXPECT_TRUE(file.open(QIODevice::ReadOnly)) << fileName.toStdString();
  QXmlStreamReader xml(&file);
  std::vector<Message> all;
  QString context;
  while (!xml.atEnd()) {
    if (xml.readNext() != QXmlStreamReader::StartElement) continue;
    const auto name = xml.name();
    if (name == QLatin1String("name")) context = xml.readElementText();
    else if (name == QLatin1String("message")) all.push_back({.context = context, .plural = xml.attributes().value("numerus") == QLatin1String("yes")});
    else if (name == QLatin1String("source")) all.back().source = xml.readElementText();
    else if (name == QLatin1String("comment")) all.back().comment = xml.readElementText();
    else if (name == QLatin1String("translation")) {
      all.back().unfinished = xml.attributes().hasAttribute("type");
      if (!all.back().plural) all.back().translations << xml.readElementText();
    } else if (name == QLatin1String("numerusform")) all.back().translations << xml.readElementText();
  }
  EXPECT_FALSE(xml.hasError()) << xml.errorString().toStdString();
  return all;
}

QString tsFile(const char* language) { return QStringLiteral(ULPSCOPE_TRANSLATIONS "/ulpscope_%1.ts").arg(QLatin1String(language)); }

std::multiset<QString> placeholders(const QString& text, bool withCount) {
  static const QRegularExpression any(QStringLiteral("%(\\d+|n)"));
  std::multiset<QString> found;
  for (auto it = any.globalMatch(text); it.hasNext();) {
    const QString one = it.next().captured();
    if (withCount || one != QLatin1String("%n")) found.insert(one);
  }
  return found;
}

class TranslationsTest : public GuiTest {
 protected:
  void TearDown() override { useLanguage(QStringLiteral("en")); }
};

TEST_F(TranslationsTest, EveryStringHasOneWithTheSamePlaceholders) {
  const QRegularExpression menuKey(QStringLiteral("&\\w"), QRegularExpression::UseUnicodePropertiesOption);
  for (const auto& [language, forms] : {std::pair{"ar", 6}, std::pair{"vi", 1}}) {
    const std::vector<Message> messages = messagesOf(tsFile(language));
    EXPECT_GT(messages.size(), 400u);
    for (const Message& message : messages) {
      const std::string of = std::string(language) + ", " + message.context.toStdString() + ": " + message.source.toStdString();
      EXPECT_FALSE(message.unfinished) << of;
      EXPECT_EQ(message.translations.size(), message.plural ? forms : 1) << of;
      for (const QString& translation : message.translations) {
        EXPECT_FALSE(translation.isEmpty()) << of;
        EXPECT_EQ(placeholders(translation, !message.plural), placeholders(message.source, !message.plural)) << of;  // "two" needs no number
        EXPECT_EQ(translation.startsWith(' '), message.source.startsWith(' ')) << of;
        EXPECT_EQ(translation.count('\n'), message.source.count('\n')) << of;
        EXPECT_EQ(translation.contains(menuKey), message.source.contains(menuKey)) << of;  // a key of a menu
      }
    }
  }
}

TEST_F(TranslationsTest, TheFilesHoldTheStringsOfTheSourcesAndNoOthers) {
  if (!QFile::exists(QStringLiteral(ULPSCOPE_LUPDATE))) GTEST_SKIP() << "lupdate is not there";
  QProcess lupdate;
  lupdate.setProcessChannelMode(QProcess::MergedChannels);
  lupdate.setWorkingDirectory(QStringLiteral(ULPSCOPE_SOURCES));
  lupdate.start(QStringLiteral(ULPSCOPE_LUPDATE), {"-no-obsolete", "-locations", "none", "-I", ".", "gui", "-ts", path("fresh_vi.ts")});
  ASSERT_TRUE(lupdate.waitForFinished(120'000));
  const QString said = QString::fromUtf8(lupdate.readAll());
  EXPECT_FALSE(said.contains("lacks Q_OBJECT")) << said.toStdString();  // its strings would not be found when they are shown
  std::set<std::tuple<QString, QString, QString>> fresh;
  for (const Message& message : messagesOf(path("fresh_vi.ts"))) fresh.insert(message.key());
  for (const char* language : {"ar", "vi"}) {
    std::set<std::tuple<QString, QString, QString>> known;
    for (const Message& message : messagesOf(tsFile(language))) known.insert(message.key());
    for (const auto& key : fresh) EXPECT_TRUE(known.contains(key)) << language << " lacks: " << std::get<0>(key).toStdString() << ": " << std::get<1>(key).toStdString() << "; scripts/translations";
    for (const auto& key : known) EXPECT_TRUE(fresh.contains(key)) << language << " has, and the sources have not: " << std::get<1>(key).toStdString();
  }
}

TEST_F(TranslationsTest, WordsOfTheReportsAreOnTheList) {
  const std::vector<const char*>& list = reportWords();
  const auto listed = [&](std::string text) {
    std::replace(text.begin(), text.end(), '_', ' ');
    EXPECT_TRUE(text.empty() || std::find(list.begin(), list.end(), text) != list.end()) << text;
  };
  for (const reports::FigureInfo& info : reports::comparison_figures()) {
    for (const char* text : {info.label, info.section, info.meaning}) listed(text);
  }
  for (const reports::MachineFigureInfo& info : reports::machine_figures()) {
    for (const char* text : {info.label, info.meaning}) listed(text);
  }
  for (const reports::KindInfo& kind : reports::diagnosis_kinds()) {
    listed(std::string(kind.name));
    listed(std::string(kind.meaning));
  }
  for (int i = 0; i < reports::provenance_count; ++i) listed(std::string(name(static_cast<reports::Provenance>(i))));
  for (int i = 0; i < static_cast<int>(reports::memory_category_count); ++i) listed(std::string(name(static_cast<reports::MemoryCategory>(i))));
  for (int i = 0; i < static_cast<int>(reports::time_category_count); ++i) listed(std::string(label(static_cast<reports::TimeCategory>(i))));
  EXPECT_EQ(words("optimizer_state"), "optimizer state");
  EXPECT_EQ(words("no word of any report"), "no word of any report");
}

/// Everything a person can read of it.
QStringList textsOf(QWidget& window) {
  QStringList texts;
  QList<QWidget*> widgets = window.findChildren<QWidget*>();
  widgets << &window;
  for (const QWidget* widget : widgets) texts << widget->toolTip() << widget->accessibleName() << widget->windowTitle();
  for (const QLabel* label : window.findChildren<QLabel*>()) texts << label->text();
  for (const QAbstractButton* button : window.findChildren<QAbstractButton*>()) texts << button->text();
  for (const QAction* action : window.findChildren<QAction*>()) texts << action->text();
  for (const QComboBox* box : window.findChildren<QComboBox*>())
    for (int i = 0; i < box->count(); ++i) texts << box->itemText(i);
  for (const QLineEdit* edit : window.findChildren<QLineEdit*>()) texts << edit->placeholderText();
  for (const Chart* chart : window.findChildren<Chart*>()) texts << chart->xAxis->label() << chart->yAxis->label();
  for (const QAbstractItemView* view : window.findChildren<QAbstractItemView*>()) {
    if (view->model() == nullptr) continue;
    for (int c = 0; c < view->model()->columnCount(); ++c) texts << view->model()->headerData(c, Qt::Horizontal).toString();
    for (int r = 0; r < view->model()->rowCount(); ++r) {
      texts << view->model()->headerData(r, Qt::Vertical).toString();
      for (int c = 0; c < view->model()->columnCount(); ++c) texts << view->model()->index(r, c).data().toString();
    }
  }
  texts.removeAll(QString());
  return texts;
}

/// Until what is on show has been read and drawn: the reads of a file are done one after the other.
void settle(MainWindow& window) {
  for (int i = 0; i < 2; ++i) {  // what was read may be the reason to read more
    QTest::qWait(20);
    bool done = false;
    window.session().current()->read(&window, [](const reports::RunFileReader&) { return 0; }, [&done](int) { done = true; });
    ASSERT_TRUE(until([&] { return done; }));
  }
}

TEST_F(TranslationsTest, NothingInTheWindowStaysEnglish) {
  writeHealthy("a.ulp");
  writeOverflowing("b.ulp");
  for (const char* language : {"ar", "vi"}) {
    std::set<QString> english, translations;  // of strings without placeholders: where the two differ
    for (const Message& message : messagesOf(tsFile(language))) {
      for (const QString& translation : message.translations) translations.insert(translation);
      if (placeholders(message.source, true).empty() && message.translations.value(0) != message.source) english.insert(message.source);
    }
    for (const QString& same : translations) english.erase(same);  // "loss": English elsewhere, this language here
    useLanguage(QLatin1String(language));
    EXPECT_EQ(QGuiApplication::layoutDirection(), QLatin1String(language) == QLatin1String("ar") ? Qt::RightToLeft : Qt::LeftToRight);
    MainWindow window;
    window.resize(1280, 800);
    window.show();
    keepPicture(window, QStringLiteral("%1-first-page").arg(QLatin1String(language)));
    window.open({path("a.ulp"), path("b.ulp")});
    ASSERT_TRUE(until([&] { return window.session().current()->state() != DocumentState::Loading; }));
    for (const Theme theme : {Theme::Light, Theme::Dark}) {
      applyTheme(theme);
      for (const PanelInfo& info : panels()) {
        window.showPanel(info.id);
        settle(window);
        keepPicture(window, QStringLiteral("%1-%2-%3").arg(QLatin1String(language), QLatin1String(info.id), theme == Theme::Light ? "light" : "dark"));
      }
    }
    applyTheme(Theme::Light);
    RunDialog dialog(&window);
    keepPicture(dialog, QStringLiteral("%1-new-run").arg(QLatin1String(language)));
    for (const QString& text : textsOf(window)) EXPECT_FALSE(english.contains(text)) << language << ": " << text.toStdString();
  }
}

/// Where reading begins, beside the panels. Docks have their places once the window has drawn.
bool runsAreBefore(MainWindow& window) {
  const auto* const runs = window.findChild<QDockWidget*>("runs");
  const auto* const panel = window.findChild<QDockWidget*>("overview");
  const auto left = [&](const QDockWidget* dock) { return dock->mapTo(&window, QPoint(0, 0)).x(); };
  return until([&] { return runs->isVisible() && panel->isVisible() && (window.isRightToLeft() ? left(runs) >= left(panel) + panel->width() : left(panel) >= left(runs) + runs->width()); }, 10'000);
}

TEST_F(TranslationsTest, ArabicReadsFromRightToLeftAndChartsDoNot) {
  useLanguage(QStringLiteral("ar"));
  writeHealthy("a.ulp");
  MainWindow window;
  window.show();
  window.open({path("a.ulp")});
  ASSERT_TRUE(until([&] { return window.session().current()->state() != DocumentState::Loading; }));
  EXPECT_TRUE(window.isRightToLeft());
  EXPECT_EQ(window.findChild<QDockWidget*>("memory")->windowTitle(), QString::fromUtf8("الذاكرة"));
  for (const Chart* chart : window.findChildren<Chart*>()) EXPECT_FALSE(chart->isRightToLeft());
  EXPECT_TRUE(runsAreBefore(window)) << "beside the panels, where reading begins";
  EXPECT_EQ(valueText(0.0125, reports::FigureStyle::seconds), QString::fromUtf8("\u2066") + "12.5 ms" + QString::fromUtf8("\u2069"));
  EXPECT_EQ(QLocale().toString(1234), "1234") << "digits are those of the files";
}

TEST_F(TranslationsTest, AnotherLanguageMakesTheWindowAnewWithTheSameFiles) {
  writeOneMode("a.ulp", 5);
  writeOneMode("b.ulp", 5);
  Viewer viewer;
  viewer.window().open({path("a.ulp"), path("b.ulp"), path("a.ulp")});
  const MainWindow* const before = &viewer.window();
  const auto choose = [&](const char* code) {
    for (QAction* action : viewer.window().findChild<QMenu*>("languages")->actions())
      if (action->objectName() == QLatin1String(code)) action->trigger();
  };
  choose("vi");
  ASSERT_TRUE(until([&] { return &viewer.window() != before; }));
  EXPECT_EQ(usedLanguage(), "vi");
  EXPECT_EQ(viewer.window().findChild<QDockWidget*>("memory")->windowTitle(), QString::fromUtf8("Bộ nhớ"));
  EXPECT_TRUE(viewer.window().isVisible());
  ASSERT_EQ(viewer.window().session().documents().size(), 2u);
  EXPECT_EQ(viewer.window().session().current()->name(), "a.ulp");
  EXPECT_EQ(chosenLanguage(), "vi") << "it is remembered";
  EXPECT_TRUE(runsAreBefore(viewer.window()));
  for (const char* code : {"ar", "en", "ar", "vi"}) {  // a layout is remembered each time, and is one reading direction's
    choose(code);
    ASSERT_TRUE(until([&] { return usedLanguage() == QLatin1String(code); }));
    EXPECT_TRUE(runsAreBefore(viewer.window())) << code;
    keepPicture(viewer.window(), QStringLiteral("switched-to-%1").arg(QLatin1String(code)));
  }
  choose("en");
  ASSERT_TRUE(until([&] { return usedLanguage() == "en"; }));
}

TEST_F(TranslationsTest, TheSystemSaysWhichLanguageUnlessOneWasChosen) {
  const QByteArray before = qgetenv("LANGUAGE");
  qputenv("LANGUAGE", "xx:vi_VN:ar");  // read once by Qt
  EXPECT_EQ(systemLanguage(), "vi");
  EXPECT_EQ(chosenLanguage(), "vi");
  QSettings().setValue("window/language", "en");
  EXPECT_EQ(chosenLanguage(), "en");
  if (before.isNull()) qunsetenv("LANGUAGE");
  else qputenv("LANGUAGE", before);
}

}  // namespace
}  // namespace ulpscope::gui
