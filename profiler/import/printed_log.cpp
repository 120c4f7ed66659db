// What a training program printed: the dictionaries of Hugging Face's Trainer, and what DeepSpeed says of its loss scale:
//   {'loss': 0.5, 'grad_norm': 1.2, 'learning_rate': 5e-05, 'epoch': 0.1}
//   [deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768
//   [deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, but hysteresis is 2. Reducing hysteresis to 1
//   [deepspeed] fp16 dynamic loss scale overflow! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768.0
//   [Rank 0] step=10, skipped=2, lr=[0.0001], mom=[(0.9, 0.999)]
//   Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.
// They stand anywhere in a line: progress bars are printed between them. Lines of Megatron-LM: megatron.h.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "kernels/error.h"
#include "profiler/import/megatron.h"
#include "profiler/import/training_log.h"

namespace ulpscope::profiler {
namespace {

/// The number that follows these words; nothing: it does not.
std::optional<double> number_after(std::string_view text, std::string_view words) {
  const std::size_t at = text.find(words);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + words.size());
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return std::nullopt;
  text.remove_prefix(first);
  std::size_t end = text.find_first_not_of("0123456789.eE+-infaINFA");
  std::string_view number = text.substr(0, end);
  while (!number.empty() && number.back() == '.') number.remove_suffix(1);   // of the sentence
  return log_number(number);
}

/// {'loss': 0.5, 'epoch': 0.1} as key and value; false: it is none. Python's repr of a dictionary of numbers and texts.
bool parse_dictionary(std::string_view text, JsonObject& object) {
  object.clear();
  std::size_t at = 1;
  const auto blanks = [&] {
    while (at < text.size() && text[at] == ' ') ++at;
  };
  const auto quoted = [&](std::string& into) {
    if (at >= text.size() || (text[at] != '\'' && text[at] != '"')) return false;
    const std::size_t end = text.find(text[at], at + 1);
    if (end == std::string_view::npos) return false;
    into = text.substr(at + 1, end - at - 1);
    at = end + 1;
    return true;
  };
  for (;;) {
    blanks();
    JsonField& field = object.add();
    if (!quoted(field.key)) return false;
    blanks();
    if (at >= text.size() || text[at++] != ':') return false;
    blanks();
    field.kind = JsonField::Kind::text;
    if (!quoted(field.text)) {
      const std::size_t end = text.find_first_of(",}", at);
      if (end == std::string_view::npos) return false;
      field.text = text.substr(at, end - at);
      at = end;
    }
    blanks();
    if (at >= text.size()) return false;
    if (text[at] == '}') return true;
    if (text[at++] != ',') return false;
  }
}

class Printed {
 public:
  Printed(Input& input, const LogOptions& options) : input_(input), columns_(options), megatron_(columns_) { log_.format = "printed log"; }

  TrainingLog read() {
    std::string line;
    bool whole = true;
    while (input_.line(line, &whole)) {
      if (line.find_first_not_of(" \t") == std::string::npos) continue;
      if (!whole && is_megatron_line(line) && line[line.find_last_not_of(" \t")] != '|') {
        log_.cut_off = true;
        break;
      }
      if (megatron_.take(line, input_.line_number(), fmt::format("{}: line {}", input_.name(), input_.line_number()), seen_, log_)) continue;
      const bool overflowed = overflow(line), logged = dictionary(line), ended = floor(line), counted = step_line(line);   // a line may hold all of them
      if (!overflowed && !logged && !ended && !counted) ++log_.ignored["other lines"];
    }
    if (log_.entries == 0)
      throw UsageError(fmt::format("{}: nothing in it is a training log that is known ({} lines read): neither {{'loss': …}} of Hugging Face's Trainer, nor an OVERFLOW line of DeepSpeed, nor an iteration of Megatron; "
                                   "--format says otherwise", input_.name(), input_.line_number()));
    megatron_.finish(log_);
    std::vector<std::string> of;
    if (dictionaries_ > 0) of.emplace_back("Hugging Face's Trainer");
    if (megatron_.any()) of.emplace_back("Megatron-LM");
    if (overflows_ > 0 || of.empty()) of.emplace_back("DeepSpeed");
    log_.format = fmt::format("printed log of {}", fmt::join(of, " and "));
    log_.hides_losses = dictionaries_ > 0;
    for (const auto& [column, given] : columns_.mapping())
      if (!seen_.contains(column)) throw UsageError(fmt::format("--column {}={}: nothing in {} is called so", name(column), given, input_.name()));
    return std::move(log_);
  }

 private:
  bool overflow(std::string_view line) {
    bool any = false;
    for (std::size_t at = line.find("Skipping step"); at != std::string_view::npos; at = line.find("Skipping step")) {
      const std::size_t next = std::min(line.find("Skipping step", at + 1), line.size());
      const std::string_view head = line.substr(0, at);
      if (head.find("OVERFLOW!") != std::string_view::npos || head.find("overflow!") != std::string_view::npos) {
        any = true;
        take_overflow(head, line.substr(at, next - at));
      }
      line.remove_prefix(at + 1);
      if (!any) break;
    }
    return any;
  }

  /// Every rank may say it: the first that does is listened to.
  void take_overflow(std::string_view head, std::string_view rest) {
    const auto rank = number_after(head.substr(head.rfind('!') + 1), "Rank");
    if (rank && !rank_) rank_ = *rank;
    if (rank && *rank != *rank_) {
      ++log_.ranks_left_out;
      return;
    }
    LogRow row{.line = input_.line_number(), .skipped = true};
    row.loss_scale = number_after(rest, "Attempted loss scale:");
    row.next_scale = number_after(rest, ", reducing to");
    if (!row.next_scale && rest.find("hysteresis") != std::string_view::npos) row.next_scale = row.loss_scale;
    if (!row.next_scale) row.next_scale = number_after(rest, "Reducing loss scale to");
    for (reports::Number* scale : {&row.loss_scale, &row.next_scale})
      if (*scale && !(**scale >= 0.0)) scale->reset();
    log_.rows.push_back(row);
    ++log_.entries;
    ++overflows_;
  }

  bool dictionary(std::string_view line) {
    bool any = false;
    for (std::size_t at = line.find("{'"); at != std::string_view::npos; at = line.find("{'", at + 2)) {
      if (!parse_dictionary(line.substr(at), object_)) continue;
      LogRow row{.line = input_.line_number()};
      const std::string place = fmt::format("{}: line {}", input_.name(), input_.line_number());
      if (object_.find("train_runtime") != nullptr) {
        ++log_.ignored["summary of the training"];
        any = true;
        continue;
      }
      bool holds = false;
      for (std::size_t i = 0; i < object_.size(); ++i) {
        const auto column = columns_.find(object_[i].key);
        holds = holds || column == LogColumn::loss || column == LogColumn::held_out_loss || column == LogColumn::gradient_norm;
      }
      if (!holds) continue;   // some other dictionary that was printed
      for (std::size_t i = 0; i < object_.size(); ++i) {
        if (const auto column = columns_.find(object_[i].key)) {
          set_column(row, *column, object_[i], place);
          seen_.insert(*column);
        } else if (log_.ignored.size() < 200) {
          ++log_.ignored["column " + object_[i].key];
        }
      }
      if (!row.of_a_step() && !row.held_out_loss) continue;
      log_.rows.push_back(row);
      ++log_.entries;
      ++dictionaries_;
      any = true;
    }
    return any;
  }

  /// "[Rank 0] step=10, skipped=2, lr=[0.0001], mom=[(0.9, 0.999)]": the steps so far, and how many of them were skipped.
  bool step_line(std::string_view line) {
    const std::size_t at = line.find("step=");
    if (at == std::string_view::npos || (at > 0 && line[at - 1] != ' ') || line.find(", lr=", at) == std::string_view::npos) return false;
    const auto step = number_after(line.substr(at), "step="), skips = number_after(line.substr(at), ", skipped=");
    const auto whole = [](const std::optional<double>& n) { return n && *n >= 0.0 && *n < 1e15 && *n == std::floor(*n); };
    if (!whole(step) || !whole(skips) || *skips > *step) return false;
    log_.told_step = static_cast<std::int64_t>(*step);
    log_.told_skips = static_cast<std::int64_t>(*skips);
    log_.skips_before_told = overflows_;
    return true;
  }

  bool floor(std::string_view line) {
    if (line.find("loss scale already at minimum") == std::string_view::npos) return false;
    if (line.find("raise Exception") != std::string_view::npos) return true;   // the line of the program in a traceback
    log_.stopped_at_floor = true;
    ++log_.entries;
    return true;
  }

  Input& input_;
  LogColumns columns_;
  MegatronLines megatron_;
  TrainingLog log_;
  JsonObject object_;
  std::set<LogColumn> seen_;
  std::optional<double> rank_;
  std::int64_t dictionaries_ = 0, overflows_ = 0;
};

}  // namespace

TrainingLog read_printed_log(Input& input, const LogOptions& options) { return Printed(input, options).read(); }

}  // namespace ulpscope::profiler
