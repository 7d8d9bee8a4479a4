//===- RandomTest.cpp - Tests of portable random numbers ------------------===//

#include "attn/Support/Random.h"
#include "llvm/ADT/bit.h"
#include "gtest/gtest.h"
#include <cmath>
#include <vector>

using namespace attn;

using Words = std::array<uint32_t, 4>;

TEST(RandomTest, philoxKnownAnswers) {
  // The known-answer vectors of the authors' Random123.
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            Words({0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            Words({0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                       {0xa4093822, 0x299f31d0}),
            Words({0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));

  using Two = std::array<uint32_t, 2>;
  EXPECT_EQ(philox2x32({0, 0}, 0), Two({0x257a3673, 0xcd26be2a}));
  EXPECT_EQ(philox2x32({~0u, ~0u}, ~0u), Two({0xab302c4d, 0x3dc9d239}));
  EXPECT_EQ(philox2x32({0x243f6a88, 0x85a308d3}, 0x13198a2e),
            Two({0xbedbbe6b, 0xe4c770b3}));
}

TEST(RandomTest, numbersDependOnEachOfSeedStreamAndPosition) {
  RandomStream random(1, 2);
  EXPECT_EQ(random.getBits(3), RandomStream(1, 2).getBits(3));
  EXPECT_NE(random.getBits(3), RandomStream(2, 2).getBits(3));
  EXPECT_NE(random.getBits(3), RandomStream(1, 3).getBits(3));
  EXPECT_NE(random.getBits(3), random.getBits(4));
  EXPECT_NE(RandomStream(uint64_t(1) << 32, 0).getBits(0),
            RandomStream(0, 0).getBits(0));
  EXPECT_NE(RandomStream(0, uint64_t(1) << 32).getBits(0),
            RandomStream(0, 0).getBits(0));
  EXPECT_NE(random.getBits(uint64_t(1) << 33), random.getBits(0));
}

TEST(RandomTest, uniformHasItsMoments) {
  RandomStream random(7);
  int count = 1 << 18;
  double sum = 0, sumOfSquares = 0;
  for (int k = 0; k < count; ++k) {
    double value = random.getUniform(k);
    ASSERT_GE(value, 0);
    ASSERT_LT(value, 1);
    sum += value;
    sumOfSquares += value * value;
  }
  EXPECT_NEAR(sum / count, 0.5, 0.003);
  EXPECT_NEAR(sumOfSquares / count, 1.0 / 3, 0.003);
}

TEST(RandomTest, uniformStaysInItsRange) {
  RandomStream random(7);
  // Between neighbours: all sums round to one of the two.
  double lo = 1, hi = std::nextafter(1.0, 2.0);
  for (int k = 0; k < 1000; ++k)
    EXPECT_EQ(random.getUniform(k, lo, hi), lo);
  EXPECT_EQ(random.getUniform(0, 3, 3), 3);
  for (int k = 0; k < 1000; ++k) {
    double value = random.getUniform(k, -5, -1);
    EXPECT_GE(value, -5);
    EXPECT_LT(value, -1);
  }
}

TEST(RandomTest, integersCoverTheirRange) {
  RandomStream random(7);
  std::vector<int> counts(10);
  for (int k = 0; k < 100000; ++k) {
    int64_t value = random.getInt(k, -3, 7);
    ASSERT_GE(value, -3);
    ASSERT_LT(value, 7);
    ++counts[value + 3];
  }
  for (int count : counts)
    EXPECT_NEAR(count, 10000, 500);
  EXPECT_EQ(random.getInt(0, 5, 6), 5);
}

TEST(RandomTest, integersOfTheWholeRange) {
  RandomStream random(7);
  for (int k = 0; k < 1000; ++k) {
    // The exact product of 64 bits and the range, divided by 2^64.
    __extension__ using Wide = unsigned __int128;
    uint64_t range = ~uint64_t(0);
    uint64_t offset = Wide(random.getBits(k)) * range >> 64;
    EXPECT_EQ(random.getInt(k, INT64_MIN, INT64_MAX),
              static_cast<int64_t>(uint64_t(INT64_MIN) + offset));
  }
}

TEST(RandomTest, normalHasItsMoments) {
  RandomStream random(7);
  int count = 1 << 20;
  double sums[5] = {};
  int beyond2 = 0;
  for (int k = 0; k < count; ++k) {
    double value = random.getNormal(k);
    ASSERT_LT(std::abs(value), 8.6);
    beyond2 += std::abs(value) > 2;
    double power = 1;
    for (double &sum : sums) {
      sum += power;
      power *= value;
    }
  }
  EXPECT_NEAR(sums[1] / count, 0, 0.005);
  EXPECT_NEAR(sums[2] / count, 1, 0.01);
  EXPECT_NEAR(sums[3] / count, 0, 0.02);
  EXPECT_NEAR(sums[4] / count, 3, 0.05);
  EXPECT_NEAR(double(beyond2) / count, 0.0455, 0.001);
}

TEST(RandomTest, normalAgreesWithTheFormula) {
  RandomStream random(11, 13);
  for (int k = 0; k < 100000; k += 2) {
    double u = 1 - random.getUniform(k);
    // The generator takes (bits + 1) / 2^53 for the radius.
    u = (1 - u) + 0x1p-53;
    double angle = 2 * M_PI * random.getUniform(k + 1);
    double radius = std::sqrt(-2 * std::log(u));
    ASSERT_NEAR(random.getNormal(k), radius * std::cos(angle), 4e-15);
    ASSERT_NEAR(random.getNormal(k + 1), radius * std::sin(angle), 4e-15);
    ASSERT_EQ(random.getNormalPair(k / 2)[1], random.getNormal(k + 1));
  }
}

TEST(RandomTest, allPlatformsGiveTheseBits) {
  // A digest of many numbers, so that a compiler that fuses or reorders
  // operations is noticed.
  uint64_t digest = 0;
  auto add = [&](double value) {
    digest = (digest ^ llvm::bit_cast<uint64_t>(value)) * 0x100000001b3;
  };
  RandomStream random(2024, 1);
  for (int k = 0; k < 100000; ++k) {
    add(random.getNormal(k));
    add(random.getUniform(k, -0.1, 0.7));
    add(static_cast<double>(random.getInt(k, -1000, 1000)));
  }
  EXPECT_EQ(digest, 0xc9ce88c83d553848u);
  EXPECT_EQ(random.getNormal(0), 0x1.9bbcfabf522ecp-2);
  EXPECT_EQ(random.getNormal(1), 0x1.bdab85e368c55p-1);
}
