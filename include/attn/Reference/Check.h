//===- Check.h - The rule by which results are right ------------*- C++ -*-===//
//
// A result is right if it is as close to the reference as the same maths done
// eagerly is, element type for element type:
//
//   mean error <= 1.1 * mean error of eager evaluation + floor
//   max  error <= 2   * max  error of eager evaluation + floor
//
// where errors are absolute differences to EvalMode::Float64, and eager is
// EvalMode::Eager. NaN must meet NaN and an infinity the same infinity.
//
// The floors. The eager error is a sample: a handful of elements may round well
// by chance, and on inputs such as small integers whole tensors are exact. What
// a correct implementation may then still lose is rounding:
//
//  * One unit in the last place of the element type at the largest magnitude of
//    the result, on the maximum: two correct results on either side of a tie
//    differ by that much.
//  * The noise of arithmetic in the accumulator type (f32, f64 for f64). For o
//    it is, per row, eps * (2 + max |score|) * a, as an implementation folds
//    the scale and log2(e) into one factor, and so has an error in proportion
//    to the score in each exponent; a is the root of sum_j (p_j v_j)^2, because
//    errors of different keys are independent. On the mean it is eps * a. For
//    lse it is eps * (2 + |max| + |ln sum|), and half of that on the mean. Of
//    gradients, whose probabilities come from scores and a saved lse, it is eps
//    * (2 + max |score| + max |lse|) * a, with the same a of the terms of an
//    element, whatever cancels out between them, and eps * (1 + mean |lse|) * a
//    on the mean. The evaluator computes these, and sums have that of their
//    terms; what other operations make of them is as noisy as it moves when
//    they are off by their noise. Results of no attention get 4 (mean: 1) units
//    in the last place. One of few elements may have the largest noise: the
//    mean gets that of the maximum over the number of elements.
//  * Sums of equal terms, whose roundings do not even out: where so many keys m
//    of a row, of which 64 count, have the same probability, eps * (m - 1) / 4
//    times |o| for o, on the mean that of |o|, and without a factor for lse.
//  * Chance: for o, (eps(input) + eps * c) * a on the maximum, because
//    probabilities may be rounded to the input type and because scores err in
//    proportion to c = |scale| |q_i| max |k_j|, which is more than the score
//    where terms cancel. On the mean it is (2 eps(input) + eps * d) * a with
//    the larger d of c and max |score|, as all elements may have the same few
//    scores. For lse, eps * c, and on the mean what the maximum gets in
//    addition; half a unit in the last place on each mean; for gradients,
//    eps(input) * a, twice that on the mean, because the o that they are
//    computed from is rounded to the input type. Chance evens out with the
//    number n of different elements, as equal ones are as a rule rounded alike,
//    so this part is scaled by min(1, 8 / sqrt(n)).
//  * o as it was saved: delta, which all pairs of a query have in common, is
//    off by what rounding o to 16 bits leaves, where eager code has all
//    probabilities. With a_s, the root of sum (p_j k_j)^2 (dk: over queries
//    and q) times that of sum (o do)^2: eps(input) * a_s on the maximum of dq
//    and dk, a quarter of it on the mean.
//
// No floor grows with the number of keys: for long rows the terms shrink as the
// probabilities do, so that one key too many or too few stands out.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REFERENCE_CHECK_H
#define ATTN_REFERENCE_CHECK_H

#include "attn/Reference/Evaluator.h"
#include <string>

namespace attn {

struct CheckResult {
  bool pass = false;
  /// Why it did not pass: "max error 0.013 at (0, 1, 7, 3), 6.5 x eager
  /// (0.002), is above 2 x eager + 0.0001"; empty otherwise.
  std::string reason;

  double maxError = 0;
  double meanError = 0;
  double eagerMax = 0;
  double eagerMean = 0;
  /// What the rule allows: a factor times the eager error, and the floor.
  double maxBound = 0;
  double meanBound = 0;
  double maxFloor = 0;
  double meanFloor = 0;
  /// Error over eager error; 0 where both are 0, infinite where eager is exact.
  double maxRatio = 0;
  double meanRatio = 0;

  /// Elements compared: those evaluated.
  int64_t numCompared = 0;
  /// Elements where one side is NaN or infinite and the other is not the same;
  /// they take no part in the errors.
  int64_t numMismatches = 0;
  /// Elements where eager evaluation overflows but the reference does not; they
  /// take no part in its errors.
  int64_t numEagerOverflows = 0;
  /// Row-major position of the first mismatch or else of the largest error; -1
  /// if nothing was compared.
  int64_t worstIndex = -1;
};

/// Checks one result of a kernel against the reference. All three must have the
/// same shape and element type, otherwise the check does not pass. Integers
/// must equal the reference, or eager evaluation where that rounds across.
CheckResult checkResult(const Tensor &result, const EvaluatedTensor &reference,
                        const EvaluatedTensor &eager);

} // namespace attn

#endif // ATTN_REFERENCE_CHECK_H
