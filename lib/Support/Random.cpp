//===- Random.cpp - Portable random numbers -------------------------------===//
//
// The build compiles this file without contraction of a * b + c into fused
// operations, which would change last bits from one processor to the next.
//
//===----------------------------------------------------------------------===//

#include "attn/Support/Random.h"
#include "llvm/ADT/bit.h"
#include <cassert>
#include <cmath>

using namespace attn;

//===----------------------------------------------------------------------===//
// Bits
//===----------------------------------------------------------------------===//

std::array<uint32_t, 4> attn::philox4x32(std::array<uint32_t, 4> counter,
                                         std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t product0 = uint64_t(0xD2511F53) * counter[0];
    uint64_t product1 = uint64_t(0xCD9E8D57) * counter[2];
    counter = {
        uint32_t(product1 >> 32) ^ counter[1] ^ key[0], uint32_t(product1),
        uint32_t(product0 >> 32) ^ counter[3] ^ key[1], uint32_t(product0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

std::array<uint32_t, 2> attn::philox2x32(std::array<uint32_t, 2> counter,
                                         uint32_t key) {
  for (int round = 0; round < 7; ++round) {
    uint64_t product = uint64_t(0xD256D193) * counter[0];
    counter = {uint32_t(product >> 32) ^ key ^ counter[1], uint32_t(product)};
    key += 0x9E3779B9;
  }
  return counter;
}

/// The two 64-bit words of block `index` of a stream.
static std::array<uint64_t, 2> getBlock(uint64_t seed, uint64_t stream,
                                        uint64_t index) {
  std::array<uint32_t, 4> words =
      philox4x32({uint32_t(index), uint32_t(index >> 32), uint32_t(stream),
                  uint32_t(stream >> 32)},
                 {uint32_t(seed), uint32_t(seed >> 32)});
  return {words[0] | uint64_t(words[1]) << 32, words[2] | uint64_t(words[3])
                                                              << 32};
}

uint64_t RandomStream::getBits(uint64_t k) const {
  return getBlock(seed, stream, k / 2)[k % 2];
}

/// The leading 53 bits as a number in [0, 1).
static double toUnit(uint64_t bits) { return double(bits >> 11) * 0x1p-53; }

double RandomStream::getUniform(uint64_t k) const { return toUnit(getBits(k)); }

double RandomStream::getUniform(uint64_t k, double lo, double hi) const {
  double value = lo + (hi - lo) * getUniform(k);
  // The sum may round up to the limit.
  if (value >= hi)
    value = std::nextafter(hi, lo);
  return value < lo ? lo : value;
}

int64_t RandomStream::getInt(uint64_t k, int64_t lo, int64_t hi) const {
  assert(lo < hi && "expects a range that is not empty");
  uint64_t range = uint64_t(hi) - uint64_t(lo);
  // The high half of the product of 64 bits and the range.
  uint64_t bits = getBits(k);
  uint64_t bitsHigh = bits >> 32, bitsLow = bits & 0xffffffff;
  uint64_t rangeHigh = range >> 32, rangeLow = range & 0xffffffff;
  uint64_t middle = bitsHigh * rangeLow + (bitsLow * rangeLow >> 32);
  uint64_t carry = bitsLow * rangeHigh + (middle & 0xffffffff);
  uint64_t high = bitsHigh * rangeHigh + (middle >> 32) + (carry >> 32);
  return static_cast<int64_t>(uint64_t(lo) + high);
}

//===----------------------------------------------------------------------===//
// Normal distribution
//===----------------------------------------------------------------------===//

/// The natural logarithm of a positive normal number, to about one unit in the
/// last place.
static double portableLog(double x) {
  // x = m * 2^e with m in [sqrt(1/2), sqrt(2)), and log m = 2 artanh s with
  // s = (m - 1) / (m + 1), at most 0.172 in magnitude.
  uint64_t bits = llvm::bit_cast<uint64_t>(x);
  constexpr uint64_t sqrtHalf = 0x3fe6a09e667f3bcd;
  constexpr uint64_t one = uint64_t(1) << 52;
  int64_t exponent = static_cast<int64_t>(bits - sqrtHalf) >> 52;
  double m = llvm::bit_cast<double>(bits - uint64_t(exponent) * one);
  double s = (m - 1) / (m + 1);
  double z = s * s;
  double sum = 0;
  for (int n = 21; n >= 3; n -= 2)
    sum = (sum + 1.0 / n) * z;
  // The upper part of log 2 has 32 bits, so that its multiples are exact.
  constexpr double log2High = 0x1.62e42feep-1;
  constexpr double log2Low = 0x1.a39ef35793c76p-33;
  double e = static_cast<double>(exponent);
  return e * log2High + (2 * s + (2 * s * sum + e * log2Low));
}

namespace {
struct SinCos {
  double sin;
  double cos;
};
} // namespace

/// Sine and cosine of 2 pi u for u in [0, 1).
static SinCos portableSinCosTurns(double u) {
  // u = quarter / 4 + r with r in [-1/8, 1/8]; all of this is exact.
  int quarter = static_cast<int>(u * 4 + 0.5);
  double r = u - quarter * 0.25;
  double x = r * 0x1.921fb54442d18p+2; // 2 pi
  double z = x * x;
  // Taylor's series; the terms left out are below 1e-19.
  double sin = 0, cos = 0;
  for (int n = 18; n >= 2; n -= 2) {
    cos = (1 - cos) * z / (n * (n - 1));
    sin = (1 - sin) * z / (n * (n + 1));
  }
  cos = 1 - cos;
  sin = x - x * sin;
  switch (quarter & 3) {
  case 0:
    return {sin, cos};
  case 1:
    return {cos, -sin};
  case 2:
    return {-sin, -cos};
  default:
    return {-cos, sin};
  }
}

std::array<double, 2> RandomStream::getNormalPair(uint64_t pair) const {
  std::array<uint64_t, 2> block = getBlock(seed, stream, pair);
  // In (0, 1], where the logarithm exists.
  double u = (double(block[0] >> 11) + 1) * 0x1p-53;
  double radius = std::sqrt(-2 * portableLog(u));
  SinCos direction = portableSinCosTurns(toUnit(block[1]));
  return {radius * direction.cos, radius * direction.sin};
}
