#include <gtest/gtest.h>

#include "kernels/error.h"
#include "kernels/matmul.h"
#include "tests/kernels/products/product_run.h"

namespace ulpscope::test {
namespace {

TEST(MatmulSelfTest, PassesHereWithEveryInstructionSetAndLeavesNothingBehind) {
  for (const InstructionSet set : available_sets()) {
    Device& device = device_for(set);
    const std::size_t live = device.live_bytes();
    EXPECT_NO_THROW(matmul_self_test(device)) << name(set);
    EXPECT_EQ(device.live_bytes(), live);
    EXPECT_EQ(device.peak_bytes(), live);
  }
}

void right(const Launch& l) { device_for(best_instruction_set()).kernels().find("matmul", Format::fp32).run(l); }

/// The right product with other parameters, which may need another workspace.
void right_with(const Launch& l, const MatmulParams& params) {
  Device& device = device_for(best_instruction_set());
  Launch changed = l;
  changed.params = &params;
  const Buffer workspace(device, device.kernels().find("matmul", Format::fp32).workspace_bytes(changed));
  changed.workspace = workspace.data();
  right(changed);
}

/// Wrong products, each as a faulty library could be.
void last_element_wrong(const Launch& l) {
  right(l);
  const Tensor& c = l.out[0];
  static_cast<float*>(c.data)[c.elements() - 1] += 1.0f;
}
void wrong_with_long_sums(const Launch& l) {
  right(l);
  if (l.in[0].shape[2] > 4000) static_cast<float*>(l.out[0].data)[5] = 0.0f;
}
void forgets_the_last_row(const Launch& l) {
  if (l.out[0].shape[1] < 3) return right(l);
  Tensor c = l.out[0];
  const std::vector<unsigned char> before(static_cast<unsigned char*>(c.data),
                                          static_cast<unsigned char*>(c.data) + c.bytes());
  right(l);
  const auto row = static_cast<std::size_t>(c.shape[2] * 4);
  std::memcpy(static_cast<unsigned char*>(c.data) + c.bytes() - row, before.data() + before.size() - row, row);
}
void ignores_transposition_of_squares(const Launch& l) {
  MatmulParams params = *static_cast<const MatmulParams*>(l.params);
  if (l.in[0].shape[1] == l.in[0].shape[2]) params.trans_a = false;
  right_with(l, params);
}
void always_tf32(const Launch& l) {
  MatmulParams params = *static_cast<const MatmulParams*>(l.params);
  if (params.multiply == Format::fp32) params.multiply = Format::tf32;
  right_with(l, params);
}
void never_tf32(const Launch& l) {
  MatmulParams params = *static_cast<const MatmulParams*>(l.params);
  if (params.multiply == Format::tf32) params.multiply = Format::fp32;
  right_with(l, params);
}
void flushes_subnormals(const Launch& l) {
  right(l);
  const Tensor& c = l.out[0];
  for (std::int64_t i = 0; i < c.elements(); ++i) {
    float& x = static_cast<float*>(c.data)[i];
    if (std::abs(x) < 0x1p-126f) x = 0.0f;
  }
}

TEST(MatmulSelfTest, RefusesWrongProducts) {
  Device& device = device_for(best_instruction_set());
  for (void (*wrong)(const Launch&) : {last_element_wrong, wrong_with_long_sums, forgets_the_last_row,
                                       ignores_transposition_of_squares, always_tf32, never_tf32, flushes_subnormals}) {
    EXPECT_THROW(matmul_self_test(device, wrong), Error);
  }
  EXPECT_NO_THROW(matmul_self_test(device, right));
}

TEST(MatmulSelfTest, NamesLibraryProcessorShapeAndRemedy) {
  Device& device = device_for(best_instruction_set());
  try {
    matmul_self_test(device, wrong_with_long_sums);
    FAIL();
  } catch (const Error& e) {
    const std::string message = e.what();
    for (const std::string& part :
         {device.description().matmul_library, device.description().name, std::string("24x4500"),
          std::string("4500x40"), std::string("Nothing computed with it can be trusted")}) {
      EXPECT_NE(message.find(part), std::string::npos) << part << " not in: " << message;
    }
  }
}

}  // namespace
}  // namespace ulpscope::test
