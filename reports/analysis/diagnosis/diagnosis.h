// What went wrong in the runs of a file, why, whether it matters, and what to change. Rests on what was recorded alone:
// steps, the plan, and the statistics of observed and replayed steps.
//
// Iterations count from 0, as in the run file; texts count steps from 1 (iteration 0 is step 1).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reports/analysis/diagnosis/kind.h"
#include "reports/analysis/window.h"
#include "reports/run_file/reader.h"

namespace ulpscope::reports {

/// A number or words that a cause rests on.
struct Fact {
  std::string key{};    ///< stable, for programs: "greatest_magnitude"
  std::string label{};  ///< for people
  Number value{};       ///< unknown for words alone
  std::string text{};   ///< value with its unit and what it is held against
  Provenance provenance = Provenance::counted;
};

/// What an operation read.
struct Operand {
  std::string tensor{};
  std::string format{};
  bool observed = false;
  Count elements{};
  Count not_finite{};
  Number greatest_magnitude{};  ///< of the finite elements
};

/// A change that may help.
struct Remedy {
  int cost = 0;            ///< order: what costs least first
  std::string change{};    ///< in words
  std::string ulpscope{};  ///< a key of the experiment file, "train.keep_fp32=layer2.linear"; may be empty
  std::string settings{};  ///< in the words of Hugging Face, PyTorch, DeepSpeed; may be empty
  std::string mend{};      ///< kind of the MendRecord that tries it
  std::string status{};    ///< "not tried (ulpscope mend tries it)", or what trying it came to
};

struct Cause {
  Kind kind = Kind::unknown;
  Gravity gravity = Gravity::note;
  std::optional<std::int64_t> step{};  ///< iteration in which it was seen first
  std::int64_t steps_seen = 1;         ///< observed steps in which it was seen
  std::string node{};                  ///< source name; empty: not of one operation
  std::int64_t others = 0;             ///< further tensors (or operations) with the same fault in the same step
  std::string operation{};
  std::string phase{};   ///< "forward", "backward", "update"
  std::string tensor{};  ///< in which it shows
  std::string format{};
  std::string what{};  ///< in plain words with numbers
  std::vector<Fact> facts{};
  std::vector<Operand> operands{};
  std::vector<std::string> chain{};  ///< node names from the cause on, as far as values that are not finite go
  bool feeds_loss = false;           ///< by the plan, the loss is computed from what the node makes
  std::string reaches{};             ///< "the loss", "the gradient norm", "… and no further"
  std::vector<Remedy> remedies{};
};

/// How far the values of a layer are from the edges of their format.
struct LayerRoom {
  std::string layer{};  ///< prefix of node names
  std::string format{};
  Number above_forward{};         ///< bits between the greatest magnitude and the limit, latest observed step
  Number above_backward{};        ///< in the scaled backward pass
  Number above_forward_change{};  ///< bits, latest minus first observed step
  Number above_backward_change{};
  Number flushed{};  ///< share of the non-zero elements of its gradients that became zero, latest
  Number flushed_change{};
  std::string tensor{};  ///< of the least room above
  /// Values were not finite before they were rounded: the room above is that of the others.
  bool forward_not_finite = false, backward_not_finite = false;
};

/// What will leave its format next.
struct Watched {
  std::string node{};
  std::string tensor{};
  std::string format{};
  Number greatest_magnitude{};
  Number room{};                         ///< bits
  Number growth{};                       ///< bits for each step: the least over the halves and the last quarter of the observed steps; unknown with fewer than three
  std::optional<std::int64_t> leaves{};  ///< projected iteration; none: it did not grow steadily
};

struct RunDiagnosis {
  RunRecord run{};
  Outcome outcome = Outcome::not_observed;
  std::string verdict{};               ///< normal or fatal, in one or two sentences
  std::vector<std::string> reasons{};  ///< what the verdict rests on: skips and how many were due …
  std::int64_t steps = 0;
  std::int64_t skipped = 0;
  std::vector<std::int64_t> observed{};  ///< iterations with statistics
  Count not_materialised{};              ///< results of the plan that stay in registers of a fused kernel
  std::int64_t lost_statistics = 0;      ///< rows that the recording was to hold and does not, of all runs of the file: more than 0, the outcome is of what is left
  Count not_observed{};                  ///< float results of the plan without statistics in the step looked at
  std::vector<Cause> causes{};           ///< gravest first
  std::vector<LayerRoom> layers{};       ///< least room first
  std::vector<Watched> watch{};
  std::optional<LossScaleWindow> window{};   ///< none: there is no scaled gradient of a narrow range, or none was observed
  std::vector<std::string> notes{};
};

struct DiagnoseOptions {
  std::optional<std::int64_t> step{};  ///< iteration: look at this one alone
  std::string mode{};                  ///< empty: all
  std::optional<std::int64_t> seed{};  ///< none: all
  double flushed_share = 0.01;         ///< of a layer's gradients, that a scale in the window may lose
  std::int64_t most_rows = 0;          ///< of statistics that are read, of a run (steps_to_read.h); 0: all
};

struct Diagnosis {
  std::string file{};
  std::optional<std::int64_t> step{};
  bool full = false;  ///< one mode was asked for: forms for people show the head-room of healthy runs, too
  std::vector<RunDiagnosis> runs{};  ///< trial runs of mends are left out
};

/// Throws UsageError if there is no such mode, seed or step, naming those there are.
Diagnosis diagnose(const RunFileReader& reader, const DiagnoseOptions& options = {});

}  // namespace ulpscope::reports
