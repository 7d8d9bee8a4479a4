//===- CheckTest.cpp - The rule by which results are right ----------------===//

#include "attn/Reference/Check.h"
#include "Online.h"
#include "TestHelpers.h"

using namespace attn;
using namespace attn::test;

//===----------------------------------------------------------------------===//
// The rule, on numbers
//===----------------------------------------------------------------------===//

static EvaluatedTensor makeEvaluated(DType dtype, std::vector<double> values) {
  EvaluatedTensor tensor;
  tensor.dtype = dtype;
  tensor.shape = {int64_t(values.size())};
  tensor.floats = std::move(values);
  return tensor;
}

static EvaluatedTensor makeInts(std::vector<int64_t> values) {
  EvaluatedTensor tensor;
  tensor.dtype = DType::I32;
  tensor.shape = {int64_t(values.size())};
  tensor.ints = std::move(values);
  return tensor;
}

// The mean error of one element is its error.
TEST(CheckTest, FewElementsMayHaveTheLargestNoise) {
  EvaluatedTensor one = makeEvaluated(DType::F32, {1});
  one.noise.max = 0.01;
  one.noise.mean = 0.0001;
  EXPECT_TRUE(checkResult(makeTensor(DType::F32, {1}, 1.009), one, one).pass);
  EXPECT_FALSE(checkResult(makeTensor(DType::F32, {1}, 1.011), one, one).pass);
}

/// A reference of ones and an eager evaluation that errs by 0.001 and, at one
/// place, by 0.01.
static constexpr int64_t kSize = 10000;
static EvaluatedTensor makeOnes() {
  return makeEvaluated(DType::F32, std::vector<double>(kSize, 1));
}
static EvaluatedTensor makeEager() {
  std::vector<double> values(kSize, 1.001);
  values[3] = 1.01;
  return makeEvaluated(DType::F32, values);
}

TEST(CheckTest, ErrorsAreComparedWithThoseOfEagerEvaluation) {
  Tensor result = makeTensor(DType::F32, {kSize}, 1.00105);
  CheckResult check = checkResult(result, makeOnes(), makeEager());
  EXPECT_TRUE(check.pass) << check.reason;
  EXPECT_EQ(check.reason, "");
  EXPECT_NEAR(check.maxError, 0.00105, 1e-7);
  EXPECT_NEAR(check.meanError, 0.00105, 1e-7);
  EXPECT_NEAR(check.eagerMax, 0.01, 1e-9);
  EXPECT_NEAR(check.eagerMean, 0.0010009, 1e-9);
  EXPECT_NEAR(check.maxRatio, 0.105, 1e-4);
  EXPECT_NEAR(check.meanRatio, 1.049, 1e-3);
  EXPECT_NEAR(check.maxBound, 0.02, 1e-6);
  EXPECT_NEAR(check.meanBound, 0.00110099, 1e-6);
  EXPECT_EQ(check.numCompared, kSize);
  EXPECT_EQ(check.numMismatches, 0);

  check = checkResult(makeTensor(DType::F32, {kSize}, 1.00115), makeOnes(),
                      makeEager());
  EXPECT_FALSE(check.pass);
  EXPECT_EQ(check.reason, "mean error 0.00115, 1.149 x eager (0.001001), is "
                          "above 1.1 x eager + 1.789e-07");

  result = makeTensor(DType::F32, {kSize}, 1.0);
  result.setFromDouble(77, 1.0199);
  EXPECT_TRUE(checkResult(result, makeOnes(), makeEager()).pass);
  result.setFromDouble(77, 1.0201);
  check = checkResult(result, makeOnes(), makeEager());
  EXPECT_FALSE(check.pass);
  EXPECT_EQ(check.worstIndex, 77);
  EXPECT_EQ(check.reason,
            "max error 0.0201, 2.01 x eager (0.01), is above 2 x eager + "
            "5.96e-07, at (77): expects 1, but got 1.02");
}

TEST(CheckTest, ExactEagerEvaluationLeavesTheFloor) {
  EvaluatedTensor ones = makeEvaluated(DType::BF16, {1, 1, 1, 1});
  Tensor result = makeTensor(DType::BF16, {4}, {1, 1, 1, 1.0078125});
  CheckResult check = checkResult(result, ones, ones);
  EXPECT_TRUE(check.pass) << check.reason;
  EXPECT_EQ(check.maxRatio, kInf);
  result.setFromDouble(3, 1.0625);
  EXPECT_FALSE(checkResult(result, ones, ones).pass);
  check = checkResult(makeTensor(DType::BF16, {4}, 1.0), ones, ones);
  EXPECT_TRUE(check.pass);
  EXPECT_EQ(check.maxRatio, 0);
  // Zero is exact.
  EvaluatedTensor zeros = makeEvaluated(DType::BF16, {0, 0, 0, 0});
  EXPECT_TRUE(
      checkResult(makeTensor(DType::BF16, {4}, 0.0), zeros, zeros).pass);
  EXPECT_FALSE(
      checkResult(makeTensor(DType::BF16, {4}, 1e-6), zeros, zeros).pass);
}

TEST(CheckTest, SpecialNumbersMustMeet) {
  EvaluatedTensor reference = makeEvaluated(DType::F32, {1, kNaN, kInf, -kInf});
  auto run = [&](const std::vector<double> &values) {
    return checkResult(makeTensor(DType::F32, {4}, values), reference,
                       reference);
  };
  EXPECT_TRUE(run({1, kNaN, kInf, -kInf}).pass);
  for (int64_t index = 0; index < 4; ++index)
    for (double other : {7.0, kNaN, kInf, -kInf}) {
      std::vector<double> values = {1, kNaN, kInf, -kInf};
      if (other == values[index] ||
          (std::isnan(other) && std::isnan(values[index])))
        continue;
      values[index] = other;
      CheckResult check = run(values);
      EXPECT_FALSE(check.pass) << index << " " << other;
      if (index > 0)
        EXPECT_EQ(check.numMismatches, 1);
      EXPECT_EQ(check.worstIndex, index);
    }
  EXPECT_EQ(run({1, 2, kInf, 3}).reason,
            "2 elements are NaN or infinite on one side, first at (1): expects "
            "nan, but got 2");
}

TEST(CheckTest, OverflowOfTheTypeIsInfinity) {
  EvaluatedTensor reference = makeEvaluated(DType::F16, {1, 70000});
  EXPECT_TRUE(checkResult(makeTensor(DType::F16, {2}, {1, kInf}), reference,
                          makeEvaluated(DType::F16, {1, kInf}))
                  .pass);
  EXPECT_FALSE(checkResult(makeTensor(DType::F16, {2}, {1, 65504}), reference,
                           makeEvaluated(DType::F16, {1, kInf}))
                   .pass);
  // Overflow of eager evaluation alone does not excuse anything.
  reference = makeEvaluated(DType::F16, {1, 2});
  CheckResult check =
      checkResult(makeTensor(DType::F16, {2}, {1, 3}), reference,
                  makeEvaluated(DType::F16, {1, kNaN}));
  EXPECT_FALSE(check.pass);
  EXPECT_EQ(check.numEagerOverflows, 1);
}

TEST(CheckTest, OnlyEvaluatedElementsCount) {
  EvaluatedTensor reference = makeEvaluated(DType::F32, {1, 0, 1});
  reference.evaluated = {1, 0, 1};
  CheckResult check = checkResult(makeTensor(DType::F32, {3}, {1, 99, 1}),
                                  reference, reference);
  EXPECT_TRUE(check.pass) << check.reason;
  EXPECT_EQ(check.numCompared, 2);
}

TEST(CheckTest, IntegersAreExact) {
  EvaluatedTensor reference = makeInts({1, 2, 3}), eager = makeInts({1, 2, 4});
  EXPECT_TRUE(
      checkResult(makeTensor(DType::I32, {3}, {1, 2, 3}), reference, eager)
          .pass);
  EXPECT_TRUE(
      checkResult(makeTensor(DType::I32, {3}, {1, 2, 4}), reference, eager)
          .pass);
  CheckResult check =
      checkResult(makeTensor(DType::I32, {3}, {1, 0, 5}), reference, eager);
  EXPECT_FALSE(check.pass);
  EXPECT_EQ(check.reason,
            "2 integers differ, first at (1): expects 2, but got 0");
}

TEST(CheckTest, ShapesAndTypesMustAgree) {
  EvaluatedTensor reference = makeEvaluated(DType::F32, {1, 1});
  EXPECT_EQ(
      checkResult(makeTensor(DType::F32, {1, 2}, 1.0), reference, reference)
          .reason,
      "expects 2xf32, but got 1x2xf32");
  EXPECT_EQ(checkResult(makeTensor(DType::F16, {2}, 1.0), reference, reference)
                .reason,
            "expects 2xf32, but got 2xf16");
  EXPECT_EQ(checkResult(makeTensor(DType::F32, {2}, 1.0), reference,
                        makeEvaluated(DType::F32, {1}))
                .reason,
            "expects 2xf32, but got 1xf32");
}

//===----------------------------------------------------------------------===//
// The rule, on a kernel
//===----------------------------------------------------------------------===//

namespace {
/// Random inputs, and what the evaluator says.
struct Case {
  Case(DType dtype, Shape sizes, uint64_t seed, double spread = 1)
      : dtype(dtype),
        q(makeRandom(dtype, {1, sizes[0], sizes[1], sizes[3]}, 3 * seed)),
        k(makeRandom(dtype, {1, sizes[0], sizes[2], sizes[3]}, 3 * seed + 1)),
        v(makeRandom(dtype, {1, sizes[0], sizes[2], sizes[3]}, 3 * seed + 2)) {
    for (int64_t index = 0; index < q.getNumElements(); ++index)
      q.setFromDouble(index, spread * q.getAsDouble(index));
    AttentionText text;
    text.dtype = dtype;
    text.dim = text.valueDim = sizes[3];
    text.mask = "%p = arith.cmpi sle, %j, %i : index\nattn.yield %p : i1";
    causal = sizes[4] != 0;
    if (!causal)
      text.mask = "";
    reference = evaluate(text.str(), {&q, &k, &v});
    eagerly = evaluate(text.str(), {&q, &k, &v}, eager());
  }

  /// Runs the kernel and checks o (0) and lse (1).
  std::array<CheckResult, 2> run(OnlineKernel kernel) const {
    Tensor o = makeTensor(dtype, q.getShape(), kNaN),
           lse = makeTensor(dtype == DType::F64 ? dtype : DType::F32,
                            q.getShape().drop_back(), kNaN);
    auto mask = kernel.mask;
    kernel.mask = [&](int64_t b, int64_t h, int64_t i, int64_t j) {
      return (!causal || j <= i) && (!mask || mask(b, h, i, j));
    };
    if (dtype == DType::F64)
      kernel.run<double>(q, k, v, o, lse);
    else
      kernel.run<float>(q, k, v, o, lse);
    return {checkResult(o, reference[0], eagerly[0]),
            checkResult(lse, reference[1], eagerly[1])};
  }

  DType dtype;
  bool causal;
  Tensor q, k, v;
  Results reference, eagerly;
};
} // namespace

static const DType kFloatTypes[] = {DType::F64, DType::F32, DType::F16,
                                    DType::BF16};

/// Heads, queries, keys, head dimension, and whether the mask is causal.
static const Shape kSizes[] = {
    {1, 1, 1, 1, 0},    {1, 1, 2, 1, 0},    {1, 1, 5, 16, 1},
    {1, 2, 3, 2, 0},    {1, 1, 64, 8, 0},   {2, 4, 16, 16, 0},
    {2, 16, 33, 32, 1}, {1, 8, 600, 64, 0}, {1, 2, 3000, 16, 0}};

TEST(CheckTest, AcceptsACorrectKernel) {
  for (DType dtype : kFloatTypes)
    for (const Shape &sizes : kSizes)
      for (double spread : {1, 4})
        for (uint64_t seed = 0; seed < (sizes[2] < 100 ? 20 : 2); ++seed) {
          Case test(dtype, sizes, seed, spread);
          for (bool rounded : {false, true}) {
            OnlineKernel kernel;
            kernel.roundProbabilities = rounded;
            std::array<CheckResult, 2> checks = test.run(kernel);
            EXPECT_TRUE(checks[0].pass)
                << getName(dtype).str() << " " << formatShape(sizes)
                << " o: " << checks[0].reason;
            EXPECT_TRUE(checks[1].pass)
                << getName(dtype).str() << " " << formatShape(sizes)
                << " lse: " << checks[1].reason;
          }
        }
}

TEST(CheckTest, RejectsOneWrongKey) {
  // Scores are small, so that each key has about the same weight.
  for (DType dtype : kFloatTypes)
    for (int64_t keys : {2, 5, 30}) {
      Case test(dtype, {1, 8, keys, 16, 0}, /*seed=*/1, /*spread=*/0.25);
      OnlineKernel kernel;
      kernel.mask = [&](int64_t, int64_t, int64_t i, int64_t j) {
        return i != 5 || j != keys / 2;
      };
      std::array<CheckResult, 2> checks = test.run(kernel);
      EXPECT_FALSE(checks[0].pass) << getName(dtype).str() << " " << keys;
      EXPECT_FALSE(checks[1].pass) << getName(dtype).str() << " " << keys;
    }
  // Among many, where the type is precise enough to tell.
  Case test(DType::F32, {1, 8, 3000, 16, 0}, /*seed=*/1, /*spread=*/0.25);
  OnlineKernel kernel;
  kernel.mask = [](int64_t, int64_t, int64_t i, int64_t j) {
    return i != 5 || j != 2999;
  };
  std::array<CheckResult, 2> checks = test.run(kernel);
  EXPECT_FALSE(checks[0].pass);
  EXPECT_FALSE(checks[1].pass);
}

TEST(CheckTest, RejectsLessPrecision) {
  // Exponentials that are all too large cancel in o and show in lse.
  Case test(DType::F32, {1, 8, 300, 16, 0}, /*seed=*/1);
  OnlineKernel kernel;
  kernel.distortion = 1 + 1e-5;
  EXPECT_FALSE(test.run(kernel)[1].pass);
  // One running sum over thousands of keys loses digits that libraries keep.
  Case longer(DType::F32, {1, 16, 4000, 64, 0}, /*seed=*/1);
  kernel = OnlineKernel();
  kernel.oneRunningSum = true;
  EXPECT_FALSE(longer.run(kernel)[0].pass);
}
