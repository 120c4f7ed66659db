// Loading the GPU module, and what is said when that does not work. No GPU is needed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "kernels/cuda_module.h"
#include "kernels/error.h"

namespace ulpscope {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::HasSubstr;

TEST(CudaModule, IsLoaded) {
  const CudaModule module(CudaPlaces{.modules = {"/no/such/file.so", ULPSCOPE_GOOD}, .libraries = {}, .needed = {}, .perhaps = {}});
  EXPECT_TRUE(module.loaded()) << module.problem();
  EXPECT_EQ(module.path(), ULPSCOPE_GOOD);
  EXPECT_EQ(module.state().runtime_version, 13000);
  EXPECT_EQ(module.state().architectures, "80 90");
  EXPECT_EQ(module.problem(), "");
  try {   // an Error crosses the border of the library as what it is
    module.make_device(7);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("no GPU 7"));
  }
}

TEST(CudaModule, ItsAbsenceIsSaid) {
  const CudaModule module(CudaPlaces{.modules = {"/no/such/file.so"}, .libraries = {}, .needed = {}, .perhaps = {}});
  EXPECT_FALSE(module.loaded());
  EXPECT_TRUE(module.absent());
  EXPECT_THAT(module.problem(), AllOf(HasSubstr("no GPU module (libulpscope_cuda.so)"), HasSubstr("-DULPSCOPE_CUDA=ON")));
  EXPECT_THROW(module.make_device(0), Error);
}

TEST(CudaModule, AMissingLibraryIsNamedWithTheRemedy) {
  const CudaModule module(
      CudaPlaces{.modules = {ULPSCOPE_GOOD}, .libraries = {"/no/such/folder"}, .needed = {"libulpscope_nowhere.so.9"}, .perhaps = {"libulpscope_never.so"}});
  EXPECT_FALSE(module.loaded());
  EXPECT_FALSE(module.absent());
  EXPECT_THAT(module.problem(), AllOf(HasSubstr("libulpscope_nowhere.so.9"), HasSubstr("pip install"), HasSubstr("ULPSCOPE_CUDA_LIBRARIES")));
}

TEST(CudaModule, ALibraryIsFoundInAFolder) {
  const std::filesystem::path file = ULPSCOPE_NO_MODULE;
  const CudaModule module(CudaPlaces{.modules = {ULPSCOPE_GOOD}, .libraries = {"/no/such/folder", file.parent_path().string()},
                                     .needed = {file.filename().string()}, .perhaps = {}});
  EXPECT_TRUE(module.loaded()) << module.problem();
}

TEST(CudaModule, WhatIsNoModuleIsRefused) {
  const auto problem = [](const std::string& path) {
    return CudaModule(CudaPlaces{.modules = {path}, .libraries = {}, .needed = {}, .perhaps = {}}).problem();
  };
  EXPECT_THAT(problem(ULPSCOPE_NO_MODULE), HasSubstr("is not a GPU module of ulpscope"));
  EXPECT_THAT(problem(ULPSCOPE_OTHER_VERSION), HasSubstr("belongs to another version of ulpscope"));
  const std::filesystem::path text = std::filesystem::temp_directory_path() / ("ulpscope_text_" + std::to_string(::getpid()));
  std::ofstream(text) << "no library";
  EXPECT_THAT(problem(text.string()), HasSubstr("cannot be loaded"));
  std::filesystem::remove(text);
}

TEST(CudaModule, IsLookedForWhereTheVariablesSay) {
  setenv("ULPSCOPE_CUDA_MODULE", "/somewhere/module.so", 1);
  setenv("ULPSCOPE_CUDA_LIBRARIES", "/a:/b", 1);
  const std::filesystem::path environment = std::filesystem::temp_directory_path() / ("ulpscope_venv_" + std::to_string(::getpid()));
  const std::filesystem::path wheel = environment / "lib/python3.12/site-packages/nvidia/cu13/lib";
  std::filesystem::create_directories(wheel);
  setenv("VIRTUAL_ENV", environment.c_str(), 1);
  const CudaPlaces places = cuda_places();
  EXPECT_THAT(places.modules, ::testing::ElementsAre("/somewhere/module.so"));
  EXPECT_EQ(places.libraries.at(0), "/a");
  EXPECT_EQ(places.libraries.at(1), "/b");
  EXPECT_THAT(places.libraries, Contains(wheel.string()));
  unsetenv("ULPSCOPE_CUDA_MODULE");
  unsetenv("ULPSCOPE_CUDA_LIBRARIES");
  unsetenv("VIRTUAL_ENV");
  std::filesystem::remove_all(environment);
  EXPECT_THAT(cuda_places().modules, Contains(EndsWith("libulpscope_cuda.so")));
}

TEST(CudaModule, LibrariesAreLookedForBesideThePythonOnThePath) {
  const std::filesystem::path environment = std::filesystem::temp_directory_path() / ("ulpscope_path_" + std::to_string(::getpid()));
  const std::filesystem::path wheel = environment / "lib/python3.12/site-packages/nvidia/cublas/lib";
  std::filesystem::create_directories(wheel);
  std::filesystem::create_directories(environment / "bin");
  const std::filesystem::path real = environment / "python";
  std::ofstream(real) << "a program";
  std::filesystem::create_symlink(real, environment / "bin/python3");   // as an environment that was never activated has it
  const std::string before = std::getenv("PATH");
  setenv("PATH", ("/no/such/folder:" + (environment / "bin").string() + ":" + before).c_str(), 1);
  EXPECT_THAT(cuda_places().libraries, Contains(wheel.string()));
  setenv("PATH", before.c_str(), 1);
  EXPECT_THAT(cuda_places().libraries, ::testing::Not(Contains(wheel.string())));
  std::filesystem::remove_all(environment);
}

#if defined(ULPSCOPE_REAL)
/// The module that was built, on a machine that may have no GPU: it loads where CUDA's libraries are, and says what is missing.
TEST(CudaModule, TheOneThatWasBuiltLoads) {
  CudaPlaces places = cuda_places();
  places.modules = {ULPSCOPE_REAL};
  const CudaModule module(places);
  ASSERT_TRUE(module.loaded()) << module.problem();
  EXPECT_FALSE(module.state().architectures.empty());
  EXPECT_GE(module.state().runtime_version, 12000);
  try {
    const auto device = module.make_device(0);
    EXPECT_EQ(device->description().kind, DeviceKind::cuda);
  } catch (const Error& error) {   // no GPU, or no driver
    EXPECT_THAT(error.what(), HasSubstr("cuda: no GPU can be used"));
  }
}
#endif

}  // namespace
}  // namespace ulpscope
