//===- Half.h - Conversions of 16-bit floating-point numbers ----*- C++ -*-===//
//
// IEEE binary16 ("f16") and bfloat16 ("bf16") are held as their bits. Widening
// is exact. Narrowing rounds once, to nearest with ties to even, whatever the
// source: a double does not pass through float on its way. Overflow gives an
// infinity, underflow a denormal or a zero of the same sign; a NaN stays a NaN,
// keeps its sign and its leading payload bits, and becomes quiet.
//
// The functions work on integers, so neither the rounding mode nor flushing of
// denormals changes their results.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_SUPPORT_HALF_H
#define ATTN_SUPPORT_HALF_H

#include <cstdint>

namespace attn {

uint16_t toF16(double value);
uint16_t toF16(float value);
uint16_t toBF16(double value);
uint16_t toBF16(float value);

float fromF16(uint16_t bits);
float fromBF16(uint16_t bits);

} // namespace attn

#endif // ATTN_SUPPORT_HALF_H
