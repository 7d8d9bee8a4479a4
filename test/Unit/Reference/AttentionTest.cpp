//===- AttentionTest.cpp - Semantics of attn.attention --------------------===//
//
// Each rule of the definition on a case that can be computed by hand.
//
//===----------------------------------------------------------------------===//

#include "TestHelpers.h"
#include <cmath>

using namespace attn;
using namespace attn::test;

static constexpr double kTolerance = 1e-14;

/// Keys that give the scores x, y, z, ... for a query of 1 and a scale of 1,
/// and values 1, 10, 100, ...
static Tensor makeKeys(llvm::ArrayRef<double> scores) {
  return makeTensor(DType::F64, {1, 1, int64_t(scores.size()), 1}, scores);
}
static Tensor makePowers(int64_t count) {
  std::vector<double> powers;
  powers.reserve(count);
  for (int64_t j = 0; j < count; ++j)
    powers.push_back(std::pow(10.0, j));
  return makeTensor(DType::F64, {1, 1, count, 1}, powers);
}
static Tensor makeQueries(int64_t count) {
  return makeTensor(DType::F64, {1, 1, count, 1}, 1.0);
}

static const char *const kCausal = "%p = arith.cmpi sle, %j, %i : index\n"
                                   "attn.yield %p : i1";

TEST(AttentionTest, OneKeyGivesItsValue) {
  AttentionText text;
  text.dim = 2;
  text.valueDim = 3;
  text.attributes = "scale 5.000000e-01";
  Tensor q = makeTensor(DType::F64, {1, 1, 1, 2}, {1, 2}),
         k = makeTensor(DType::F64, {1, 1, 1, 2}, {3, 4}),
         v = makeTensor(DType::F64, {1, 1, 1, 3}, {5, 6, 7});
  Results results = evaluate(text.str(), {&q, &k, &v});
  EXPECT_EQ(results[0].floats, (std::vector<double>{5, 6, 7}));
  EXPECT_EQ(results[0].shape, (Shape{1, 1, 1, 3}));
  EXPECT_EQ(results[1].floats, std::vector<double>{5.5});
  EXPECT_EQ(results[1].shape, (Shape{1, 1, 1}));
}

TEST(AttentionTest, ScaleIsOneOverRootOfHeadDimension) {
  AttentionText text;
  text.dim = 4;
  Tensor q = makeTensor(DType::F64, {1, 1, 1, 4}, {1, 0, 0, 0}),
         k = makeTensor(DType::F64, {1, 1, 1, 4}, {3, 9, 9, 9}),
         v = makeTensor(DType::F64, {1, 1, 1, 1}, 1.0);
  EXPECT_EQ(evaluate(text.str(), {&q, &k, &v})[1].floats[0], 1.5);
}

TEST(AttentionTest, SoftmaxWeighsValues) {
  Tensor q = makeQueries(1), k = makeKeys({0, std::log(3.0)}),
         v = makePowers(2);
  Results results = evaluate(AttentionText().str(), {&q, &k, &v});
  EXPECT_NEAR(results[0].floats[0], 0.25 * 1 + 0.75 * 10, kTolerance);
  EXPECT_NEAR(results[1].floats[0], std::log(4.0), kTolerance);
}

TEST(AttentionTest, LargeScoresDoNotOverflow) {
  Tensor q = makeQueries(1), k = makeKeys({5000, 5000 + std::log(3.0)}),
         v = makePowers(2);
  Results results = evaluate(AttentionText().str(), {&q, &k, &v});
  EXPECT_NEAR(results[0].floats[0], 7.75, 1e-11);
  EXPECT_NEAR(results[1].floats[0], 5000 + std::log(4.0), 1e-11);
}

TEST(AttentionTest, MaskDropsKeys) {
  AttentionText text;
  text.mask = kCausal;
  Tensor q = makeQueries(3), k = makeKeys({0, 0, 0}), v = makePowers(3);
  Results results = evaluate(text.str(), {&q, &k, &v});
  EXPECT_NEAR(results[0].floats[0], 1, kTolerance);
  EXPECT_NEAR(results[0].floats[1], 5.5, kTolerance);
  EXPECT_NEAR(results[0].floats[2], 37, kTolerance * 10);
  EXPECT_NEAR(results[1].floats[1], std::log(2.0), kTolerance);
}

TEST(AttentionTest, MaskActsAfterTheScore) {
  // A soft cap is finite at -inf, so with the other order all keys would count.
  AttentionText text;
  text.score = "%t = math.tanh %s : f64\nattn.yield %t : f64";
  text.mask = kCausal;
  Tensor q = makeQueries(3), k = makeKeys({0, 1, 50}), v = makePowers(3);
  Results results = evaluate(text.str(), {&q, &k, &v});
  EXPECT_EQ(results[0].floats[0], 1);
  EXPECT_NEAR(results[1].floats[1], std::log(1 + std::exp(std::tanh(1.0))),
              kTolerance);
}

TEST(AttentionTest, RowsWithoutKeysGiveZero) {
  AttentionText text;
  text.mask = "%p = arith.cmpi slt, %j, %i : index\nattn.yield %p : i1";
  Tensor q = makeQueries(2), k = makeKeys({1, 2}), v = makePowers(2);
  for (EvaluatorOptions options : {EvaluatorOptions(), eager()}) {
    Results results = evaluate(text.str(), {&q, &k, &v}, options);
    EXPECT_EQ(results[0].floats, (std::vector<double>{0, 1}));
    EXPECT_EQ(results[1].floats[0], -kInf);
    EXPECT_EQ(results[1].floats[1], 1);
  }
}

TEST(AttentionTest, RowsOfMinusInfinityGiveZero) {
  AttentionText text;
  text.score = "%x = arith.constant 0xFFF0000000000000 : f64\n"
               "attn.yield %x : f64";
  Tensor q = makeQueries(1), k = makeKeys({1, 2}), v = makePowers(2);
  for (EvaluatorOptions options : {EvaluatorOptions(), eager()}) {
    Results results = evaluate(text.str(), {&q, &k, &v}, options);
    EXPECT_EQ(results[0].floats[0], 0);
    EXPECT_EQ(results[1].floats[0], -kInf);
  }
}

TEST(AttentionTest, LengthsMayBeZero) {
  Tensor none = makeTensor(DType::F64, {1, 1, 0, 1}, 0.0);
  Tensor q = makeQueries(2), k = makeKeys({1}), v = makePowers(1);
  AttentionText text;
  text.captures = {"tensor<?xf64>"};
  text.score = "%x = tensor.extract %c0[%i] : tensor<?xf64>\n"
               "attn.yield %x : f64";
  Tensor capture = makeTensor(DType::F64, {0}, 0.0);
  // Without keys nothing is read.
  Results results = evaluate(text.str(), {&q, &none, &none, &capture});
  EXPECT_EQ(results[0].floats, (std::vector<double>{0, 0}));
  EXPECT_EQ(results[1].floats, (std::vector<double>{-kInf, -kInf}));
  results = evaluate(text.str(), {&none, &k, &v, &capture});
  EXPECT_EQ(results[0].shape, (Shape{1, 1, 0, 1}));
  EXPECT_EQ(results[1].getNumElements(), 0);
  Tensor noHeads = makeTensor(DType::F64, {2, 0, 1, 1}, 0.0);
  results = evaluate(text.str(), {&noHeads, &noHeads, &noHeads, &capture});
  EXPECT_EQ(results[0].shape, (Shape{2, 0, 1, 1}));
}

TEST(AttentionTest, SpecialScoresPropagate) {
  Tensor q = makeQueries(1), v = makePowers(2);
  for (EvaluatorOptions options : {EvaluatorOptions(), eager()}) {
    for (double special : {kInf, kNaN}) {
      Tensor k = makeKeys({0, special});
      Results results = evaluate(AttentionText().str(), {&q, &k, &v}, options);
      EXPECT_TRUE(std::isnan(results[0].floats[0]));
      EXPECT_TRUE(std::isnan(results[1].floats[0]));
    }
    Tensor k = makeKeys({0, -kInf});
    Results results = evaluate(AttentionText().str(), {&q, &k, &v}, options);
    EXPECT_EQ(results[0].floats[0], 1);
    EXPECT_EQ(results[1].floats[0], 0);
  }
}

TEST(AttentionTest, MaskedKeysTakeNoPart) {
  // Not even where they are NaN.
  AttentionText text;
  text.mask = kCausal;
  Tensor q = makeQueries(2), k = makeKeys({0, kNaN}),
         v = makeTensor(DType::F64, {1, 1, 2, 1}, {3, kInf});
  for (EvaluatorOptions options : {EvaluatorOptions(), eager()}) {
    Results results = evaluate(text.str(), {&q, &k, &v}, options);
    EXPECT_EQ(results[0].floats[0], 3);
    EXPECT_EQ(results[1].floats[0], 0);
    EXPECT_TRUE(std::isnan(results[0].floats[1]));
  }
}

TEST(AttentionTest, InfiniteValuesPropagate) {
  Tensor q = makeQueries(1), k = makeKeys({0, 0}),
         v = makeTensor(DType::F64, {1, 1, 2, 1}, {3, kInf});
  EXPECT_EQ(evaluate(AttentionText().str(), {&q, &k, &v})[0].floats[0], kInf);
}

TEST(AttentionTest, HeadsShareKeysInGroups) {
  AttentionText text;
  Tensor q = makeTensor(DType::F64, {1, 6, 1, 1}, 1.0),
         k = makeTensor(DType::F64, {1, 2, 1, 1}, {1, 2}),
         v = makeTensor(DType::F64, {1, 2, 1, 1}, {10, 20});
  Results results = evaluate(text.str(), {&q, &k, &v});
  EXPECT_EQ(results[0].floats, (std::vector<double>{10, 10, 10, 20, 20, 20}));
  EXPECT_EQ(results[1].floats, (std::vector<double>{1, 1, 1, 2, 2, 2}));
}

TEST(AttentionTest, BatchesMayShareKeys) {
  Tensor q = makeTensor(DType::F64, {3, 1, 1, 1}, {1, 2, 3}),
         k = makeTensor(DType::F64, {1, 1, 1, 1}, 2.0),
         v = makeTensor(DType::F64, {1, 1, 1, 1}, 7.0);
  Results results = evaluate(AttentionText().str(), {&q, &k, &v});
  EXPECT_EQ(results[0].floats, (std::vector<double>{7, 7, 7}));
  EXPECT_EQ(results[1].floats, (std::vector<double>{2, 4, 6}));
}

TEST(AttentionTest, RegionsSeeAllIndices) {
  AttentionText text;
  // s = 1000 b + 100 h + 10 i + j, for one key at a time.
  text.score = R"(
    %c10 = arith.constant 10 : index
    %x0 = index.mul %b, %c10
    %x1 = index.add %x0, %h
    %x2 = index.mul %x1, %c10
    %x3 = index.add %x2, %i
    %x4 = index.mul %x3, %c10
    %x5 = index.add %x4, %j
    %x6 = arith.index_cast %x5 : index to i64
    %x7 = arith.sitofp %x6 : i64 to f64
    attn.yield %x7 : f64)";
  text.captures = {"index"};
  text.mask = "%p = arith.cmpi eq, %j, %c0 : index\nattn.yield %p : i1";
  Tensor q = makeTensor(DType::F64, {2, 3, 4, 1}, 1.0),
         k = makeTensor(DType::F64, {2, 3, 5, 1}, 1.0);
  Tensor key = makeScalar(DType::I64, 2);
  Results results = evaluate(text.str(), {&q, &k, &k, &key});
  for (int64_t b = 0, row = 0; b < 2; ++b)
    for (int64_t h = 0; h < 3; ++h)
      for (int64_t i = 0; i < 4; ++i, ++row)
        EXPECT_EQ(results[1].floats[row], 1000 * b + 100 * h + 10 * i + 2);
}

TEST(AttentionTest, CapturesAreIndexedByData) {
  // A table of tables: c0[c1[i], 1][0-d c2 + j].
  AttentionText text;
  text.captures = {"tensor<?x2x?xf32>", "tensor<?xi8>", "tensor<i32>"};
  text.score = R"(
    %one = arith.constant 1 : index
    %r = tensor.extract %c1[%i] : tensor<?xi8>
    %ri = arith.index_cast %r : i8 to index
    %o = tensor.extract %c2[] : tensor<i32>
    %oi = arith.index_cast %o : i32 to index
    %ji = arith.addi %j, %oi : index
    %x = tensor.extract %c0[%ri, %one, %ji] : tensor<?x2x?xf32>
    %y = arith.extf %x : f32 to f64
    attn.yield %y : f64)";
  Tensor q = makeQueries(2), k = makeKeys({0}), v = makePowers(1);
  Tensor table =
      makeTensor(DType::F32, {2, 2, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  Tensor rows = makeTensor(DType::I8, {2}, {1, 0});
  Tensor offset = makeScalar(DType::I32, 2);
  Results results = evaluate(text.str(), {&q, &k, &v, &table, &rows, &offset});
  EXPECT_EQ(results[1].floats, (std::vector<double>{11, 5}));
}

TEST(AttentionTest, ScoreIsEvaluatedForAllowedKeysOnly) {
  AttentionText text;
  text.captures = {"tensor<?xf64>"};
  text.mask = kCausal;
  text.score = "%x = tensor.extract %c0[%j] : tensor<?xf64>\n"
               "attn.yield %x : f64";
  Tensor q = makeQueries(2), k = makeKeys({0, 0, 0, 0}), v = makePowers(4);
  Tensor capture = makeTensor(DType::F64, {2}, {3, 4});
  Results results = evaluate(text.str(), {&q, &k, &v, &capture});
  EXPECT_EQ(results[1].floats[0], 3);
  // Nor is what depends on the row only, if no key of the row is allowed.
  text.mask = "%z = arith.constant 0 : index\n"
              "%p = arith.cmpi eq, %i, %z : index\nattn.yield %p : i1";
  text.score = "%x = tensor.extract %c0[%i] : tensor<?xf64>\n"
               "attn.yield %x : f64";
  Tensor one = makeTensor(DType::F64, {1}, 3.0);
  results = evaluate(text.str(), {&q, &k, &v, &one});
  EXPECT_NEAR(results[1].floats[0], 3 + std::log(4.0), kTolerance);
  EXPECT_EQ(results[1].floats[1], -kInf);
}

TEST(AttentionTest, BranchesGuardReads) {
  // For each key: a condition that differs between keys, one that does not, and
  // one inside of the other. Only guarded reads are in range.
  AttentionText text;
  text.captures = {"tensor<?xf64>", "tensor<1xf64>"};
  text.score = R"(
    %n = arith.constant 0 : index
    %size = tensor.dim %c0, %n : tensor<?xf64>
    %inside = arith.cmpi slt, %j, %size : index
    %first = arith.cmpi eq, %i, %n : index
    %x = scf.if %inside -> f64 {
      %y = tensor.extract %c0[%j] : tensor<?xf64>
      %z = scf.if %first -> f64 {
        %w = tensor.extract %c1[%i] : tensor<1xf64>
        %a = arith.addf %y, %w : f64
        scf.yield %a : f64
      } else {
        scf.yield %y : f64
      }
      scf.yield %z : f64
    } else {
      %y = scf.if %first -> f64 {
        %w = tensor.extract %c1[%i] : tensor<1xf64>
        scf.yield %w : f64
      } else {
        %w = arith.constant -1.0 : f64
        scf.yield %w : f64
      }
      scf.yield %y : f64
    }
    attn.yield %x : f64)";
  text.mask = "%p = arith.constant true\nattn.yield %p : i1";
  Tensor q = makeQueries(2), k = makeKeys({0, 0, 0}), v = makePowers(3);
  Tensor c0 = makeTensor(DType::F64, {2}, {1, 2}),
         c1 = makeTensor(DType::F64, {1}, 100.0);
  Results results = evaluate(text.str(), {&q, &k, &v, &c0, &c1});
  auto lse = [](double x, double y, double z) {
    return std::log(std::exp(x) + std::exp(y) + std::exp(z));
  };
  EXPECT_NEAR(results[1].floats[0], lse(101, 102, 100), 1e-12);
  EXPECT_NEAR(results[1].floats[1], lse(1, 2, -1), kTolerance);
}

TEST(AttentionTest, OffsetsShiftIndices) {
  const char *text = R"(
    func.func @f(%q: tensor<1x1x2x1xf64>, %k: tensor<1x1x2x1xf64>, %n: index)
        -> tensor<1x1x2xf64> {
      %c0 = arith.constant 0 : index
      %c7 = arith.constant 7 : index
      %e = tensor.empty() : tensor<1x1x2x1xf64>
      %l = tensor.empty() : tensor<1x1x2xf64>
      %o, %lse = attn.attention
          ins(%q, %k, %k : tensor<1x1x2x1xf64>, tensor<1x1x2x1xf64>, tensor<1x1x2x1xf64>)
          offsets(%c0, %c0, %c7, %n)
          outs(%e, %l : tensor<1x1x2x1xf64>, tensor<1x1x2xf64>)
          score(%s, %b, %h, %i, %j) {
            %x = arith.index_cast %j : index to i64
            %y = arith.sitofp %x : i64 to f64
            attn.yield %y : f64
          }
          mask(%b, %h, %i, %j) {
            %p = arith.cmpi sle, %j, %i : index
            attn.yield %p : i1
          }
      return %lse : tensor<1x1x2xf64>
    })";
  Tensor q = makeQueries(2), k = makeKeys({0, 0}),
         offset = makeScalar(DType::I64, 7);
  Results results = evaluate(text, {&q, &k, &offset});
  EXPECT_NEAR(results[0].floats[0], 7, kTolerance);
  EXPECT_NEAR(results[0].floats[1], 7 + std::log(1 + std::exp(1.0)), 1e-13);
}

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

/// Elements of [B, H, S, D], arranged as a layout says.
static Tensor arrange(const Tensor &tensor, const std::string &layout) {
  Shape from = tensor.getStrides(), strides, shape;
  for (char letter : layout) {
    size_t dim = std::string("bhsd").find(letter);
    shape.push_back(tensor.getShape()[dim]);
    strides.push_back(from[dim]);
  }
  Tensor result = llvm::cantFail(Tensor::create(tensor.getDType(), shape));
  Shape to = result.getStrides();
  for (int64_t index = 0; index < result.getNumElements(); ++index) {
    int64_t position = 0;
    for (size_t dim = 0; dim < shape.size(); ++dim)
      position += index / to[dim] % shape[dim] * strides[dim];
    result.setFromDouble(index, tensor.getAsDouble(position));
  }
  return result;
}

TEST(AttentionTest, LayoutsPermuteDimensions) {
  AttentionText text;
  text.dim = 3;
  text.valueDim = 2;
  text.mask = kCausal;
  Tensor q = makeRandom(DType::F64, {2, 4, 5, 3}, 1),
         k = makeRandom(DType::F64, {2, 2, 6, 3}, 2),
         v = makeRandom(DType::F64, {2, 2, 6, 2}, 3);
  Results expected = evaluate(text.str(), {&q, &k, &v});
  Tensor o = llvm::cantFail(expected[0].toTensor());

  text.layouts = {"bshd", "hbds", "sdhb", "shbd"};
  text.attributes = "layouts(bshd, hbds, sdhb, shbd)";
  Tensor qa = arrange(q, "bshd"), ka = arrange(k, "hbds"),
         va = arrange(v, "sdhb"), oa = arrange(o, "shbd");
  Results results = evaluate(text.str(), {&qa, &ka, &va});
  EXPECT_EQ(results[0].shape, (Shape{5, 4, 2, 2}));
  for (int64_t index = 0; index < oa.getNumElements(); ++index)
    EXPECT_EQ(results[0].floats[index], oa.getAsDouble(index));
  // lse has the layout of o without d: s, h, b.
  EXPECT_EQ(results[1].shape, (Shape{5, 4, 2}));
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t h = 0; h < 4; ++h)
      for (int64_t i = 0; i < 5; ++i)
        EXPECT_EQ(results[1].floats[(i * 4 + h) * 2 + b],
                  expected[1].floats[(b * 4 + h) * 5 + i]);

  text.layouts = {"bshd", "bshd", "bshd", "bshd"};
  text.attributes = "layout(bshd)";
  Tensor kb = arrange(k, "bshd"), vb = arrange(v, "bshd"),
         ob = arrange(o, "bshd");
  results = evaluate(text.str(), {&qa, &kb, &vb});
  for (int64_t index = 0; index < ob.getNumElements(); ++index)
    EXPECT_EQ(results[0].floats[index], ob.getAsDouble(index));
}
