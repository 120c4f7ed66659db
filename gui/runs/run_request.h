// What `ulpscope run` is asked to do, and the command line that says the same.
#pragma once

#include <QString>
#include <QStringList>
#include <optional>

namespace ulpscope::gui {

struct RunRequest {
  QString experiment{};  ///< experiment file (.toml); empty: `model` and `data` say what
  QString model{};       ///< "gpt"; empty: the file's, or the program's own choice
  QStringList data{};    ///< files and folders
  QStringList modes{};   ///< empty: the file's, or the program's own choice
  std::optional<int> steps{};
  std::optional<int> seeds{};
  QString output{};      ///< run file
  bool replace = false;  ///< an older file of this name
  bool resume = false;   ///< go on with `output`; the rest does not count

  QStringList arguments() const;
};

/// As one would type it in a shell.
QString commandLine(const QString& program, const QStringList& arguments);

/// The program `ulpscope`: beside this one, else in PATH; empty if there is none.
QString findUlpscope();
/// The demo's experiment file, beside the program's build or in its share folder; empty if it is not there.
QString findDemo();

}  // namespace ulpscope::gui
