// .npy and IDX files, made here byte by byte as the formats say, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/data/idx.h"
#include "engine/data/npy.h"
#include "kernels/error.h"
#include "tests/engine/data/made_arrays.h"
#include "tests/engine/data/temporary_folder.h"

namespace ulpscope::engine {
namespace {

using namespace std::string_literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

template <class Call>
std::string refusal(Call call) {
  try {
    call();
  } catch (const UsageError& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  ADD_FAILURE() << "not refused";
  return "";
}
std::string npy_refusal(const std::string& bytes) {
  return refusal([&] { parse_npy(std::as_bytes(std::span(bytes)), "x.npy"); });
}
std::string idx_refusal(const std::string& bytes) {
  return refusal([&] { parse_idx(std::as_bytes(std::span(bytes)), "x.idx"); });
}
Array npy(const std::string& bytes) { return parse_npy(std::as_bytes(std::span(bytes)), "x.npy"); }
Array idx(const std::string& bytes) { return parse_idx(std::as_bytes(std::span(bytes)), "x.idx"); }

TEST(Npy, EveryTypeInEveryVersion) {
  for (const int version : {1, 2, 3}) {
    const Array f4 = npy(npy_bytes<float>("<f4", "(2, 3)", {1.0f, -2.5f, 3.0f, 0.0f, 1e-40f, 7.0f}, version));
    EXPECT_THAT(f4.shape, ElementsAre(2, 3));
    EXPECT_THAT(f4.numbers(), ElementsAre(1.0f, -2.5f, 3.0f, 0.0f, 1e-40f, 7.0f));
    EXPECT_EQ(f4.row_elements(), 3);
  }
  EXPECT_THAT(npy(npy_bytes<double>("<f8", "(2,)", {0.1, -1e300})).numbers(),
              ElementsAre(0.1f, -std::numeric_limits<float>::infinity()));
  EXPECT_THAT(npy(npy_bytes<std::uint16_t>("<f2", "(3,)", {0x3c00, 0x0001, 0xfbff})).numbers(),
              ElementsAre(1.0f, 0x1p-24f, -65504.0f));
  EXPECT_THAT(npy(npy_bytes<std::uint8_t>("|u1", "(2,)", {255, 3})).numbers(), ElementsAre(255.0f, 3.0f));
  EXPECT_EQ(npy(npy_bytes<std::int32_t>("<i4", "(2,)", {5, -7})).integer(1), -7);
  EXPECT_EQ(npy(npy_bytes<std::int64_t>("<i8", "(1,)", {std::int64_t{1} << 60})).integer(0), std::int64_t{1} << 60);
  EXPECT_EQ(npy(npy_bytes<std::uint8_t>("|b1", "(2,)", {1, 0})).integer(0), 1);
  EXPECT_THAT(npy(npy_bytes<float>("<f4", "()", {4.0f})).shape, ElementsAre());
  EXPECT_EQ(npy(npy_bytes<float>("<f4", "(0, 5)", {})).elements(), 0);
}

TEST(Npy, FortranOrderIsRefusedWhereItMatters) {
  const std::string two = npy_bytes<float>("<f4", "(2, 2)", {1, 2, 3, 4}, 1, true);
  EXPECT_THAT(npy_refusal(two), AllOf(StartsWith("data: x.npy: it is in Fortran order"), HasSubstr("ascontiguousarray")));
  EXPECT_EQ(npy(npy_bytes<float>("<f4", "(4, 1)", {1, 2, 3, 4}, 1, true)).number(2), 3.0f) << "a column is the same either way";
}

TEST(Npy, WhatIsWrongIsNamed) {
  const std::string good = npy_bytes<float>("<f4", "(2, 2)", {1, 2, 3, 4});
  EXPECT_THAT(npy_refusal(""), HasSubstr("it is empty"));
  EXPECT_THAT(npy_refusal("hello"), HasSubstr("not a .npy file"));
  EXPECT_THAT(npy_refusal(good.substr(0, good.size() - 1)),
              HasSubstr("it is cut off: shape (2, 2) of f4 needs 16 bytes after the header, there are 15"));
  EXPECT_THAT(npy_refusal(good + "x"), HasSubstr("too long"));
  for (std::size_t n = 1; n < good.size(); ++n) npy_refusal(good.substr(0, n));
  EXPECT_THAT(npy_refusal(npy_bytes<float>(">f4", "(1,)", {1})), AllOf(HasSubstr("big-endian"), HasSubstr("astype('<f4')")));
  EXPECT_THAT(npy_refusal(npy_bytes<float>("<c8", "(1,)", {1, 1})), HasSubstr("elements of type '<c8' are not read; there are b1, u1"));
  EXPECT_THAT(npy_refusal(npy_bytes<float>("|O", "(1,)", {1})), HasSubstr("'|O' are not read"));
  EXPECT_THAT(npy_refusal(npy_bytes<float>("<f4", "(-1,)", {})), HasSubstr("a dimension is missing"));
  EXPECT_THAT(npy_refusal(npy_bytes<float>("<f4", "(4294967296, 4294967296)", {})), HasSubstr("too large"));
  EXPECT_THAT(npy_refusal(npy_bytes<float>("<f4", "(9223372036854775808,)", {})), HasSubstr("a dimension is missing"));
  std::string version = good;
  version[6] = 9;
  EXPECT_THAT(npy_refusal(version), HasSubstr("version 9"));
}

TEST(Idx, BigEndianElementsOfEveryType) {
  EXPECT_THAT(idx("\0\0\x08\x02\0\0\0\x02\0\0\0\x02\x01\x02\x03\xff"s).numbers(), ElementsAre(1, 2, 3, 255));
  EXPECT_EQ(idx("\0\0\x09\x01\0\0\0\x01\xff"s).integer(0), -1);
  EXPECT_EQ(idx("\0\0\x0b\x01\0\0\0\x01\x01\x02"s).integer(0), 258);
  EXPECT_EQ(idx("\0\0\x0c\x01\0\0\0\x01\0\x01\0\x02"s).integer(0), 65538);
  EXPECT_EQ(idx("\0\0\x0d\x01\0\0\0\x01\x3f\x80\0\0"s).number(0), 1.0f);
  EXPECT_EQ(idx("\0\0\x0e\x01\0\0\0\x01\xbf\xf0\0\0\0\0\0\0"s).number(0), -1.0f);
}

TEST(Idx, WhatIsWrongIsNamed) {
  const std::string good = "\0\0\x08\x02\0\0\0\x02\0\0\0\x02\x01\x02\x03\xff"s;
  for (std::size_t n = 0; n < good.size(); ++n) idx_refusal(good.substr(0, n));
  EXPECT_THAT(idx_refusal(good.substr(0, 15)), HasSubstr("it is cut off: shape (2, 2) of u1 needs 16 bytes, there are 15"));
  EXPECT_THAT(idx_refusal(good + "x"), HasSubstr("more follow"));
  EXPECT_THAT(idx_refusal("\0\0\x07\x01\0\0\0\x01\x01"s), HasSubstr("element type is 0x07"));
  EXPECT_THAT(idx_refusal("\0\0\x08\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"s), HasSubstr("too large"));
  EXPECT_THAT(idx_refusal("P5 28 28"), HasSubstr("not an IDX file"));
}

TEST(Idx, GzipIsTakenOffAndItsFaultsAreNamed) {
  const TemporaryFolder folder;
  std::string image = "\0\0\x08\x01\0\x01\x86\xa0"s;   // 100000 bytes
  for (int i = 0; i < 100000; ++i) image.push_back(static_cast<char>(i * 7 % 251));
  const std::string packed = gzipped(image);
  EXPECT_LT(packed.size(), image.size());
  const Array array = read_idx(folder.write("a.gz", packed));
  EXPECT_EQ(array.elements(), 100000);
  EXPECT_EQ(array.integer(99999), 99999 * 7 % 251);
  EXPECT_EQ(read_idx(folder.write("a", image)).data, array.data);
  const auto said = [&](const std::string& bytes) { return refusal([&] { read_idx(folder.write("b.gz", bytes)); }); };
  EXPECT_THAT(said(packed.substr(0, packed.size() / 2)), HasSubstr("it is cut off: the gzip stream has no end"));
  std::string damaged = packed;
  damaged[packed.size() / 2] ^= 0x55;
  EXPECT_THAT(said(damaged), HasSubstr("b.gz: "));
  // As gzip(1) has it: members one after the other, and zeros behind the last.
  const std::string parts = gzipped(image.substr(0, 500)) + gzipped(image.substr(500));
  EXPECT_EQ(read_idx(folder.write("parts.gz", parts)).data, array.data);
  EXPECT_EQ(read_idx(folder.write("zeros.gz", parts + std::string(300000, '\0'))).data, array.data);
  for (const std::string& junk : {"junkjunk"s, std::string(300000, '\0') + "x", "\x1f\x8c"s, "\x1f"s})
    EXPECT_THAT(said(packed + junk), AnyOf(HasSubstr("the gzip stream is damaged: "), HasSubstr("it is cut off"))) << junk;
  EXPECT_THAT(refusal([&] { read_idx(folder.path().string()); }), HasSubstr("it is a folder"));
  EXPECT_THAT(refusal([&] { read_idx((folder.path() / "none").string()); }), HasSubstr("No such file"));
}

TEST(Idx, ASmallFileThatUnpacksIntoALargeOneIsNotUnpacked) {
  const TemporaryFolder folder;
  std::string image = "\0\0\x08\x01\0\0\0\x0a"s + std::string(std::size_t{64} << 20, '\0');
  EXPECT_THAT(refusal([&] { read_idx(folder.write("bomb.gz", gzipped(image))); }),
              HasSubstr("it is too long: shape (10,) of u1 needs 18 bytes"));
}

}  // namespace
}  // namespace ulpscope::engine
