//===- GenerateMask.cpp - Random conditions and masks ---------------------===//

#include "Generator.h"

using namespace attn;
using namespace attn::property;

ExprRef Generator::makeComparison(ExprRef lhs, ExprRef rhs) {
  const char *predicate =
      random.pick({"sle", "slt", "sge", "sgt", "eq", "ne", "ule", "ult", "uge",
                   "ugt", "sle", "slt"});
  if (random.chance(5))
    return makeCompare(std::string("index.cmp ") + predicate, lhs, rhs);
  return makeCompare(std::string("arith.cmpi ") + predicate, lhs, rhs,
                     random.chance(85) ? 0 : random.pick({32u, 64u}));
}

ExprRef Generator::makeCondition(unsigned depth) {
  if (depth == 0 || random.chance(30)) {
    std::optional<size_t> number = pickCapture(Type::Bool);
    if (number && random.chance(30))
      return makeCapture(*number, Type::Bool, 0);
    return makeComparison(makeIntegerLeaf(), makeIntegerLeaf());
  }
  switch (random.below(10)) {
  case 0:
    return makeOp(Type::Bool, "arith.andi",
                  {makeCondition(depth - 1), makeCondition(depth - 1)});
  case 1:
    return makeOp(Type::Bool, "arith.ori",
                  {makeCondition(depth - 1), makeCondition(depth - 1)});
  case 2:
    return makeOp(Type::Bool, "arith.xori",
                  {makeCondition(depth - 1), random.chance(50)
                                                 ? makeBool(true)
                                                 : makeCondition(depth - 1)});
  case 3:
    return makeSelect(random.chance(50) ? Expr::Kind::Select : Expr::Kind::If,
                      makeCondition(depth - 1), makeCondition(depth - 1),
                      makeCondition(depth - 1));
  case 4:
    return makeBool(random.chance(80));
  case 5:
  case 6:
    return makeExactCondition();
  default:
    return makeComparison(makeInteger(depth - 1), makeInteger(depth - 1));
  }
}

/// Masks as users write them, with free constants.
ExprRef Generator::makeUsualMask() {
  ExprRef i = makeVariable("i"), j = makeVariable("j"), b = makeVariable("b");
  auto add = [](ExprRef x, ExprRef y) {
    return makeOp(Type::Int, "arith.addi", {std::move(x), std::move(y)});
  };
  auto divide = [](ExprRef x, int64_t by) {
    return makeOp(Type::Int, "arith.divui", {std::move(x), makeInt(by)});
  };
  auto compare = [](const char *predicate, ExprRef x, ExprRef y) {
    return makeCompare(std::string("arith.cmpi ") + predicate, std::move(x),
                       std::move(y));
  };
  switch (random.below(11)) {
  case 0:
    return compare("sle", j, i);
  case 1:
    return compare("sle", j, add(i, makeInt(random.range(-40, 40))));
  case 2: {
    ExprRef d = makeOp(Type::Int, "arith.subi", {i, j});
    return makeOp(Type::Bool, "arith.andi",
                  {compare("sge", d, makeInt(random.range(-30, 10))),
                   compare("slt", d, makeInt(random.range(0, 40)))});
  }
  case 3: {
    int64_t size = random.range(1, 40);
    return compare(random.pick({"eq", "sge", "sle"}), divide(i, size),
                   divide(j, size));
  }
  case 4: {
    int64_t size = random.range(2, 5);
    ExprRef rest = makeOp(Type::Int, "arith.remui", {j, makeInt(size)});
    return compare("eq", rest, makeInt(random.below(size)));
  }
  case 5:
    return compare(
        "slt", j,
        makeOp(Type::Int, "arith.muli", {b, makeInt(random.range(1, 60))}));
  case 6: {
    int64_t low = random.range(-10, 60);
    ExprRef inside =
        makeOp(Type::Bool, random.pick({"arith.andi", "arith.ori"}),
               {compare("sge", j, makeInt(low)),
                compare("slt", j, makeInt(low + random.range(-20, 60)))});
    return inside;
  }
  case 7:
    return compare(random.pick({"slt", "ult", "sge"}), i,
                   makeInt(random.range(0, 70)));
  case 8: {
    // Numbers in a period, next to those of the query or to any.
    ExprRef period = makeInt(random.range(1, 170));
    if (std::optional<size_t> number = pickCapture(Type::Int);
        number && random.chance(50))
      period = makeOp(Type::Int, "arith.maxsi",
                      {makeCapture(*number, Type::Int, 0), makeInt(1)});
    auto rest = [&](ExprRef x) {
      return makeOp(Type::Int, "arith.remui", {std::move(x), period});
    };
    ExprRef bound = add(rest(i), makeInt(random.range(-20, 20)));
    if (random.chance(30))
      bound = makeInteger(1);
    else if (int64_t size = random.range(1, 9); size > 1)
      return compare(random.pick({"sle", "slt", "sge", "sgt", "eq", "ne"}),
                     divide(rest(j), size), divide(rest(i), size));
    return compare(random.pick({"sle", "slt", "sge", "sgt", "eq", "ne"}),
                   rest(j), bound);
  }
  case 9: {
    // A term of both, and another condition on it.
    int64_t size = random.range(1, 40);
    ExprRef first = add(j, divide(j, size));
    return makeOp(Type::Bool, "arith.andi",
                  {compare("eq", divide(i, size), divide(j, size)),
                   compare(random.pick({"sle", "sge", "ne"}), first,
                           add(i, makeInteger(1)))});
  }
  default: {
    ExprRef scaled =
        makeOp(Type::Int, "arith.muli", {j, makeInt(random.range(1, 4))});
    return compare(
        "sle", scaled,
        add(makeOp(Type::Int, "arith.muli", {i, makeInt(random.range(1, 4))}),
            makeInteger(1)));
  }
  }
}

ExprRef Generator::makeMask() {
  ExprRef mask = random.chance(60) ? makeUsualMask() : makeCondition(3);
  for (int n = 0; n < 2 && random.chance(30); ++n)
    mask =
        makeOp(Type::Bool, random.pick({"arith.andi", "arith.ori"}),
               {mask, random.chance(60) ? makeUsualMask() : makeCondition(2)});
  return mask;
}
