#include "gui/language.h"

#include <QApplication>
#include <QFile>
#include <QLibraryInfo>
#include <QLocale>
#include <QSettings>
#include <QTranslator>
#include <algorithm>
#include <memory>

#ifdef ULPSCOPE_HAVE_TRANSLATIONS
static void initTranslations() { Q_INIT_RESOURCE(translations); }  // of a static library; outside of any namespace
#endif

namespace ulpscope::gui {
namespace {

QString& used() {
  static QString code = QStringLiteral("en");
  return code;
}

}  // namespace

const std::vector<Language>& languages() {
  static const std::vector<Language> all{
      {"en", "English"},
#ifdef ULPSCOPE_HAVE_TRANSLATIONS
      {"ar", "العربية"},
      {"vi", "Tiếng Việt"},
#endif
  };
  return all;
}

bool isLanguage(const QString& code) {
  return std::any_of(languages().begin(), languages().end(), [&](const Language& language) { return code == QLatin1String(language.code); });
}

QString systemLanguage() {
  for (const QString& wish : QLocale::system().uiLanguages()) {  // "ar-EG", "ar" …
    const QString code = wish.section(QLatin1Char('-'), 0, 0);
    if (isLanguage(code)) return code;
  }
  return QStringLiteral("en");
}

QString chosenLanguage() {
  const QString code = QSettings().value(QStringLiteral("window/language")).toString();
  return isLanguage(code) ? code : systemLanguage();
}

QString usedLanguage() { return used(); }

void useLanguage(const QString& code) {
#ifdef ULPSCOPE_HAVE_TRANSLATIONS
  initTranslations();
#endif
  static std::vector<std::unique_ptr<QTranslator>> installed;
  for (const auto& translator : installed) QCoreApplication::removeTranslator(translator.get());
  installed.clear();
  used() = isLanguage(code) ? code : QStringLiteral("en");
  const auto install = [](const QString& name, const QString& folder) {
    auto translator = std::make_unique<QTranslator>();
    if (!translator->load(name, folder)) return;
    QCoreApplication::installTranslator(translator.get());
    installed.push_back(std::move(translator));
  };
  if (used() != QLatin1String("en")) {
    install(QStringLiteral("qtbase_") + used(), QLibraryInfo::path(QLibraryInfo::TranslationsPath));
    install(QStringLiteral("ulpscope_") + used(), QStringLiteral(":/translations"));  // asked first
  }
  QLocale::setDefault(QLocale::c());
  if (qobject_cast<QGuiApplication*>(QCoreApplication::instance()) != nullptr)
    QGuiApplication::setLayoutDirection(QLocale(used()).textDirection());
}

}  // namespace ulpscope::gui
