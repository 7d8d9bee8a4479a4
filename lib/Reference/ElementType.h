//===- ElementType.h - Types of the values of an evaluation -----*- C++ -*-===//
//
// Every value is a double or a 64-bit integer; its element type says what it
// stands for and, in Mode::Eager, what its results are rounded to. No MLIR
// here: the loops that use this file are compiled without it.
//
// Integers are held sign-extended, so that addition and comparison need no
// width, but for i1, which is held as 0 or 1.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_REFERENCE_ELEMENTTYPE_H
#define ATTN_LIB_REFERENCE_ELEMENTTYPE_H

#include "attn/Support/DType.h"
#include <cmath>
#include <cstdint>
#include <cstring>

namespace attn::reference {

struct ElementType {
  enum Kind : uint8_t { F64, F32, F16, BF16, Int };
  Kind kind = Int;
  /// Bits of an integer type; 64 for index.
  uint8_t width = 64;

  bool isFloat() const { return kind != Int; }
  bool operator==(ElementType other) const {
    return kind == other.kind && (isFloat() || width == other.width);
  }
};

/// The distance between 1 and the next number of a float type.
constexpr double getEpsilon(ElementType::Kind kind) {
  switch (kind) {
  case ElementType::F32:
    return 0x1p-23;
  case ElementType::F16:
    return 0x1p-10;
  case ElementType::BF16:
    return 0x1p-7;
  default:
    return 0x1p-52;
  }
}

inline double bitsToDouble(uint64_t bits) {
  double value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}
inline uint64_t doubleToBits(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

/// Rounds once to a format with `Mantissa` stored bits, to nearest even.
/// Free of branches, so that loops over it become vector code.
///
/// Adding 1.5 * 2^(52 - Mantissa) units in the last place of `value` leaves no
/// bits below that place, and the addition itself rounds. Below the smallest
/// normal number the place stays where it is, which makes denormals.
template <int Mantissa, int MinExponent, int MaxExponent>
inline double roundToFormat(double value) {
  constexpr uint64_t kExponentMask = uint64_t(0x7ff) << 52;
  constexpr uint64_t kSmallest = uint64_t(MinExponent + 1023) << 52;
  constexpr uint64_t kLargest = uint64_t(MaxExponent + 1023) << 52;
  uint64_t exponent = doubleToBits(value) & kExponentMask;
  exponent = exponent < kSmallest ? kSmallest : exponent;
  uint64_t clamped = exponent > kLargest ? kLargest : exponent;
  double magic = 1.5 * bitsToDouble(clamped + (uint64_t(52 - Mantissa) << 52));
  double rounded = (value + magic) - magic;
  // 2^(MaxExponent + 1) is the first number that is too large.
  double limit = bitsToDouble(kLargest + (uint64_t(1) << 52));
  rounded = std::fabs(rounded) >= limit ? HUGE_VAL : std::fabs(rounded);
  // Infinities and NaN, and all that is too large to begin with.
  double special = value != value ? value : HUGE_VAL;
  rounded = exponent > kLargest ? special : rounded;
  return std::copysign(rounded, value);
}

inline double roundToBF16(double value) {
  return roundToFormat<7, -126, 127>(value);
}
inline double roundToF16(double value) {
  return roundToFormat<10, -14, 15>(value);
}
inline double roundToF32(double value) { return static_cast<float>(value); }

inline double roundTo(ElementType::Kind kind, double value) {
  switch (kind) {
  case ElementType::F32:
    return roundToF32(value);
  case ElementType::F16:
    return roundToF16(value);
  case ElementType::BF16:
    return roundToBF16(value);
  default:
    return value;
  }
}

/// The canonical form of an integer of which only the low bits are known.
inline int64_t wrapInteger(int64_t value, unsigned width) {
  if (width == 1)
    return value & 1;
  unsigned unused = 64 - width;
  return static_cast<int64_t>(static_cast<uint64_t>(value) << unused) >> unused;
}

inline ElementType getElementType(DType dtype) {
  switch (dtype) {
  case DType::F64:
    return {ElementType::F64};
  case DType::F32:
    return {ElementType::F32};
  case DType::F16:
    return {ElementType::F16};
  case DType::BF16:
    return {ElementType::BF16};
  case DType::I1:
    return {ElementType::Int, 1};
  default:
    return {ElementType::Int, static_cast<uint8_t>(8 * getSize(dtype))};
  }
}

} // namespace attn::reference

#endif // ATTN_LIB_REFERENCE_ELEMENTTYPE_H
