//===- ShapeFunctionTest.cpp - Tests of extents as data -------------------===//

#include "attn/Runtime/ShapeFunction.h"
#include "../Cuda/TestHelpers.h"
#include "attn/Runtime/KernelPackage.h"
#include <limits>
#include <random>

using namespace attn;
using cuda::get;
using cuda::getText;
namespace json = llvm::json;

static constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
static constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

static TensorView makeView(const Shape &shape) {
  return {nullptr, 0, static_cast<int64_t>(shape.size()), shape.data(),
          nullptr};
}

static TensorInfo makeInfo(Shape shape) {
  return {"x", DType::F32, std::move(shape)};
}

/// The result of one operation on numbers, or the text of the error. Results
/// are extents, so `offset` makes them positive.
static std::string compute(ShapeOp op, int64_t a, int64_t b = 0,
                           int64_t c = 0) {
  ShapeFunction function;
  for (int64_t number : {a, b, c})
    function.instructions.push_back({ShapeOp::Constant, {number}});
  bool hasBits = op == ShapeOp::SignExtend || op == ShapeOp::ZeroExtend;
  function.instructions.push_back({op, {0, hasBits ? b : 1, 2}});
  // Negative results are shown by their complement.
  function.instructions.push_back({ShapeOp::Constant, {0}});
  function.instructions.push_back({ShapeOp::LtS, {3, 4}});
  function.instructions.push_back({ShapeOp::Constant, {-1}});
  function.instructions.push_back({ShapeOp::Xor, {3, 6}});
  function.instructions.push_back({ShapeOp::Select, {5, 7, 3}});
  function.results = {5, 8};
  auto extents = function.evaluate({});
  if (!extents)
    return llvm::toString(extents.takeError());
  return std::to_string((*extents)[0] ? ~(*extents)[1] : (*extents)[1]);
}

TEST(ShapeFunctionTest, operations) {
  EXPECT_EQ(compute(ShapeOp::Add, 3, -5), "-2");
  EXPECT_EQ(compute(ShapeOp::Sub, 3, -5), "8");
  EXPECT_EQ(compute(ShapeOp::Mul, 3, -5), "-15");
  EXPECT_EQ(compute(ShapeOp::DivS, -7, 2), "-3");
  EXPECT_EQ(compute(ShapeOp::CeilDivS, -7, 2), "-3");
  EXPECT_EQ(compute(ShapeOp::CeilDivS, 7, 2), "4");
  EXPECT_EQ(compute(ShapeOp::CeilDivS, -7, -2), "4");
  EXPECT_EQ(compute(ShapeOp::CeilDivS, -8, -2), "4");
  EXPECT_EQ(compute(ShapeOp::FloorDivS, -7, 2), "-4");
  EXPECT_EQ(compute(ShapeOp::FloorDivS, 7, -2), "-4");
  EXPECT_EQ(compute(ShapeOp::FloorDivS, -7, -2), "3");
  EXPECT_EQ(compute(ShapeOp::FloorDivS, -8, 2), "-4");
  EXPECT_EQ(compute(ShapeOp::RemS, -7, 2), "-1");
  EXPECT_EQ(compute(ShapeOp::DivU, -1, 2), std::to_string(kMax));
  EXPECT_EQ(compute(ShapeOp::CeilDivU, 7, 2), "4");
  EXPECT_EQ(compute(ShapeOp::CeilDivU, -1, 2), std::to_string(kMin));
  EXPECT_EQ(compute(ShapeOp::RemU, -1, 10), "5");
  EXPECT_EQ(compute(ShapeOp::And, 12, 10), "8");
  EXPECT_EQ(compute(ShapeOp::Or, 12, 10), "14");
  EXPECT_EQ(compute(ShapeOp::Xor, 12, 10), "6");
  EXPECT_EQ(compute(ShapeOp::Shl, -3, 2), "-12");
  EXPECT_EQ(compute(ShapeOp::ShrS, -3, 1), "-2");
  EXPECT_EQ(compute(ShapeOp::ShrU, -1, 1), std::to_string(kMax));
  EXPECT_EQ(compute(ShapeOp::MinS, -1, 1), "-1");
  EXPECT_EQ(compute(ShapeOp::MaxS, -1, 1), "1");
  EXPECT_EQ(compute(ShapeOp::MinU, -1, 1), "1");
  EXPECT_EQ(compute(ShapeOp::MaxU, -1, 1), "-1");
  EXPECT_EQ(compute(ShapeOp::Eq, 1, 1), "1");
  EXPECT_EQ(compute(ShapeOp::Ne, 1, 1), "0");
  EXPECT_EQ(compute(ShapeOp::LtS, -1, 1), "1");
  EXPECT_EQ(compute(ShapeOp::LeS, 1, 1), "1");
  EXPECT_EQ(compute(ShapeOp::LtU, -1, 1), "0");
  EXPECT_EQ(compute(ShapeOp::LeU, 1, -1), "1");
  EXPECT_EQ(compute(ShapeOp::Select, 2, 5, 6), "5");
  EXPECT_EQ(compute(ShapeOp::Select, 0, 5, 6), "6");
  EXPECT_EQ(compute(ShapeOp::SignExtend, 0xff, 8), "-1");
  EXPECT_EQ(compute(ShapeOp::SignExtend, 1, 1), "-1");
  EXPECT_EQ(compute(ShapeOp::ZeroExtend, -1, 8), "255");
}

TEST(ShapeFunctionTest, noValue) {
  auto text = [](const std::string &what) {
    return "expects extents whose results 64 bits can hold, but " + what +
           " has no value";
  };
  EXPECT_EQ(compute(ShapeOp::Add, kMax, 1),
            text("add of 9223372036854775807 and 1"));
  EXPECT_EQ(compute(ShapeOp::Sub, kMin, 1),
            text("sub of -9223372036854775808 and 1"));
  EXPECT_EQ(compute(ShapeOp::Mul, kMin, -1),
            text("mul of -9223372036854775808 and -1"));
  for (ShapeOp op :
       {ShapeOp::DivS, ShapeOp::CeilDivS, ShapeOp::FloorDivS, ShapeOp::RemS}) {
    EXPECT_TRUE(llvm::StringRef(compute(op, kMin, -1)).ends_with("no value"));
    EXPECT_TRUE(llvm::StringRef(compute(op, 1, 0)).ends_with("no value"));
  }
  for (ShapeOp op : {ShapeOp::DivU, ShapeOp::CeilDivU, ShapeOp::RemU})
    EXPECT_TRUE(llvm::StringRef(compute(op, 1, 0)).ends_with("no value"));
  for (ShapeOp op : {ShapeOp::Shl, ShapeOp::ShrS, ShapeOp::ShrU})
    for (int64_t count : {int64_t(-1), int64_t(64), kMax})
      EXPECT_TRUE(llvm::StringRef(compute(op, 1, count)).ends_with("no value"));
  EXPECT_EQ(compute(ShapeOp::Shl, 3, 62), text("shl of 3 and 62"));
}

/// Rows of input 0, or of input 1 where there are none; they must not be more
/// than what 100 divided by those of input 1 is.
static ShapeFunction makeFunction() {
  ShapeFunction function;
  function.instructions = {
      {ShapeOp::Extent, {0, 0}},    {ShapeOp::Extent, {1, 1}},
      {ShapeOp::Constant, {0}},     {ShapeOp::Eq, {0, 2}},
      {ShapeOp::Select, {3, 1, 0}}, {ShapeOp::Constant, {100}},
      {ShapeOp::DivS, {5, 1}},      {ShapeOp::LeS, {4, 6}},
      {ShapeOp::Select, {3, 2, 6}}, {ShapeOp::LeS, {2, 8}}};
  function.constraints = {{9, {8, 2}, "never"},
                          {7, {4, 6}, "expects %0 to be at most %1%"}};
  function.results = {4, 1};
  return function;
}

TEST(ShapeFunctionTest, evaluation) {
  ShapeFunction function = makeFunction();
  auto evaluate = [&](Shape a, Shape b) -> std::string {
    auto extents = function.evaluate({makeView(a), makeView(b)});
    if (!extents) {
      EXPECT_EQ(llvm::errorToErrorCode(extents.takeError()),
                std::errc::invalid_argument);
      return getText(function.evaluate({makeView(a), makeView(b)}));
    }
    return formatShape(*extents);
  };
  EXPECT_EQ(evaluate({20}, {0, 5}), "20x5");
  EXPECT_EQ(evaluate({0}, {0, 5}), "5x5");
  EXPECT_EQ(evaluate({21}, {0, 5}), "expects 21 to be at most 20%");
  // What divides by 0 is not selected; then it is needed.
  function.constraints.pop_back();
  EXPECT_EQ(evaluate({0}, {0, 0}), "0x0");
  EXPECT_EQ(evaluate({1}, {0, 0}),
            "expects extents whose results 64 bits can hold, but divs of 100 "
            "and 0 has no value");
  // Never what the compiler makes.
  EXPECT_EQ(evaluate({}, {0, 1}), "expects input 0 to have the dimension 0 of "
                                  "the shape function, but got rank 0");
  EXPECT_EQ(getText(function.evaluate({})),
            "expects the shape function to name one of 0 inputs, but got 0");
  function.instructions[0] = {ShapeOp::Constant, {-3}};
  function.constraints.clear();
  EXPECT_EQ(evaluate({}, {0, 1}),
            "expects no negative extent of a result, but got -3");
}

TEST(ShapeFunctionTest, validation) {
  std::vector<TensorInfo> inputs = {makeInfo({-1}), makeInfo({2, -1})};
  std::vector<TensorInfo> results = {makeInfo({-1, -1})};
  auto check = [&](llvm::function_ref<void(ShapeFunction &)> edit) {
    ShapeFunction function = makeFunction();
    edit(function);
    // What is wrong is never more than an error.
    Shape a = {1}, b = {1, 1};
    llvm::consumeError(
        function.evaluate({makeView(a), makeView(b)}).takeError());
    return getText(function.validate(inputs, results));
  };
  EXPECT_EQ(check([](ShapeFunction &) {}), "");
  const char *value4 =
      "expects the shape function to name one of 4 values before, but got ";
  for (int64_t number : {kMin, int64_t(-1), int64_t(4), kMax})
    EXPECT_EQ(check([&](ShapeFunction &function) {
                function.instructions[4].operands[1] = number;
              }),
              value4 + std::to_string(number));
  EXPECT_EQ(check([](ShapeFunction &function) {
              function.constraints[0].isMet = 10;
            }),
            "expects the shape function to name one of 10 values before, but "
            "got 10");
  EXPECT_EQ(check([](ShapeFunction &function) {
              function.constraints[1].numbers[1] = -1;
            }),
            "expects the shape function to name one of 10 values before, but "
            "got -1");
  EXPECT_EQ(check([](ShapeFunction &function) { function.results[1] = kMax; }),
            "expects the shape function to name one of 10 values before, but "
            "got 9223372036854775807");
  EXPECT_EQ(check([](ShapeFunction &function) { function.results.pop_back(); }),
            "expects a shape function of 2 extents of results, but got 1");
  EXPECT_EQ(check([](ShapeFunction &function) {
              function.instructions[0].operands[0] = 2;
            }),
            "expects the shape function to name one of 2 inputs, but got 2");
  EXPECT_EQ(check([](ShapeFunction &function) {
              function.instructions[0].operands[1] = 1;
            }),
            "expects the shape function to name one of 1 dimensions, but got "
            "1");
  EXPECT_EQ(check([](ShapeFunction &function) {
              function.instructions[0].op = static_cast<ShapeOp>(1000);
            }),
            "expects an operation of a shape function, but got 1000");
  for (int64_t bits : {kMin, int64_t(0), int64_t(64), kMax})
    EXPECT_EQ(check([&](ShapeFunction &function) {
                function.instructions[3] = {ShapeOp::SignExtend, {0, bits}};
              }),
              "expects sign_extend to have from 1 to 63 bits, but got " +
                  std::to_string(bits));
}

static json::Value parse(llvm::StringRef text) {
  return get(json::parse(text));
}

TEST(ShapeFunctionTest, JSONRoundTrip) {
  ShapeFunction function = makeFunction(), copy;
  json::Value value = function.toJSON();
  json::Path::Root root("shapes");
  ASSERT_TRUE(ShapeFunction::fromJSON(value, copy, root));
  EXPECT_EQ(copy.toJSON(), value);
  EXPECT_EQ(copy.instructions.size(), function.instructions.size());
  Shape a = {0}, b = {1, 7};
  EXPECT_EQ(get(copy.evaluate({makeView(a), makeView(b)})),
            get(function.evaluate({makeView(a), makeView(b)})));
  std::string text;
  llvm::raw_string_ostream(text) << json::Value(value);
  EXPECT_TRUE(llvm::StringRef(text).contains(R"(["select",3,1,0])")) << text;
}

TEST(ShapeFunctionTest, JSONErrors) {
  auto getError = [](llvm::StringRef instructions,
                     llvm::StringRef constraints) {
    json::Value value =
        parse(("{\"instructions\": [" + instructions + "], \"constraints\": [" +
               constraints + "], \"results\": []}")
                  .str());
    ShapeFunction function;
    json::Path::Root root("shapes");
    bool isRead = ShapeFunction::fromJSON(value, function, root);
    EXPECT_FALSE(isRead);
    return isRead ? "" : getText(root.getError());
  };
  EXPECT_EQ(getError("[\"power\", 1, 2]", ""),
            "expected an operation of a shape function at "
            "shapes.instructions[0]");
  EXPECT_EQ(getError("[]", ""), "expected an operation of a shape function at "
                                "shapes.instructions[0]");
  EXPECT_EQ(getError("3", ""), "expected an operation of a shape function at "
                               "shapes.instructions[0]");
  EXPECT_EQ(getError("[\"add\", 1]", ""),
            "expected another number of operands at shapes.instructions[0]");
  EXPECT_EQ(getError("[\"add\", 1, 1.5]", ""),
            "expected integer at shapes.instructions[0][2]");
  EXPECT_EQ(getError("", "{\"is_met\": 0, \"numbers\": [1], \"text\": \"\"}"),
            "expected two values at shapes.constraints[0].numbers");
  EXPECT_EQ(getError("", "{}"),
            "missing value at shapes.constraints[0].is_met");
}

/// Functions of any numbers, most of which are none: no evaluation ends the
/// process, and what validate lets through names what there is.
TEST(ShapeFunctionTest, random) {
  std::mt19937_64 random(1);
  const int64_t numbers[] = {kMin, -1, 0, 1, 2, 3, 5, 63, 64, 1 << 20, kMax};
  std::vector<TensorInfo> inputs = {makeInfo({-1}), makeInfo({2, -1})};
  Shape a = {kMax}, b = {2, 3};
  int numValid = 0, numComputed = 0;
  for (int run = 0; run < 20000; ++run) {
    ShapeFunction function;
    size_t count = 1 + random() % 8;
    for (size_t i = 0; i < count; ++i) {
      ShapeInstruction &instruction = function.instructions.emplace_back();
      instruction.op = static_cast<ShapeOp>(
          random() % (static_cast<int>(ShapeOp::ZeroExtend) + 2));
      if (i < 2)
        instruction.op = ShapeOp::Constant;
      bool isNumber = instruction.op == ShapeOp::Constant || random() % 16 == 0;
      for (int64_t &operand : instruction.operands)
        operand = isNumber ? numbers[random() % std::size(numbers)]
                           : int64_t(random() % (i + (random() % 16 == 0)));
    }
    function.results = {int64_t(random() % (count + (random() % 16 == 0)))};
    auto extents = function.evaluate({makeView(a), makeView(b)});
    if (getText(function.validate(inputs, {makeInfo({-1})})).empty()) {
      ++numValid;
      numComputed += bool(extents);
      if (!extents) {
        std::string text = llvm::toString(extents.takeError());
        EXPECT_TRUE(llvm::StringRef(text).contains("has no value") ||
                    llvm::StringRef(text).contains("no negative extent"))
            << text;
      }
    }
    if (!extents)
      llvm::consumeError(extents.takeError());
  }
  EXPECT_GT(numValid, 1000);
  EXPECT_GT(numComputed, 1000);
}
