// The loss-scaling policies of the frameworks, as plain data: numbers with the frameworks' defaults. The rules are in
// loss_scaler.cpp. Each offers fields(f), which calls f(key, number) for each of its numbers: experiment files and reports
// name them alike.
//
// Sources, as of 2025: torch.amp.GradScaler; apex.amp LossScaler; DeepSpeed runtime/fp16/loss_scaler.py (commit 38327e0);
// Megatron-core optimizer/grad_scaler.py; fairseq optim/dynamic_loss_scaler.py and its configuration; TensorFlow's
// DynamicLossScale; Keras 3 LossScaleOptimizer.
#pragma once

#include <cstdint>
#include <variant>

namespace ulpscope::scaling {

/// The scale is 1 and stays 1.
struct NoScaling {
  static constexpr const char* name = "none";
  template <class F>
  void fields(F&&) {}
};

/// The scale is chosen once.
struct FixedScaling {
  static constexpr const char* name = "fixed";
  float scale = 65536.0f;
  template <class F>
  void fields(F&& f) {
    f("fixed", scale);
  }
};

/// On overflow scale = float(scale * backoff), tracker = 0; else tracker + 1, and when it reaches the interval scale =
/// float(scale * growth), unless that is not finite; tracker = 0 either way. There is no floor: the scale can fall below 1
/// and to 0.
struct PytorchScaler {
  static constexpr const char* name = "pytorch";
  float initial_scale = 65536.0f;
  double growth_factor = 2.0;
  double backoff_factor = 0.5;
  std::int64_t growth_interval = 2000;  ///< steps without overflow before the scale grows
  template <class F>
  void fields(F&& f) {
    f("init", initial_scale);
    f("growth", growth_factor);
    f("backoff", backoff_factor);
    f("interval", growth_interval);
  }
};

/// Halves and doubles; grows to a cap, falls to a floor (0: none).
struct ApexScaler {
  static constexpr const char* name = "apex";
  float initial_scale = 65536.0f;
  std::int64_t growth_interval = 2000;
  float least_scale = 0.0f;
  float greatest_scale = 0x1p24f;
  template <class F>
  void fields(F&& f) {
    f("init", initial_scale);
    f("interval", growth_interval);
    f("floor", least_scale);
    f("cap", greatest_scale);
  }
};

/// With at least one of the five keys in the section fp16 of the configuration; with none of them the start is 2^32 and the
/// hysteresis 1. An overflow first uses up the hysteresis, then divides by the factor, down to the floor; another one there
/// ends the training (raise_error_at_min_scale). Grows when the steps since the last overflow are a multiple of the window,
/// which refills the hysteresis; with consecutive_hysteresis every good step refills it.
struct DeepspeedScaler {
  static constexpr const char* name = "deepspeed";
  float initial_scale = 65536.0f;
  double growth_factor = 2.0;
  std::int64_t growth_interval = 1000;
  float least_scale = 1.0f;
  std::int64_t hysteresis = 2;
  bool consecutive_hysteresis = false;
  bool stop_at_floor = true;
  template <class F>
  void fields(F&& f) {
    f("init", initial_scale);
    f("growth", growth_factor);
    f("interval", growth_interval);
    f("floor", least_scale);
    f("hysteresis", hysteresis);
    f("consecutive_hysteresis", consecutive_hysteresis);
    f("stop_at_floor", stop_at_floor);
  }
};

/// The first `hysteresis` - 1 overflows after a growth are absorbed, every further one lowers the scale, down to the floor;
/// only a growth refills the hysteresis.
struct MegatronScaler {
  static constexpr const char* name = "megatron";
  float initial_scale = 0x1p32f;
  double growth_factor = 2.0;
  double backoff_factor = 0.5;
  std::int64_t growth_interval = 1000;
  float least_scale = 1.0f;
  std::int64_t hysteresis = 2;
  template <class F>
  void fields(F&& f) {
    f("init", initial_scale);
    f("growth", growth_factor);
    f("backoff", backoff_factor);
    f("interval", growth_interval);
    f("floor", least_scale);
    f("hysteresis", hysteresis);
  }
};

/// An overflow lowers the scale if the share of overflows since the last change reaches the tolerance; a scale that would be
/// at the floor or below it ends the training. Default start and window as fairseq's configuration has them for one worker.
struct FairseqScaler {
  static constexpr const char* name = "fairseq";
  float initial_scale = 128.0f;
  double growth_factor = 2.0;
  std::int64_t growth_interval = 16384;
  double tolerance = 0.0;
  float threshold = 0.0f;      ///< a scale that is lowered does not go below it; 0: none
  float least_scale = 1e-4f;
  template <class F>
  void fields(F&& f) {
    f("init", initial_scale);
    f("growth", growth_factor);
    f("interval", growth_interval);
    f("tolerance", tolerance);
    f("threshold", threshold);
    f("floor", least_scale);
  }
};

/// TensorFlow's DynamicLossScale: halves to at least 1; a growth that is not finite is not taken.
struct TensorflowScaler {
  static constexpr const char* name = "tensorflow";
  float initial_scale = 32768.0f;
  double growth_factor = 2.0;
  std::int64_t growth_interval = 2000;
  template <class F>
  void fields(F&& f) {
    f("init", initial_scale);
    f("growth", growth_factor);
    f("interval", growth_interval);
  }
};

/// Keras 3: nothing keeps the scale from becoming infinite.
struct KerasScaler {
  static constexpr const char* name = "keras";
  float initial_scale = 32768.0f;
  std::int64_t growth_interval = 2000;
  template <class F>
  void fields(F&& f) {
    f("init", initial_scale);
    f("interval", growth_interval);
  }
};

using Policy = std::variant<NoScaling, FixedScaling, PytorchScaler, ApexScaler, DeepspeedScaler, MegatronScaler, FairseqScaler,
                            TensorflowScaler, KerasScaler>;

}  // namespace ulpscope::scaling
