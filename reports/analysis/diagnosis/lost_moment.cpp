#include "reports/analysis/diagnosis/lost_moment.h"

#include <fmt/format.h>

#include <cmath>

#include "reports/analysis/diagnosis/words.h"

namespace ulpscope::reports {

double LostMoment::threshold() const { return beta2 < 1.0 ? std::sqrt(info(kept).flush_threshold / (1.0 - beta2)) : 0.0; }

double LostMoment::grown(std::int64_t t) const { return std::sqrt((1.0 - std::pow(beta2, static_cast<double>(t))) / (1.0 - beta2)); }

double LostMoment::lasting(double gradient) const {
  const double size = std::fabs(gradient);
  return size > 0.0 ? (size + epsilon) / (size * std::sqrt(1.0 - beta2) + epsilon) : 0.0;
}

double added_epsilon(double epsilon, bool each_operation, Format second_moment) {
  return each_operation ? rounded_to(epsilon, second_moment) : epsilon;
}

std::string how_updates_come_out(const LostMoment& moment, double least, double greatest, std::int64_t step) {
  if (!moment.rounded_divides)
    return fmt::format("the update divides by the moment before it is rounded, which then holds the gradient of its own step alone: what is lost is its memory. Of "
                       "equal gradients updates grow as sqrt((1 - beta2^t) / (1 - beta2)) instead of staying at one learning rate: {:.4g} in step {}, {:.4g} in the end",
                       moment.grown(step), step, 1.0 / std::sqrt(1.0 - moment.beta2));
  std::string text = fmt::format("the update divides by the rounded moment, so that epsilon {} alone is left to divide by", amount(moment.epsilon));
  if (greatest <= 0.0) return text;
  if (least >= 0.999 * greatest)
    text += fmt::format(": those updates come to {:.4g} times the learning rate in step {}", greatest, step);
  else
    text += fmt::format(": those updates come to between {:.4g} and {:.4g} times the learning rate in step {}", least, greatest, step);
  return text + " instead of about one";
}

}  // namespace ulpscope::reports
