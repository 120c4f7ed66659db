// What will go wrong in a mode, before anything is trained: from the plan, the configuration, and one step in fp32
// whose ranges are held against the formats in which the mode stores the same tensors. Where one of them does not fit,
// that step is made in the mode, too, to see what becomes of it. Nothing was trained: what is said of later steps is projected.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/formats/format.h"
#include "kernels/scaling/policies.h"
#include "reports/analysis/diagnosis/diagnosis.h"
#include "reports/analysis/diagnosis/rehearsed.h"
#include "reports/run_file/values.h"

namespace ulpscope::reports {

/// A fault that is foreseen.
struct Foreseen {
  std::string kind{};  ///< as in a diagnosis where there is one: "activation_too_large"; also "constant_too_large",
                       ///< "data_too_large", "positions_collide"
  Gravity gravity = Gravity::note;
  std::string node{};  ///< empty: not of one operation
  std::string operation{};
  std::string phase{};  ///< "forward", "backward", "update"
  std::string tensor{};
  std::string format{};
  std::string what{};  ///< in plain words with numbers
  std::vector<Fact> facts{};
  std::int64_t order = 0;  ///< in execution
  bool overflow = false;   ///< a value leaves its format
  bool constant = false;   ///< by a number that the model or the experiment brings, not by what training makes of it
};

/// A tensor that the mode stores in a format narrower than fp32, and what the step in fp32 has there.
struct StoredRange {
  std::string tensor{};
  std::string node{};  ///< that makes it in the mode; empty: the step reads it
  std::string operation{};
  Format format = Format::fp16;
  bool backward = false;   ///< multiplied by the loss scale, where there is one
  bool beside_loss = false;  ///< the backward pass makes it, of results of the forward pass alone: no scale multiplies it
  bool feeds_loss = true;  ///< forward: the loss is computed from it
  enum class Source : std::uint8_t {
    computed,
    weight,
    constant,
    batch
  } source = Source::computed;  ///< what it is, or a cast of
  std::int64_t order = 0;       ///< in execution
  bool added = false;           ///< something reads it as a term of a sum, beside which it may be nothing
  bool explained = false;       ///< a check of its own speaks of its overflows
  std::string hands_on{};       ///< the tensor whose numbers it hands on unchanged (relu, select ...)
  std::int64_t elements = 0;
  double greatest = 0.0;  ///< of the finite elements, unscaled
  double least = 0.0;     ///< of the finite non-zero elements, unscaled; 0: not known
  ExponentHistogram histogram{};
};

/// Steps that the search for a scale is followed: halvings from the greatest fp32 to the least are 277.
inline constexpr std::int64_t most_first_skips = 300;

/// What a mode is judged by.
struct PredictionInput {
  std::string mode{};
  bool asked = true;  ///< false: beside the mode that was asked for
  Format lower = Format::fp16;
  bool scaled = false;  ///< the loss is multiplied
  std::optional<std::int64_t> steps{};  ///< planned; none: not known
  scaling::Policy policy{};
  std::vector<StoredRange> ranges{};     ///< in order of execution, sources first
  int layer_depth = 1;                   ///< parts of a node's name that make its layer
  std::int64_t without_counterpart = 0;  ///< stored in the narrow format, and fp32 has no tensor of that name
  std::vector<Foreseen> checks{};        ///< found without ranges
  bool may_cancel = false;               ///< a difference may be 0 in the mode, where it is not in fp32, and something divides by it or takes its logarithm
  std::optional<Followed> followed{};    ///< the step as it was made in the mode, to see what becomes of what leaves its format; none: it was not
  std::vector<double> rates{};           ///< of the first steps, where the schedule counts those that are skipped, too; empty: it does not
  std::vector<std::string> non_standard{};
};

/// The loss scales that suit the backward pass, powers of two: what LossScaleWindow is to a run.
struct ScaleWindow {
  std::optional<int> lowest{};   ///< 2^lowest and above: at most `share` of each layer's non-zero gradients become zero;
                                 ///< none: no more are lost at any scale
  std::optional<int> full{};     ///< 2^full and above: no gradient is subnormal
  std::optional<int> highest{};  ///< 2^highest and below: nothing overflows; none: no gradient
  std::string lowest_tensor{}, highest_tensor{};
  double share = 0.01;
  bool exists() const { return highest && (!lowest || *lowest <= *highest); }
};

enum class Forecast : std::uint8_t {
  safe,         ///< every range fits; rounding is not judged
  needs_scale,  ///< gradients need another loss scale than the mode starts from
  damage,       ///< something is lost in silence
  overflow,     ///< a value will leave its format where it counts
  no_scale,     ///< no one loss scale suits the backward pass
  fatal,        ///< the run cannot go on, and it is no overflow
};
std::string_view name(Forecast forecast);

struct ModePrediction {
  std::string mode{};
  bool asked = true;
  Forecast forecast = Forecast::safe;
  std::string verdict{};
  std::vector<Foreseen> foreseen{};  ///< gravest first, then in order of execution
  ScaleWindow window{};
  std::string no_window{};  ///< why there is none, in words; empty: there is one
  bool scaled = false;
  Number start_scale{};
  Number flushed{};  ///< share of the non-zero gradients of a layer that become zero at the scale the first steps settle at (1
                     ///< without one): of the layer that loses most
  std::optional<std::int64_t> first_skips{};  ///< steps that will be skipped until the scale fits; none: it never does
  Number settled_scale{};
  Number room_forward{};  ///< bits between the greatest forward magnitude and the limit
  std::string room_tensor{};
  std::int64_t without_counterpart = 0;
  std::vector<std::string> non_standard{};
};

struct Prediction {
  std::string file{};
  std::string experiment{};
  std::int64_t seed = 0;
  Number loss{};  ///< of the step in fp32
  std::vector<std::string> remarks{};
  std::vector<ModePrediction> modes{};
  std::string advice{};  ///< fp16 beside bf16
};

/// "in [2^5, 2^11]", or "up to 2^11" where nothing bounds it below.
std::string scale_words(const ScaleWindow& window);
/// Whether the step has to be made in the mode to know what it comes to: the forward pass makes infinities, or may divide by 0.
bool is_to_be_followed(const PredictionInput& input, const ModePrediction& mode);
/// Judges one mode.
ModePrediction predict(const PredictionInput& input);
/// What the modes come to beside each other; empty with one alone.
std::string advice(const std::vector<ModePrediction>& modes);

}  // namespace ulpscope::reports
