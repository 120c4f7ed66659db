// A run file with statistics of tensors: fp32, and fp16 whose product "y" overflows.
#pragma once

#include <cmath>
#include <string>

#include "reports/run_file/writer.h"
#include "tests/reports/forged_run.h"

namespace ulpscope::gui {

/// fp32, and fp16 whose product "y" overflows in steps 4 (observed) and 7 (not observed); gradients near the edge of fp16 in all others.
inline void writeObserved(const std::string& path) {
  reports::ForgedRun fp32("fp32", 1), fp16("fp16", 2);
  for (reports::ForgedRun* run : {&fp32, &fp16}) {
    run->run.model = "gpt";
    run->run.data = "README.md";
    run->run.device = "Testium 9000";
    run->run.device_kind = "cpu";
    run->small_model(run->run.mode);
    const bool narrow = run == &fp16;
    for (std::int64_t step = 0; step < 10; ++step) {
      const bool overflow = narrow && (step == 3 || step == 6);
      run->step(3.0 - 0.1 * static_cast<double>(step), overflow, narrow ? reports::Number(step > 6 ? 16384.0 : step > 3 ? 32768.0 : 65536.0) : std::nullopt);
      if (overflow) run->events.push_back({.run = run->run.id, .step = step, .kind = reports::event_kind::scale_change, .value = step == 3 ? 32768.0 : 16384.0});
      if (!narrow || step == 6) continue;
      reports::Counts fine{.greatest = 8.0 * std::exp2(static_cast<double>(step)), .least = 0x1p-20};
      reports::Counts grave{.greatest = 66240.0, .overflowed = 2};
      reports::Counts gradient{.elements = 1000, .greatest = 2.0, .flushed = 100 * step, .zero = 10, .least = 0x1p-27};
      run->observe(step, {{"y", overflow ? grave : fine}, {"y.cast", gradient}});
    }
  }
  for (auto& row : fp16.stats) {  // spread over 24 exponents from 2^-20 on, most of them in the middle
    std::vector<std::uint64_t> counts(24, 0);
    for (std::int64_t i = 0; i < row.elements - row.zero.value_or(0); ++i) ++counts[static_cast<std::size_t>((i % 12 + i % 7 + i % 5) % 24)];
    row.histogram = reports::ExponentHistogram{.first = -20, .counts = counts};
  }
  reports::RunFileWriter writer(path, {.overwrite = true});
  writer.push(reports::ExperimentRecord{.name = "made up", .producer_version = "0.1.0"});
  fp32.write(writer);
  fp16.write(writer);
  writer.close();
}

}  // namespace ulpscope::gui
