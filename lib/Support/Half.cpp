//===- Half.cpp - Conversions of 16-bit floating-point numbers ------------===//

#include "attn/Support/Half.h"
#include "llvm/ADT/bit.h"

using namespace attn;

/// The bits of the double that equals the float. A cast would do the same,
/// except where the processor is told to read denormals as zeros: those are
/// numbers in bfloat16.
static uint64_t widen(float value) {
  uint32_t bits = llvm::bit_cast<uint32_t>(value);
  uint64_t sign = uint64_t(bits >> 31) << 63;
  uint64_t exponent = bits >> 23 & 0xff;
  uint64_t mantissa = bits & 0x7fffff;
  if (exponent == 0xff)
    return sign | uint64_t(0x7ff) << 52 | mantissa << 29;
  if (exponent == 0) {
    if (mantissa == 0)
      return sign;
    // Move the leading one to bit 23.
    int shift = llvm::countl_zero(uint32_t(mantissa)) - 8;
    mantissa = mantissa << shift & 0x7fffff;
    return sign | uint64_t(1 - shift + 896) << 52 | mantissa << 29;
  }
  return sign | (exponent + 896) << 52 | mantissa << 29;
}

/// Rounds the double with these bits to a format of one sign bit,
/// `exponentBits` and `mantissaBits`.
template <int exponentBits, int mantissaBits>
static uint16_t narrow(uint64_t bits) {
  constexpr int bias = (1 << (exponentBits - 1)) - 1;
  constexpr uint64_t infinity = ((uint64_t(1) << exponentBits) - 1)
                                << mantissaBits;
  uint64_t sign = bits >> 63 << (exponentBits + mantissaBits);
  int exponent = static_cast<int>(bits >> 52 & 0x7ff);
  uint64_t mantissa = bits & ((uint64_t(1) << 52) - 1);

  if (exponent == 0x7ff) {
    if (mantissa == 0)
      return sign | infinity;
    uint64_t quiet = uint64_t(1) << (mantissaBits - 1);
    return sign | infinity | quiet | mantissa >> (52 - mantissaBits);
  }
  // The double's own denormals are far below half of our smallest one.
  if (exponent == 0)
    return sign;
  mantissa |= uint64_t(1) << 52;
  exponent -= 1023;
  if (exponent > bias)
    return sign | infinity;

  // Normal results drop a fixed number of bits, denormal ones a bit more for
  // each binade below. Beyond 53 dropped bits the value is less than half of
  // the smallest denormal.
  int dropped = 52 - mantissaBits;
  bool isNormal = exponent >= 1 - bias;
  if (!isNormal)
    dropped += 1 - bias - exponent;
  if (dropped > 53)
    return sign;
  uint64_t kept = mantissa >> dropped;
  uint64_t rest = mantissa & ((uint64_t(1) << dropped) - 1);
  uint64_t half = uint64_t(1) << (dropped - 1);
  if (rest > half || (rest == half && (kept & 1)))
    ++kept;
  // A carry out of the mantissa runs into the exponent, which is right: the
  // next value is the first of the next binade, or infinity. The leading one
  // of a normal mantissa counts as one in the exponent.
  if (isNormal)
    kept += uint64_t(exponent + bias - 1) << mantissaBits;
  return sign | kept;
}

uint16_t attn::toF16(double value) {
  return narrow<5, 10>(llvm::bit_cast<uint64_t>(value));
}

uint16_t attn::toF16(float value) { return narrow<5, 10>(widen(value)); }

uint16_t attn::toBF16(double value) {
  return narrow<8, 7>(llvm::bit_cast<uint64_t>(value));
}

uint16_t attn::toBF16(float value) { return narrow<8, 7>(widen(value)); }

float attn::fromBF16(uint16_t bits) {
  return llvm::bit_cast<float>(uint32_t(bits) << 16);
}

float attn::fromF16(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16;
  uint32_t exponent = bits >> 10 & 0x1f;
  uint32_t mantissa = bits & 0x3ff;
  if (exponent == 0x1f)
    return llvm::bit_cast<float>(sign | 0x7f800000 | mantissa << 13);
  if (exponent == 0) {
    if (mantissa == 0)
      return llvm::bit_cast<float>(sign);
    // A denormal is normal as a float: move its leading one to bit 10.
    int shift = llvm::countl_zero(mantissa) - 21;
    mantissa = mantissa << shift & 0x3ff;
    exponent = 1 - shift;
  }
  return llvm::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}
