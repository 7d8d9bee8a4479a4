//===- ExprTest.cpp - Expressions, captures and their errors --------------===//

#include "attn/Builder/AttentionSpec.h"
#include "attn/Builder/Masks.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "gtest/gtest.h"
#include <atomic>
#include <cmath>
#include <limits>
#include <thread>

using namespace attn;

/// The text of the module, or the error.
static std::string build(const AttentionSpec &spec) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> module =
      spec.build(&context);
  if (!module)
    return llvm::toString(module.takeError());
  std::string text;
  llvm::raw_string_ostream os(text);
  (*module)->print(os);
  return text;
}

static std::string buildMask(Mask::Function function) {
  AttentionSpec spec;
  spec.mask(std::move(function));
  return build(spec);
}

/// Whether an expression of literals is the literal true.
static bool isTrue(const Expr &expr) {
  std::string text = buildMask([&](const MaskArgs &) { return expr; });
  return text.find("attn.yield %true") != std::string::npos;
}

static size_t count(const std::string &text, const std::string &part) {
  size_t number = 0;
  for (size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + 1))
    ++number;
  return number;
}

//===----------------------------------------------------------------------===//
// Literals
//===----------------------------------------------------------------------===//

TEST(Literals, OfIntegers) {
  constexpr int64_t kMin = INT64_MIN, kMax = INT64_MAX;
  EXPECT_TRUE(isTrue(Expr(1) + Expr(2) == 3));
  EXPECT_TRUE(isTrue(Expr(1) - Expr(2) == -1));
  EXPECT_TRUE(isTrue(Expr(16) * 2 == 32));
  EXPECT_TRUE(isTrue(-Expr(5) == -5));
  EXPECT_TRUE(isTrue(+Expr(5) == 5));
  // As the compiled code has them.
  EXPECT_TRUE(isTrue(Expr(kMax) + 1 == kMin));
  EXPECT_TRUE(isTrue(-Expr(kMin) == kMin));
  EXPECT_TRUE(isTrue(Expr(kMin) / -1 == kMin));
  EXPECT_TRUE(isTrue(Expr(kMin) % -1 == 0));
  EXPECT_TRUE(isTrue(floorDiv(kMin, -1) == kMin));
  EXPECT_TRUE(isTrue(Expr(-7) / 2 == -3 && Expr(-7) % 2 == -1));
  EXPECT_TRUE(isTrue(floorDiv(-7, 2) == -4 && floorMod(-7, 2) == 1));
  EXPECT_TRUE(isTrue(floorDiv(7, -2) == -4 && floorMod(7, -2) == -1));
  EXPECT_TRUE(isTrue(Expr(7) / 0 == 0 && Expr(7) % 0 == 0));
  EXPECT_TRUE(isTrue(floorDiv(7, 0) == 0 && floorMod(7, 0) == 0));
  EXPECT_TRUE(isTrue(min(3, 4) == 3 && max(3, 4) == 4));
  EXPECT_TRUE(isTrue(toFloat(3) == 3.0 && toInt(3) == 3));
}

TEST(Literals, OfFloats) {
  EXPECT_TRUE(isTrue(-Expr(1e4) == -1e4));
  EXPECT_TRUE(isTrue(Expr(1) + Expr(0.5) == 1.5));
  EXPECT_TRUE(isTrue(Expr(1.0) / 4 == 0.25));
  EXPECT_TRUE(isTrue(toInt(3.5) == 3 && toInt(-3.5) == -3));
  EXPECT_TRUE(isTrue(exp(0.0) == 1 && exp(0) == 1));
  EXPECT_TRUE(isTrue(sqrt(4.0) == 2 && rsqrt(4.0) == 0.5));
  EXPECT_TRUE(isTrue(pow(2.0, 3) == 8 && floor(-0.5) == -1.0));
  EXPECT_TRUE(isTrue(Expr(NAN) != NAN && !(Expr(NAN) == NAN)));
  EXPECT_TRUE(isTrue(min(NAN, 1.0) != min(NAN, 1.0)));
  EXPECT_TRUE(isTrue(max(1.0, NAN) != max(1.0, NAN)));
  EXPECT_TRUE(isTrue(min(1.0, 2.0) == 1.0 && max(1.0, 2.0) == 2.0));
  EXPECT_TRUE(isTrue(Expr(1.0) / max(-0.0, 0.0) == INFINITY));
}

TEST(Literals, OfBooleans) {
  EXPECT_TRUE(isTrue(!Expr(false)));
  EXPECT_FALSE(isTrue(!Expr(true)));
  EXPECT_TRUE(isTrue(Expr(true) && true));
  EXPECT_TRUE(isTrue(Expr(false) || true));
  EXPECT_TRUE(isTrue(Expr(true) == true && Expr(true) != false));
  EXPECT_TRUE(isTrue(Expr(1) < 2 && Expr(2) >= 2 && Expr(3) > 2.5));
  EXPECT_TRUE(isTrue(select(true, 1, 2) == 1 && select(false, 1, 2.5) == 2.5));
  EXPECT_TRUE(isTrue((!Mask([](const MaskArgs &) { return Expr(false); }))(
      MaskArgs{0, 0, 0, 0, 0, 0})));
}

TEST(Literals, WithValues) {
  std::string text = buildMask([](const MaskArgs &at) {
    return at.j < Expr(1) + Expr(2) && select(true, at.i, 5) < 7;
  });
  EXPECT_EQ(count(text, "arith.constant 3 : index"), 1u) << text;
  EXPECT_EQ(count(text, "arith.select"), 0u) << text;
}

TEST(Literals, OfOtherIntegers) {
  EXPECT_TRUE(isTrue(Expr(int8_t(-3)) == -3));
  EXPECT_TRUE(isTrue(Expr(int16_t(-3)) == -3));
  EXPECT_TRUE(isTrue(Expr(3u) == 3));
  EXPECT_TRUE(isTrue(Expr(-3ll) == -3));
  EXPECT_TRUE(isTrue(Expr(size_t(3)) == 3));
  EXPECT_TRUE(isTrue(Expr(uint64_t(INT64_MAX)) == INT64_MAX));
  EXPECT_FALSE((std::is_constructible_v<Expr, char>));
  EXPECT_FALSE((std::is_constructible_v<Expr, const char *>));
  EXPECT_EQ(buildMask([](const MaskArgs &at) { return at.j < UINT64_MAX; }),
            "the mask of 'attention' expects operands of '<' with a value, but "
            "got an integer literal beyond 64 bits");
}

TEST(Literals, ThatDoNotFit) {
  EXPECT_EQ(buildMask([](const MaskArgs &) { return Expr(1) + true; }),
            "the mask of 'attention' expects operands of '+' to have the same "
            "type, but got int and bool");
  EXPECT_EQ(buildMask([](const MaskArgs &) { return !Expr(1); }),
            "the mask of 'attention' expects operands of '!' of another type "
            "than float");
  Expr outside = Expr(1) + true;
  EXPECT_EQ(buildMask([&](const MaskArgs &at) { return at.j < outside; }),
            "the mask of 'attention' expects operands of '<' with a value, but "
            "got literals that do not fit their operation");
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

TEST(Expr, CompoundAssignment) {
  std::string text = buildMask([](const MaskArgs &at) {
    Expr x = at.i;
    x += 1;
    x -= at.j;
    x *= 2;
    x /= 3;
    x %= 4;
    return +x == 0;
  });
  for (const char *op : {"addi", "subi", "muli", "divsi", "remsi"})
    EXPECT_EQ(count(text, std::string("arith.") + op), 1u) << text;
}

TEST(Expr, MovingCopies) {
  std::string text = buildMask([](const MaskArgs &at) {
    Expr x = at.i + 1;
    Expr y = std::move(x);
    return x == y;
  });
  EXPECT_EQ(count(text, "arith.cmpi"), 1u) << text;
}

TEST(Expr, OfAnotherFunction) {
  Expr kept(0);
  AttentionSpec spec;
  spec.mask([&](const MaskArgs &at) {
    kept = at.i;
    return at.j <= at.i;
  });
  EXPECT_EQ(count(build(spec), "arith.cmpi"), 1u);
  EXPECT_EQ(buildMask([&](const MaskArgs &at) { return at.j <= kept; }),
            "the mask of 'attention' expects operands of '<=' to belong to one "
            "function");
}

//===----------------------------------------------------------------------===//
// Captures
//===----------------------------------------------------------------------===//

static constexpr char kOfAnother[] =
    "the score of 'attention' expects captures of its specification, but reads "
    "the element of a capture of another specification";

TEST(Captures, OfACopy) {
  AttentionSpec spec;
  Capture shared = spec.capture("shared", DType::F32, {8});
  AttentionSpec copy = spec;
  Capture ofCopy = copy.capture("copied", DType::F32, {8});
  spec.capture("own", DType::F32, {8});
  auto read = [](const Capture &capture) {
    return [=](const ScoreArgs &at) { return at.s + capture[{at.j}]; };
  };
  copy.score(read(shared));
  EXPECT_EQ(count(build(copy), "tensor.extract"), 1u);
  copy.score(read(ofCopy));
  EXPECT_EQ(count(build(copy), "tensor.extract"), 1u);
  spec.score(read(ofCopy));
  EXPECT_EQ(build(spec), kOfAnother);
  spec.score(
      [=](const ScoreArgs &at) { return at.s + toFloat(ofCopy.extent(0)); });
  EXPECT_EQ(build(spec), kOfAnother);
}

TEST(Captures, ThatAFunctionAdds) {
  AttentionSpec spec;
  spec.capture("first", DType::F32, {8});
  spec.score([&](const ScoreArgs &at) {
    return at.s + spec.capture("late", DType::F32, {8})[{at.j}];
  });
  EXPECT_EQ(build(spec), kOfAnother);
}

TEST(Captures, OutsideOfFunctions) {
  AttentionSpec spec;
  Capture capture = spec.capture("c", DType::F32, {8});
  Expr element = exp(capture[{0}] + 1);
  EXPECT_EQ(buildMask([=](const MaskArgs &) { return element < 1; }),
            "the mask of 'attention' expects operands of '<' with a value, but "
            "got the element of a capture outside of a function");
}

TEST(Captures, Moved) {
  AttentionSpec spec;
  Capture capture = spec.capture("c", DType::F32, {8});
  Capture moved = std::move(capture);
  spec.score([=](const ScoreArgs &at) {
    return at.s + moved[{at.j}] + capture[{at.i}];
  });
  EXPECT_EQ(count(build(spec), "tensor.extract"), 2u);
}

TEST(Captures, NameTheirErrors) {
  AttentionSpec spec;
  Capture capture = spec.capture("table", DType::F32, {8, 8});
  spec.score([=](const ScoreArgs &at) { return at.s + capture[{at.j}]; });
  EXPECT_EQ(build(spec), "the score of 'attention' expects an index for each "
                         "of 2 dimensions of 'table', but got 1");
  spec.score([=](const ScoreArgs &at) { return at.s + capture[{at.s, 0}]; });
  EXPECT_EQ(build(spec), "the score of 'attention' expects indices of 'table' "
                         "that are int, but got float");
  spec.score(
      [=](const ScoreArgs &at) { return at.s + toFloat(capture.extent(2)); });
  EXPECT_EQ(build(spec), "the score of 'attention' expects a dimension of "
                         "'table', but got 2");
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

TEST(AttentionSpec, BuildsInThreads) {
  AttentionSpec spec;
  Capture capture = spec.capture("c", DType::F32, {8});
  spec.score([=](const ScoreArgs &at) {
    Expr sum = at.s;
    for (int n = 0; n != 50; ++n)
      sum += capture[{at.j}];
    return sum;
  });
  spec.mask([=](const MaskArgs &at) { return capture[{at.j}] < 5.0; });
  for (bool isShared : {true, false}) {
    std::atomic<int> numWrong = 0;
    std::vector<std::thread> threads;
    for (int thread = 0; thread != 4; ++thread)
      threads.emplace_back([&] {
        AttentionSpec copy = spec;
        const AttentionSpec &own = isShared ? spec : copy;
        for (int n = 0; n != 20; ++n)
          numWrong += count(build(own), "tensor.extract") != 51;
      });
    for (std::thread &thread : threads)
      thread.join();
    EXPECT_EQ(numWrong, 0) << isShared;
  }
}

TEST(AttentionSpec, BuildsWithinFunctions) {
  AttentionSpec spec;
  Capture capture = spec.capture("c", DType::F32, {8});
  int depth = 0;
  spec.score([&](const ScoreArgs &at) {
    if (depth++ == 0) {
      EXPECT_EQ(count(build(spec), "tensor.extract"), 1u);
    }
    return at.s + capture[{at.j}];
  });
  EXPECT_EQ(count(build(spec), "tensor.extract"), 1u);
}

TEST(AttentionSpec, EmptyFunctionsAreNone) {
  AttentionSpec spec;
  spec.score(nullptr);
  spec.mask(nullptr);
  std::string text = build(spec);
  EXPECT_EQ(count(text, "attn.attention"), 1u) << text;
  EXPECT_EQ(count(text, "attn.yield"), 0u) << text;
}

TEST(AttentionSpec, MasksOfEmptyFunctions) {
  AttentionSpec spec;
  spec.mask(Mask(Mask::Function()));
  std::string error = "the mask of 'attention' expects masks that are "
                      "functions, but got an empty one";
  EXPECT_EQ(build(spec), error);
  Expr (*none)(const MaskArgs &) = nullptr;
  spec.mask(Mask(none) && masks::causal());
  EXPECT_EQ(build(spec), error);
  spec.mask(masks::prefix(Mask::Function()));
  EXPECT_EQ(build(spec), "the mask of 'attention' expects numbers that are "
                         "functions, but got an empty one in 'prefix'");
}

TEST(AttentionSpec, MovedMasks) {
  AttentionSpec spec;
  Mask mask = masks::causal();
  Mask moved = std::move(mask);
  spec.mask(moved && mask);
  EXPECT_EQ(count(build(spec), "arith.cmpi"), 2u);
}

TEST(AttentionSpec, LongChainsOfMasksShareTheirParts) {
  Mask mask = masks::causal();
  for (int n = 0; n != 2000; ++n)
    mask = mask || masks::prefix(n);
  AttentionSpec spec;
  spec.mask(mask);
  EXPECT_EQ(count(build(spec), "arith.ori"), 2000u);
}

TEST(AttentionSpec, UnknownEnumerators) {
  AttentionSpec spec;
  Sparsity sparsity;
  sparsity.format = static_cast<Sparsity::Format>(9);
  spec.sparsity(sparsity);
  EXPECT_EQ(build(spec), "expects the sparsity of 'attention' to be bits or "
                         "lists, but got format 9");
  sparsity.format = Sparsity::Format::Lists;
  sparsity.dtype = static_cast<DType>(99);
  spec.sparsity(sparsity);
  EXPECT_EQ(build(spec),
            "expects the lists of 'attention' to have an element type");
  CompileOptions options;
  options.device = static_cast<DeviceKind>(7);
  EXPECT_EQ(llvm::toString(AttentionSpec().compile(options).takeError()),
            "error: expects a device that is CPU or Cuda, but got 7");
}

TEST(AttentionSpec, ExtentsOfAllNumbers) {
  // Numbers that keys of hash maps are not.
  for (int64_t extent :
       {INT64_MAX, INT64_MAX - 1, INT64_MAX - 2, int64_t(INT32_MAX)}) {
    AttentionSpec spec;
    Capture table = spec.capture("table", DType::F32, {extent});
    spec.score([=](const ScoreArgs &at) { return at.s + table[{at.j}]; });
    CompileOptions options;
    options.optLevel = 0;
    llvm::Expected<Kernel> kernel = spec.compile(options);
    EXPECT_TRUE(bool(kernel));
    if (!kernel)
      llvm::consumeError(kernel.takeError());
  }
}

TEST(AttentionSpec, ExtentsBeyondThoseOfSequences) {
  AttentionSpec spec;
  spec.numQueries = INT64_MAX;
  EXPECT_EQ(build(spec),
            "error: 'attn.attention' op expects q to have extents below 2^31, "
            "but got 9223372036854775807");
  spec.numQueries = INT32_MAX;
  EXPECT_EQ(count(build(spec), "attn.attention"), 1u);
}
