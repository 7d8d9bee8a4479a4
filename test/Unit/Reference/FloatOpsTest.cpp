//===- FloatOpsTest.cpp - Operations on floats ----------------------------===//
//
// Each operation on all pairs (or triples) of a list of numbers, against what
// the C library gives.
//
//===----------------------------------------------------------------------===//

#include "ScalarOps.h"
#include <functional>

using namespace attn;
using namespace attn::test;

static const std::vector<double> kFloats = {0.0,   -0.0,
                                            1.0,   -1.0,
                                            0.5,   -0.5,
                                            1.5,   2.5,
                                            -2.5,  0.3,
                                            -0.7,  3.0,
                                            7.25,  -1e-3,
                                            1e3,   1e30,
                                            1e-30, 1e-310,
                                            kInf,  -kInf,
                                            kNaN,  4503599627370497.5};

/// Columns of all combinations of `samples`.
static std::vector<std::vector<double>> combine(llvm::ArrayRef<double> samples,
                                                unsigned numColumns) {
  std::vector<std::vector<double>> columns(numColumns);
  int64_t rows = 1;
  for (unsigned n = 0; n < numColumns; ++n)
    rows *= samples.size();
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t n = 0, rest = row; n < numColumns; ++n, rest /= samples.size())
      columns[n].push_back(samples[rest % samples.size()]);
  return columns;
}

static llvm::SmallVector<Column>
asColumns(llvm::ArrayRef<std::vector<double>> values) {
  llvm::SmallVector<Column> columns;
  for (const std::vector<double> &column : values)
    columns.push_back({"f64", DType::F64, column});
  return columns;
}

struct FloatCase {
  const char *op;
  std::function<double(double, double, double)> expected;
  unsigned numOperands;
};

static double round64(double x) { return std::round(x); }

/// NaN of either, as IEEE 754-2019 maximum has it.
static double maximum(double x, double y) {
  if (std::isnan(x) || std::isnan(y))
    return kNaN;
  if (x == 0 && y == 0)
    return std::signbit(x) && std::signbit(y) ? -0.0 : 0.0;
  return std::max(x, y);
}
static double maxNum(double x, double y) {
  return std::isnan(x) ? y : std::isnan(y) ? x : maximum(x, y);
}

#define UNARY(name, ...)                                                       \
  {"math." name " %a : f64",                                                   \
   [](double x, double, double) -> double { return __VA_ARGS__; }, 1}
#define ARITH(name, ...)                                                       \
  {"arith." name " %a, %b : f64",                                              \
   [](double x, double y, double) -> double { return __VA_ARGS__; }, 2}
#define MATH2(name, ...)                                                       \
  {"math." name " %a, %b : f64",                                               \
   [](double x, double y, double) -> double { return __VA_ARGS__; }, 2}

static const FloatCase kFloatCases[] = {
    ARITH("addf", x + y),
    ARITH("subf", x - y),
    ARITH("mulf", x *y),
    ARITH("divf", x / y),
    ARITH("remf", std::fmod(x, y)),
    ARITH("maximumf", maximum(x, y)),
    ARITH("minimumf", -maximum(-x, -y)),
    ARITH("maxnumf", maxNum(x, y)),
    ARITH("minnumf", -maxNum(-x, -y)),
    {"arith.negf %a : f64", [](double x, double, double) { return -x; }, 1},
    UNARY("absf", std::fabs(x)),
    UNARY("acos", std::acos(x)),
    UNARY("acosh", std::acosh(x)),
    UNARY("asin", std::asin(x)),
    UNARY("asinh", std::asinh(x)),
    UNARY("atan", std::atan(x)),
    UNARY("atanh", std::atanh(x)),
    UNARY("cbrt", std::cbrt(x)),
    UNARY("ceil", std::ceil(x)),
    UNARY("cos", std::cos(x)),
    UNARY("cosh", std::cosh(x)),
    UNARY("erf", std::erf(x)),
    UNARY("erfc", std::erfc(x)),
    UNARY("exp", std::exp(x)),
    UNARY("exp2", std::exp2(x)),
    UNARY("expm1", std::expm1(x)),
    UNARY("floor", std::floor(x)),
    UNARY("log", std::log(x)),
    UNARY("log10", std::log10(x)),
    UNARY("log1p", std::log1p(x)),
    UNARY("log2", std::log2(x)),
    UNARY("round", round64(x)),
    UNARY("roundeven", std::nearbyint(x)),
    UNARY("rsqrt", 1 / std::sqrt(x)),
    UNARY("sin", std::sin(x)),
    UNARY("sinh", std::sinh(x)),
    UNARY("sqrt", std::sqrt(x)),
    UNARY("tan", std::tan(x)),
    UNARY("tanh", std::tanh(x)),
    UNARY("trunc", std::trunc(x)),
    MATH2("atan2", std::atan2(x, y)),
    MATH2("copysign", std::copysign(x, y)),
    MATH2("powf", std::pow(x, y)),
    {"math.fma %a, %b, %c : f64",
     [](double x, double y, double z) { return std::fma(x, y, z); }, 3},
    {"math.clampf %a to [%b, %c] : f64",
     [](double x, double y, double z) { return -maximum(-maximum(x, y), -z); },
     3},
};

TEST(FloatOpsTest, FloatFunctions) {
  for (const FloatCase &test : kFloatCases) {
    auto columns = combine(kFloats, test.numOperands);
    EvaluatedTensor result =
        evaluateRows(std::string("%r = ") + test.op, "f64", asColumns(columns));
    for (size_t row = 0; row < columns[0].size(); ++row) {
      double x = columns[0][row];
      double y = test.numOperands > 1 ? columns[1][row] : 0;
      double z = test.numOperands > 2 ? columns[2][row] : 0;
      EXPECT_TRUE(isSame(result.floats[row], test.expected(x, y, z)))
          << test.op << " of " << x << ", " << y << ", " << z << " gives "
          << result.floats[row];
    }
  }
}

TEST(FloatOpsTest, SineAndCosine) {
  auto columns = combine(kFloats, 1);
  auto run = [&](const char *result) {
    return evaluateRows(std::string("%sin, %cos = math.sincos %a : f64\n"
                                    "%r = arith.negf ") +
                            result + " : f64",
                        "f64", asColumns(columns));
  };
  EvaluatedTensor sine = run("%sin"), cosine = run("%cos");
  for (size_t row = 0; row < kFloats.size(); ++row) {
    EXPECT_TRUE(isSame(sine.floats[row], -std::sin(kFloats[row])));
    EXPECT_TRUE(isSame(cosine.floats[row], -std::cos(kFloats[row])));
  }
}

TEST(FloatOpsTest, FloatPredicates) {
  auto columns = combine(kFloats, 2);
  const std::pair<const char *, std::function<bool(double, double)>> cases[] = {
      {"false", [](double, double) { return false; }},
      {"oeq", [](double x, double y) { return x == y; }},
      {"ogt", [](double x, double y) { return x > y; }},
      {"oge", [](double x, double y) { return x >= y; }},
      {"olt", [](double x, double y) { return x < y; }},
      {"ole", [](double x, double y) { return x <= y; }},
      {"one", [](double x, double y) { return x < y || x > y; }},
      {"ord", [](double x, double y) { return !std::isunordered(x, y); }},
      {"ueq",
       [](double x, double y) { return std::isunordered(x, y) || x == y; }},
      {"ugt", [](double x, double y) { return !(x <= y); }},
      {"uge", [](double x, double y) { return !(x < y); }},
      {"ult", [](double x, double y) { return !(x >= y); }},
      {"ule", [](double x, double y) { return !(x > y); }},
      {"une", [](double x, double y) { return x != y; }},
      {"uno", [](double x, double y) { return std::isunordered(x, y); }},
      {"true", [](double, double) { return true; }}};
  for (const auto &[predicate, expected] : cases) {
    EvaluatedTensor result = evaluateRows(std::string("%r = arith.cmpf ") +
                                              predicate + ", %a, %b : f64",
                                          "i1", asColumns(columns));
    for (size_t row = 0; row < columns[0].size(); ++row)
      EXPECT_EQ(result.ints[row], expected(columns[0][row], columns[1][row]))
          << predicate << " " << columns[0][row] << ", " << columns[1][row];
  }
}

TEST(FloatOpsTest, FloatClasses) {
  auto columns = combine(kFloats, 1);
  const std::pair<const char *, std::function<bool(double)>> cases[] = {
      {"isfinite", [](double x) { return std::isfinite(x); }},
      {"isinf", [](double x) { return std::isinf(x); }},
      {"isnan", [](double x) { return std::isnan(x); }},
      {"isnormal", [](double x) { return std::isnormal(x); }}};
  for (const auto &[name, expected] : cases) {
    EvaluatedTensor result =
        evaluateRows(std::string("%r = math.") + name + " %a : f64", "i1",
                     asColumns(columns));
    for (size_t row = 0; row < columns[0].size(); ++row)
      EXPECT_EQ(result.ints[row], expected(columns[0][row]))
          << name << " " << columns[0][row];
  }
  // What is normal depends on the type.
  EvaluatedTensor result =
      evaluateRows("%r = math.isnormal %a : f16", "i1",
                   Column{"f16", DType::F16, {0x1p-14, 0x1p-15, 65504, 0}});
  EXPECT_EQ(result.ints, (std::vector<int64_t>{1, 0, 1, 0}));
}

TEST(FloatOpsTest, SelectTakesFloatsAndIntegers) {
  EvaluatedTensor floats =
      evaluateRows("%r = arith.select %a, %b, %c : f32", "f32",
                   {{"i1", DType::I1, {0, 1}},
                    {"f32", DType::F32, {1, 2}},
                    {"f32", DType::F32, {3, 4}}});
  EXPECT_EQ(floats.floats, (Doubles{3, 2}));
  EvaluatedTensor ints = evaluateRows("%r = arith.select %a, %b, %c : i8", "i8",
                                      {{"i1", DType::I1, {0, 1}},
                                       {"i8", DType::I8, {1, -2}},
                                       {"i8", DType::I8, {-3, 4}}});
  EXPECT_EQ(ints.ints, (Ints{-3, -2}));
}

void attn::test::addFloatOps(std::set<std::string> &names) {
  for (const FloatCase &test : kFloatCases)
    names.insert(llvm::StringRef(test.op).split(' ').first.str());
  names.insert({"arith.cmpf", "arith.select", "math.isfinite", "math.isinf",
                "math.isnan", "math.isnormal", "math.sincos"});
}
