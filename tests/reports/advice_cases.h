// What is known of modes, made up by a test: trained, inside seed noise, fitting, projected at 100 ms a step, unless said otherwise.
#pragma once

#include <string>
#include <vector>

#include "kernels/error.h"
#include "reports/analysis/advice.h"
#include "reports/hardware/table.h"

namespace ulpscope::reports {

/// A mode with its step in ms; changes are chained: mode("fp16", 30).bare().flushed().
struct Made {
  ModeEvidence e{};
  Made& with(double ms, double low, double high, Provenance provenance) {
    (provenance == Provenance::measured ? e.measured : e.projected) = {.value = ms * 1e-3, .low = low * 1e-3, .high = high * 1e-3, .provenance = provenance};
    return *this;
  }
  Made& measured(double ms) { return with(ms, 0.99 * ms, 1.01 * ms, Provenance::measured); }
  Made& range(double low, double high) { return with(*e.projected.value * 1e3, low, high, Provenance::projected); }
  /// What the projection says of fp32's step beside its own; else slow of one is held against fast of the other.
  Made& gain(double low, double value, double high) {
    e.beside["fp32"] = {.value = value, .low = low, .high = high, .provenance = Provenance::projected};
    return *this;
  }
  Made& untimed(const char* why) {
    e.projected = e.measured = {};
    e.no_time = why;
    return *this;
  }
  Made& overflow(const char* words = "layer2.linear: 66240 does not fit") { return found(e.overflow, words, Provenance::counted); }
  Made& overflow_foreseen(const char* words = "layer2.linear has 66240 in fp32") { return found(e.overflow, words, Provenance::projected); }
  Made& flushed(const char* words = "36.9 % of layer3's") { return found(e.flushed, words, Provenance::counted); }
  Made& lost(const char* words = "93 % of the updates were rounded away") { return found(e.lost, words, Provenance::counted); }
  Made& damaged(const char* words = "epsilon is 0") { return found(e.other, words, Provenance::counted); }
  Made& no_scale(const char* words = "a needs 2^20, b at most 2^10") { return found(e.no_scale, words, Provenance::computed); }
  /// Without a scaler.
  Made& bare() {
    e.scaled = false;
    return *this;
  }
  Made& unobserved() {
    e.overflow = e.flushed = e.lost = e.other = {};
    return *this;
  }
  Made& untrained() {
    e.trained = false;
    e.from.clear();
    e.verdict = Verdict::undecided;
    e.pairs = 0;
    return unobserved();
  }
  Made& unfinished() {
    e.trained = false;
    e.verdict = Verdict::undecided;
    e.pairs = 0;
    e.unfinished = "interrupted after 12 of 200 steps";
    return *this;
  }
  Made& loss(Verdict verdict, int pairs, const char* words) {
    e.verdict = verdict;
    e.pairs = pairs;
    e.verdict_words = words;
    return *this;
  }
  Made& worse() { return loss(Verdict::worse, 3, "held-out loss +0.4 against fp32"); }
  Made& one_seed() { return loss(e.mode == "fp32" ? Verdict::reference : Verdict::undecided, e.mode == "fp32" ? 0 : 1, "on 1 seed; a verdict needs 3"); }
  Made& diverged() {
    e.diverged = "diverged: the loss is not finite from step 37 on";
    e.verdict = e.mode == "fp32" ? Verdict::reference : Verdict::undecided;
    return *this;
  }
  Made& memory(double gb, Fits fits, Count largest_batch = {}) {
    e.memory = {.value = gb * 1e9, .low = (gb - 0.2) * 1e9, .high = (gb + 0.3) * 1e9, .provenance = Provenance::projected};
    e.plan_bytes = static_cast<std::int64_t>((gb - 0.5) * 1e9);  // the context takes 0.5 GB
    e.fits = fits;
    e.batch = 64;
    e.largest_batch = largest_batch;
    return *this;
  }
  Made& memory_unknown() {
    e.memory = {};
    e.plan_bytes.reset();
    e.fits = Fits::unknown;
    e.largest_batch.reset();
    return *this;
  }
  /// Timed there, and not to be projected.
  Made& measured_alone(double ms) {
    measured(ms);
    e.projected = {};
    return *this;
  }
  Made& scaling_unknown() {
    e.scaled = e.scaling_known = false;
    return *this;
  }
  Made& launches(double share) {
    e.launch_share = share;
    return *this;
  }
  Made& casts(double share, const char* words) {
    e.cast_share = share;
    e.cast_words = words;
    return *this;
  }
  Made& came_in_16_bits() {
    e.weights_in_16_bits = true;
    e.weights_words = "F16, t5.safetensors";
    return *this;
  }
  Made& non_standard() {
    e.non_standard = {"train.unscale = \"early\""};
    return *this;
  }
  Made& mended(const char* change) {
    e.mend = change;
    return *this;
  }
  operator ModeEvidence() const { return e; }

 private:
  Made& found(Trouble& finding, const char* words, Provenance provenance) {
    finding = {Known::found, provenance, words};
    return *this;
  }
};

inline Made mode(const std::string& name, double ms) {
  Made made;
  ModeEvidence& e = made.e;
  e.mode = name;
  e.from = "3 seeds";
  e.trained = true;
  e.overflow = e.flushed = e.lost = e.other = {Known::clean, Provenance::counted, ""};
  e.scaled = name.starts_with("fp16") && !name.ends_with("_pure");
  e.verdict = name == "fp32" ? Verdict::reference : Verdict::inside;
  e.pairs = name == "fp32" ? 0 : 3;
  e.parameters = 100'000'000;
  made.with(ms, 0.9 * ms, 1.2 * ms, Provenance::projected);
  return made.memory(name == "fp32" || name == "tf32" ? 8.0 : 6.0, Fits::yes, 128);
}

/// By the name of the built-in table, or one made up: "sm_61" (GTX 1080), "GTX 1660" (Turing without a known rate of matrix units).
inline Gpu gpu_of_case(const std::string& name) {
  if (name == "sm_61") {
    Gpu gpu{.name = "GTX 1080", .architecture = "Pascal", .capability = 61, .sms = 20, .boost_mhz = 1733, .memory_gb = 8};
    gpu.fma[static_cast<std::size_t>(Rate::fp32)] = 128.0;
    gpu.peak[static_cast<std::size_t>(Rate::fp32)] = 8.9;
    return gpu;
  }
  if (name == "GTX 1660") {
    Gpu gpu{.name = "GTX 1660", .architecture = "Turing", .capability = 75, .sms = 22, .boost_mhz = 1785, .memory_gb = 6};
    gpu.fma[static_cast<std::size_t>(Rate::fp32)] = 64.0;
    gpu.peak[static_cast<std::size_t>(Rate::fp32)] = 5.0;
    return gpu;
  }
  return GpuTable(built_in_gpus(), {}).named(name);
}

}  // namespace ulpscope::reports
