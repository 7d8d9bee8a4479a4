//===- Online.h - A fused kernel in plain C++ -------------------*- C++ -*-===//
//
// What a compiled kernel does, in the simplest form: KV blocks, softmax in
// base 2 with a running maximum, everything in the accumulator type. It is what
// the rule of Check.h must accept, and reject once it is broken.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_UNIT_REFERENCE_ONLINE_H
#define ATTN_TEST_UNIT_REFERENCE_ONLINE_H

#include "attn/Support/Tensor.h"
#include <cmath>
#include <functional>
#include <vector>

namespace attn::test {

struct OnlineKernel {
  int64_t tile = 64;
  /// Round probabilities to the input type before they meet the values.
  bool roundProbabilities = false;
  /// Add each term to the sum of all before, not to that of its tile.
  bool oneRunningSum = false;
  std::function<bool(int64_t b, int64_t h, int64_t i, int64_t j)> mask;
  /// Multiplies each exponential, for errors on purpose.
  double distortion = 1;

  /// q, k, v, o are [B, H, S, D] with equal numbers of heads, lse is [B, H, S].
  template <typename Acc>
  void run(const Tensor &q, const Tensor &k, const Tensor &v, Tensor &o,
           Tensor &lse) const;
};

template <typename Acc>
void OnlineKernel::run(const Tensor &q, const Tensor &k, const Tensor &v,
                       Tensor &o, Tensor &lse) const {
  int64_t heads = q.getShape()[1], rows = q.getShape()[2],
          keys = k.getShape()[2], dim = q.getShape()[3],
          valueDim = v.getShape()[3];
  Tensor narrow = llvm::cantFail(Tensor::create(q.getDType(), {}));
  auto roundToInput = [&](Acc value) {
    narrow.setFromDouble(0, value);
    return static_cast<Acc>(narrow.getAsDouble(0));
  };
  Acc factor = 1 / std::sqrt(double(dim)) * 1.4426950408889634;
  for (int64_t row = 0; row < q.getShape()[0] * heads * rows; ++row) {
    int64_t head = row / rows, i = row % rows;
    Acc max = -INFINITY, sum = 0;
    std::vector<Acc> acc(valueDim, 0), s(tile);
    for (int64_t begin = 0; begin < keys; begin += tile) {
      int64_t count = std::min(tile, keys - begin);
      Acc newMax = max;
      for (int64_t t = 0; t < count; ++t) {
        Acc dot = 0;
        for (int64_t d = 0; d < dim; ++d)
          dot = std::fma(
              Acc(q.getAsDouble(row * dim + d)),
              Acc(k.getAsDouble((head * keys + begin + t) * dim + d)), dot);
        bool on = !mask || mask(head / heads, head % heads, i, begin + t);
        s[t] = on ? dot * factor : Acc(-INFINITY);
        newMax = std::max(newMax, s[t]);
      }
      Acc shift = newMax == -INFINITY ? 0 : newMax;
      Acc correction = std::exp2(max - shift);
      sum *= correction;
      Acc partSum = 0;
      std::vector<Acc> part(valueDim, 0);
      for (Acc &value : acc)
        value *= correction;
      for (int64_t t = 0; t < count; ++t) {
        Acc p = std::exp2(s[t] - shift) * Acc(distortion);
        (oneRunningSum ? sum : partSum) += p;
        if (roundProbabilities)
          p = roundToInput(p);
        for (int64_t e = 0; e < valueDim; ++e)
          (oneRunningSum ? acc : part)[e] = std::fma(
              p, Acc(v.getAsDouble((head * keys + begin + t) * valueDim + e)),
              (oneRunningSum ? acc : part)[e]);
      }
      for (int64_t e = 0; e < valueDim; ++e)
        acc[e] += part[e];
      sum += partSum;
      max = newMax;
    }
    for (int64_t e = 0; e < valueDim; ++e)
      o.setFromDouble(row * valueDim + e, sum == 0 ? 0 : acc[e] / sum);
    lse.setFromDouble(row, sum == 0 ? -INFINITY
                                    : Acc(0.6931471805599453) *
                                          (max + std::log2(sum)));
  }
}

} // namespace attn::test

#endif // ATTN_TEST_UNIT_REFERENCE_ONLINE_H
