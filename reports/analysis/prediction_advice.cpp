// fp16 beside bf16, as foreseen.
#include <fmt/format.h>

#include <algorithm>

#include "reports/analysis/prediction.h"

namespace ulpscope::reports {

std::string advice(const std::vector<ModePrediction>& modes) {
  const auto find = [&](std::string_view half) -> const ModePrediction* {
    const auto found =
        std::find_if(modes.begin(), modes.end(), [&](const ModePrediction& m) { return m.mode.starts_with(half); });
    return found == modes.end() ? nullptr : &*found;
  };
  const ModePrediction *fp16 = find("fp16"), *bf16 = find("bf16");
  if (fp16 == nullptr || bf16 == nullptr) return "";
  const auto bad = [](const ModePrediction& m) {
    return m.forecast == Forecast::overflow || m.forecast == Forecast::no_scale || m.forecast == Forecast::fatal;
  };
  if (bad(*fp16) && bad(*bf16)) {
    const auto found = std::find_if(bf16->foreseen.begin(), bf16->foreseen.end(),
                                    [](const Foreseen& f) { return f.gravity == Gravity::fatal; });
    const Foreseen* const f = found == bf16->foreseen.end() ? nullptr : &*found;
    const bool constant = f != nullptr && f->constant, fails = bf16->forecast == Forecast::fatal;
    return fmt::format("{} does not help: {}{}", bf16->mode,
                       fails      ? "it fails there, too: "
                       : constant ? "a constant overflows there, too: "
                                  : "it overflows there, too: ",
                       f != nullptr ? f->what : bf16->verdict);
  }
  if (bad(*fp16))
    return fmt::format(
        "{} has the range of fp32 and {}; its steps are 8 times as coarse (2^-8 of a value against 2^-11)", bf16->mode,
        bf16->forecast == Forecast::safe ? "takes this as it is" : "does not overflow, but: " + bf16->verdict);
  if (bf16->forecast != Forecast::safe)
    return fmt::format("{}: {}; {} has steps 8 times as fine", bf16->mode, bf16->verdict, fp16->mode);
  if (fp16->forecast == Forecast::damage)
    return fmt::format("{} has the range of fp32 and takes this as it is", bf16->mode);
  return fmt::format(
      "both ranges suffice, so rounding decides: {} has steps 8 times as fine (2^-11 of a value against 2^-8){}; {} "
      "needs no loss scale",
      fp16->mode,
      fp16->forecast == Forecast::needs_scale ? ", with a scale " + scale_words(fp16->window) : "",
      bf16->mode);
}

}  // namespace ulpscope::reports
