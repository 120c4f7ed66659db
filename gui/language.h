// The language of the window: English, Arabic (from right to left) or Vietnamese.
#pragma once

#include <QString>
#include <vector>

namespace ulpscope::gui {

struct Language {
  const char* code;  ///< "ar": of --language, of the settings, of the file of translations
  const char* name;  ///< in the language itself
};
/// English first. A build without Qt's lrelease has English alone.
const std::vector<Language>& languages();
bool isLanguage(const QString& code);

/// What the settings say ("" for: as the system), and if that is nothing what the system prefers of those that there are.
QString chosenLanguage();
QString systemLanguage();

/// Takes the language, with Qt's own texts where Qt has them, and its direction. Windows that are there already keep the texts they were
/// made with. Numbers are written alike in every language, as in the run files and on the command line.
void useLanguage(const QString& code);
QString usedLanguage();

}  // namespace ulpscope::gui
