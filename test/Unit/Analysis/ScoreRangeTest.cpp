//===- ScoreRangeTest.cpp - What a score may be ---------------------------===//
//
// Ranges of random scores, of operations that have one, hold the values of the
// same functions in C++. Those of some scores are known exactly.
//
//===----------------------------------------------------------------------===//

#include "attn/Analysis/ScoreRange.h"
#include "RandomRegion.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"
#include <cmath>
#include <functional>
#include <limits>

using namespace mlir;
using namespace mlir::attn::test;
using mlir::attn::FloatRange;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

namespace {
/// A score, and what it gives.
struct Expression {
  std::string name;
  std::function<double(double)> value;
};

class RandomScore {
public:
  explicit RandomScore(unsigned seed) : random(seed) {}
  Expression make(unsigned depth);
  std::string body;

private:
  Expression define(const std::string &text,
                    std::function<double(double)> value) {
    std::string name = "%v" + std::to_string(count++);
    body += name + " = " + text + " : f32\n";
    return {name, std::move(value)};
  }

  RandomRegion random;
  unsigned count = 0;
};
} // namespace

Expression RandomScore::make(unsigned depth) {
  if (depth == 0 && random.pick(0, 2) > 0)
    return {"%s", [](double s) { return s; }};
  if (depth == 0) {
    auto value = static_cast<double>(random.pick(-3, 3)) / 2;
    return define("arith.constant " + std::to_string(value),
                  [value](double) { return value; });
  }
  using Unary = double (*)(double);
  using Binary = double (*)(double, double);
  static const std::pair<const char *, Unary> unary[] = {
      {"math.tanh", std::tanh},
      {"math.sin", std::sin},
      {"math.cos", std::cos},
      {"math.erf", std::erf},
      {"math.atan", std::atan},
      {"math.exp", std::exp},
      {"math.exp2", std::exp2},
      {"math.absf", [](double x) { return std::abs(x); }},
      {"arith.negf", [](double x) { return -x; }}};
  static const std::pair<const char *, Binary> binary[] = {
      {"arith.addf", [](double x, double y) { return x + y; }},
      {"arith.subf", [](double x, double y) { return x - y; }},
      {"arith.mulf", [](double x, double y) { return x * y; }},
      {"arith.divf", [](double x, double y) { return x / y; }},
      // NaN if one of them is.
      {"arith.maximumf",
       [](double x, double y) { return x > y    ? x
                                       : x <= y ? y
                                                : x + y; }},
      {"arith.minimumf", [](double x, double y) {
         return x < y ? x : x >= y ? y : x + y;
       }}};
  if (random.pick(0, 1)) {
    auto [op, function] = unary[random.pick(0, std::size(unary) - 1)];
    Expression x = make(depth - 1);
    return define(std::string(op) + " " + x.name,
                  [function = function, value = x.value](double s) {
                    return function(value(s));
                  });
  }
  auto [op, function] = binary[random.pick(0, std::size(binary) - 1)];
  Expression x = make(depth - 1), y = make(depth - 1);
  return define(std::string(op) + " " + x.name + ", " + y.name,
                [function = function, a = x.value, b = y.value](double s) {
                  return function(a(s), b(s));
                });
}

static FloatRange getRange(MLIRContext &context, const std::string &body) {
  OwningOpRef<ModuleOp> module = parse(context, makeOnlineAttention(body, ""));
  return mlir::attn::getScoreRange(getAttention(*module).getScore());
}

TEST(ScoreRange, HoldsAllValues) {
  std::unique_ptr<MLIRContext> context = makeContext();
  unsigned bounded = 0;
  for (unsigned seed = 0; seed < 500; ++seed) {
    RandomScore random(seed);
    Expression score = random.make(1 + seed % 5);
    std::string body = random.body + "attn.yield " + score.name + " : f32";
    FloatRange range = getRange(*context, body);
    bounded += range.low > -kInfinity && range.high < kInfinity;
    for (double s : {-1e30, -300.0, -20.0, -2.0, -0.7, 0.0, 0.3, 1.0, 5.0, 31.0,
                     700.0, 1e30}) {
      double value = score.value(s),
             slack = std::isinf(value) ? 0 : 1e-12 * std::abs(value);
      ASSERT_TRUE(std::isnan(value) ||
                  (range.low <= value + slack && value - slack <= range.high))
          << value << " is not from " << range.low << " to " << range.high
          << "\n"
          << body;
    }
  }
  EXPECT_GT(bounded, 100u);
}

TEST(ScoreRange, IsKnownOfCommonScores) {
  std::unique_ptr<MLIRContext> context = makeContext();
  // A soft-cap.
  FloatRange cap = getRange(*context, R"(
    %cap = arith.constant 20.0 : f32
    %x = arith.divf %s, %cap : f32
    %t = math.tanh %x : f32
    %y = arith.mulf %t, %cap : f32
    attn.yield %y : f32)");
  EXPECT_EQ(cap.low, -20);
  EXPECT_EQ(cap.high, 20);
  // The logistic function.
  FloatRange logistic = getRange(*context, R"(
    %one = arith.constant 1.0 : f32
    %n = arith.negf %s : f32
    %e = math.exp %n : f32
    %d = arith.addf %e, %one : f32
    %y = arith.divf %one, %d : f32
    attn.yield %y : f32)");
  EXPECT_EQ(logistic.low, 0);
  EXPECT_EQ(logistic.high, 1);
  // A choice of two, one of which has no bound below.
  FloatRange choice = getRange(*context, R"(
    %c = arith.constant 3.0 : f32
    %least = arith.minimumf %s, %c : f32
    %p = arith.cmpi sle, %j, %i : index
    %y = arith.select %p, %least, %c : f32
    attn.yield %y : f32)");
  EXPECT_EQ(choice.low, -kInfinity);
  EXPECT_EQ(choice.high, 3);
  // What is divided by may be 0.
  FloatRange pole = getRange(*context, R"(
    %one = arith.constant 1.0 : f32
    %t = math.tanh %s : f32
    %y = arith.divf %one, %t : f32
    attn.yield %y : f32)");
  EXPECT_EQ(pole.high, kInfinity);
}
