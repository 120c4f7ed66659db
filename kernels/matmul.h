// The matrix product of the CPU: what computes it, and the test that it computes correctly here.
//
// The product itself is the operation "matmul" of kernels/ops/catalogue.h: operands in any format are widened to fp32
// (rounded first where they are wider than MatmulParams::multiply) while they are packed, multiplied with fp32 sums, the
// bias is added to the fp32 sum, and the result is rounded once into its format.
//
// Bits. An element's bits depend on K and on the instruction set alone (kernels/cpu/product.h): they are the same for any
// number of threads, any M and N and any layout of the operands. AVX2 and AVX-512 fuse multiply and add, the portable kernel
// does not; both of the former give the same bits.
#pragma once

#include <string>

#include "kernels/device.h"
#include "kernels/formats/instruction_set.h"

namespace ulpscope {

/// What computes products on this processor: "own kernels (avx512)".
std::string matmul_library(InstructionSet set);

/// Multiplies known numbers on this device, in every class of shape (square, tall, wide, short and long sums, vectors,
/// batches, odd sizes), every transposition, in fp32, tf32, fp16 and bf16, and compares with exact integer results; checks that
/// tf32 rounds its operands (on a GPU: as its library likes) and fp32 does not, that subnormal numbers survive, and that a bias
/// is added before the rounding. Results are NaN before: what is left unwritten shows. Takes well under 0.1 s. Throws Error
/// (device fault) naming what computed it, device, shape and remedy if a number is wrong. Resets the device's peak: call it
/// before memory is recorded. `product` replaces the device's own kernel; it is there so that a test can inject a wrong one.
void matmul_self_test(Device& device, void (*product)(const Launch&) = nullptr);

}  // namespace ulpscope
