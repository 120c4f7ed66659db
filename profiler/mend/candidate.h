// Changes that may mend a run, made from what was found in it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "profiler/mend/ground.h"

namespace ulpscope::profiler {

struct Candidate {
  std::string kind{};       ///< MendRecord::kind; the remedy of the diagnosis that it tries has the same
  std::string change{};     ///< in words
  int cost = 0;             ///< order: what costs least first
  std::string ulpscope{};   ///< what makes it in the experiment file
  std::string settings{};   ///< in the words of Hugging Face, PyTorch, DeepSpeed
  std::function<void(Experiment&)> apply{};   ///< none: it cannot be made
  std::string impossible{};   ///< why not
  std::vector<Fault> targets{};   ///< what it is for
  bool whole = false;       ///< run as far as the recording goes: a later step may refute it
  bool regrows = false;     ///< its loss scale grows again: run until it has, if the plan goes on that long
  bool no_skips = false;    ///< a step that is skipped refutes it: nothing comes down to a scale that fits
  std::string ladder{};     ///< of those of one name only the first that helps is wanted
};

/// All but "keep in fp32", which is searched for (keep_fp32.h); ordered by cost. What several causes ask for is there once.
std::vector<Candidate> candidates(const Ground& ground);

/// Merges what is the same change: kind and words.
void add_candidate(std::vector<Candidate>& list, Candidate candidate);

// ---- parts, a file each
/// Rewrites of the model's graph: scores scaled first, boolean masks, rescaled results.
void add_rewrites(const Ground& ground, std::vector<Candidate>& list);           // candidate_rewrites.cpp
/// Values of keys: scaler, optimizer, mode.
void add_settings(const Ground& ground, std::vector<Candidate>& list);           // candidate_settings.cpp
/// Overrides and epsilons of single nodes.
void add_node_changes(const Ground& ground, std::vector<Candidate>& list);       // candidate_nodes.cpp
/// What changes the training itself: learning rate, weight decay, micro-batches.
void add_training(const Ground& ground, std::vector<Candidate>& list);           // candidate_training.cpp

}  // namespace ulpscope::profiler
