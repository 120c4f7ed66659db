// How far the order of its sums can move the loss of a run: what a difference of bits between two machines is judged by. To first order,
// from the formats and the lengths of sums in the plan, and from the learning rates and gradient norms on record. Computed, and an estimate:
// it says what is more than an order explains, not what is a fault.
//
//  A product. A sum of K products in fp32 (u = 2^-24, unit roundoff) has K roundings. They act as independent random ones: relative to the
//  size of the result they come to about 0.3 u √K (every partial sum of k terms is √k large, each addition errs by up to u of it; Higham,
//  Accuracy and Stability of Numerical Algorithms, 4.2, bounds them by K u; Higham and Mary, SIAM J. Sci. Comput. 41 (2019) A2815, show √K u
//  with high probability). Two orders then differ by
//      d = u √K                 products of narrow operands, which are exact in fp32
//      d = u √(2K)              products of fp32, rounded as well or fused
//      e = c u K / 2            more, in sums of matrix units: they cut off toward zero, always to one side. By the model of docs/tensor_cores.md
//                               a block of B products and the accumulator loses up to (B+1) 2^-F + 2^-23 of its greatest addend, c u for each
//                               product: c = ((B+1) 2^(24-F) + 2) / B = 3 (B 4, F 23: V100), 1.4 (8, 24: Turing, Ampere, Ada), 0.7 (16, 25:
//                               Hopper, Blackwell) of 16 bits; a block of tf32 has half as many: 1.75 (4, 24), 0.81 (8, 25)
//  A result stored in a narrower format (unit roundoff v) is rounded to another neighbour where a tie lies between the two: a share
//  (d + e) / (2v) of the elements moves by 2v, in RMS √(2 v (d + e)), at random.
//
//  A step with the same weights. Products add up as squares: f random and f' cut off in the forward pass, b and b' in the whole step.
//  Normalisation and residual paths keep a relative change about as large as it is. What is random in the rows of one token is independent of another's, and
//  averages out over the N tokens of a step; what is cut off does not:
//      loss           max(|loss|, 1) × (f / √N + f')
//      gradient norm  its b / √N + b'. The sharpest of all: it is judged in the first step with a finite one before any update
//
//  Later steps. An update moves the weights, and the loss by gradient × that (B² = b² + b'², as elements do not average):
//      SGD      rate × |g| × B ÷ (1 - momentum), and the loss by |g| times the sum over the steps before
//      AdamW    its update has the size of the rate whatever the gradient's: elements below B of the gradient's RMS change sign, the others change
//               in proportion, in RMS rate × √(2B); of no direction of their own, so that the loss moves by |g| × rate × √(2B) a step
//  and training carries on what is there already: a step may multiply the greatest difference so far by 10 (on the mean curvature a stable
//  step's factor is within ±1; but batches differ, and runs have spikes: 5 was seen).
//
//  All of it × 4, as the RMS of one tensor is not the greatest of a run. Where at least 3 seeds are on record, no more than 3 √2 standard
//  deviations between their losses in that step: two orders cannot end further apart than two runs with nothing in common.
#pragma once

#include <string>
#include <vector>

#include "reports/run_file/records.h"

namespace ulpscope::reports {

/// c u K / 2 is the error of sums cut off by a matrix unit; 0: sums are rounded. By the format that it multiplies.
struct Truncating {
  double narrow = 0.0;  ///< 16 bits
  double tf32 = 0.0;    ///< of a device without it: as of 16 bits
};
inline constexpr Truncating truncating_v100{3.0, 3.0}, truncating_ampere{1.4, 1.75}, truncating_hopper{0.7, 0.8125};
inline constexpr double order_safety = 4.0;
inline constexpr double order_growth = 10.0;

struct OrderBound {
  std::int64_t products = 0;     ///< of the step
  std::int64_t longest = 0;      ///< addends of its longest sum
  double forward = 0.0, forward_cut = 0.0;  ///< f, f'
  double step = 0.0, step_cut = 0.0;        ///< b, b'
  bool known = false;            ///< false: no plan, or a product whose FLOPs or shape are not on record
};
/// truncating: c of the products in formats that the device's matrix units multiply (those in fp32 are rounded everywhere).
OrderBound order_bound(const std::vector<NodeRecord>& plan, const Truncating& truncating);

enum class BitsVerdict : std::uint8_t { same_bits, explained, more, undecided };
std::string_view name(BitsVerdict verdict);  ///< "same bits", "explained by the order of sums", "more than the order of sums explains", "undecided"

/// The losses of one seed on two machines, step by step.
struct BitsAcross {
  std::string first{}, other{};        ///< "A fp16"
  std::int64_t seed = 0;
  std::int64_t steps = 0;              ///< held against each other
  std::optional<std::int64_t> differs_from{};  ///< first step with other bits; iterations, from 0
  Number first_ulps{};                 ///< there, in ulps of fp32
  Number greatest_ulps{};
  std::optional<std::int64_t> greatest_at{};
  Number bound_ulps{};                 ///< of the order of sums, in that step
  std::optional<std::int64_t> more_from{};     ///< first step whose losses are beyond the bound
  Number more_ulps{}, more_bound_ulps{};       ///< there
  Number norm_change{}, norm_bound{};          ///< of the gradient's norm before any update, relative
  std::optional<std::int64_t> norm_at{};       ///< in this step
  bool norm_is_more() const { return norm_change && norm_bound && *norm_change > *norm_bound; }
  std::optional<std::int64_t> other_skips{};   ///< one of them skipped this step, the other did not: two runs from there on
  BitsVerdict verdict = BitsVerdict::undecided;
  std::string text{};                  ///< in words, steps from 1
};

/// steps: recorded, in order; a step that is missing on either side leaves all that follows unexplained: its update is not on record. spread: standard deviation between seeds by iteration, unknown where fewer than 3 are on record.
BitsAcross judge_bits(const RunRecord& run, const std::vector<StepRecord>& first, const std::vector<StepRecord>& other, const OrderBound& bound, const std::vector<Number>& spread);

/// |a - b| in units of the last place of fp32 at the greater of them. Not finite: 0 for two NaN or equal infinities, else infinity.
double ulps_between(double a, double b);

}  // namespace ulpscope::reports
