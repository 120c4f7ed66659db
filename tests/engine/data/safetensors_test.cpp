// The safetensors format: against bytes put together by its description, there and back, and what is refused.
#include "engine/data/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <cstring>

#include "engine/data/checksums.h"
#include "kernels/error.h"
#include "kernels/formats/fp16.h"
#include "tests/engine/data/temporary_folder.h"

namespace ulpscope::engine {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string made(const std::string& header, const std::string& data) {
  std::string bytes;
  for (std::size_t i = 0; i < 8; ++i) bytes += static_cast<char>(header.size() >> (8 * i));
  return bytes + header + data;
}
TensorFile parsed(const std::string& bytes) { return parse_safetensors(std::as_bytes(std::span(bytes)), "w.safetensors"); }
std::string refusal(const std::string& bytes) {
  try {
    parsed(bytes);
  } catch (const UsageError& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  ADD_FAILURE() << "not refused";
  return "";
}

NamedTensor tensor(const std::string& name, const char* type, std::vector<std::int64_t> shape, std::size_t bytes) {
  NamedTensor t{name, type, std::move(shape), std::vector<std::byte>(bytes)};
  for (std::size_t i = 0; i < bytes; ++i) t.data[i] = static_cast<std::byte>(i * 37 + name.size());
  return t;
}

TEST(Safetensors, ReadsWhatTheFormatSays) {
  const float values[] = {1.5f, -0.0f};
  const TensorFile file = parsed(made(R"({"b":{"dtype":"U8","shape":[],"data_offsets":[8,9]},"a":{"dtype":"F32","shape":[2,1],)"
                                      R"("data_offsets":[0,8]},"__metadata__":{"k":"v"}}   )",
                                      std::string(reinterpret_cast<const char*>(values), 8) + "\x07"));
  ASSERT_EQ(file.tensors.size(), 2u);
  EXPECT_EQ(file.tensors[0].name, "a") << "by the place of the bytes";
  EXPECT_THAT(file.tensors[0].shape, ElementsAre(2, 1));
  EXPECT_THAT(file.find("a")->numbers(), ElementsAre(1.5f, -0.0f));
  EXPECT_TRUE(std::signbit(file.find("a")->numbers()[1]));
  EXPECT_EQ(file.find("b")->elements(), 1);
  EXPECT_EQ(file.find("c"), nullptr);
  EXPECT_EQ(file.metadata.at("k"), "v");
}

TEST(Safetensors, ChecksumsNoticeEveryBit) {
  TensorFile file;
  file.metadata["step"] = "7";
  EXPECT_FALSE(check_checksums(file, "c")) << "there are none";
  file.tensors = {tensor("w", "F32", {2, 2}, 16), tensor("b", "U8", {3}, 3), tensor("none", "F16", {0}, 0)};
  add_checksums(file);
  EXPECT_EQ(file.metadata.at("crc32").substr(0, 23), R"({"metadata":"7ab5a28a",)") << "Python: zlib.crc32(b'step\\x007\\x00')";
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "c.safetensors").string();
  write_safetensors(path, file);
  EXPECT_TRUE(check_checksums(read_safetensors(path), path));
  const auto said = [](const TensorFile& damaged) -> std::string {
    try {
      check_checksums(damaged, "c");
    } catch (const UsageError& error) {
      return error.what();
    }
    return "nothing was noticed";
  };
  for (std::size_t bit = 0; bit < 16 * 8; ++bit) {
    TensorFile damaged = file;
    damaged.tensors[0].data[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    EXPECT_EQ(said(damaged), "c: it is damaged: tensor 'w' is not what was written (crc32)");
  }
  TensorFile other = file;
  other.metadata["step"] = "5";
  EXPECT_EQ(said(other), "c: it is damaged: its metadata are not what was written (crc32)");
  other = file;
  other.tensors[0].shape = {4};
  EXPECT_THAT(said(other), HasSubstr("tensor 'w'"));
  other = file;
  other.tensors.pop_back();
  EXPECT_THAT(said(other), HasSubstr("2 tensors of 3"));
  other = file;
  other.metadata["crc32"][0] = 'x';
  EXPECT_THAT(said(other), HasSubstr("its checksums cannot be read"));
}

TEST(Safetensors, ThereAndBackToTheBit) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "w.safetensors").string();
  TensorFile file;
  file.metadata = {{"iteration", "7"}, {"words", "caf\xC3\xA9 \"x\"\n"}};
  file.tensors = {tensor("w", "F32", {3, 2}, 24), tensor("h", "F16", {5}, 10), tensor("b", "BF16", {1}, 2),
                  tensor("i", "I64", {2}, 16),    tensor("e", "F8_E4M3", {3}, 3), tensor("none", "F32", {0, 4}, 0)};
  const std::int64_t bytes = write_safetensors(path, file);
  EXPECT_EQ(static_cast<std::uintmax_t>(bytes), std::filesystem::file_size(path));
  EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));
  const TensorFile back = read_safetensors(path);
  EXPECT_EQ(back.metadata, file.metadata);
  ASSERT_EQ(back.tensors.size(), file.tensors.size());
  for (const NamedTensor& t : file.tensors) {
    const NamedTensor* const found = back.find(t.name);
    ASSERT_NE(found, nullptr) << t.name;
    EXPECT_EQ(found->dtype, t.dtype);
    EXPECT_EQ(found->shape, t.shape);
    EXPECT_EQ(found->data, t.data);
  }
  EXPECT_EQ(back.find("h")->numbers()[0], fp16_to_float(static_cast<std::uint16_t>(0x2601)));
  EXPECT_THROW(back.find("i")->numbers(), Error);
}

TEST(Safetensors, AFileThatCannotBeWrittenLeavesTheOldOne) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "w.safetensors").string();
  write_safetensors(path, {{tensor("a", "F32", {2}, 8)}, {}});
  std::filesystem::create_directory(path + ".tmp");   // in the way of the temporary file
  try {
    write_safetensors(path, {{tensor("b", "F32", {2}, 8)}, {}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("cannot write " + path), HasSubstr("directory")));
  }
  EXPECT_NE(read_safetensors(path).find("a"), nullptr);
}

TEST(Safetensors, WhatIsWrongIsNamed) {
  const std::string one = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  const std::string good = made(one, "12345678");
  parsed(good);
  for (std::size_t n = 0; n < good.size(); ++n) refusal(good.substr(0, n));
  EXPECT_THAT(refusal(good.substr(0, good.size() - 1)), HasSubstr("it is cut off: tensor 'a' ends at byte 8"));
  EXPECT_THAT(refusal(good.substr(0, 20)), HasSubstr("cut off within its header"));
  EXPECT_THAT(refusal(good + "x"), HasSubstr("too long"));
  EXPECT_THAT(refusal("PK\x03\x04 a zip file of PyTorch"), HasSubstr("not a safetensors file"));
  const auto entry = [](const std::string& words) { return made("{\"a\":" + words + "}", "12345678"); };
  EXPECT_THAT(refusal(entry(R"({"dtype":"F99","shape":[2],"data_offsets":[0,8]})")), HasSubstr("tensor 'a' is damaged: dtype F99"));
  EXPECT_THAT(refusal(entry(R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})")), HasSubstr("(3,) of F32 are not the 8 bytes"));
  EXPECT_THAT(refusal(entry(R"({"dtype":"F32","shape":[-1],"data_offsets":[0,8]})")), HasSubstr("no list of sizes"));
  EXPECT_THAT(refusal(entry(R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})")), HasSubstr("are not the"));
  EXPECT_THAT(refusal(entry(R"({"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]})")), HasSubstr("too large"));
  EXPECT_THAT(refusal(entry("7")), HasSubstr("it takes dtype"));
  EXPECT_THAT(refusal(made(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", "12345678")), HasSubstr("do not follow"));
  EXPECT_THAT(refusal(made(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}})",
                           "123456")), HasSubstr("do not follow"));
  EXPECT_THAT(refusal(made(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
                           "12345678")), HasSubstr("there twice"));
  EXPECT_THAT(refusal(made("{\"a\":", "")), HasSubstr("not valid JSON"));
  EXPECT_THAT(refusal(made(R"({"__metadata__":{"k":1}})", "")), HasSubstr("more than texts"));
  EXPECT_THAT(refusal(made("{" + std::string(100000, '['), "")), HasSubstr("not valid JSON"));
}

}  // namespace
}  // namespace ulpscope::engine
