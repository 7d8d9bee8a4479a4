//===- HalfTest.cpp - Tests of 16-bit floating-point conversions ----------===//
//
// llvm::APFloat is the oracle: it shares no code with ours.
//
//===----------------------------------------------------------------------===//

#include "attn/Support/Half.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/bit.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>
#include <random>

using namespace attn;
using llvm::APFloat;
using llvm::APInt;

namespace {
/// One 16-bit format: our functions, and APFloat's name for it.
struct Format {
  const char *name;
  const llvm::fltSemantics &(*semantics)();
  float (*widen)(uint16_t);
  uint16_t (*narrowDouble)(double);
  uint16_t (*narrowFloat)(float);
};

class HalfTest : public testing::TestWithParam<Format> {
protected:
  /// The bits that APFloat rounds a double to.
  uint16_t round(double value) {
    APFloat number(value);
    bool losesInfo;
    number.convert(GetParam().semantics(), APFloat::rmNearestTiesToEven,
                   &losesInfo);
    return number.bitcastToAPInt().getZExtValue();
  }

  void expectNarrow(double value) {
    uint16_t expected = round(value);
    EXPECT_EQ(GetParam().narrowDouble(value), expected) << value;
    float asFloat = static_cast<float>(value);
    EXPECT_EQ(GetParam().narrowFloat(asFloat), round(asFloat)) << asFloat;
  }
};
} // namespace

TEST_P(HalfTest, allValuesWiden) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    APFloat number(GetParam().semantics(), APInt(16, bits));
    float value = GetParam().widen(bits);
    if (number.isNaN()) {
      EXPECT_TRUE(std::isnan(value)) << bits;
      continue;
    }
    bool losesInfo;
    number.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven,
                   &losesInfo);
    EXPECT_FALSE(losesInfo);
    EXPECT_EQ(llvm::bit_cast<uint32_t>(value),
              number.bitcastToAPInt().getZExtValue())
        << bits;
  }
}

TEST_P(HalfTest, allValuesRoundTrip) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    float value = GetParam().widen(bits);
    uint16_t expected = bits;
    // A NaN keeps its sign and payload, but for the bit that makes it quiet.
    if (std::isnan(value))
      expected |= round(std::numeric_limits<double>::quiet_NaN()) & 0x7fff;
    EXPECT_EQ(GetParam().narrowFloat(value), expected) << bits;
    EXPECT_EQ(GetParam().narrowDouble(value), expected) << bits;
  }
}

TEST_P(HalfTest, allTiesAndTheirNeighbours) {
  // All pairs of neighbours up to the largest finite value and infinity, whose
  // tie is taken at the value that infinity's bits would have otherwise.
  uint32_t infinity = round(std::numeric_limits<double>::infinity());
  for (uint32_t bits = 0; bits < infinity; ++bits) {
    double low = GetParam().widen(bits);
    double step = bits + 1 < infinity ? GetParam().widen(bits + 1) - low
                                      : low - GetParam().widen(bits - 1);
    double tie = low + step / 2;
    double below = std::nextafter(tie, 0.0);
    double above = std::nextafter(tie, HUGE_VAL);
    uint16_t even = bits % 2 == 0 ? bits : bits + 1;
    EXPECT_EQ(GetParam().narrowDouble(tie), even) << tie;
    EXPECT_EQ(GetParam().narrowDouble(below), bits) << tie;
    EXPECT_EQ(GetParam().narrowDouble(above), bits + 1) << tie;
    EXPECT_EQ(GetParam().narrowDouble(-tie), even | 0x8000) << tie;
    for (double value : {tie, below, above, low + step / 4, low + step * 0.75})
      expectNarrow(value);
  }
}

TEST_P(HalfTest, roundsDoublesOnce) {
  // Just above a tie, by less than a float can tell: rounding to float first
  // would give the tie, and then the even neighbour below.
  double one = 1.0;
  double step = GetParam().widen(GetParam().narrowDouble(1.0) + 1) - one;
  double value = one + step / 2 + 0x1p-50;
  EXPECT_EQ(GetParam().narrowDouble(value), GetParam().narrowDouble(1.0) + 1);
  EXPECT_EQ(GetParam().narrowFloat(static_cast<float>(value)),
            GetParam().narrowDouble(1.0));
}

TEST_P(HalfTest, specialValues) {
  using Limits = std::numeric_limits<double>;
  for (double value :
       {0.0, -0.0, Limits::infinity(), -Limits::infinity(), Limits::max(),
        Limits::lowest(), Limits::min(), Limits::denorm_min(),
        -Limits::denorm_min(), double(std::numeric_limits<float>::max()),
        double(std::numeric_limits<float>::denorm_min())})
    expectNarrow(value);
  for (double sign : {1.0, -1.0}) {
    double nan = std::copysign(Limits::quiet_NaN(), sign);
    EXPECT_EQ(GetParam().narrowDouble(nan), round(nan));
  }
  // The payload is below what is kept, and it may not become an infinity.
  double tiny = llvm::bit_cast<double>(uint64_t(0x7ff0000000000001));
  EXPECT_TRUE(std::isnan(GetParam().widen(GetParam().narrowDouble(tiny))));
  float tinyFloat = llvm::bit_cast<float>(0x7f800001u);
  EXPECT_TRUE(std::isnan(GetParam().widen(GetParam().narrowFloat(tinyFloat))));
}

TEST_P(HalfTest, floatsAcrossTheWholeRange) {
  // Each exponent with mantissas of all kinds: a stride coprime to 2^32.
  for (uint64_t i = 0; i < (uint64_t(1) << 20); ++i) {
    uint32_t bits = static_cast<uint32_t>(i * 2654435761u);
    float value = llvm::bit_cast<float>(bits);
    if (std::isnan(value))
      continue;
    ASSERT_EQ(GetParam().narrowFloat(value), round(value)) << value;
  }
}

TEST_P(HalfTest, randomDoubles) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 1 << 20; ++i) {
    // Exponents around those that the formats have.
    uint64_t bits = random();
    uint64_t exponent = 1023 - 160 + (bits >> 52 & 0x7ff) % 320;
    double value =
        llvm::bit_cast<double>((bits & 0x800fffffffffffff) | exponent << 52);
    ASSERT_EQ(GetParam().narrowDouble(value), round(value)) << value;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Formats, HalfTest,
    testing::Values(Format{"f16", APFloat::IEEEhalf, fromF16, toF16, toF16},
                    Format{"bf16", APFloat::BFloat, fromBF16, toBF16, toBF16}),
    [](const testing::TestParamInfo<Format> &info) {
      return std::string(info.param.name);
    });
