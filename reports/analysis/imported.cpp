#include "reports/analysis/imported.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace ulpscope::reports {
namespace {

using nlohmann::json;

const char* word(SkipSource source) {
  return source == SkipSource::logged ? "logged" : source == SkipSource::inferred ? "inferred" : "unknown";
}

SkipSource skip_source(const std::string& word) {
  return word == "logged" ? SkipSource::logged : word == "inferred" ? SkipSource::inferred : SkipSource::unknown;
}

/// Of a file that anybody may have written.
std::string text(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

bool truth(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

std::int64_t whole(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

}  // namespace

std::string attributes_with(const Imported& i) {
  const json document{{"imported",
                       {{"what", i.trace ? "trace" : "training log"},
                        {"format", i.format},
                        {"file", i.file},
                        {"mode_from", i.mode_from},
                        {"skips", word(i.skips)},
                        {"numbered", i.numbered},
                        {"every_step", i.every_step},
                        {"hides_losses", i.hides_losses},
                        {"zeros_as_nan", i.zeros_as_nan}}}};
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<Imported> imported(const RunRecord& run) {
  if (run.attributes_json.find("\"imported\"") == std::string::npos) return std::nullopt;
  const json document = json::parse(run.attributes_json, nullptr, false);
  if (!document.is_object() || !document.contains("imported") || !document["imported"].is_object()) return std::nullopt;
  const json& o = document["imported"];
  return Imported{.trace = text(o, "what") == "trace",
                  .format = text(o, "format"),
                  .file = text(o, "file"),
                  .mode_from = text(o, "mode_from"),
                  .skips = skip_source(text(o, "skips")),
                  .numbered = truth(o, "numbered"),
                  .every_step = truth(o, "every_step"),
                  .hides_losses = truth(o, "hides_losses"),
                  .zeros_as_nan = whole(o, "zeros_as_nan")};
}

std::optional<std::string> imported_words(const RunRecord& run) {
  const auto i = imported(run);
  if (!i) return std::nullopt;
  return fmt::format("{} imported from {} ({})", i->trace ? "trace" : "training log", i->file, i->format);
}

std::vector<std::string> imported_notes(const RunRecord& run) {
  const auto i = imported(run);
  if (!i) return {};
  std::vector<std::string> notes;
  std::string text = fmt::format("{}: ulpscope did not run it", *imported_words(run));
  if (i->mode_from == "inferred") text += "; its mode is inferred";
  if (i->mode_from == "given") text += "; its mode is as the user said";
  if (run.model == "unknown" || run.data == "unknown") text += "; what was trained on what is unknown";
  notes.push_back(std::move(text));
  if (i->zeros_as_nan > 0)
    notes.push_back(fmt::format("{} of 0 beside a gradient norm that is not finite {} read as NaN: this trainer writes 0 where a loss is not finite [inferred]", i->zeros_as_nan == 1 ? "1 loss" : fmt::format("{} losses", i->zeros_as_nan),
                                i->zeros_as_nan == 1 ? "is" : "are"));
  if (!i->trace && i->skips == SkipSource::unknown) notes.emplace_back("which steps were skipped is unknown: the log does not say");
  if (!i->trace && i->skips == SkipSource::inferred) notes.emplace_back("skipped steps are inferred from falls of the loss scale");
  return notes;
}

std::string producer_words(const ExperimentRecord& e, bool is_imported) {
  const std::string program =
      fmt::format("ulpscope {} ({})", e.producer_version, e.producer_commit.empty() ? "no commit" : e.producer_commit);
  return is_imported ? "another program; imported by " + program : program;
}

}  // namespace ulpscope::reports
