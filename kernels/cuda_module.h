// The GPU device, a module that is loaded at run time: the program starts on machines without a driver or CUDA's libraries, and
// says what is missing. The module is linked against libcudart and libcublasLt, which are looked for on the system and in Python's
// nvidia/* wheels, and never shipped.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/device.h"

namespace ulpscope {

/// What the module says of itself. A plain struct: it crosses the border of a shared library.
struct CudaModuleFacts {
  int interface = 0;                    ///< cuda_module_interface of the sources it was built from
  int runtime_version = 0;              ///< of the CUDA runtime it was built with: 13000 is 13.0
  const char* architectures = "";       ///< as CMake has it, "75-real 80-real 120": has_code_for reads it
  Device* (*make_device)(int ordinal) = nullptr;   ///< the caller's to delete; throws Error
};
inline constexpr int cuda_module_interface = 3;
/// The one symbol of the module: `const CudaModuleFacts* ulpscope_cuda_module()`.
inline constexpr const char* cuda_module_symbol = "ulpscope_cuda_module";

/// Whether code for these architectures runs on a GPU of this compute capability: machine code ("75-real", and "75") on the same major number from its minor
/// one on, PTX ("75-virtual", and "75") on every later one, which the driver compiles.
bool has_code_for(std::string_view architectures, int major, int minor);

/// Where things are looked for. Tests put their own in its place.
struct CudaPlaces {
  std::vector<std::string> modules;     ///< files, in order
  std::vector<std::string> libraries;   ///< folders of CUDA's libraries, in order; after the loader's own search
  std::vector<std::string> needed;      ///< names of the libraries that the module needs, in the order in which they need each other
  std::vector<std::string> perhaps;     ///< those that some versions of them need, and then say so themselves
};
/// Of this machine: the module named by ULPSCOPE_CUDA_MODULE, or beside the program, or in ../lib/ulpscope; libraries in
/// ULPSCOPE_CUDA_LIBRARIES (folders, separated by colons), CUDA_HOME, CUDA_PATH, /usr/local/cuda, and the nvidia/* wheels of the
/// Python in VIRTUAL_ENV, CONDA_PREFIX, that of the python3 on PATH, ~/.local and the system.
CudaPlaces cuda_places();

/// What is to be known of the module, loaded or not.
struct CudaModuleState {
  bool loaded = false;
  std::string problem;         ///< why it is not and what to do: one sentence
  int runtime_version = 0;     ///< 13000: it was built with 13.0
  std::string architectures;   ///< what it has code for, as CMake has it: "75-real 80-real 120"
};

class CudaModule {
 public:
  /// Never throws: what is wrong is in problem().
  explicit CudaModule(const CudaPlaces& places = cuda_places());

  bool loaded() const { return facts_ != nullptr; }
  /// Why it is not loaded and what to do: one sentence. Empty: it is loaded.
  const std::string& problem() const { return problem_; }
  /// This build, or this installation, comes without the module.
  bool absent() const { return absent_; }
  const std::string& path() const { return path_; }
  CudaModuleState state() const {
    if (facts_ == nullptr) return {false, problem_, 0, ""};
    return {true, "", facts_->runtime_version, facts_->architectures};
  }

  /// The GPU with this number. Throws Error: the module's problem, or CUDA's.
  std::unique_ptr<Device> make_device(int ordinal) const;

 private:
  const CudaModuleFacts* facts_ = nullptr;
  bool absent_ = false;
  std::string problem_, path_;
};

/// The module of this process, loaded at the first call.
const CudaModule& cuda_module();

}  // namespace ulpscope
