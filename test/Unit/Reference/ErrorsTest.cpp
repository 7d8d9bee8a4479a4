//===- ErrorsTest.cpp - What the reference evaluator rejects --------------===//

#include "TestHelpers.h"

using namespace attn;
using namespace attn::test;

/// Checks that the evaluation of a module on the inputs gives this error, after
/// the location.
static void expectError(const std::string &text,
                        llvm::ArrayRef<const Tensor *> inputs,
                        const std::string &expected,
                        EvaluatorOptions options = {}) {
  std::string error = getError(text, inputs, options);
  EXPECT_TRUE(llvm::StringRef(error).starts_with("test.mlir:")) << error;
  size_t at = error.find('\'');
  EXPECT_EQ(at == std::string::npos ? error : error.substr(at), expected);
}

/// The same for a function whose body is given, with arguments %x :
/// tensor<?x?xf64> of 2x3 and %n : index of 2, and no results.
static void expectBodyError(const std::string &body,
                            const std::string &expected) {
  Tensor x = makeTensor(DType::F64, {2, 3}, 1.0), n = makeScalar(DType::I64, 2);
  expectError("func.func @f(%x: tensor<?x?xf64>, %n: index) {\n" + body +
                  "\nreturn\n}",
              {&x, &n}, expected);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

TEST(ErrorsTest, ErrorsNameTheLocation) {
  Tensor n = makeScalar(DType::I64, 0);
  EXPECT_EQ(
      getError("func.func @f(%n: index) {\n  %r = arith.constant 0 : i65\n"
               "  return\n}",
               {&n}),
      "test.mlir:2:8: 'arith.constant' expects values of f64, f32, f16, "
      "bf16, index or integers of at most 64 bits, but got i65");
  EXPECT_EQ(getError("func.func @f(%n: index) {\n"
                     "  %r = arith.constant 0 : i65 loc(\"here\")\n  return\n}",
                     {&n}),
            "loc(\"here\"): 'arith.constant' expects values of f64, f32, f16, "
            "bf16, index or integers of at most 64 bits, but got i65");
}

TEST(ErrorsTest, Inputs) {
  const char *text = "func.func @f(%x: tensor<?x3xf32>, %n: index) { return }";
  Tensor x = makeTensor(DType::F32, {2, 3}, 1.0), n = makeScalar(DType::I64, 2),
         wide = makeTensor(DType::F64, {2, 3}, 1.0),
         flat = makeTensor(DType::F32, {6}, 1.0),
         narrow = makeTensor(DType::F32, {2, 2}, 1.0),
         vector = makeTensor(DType::I64, {1}, 1.0);
  expectError(text, {&x}, "'func.func' expects 2 inputs, but got 1");
  const std::string expected = "'func.func' expects input 0 of type "
                               "tensor<?x3xf32>, but got ";
  expectError(text, {&wide, &n}, expected + "2x3xf64");
  expectError(text, {&flat, &n}, expected + "6xf32");
  expectError(text, {&narrow, &n}, expected + "2x2xf32");
  expectError(text, {&x, &vector},
              "'func.func' expects input 1 of type index, but got 1xi64");
  expectError("func.func @f(%x: vector<1xi64>) { return }", {&vector},
              "'func.func' expects input 0 of type vector<1xi64>, but got "
              "1xi64");
}

TEST(ErrorsTest, Results) {
  expectError("func.func @f() -> i4 { %r = arith.constant 1 : i4\n"
              "return %r : i4 }",
              {},
              "'func.func' expects results of an element type that tensors in "
              "memory have, but got i4");
}

TEST(ErrorsTest, FunctionBodies) {
  expectError("func.func private @f()", {},
              "'func.func' expects a function with a body, but got the "
              "declaration of 'f'");
  expectError("func.func @f() {\n  return\n^bb1:\n  return\n}", {},
              "'func.func' expects a function of one block, but got 2");
  expectError("func.func @f() {\n  func.call @f() : () -> ()\n  return\n}", {},
              "'func.func' expects calls to be at most 64 deep, but got more");
}

TEST(ErrorsTest, UnsupportedOperations) {
  expectBodyError("%s = arith.constant dense<6> : tensor<1xindex>\n"
                  "%r = tensor.reshape %x(%s) : (tensor<?x?xf64>, "
                  "tensor<1xindex>) -> tensor<6xf64>",
                  "'tensor.reshape' is not an operation that the reference "
                  "evaluates");
  expectBodyError("scf.while : () -> () {\n%t = arith.constant false\n"
                  "scf.condition(%t)\n} do {\nscf.yield\n}",
                  "'scf.while' is not an operation that the reference "
                  "evaluates");
  expectBodyError("%e = tensor.empty() : tensor<2xf64>\n"
                  "%r = linalg.softmax dimension(0) ins(%e : tensor<2xf64>) "
                  "outs(%e : tensor<2xf64>) -> tensor<2xf64>",
                  "'linalg.softmax' is not an operation that the reference "
                  "evaluates");
  expectBodyError(
      "%a = arith.constant 1.0 : f32\n%b = arith.constant 1.0 : f32\n"
      "%r = arith.truncf %a downward : f32 to f16",
      "'arith.truncf' is not an operation that the reference "
      "evaluates");
  expectBodyError("%a = arith.constant 1.0 : f32\n"
                  "%r = arith.truncf %a : f32 to f8E4M3FN",
                  "'arith.truncf' expects values of f64, f32, f16, bf16, index "
                  "or integers of at most 64 bits, but got f8E4M3FN");
  expectBodyError("%a = arith.constant dense<1.0> : vector<2xf32>",
                  "'arith.constant' expects values of f64, f32, f16, bf16, "
                  "index or integers of at most 64 bits, but got "
                  "vector<2xf32>");
  expectBodyError("%a = arith.constant dense_resource<blob> : tensor<1xf32>",
                  "'arith.constant' expects a number or dense elements");
}

TEST(ErrorsTest, Loops) {
  expectBodyError("%z = arith.constant 0 : index\n"
                  "scf.for %i = %z to %n step %z { scf.yield }",
                  "'scf.for' expects a positive step, but got 0");
}

TEST(ErrorsTest, Reports) {
  expectBodyError("%t = arith.constant true\n"
                  "attn.report site 3 (%n, %n) if %t",
                  "'attn.report' reports error 3, of 2 and 2");
  expectBodyError("%z = arith.constant 0 : index\n"
                  "scf.forall (%i) = (0) to (%n) step (%z) { }",
                  "'scf.forall' expects positive steps, but got 0");
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

TEST(ErrorsTest, ElementsOutsideOfTheirTensor) {
  expectBodyError(
      "%z = arith.constant 1 : index\n"
      "%r = tensor.extract %x[%n, %z] : tensor<?x?xf64>",
      "'tensor.extract' expects an index from 0 to 1 in dimension 0 "
      "of the tensor, of extent 2, but got 2");
  expectBodyError(
      "%z = arith.constant -1 : index\n%v = arith.constant 1.0 : f64\n"
      "%r = tensor.insert %v into %x[%z, %z] : tensor<?x?xf64>",
      "'tensor.insert' expects an index from 0 to 1 in dimension 0 "
      "of the tensor, of extent 2, but got -1");
  expectBodyError("%r = tensor.dim %x, %n : tensor<?x?xf64>",
                  "'tensor.dim' expects a dimension below the rank 2, but got "
                  "2");
  expectBodyError(
      "%r = tensor.generate %n {\n^bb0(%i: index):\n"
      "%v = tensor.extract %x[%i, %n] : tensor<?x?xf64>\n"
      "%w = tensor.extract %x[%n, %i] : tensor<?x?xf64>\n"
      "tensor.yield %v : f64\n} : tensor<?xf64>",
      "'tensor.extract' expects an index from 0 to 1 in dimension 0 "
      "of the tensor, of extent 2, but got 2");
}

TEST(ErrorsTest, Slices) {
  expectBodyError("%r = tensor.extract_slice %x[0, 1] [2, %n] [1, 2] : "
                  "tensor<?x?xf64> to tensor<2x?xf64>",
                  "'tensor.extract_slice' expects a slice within extent 3 of "
                  "dimension 1, but got offset 1, size 2 and stride 2");
  expectBodyError("%m = arith.constant -1 : index\n"
                  "%c = tensor.cast %x : tensor<?x?xf64> to tensor<2x3xf64>\n"
                  "%r = tensor.insert_slice %c into %x[%m, 0] [2, 3] [1, 1] : "
                  "tensor<2x3xf64> into tensor<?x?xf64>",
                  "'tensor.insert_slice' expects a slice within extent 2 of "
                  "dimension 0, but got offset -1, size 2 and stride 1");
  expectBodyError("%r = tensor.insert_slice %x into %x[0, 0] [%n, %n] [1, 1] : "
                  "tensor<?x?xf64> into tensor<?x?xf64>",
                  "'tensor.insert_slice' expects a source of shape 2x2, but "
                  "got 2x3");
}

TEST(ErrorsTest, Shapes) {
  expectBodyError("%r = tensor.cast %x : tensor<?x?xf64> to tensor<2x2xf64>",
                  "'tensor.cast' expects a source that fits the result type "
                  "2x2, but got shape 2x3");
  expectBodyError("%r = tensor.expand_shape %x [[0, 1], [2]] output_shape [%n, "
                  "%n, %n] : tensor<?x?xf64> into tensor<?x?x?xf64>",
                  "'tensor.expand_shape' expects a source that fits the result "
                  "type ?x?x?, but got shape 2x3");
  expectBodyError("%m = arith.constant -1 : index\n"
                  "%r = tensor.empty(%m) : tensor<?xf64>",
                  "'tensor.empty' expects sizes of at least 0, but got -1");
  expectBodyError("%m = arith.constant 4611686018427387904 : index\n"
                  "%r = tensor.empty(%m) : tensor<?xf64>",
                  "'tensor.empty' expects a tensor of fewer than 2^63 bytes, "
                  "but got 4611686018427387904xf64");
  expectBodyError("%m = arith.constant -1 : index\n%c = arith.constant 0.0 : "
                  "f64\n%r = tensor.pad %x low[%m, 0] high[0, 0] {\n"
                  "^bb0(%i: index, %j: index):\ntensor.yield %c : f64\n} : "
                  "tensor<?x?xf64> to tensor<?x?xf64>",
                  "'tensor.pad' expects padding of at least 0, but got -1");
  expectBodyError("%c = arith.constant 0.0 : f64\n"
                  "%r = tensor.pad %x low[%n, 0] high[0, 0] {\n"
                  "^bb0(%i: index, %j: index):\ntensor.yield %c : f64\n} : "
                  "tensor<?x?xf64> to tensor<3x3xf64>",
                  "'tensor.pad' expects a result of shape 3x3, but got 4x3");
  expectBodyError("%e = tensor.empty(%n, %n) : tensor<?x?xf64>\n"
                  "%r = arith.addf %x, %e : tensor<?x?xf64>",
                  "'arith.addf' expects operands of one shape, but got 2x3 and "
                  "2x2");
}

TEST(ErrorsTest, Linalg) {
  expectBodyError(
      "%e = tensor.empty(%n, %n) : tensor<?x?xf64>\n"
      "%r = linalg.copy ins(%x : tensor<?x?xf64>) outs(%e : "
      "tensor<?x?xf64>) -> tensor<?x?xf64>",
      "'linalg.copy' expects an index from 0 to 1 in dimension 1 of "
      "an operand, but got 2");
  expectBodyError(
      "%e = tensor.empty() : tensor<4xf64>\n"
      "%f = tensor.empty() : tensor<2xf64>\n"
      "%r = linalg.generic {indexing_maps = [affine_map<(i) -> (i "
      "floordiv 2)>, affine_map<(i) -> (i)>], iterator_types = "
      "[\"parallel\"]} ins(%f : tensor<2xf64>) outs(%e : "
      "tensor<4xf64>) {\n^bb0(%a: f64, %b: f64):\nlinalg.yield %a : "
      "f64\n} -> tensor<4xf64>",
      "'linalg.generic' expects indexing maps that are linear");
  expectBodyError(
      "%e = tensor.empty() : tensor<4xf64>\n"
      "%r = linalg.generic {indexing_maps = [affine_map<(i) -> "
      "(i)>], iterator_types = [\"parallel\"]} outs(%e : "
      "tensor<4xf64>) {\n^bb0(%b: f64):\n"
      "%i = linalg.index 0 : index\n"
      "%a = tensor.extract %x[%i, %i] : tensor<?x?xf64>\n"
      "linalg.yield %a : f64\n} -> tensor<4xf64>",
      "'tensor.extract' expects an index from 0 to 1 in dimension 0 "
      "of the tensor, of extent 2, but got 2");
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

TEST(ErrorsTest, SizesOfAttention) {
  std::string text = AttentionText().str();
  auto check = [&](const Shape &q, const Shape &k, const Shape &v,
                   const std::string &expected) {
    Tensor query = makeTensor(DType::F64, q, 1.0),
           key = makeTensor(DType::F64, k, 1.0),
           value = makeTensor(DType::F64, v, 1.0);
    expectError(text, {&query, &key, &value},
                "'attn.attention' expects " + expected);
  };
  check({2, 4, 3, 1}, {2, 2, 5, 1}, {2, 2, 6, 1},
        "v to have length 5, but got 6");
  check({2, 4, 3, 1}, {2, 2, 5, 1}, {2, 4, 5, 1},
        "v to have number of heads 2, but got 4");
  check({2, 4, 3, 1}, {2, 2, 5, 1}, {1, 2, 5, 1},
        "v to have batch 2, but got 1");
  check({2, 4, 3, 1}, {3, 2, 5, 1}, {3, 2, 5, 1},
        "k to have batch 2, but got 3");
  check(
      {2, 4, 3, 1}, {2, 3, 5, 1}, {2, 3, 5, 1},
      "the heads of q to be a multiple of the heads of k and v, but got 4 and "
      "3");
  check(
      {2, 4, 3, 1}, {2, 0, 5, 1}, {2, 0, 5, 1},
      "the heads of q to be a multiple of the heads of k and v, but got 4 and "
      "0");
}

TEST(ErrorsTest, DestinationsOfAttention) {
  const char *text = R"(
    func.func @f(%q: tensor<1x1x?x2xf32>, %n: index) -> tensor<1x1x?x2xf32> {
      %e = tensor.empty(%n) : tensor<1x1x?x2xf32>
      %l = tensor.empty(%n) : tensor<1x1x?xf32>
      %o, %lse = attn.attention ins(%q, %q, %q : tensor<1x1x?x2xf32>, tensor<1x1x?x2xf32>, tensor<1x1x?x2xf32>)
          outs(%q, %l : tensor<1x1x?x2xf32>, tensor<1x1x?xf32>)
      return %o : tensor<1x1x?x2xf32>
    })";
  Tensor q = makeTensor(DType::F32, {1, 1, 3, 2}, 1.0),
         n = makeScalar(DType::I64, 4);
  expectError(text, {&q, &n},
              "'attn.attention' expects out 1 to have shape 1x1x3, but got "
              "1x1x4");
}

/// Captures of 4 and 2x3 elements, four queries and eight keys of two heads.
static void expectReadError(const std::string &score, const std::string &mask,
                            const std::string &expected) {
  AttentionText text;
  text.captures = {"tensor<?xf64>", "tensor<?x?xi32>"};
  text.score = score;
  text.mask = mask;
  Tensor q = makeTensor(DType::F64, {1, 2, 4, 1}, 1.0),
         k = makeTensor(DType::F64, {1, 2, 8, 1}, 1.0),
         c0 = makeTensor(DType::F64, {4}, 1.0),
         c1 = makeTensor(DType::I32, {2, 3}, 1.0);
  for (unsigned threads : {1, 3}) {
    EvaluatorOptions options;
    options.threads = threads;
    expectError(text.str(), {&q, &k, &k, &c0, &c1}, expected, options);
  }
}

TEST(ErrorsTest, ReadsOutsideOfCaptures) {
  // For each key.
  expectReadError(
      "%x = tensor.extract %c0[%j] : tensor<?xf64>\n"
      "attn.yield %x : f64",
      "",
      "'tensor.extract' expects an index from 0 to 3 in dimension 0 "
      "of capture 0, of extent 4, but got 4 at (b, h, i, j) = (0, "
      "0, 0, 4)");
  // For each row, when it has an allowed key.
  expectReadError(
      "%x = tensor.extract %c1[%h, %i] : tensor<?x?xi32>\n"
      "%y = arith.sitofp %x : i32 to f64\nattn.yield %y : f64",
      "%two = arith.constant 2 : index\n"
      "%p = arith.cmpi sge, %j, %two : index\n"
      "attn.yield %p : i1",
      "'tensor.extract' expects an index from 0 to 2 in dimension 1 "
      "of capture 1, of extent 3, but got 3 at (b, h, i, j) = (0, "
      "0, 3, 2)");
  // In a mask, for all keys in range.
  expectReadError(
      "",
      "%d = arith.subi %i, %j : index\n"
      "%x = tensor.extract %c0[%d] : tensor<?xf64>\n"
      "%p = arith.cmpf oeq, %x, %x : f64\nattn.yield %p : i1",
      "'tensor.extract' expects an index from 0 to 3 in dimension 0 "
      "of capture 0, of extent 4, but got -1 at (b, h, i, j) = (0, "
      "0, 0, 1)");
  expectReadError(
      "",
      "%two = arith.constant 2 : index\n%d = arith.muli %i, %two : "
      "index\n%x = tensor.extract %c0[%d] : tensor<?xf64>\n"
      "%p = arith.cmpf oeq, %x, %x : f64\nattn.yield %p : i1",
      "'tensor.extract' expects an index from 0 to 3 in dimension 0 "
      "of capture 0, of extent 4, but got 4 at (b, h, i, j) = (0, "
      "0, 2, 0)");
  // In a branch that some keys take; keys that do not come first in a row are
  // not the first lanes either.
  expectReadError(
      "%five = arith.constant 5 : index\n"
      "%p = arith.cmpi eq, %j, %five : index\n"
      "%r = scf.if %p -> f64 {\n"
      "%x = tensor.extract %c0[%j] : tensor<?xf64>\n"
      "scf.yield %x : f64\n} else {\nscf.yield %s : f64\n}\n"
      "attn.yield %r : f64",
      "%one = arith.constant 1 : index\n"
      "%b1 = arith.andi %j, %one : index\n"
      "%p = arith.cmpi eq, %b1, %one : index\nattn.yield %p : i1",
      "'tensor.extract' expects an index from 0 to 3 in dimension 0 "
      "of capture 0, of extent 4, but got 5 at (b, h, i, j) = (0, "
      "0, 0, 5)");
  expectReadError(
      "%n = tensor.dim %c1, %i : tensor<?x?xi32>\n"
      "%m = arith.index_cast %n : index to i64\n"
      "%x = arith.sitofp %m : i64 to f64\nattn.yield %x : f64",
      "",
      "'tensor.dim' expects an index from 0 to 1 of a dimension of "
      "capture 1, of extent 2, but got 2 at (b, h, i, j) = (0, 0, 2, "
      "0)");
}
