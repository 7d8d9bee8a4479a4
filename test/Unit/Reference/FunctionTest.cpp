//===- FunctionTest.cpp - Operations around attention ---------------------===//

#include "TestHelpers.h"
#include <cmath>

using namespace attn;
using namespace attn::test;

using Doubles = std::vector<double>;
using Ints = std::vector<int64_t>;

/// Evaluates a body with arguments %x : tensor<2x3xf64> of 0, 1, ... 5 and
/// %n : index of 2.
static EvaluatedTensor run(const std::string &body, const std::string &type,
                           EvaluatorOptions options = {}) {
  Tensor x = makeTensor(DType::F64, {2, 3}, {0, 1, 2, 3, 4, 5}),
         n = makeScalar(DType::I64, 2);
  return evaluate("func.func @f(%x: tensor<2x3xf64>, %n: index) -> " + type +
                      " {\n" + body + "\nreturn %r : " + type + "\n}",
                  {&x, &n}, options)[0];
}

TEST(FunctionTest, Scalars) {
  EXPECT_EQ(run("%r = arith.constant -7 : index", "index").ints, Ints{-7});
  EXPECT_EQ(run("%r = arith.constant 2.5 : bf16", "bf16").floats, Doubles{2.5});
  EXPECT_EQ(run("%r = arith.constant true", "i1").ints, Ints{1});
  EvaluatedTensor result = run("%r = arith.muli %n, %n : index", "index");
  EXPECT_EQ(result.ints, Ints{4});
  EXPECT_EQ(result.dtype, DType::I64);
  EXPECT_TRUE(result.shape.empty());
}

TEST(FunctionTest, ParallelLoops) {
  // A table of 2 x 3 whose iteration (i, j) writes its own number, and one that
  // holds what the first one did before.
  EvaluatedTensor result =
      run("%c2 = arith.constant 2 : index\n%c6 = arith.constant 6 : index\n"
          "%z = arith.constant 0 : index\n%t = arith.constant 10 : index\n"
          "%init = arith.constant dense<7> : tensor<2x3xindex>\n"
          "%r = scf.forall (%i, %j) = (0, 0) to (%c2, %c6) step (1, 2) "
          "shared_outs(%out = %init) -> (tensor<2x3xindex>) {\n"
          "%c = arith.divui %j, %c2 : index\n"
          "%s = tensor.extract_slice %out[%i, %c] [1, 1] [1, 1] : "
          "tensor<2x3xindex> to tensor<1x1xindex>\n"
          "%old = tensor.extract %s[%z, %z] : tensor<1x1xindex>\n"
          "%a = arith.muli %i, %t : index\n%b = arith.addi %a, %c : index\n"
          "%d = arith.addi %b, %old : index\n"
          "%w = tensor.insert %d into %s[%z, %z] : tensor<1x1xindex>\n"
          "scf.forall.in_parallel {\n"
          "tensor.parallel_insert_slice %w into %out[%i, %c] [1, 1] [1, 1] : "
          "tensor<1x1xindex> into tensor<2x3xindex>\n}\n}",
          "tensor<2x3xindex>");
  EXPECT_EQ(result.ints, (Ints{7, 8, 9, 17, 18, 19}));
}

TEST(FunctionTest, ConstantTensors) {
  EvaluatedTensor result =
      run("%r = arith.constant dense<[1.5, -2.0]> : tensor<2xf16>",
          "tensor<2xf16>");
  EXPECT_EQ(result.floats, (Doubles{1.5, -2}));
  EXPECT_EQ(result.dtype, DType::F16);
  EXPECT_EQ(
      run("%r = arith.constant dense<-3> : tensor<2xi8>", "tensor<2xi8>").ints,
      (Ints{-3, -3}));
  EXPECT_EQ(run("%r = arith.constant dense<[true, false]> : tensor<2xi1>",
                "tensor<2xi1>")
                .ints,
            (Ints{1, 0}));
}

TEST(FunctionTest, ElementwiseOnTensors) {
  EvaluatedTensor result = run("%y = math.sqrt %x : tensor<2x3xf64>\n"
                               "%r = arith.addf %x, %y : tensor<2x3xf64>",
                               "tensor<2x3xf64>");
  for (int64_t index = 0; index < 6; ++index)
    EXPECT_EQ(result.floats[index], index + std::sqrt(double(index)));
  result =
      run("%t = arith.constant true\n%y = arith.negf %x : tensor<2x3xf64>\n"
          "%r = arith.select %t, %y, %x : tensor<2x3xf64>",
          "tensor<2x3xf64>");
  EXPECT_EQ(result.floats[5], -5);
  result = run("%y = arith.constant dense<2.5> : tensor<2x3xf64>\n"
               "%p = arith.cmpf ogt, %x, %y : tensor<2x3xf64>\n"
               "%r = arith.select %p, %x, %y : tensor<2x3xi1>, tensor<2x3xf64>",
               "tensor<2x3xf64>");
  EXPECT_EQ(result.floats, (Doubles{2.5, 2.5, 2.5, 3, 4, 5}));
}

TEST(FunctionTest, EagerRoundsEachResult) {
  std::string body =
      "%y = arith.truncf %x : tensor<2x3xf64> to tensor<2x3xf16>\n"
      "%three = arith.constant dense<3.0> : tensor<2x3xf16>\n"
      "%r = arith.divf %y, %three : tensor<2x3xf16>";
  EXPECT_EQ(run(body, "tensor<2x3xf16>").floats[1], 1 / 3.0);
  EXPECT_EQ(run(body, "tensor<2x3xf16>", eager()).floats[1],
            makeScalar(DType::F16, 1 / 3.0).getAsDouble(0));
  // As a tensor in memory, the exact one is rounded as well.
  Tensor tensor = llvm::cantFail(run(body, "tensor<2x3xf16>").toTensor());
  EXPECT_EQ(tensor.getDType(), DType::F16);
  EXPECT_EQ(tensor.getAsDouble(1),
            makeScalar(DType::F16, 1 / 3.0).getAsDouble(0));
}

//===----------------------------------------------------------------------===//
// tensor
//===----------------------------------------------------------------------===//

TEST(FunctionTest, TensorQueries) {
  EXPECT_EQ(run("%c = arith.constant 1 : index\n"
                "%r = tensor.dim %x, %c : tensor<2x3xf64>",
                "index")
                .ints,
            Ints{3});
  EXPECT_EQ(run("%r = tensor.rank %x : tensor<2x3xf64>", "index").ints,
            Ints{2});
  EXPECT_EQ(run("%c = arith.constant 1 : index\n"
                "%r = tensor.extract %x[%c, %n] : tensor<2x3xf64>",
                "f64")
                .floats,
            Doubles{5});
}

TEST(FunctionTest, EmptyTensorsAreNotNumbers) {
  EvaluatedTensor result =
      run("%r = tensor.empty(%n) : tensor<?x2xf32>", "tensor<?x2xf32>");
  EXPECT_EQ(result.shape, (Shape{2, 2}));
  EXPECT_TRUE(std::isnan(result.floats[3]));
}

TEST(FunctionTest, Slices) {
  EvaluatedTensor result =
      run("%r = tensor.extract_slice %x[0, 1] [%n, 2] [1, 1] : tensor<2x3xf64> "
          "to tensor<?x2xf64>",
          "tensor<?x2xf64>");
  EXPECT_EQ(result.shape, (Shape{2, 2}));
  EXPECT_EQ(result.floats, (Doubles{1, 2, 4, 5}));
  result = run("%r = tensor.extract_slice %x[1, 0] [1, 2] [1, 2] : "
               "tensor<2x3xf64> to tensor<2xf64>",
               "tensor<2xf64>");
  EXPECT_EQ(result.floats, (Doubles{3, 5}));
  result = run("%s = arith.constant dense<[7.0, 8.0]> : tensor<2xf64>\n"
               "%r = tensor.insert_slice %s into %x[1, 0] [1, 2] [1, 2] : "
               "tensor<2xf64> into tensor<2x3xf64>",
               "tensor<2x3xf64>");
  EXPECT_EQ(result.floats, (Doubles{0, 1, 2, 7, 4, 8}));
  result = run("%c = arith.constant 1 : index\n%s = arith.constant 9.0 : f64\n"
               "%r = tensor.insert %s into %x[%c, %n] : tensor<2x3xf64>",
               "tensor<2x3xf64>");
  EXPECT_EQ(result.floats, (Doubles{0, 1, 2, 3, 4, 9}));
}

TEST(FunctionTest, Reshapes) {
  EvaluatedTensor result = run(
      "%c = tensor.collapse_shape %x [[0, 1]] : tensor<2x3xf64> into "
      "tensor<6xf64>\n%d = tensor.cast %c : tensor<6xf64> to tensor<?xf64>\n"
      "%three = arith.constant 3 : index\n"
      "%r = tensor.expand_shape %d [[0, 1]] output_shape [%three, 2] : "
      "tensor<?xf64> into tensor<?x2xf64>",
      "tensor<?x2xf64>");
  EXPECT_EQ(result.shape, (Shape{3, 2}));
  EXPECT_EQ(result.floats, (Doubles{0, 1, 2, 3, 4, 5}));
}

TEST(FunctionTest, NewTensors) {
  EXPECT_EQ(run("%r = tensor.from_elements %n, %n : tensor<2xindex>",
                "tensor<2xindex>")
                .ints,
            (Ints{2, 2}));
  EXPECT_EQ(run("%c = arith.constant 4.0 : f64\n"
                "%r = tensor.splat %c[%n] : tensor<?x1xf64>",
                "tensor<?x1xf64>")
                .floats,
            (Doubles{4, 4}));
  EXPECT_EQ(run("%r = tensor.generate %n {\n^bb0(%i: index, %j: index):\n"
                "%v = tensor.extract %x[%i, %j] : tensor<2x3xf64>\n"
                "%w = arith.addf %v, %v : f64\ntensor.yield %w : f64\n} : "
                "tensor<?x2xf64>",
                "tensor<?x2xf64>")
                .floats,
            (Doubles{0, 2, 6, 8}));
  EvaluatedTensor result =
      run("%c = arith.constant -1.0 : f64\n"
          "%r = tensor.pad %x low[1, 0] high[0, %n] {\n"
          "^bb0(%i: index, %j: index):\ntensor.yield %c : f64\n} : "
          "tensor<2x3xf64> to tensor<3x?xf64>",
          "tensor<3x?xf64>");
  EXPECT_EQ(result.shape, (Shape{3, 5}));
  EXPECT_EQ(result.floats,
            (Doubles{-1, -1, -1, -1, -1, 0, 1, 2, -1, -1, 3, 4, 5, -1, -1}));
}

//===----------------------------------------------------------------------===//
// linalg
//===----------------------------------------------------------------------===//

TEST(FunctionTest, LinalgNamedOperations) {
  EXPECT_EQ(run("%e = tensor.empty() : tensor<2x3xf64>\n"
                "%c = arith.constant 2.0 : f64\n"
                "%r = linalg.fill ins(%c : f64) outs(%e : tensor<2x3xf64>) -> "
                "tensor<2x3xf64>",
                "tensor<2x3xf64>")
                .floats,
            Doubles(6, 2));
  EXPECT_EQ(run("%e = tensor.empty() : tensor<3x2xf64>\n"
                "%r = linalg.transpose ins(%x : tensor<2x3xf64>) outs(%e : "
                "tensor<3x2xf64>) permutation = [1, 0]",
                "tensor<3x2xf64>")
                .floats,
            (Doubles{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(run("%e = tensor.empty() : tensor<2x3xf64>\n"
                "%r = linalg.copy ins(%x : tensor<2x3xf64>) outs(%e : "
                "tensor<2x3xf64>) -> tensor<2x3xf64>",
                "tensor<2x3xf64>")
                .floats,
            (Doubles{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(run("%e = tensor.empty() : tensor<2x3xf64>\n"
                "%r = linalg.mul ins(%x, %x : tensor<2x3xf64>, "
                "tensor<2x3xf64>) outs(%e : tensor<2x3xf64>) -> "
                "tensor<2x3xf64>",
                "tensor<2x3xf64>")
                .floats,
            (Doubles{0, 1, 4, 9, 16, 25}));
  EXPECT_EQ(run("%e = arith.constant dense<1.0> : tensor<2xf64>\n"
                "%r = linalg.reduce { arith.addf } ins(%x : tensor<2x3xf64>) "
                "outs(%e : tensor<2xf64>) dimensions = [1]",
                "tensor<2xf64>")
                .floats,
            (Doubles{4, 13}));
  EXPECT_EQ(run("%e = tensor.empty() : tensor<2x3x2xf64>\n"
                "%r = linalg.broadcast ins(%x : tensor<2x3xf64>) outs(%e : "
                "tensor<2x3x2xf64>) dimensions = [2]",
                "tensor<2x3x2xf64>")
                .floats,
            (Doubles{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5}));
}

TEST(FunctionTest, LinalgMatmul) {
  const char *text = R"(
    func.func @f(%a: tensor<?x?xf64>, %b: tensor<?x?xf64>, %c: tensor<?x?xf64>) -> tensor<?x?xf64> {
      %r = linalg.matmul ins(%a, %b : tensor<?x?xf64>, tensor<?x?xf64>) outs(%c : tensor<?x?xf64>) -> tensor<?x?xf64>
      return %r : tensor<?x?xf64>
    })";
  Tensor a = makeRandom(DType::F64, {5, 7}, 1),
         b = makeRandom(DType::F64, {7, 130}, 2),
         c = makeRandom(DType::F64, {5, 130}, 3);
  EvaluatedTensor result = evaluate(text, {&a, &b, &c})[0];
  for (int64_t m = 0; m < 5; ++m)
    for (int64_t n = 0; n < 130; ++n) {
      double sum = c.getAsDouble(m * 130 + n);
      for (int64_t k = 0; k < 7; ++k)
        sum += a.getAsDouble(m * 7 + k) * b.getAsDouble(k * 130 + n);
      EXPECT_EQ(result.floats[m * 130 + n], sum);
    }
}

TEST(FunctionTest, LinalgGeneric) {
  // Two results, indices of loops, a value from outside, and a reduction that
  // all points add to.
  const char *text = R"(
    #id = affine_map<(i, j) -> (i, j)>
    #row = affine_map<(i, j) -> (i)>
    func.func @f(%x: tensor<2x3xf64>, %scale: f64, %init: tensor<2xf64>) -> (tensor<2x3xf64>, tensor<2xf64>) {
      %e = tensor.empty() : tensor<2x3xf64>
      %r:2 = linalg.generic {indexing_maps = [#id, #id, #row], iterator_types = ["parallel", "reduction"]}
          ins(%x : tensor<2x3xf64>) outs(%e, %init : tensor<2x3xf64>, tensor<2xf64>) {
        ^bb0(%a: f64, %o: f64, %sum: f64):
          %j = linalg.index 1 : index
          %i = linalg.index 0 : index
          %ij = arith.addi %i, %j : index
          %n = arith.index_cast %ij : index to i64
          %f = arith.sitofp %n : i64 to f64
          %g = arith.mulf %f, %scale : f64
          %h = arith.addf %a, %g : f64
          %s = arith.addf %sum, %h : f64
          linalg.yield %h, %s : f64, f64
      } -> (tensor<2x3xf64>, tensor<2xf64>)
      return %r#0, %r#1 : tensor<2x3xf64>, tensor<2xf64>
    })";
  Tensor x = makeTensor(DType::F64, {2, 3}, {0, 1, 2, 3, 4, 5}),
         scale = makeScalar(DType::F64, 10),
         init = makeTensor(DType::F64, {2}, {100, 200});
  Results results = evaluate(text, {&x, &scale, &init});
  EXPECT_EQ(results[0].floats, (Doubles{0, 11, 22, 13, 24, 35}));
  EXPECT_EQ(results[1].floats, (Doubles{133, 272}));
  // A whole reduction, and a window.
  const char *more = R"(
    func.func @f(%x: tensor<5xf64>, %w: tensor<2xf64>) -> (tensor<f64>, tensor<4xf64>) {
      %zero = arith.constant dense<0.0> : tensor<f64>
      %sum = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
          ins(%x : tensor<5xf64>) outs(%zero : tensor<f64>) {
        ^bb0(%a: f64, %o: f64):
          %s = arith.addf %a, %o : f64
          linalg.yield %s : f64
      } -> tensor<f64>
      %zeros = arith.constant dense<0.0> : tensor<4xf64>
      %conv = linalg.conv_1d ins(%x, %w : tensor<5xf64>, tensor<2xf64>) outs(%zeros : tensor<4xf64>) -> tensor<4xf64>
      return %sum, %conv : tensor<f64>, tensor<4xf64>
    })";
  Tensor five = makeTensor(DType::F64, {5}, {1, 2, 3, 4, 5}),
         window = makeTensor(DType::F64, {2}, {1, 10});
  results = evaluate(more, {&five, &window});
  EXPECT_EQ(results[0].floats, Doubles{15});
  EXPECT_EQ(results[1].floats, (Doubles{21, 32, 43, 54}));
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

TEST(FunctionTest, IfAndFor) {
  std::string body = R"(
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c7 = arith.constant 7 : index
      %a, %b = scf.for %i = %c0 to %c7 step %n iter_args(%s = %c0, %t = %c1) -> (index, index) {
        %s1 = arith.addi %s, %i : index
        %t1 = arith.muli %t, %n : index
        scf.yield %s1, %t1 : index, index
      }
      %p = arith.cmpi slt, %a, %b : index
      %r = scf.if %p -> index {
        scf.yield %a : index
      } else {
        %m = arith.subi %c0, %b : index
        scf.yield %m : index
      })";
  // 0 + 2 + 4 + 6 = 12 and 2^4 = 16.
  EXPECT_EQ(run(body, "index").ints, Ints{12});
  EXPECT_EQ(run("%z = arith.constant 0 : index\n"
                "%r = scf.for %i = %n to %z step %n iter_args(%s = %n) -> "
                "(index) { %u = arith.addi %s, %n : index\n"
                "scf.yield %u : index }",
                "index")
                .ints,
            Ints{2});
  // The last step would leave the range of the type.
  EXPECT_EQ(run("%a = arith.constant 100 : i64\n"
                "%top = arith.constant 9223372036854775807 : i64\n"
                "%step = arith.constant 9223372036854775000 : i64\n"
                "%r = scf.for %i = %a to %top step %step iter_args(%s = %a) -> "
                "(i64) : i64 { %u = arith.addi %s, %a : i64\n"
                "scf.yield %u : i64 }",
                "i64")
                .ints,
            Ints{300});
}

TEST(FunctionTest, Calls) {
  const char *text = R"(
    func.func private @square(%a: f32) -> (f32, f32) {
      %b = arith.mulf %a, %a : f32
      return %a, %b : f32, f32
    }
    func.func @f(%a: f32) -> f32 {
      %x:2 = func.call @square(%a) : (f32) -> (f32, f32)
      %y:2 = func.call @square(%x#1) : (f32) -> (f32, f32)
      return %y#1 : f32
    })";
  Tensor a = makeScalar(DType::F32, 3);
  EXPECT_EQ(evaluate(text, {&a})[0].floats, Doubles{81});
}

TEST(FunctionTest, ChainsOfAttention) {
  // A prologue, two attentions, an epilogue, against two separate evaluations.
  const char *text = R"(
    func.func @f(%x: tensor<1x1x9x4xf32>, %k: tensor<1x1x9x4xf32>) -> tensor<1x1x9x4xf32> {
      %e = tensor.empty() : tensor<1x1x9x4xf32>
      %q = math.sin %x : tensor<1x1x9x4xf32>
      %o = attn.attention ins(%q, %k, %k : tensor<1x1x9x4xf32>, tensor<1x1x9x4xf32>, tensor<1x1x9x4xf32>)
          outs(%e : tensor<1x1x9x4xf32>)
      %p = attn.attention ins(%o, %k, %o : tensor<1x1x9x4xf32>, tensor<1x1x9x4xf32>, tensor<1x1x9x4xf32>)
          outs(%e : tensor<1x1x9x4xf32>)
      %r = math.cos %p : tensor<1x1x9x4xf32>
      return %r : tensor<1x1x9x4xf32>
    })";
  Tensor x = makeRandom(DType::F32, {1, 1, 9, 4}, 1),
         k = makeRandom(DType::F32, {1, 1, 9, 4}, 2);
  AttentionText one;
  one.dim = one.valueDim = 4;
  auto widen = [](const Tensor &tensor, double (*function)(double)) {
    Tensor result =
        llvm::cantFail(Tensor::create(DType::F64, tensor.getShape()));
    for (int64_t index = 0; index < tensor.getNumElements(); ++index)
      result.setFromDouble(index, function(tensor.getAsDouble(index)));
    return result;
  };
  Tensor q = widen(x, [](double a) { return std::sin(a); }),
         kd = widen(k, [](double a) { return a; });
  Tensor o = llvm::cantFail(evaluate(one.str(), {&q, &kd, &kd})[0].toTensor());
  Results p = evaluate(one.str(), {&o, &kd, &o});
  Results results = evaluate(text, {&x, &k});
  for (size_t index = 0; index < 36; ++index)
    EXPECT_NEAR(results[0].floats[index], std::cos(p[0].floats[index]), 1e-14);
}
