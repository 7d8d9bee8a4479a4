//===- GenerateScore.cpp - Random score functions -------------------------===//

#include "Generator.h"
#include <cmath>

using namespace attn;
using namespace attn::property;

static ExprRef op(const char *name, std::vector<ExprRef> args) {
  return makeOp(Type::Float, name, std::move(args));
}

Generator::Bounded Generator::limit(Bounded value, double bound) {
  if (value.bound <= bound)
    return value;
  if (random.chance(50)) {
    ExprRef scaled = op("arith.mulf",
                        {value.expr, property::makeFloat(bound / value.bound)});
    return {scaled, bound};
  }
  ExprRef low = op(random.pick({"arith.minimumf", "arith.minnumf"}),
                   {value.expr, property::makeFloat(bound)});
  ExprRef high = op(random.pick({"arith.maximumf", "arith.maxnumf"}),
                    {low, property::makeFloat(-bound)});
  return {high, bound};
}

Generator::Bounded Generator::makeExactFloat() {
  if (random.chance(10)) {
    // The remainder has the sign of what is divided, also if it is 0.
    Bounded of = makeExactFloat();
    double by = random.pick({0.75, 1.5, -2.0, 3.0});
    return {op("arith.remf", {of.expr, property::makeFloat(by)}), of.bound,
            true};
  }
  if (random.chance(10)) {
    Bounded of = makeExactFloat();
    const char *name = random.pick({"arith.negf", "math.absf"});
    if (random.chance(60))
      return {op(name, {of.expr}), of.bound, true};
    // The sign is one bit.
    int64_t sign = program.isF64() ? INT64_MIN : INT64_C(0x80000000);
    ExprRef bits = makeConversion(Type::Int, "arith.bitcast", of.expr);
    bits = random.chance(50)
               ? makeOp(Type::Int, "arith.xori", {bits, makeInt(sign)})
               : makeOp(Type::Int, "arith.andi", {bits, makeInt(~sign)});
    return {makeConversion(Type::Float, "arith.bitcast", bits), of.bound, true};
  }
  std::optional<size_t> number = pickCapture(Type::Float);
  if (!number || random.chance(30))
    return {property::makeFloat(random.range(-8, 8) / 4.0), 2, true};
  const Capture &capture = program.captures[*number];
  return {makeCapture(*number, Type::Float, 1),
          isFloat(capture.dtype) ? 5.0 : 40.0, true};
}

ExprRef Generator::makeExactCondition() {
  auto makeSpecial = [&] {
    return property::makeFloat(random.pick(
        {double(INFINITY), double(-INFINITY), std::nan(""), 0.0, -0.0}));
  };
  auto makeNumber = [&] {
    ExprRef number = makeExactFloat().expr;
    if (random.chance(70))
      return number;
    return makeSelect(Expr::Kind::Select,
                      makeComparison(makeIntegerLeaf(), makeIntegerLeaf()),
                      number, makeSpecial());
  };
  if (random.chance(30))
    return makeOp(Type::Bool,
                  random.pick({"math.isfinite", "math.isinf", "math.isnan",
                               "math.isnormal"}),
                  {makeNumber()});
  const char *predicates[] = {"false", "oeq", "ogt", "oge", "olt", "ole",
                              "one",   "ord", "ueq", "ugt", "uge", "ult",
                              "ule",   "une", "uno", "true"};
  std::string name = "arith.cmpf ";
  name += random.pick(llvm::ArrayRef(predicates));
  ExprRef lhs = makeNumber();
  return makeCompare(name, std::move(lhs),
                     random.chance(85) ? makeNumber() : makeSpecial());
}

Generator::Bounded Generator::makeFloatLeaf(double scoreBound) {
  switch (random.below(6)) {
  case 0:
  case 1:
    return makeExactFloat();
  case 2: {
    // A position, brought to the size of a score.
    ExprRef value = makeInteger(2);
    int64_t modulus = random.pick({8, 64, 200});
    bool isSigned = random.chance(70);
    ExprRef rest = makeOp(Type::Int, isSigned ? "arith.remsi" : "arith.remui",
                          {value, makeInt(modulus)});
    unsigned width = random.pick({32u, 64u});
    ExprRef number =
        isSigned ? makeCast(Type::Float, rest, width)
                 : makeConversion(Type::Float, "arith.uitofp", rest, width);
    Bounded cast{number, double(modulus)};
    return limit(cast, 8);
  }
  case 3:
    if (random.chance(30))
      return {makeCast(Type::Float, makeCondition(1)), 1};
    [[fallthrough]];
  default:
    return {makeVariable("s"), scoreBound};
  }
}

/// A float to the power of an integer.
Generator::Bounded Generator::makePower(Bounded arg) {
  unsigned width = random.pick({32u, 32u, 64u});
  auto power = [&](ExprRef base, ExprRef exponent) {
    return makeOp(Type::Float, "math.fpowi", {base, exponent}, width);
  };
  if (random.chance(50))
    return {power(limit(arg, 1.25).expr,
                  makeInt(random.pick({0, 1, 2, 3, 4, 5, 7}))),
            5};
  // Not near 0 where a power is negative.
  ExprRef base = op("arith.addf", {op("math.absf", {limit(arg, 1).expr}),
                                   property::makeFloat(1)});
  if (random.chance(30))
    base = op("arith.negf", {base});
  ExprRef exponent = makeInt(random.range(-7, -1));
  if (random.chance(40))
    exponent = makeOp(Type::Int, "arith.remsi", {makeInteger(1), makeInt(4)});
  return {power(base, exponent), 8};
}

/// An operation in another type than scores have.
Generator::Bounded Generator::makeRounded(Bounded arg) {
  const char *type = random.pick({"f16", "bf16", "f64", "f64"});
  Bounded x = limit(arg, 4), y = makeExactFloat();
  switch (random.below(4)) {
  case 0:
    return {makeOpIn(type, "arith.addf", {x.expr, y.expr}), x.bound + y.bound};
  case 1:
    return {makeOpIn(type, "arith.mulf", {x.expr, property::makeFloat(0.75)}),
            x.bound};
  case 2:
    return {makeOpIn(type, random.pick({"arith.maximumf", "arith.minimumf"}),
                     {x.expr, y.expr}),
            std::max(x.bound, y.bound)};
  default:
    // A GPU has no functions on f64.
    if (isForGPU() && llvm::StringRef(type) == "f64")
      type = "bf16";
    return {makeOpIn(type, random.pick({"math.tanh", "math.atan", "math.sin"}),
                     {x.expr}),
            1.6};
  }
}

/// x / (1 + |y|), and such: arguments are brought into the domain first.
Generator::Bounded Generator::makeUnary(Bounded arg) {
  ExprRef one = property::makeFloat(1);
  ExprRef x = arg.expr;
  auto positive = [&] { return op("arith.addf", {op("math.absf", {x}), one}); };
  auto inside = [&] {
    return op("arith.mulf", {op("math.tanh", {x}), property::makeFloat(0.75)});
  };
  switch (random.below(22)) {
  case 0:
    return {op("arith.negf", {x}), arg.bound};
  case 1:
    return {op("math.absf", {x}), arg.bound};
  case 2:
    return {op("math.tanh", {x}), 1};
  case 3:
    return {op(random.pick({"math.sin", "math.cos"}), {limit(arg, 40).expr}),
            1};
  case 4: {
    Bounded small = limit(arg, 3);
    return {
        op(random.pick({"math.exp", "math.exp2", "math.expm1"}), {small.expr}),
        std::exp(3)};
  }
  case 5:
    return {op(random.pick({"math.log", "math.log2", "math.log10", "math.sqrt",
                            "math.rsqrt", "math.cbrt"}),
               {positive()}),
            1 + std::sqrt(1 + arg.bound)};
  case 6:
    return {op("math.log1p", {op("math.absf", {x})}),
            1 + std::log1p(arg.bound)};
  case 7:
    return {op(random.pick({"math.erf", "math.erfc", "math.atan"}), {x}), 2};
  case 8:
    return {
        op(random.pick({"math.asin", "math.acos", "math.atanh"}), {inside()}),
        3};
  case 9: {
    Bounded small = limit(arg, 2);
    return {op(random.pick({"math.sinh", "math.cosh"}), {small.expr}), 4};
  }
  case 10:
    return {op("math.tan", {limit(arg, 1).expr}), 1.6};
  case 11:
    return {op("math.asinh", {x}), 1 + arg.bound};
  case 12: {
    // A logistic function.
    ExprRef e = op("math.exp", {op("arith.negf", {limit(arg, 20).expr})});
    return {op("arith.divf", {one, op("arith.addf", {one, e})}), 1};
  }
  case 13:
    return {op("math.powf", {positive(), property::makeFloat(random.pick(
                                             {0.5, -1.0, 0.25, 1.5, 2.0}))}),
            (1 + arg.bound) * (1 + arg.bound)};
  case 14: {
    Bounded exact = makeExactFloat();
    return {op(random.pick({"math.floor", "math.ceil", "math.trunc",
                            "math.round", "math.roundeven"}),
               {exact.expr}),
            exact.bound + 1};
  }
  case 15:
    // Not near 1, where it is steep.
    return {op("math.acosh", {op("arith.addf", {positive(), one})}),
            2 + std::log1p(arg.bound)};
  case 16:
    return {op("math.copysign", {x, makeExactFloat().expr}), arg.bound};
  case 17: {
    double low = random.range(-8, 4) / 2.0, high = low + random.range(0, 8);
    return {op("math.clampf",
               {x, property::makeFloat(low), property::makeFloat(high)}),
            std::max(std::fabs(low), std::fabs(high))};
  }
  case 18:
    return makePower(arg);
  case 19:
    return {makeResult(Type::Float, "math.sincos", {limit(arg, 40).expr},
                       random.below(2)),
            1};
  case 20:
    return makeRounded(arg);
  default: {
    // Zero on one side, and continuous.
    ExprRef zero = property::makeFloat(0);
    ExprRef isPositive = makeCompare(
        random.pick({"arith.cmpf ogt", "arith.cmpf oge", "arith.cmpf ugt"}), x,
        zero);
    return {makeSelect(Expr::Kind::Select, isPositive, x, zero), arg.bound};
  }
  }
}

Generator::Bounded Generator::makeBinary(Bounded lhs, Bounded rhs) {
  ExprRef one = property::makeFloat(1);
  switch (random.below(9)) {
  case 0:
  case 1:
    return {op("arith.addf", {lhs.expr, rhs.expr}), lhs.bound + rhs.bound};
  case 2:
    return {op("arith.subf", {lhs.expr, rhs.expr}), lhs.bound + rhs.bound};
  case 3:
    return {op("arith.mulf", {lhs.expr, rhs.expr}), lhs.bound * rhs.bound};
  case 4:
    return {
        op("arith.divf",
           {lhs.expr, op("arith.addf", {op("math.absf", {rhs.expr}), one})}),
        lhs.bound};
  case 5:
    return {op(random.pick({"arith.maximumf", "arith.minimumf", "arith.maxnumf",
                            "arith.minnumf"}),
               {lhs.expr, rhs.expr}),
            std::max(lhs.bound, rhs.bound)};
  case 6: {
    Bounded third = makeExactFloat();
    return {op("math.fma", {lhs.expr, rhs.expr, third.expr}),
            lhs.bound * rhs.bound + third.bound};
  }
  case 7: {
    ExprRef condition =
        random.chance(60) ? makeCondition(2) : makeExactCondition();
    return {makeSelect(random.chance(50) ? Expr::Kind::Select : Expr::Kind::If,
                       condition, lhs.expr, rhs.expr),
            std::max(lhs.bound, rhs.bound)};
  }
  default:
    return {
        op("math.atan2",
           {lhs.expr, op("arith.addf", {op("math.absf", {rhs.expr}), one})}),
        1.6};
  }
}

/// A sum of terms, or what comes back to them, so that errors do not grow.
Generator::Bounded Generator::makeFloatLoop(double scoreBound) {
  Bounded init = makeFloatLeaf(scoreBound);
  std::optional<std::string> name = openLoop();
  if (!name)
    return init;
  ExprRef carried = makeCarried(Type::Float, *name);
  int64_t count = pickCount();
  Bounded term = limit(makeFloat(1, scoreBound), 4);
  loops.pop_back();
  unsigned width = random.chance(50) ? 32 : 0;
  if (random.chance(50)) {
    double each = 4.0 / std::max<int64_t>(count, 1);
    ExprRef small = op("arith.mulf", {term.expr, property::makeFloat(each)});
    ExprRef next = op("arith.addf", {carried, small});
    return {makeFor(*name, count, init.expr, next, width), init.bound + 16};
  }
  ExprRef kept = op("arith.mulf",
                    {random.chance(50) ? carried : op("math.tanh", {carried}),
                     property::makeFloat(random.pick({0.5, -0.25, 0.75}))});
  ExprRef next = op("arith.addf", {kept, term.expr});
  return {makeFor(*name, count, init.expr, next, width), init.bound + 16};
}

Generator::Bounded Generator::makeFloat(unsigned depth, double scoreBound) {
  if (depth == 0 || random.chance(15))
    return makeFloatLeaf(scoreBound);
  if (random.chance(10))
    return limit(makeFloatLoop(scoreBound), 64);
  Bounded lhs = makeFloat(depth - 1, scoreBound);
  Bounded result;
  if (random.chance(50)) {
    result = makeUnary(lhs);
  } else {
    // The same value twice makes the tree a graph.
    Bounded rhs = random.chance(15) ? lhs : makeFloat(depth - 1, scoreBound);
    result = makeBinary(lhs, rhs);
  }
  return limit(result, 64);
}

/// Between query and key, also up to a limit.
ExprRef Generator::makeDistance() {
  ExprRef i = makeVariable("i"), j = makeVariable("j");
  bool isSwapped = random.chance(50);
  unsigned width = random.pick({0u, 32u, 64u});
  auto binary = [&](const char *name, ExprRef a, ExprRef b) {
    return makeOp(Type::Int, name, {std::move(a), std::move(b)}, width);
  };
  ExprRef distance = binary("arith.subi", isSwapped ? j : i, isSwapped ? i : j);
  if (random.chance(30))
    distance = binary("arith.addi", distance, makeInt(random.range(-100, 100)));
  if (random.chance(60))
    distance = makeOp(Type::Int, "math.absi", {distance}, width);
  if (random.chance(40))
    distance = binary(random.pick({"arith.minsi", "arith.maxsi"}), distance,
                      makeInt(random.range(-50, 150)));
  return distance;
}

/// Scores as users write them: with a factor, and a bias of the distance.
Generator::Bounded Generator::makeUsualScore(double scoreBound) {
  Bounded score = {makeVariable("s"), scoreBound};
  if (random.chance(50)) {
    Bounded factor = limit(makeExactFloat(), 4);
    if (random.chance(20))
      score = {op("arith.divf",
                  {score.expr, op("arith.addf", {op("math.absf", {factor.expr}),
                                                 property::makeFloat(0.5)})}),
               2 * score.bound};
    else if (random.chance(50))
      score = {op("arith.mulf", {score.expr, factor.expr}), 4 * score.bound};
    else
      score = {op("arith.mulf", {factor.expr, score.expr}), 4 * score.bound};
  }
  if (random.chance(60)) {
    ExprRef number =
        makeCast(Type::Float, makeDistance(), random.pick({32u, 32u, 64u}));
    ExprRef bias =
        op("arith.mulf",
           {number, property::makeFloat(random.pick({-0.02, 0.01, 1.0 / 64}))});
    if (random.chance(40))
      bias = op("arith.mulf", {bias, limit(makeExactFloat(), 1).expr});
    score = {op(random.pick({"arith.addf", "arith.subf"}), {score.expr, bias}),
             score.bound + 14};
  }
  if (random.chance(30)) {
    Bounded added = limit(makeExactFloat(), 5);
    score = {op("arith.addf", {score.expr, added.expr}),
             score.bound + added.bound};
  }
  // Keys that are masked by what is added, whatever the query.
  if (random.chance(20)) {
    ExprRef isMasked =
        makeCompare(random.pick({"arith.cmpi slt", "arith.cmpi sgt"}),
                    makeVariable("j"), makeInt(random.range(0, 150)), 0);
    score.expr =
        op("arith.addf", {score.expr, makeSelect(Expr::Kind::Select, isMasked,
                                                 property::makeFloat(-INFINITY),
                                                 property::makeFloat(0))});
  }
  return score;
}

ExprRef Generator::makeScore(const Attention &attention, bool wide) {
  double scale =
      std::fabs(attention.scale.value_or(1 / std::sqrt(program.keyDim)));
  double scoreBound = 6 * scale * std::sqrt(program.keyDim) + 1;
  bool isUsual = random.chance(30);
  Bounded score = isUsual ? makeUsualScore(scoreBound)
                          : makeFloat(random.range(1, 5), scoreBound);
  // Most scores depend on the product of query and key.
  if (!isUsual && random.chance(80))
    score = {op("arith.addf", {score.expr, makeVariable("s")}),
             score.bound + scoreBound};
  score = limit(score, 30);
  if (wide)
    score.expr =
        op("arith.mulf",
           {score.expr, property::makeFloat(random.pick({20.0, 100.0}))});
  // Keys that a score takes away, whole rows among them.
  if (random.chance(15))
    score.expr =
        makeSelect(random.chance(50) ? Expr::Kind::Select : Expr::Kind::If,
                   random.chance(50) ? makeUsualMask() : makeCondition(2),
                   score.expr, property::makeFloat(-INFINITY));
  return score.expr;
}
