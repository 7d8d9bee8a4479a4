//===- Random.h - Portable random numbers -----------------------*- C++ -*-===//
//
// Counter-based generators: number k depends on (seed, stream, k) and nothing
// else, so tensors can be filled in any order and by any number of threads.
// The numbers are the same bits on every platform: integers come from
// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// 2011), and real numbers from them by additions, multiplications, divisions
// and square roots only, which IEEE 754 fixes; no function of a C library and
// no distribution of the C++ library takes part.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_SUPPORT_RANDOM_H
#define ATTN_SUPPORT_RANDOM_H

#include <array>
#include <cstdint>

namespace attn {

/// Philox4x32 with ten rounds: 128 bits for each (key, counter).
std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter,
                                   std::array<uint32_t, 2> key);

/// Philox2x32 with seven rounds: 64 bits for each (key, counter).
std::array<uint32_t, 2> philox2x32(std::array<uint32_t, 2> counter,
                                   uint32_t key);

/// One of the 2^64 sequences of random numbers that a seed has.
/// All numbers of one sequence are independent; the same position asked for by
/// two functions gives two numbers that are not.
class RandomStream {
public:
  explicit RandomStream(uint64_t seed, uint64_t stream = 0)
      : seed(seed), stream(stream) {}

  /// 64 random bits.
  uint64_t getBits(uint64_t k) const;

  /// A multiple of 2^-53 in [0, 1).
  double getUniform(uint64_t k) const;

  /// A number in [lo, hi), or lo if that is empty; hi - lo must be finite.
  double getUniform(uint64_t k, double lo, double hi) const;

  /// An integer in [lo, hi), which must not be empty. Biased by less than
  /// (hi - lo) / 2^64.
  int64_t getInt(uint64_t k, int64_t lo, int64_t hi) const;

  /// A number of the standard normal distribution, by the method of Box and
  /// Muller; at most 8.6 in magnitude.
  double getNormal(uint64_t k) const { return getNormalPair(k / 2)[k % 2]; }

  /// Numbers 2 * pair and 2 * pair + 1 of getNormal, at the price of one.
  std::array<double, 2> getNormalPair(uint64_t pair) const;

private:
  uint64_t seed;
  uint64_t stream;
};

} // namespace attn

#endif // ATTN_SUPPORT_RANDOM_H
