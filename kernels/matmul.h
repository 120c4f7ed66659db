// The matrix product of the CPU: which library computes it, and the test that it computes correctly here.
//
// The product itself is the operation "matmul" of kernels/ops/catalogue.h: operands in any format are widened to fp32
// (rounded first where they are wider than MatmulParams::multiply), multiplied with fp32 sums by oneDNN's sgemm, the
// bias is added to the fp32 sum, and the result is rounded once into its format.
//
// Bits. oneDNN 2.6.3 splits long sums over threads in some shapes (measured: weight gradients, vectors times matrices,
// with AVX2 nearly every shape), so its bits change with the number of threads. The product is therefore cut into
// blocks whose size follows from the shape alone, and each block is one single-threaded call: the same bits for any
// number of threads. They may differ between libraries, processors, and layouts of the operands.
#pragma once

#include <string>

#include "kernels/device.h"

namespace ulpscope {

/// The library behind the product and its version: "oneDNN 2.6.3".
std::string matmul_library();

/// Multiplies known numbers on this device, in every class of shape (square, tall, wide, short and long sums, vectors,
/// batches, odd sizes), every transposition and every operand format, and compares with exact integer results; checks
/// that tf32 rounds its operands and fp32 does not, and that subnormal numbers survive. Takes well under 0.1 s. Throws
/// Error naming library, version, processor, shape and remedy if a number is wrong. `product` replaces the device's own
/// kernel; it is there so that a test can inject a wrong one.
void matmul_self_test(Device& device, void (*product)(const Launch&) = nullptr);

}  // namespace ulpscope
