//===- ArgSpecTest.cpp - Tests of arguments described in text -------------===//

#include "attn/Support/ArgSpec.h"
#include "TestHelpers.h"
#include "attn/Support/Npy.h"
#include "attn/Support/Random.h"
#include <cmath>

using namespace attn;
using Kind = ArgSpec::Kind;

static ArgSpec parse(llvm::StringRef text) {
  llvm::Expected<ArgSpec> spec = ArgSpec::parse(text);
  if (spec)
    return *spec;
  ADD_FAILURE() << text.str() << ": " << messageOf(spec.takeError());
  return {};
}

static std::string parseError(llvm::StringRef text) {
  return messageOf(ArgSpec::parse(text));
}

TEST(ArgSpecTest, generators) {
  ArgSpec randn = parse("randn");
  EXPECT_EQ(randn.kind, Kind::Randn);
  EXPECT_FALSE(randn.shape);
  EXPECT_EQ(parse("randn:2x8x1000x64").shape, Shape({2, 8, 1000, 64}));
  EXPECT_EQ(parse("arange:7").kind, Kind::Arange);
  EXPECT_EQ(parse("arange:0").shape, Shape({0}));

  ArgSpec uniform = parse("uniform(-1,1.5):4x5");
  EXPECT_EQ(uniform.kind, Kind::Uniform);
  EXPECT_EQ(uniform.lo, -1);
  EXPECT_EQ(uniform.hi, 1.5);
  EXPECT_EQ(uniform.shape, Shape({4, 5}));

  ArgSpec randint = parse("randint( 0 , 10 )");
  EXPECT_EQ(randint.kind, Kind::RandInt);
  EXPECT_EQ(randint.intLo, 0);
  EXPECT_EQ(randint.intHi, 10);
}

TEST(ArgSpecTest, blocks) {
  ArgSpec blocks = parse("blocks(0.25):2x3");
  EXPECT_EQ(blocks.kind, Kind::Blocks);
  EXPECT_EQ(blocks.lo, 0.25);
  EXPECT_EQ(blocks.shape, Shape({2, 3}));
  Tensor bits = llvm::cantFail(Tensor::create(DType::I1, {64, 64}));
  ASSERT_EQ(messageOf(fill(bits, parse("blocks(0.25)"), 5, 6)), "");
  int64_t count = 0;
  for (int64_t k = 0; k < 64 * 64; ++k) {
    EXPECT_EQ(bits.getAsInt(k) != 0, hasBlock(parse("blocks(0.25)"), 5, 6, k));
    count += bits.getAsInt(k) != 0;
  }
  EXPECT_NEAR(double(count) / (64 * 64), 0.25, 0.03);
  for (double p : {0, 1}) {
    ArgSpec spec = parse(p == 0 ? "blocks(0)" : "blocks(1)");
    for (int64_t k = 0; k < 100; ++k)
      EXPECT_EQ(hasBlock(spec, 1, 2, k), p == 1);
  }
  for (const char *text : {"blocks(1.5)", "blocks(-1)", "blocks(nan)"}) {
    std::string number = llvm::StringRef(text).drop_front(7).str();
    EXPECT_EQ(parseError(text), std::string("expects a probability from 0 to 1 "
                                            "at column 8 of '") +
                                    text + "', but got '" + number + "'");
  }
  Tensor ints = llvm::cantFail(Tensor::create(DType::I32, {4}));
  EXPECT_EQ(messageOf(fill(ints, parse("blocks(0.5)"), 0, 0)),
            "expects blocks(0.5) to be for i1, or for the rows of a sparsity, "
            "but got i32");
}

TEST(ArgSpecTest, numbers) {
  ArgSpec real = parse("full(3.5):2x2");
  EXPECT_EQ(real.kind, Kind::Full);
  EXPECT_EQ(real.lo, 3.5);
  EXPECT_FALSE(real.isInteger);
  EXPECT_EQ(parse("-3.5e-2").lo, -0.035);
  EXPECT_EQ(parse("full(-inf)").lo, -HUGE_VAL);
  EXPECT_TRUE(std::isnan(parse("nan").lo));
  ArgSpec integer = parse("9223372036854775807:3");
  EXPECT_TRUE(integer.isInteger);
  EXPECT_EQ(integer.intLo, INT64_MAX);
  EXPECT_EQ(integer.shape, Shape({3}));
}

TEST(ArgSpecTest, files) {
  EXPECT_EQ(parse("q.npy").kind, Kind::File);
  EXPECT_EQ(parse("randn.npy").text, "randn.npy");
  EXPECT_EQ(parse("full(3).npy").kind, Kind::File);
  EXPECT_EQ(parse("./q").text, "./q");
}

TEST(ArgSpecTest, text) {
  EXPECT_EQ(parse("uniform(-1, 0.1):2x3").text, "uniform(-1, 0.1)");
  EXPECT_EQ(parse("randn").text, "randn");
  EXPECT_EQ(parse("3.25:2x3").text, "3.25");
}

TEST(ArgSpecTest, parseErrors) {
  std::string what =
      "expects randn, uniform(lo,hi), randint(lo,hi), arange, "
      "blocks(p), full(x), a number or a .npy file at column 1 of ";
  EXPECT_EQ(parseError("rnadn:2x3"), what + "'rnadn:2x3', but got 'rnadn:2x3'");
  EXPECT_EQ(parseError(""), what + "'', but got the end");
  EXPECT_EQ(parseError("randn2"),
            "expects ':' and a shape, or the end, at column 6 of 'randn2', but "
            "got '2'");
  EXPECT_EQ(parseError("randn:"),
            "expects a size at column 7 of 'randn:', but got the end");
  EXPECT_EQ(parseError("randn:2xx3"),
            "expects a size at column 9 of 'randn:2xx3', but got 'x3'");
  EXPECT_EQ(parseError("randn:2x-3"),
            "expects a size at column 9 of 'randn:2x-3', but got '-3'");
  EXPECT_EQ(parseError("randn:2,3"),
            "expects 'x' and a size, or the end, at column 8 of 'randn:2,3', "
            "but got ',3'");
  EXPECT_EQ(parseError("randn:9223372036854775808"),
            "expects a size below 2^63 at column 7 of "
            "'randn:9223372036854775808', but got '9223372036854775808'");
  EXPECT_EQ(parseError("uniform"),
            "expects '(' at column 8 of 'uniform', but got the end");
  EXPECT_EQ(parseError("uniform(0:3"),
            "expects ',' at column 10 of 'uniform(0:3', but got ':3'");
  EXPECT_EQ(parseError("uniform(0,a)"),
            "expects a number at column 11 of 'uniform(0,a)', but got 'a)'");
  EXPECT_EQ(parseError("uniform(0,1"),
            "expects ')' at column 12 of 'uniform(0,1', but got the end");
  EXPECT_EQ(parseError("uniform(1,-1)"),
            "expects finite lo < hi at column 9 of 'uniform(1,-1)', but got "
            "'1,-1)'");
  EXPECT_EQ(parseError("uniform(0,inf)"),
            "expects finite lo < hi at column 9 of 'uniform(0,inf)', but got "
            "'0,inf)'");
  EXPECT_EQ(parseError("randint(0,0.5)"),
            "expects a 64-bit integer at column 11 of 'randint(0,0.5)', but "
            "got '0.5)'");
  EXPECT_EQ(parseError("randint(3,3)"),
            "expects lo < hi at column 9 of 'randint(3,3)', but got '3,3)'");
  EXPECT_EQ(parseError("full()"),
            "expects a number at column 6 of 'full()', but got ')'");
  EXPECT_EQ(parseError("full(1e999)"),
            "expects a number within the range of f64 at column 6 of "
            "'full(1e999)', but got '1e999)'");
}

//===----------------------------------------------------------------------===//
// fill and makeTensor
//===----------------------------------------------------------------------===//

static std::string fillError(llvm::StringRef text, DType dtype,
                             llvm::ArrayRef<int64_t> shape) {
  Tensor tensor = makeZeros(dtype, shape);
  return messageOf(fill(tensor, parse(text), 0, 0));
}

TEST(ArgFillTest, elementsAreNumbersOfTheStream) {
  RandomStream random(5, 6);
  Tensor normal = makeZeros(DType::F64, {3, 5});
  ASSERT_EQ(messageOf(fill(normal, parse("randn"), 5, 6)), "");
  Tensor uniform = makeZeros(DType::F64, {3, 5});
  ASSERT_EQ(messageOf(fill(uniform, parse("uniform(-1,1):3x5"), 5, 6)), "");
  Tensor integers = makeZeros(DType::I8, {3, 5});
  ASSERT_EQ(messageOf(fill(integers, parse("randint(0,10)"), 5, 6)), "");
  Tensor range = makeZeros(DType::I32, {3, 5});
  ASSERT_EQ(messageOf(fill(range, parse("arange"), 5, 6)), "");
  for (int64_t k = 0; k < 15; ++k) {
    EXPECT_EQ(normal.getAsDouble(k), random.getNormal(k));
    EXPECT_EQ(uniform.getAsDouble(k), random.getUniform(k, -1, 1));
    EXPECT_EQ(integers.getAsInt(k), random.getInt(k, 0, 10));
    EXPECT_EQ(range.getAsInt(k), k);
  }
}

TEST(ArgFillTest, constants) {
  Tensor real = makeZeros(DType::BF16, {3});
  ASSERT_EQ(messageOf(fill(real, parse("full(3.5)"), 0, 0)), "");
  EXPECT_EQ(real.getAsDouble(2), 3.5);
  ASSERT_EQ(messageOf(fill(real, parse("-inf"), 0, 0)), "");
  EXPECT_EQ(real.getAsDouble(2), -HUGE_VAL);
  Tensor integer = makeZeros(DType::I64, {});
  ASSERT_EQ(messageOf(fill(integer, parse("9007199254740993"), 0, 0)), "");
  EXPECT_EQ(integer.getAsInt(0), 9007199254740993);
  Tensor boolean = makeZeros(DType::I1, {3});
  ASSERT_EQ(messageOf(fill(boolean, parse("full(1)"), 0, 0)), "");
  EXPECT_EQ(boolean.getAsInt(2), 1);
}

TEST(ArgFillTest, errors) {
  EXPECT_EQ(fillError("randn", DType::I32, {2}),
            "expects integers for i32, but got randn; randint(lo,hi), arange "
            "and full(n) make integers");
  EXPECT_EQ(fillError("0.5", DType::I1, {2}),
            "expects integers for i1, but got 0.5; randint(lo,hi), arange "
            "and full(n) make integers");
  EXPECT_EQ(fillError("randint(0,1000)", DType::I8, {2}),
            "expects integers from -128 to 127 for i8, but got "
            "randint(0,1000), which makes 999");
  EXPECT_EQ(fillError("randint(-200,0)", DType::I8, {2}),
            "expects integers from -128 to 127 for i8, but got "
            "randint(-200,0), which makes -200");
  EXPECT_EQ(fillError("arange", DType::I1, {3}),
            "expects integers from 0 to 1 for i1, but got arange, which makes "
            "2");
  EXPECT_EQ(fillError("arange", DType::I1, {2}), "");
  EXPECT_EQ(fillError("arange", DType::I1, {0}), "");
  EXPECT_EQ(fillError("65520.0", DType::F16, {1}),
            "expects numbers that f16 can hold, but got 65520.0");
  EXPECT_EQ(fillError("65519.0", DType::F16, {1}), "");
  EXPECT_EQ(fillError("randint(0,70000)", DType::F16, {1}),
            "expects numbers that f16 can hold, but got randint(0,70000)");
  EXPECT_EQ(fillError("uniform(0,1e39)", DType::F32, {1}),
            "expects numbers that f32 can hold, but got uniform(0,1e39)");
  EXPECT_EQ(fillError("1e39", DType::BF16, {1}),
            "expects numbers that bf16 can hold, but got 1e39");
  EXPECT_EQ(fillError("randn:2x3", DType::F32, {6}),
            "expects 6xf32, but got 2x3xf32");
  EXPECT_EQ(fillError("q.npy", DType::F32, {6}),
            "expects a generator, but got the file 'q.npy'");
}

static std::string makeError(llvm::StringRef text, DType dtype,
                             llvm::ArrayRef<int64_t> shape) {
  return messageOf(makeTensor(parse(text), dtype, shape, 0, 0));
}

TEST(MakeTensorTest, shapes) {
  Tensor open =
      llvm::cantFail(makeTensor(parse("randn:2x3"), DType::F32, {-1, 3}, 0, 0));
  EXPECT_EQ(open.getShape(), llvm::ArrayRef<int64_t>({2, 3}));
  Tensor fixed =
      llvm::cantFail(makeTensor(parse("randn"), DType::F32, {2, 3}, 0, 0));
  EXPECT_EQ(fixed.getShape(), llvm::ArrayRef<int64_t>({2, 3}));
  Tensor scalar = llvm::cantFail(makeTensor(parse("7"), DType::I64, {}, 0, 0));
  EXPECT_EQ(scalar.getAsInt(0), 7);
}

TEST(MakeTensorTest, errors) {
  EXPECT_EQ(makeError("randn", DType::F32, {-1, 8}),
            "expects a shape for ?x8xf32, as in 'randn:16x8', but got 'randn'");
  EXPECT_EQ(makeError("randn:2x3", DType::F32, {-1, 8}),
            "expects ?x8xf32, but got 2x3xf32");
  EXPECT_EQ(makeError("randn:2", DType::F32, {-1, 8}),
            "expects ?x8xf32, but got 2xf32");
  EXPECT_EQ(
      makeError("randn:1000000x1000000x1000000", DType::F32, {-1, -1, -1}),
      "cannot allocate 3.5 EiB for tensor 1000000x1000000x1000000xf32");
  EXPECT_EQ(makeError("randn", DType::I32, {2}),
            "expects integers for i32, but got randn; randint(lo,hi), arange "
            "and full(n) make integers");
  EXPECT_EQ(makeError("no/such.npy", DType::F32, {2}),
            "cannot read 'no/such.npy': No such file or directory");
}

TEST(MakeTensorTest, files) {
  TemporaryDirectory directory;
  Tensor tensor = makeZeros(DType::F32, {2, 3});
  tensor.fill(4);
  std::string path = directory / "t.npy";
  ASSERT_EQ(messageOf(writeNpy(path, tensor)), "");
  Tensor read =
      llvm::cantFail(makeTensor(parse(path), DType::F32, {-1, 3}, 0, 0));
  EXPECT_EQ(read.getAsDouble(5), 4);
  EXPECT_EQ(makeError(path, DType::F32, {2, 4}),
            "cannot read '" + path + "': expects 2x4xf32, but got 2x3xf32");
}
