//===- PlainTest.cpp - Against attention written out in C++ ---------------===//
//
// The evaluator, against loops that were written from the definition alone, for
// random inputs: the reference to a few units of a double, eager evaluation bit
// for bit.
//
//===----------------------------------------------------------------------===//

#include "TestHelpers.h"
#include <cmath>
#include <functional>

using namespace attn;
using namespace attn::test;

namespace {
struct Problem {
  int64_t batch, heads, kvBatch, kvHeads, queries, keys, dim, valueDim;
};

using Index4 = std::function<bool(int64_t, int64_t, int64_t, int64_t)>;

/// Attention of tensors in the layout bhsd. The hooks round to the input type
/// and to the accumulator.
struct Plain {
  Problem problem;
  const Tensor &q, &k, &v;
  Index4 mask = [](int64_t, int64_t, int64_t, int64_t) { return true; };
  std::function<double(double, int64_t, int64_t, int64_t, int64_t)> score;
  std::function<double(double)> toInput = [](double x) { return x; };
  std::function<double(double)> toAcc = [](double x) { return x; };
  bool eager = false;
  std::vector<double> o, lse;

  void run();
};
} // namespace

void Plain::run() {
  const Problem &p = problem;
  for (int64_t b = 0; b < p.batch; ++b)
    for (int64_t h = 0; h < p.heads; ++h)
      for (int64_t i = 0; i < p.queries; ++i) {
        int64_t head =
            (p.kvBatch == 1 ? 0 : b) * p.kvHeads + h * p.kvHeads / p.heads;
        std::vector<double> s(p.keys);
        double max = -kInf;
        for (int64_t j = 0; j < p.keys; ++j) {
          double dot = 0;
          for (int64_t d = 0; d < p.dim; ++d)
            dot = toAcc(
                q.getAsDouble(((b * p.heads + h) * p.queries + i) * p.dim + d) *
                    k.getAsDouble((head * p.keys + j) * p.dim + d) +
                dot);
          double scale = toAcc(1 / std::sqrt(double(p.dim)));
          s[j] = toInput(toAcc(toInput(dot) * scale));
          if (score)
            s[j] = toInput(score(s[j], b, h, i, j));
          if (!mask(b, h, i, j))
            s[j] = -kInf;
          max = std::max(max, s[j]);
        }
        std::vector<double> out(p.valueDim, 0);
        if (max == -kInf) {
          o.insert(o.end(), out.begin(), out.end());
          lse.push_back(-kInf);
          continue;
        }
        // Sixteen partial sums, which with so few keys are one key each.
        double partial[16] = {};
        for (int64_t j = 0; j < p.keys; ++j)
          partial[j % 16] =
              toAcc(partial[j % 16] + toAcc(std::exp(toAcc(s[j] - max))));
        for (int64_t half = 8; half > 0; half /= 2)
          for (int64_t c = 0; c < half; ++c)
            partial[c] = toAcc(partial[c] + partial[c + half]);
        double sum = partial[0];
        for (int64_t j = 0; j < p.keys; ++j) {
          double weight =
              toInput(toAcc(toAcc(std::exp(toAcc(s[j] - max))) / sum));
          for (int64_t e = 0; e < p.valueDim; ++e)
            out[e] = toAcc(
                weight * v.getAsDouble((head * p.keys + j) * p.valueDim + e) +
                out[e]);
        }
        for (double value : out)
          o.push_back(toInput(value));
        lse.push_back(toAcc(max + toAcc(std::log(sum))));
      }
}

static const Problem kProblems[] = {{1, 1, 1, 1, 1, 1, 1, 1},
                                    {1, 1, 1, 1, 5, 7, 3, 2},
                                    {2, 4, 2, 2, 9, 13, 16, 8},
                                    {3, 6, 1, 3, 4, 33, 20, 17},
                                    {1, 2, 1, 1, 70, 130, 8, 5}};

/// score = s * w[h] + (j - i) / 8, mask = j <= i + 3 and not (i + j) % 5 == 4.
static AttentionText makeText(const Problem &problem, DType dtype) {
  std::string type = dtype == DType::F64 ? "f64" : "f32";
  AttentionText text;
  text.dtype = dtype;
  text.dim = problem.dim;
  text.valueDim = problem.valueDim;
  text.captures = {"tensor<?x" + type + ">"};
  text.score = "%w = tensor.extract %c0[%h] : tensor<?x" + type +
               ">\n%x = arith.mulf %s, %w : " + type +
               "\n%d = index.sub %j, %i\n"
               "%di = arith.index_cast %d : index to i32\n"
               "%df = arith.sitofp %di : i32 to " +
               type + "\n%e = arith.constant 0.125 : " + type +
               "\n%y = arith.mulf %df, %e : " + type +
               "\n%z = arith.addf %x, %y : " + type +
               "\nattn.yield %z : " + type;
  text.mask = R"(
    %three = index.constant 3
    %four = index.constant 4
    %five = index.constant 5
    %last = index.add %i, %three
    %near = index.cmp sle(%j, %last)
    %sum = index.add %i, %j
    %rest = index.rems %sum, %five
    %other = index.cmp ne(%rest, %four)
    %p = arith.andi %near, %other : i1
    attn.yield %p : i1)";
  return text;
}

static bool isAllowed(int64_t, int64_t, int64_t i, int64_t j) {
  return j <= i + 3 && (i + j) % 5 != 4;
}

TEST(PlainTest, ReferenceIsTheMaths) {
  for (DType dtype : {DType::F64, DType::F32, DType::F16, DType::BF16})
    for (const Problem &p : kProblems) {
      Tensor q = makeRandom(dtype, {p.batch, p.heads, p.queries, p.dim}, 1),
             k = makeRandom(dtype, {p.kvBatch, p.kvHeads, p.keys, p.dim}, 2),
             v = makeRandom(dtype, {p.kvBatch, p.kvHeads, p.keys, p.valueDim},
                            3);
      Tensor w = makeRandom(dtype == DType::F64 ? DType::F64 : DType::F32,
                            {p.heads}, 4);
      Plain plain{p, q, k, v};
      plain.mask = isAllowed;
      plain.score = [&](double s, int64_t, int64_t h, int64_t i, int64_t j) {
        return s * w.getAsDouble(h) + double(j - i) * 0.125;
      };
      plain.run();
      Results results = evaluate(makeText(p, dtype).str(), {&q, &k, &v, &w});
      ASSERT_EQ(results[0].floats.size(), plain.o.size());
      for (size_t index = 0; index < plain.o.size(); ++index)
        EXPECT_NEAR(results[0].floats[index], plain.o[index], 1e-13);
      for (size_t index = 0; index < plain.lse.size(); ++index)
        if (std::isinf(plain.lse[index]))
          EXPECT_EQ(results[1].floats[index], plain.lse[index]);
        else
          EXPECT_NEAR(results[1].floats[index], plain.lse[index], 1e-13);
    }
}

TEST(PlainTest, EagerRoundsEachStep) {
  for (DType dtype : {DType::F64, DType::F32, DType::F16, DType::BF16})
    for (const Problem &p : kProblems) {
      Tensor q = makeRandom(dtype, {p.batch, p.heads, p.queries, p.dim}, 1),
             k = makeRandom(dtype, {p.kvBatch, p.kvHeads, p.keys, p.dim}, 2),
             v = makeRandom(dtype, {p.kvBatch, p.kvHeads, p.keys, p.valueDim},
                            3);
      Tensor w = makeRandom(dtype == DType::F64 ? DType::F64 : DType::F32,
                            {p.heads}, 4);
      Plain plain{p, q, k, v};
      plain.mask = isAllowed;
      if (dtype != DType::F64) {
        plain.toAcc = [](double x) { return double(float(x)); };
        plain.toInput = [dtype](double x) {
          return makeScalar(dtype, x).getAsDouble(0);
        };
      }
      plain.score = [&](double s, int64_t, int64_t h, int64_t i, int64_t j) {
        double product = plain.toAcc(s * w.getAsDouble(h));
        return plain.toAcc(product + plain.toAcc(double(j - i) * 0.125));
      };
      plain.run();
      Results results =
          evaluate(makeText(p, dtype).str(), {&q, &k, &v, &w}, eager());
      EXPECT_EQ(results[0].floats, plain.o) << getName(dtype).str();
      EXPECT_EQ(results[1].floats, plain.lse) << getName(dtype).str();
    }
}

TEST(PlainTest, ThreadsDoNotChangeBits) {
  const Problem &p = kProblems[4];
  Tensor q = makeRandom(DType::F32, {1, 2, 70, 8}, 1),
         k = makeRandom(DType::F32, {1, 1, 130, 8}, 2),
         v = makeRandom(DType::F32, {1, 1, 130, 5}, 3),
         w = makeRandom(DType::F32, {2}, 4);
  for (EvaluatorOptions options : {EvaluatorOptions(), eager()}) {
    options.threads = 1;
    std::string text = makeText(p, DType::F32).str();
    Results one = evaluate(text, {&q, &k, &v, &w}, options);
    options.threads = 5;
    Results five = evaluate(text, {&q, &k, &v, &w}, options);
    for (size_t result = 0; result < 2; ++result) {
      EXPECT_EQ(one[result].floats, five[result].floats);
      EXPECT_EQ(one[result].noise.mean, five[result].noise.mean);
    }
  }
}

//===----------------------------------------------------------------------===//
// Sampled rows
//===----------------------------------------------------------------------===//

TEST(PlainTest, RowsMayBeSampled) {
  const Problem &p = kProblems[4];
  Tensor q = makeRandom(DType::F32, {1, 2, 70, 8}, 1),
         k = makeRandom(DType::F32, {1, 1, 130, 8}, 2),
         v = makeRandom(DType::F32, {1, 1, 130, 5}, 3),
         w = makeRandom(DType::F32, {2}, 4);
  std::string text = makeText(p, DType::F32).str();
  Results all = evaluate(text, {&q, &k, &v, &w});
  EXPECT_TRUE(all[0].evaluated.empty());
  EvaluatorOptions options;
  options.maxRows = 7;
  Results some = evaluate(text, {&q, &k, &v, &w}, options);
  std::vector<int64_t> rows[2];
  for (int64_t row = 0; row < 140; ++row) {
    bool on = some[1].isEvaluated(row);
    if (on) {
      rows[row / 70].push_back(row % 70);
      EXPECT_EQ(some[1].floats[row], all[1].floats[row]);
    }
    for (int64_t e = 0; e < 5; ++e) {
      EXPECT_EQ(some[0].isEvaluated(row * 5 + e), on);
      if (on)
        EXPECT_EQ(some[0].floats[row * 5 + e], all[0].floats[row * 5 + e]);
    }
  }
  EXPECT_EQ(rows[0].size(), 7u);
  EXPECT_EQ(rows[1].size(), 7u);
  EXPECT_NE(rows[0], rows[1]);

  options.seed = 1;
  EXPECT_NE(evaluate(text, {&q, &k, &v, &w}, options)[0].evaluated,
            some[0].evaluated);
  options.maxRows = 70;
  EXPECT_TRUE(evaluate(text, {&q, &k, &v, &w}, options)[0].evaluated.empty());
}

TEST(PlainTest, RowsThatAreUsedAreNotSampled) {
  const char *text = R"(
    func.func @inner(%q: tensor<1x1x8x2xf32>) -> tensor<1x1x8x2xf32> {
      %e = tensor.empty() : tensor<1x1x8x2xf32>
      %o = attn.attention ins(%q, %q, %q : tensor<1x1x8x2xf32>, tensor<1x1x8x2xf32>, tensor<1x1x8x2xf32>)
          outs(%e : tensor<1x1x8x2xf32>)
      return %o : tensor<1x1x8x2xf32>
    }
    func.func @f(%q: tensor<1x1x8x2xf32>) -> (tensor<1x1x8x2xf32>, tensor<1x1x8x2xf32>) {
      %x = func.call @inner(%q) : (tensor<1x1x8x2xf32>) -> tensor<1x1x8x2xf32>
      %e = tensor.empty() : tensor<1x1x8x2xf32>
      %y = attn.attention ins(%q, %x, %x : tensor<1x1x8x2xf32>, tensor<1x1x8x2xf32>, tensor<1x1x8x2xf32>)
          outs(%e : tensor<1x1x8x2xf32>)
      %z = attn.attention ins(%y, %x, %x : tensor<1x1x8x2xf32>, tensor<1x1x8x2xf32>, tensor<1x1x8x2xf32>)
          outs(%e : tensor<1x1x8x2xf32>)
      return %y, %z : tensor<1x1x8x2xf32>, tensor<1x1x8x2xf32>
    })";
  Tensor q = makeRandom(DType::F32, {1, 1, 8, 2}, 1);
  Results all = evaluate(text, {&q});
  EvaluatorOptions options;
  options.maxRows = 2;
  Results some = evaluate(text, {&q}, options);
  EXPECT_EQ(some[0].floats, all[0].floats);
  EXPECT_TRUE(some[0].evaluated.empty());
  for (int64_t index = 0; index < 16; ++index)
    if (some[1].isEvaluated(index))
      EXPECT_EQ(some[1].floats[index], all[1].floats[index]);
  EXPECT_FALSE(some[1].evaluated.empty());
}
