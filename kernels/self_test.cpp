#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "kernels/error.h"
#include "kernels/formats/convert.h"
#include "kernels/matmul.h"
#include "kernels/ops/params.h"

namespace ulpscope {
namespace {

struct Case {
  const char* kind;
  std::int64_t batch, m, n, k;
};

const std::vector<float> no_bias;

// One of each way a library has to compute a product: in place or through copies, blocked or not, as matrix times
// vector, with long sums, and with edges that fill no vector register.
constexpr Case cases[] = {{"square", 1, 64, 64, 64},
                          {"large", 1, 136, 208, 150},
                          {"tall", 1, 301, 5, 17},
                          {"wide", 1, 5, 301, 17},
                          {"short sum", 1, 48, 40, 3},
                          {"long sum", 1, 24, 40, 4500},
                          {"batched", 6, 17, 19, 23},
                          {"batched heads", 3, 64, 64, 32},
                          {"odd", 1, 37, 53, 71},
                          {"row times matrix", 1, 1, 203, 101},
                          {"matrix times column", 1, 203, 1, 101},
                          {"dot product", 1, 1, 1, 1001}};

/// Small integers without a pattern that a wrong stride could hit by chance.
int number(std::int64_t i) {
  const auto mixed = static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15u;
  return static_cast<int>(mixed >> 40) % 9 - 4;
}

std::string text(double x) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.9g", x);
  return buffer;
}

class Tester {
 public:
  Tester(Device& device, void (*product)(const Launch&))
      : device_(device), kernel_(device.kernels().find("matmul", Format::fp32)) {
    if (product != nullptr) kernel_.run = product;
  }

  /// a [batch, m, k] and b [batch, k, n] are stored in `format`, transposed as params say; the bias, if there is one, as fp32 or as
  /// the result. Returns c as floats.
  std::vector<float> multiply(const Case& c, const std::vector<float>& a, const std::vector<float>& b, Format format,
                              const MatmulParams& params, Format result = Format::fp32, const std::vector<float>& bias = no_bias,
                              Format bias_format = Format::fp32) {
    const Shape a_shape = params.trans_a ? Shape{c.batch, c.k, c.m} : Shape{c.batch, c.m, c.k};
    const Shape b_shape = params.trans_b ? Shape{c.batch, c.n, c.k} : Shape{c.batch, c.k, c.n};
    const Shape c_shape{c.batch, c.m, c.n};
    const Buffer a_memory = stored(a, format);
    const Buffer b_memory = stored(b, format);
    const Buffer c_memory(device_, static_cast<std::size_t>(c_shape.elements() * storage_bytes(result)));
    device_.fill(c_memory.data(), 0xff, c_memory.bytes());  // NaN: what is not written shows
    const Buffer bias_memory = stored(bias, bias_format);
    const Tensor in[] = {{a_memory.data(), format, a_shape},
                         {b_memory.data(), format, b_shape},
                         {bias_memory.data(), bias_format, Shape{c.n}}};
    const Tensor out[] = {{c_memory.data(), result, c_shape}};
    Launch launch;
    launch.in = in;
    launch.in_count = bias.empty() ? 2 : 3;
    launch.out = out;
    launch.out_count = 1;
    launch.params = &params;
    launch.threads = device_.description().threads;
    launch.stream = device_.stream();
    const std::size_t workspace = kernel_.workspace_bytes != nullptr ? kernel_.workspace_bytes(launch) : 0;
    if (workspace > workspace_.bytes()) {
      workspace_.reset();
      workspace_ = Buffer(device_, workspace);
    }
    launch.workspace = workspace_.data();
    kernel_.run(launch);
    device_.synchronize();
    std::vector<unsigned char> bytes(c_memory.bytes());
    device_.copy_to_host(bytes.data(), c_memory.data(), bytes.size());
    std::vector<float> values(static_cast<std::size_t>(c_shape.elements()));
    widen(result, bytes.data(), values.data(), values.size());
    return values;
  }

  void check_shapes() {
    for (const Case& c : cases) {
      const std::vector<int> a = numbers(c.batch * c.m * c.k, 0);
      const std::vector<int> b = numbers(c.batch * c.k * c.n, 7919);
      const std::vector<int> right = reference(c, a, b);
      for (const bool trans_a : {false, true}) {
        for (const bool trans_b : {false, true}) {
          for (const Format seen : {Format::fp32, Format::tf32, Format::fp16, Format::bf16}) {
            const Format format = seen == Format::tf32 ? Format::fp32 : seen;
            const MatmulParams params{trans_a, trans_b, seen};
            const std::vector<float> got = multiply(c, arranged(a, c.batch, c.m, c.k, trans_a),
                                                    arranged(b, c.batch, c.k, c.n, trans_b), format, params);
            for (std::size_t i = 0; i < right.size(); ++i) {
              if (got[i] != static_cast<float>(right[i])) refuse(c, format, params, got[i], right[i]);
            }
          }
        }
      }
    }
  }

  void check_precision() {
    constexpr Case one{"1 x 1", 1, 1, 1, 1};
    // tf32 numbers around 1024 are 1 apart, and ties go away from zero. How a GPU's library rounds is its own affair, and one
    // without tf32 units does not round at all; fp32 is fp32 everywhere.
    expect(one, {1024.5f}, {1.0f}, Format::fp32, Format::fp32, {1024.5f});
    if (device_.description().kind == DeviceKind::cpu) {
      expect(one, {1024.5f}, {1.0f}, Format::fp32, Format::tf32, {1025.0f});
    } else {
      expect(one, {1024.5f}, {1.0f}, Format::fp32, Format::tf32, {1025.0f, 1024.0f, 1024.5f});
    }
    // A sum kept in 16 bits would stay at its first element: 2048 + 1 and 256 + 1 are ties that fall back.
    constexpr Case sum{"sum", 1, 1, 1, 64};
    std::vector<float> x(64, 1.0f);
    x[0] = 2048.0f;
    expect(sum, x, std::vector<float>(64, 1.0f), Format::fp16, Format::fp16, {2111.0f});
    x[0] = 256.0f;
    expect(sum, x, std::vector<float>(64, 1.0f), Format::bf16, Format::bf16, {319.0f});
    // Subnormal numbers: a library that flushes them to zero hides what a format loses.
    expect(one, {0x1p-140f}, {1.0f}, Format::fp32, Format::fp32, {0x1p-140f});
    expect(sum, std::vector<float>(64, 0x1p-70f), std::vector<float>(64, 0x1p-72f), Format::fp32, Format::fp32,
           {0x1p-136f});
    // The bias is added before the one rounding: 2049 and 257 are ties that fall back to 2048 and 256, 2049.5 and 257.5 are not.
    for (const Format bias : {Format::fp16, Format::fp32}) expect(sum_of(2048.0f), Format::fp16, bias, 2050.0f);
    for (const Format bias : {Format::bf16, Format::fp32}) expect(sum_of(256.0f), Format::bf16, bias, 258.0f);
  }

 private:
  Buffer stored(const std::vector<float>& values, Format format) {
    std::vector<unsigned char> bytes(values.size() * static_cast<std::size_t>(storage_bytes(format)));
    narrow(format, values.data(), bytes.data(), values.size());
    Buffer memory(device_, bytes.size());
    device_.copy_to_device(memory.data(), bytes.data(), bytes.size());
    return memory;
  }

  static std::vector<int> numbers(std::int64_t count, std::int64_t from) {
    std::vector<int> values(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = number(static_cast<std::int64_t>(i) + from);
    return values;
  }

  static std::vector<float> arranged(const std::vector<int>& x, std::int64_t batch, std::int64_t rows,
                                     std::int64_t columns, bool transposed) {
    std::vector<float> y(x.size());
    for (std::int64_t p = 0; p < batch; ++p)
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j) {
          const std::int64_t to = transposed ? j * rows + i : i * columns + j;
          y[static_cast<std::size_t>(p * rows * columns + to)] =
              static_cast<float>(x[static_cast<std::size_t>((p * rows + i) * columns + j)]);
        }
    return y;
  }

  static std::vector<int> reference(const Case& c, const std::vector<int>& a, const std::vector<int>& b) {
    std::vector<int> sums(static_cast<std::size_t>(c.batch * c.m * c.n), 0);
    for (std::int64_t row = 0; row < c.batch * c.m; ++row) {
      int* line = sums.data() + row * c.n;
      for (std::int64_t d = 0; d < c.k; ++d) {
        const int x = a[static_cast<std::size_t>(row * c.k + d)];
        const int* y = b.data() + (row / c.m * c.k + d) * c.n;
        for (std::int64_t j = 0; j < c.n; ++j) line[j] += x * y[j];
      }
    }
    return sums;
  }

  void expect(const Case& c, const std::vector<float>& a, const std::vector<float>& b, Format format, Format seen,
              const std::vector<float>& right) {
    const MatmulParams params{false, false, seen};
    const std::vector<float> got = multiply(c, a, b, format, params);
    if (std::find(right.begin(), right.end(), got[0]) == right.end()) refuse(c, format, params, got[0], right[0]);
  }
  /// first + 1 in two terms, and eight columns of that.
  static std::vector<float> sum_of(float first) { return {first, 1.0f}; }
  void expect(const std::vector<float>& row, Format format, Format bias, float right) {
    constexpr Case biased{"bias added to", 1, 1, 8, 2};
    const MatmulParams params{false, false, format};
    for (const float got : multiply(biased, row, std::vector<float>(16, 1.0f), format, params, format, std::vector<float>(8, 0.5f), bias))
      if (got != right) refuse(biased, format, params, got, right);
  }

  [[noreturn]] void refuse(const Case& c, Format format, const MatmulParams& params, double got, double right) const {
    const auto matrix = [](std::int64_t rows, std::int64_t columns, bool transposed) {
      return std::to_string(rows) + "x" + std::to_string(columns) + (transposed ? "^T" : "");
    };
    const DeviceDescription& d = device_.description();
    throw Error("device fault: the matrix product of " + d.matmul_library + " is wrong on this " +
                (d.kind == DeviceKind::cpu ? "processor (" : "GPU (") + d.name + "): " + c.kind + " " + matrix(c.m, c.k, params.trans_a) +
                " by " + matrix(c.k, c.n, params.trans_b) + (c.batch > 1 ? ", " + std::to_string(c.batch) + " of them" : "") +
                ", operands " + name(format) + ", multiplied as " + name(params.multiply) + ", gave " + text(got) + " where " +
                text(right) + " is exact. Nothing computed with it can be trusted. " + remedy(d));
  }

  static std::string remedy(const DeviceDescription& d) {
    if (d.kind == DeviceKind::cpu) {
      if (d.instruction_set == "portable") return "Use another machine: this processor or its memory is faulty";
      return "Set ULPSCOPE_ISA=" + std::string(d.instruction_set == "avx512" ? "avx2" : "portable") +
             " in the environment and start again";
    }
    const auto set_to = [](const char* variable) {
      const char* value = std::getenv(variable);
      return std::string(value == nullptr ? "" : value);
    };
    if (const std::string tf32 = set_to("NVIDIA_TF32_OVERRIDE"); !tf32.empty() && tf32 != "0")
      return "NVIDIA_TF32_OVERRIDE=" + tf32 + " is set: unset it, or set it to 0, and start again";
    if (const std::string share = set_to("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"); !share.empty())
      return "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=" + share +
             " gives this process a part of the GPU, where some versions of cuBLASLt leave results unwritten: start again without it";
    return "Put another version of cuBLASLt in ULPSCOPE_CUDA_LIBRARIES, or use another device";
  }

  Device& device_;
  Kernel kernel_;
  Buffer workspace_;   ///< one for all: memory of a GPU is slow to get
};

}  // namespace

void matmul_self_test(Device& device, void (*product)(const Launch&)) {
  {
    Tester tester(device, product);
    tester.check_shapes();
    tester.check_precision();
  }
  device.reset_peak();
}

}  // namespace ulpscope
