// CUPTI, in a module that is loaded at run time: the program starts on machines without it, and says what is missing. The module is
// linked against libcupti, which is looked for on the system and in Python's nvidia/* wheels, and never shipped.
#pragma once

#include <string>
#include <vector>

#include "profiler/trace/activity.h"
#include "profiler/trace/counters.h"

namespace ulpscope::profiler {

/// What the module says of itself.
struct CuptiModuleFacts {
  int interface = 0;                       ///< cupti_module_interface of the sources it was built from
  int version = 0;                         ///< CUPTI_API_VERSION of the header it was built with
  ActivitySource* (*source)() = nullptr;   ///< the one of this process; never destroyed
  CounterSource* (*counters)() = nullptr;  ///< the same; null: it cannot count, as CUPTI's header was older than CUDA 13's, or under a sanitizer
};
inline constexpr int cupti_module_interface = 2;
/// The one symbol of the module: `const CuptiModuleFacts* ulpscope_cupti_module()`.
inline constexpr const char* cupti_module_symbol = "ulpscope_cupti_module";

/// Where things are looked for. Tests put their own in its place.
struct CuptiPlaces {
  std::vector<std::string> modules;     ///< files, in order
  std::vector<std::string> libraries;   ///< folders of CUDA's libraries, in order; after the loader's own search
};
/// Of this machine: the module named by ULPSCOPE_CUPTI_MODULE, or beside the program, or in ../lib/ulpscope; the library where the GPU
/// module's are (kernels/cuda_module.h), and in extras/CUPTI of a toolkit.
CuptiPlaces cupti_places();

class CuptiModule {
 public:
  /// Never throws for what is not there: what is wrong is in problem().
  explicit CuptiModule(const CuptiPlaces& places = cupti_places());

  /// Null: there is a problem.
  ActivitySource* source() const { return source_; }
  /// Null: there is a problem, or the module cannot count.
  CounterSource* counters() const { return counters_; }
  /// One line: what is missing and what to do. Empty: it is loaded.
  const std::string& problem() const { return problem_; }

 private:
  ActivitySource* source_ = nullptr;
  CounterSource* counters_ = nullptr;
  std::string problem_;
};

/// The module of this process, loaded at the first call.
const CuptiModule& cupti_module();

}  // namespace ulpscope::profiler
