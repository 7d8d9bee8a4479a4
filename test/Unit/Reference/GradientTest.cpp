//===- GradientTest.cpp - Gradients against finite differences ------------===//
//
// The gradient functions that attn-differentiate makes, evaluated in float64,
// against differences of what the forward functions give. Gradients of scores
// are those of the evaluator, which does not read adjoint regions; all else is
// of the pass.
//
//===----------------------------------------------------------------------===//

#include "TestHelpers.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include <cmath>

using namespace attn;
using namespace attn::test;

using TensorPtr = std::shared_ptr<Tensor>;
using Tensors = std::vector<TensorPtr>;

static TensorPtr share(Tensor tensor) {
  return std::make_shared<Tensor>(std::move(tensor));
}
static TensorPtr makeNormal(std::vector<int64_t> shape, uint64_t seed = 5) {
  return share(makeRandom(DType::F64, shape, seed));
}

/// Adds the gradients of the function of a module, behind it.
static void differentiate(mlir::ModuleOp module) {
  mlir::PassManager passes(module.getContext());
  mlir::attn::AttnDifferentiatePassOptions options;
  options.joint = true;
  passes.addPass(mlir::attn::createAttnDifferentiatePass(options));
  ASSERT_TRUE(succeeded(passes.run(module)));
}

/// The sum of all elements of all results of floats times weights.
static double getLoss(const Results &results, const Tensors &weights) {
  double loss = 0;
  for (auto [result, weight] : llvm::zip_equal(results, weights))
    for (int64_t n = 0; n < result.getNumElements(); ++n)
      if (weight->getAsDouble(n) != 0)
        loss += result.floats[n] * weight->getAsDouble(n);
  return loss;
}

/// Compares the gradients with respect to all inputs of floats.
static void expectGradients(llvm::StringRef text, const Tensors &inputs) {
  SCOPED_TRACE(text.str());
  mlir::OwningOpRef<mlir::ModuleOp> forward = parse(text), module = parse(text);
  differentiate(*module);
  auto pointers = [](const Tensors &tensors) {
    std::vector<const Tensor *> result;
    for (const TensorPtr &tensor : tensors)
      result.push_back(tensor.get());
    return result;
  };
  Results results = evaluate(*forward, pointers(inputs));
  Tensors weights, all = inputs;
  for (const EvaluatedTensor &result : results) {
    weights.push_back(
        share(makeRandom(result.dtype, result.shape, 77 + weights.size())));
    // Of a row without a key there is no gradient of lse.
    for (int64_t n = 0; n < result.getNumElements(); ++n)
      if (!std::isfinite(result.floats[n]))
        weights.back()->setFromDouble(n, 0);
  }
  all.insert(all.end(), weights.begin(), weights.end());
  Results both = evaluate(*module, pointers(all));
  ASSERT_GE(both.size(), results.size());
  for (auto [first, second] : llvm::zip(results, both))
    EXPECT_EQ(first.floats, second.floats);

  size_t next = results.size();
  for (size_t number = 0; number < inputs.size(); ++number) {
    if (!isFloat(inputs[number]->getDType()))
      continue;
    ASSERT_LT(next, both.size());
    const EvaluatedTensor &gradient = both[next++];
    ASSERT_EQ(gradient.getNumElements(), inputs[number]->getNumElements());
    for (int64_t n = 0; n < gradient.getNumElements(); ++n) {
      double at = inputs[number]->getAsDouble(n);
      auto getLossAt = [&](double value) {
        inputs[number]->setFromDouble(n, value);
        double loss = getLoss(evaluate(*forward, pointers(inputs)), weights);
        inputs[number]->setFromDouble(n, at);
        return loss;
      };
      // Of fourth order.
      constexpr double h = 1e-3;
      double expected = (8 * (getLossAt(at + h) - getLossAt(at - h)) -
                         (getLossAt(at + 2 * h) - getLossAt(at - 2 * h))) /
                        (12 * h);
      EXPECT_NEAR(gradient.floats[n], expected,
                  1e-8 * std::max(1.0, std::fabs(expected)))
          << "input " << number << ", element " << n;
    }
  }
  EXPECT_EQ(next, both.size());
}

//===----------------------------------------------------------------------===//
// Variants
//===----------------------------------------------------------------------===//

namespace {
struct Variant {
  std::string name;
  AttentionText text;
  Tensors captures = {};
  int64_t batch = 2, kvBatch = 2, heads = 2, kvHeads = 2, queries = 4, keys = 5;
};
} // namespace

static Variant makeVariant(const char *name, const char *score,
                           const char *mask = "",
                           std::vector<std::string> types = {},
                           Tensors captures = {}) {
  Variant variant;
  variant.name = name;
  variant.text.score = score;
  variant.text.mask = mask;
  variant.text.dim = 3;
  variant.text.valueDim = 2;
  variant.text.captures = std::move(types);
  variant.captures = std::move(captures);
  return variant;
}

static TensorPtr makeInts(llvm::ArrayRef<int64_t> shape,
                          llvm::ArrayRef<double> elements) {
  return share(makeTensor(DType::I32, shape, elements));
}

static const char *const kIsCausal = "%p = arith.cmpi sle, %j, %i : index\n"
                                     "attn.yield %p : i1";

static std::vector<Variant> getVariants() {
  std::vector<Variant> variants;
  auto add = [&](auto... args) -> Variant & {
    variants.push_back(makeVariant(args...));
    return variants.back();
  };
  auto random = [](std::vector<int64_t> shape) { return makeNormal(shape); };
  using Types = std::vector<std::string>;

  add("identity", "");
  add("causal", "", kIsCausal);
  add("times two", "%c = arith.constant 2.0 : f64\n"
                   "%y = arith.mulf %s, %c : f64\nattn.yield %y : f64");
  add("squared", "%y = arith.mulf %s, %s : f64\nattn.yield %y : f64");
  add("causal in the score",
      "%p = arith.cmpi sle, %j, %i : index\n"
      "%n = arith.constant 0xFFF0000000000000 : f64\n"
      "%y = arith.select %p, %s, %n : f64\nattn.yield %y : f64");
  add("relative bias and prefix",
      "%d = arith.subi %i, %j : index\n%i64 = arith.index_cast %d : index to "
      "i64\n"
      "%f = arith.sitofp %i64 : i64 to f64\n%y = arith.addf %s, %f : f64\n"
      "attn.yield %y : f64",
      "%c = arith.constant 2 : index\n%p = arith.cmpi sle, %j, %i : index\n"
      "%r = arith.cmpi slt, %j, %c : index\n%m = arith.ori %p, %r : i1\n"
      "attn.yield %m : i1");
  add("head scale",
      "%w = tensor.extract %c0[%h] : tensor<2xf64>\n"
      "%y = arith.mulf %s, %w : f64\nattn.yield %y : f64",
      "", Types{"tensor<2xf64>"}, Tensors{random({2})});
  add("trigonometric", "%a = math.cos %s : f64\n%b1 = math.sin %a : f64\n%c = "
                       "math.sin %s : f64\n"
                       "%d = arith.mulf %b1, %c : f64\nattn.yield %d : f64");
  add("nested lookup",
      "%d = tensor.extract %c0[%j] : tensor<5xi32>\n"
      "%n = arith.index_cast %d : i32 to index\n"
      "%w = tensor.extract %c1[%b, %n] : tensor<2x3xf64>\n"
      "%y = arith.addf %s, %w : f64\nattn.yield %y : f64",
      kIsCausal, Types{"tensor<5xi32>", "tensor<2x3xf64>"},
      Tensors{makeInts({5}, {2, 0, 2, 1, 0}), random({2, 3})});
  add("biases along all dimensions",
      "%x = tensor.extract %c0[%i] : tensor<4xf64>\n"
      "%y = tensor.extract %c1[%b] : tensor<2xf64>\n"
      "%z = tensor.extract %c2[%h] : tensor<2xf64>\n"
      "%w = tensor.extract %c3[%j] : tensor<5xf64>\n"
      "%s1 = arith.addf %s, %x : f64\n%t = math.tanh %s1 : f64\n"
      "%s2 = arith.mulf %t, %y : f64\n%s3 = arith.mulf %s2, %z : f64\n"
      "%s4 = arith.addf %s3, %w : f64\nattn.yield %s4 : f64",
      "",
      Types{"tensor<4xf64>", "tensor<2xf64>", "tensor<2xf64>", "tensor<5xf64>"},
      Tensors{random({4}), random({2}), random({2}), random({5})});
  add("dense bias",
      "%x = tensor.extract %c0[%b, %h, %i, %j] : tensor<2x2x4x5xf64>\n"
      "%y = arith.addf %s, %x : f64\nattn.yield %y : f64",
      kIsCausal, Types{"tensor<2x2x4x5xf64>"}, Tensors{random({2, 2, 4, 5})});
  add("relative table",
      "%c4 = arith.constant 4 : index\n%d = arith.subi %i, %j : index\n"
      "%n = arith.addi %d, %c4 : index\n"
      "%x = tensor.extract %c0[%n] : tensor<8xf64>\n"
      "%y = arith.addf %s, %x : f64\nattn.yield %y : f64",
      "", Types{"tensor<8xf64>"}, Tensors{random({8})});
  add("decomposed relative position",
      "%c2 = arith.constant 2 : index\n%n = arith.divui %j, %c2 : index\n"
      "%x = tensor.extract %c0[%b, %h, %i, %n] : tensor<2x2x4x3xf64>\n"
      "%y = arith.addf %s, %x : f64\nattn.yield %y : f64",
      "", Types{"tensor<2x2x4x3xf64>"}, Tensors{random({2, 2, 4, 3})});
  add("silu",
      "%n = arith.negf %s : f64\n%e = math.exp %n : f64\n"
      "%one = arith.constant 1.0 : f64\n%d = arith.addf %one, %e : f64\n"
      "%y = arith.divf %s, %d : f64\nattn.yield %y : f64");
  add("scalar captures",
      "%x = arith.mulf %s, %c0 : f64\n%y = math.tanh %x : f64\n"
      "%z = arith.divf %y, %c0 : f64\nattn.yield %z : f64",
      "", Types{"f64"}, Tensors{share(makeScalar(DType::F64, 0.7))});
  add("branches",
      "%zero = arith.constant 0.0 : f64\n"
      "%p = arith.cmpf ogt, %s, %zero : f64\n"
      "%y = scf.if %p -> f64 {\n%l = math.log %s : f64\n"
      "%w = tensor.extract %c0[%h] : tensor<2xf64>\n"
      "%m = arith.mulf %l, %w : f64\nscf.yield %m : f64\n} else {\n"
      "%m = arith.mulf %s, %c1 : f64\nscf.yield %m : f64\n}\n"
      "%u = arith.addf %y, %c1 : f64\nattn.yield %u : f64",
      kIsCausal, Types{"tensor<2xf64>", "f64"},
      Tensors{random({2}), share(makeScalar(DType::F64, 1.3))});
  add("a choice with a dead logarithm",
      "%zero = arith.constant 0.0 : f64\n"
      "%p = arith.cmpf ogt, %s, %zero : f64\n%l = math.log %s : f64\n"
      "%y = arith.select %p, %l, %s : f64\nattn.yield %y : f64");
  add("all masked", "", "%p = arith.constant false\nattn.yield %p : i1");
  add("half of the rows", "",
      "%c2 = arith.constant 2 : index\n"
      "%p = arith.cmpi slt, %i, %c2 : index\nattn.yield %p : i1");
  Variant &grouped = add("grouped heads", "%t = math.tanh %s : f64\n"
                                          "attn.yield %t : f64");
  grouped.heads = 4;
  Variant &shared = add("shared keys", "", kIsCausal);
  shared.batch = 3;
  shared.kvBatch = 1;
  shared.kvHeads = 1;
  Variant &noKeys = add("no keys", "");
  noKeys.keys = 0;
  Variant &oneQuery = add("one query", "");
  oneQuery.queries = 1;
  Variant &noQueries = add("no queries", "");
  noQueries.queries = 0;
  Variant &layouts = add("layouts", "", kIsCausal);
  layouts.text.attributes = "layouts(bshd, sbhd, bhsd, bshd)";
  layouts.text.layouts = {"bshd", "sbhd", "bhsd", "bshd"};
  Variant &blocks = add("blocks", "");
  blocks.text.sparsity = "#attn.sparsity<bits, block = 16x16>";
  blocks.text.sparsityTypes = {"tensor<2x2xi1>"};
  blocks.queries = 18;
  blocks.keys = 20;
  blocks.batch = blocks.kvBatch = 1;
  blocks.captures = {share(makeTensor(DType::I1, {2, 2}, {0, 1, 1, 1}))};
  return variants;
}

TEST(GradientTest, Variants) {
  for (const Variant &variant : getVariants()) {
    SCOPED_TRACE(variant.name);
    auto arrange = [](const std::string &layout, int64_t b, int64_t h,
                      int64_t s, int64_t d) {
      std::vector<int64_t> shape;
      for (char letter : layout)
        shape.push_back(letter == 'b'   ? b
                        : letter == 'h' ? h
                        : letter == 's' ? s
                                        : d);
      return shape;
    };
    const AttentionText &text = variant.text;
    Tensors inputs;
    inputs.push_back(
        makeNormal(arrange(text.layouts[0], variant.batch, variant.heads,
                           variant.queries, text.dim),
                   1));
    for (unsigned which : {1, 2})
      inputs.push_back(makeNormal(
          arrange(text.layouts[which], variant.kvBatch, variant.kvHeads,
                  variant.keys, which == 1 ? text.dim : text.valueDim),
          1 + which));
    for (const TensorPtr &capture : variant.captures)
      inputs.push_back(capture);
    expectGradients(text.str(), inputs);
  }
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

TEST(GradientTest, ChainWithSharedInputs) {
  // A tensor is used as query, key and value, a result is used twice, and only
  // the second lse is returned.
  expectGradients(R"(
    func.func @f(%x: tensor<1x2x4x3xf64>, %w: tensor<2xf64>) -> (tensor<1x2x4x3xf64>, tensor<1x2x4xf64>) {
      %oi = tensor.empty() : tensor<1x2x4x3xf64>
      %li = tensor.empty() : tensor<1x2x4xf64>
      %y = math.sin %x : tensor<1x2x4x3xf64>
      %o1 = attn.attention ins(%y, %x, %x : tensor<1x2x4x3xf64>, tensor<1x2x4x3xf64>, tensor<1x2x4x3xf64>)
        captures(%w : tensor<2xf64>) outs(%oi : tensor<1x2x4x3xf64>)
        score(%s, %b, %h, %i, %j, %w0) {
          %e = tensor.extract %w0[%h] : tensor<2xf64>
          %z = arith.mulf %s, %e : f64
          attn.yield %z : f64
        }
      %m = arith.mulf %o1, %x : tensor<1x2x4x3xf64>
      %o2, %lse = attn.attention ins(%o1, %m, %x : tensor<1x2x4x3xf64>, tensor<1x2x4x3xf64>, tensor<1x2x4x3xf64>)
        captures(%w : tensor<2xf64>) outs(%oi, %li : tensor<1x2x4x3xf64>, tensor<1x2x4xf64>)
        score(%s, %b, %h, %i, %j, %w0) {
          %e = tensor.extract %w0[%h] : tensor<2xf64>
          %z = arith.addf %s, %e : f64
          attn.yield %z : f64
        }
        mask(%b, %h, %i, %j, %w0) {
          %p = arith.cmpi sle, %j, %i : index
          attn.yield %p : i1
        }
      %r = math.cos %o2 : tensor<1x2x4x3xf64>
      return %r, %lse : tensor<1x2x4x3xf64>, tensor<1x2x4xf64>
    })",
                  {makeNormal({1, 2, 4, 3}, 1), makeNormal({2}, 2)});
}

TEST(GradientTest, Views) {
  expectGradients(R"(
    func.func @f(%x: tensor<1x4x12xf64>) -> tensor<1x4x2x2xf64> {
      %v = tensor.extract_slice %x[0, 0, 4] [1, 4, 4] [1, 1, 1] : tensor<1x4x12xf64> to tensor<1x4x4xf64>
      %q = tensor.expand_shape %v [[0], [1], [2, 3]] output_shape [1, 4, 2, 2] : tensor<1x4x4xf64> into tensor<1x4x2x2xf64>
      %f = tensor.collapse_shape %q [[0], [1, 2, 3]] : tensor<1x4x2x2xf64> into tensor<1x16xf64>
      %g = math.exp %f : tensor<1x16xf64>
      %k = tensor.expand_shape %g [[0], [1, 2, 3]] output_shape [1, 4, 2, 2] : tensor<1x16xf64> into tensor<1x4x2x2xf64>
      %oi = tensor.empty() : tensor<1x4x2x2xf64>
      %o = attn.attention layout(bshd) ins(%q, %k, %q : tensor<1x4x2x2xf64>, tensor<1x4x2x2xf64>, tensor<1x4x2x2xf64>)
        outs(%oi : tensor<1x4x2x2xf64>)
      return %o : tensor<1x4x2x2xf64>
    })",
                  {makeNormal({1, 4, 12}, 1)});
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// One operation on tensors of `shape` elements, whose numbers are `inputs`.
static void expectOperation(const std::string &op,
                            std::vector<std::vector<double>> inputs) {
  std::string type = "tensor<" + std::to_string(inputs[0].size()) + "xf64>";
  std::string text = "func.func @f(", names, types;
  Tensors tensors;
  for (size_t number = 0; number < inputs.size(); ++number) {
    text += (number ? ", %x" : "%x") + std::to_string(number) + ": " + type;
    names += (number ? ", %x" : "%x") + std::to_string(number);
    tensors.push_back(share(makeTensor(
        DType::F64, {int64_t(inputs[number].size())}, inputs[number])));
  }
  text += ") -> " + type + " {\n  %y = " + op + " " + names + " : " + type +
          "\n  return %y : " + type + "\n}\n";
  expectGradients(text, tensors);
}

TEST(GradientTest, Operations) {
  for (const char *op :
       {"arith.negf",     "math.absf", "math.asinh", "math.atan",  "math.cbrt",
        "math.ceil",      "math.cos",  "math.cosh",  "math.erf",   "math.erfc",
        "math.exp",       "math.exp2", "math.expm1", "math.floor", "math.round",
        "math.roundeven", "math.sin",  "math.sinh",  "math.tan",   "math.tanh",
        "math.trunc"})
    expectOperation(op, {{-1.3, -0.4, 0.3, 0.7, 2.2}});
  for (const char *op : {"math.acos", "math.asin", "math.atanh"})
    expectOperation(op, {{-0.8, -0.3, 0.2, 0.6}});
  expectOperation("math.acosh", {{1.2, 2.5, 7}});
  for (const char *op : {"math.log", "math.log10", "math.log1p", "math.log2",
                         "math.rsqrt", "math.sqrt"})
    expectOperation(op, {{0.2, 0.9, 3.1}});
  for (const char *op :
       {"arith.addf", "arith.subf", "arith.mulf", "arith.divf", "arith.remf",
        "arith.maximumf", "arith.minimumf", "arith.maxnumf", "arith.minnumf",
        "math.atan2", "math.copysign"})
    expectOperation(op,
                    {{-2.3, -0.7, 0.4, 1.9, 2.6}, {1.1, -1.2, 0.9, -0.6, 2}});
  expectOperation("math.powf", {{0.3, 1.7, 2.4}, {2.5, -1.2, 0.4}});
  expectOperation("math.fma", {{0.3, -1.7}, {2.5, -1.2}, {0.1, 0.8}});
  expectGradients("func.func @f(%x: tensor<3xf64>, %a: tensor<3xf64>, "
                  "%b: tensor<3xf64>) -> tensor<3xf64> {\n"
                  "%y = math.clampf %x to [%a, %b] : tensor<3xf64>\n"
                  "return %y : tensor<3xf64>\n}",
                  {share(makeTensor(DType::F64, {3}, {-2, 0.3, 4})),
                   share(makeTensor(DType::F64, {3}, -0.5)),
                   share(makeTensor(DType::F64, {3}, 0.5))});
}

/// The gradients of a function of one input, by itself.
static std::vector<double> getGradient(const std::string &body, double at) {
  std::string text =
      "func.func @f(%x: f64) -> f64 {\n" + body + "\nreturn %y : f64\n}\n";
  mlir::OwningOpRef<mlir::ModuleOp> module = parse(text);
  differentiate(*module);
  Tensor x = makeScalar(DType::F64, at), one = makeScalar(DType::F64, 1);
  Results results = evaluate(*module, {&x, &one});
  return results[1].floats;
}

TEST(GradientTest, WhereThereIsNoDerivative) {
  const std::string zero = "%z = arith.constant 0.0 : f64\n";
  auto expect = [](const std::string &body, double at, double gradient) {
    SCOPED_TRACE(body);
    EXPECT_EQ(getGradient(body, at), std::vector<double>{gradient});
  };
  expect("%y = math.absf %x : f64", 0, 0);
  expect("%y = math.sqrt %x : f64", 0, 0);
  for (const char *op : {"maximumf", "minimumf", "maxnumf", "minnumf"}) {
    // Both are the same number; half of the gradient is that of x.
    expect(zero + "%y = arith." + op + " %x, %z : f64", 0, 0.5);
    expect("%y = arith." + std::string(op) + " %x, %x : f64", 0, 1);
  }
  const std::string nan = "%n = arith.constant 0x7FF8000000000000 : f64\n";
  expect(nan + "%y = arith.maxnumf %x, %n : f64", 2, 1);
  expect(nan + "%y = arith.minnumf %n, %x : f64", 2, 1);
  // What is not chosen may be no number.
  expect(zero + "%c = arith.cmpf ogt, %x, %z : f64\n%l = math.log %x : f64\n"
                "%y = arith.select %c, %l, %x : f64",
         0, 1);
  expect(zero + "%l = math.sqrt %x : f64\n"
                "%m = arith.minimumf %l, %z : f64\n%a = math.absf %m : f64\n"
                "%y = arith.addf %a, %x : f64",
         0, 1);
  expect("%n = arith.constant 0 : i32\n%p = math.fpowi %x, %n : f64, i32\n"
         "%y = arith.addf %p, %x : f64",
         0, 1);
  expect("%n = arith.constant 3 : i32\n%y = math.fpowi %x, %n : f64, i32", -2,
         12);
  expect("%e = arith.constant 2.0 : f64\n%y = math.powf %x, %e : f64", 0, 0);
  expect("%s, %c = math.sincos %x : f64\n%y = arith.addf %s, %c : f64", 0, 1);
  expect("%h = arith.truncf %x : f64 to f16\n%y = arith.extf %h : f16 to f64",
         2, 1);
  expect(
      "%i = arith.fptosi %x : f64 to i32\n%f = arith.sitofp %i : i32 to f64\n"
      "%y = arith.mulf %f, %x : f64",
      3, 3);
}
