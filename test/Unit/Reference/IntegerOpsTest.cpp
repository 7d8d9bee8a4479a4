//===- IntegerOpsTest.cpp - Operations on integers ------------------------===//
//
// Each operation on all pairs of a list of numbers and for all widths, against
// its definition on numbers of 128 bits.
//
//===----------------------------------------------------------------------===//

#include "ScalarOps.h"
#include <functional>

using namespace attn;
using namespace attn::test;

using Wide = __int128;

struct IntCase {
  const char *op;
  /// Of the signed and the unsigned values of the operands and the width; the
  /// result is taken modulo 2^width.
  std::function<Wide(Wide x, Wide y, Wide ux, Wide uy, int width)> expected;
};

#define INT(name, ...)                                                         \
  {name, [](Wide x, Wide y, Wide ux, Wide uy, int width) -> Wide {             \
     (void)x, (void)y, (void)ux, (void)uy, (void)width;                        \
     return __VA_ARGS__;                                                       \
   }}

static Wide floorDiv(Wide x, Wide y) {
  Wide quotient = x / y;
  return quotient - (x % y != 0 && (x < 0) != (y < 0));
}
static Wide power(Wide x, Wide y) {
  if (y < 0)
    return x == 1 ? 1 : x == -1 ? (y % 2 ? -1 : 1) : 0;
  if (y == 0)
    return 1;
  uint64_t half = uint64_t(power(x, y / 2));
  return half * half * (y % 2 ? uint64_t(x) : 1);
}

static const IntCase kIntCases[] = {
    INT("arith.addi", x + y),
    INT("arith.subi", x - y),
    INT("arith.muli", x *y),
    INT("arith.divsi", y == 0 ? 0 : x / y),
    INT("arith.divui", uy == 0 ? 0 : ux / uy),
    INT("arith.ceildivsi", y == 0 ? 0 : -floorDiv(-x, y)),
    INT("arith.ceildivui", uy == 0 ? 0 : (ux + uy - 1) / uy),
    INT("arith.floordivsi", y == 0 ? 0 : floorDiv(x, y)),
    INT("arith.remsi", y == 0 ? 0 : x % y),
    INT("arith.remui", uy == 0 ? 0 : ux % uy),
    INT("arith.andi", x &y),
    INT("arith.ori", x | y),
    INT("arith.xori", x ^ y),
    INT("arith.shli", uy >= width ? 0 : ux << int(uy)),
    INT("arith.shrsi", x >> int(std::min<Wide>(uy, width))),
    INT("arith.shrui", uy >= width ? 0 : ux >> int(uy)),
    INT("arith.maxsi", std::max(x, y)),
    INT("arith.minsi", std::min(x, y)),
    INT("arith.maxui", std::max(ux, uy)),
    INT("arith.minui", std::min(ux, uy)),
    INT("math.ipowi", power(x, y)),
    INT("arith.cmpi eq,", x == y),
    INT("arith.cmpi ne,", x != y),
    INT("arith.cmpi slt,", x < y),
    INT("arith.cmpi sle,", x <= y),
    INT("arith.cmpi sgt,", x > y),
    INT("arith.cmpi sge,", x >= y),
    INT("arith.cmpi ult,", ux < uy),
    INT("arith.cmpi ule,", ux <= uy),
    INT("arith.cmpi ugt,", ux > uy),
    INT("arith.cmpi uge,", ux >= uy),
};

/// The same, on index only.
static const IntCase kIndexCases[] = {
    INT("index.add", x + y),
    INT("index.sub", x - y),
    INT("index.mul", x *y),
    INT("index.divs", y == 0 ? 0 : x / y),
    INT("index.divu", uy == 0 ? 0 : ux / uy),
    INT("index.ceildivs", y == 0 ? 0 : -floorDiv(-x, y)),
    INT("index.ceildivu", uy == 0 ? 0 : (ux + uy - 1) / uy),
    INT("index.floordivs", y == 0 ? 0 : floorDiv(x, y)),
    INT("index.rems", y == 0 ? 0 : x % y),
    INT("index.remu", uy == 0 ? 0 : ux % uy),
    INT("index.and", x &y),
    INT("index.or", x | y),
    INT("index.xor", x ^ y),
    INT("index.shl", uy >= width ? 0 : ux << int(uy)),
    INT("index.shrs", x >> int(std::min<Wide>(uy, width))),
    INT("index.shru", uy >= width ? 0 : ux >> int(uy)),
    INT("index.maxs", std::max(x, y)),
    INT("index.mins", std::min(x, y)),
    INT("index.maxu", std::max(ux, uy)),
    INT("index.minu", std::min(ux, uy)),
    INT("index.cmp eq(", x == y),
    INT("index.cmp ne(", x != y),
    INT("index.cmp slt(", x < y),
    INT("index.cmp sle(", x <= y),
    INT("index.cmp sgt(", x > y),
    INT("index.cmp sge(", x >= y),
    INT("index.cmp ult(", ux < uy),
    INT("index.cmp ule(", ux <= uy),
    INT("index.cmp ugt(", ux > uy),
    INT("index.cmp uge(", ux >= uy),
};

/// An integer type in MLIR and in memory.
struct IntType {
  std::string name;
  DType dtype;
  int width;
};

static int64_t wrapTo(Wide value, int width) {
  if (width == 1)
    return int64_t(value & 1);
  uint64_t bits = uint64_t(value) << (64 - width);
  return int64_t(bits) >> (64 - width);
}

static std::vector<int64_t> getIntSamples(int width) {
  if (width == 1)
    return {0, 1};
  std::vector<int64_t> samples = {0, 1, -1, 2, -2, 3, 5, -7, 7, 8, 31, 33, 64};
  samples.push_back(wrapTo(Wide(1) << (width - 1), width));
  samples.push_back(wrapTo((Wide(1) << (width - 1)) - 1, width));
  return samples;
}

/// Evaluates an operation on two integers for all pairs of samples. Doubles
/// cannot hold all 64-bit samples, so tensors are filled as integers.
static std::vector<int64_t> evaluateInts(const std::string &op,
                                         const IntType &type,
                                         const std::string &resultType,
                                         llvm::ArrayRef<int64_t> samples) {
  int64_t size = samples.size();
  Tensor a = llvm::cantFail(Tensor::create(type.dtype, {size * size})),
         b = llvm::cantFail(Tensor::create(type.dtype, {size * size}));
  for (int64_t row = 0; row < size * size; ++row) {
    a.setFromInt(row, samples[row % size]);
    b.setFromInt(row, samples[row / size]);
  }
  std::string count = std::to_string(size * size);
  std::string tensor = "tensor<" + count + "x" + type.name + ">";
  std::string result = "tensor<" + count + "x" + resultType + ">";
  std::string text = "func.func @f(%ta: " + tensor + ", %tb: " + tensor +
                     ") -> " + result +
                     " {\n%x = tensor.generate {\n^bb0(%at: index):\n" +
                     "%a = tensor.extract %ta[%at] : " + tensor +
                     "\n%b = tensor.extract %tb[%at] : " + tensor + "\n" + op +
                     "\ntensor.yield %r : " + resultType + "\n} : " + result +
                     "\nreturn %x : " + result + "\n}";
  return evaluate(text, {&a, &b})[0].ints;
}

static void checkInts(llvm::ArrayRef<IntCase> cases, const IntType &type) {
  int width = type.width;
  std::vector<int64_t> samples = getIntSamples(width);
  for (const IntCase &test : cases) {
    llvm::StringRef op = test.op;
    bool isPredicate = op.contains("cmp");
    std::string operation = "%r = " + op.str();
    operation += op.ends_with("(") ? "%a, %b)" : " %a, %b";
    if (!op.starts_with("index."))
      operation += " : " + type.name;
    std::vector<int64_t> results =
        evaluateInts(operation, type, isPredicate ? "i1" : type.name, samples);
    auto toSigned = [&](int64_t x) { return width == 1 ? Wide(-x) : Wide(x); };
    auto toUnsigned = [&](int64_t x) {
      return Wide(uint64_t(x) & (~uint64_t(0) >> (64 - width)));
    };
    for (size_t row = 0; row < results.size(); ++row) {
      int64_t x = samples[row % samples.size()],
              y = samples[row / samples.size()];
      Wide expected = test.expected(toSigned(x), toSigned(y), toUnsigned(x),
                                    toUnsigned(y), width);
      EXPECT_EQ(results[row], wrapTo(expected, isPredicate ? 1 : width))
          << op.str() << " " << type.name << " of " << x << " and " << y;
    }
  }
}

TEST(IntegerOpsTest, IntegersOfAllWidths) {
  checkInts(kIntCases, {"i1", DType::I1, 1});
  checkInts(kIntCases, {"i8", DType::I8, 8});
  checkInts(kIntCases, {"i16", DType::I16, 16});
  checkInts(kIntCases, {"i32", DType::I32, 32});
  checkInts(kIntCases, {"i64", DType::I64, 64});
}

TEST(IntegerOpsTest, Index) {
  IntType index = {"index", DType::I64, 64};
  checkInts(kIntCases, index);
  checkInts(kIndexCases, index);
  std::vector<int64_t> results = evaluateInts(
      "%n = index.sizeof\n%m = index.constant -3\n%t = index.bool.constant "
      "true\n%s = arith.select %t, %n, %m : index\n%r = index.add %s, %m",
      index, "index", {0});
  EXPECT_EQ(results, std::vector<int64_t>{61});
}

TEST(IntegerOpsTest, IntegersOfOneOperand) {
  for (const IntType &type : {IntType{"i1", DType::I1, 1},
                              {"i8", DType::I8, 8},
                              {"i32", DType::I32, 32},
                              {"i64", DType::I64, 64}}) {
    int width = type.width;
    std::vector<int64_t> samples = getIntSamples(width);
    auto run = [&](const std::string &name) {
      return evaluateInts("%r = " + name + " %a : " + type.name, type,
                          type.name, samples);
    };
    std::vector<int64_t> ones = run("math.ctpop"), leading = run("math.ctlz"),
                         trailing = run("math.cttz"),
                         absolute = run("math.absi");
    for (size_t row = 0; row < samples.size(); ++row) {
      uint64_t bits = uint64_t(samples[row]) & (~uint64_t(0) >> (64 - width));
      EXPECT_EQ(ones[row], wrapTo(__builtin_popcountll(bits), width));
      EXPECT_EQ(
          leading[row],
          wrapTo(bits ? __builtin_clzll(bits) - (64 - width) : width, width));
      EXPECT_EQ(trailing[row],
                wrapTo(bits ? __builtin_ctzll(bits) : width, width));
      EXPECT_EQ(
          absolute[row],
          wrapTo(samples[row] < 0 ? -Wide(samples[row]) : samples[row], width));
    }
  }
}

TEST(IntegerOpsTest, ExtendedIntegers) {
  for (const IntType &type : {IntType{"i8", DType::I8, 8},
                              {"i32", DType::I32, 32},
                              {"i64", DType::I64, 64}}) {
    int width = type.width;
    std::vector<int64_t> samples = getIntSamples(width);
    auto run = [&](const std::string &name, const std::string &result,
                   const std::string &types, const std::string &resultType) {
      return evaluateInts(
          "%low, %high = " + name + " %a, %b : " + types +
              "\n%z = arith.constant " +
              (resultType == "i1" ? "false" : "0 : " + resultType) +
              "\n%r = arith.ori %z, " + result + " : " + resultType,
          type, resultType, samples);
    };
    const std::string &name = type.name;
    auto sum = run("arith.addui_extended", "%low", name + ", i1", name),
         carry = run("arith.addui_extended", "%high", name + ", i1", "i1"),
         low = run("arith.mulsi_extended", "%low", name, name),
         highS = run("arith.mulsi_extended", "%high", name, name),
         highU = run("arith.mului_extended", "%high", name, name);
    for (size_t row = 0; row < sum.size(); ++row) {
      Wide x = samples[row % samples.size()], y = samples[row / samples.size()];
      Wide mask = ~uint64_t(0) >> (64 - width);
      Wide ux = x & mask, uy = y & mask;
      EXPECT_EQ(sum[row], wrapTo(x + y, width));
      EXPECT_EQ(carry[row], int64_t((ux + uy) >> width));
      EXPECT_EQ(low[row], wrapTo(x * y, width));
      EXPECT_EQ(highS[row], wrapTo((x * y) >> width, width));
      EXPECT_EQ(
          highU[row],
          wrapTo(((unsigned __int128)(ux) * (unsigned __int128)(uy)) >> width,
                 width));
    }
  }
}

void attn::test::addIntegerOps(std::set<std::string> &names) {
  for (const IntCase &test : kIntCases)
    names.insert(llvm::StringRef(test.op).split(' ').first.str());
  for (const IntCase &test : kIndexCases)
    names.insert(llvm::StringRef(test.op).split(' ').first.str());
  names.insert({"arith.addui_extended", "arith.mulsi_extended",
                "arith.mului_extended", "index.bool.constant", "index.constant",
                "index.sizeof", "math.absi", "math.ctlz", "math.ctpop",
                "math.cttz"});
}
