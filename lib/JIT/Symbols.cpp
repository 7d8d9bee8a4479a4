//===- Symbols.cpp - Functions that compiled code calls -------------------===//

#include "Symbols.h"
#include "attn/Runtime/Symbols.h"
#include "attn/Support/Half.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include <cstring>
#include <math.h>

using namespace attn;

//===----------------------------------------------------------------------===//
// Conversions of 16-bit numbers
//===----------------------------------------------------------------------===//

// The calling convention passes 16-bit numbers in the low bits of a vector
// register, as it passes float.
static uint16_t lowBits(float number) {
  return static_cast<uint16_t>(llvm::bit_cast<uint32_t>(number));
}
static float inLowBits(uint16_t bits) {
  return llvm::bit_cast<float>(static_cast<uint32_t>(bits));
}

static float extendF16(float number) { return fromF16(lowBits(number)); }
static double extendF16ToF64(float number) { return fromF16(lowBits(number)); }
static float truncateToF16(float number) { return inLowBits(toF16(number)); }
static float truncateF64ToF16(double number) {
  return inLowBits(toF16(number));
}
static float extendBF16(float number) { return fromBF16(lowBits(number)); }
static float truncateToBF16(float number) { return inLowBits(toBF16(number)); }
static float truncateF64ToBF16(double number) {
  return inLowBits(toBF16(number));
}

/// x to the power of an integer, by squaring.
template <typename T> static T powerOf(T x, int32_t n) {
  bool isInverse = n < 0;
  uint32_t rest = isInverse ? -static_cast<uint32_t>(n) : n;
  T result = 1;
  for (; rest; rest /= 2, x *= x)
    if (rest % 2)
      result *= x;
  return isInverse ? 1 / result : result;
}
static float powerOfF32(float x, int32_t n) { return powerOf(x, n); }
static double powerOfF64(double x, int32_t n) { return powerOf(x, n); }

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

template <typename F> static void *address(F *function) {
  return reinterpret_cast<void *>(function);
}

// A function of <math.h> for double and for float.
#define UNARY(name)                                                            \
  {#name, address<double(double)>(::name)}, {                                  \
    #name "f", address<float(float)>(::name##f)                                \
  }
#define BINARY(name)                                                           \
  {#name, address<double(double, double)>(::name)}, {                          \
    #name "f", address<float(float, float)>(::name##f)                         \
  }

llvm::ArrayRef<HostSymbol> attn::getHostSymbols() {
  static const HostSymbol symbols[] = {
      UNARY(acos),
      UNARY(acosh),
      UNARY(asin),
      UNARY(asinh),
      UNARY(atan),
      UNARY(atanh),
      UNARY(cbrt),
      UNARY(ceil),
      UNARY(cos),
      UNARY(cosh),
      UNARY(erf),
      UNARY(erfc),
      UNARY(exp),
      UNARY(exp2),
      UNARY(expm1),
      UNARY(fabs),
      UNARY(floor),
      UNARY(log),
      UNARY(log10),
      UNARY(log1p),
      UNARY(log2),
      UNARY(nearbyint),
      UNARY(rint),
      UNARY(round),
      UNARY(sin),
      UNARY(sinh),
      UNARY(sqrt),
      UNARY(tan),
      UNARY(tanh),
      UNARY(trunc),
      BINARY(atan2),
      BINARY(copysign),
      BINARY(fmax),
      BINARY(fmin),
      BINARY(fmod),
      BINARY(pow),
#ifdef __GLIBC__
      UNARY(exp10),
      UNARY(roundeven),
      {"sincos", address<void(double, double *, double *)>(::sincos)},
      {"sincosf", address<void(float, float *, float *)>(::sincosf)},
#endif
      {"fma", address<double(double, double, double)>(::fma)},
      {"fmaf", address<float(float, float, float)>(::fmaf)},
      {"ldexp", address<double(double, int)>(::ldexp)},
      {"ldexpf", address<float(float, int)>(::ldexpf)},
      {"memcpy", address<void *(void *, const void *, size_t)>(::memcpy)},
      {"memmove", address<void *(void *, const void *, size_t)>(::memmove)},
      {"memset", address<void *(void *, int, size_t)>(::memset)},
      {"memcmp", address<int(const void *, const void *, size_t)>(::memcmp)},
      {"bcmp", address<int(const void *, const void *, size_t)>(::memcmp)},
      {"__extendhfsf2", address(extendF16)},
      {"__extendhfdf2", address(extendF16ToF64)},
      {"__truncsfhf2", address(truncateToF16)},
      {"__truncdfhf2", address(truncateF64ToF16)},
      {"__extendbfsf2", address(extendBF16)},
      {"__truncsfbf2", address(truncateToBF16)},
      {"__truncdfbf2", address(truncateF64ToBF16)},
      {"__powisf2", address(powerOfF32)},
      {"__powidf2", address(powerOfF64)},
  };
  return symbols;
}

bool attn::isHostSymbol(llvm::StringRef name) {
  return llvm::any_of(getHostSymbols(),
                      [&](const HostSymbol &s) { return s.name == name; }) ||
         llvm::any_of(getRuntimeSymbols(),
                      [&](const RuntimeSymbol &s) { return name == s.name; });
}
