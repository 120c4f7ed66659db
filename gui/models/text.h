// Numbers and words of a run file as texts of the window. Every number says what it is; one that is not known says so.
#pragma once

#include <QColor>
#include <QString>
#include <string>
#include <string_view>
#include <vector>

#include "reports/analysis/compare.h"
#include "reports/analysis/figure.h"
#include "reports/run_file/values.h"

namespace ulpscope::gui {

/// Text of a run file: control characters are shown as '?'.
QString plain(std::string_view text);

/// What reads from left to right whatever is around it (a number with its unit, a path, a sentence of a report) keeps its order in a
/// window that reads from right to left.
QString isolated(const QString& text);
/// A sentence of a report: plain() and isolated().
QString sentence(std::string_view text);
/// Every line reads as the window does, whatever letter it begins with.
QString paragraphs(const QString& text);
/// As it goes to the clipboard and into files: without the marks that order it in a window.
QString withoutMarks(QString text);
/// A word of the reports ("optimizer_state") in the language of the window; as it is if reportWords() has it not.
QString words(std::string_view text);
/// The words that are translated, in English.
const std::vector<const char*>& reportWords();

/// "measured", "emulated" … in the language of the window.
QString word(reports::Provenance provenance);
/// "finished", "running" …
QString word(reports::RunStatus status);
/// "inside", "undecided" …
QString word(reports::Verdict verdict);

/// "unknown" in the language of the window.
QString unknownText();
/// A value with its unit and without provenance: "12.34 ms", "65536", "2.5374", "NaN"; "unknown" if there is none.
QString valueText(const reports::Number& value, reports::FigureStyle style);
QString countText(const reports::Count& value);
/// The figure's value, or its range if it has no value.
QString figureText(const reports::Figure& figure, reports::FigureStyle style);
/// Value, spread or range, samples and provenance, each on a line of its own: for a tooltip.
QString figureToolTip(const reports::Figure& figure, const reports::FigureInfo& info);

/// A label of comparison_figures() or a section's name, in the language of the window.
QString figureLabel(const char* label);

/// "step 12" as people count: iteration 11 is step 12.
std::int64_t personStep(std::int64_t iteration);

}  // namespace ulpscope::gui
