//===- Shrink.cpp - Making a failing program smaller ----------------------===//

#include "Program.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace attn;
using namespace attn::property;

using Candidates = std::vector<Program>;

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

/// Smaller expressions of the same type, the smallest first: leaves, then what
/// an argument is, then the same with a smaller argument.
static std::vector<ExprRef> simplify(const ExprRef &expr, bool hasScore) {
  std::vector<ExprRef> result;
  if (expr->kind != Expr::Kind::Constant) {
    if (expr->type == Type::Bool) {
      result.push_back(makeBool(true));
      result.push_back(makeBool(false));
    } else if (expr->type == Type::Int) {
      result.push_back(makeInt(0));
      result.push_back(makeInt(1));
      if (expr->kind != Expr::Kind::Variable)
        for (const char *name : {"j", "i"})
          result.push_back(makeVariable(name));
    } else {
      if (hasScore && !expr->isVariable("s"))
        result.push_back(makeVariable("s"));
      result.push_back(makeFloat(0));
      result.push_back(makeFloat(1));
    }
  } else if (expr->type == Type::Int && std::abs(expr->integer) > 1) {
    result.push_back(makeInt(expr->integer / 2));
    result.push_back(makeInt(expr->integer - (expr->integer > 0 ? 1 : -1)));
  } else if (expr->type == Type::Float && expr->number != 0 &&
             expr->number != 1 && expr->number != std::floor(expr->number)) {
    result.push_back(makeFloat(std::round(expr->number)));
  }
  for (const ExprRef &arg : expr->args)
    if (arg->type == expr->type)
      result.push_back(arg);
  if (expr->kind == Expr::Kind::If)
    result.push_back(makeSelect(Expr::Kind::Select, expr->args[0],
                                expr->args[1], expr->args[2]));
  if (expr->kind == Expr::Kind::For)
    for (int64_t count : {int64_t(0), int64_t(1), expr->integer / 2}) {
      auto shorter = std::make_shared<Expr>(*expr);
      shorter->integer = count;
      if (count < expr->integer)
        result.push_back(shorter);
    }
  if (!expr->floatType.empty()) {
    auto plain = std::make_shared<Expr>(*expr);
    plain->floatType.clear();
    result.push_back(plain);
  }
  if (expr->width) {
    auto plain = std::make_shared<Expr>(*expr);
    plain->width = 0;
    result.push_back(plain);
  }
  for (size_t n = 0; n < expr->args.size(); ++n)
    for (const ExprRef &smaller : simplify(expr->args[n], hasScore)) {
      auto changed = std::make_shared<Expr>(*expr);
      changed->args[n] = smaller;
      result.push_back(changed);
    }
  return result;
}

static bool usesCapture(const ExprRef &expr, size_t number) {
  if (!expr)
    return false;
  bool isRead =
      expr->kind == Expr::Kind::Capture || expr->kind == Expr::Kind::Dim;
  return (isRead && expr->capture == number) ||
         llvm::any_of(expr->args, [&](const ExprRef &arg) {
           return usesCapture(arg, number);
         });
}

static bool isOperand(const std::optional<Sparsity> &sparsity, size_t number) {
  return sparsity &&
         (sparsity->operand == number || sparsity->columns == number);
}

/// The expression after the removal of a capture that it does not use.
static ExprRef renumber(const ExprRef &expr, size_t removed) {
  if (!expr)
    return nullptr;
  auto result = std::make_shared<Expr>(*expr);
  if (result->capture > removed)
    --result->capture;
  for (ExprRef &arg : result->args)
    arg = renumber(arg, removed);
  return result;
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

static void addWholeParts(const Program &program, Candidates &result) {
  auto add = [&](auto change) {
    Program smaller = program;
    change(smaller);
    result.push_back(std::move(smaller));
  };
  for (size_t n = 0; program.runs.size() > 1 && n < program.runs.size(); ++n)
    add([&](Program &p) { p.runs = {program.runs[n]}; });
  for (size_t n = 0; program.attentions.size() > 1 && n < 2; ++n)
    add([&](Program &p) {
      p.attentions = {program.attentions[n]};
      p.attentions[0].chained = false;
    });
  for (size_t n = 0; n < program.attentions.size(); ++n) {
    const Attention &attention = program.attentions[n];
    if (attention.mask)
      add([&](Program &p) { p.attentions[n].mask = nullptr; });
    if (attention.score)
      add([&](Program &p) { p.attentions[n].score = nullptr; });
    if (attention.dropout)
      add([&](Program &p) { p.attentions[n].dropout.reset(); });
    if (attention.sparsity)
      add([&](Program &p) { p.attentions[n].sparsity.reset(); });
    if (attention.lse)
      add([&](Program &p) { p.attentions[n].lse = false; });
    if (attention.scale)
      add([&](Program &p) { p.attentions[n].scale.reset(); });
    if (attention.chained)
      add([&](Program &p) { p.attentions[n].chained = false; });
  }
  for (size_t n = 0; n < program.captures.size(); ++n) {
    if (llvm::any_of(program.attentions, [&](const Attention &attention) {
          return isOperand(attention.sparsity, n) ||
                 usesCapture(attention.score, n) ||
                 usesCapture(attention.mask, n);
        }))
      continue;
    add([&](Program &p) {
      p.captures.erase(p.captures.begin() + n);
      for (Attention &attention : p.attentions) {
        attention.score = renumber(attention.score, n);
        attention.mask = renumber(attention.mask, n);
        if (!attention.sparsity)
          continue;
        if (attention.sparsity->operand > n)
          --attention.sparsity->operand;
        if (attention.sparsity->columns && *attention.sparsity->columns > n)
          --*attention.sparsity->columns;
      }
    });
  }
  if (program.strides.seed)
    add([](Program &p) { p.strides.seed = 0; });
  if (program.boundsCheck)
    add([](Program &p) { p.boundsCheck = false; });
  if (program.optLevel)
    add([](Program &p) { p.optLevel = 0; });
  if (program.sparsityForm != "auto")
    add([](Program &p) { p.sparsityForm = "auto"; });
  if (program.broadcast)
    add([](Program &p) { p.broadcast = false; });
  if (program.keysAreValues)
    add([](Program &p) { p.keysAreValues = false; });
  if (program.dtype != DType::F32)
    add([](Program &p) { p.dtype = DType::F32; });
  for (size_t n = 0; n < 4; ++n)
    if (program.layouts[n] != "bhsd") {
      add([](Program &p) { llvm::fill(p.layouts, "bhsd"); });
      add([&](Program &p) { p.layouts[n] = "bhsd"; });
    }
  for (size_t n = 0; n < 3; ++n)
    if (program.fills[n] != "randn")
      add([&](Program &p) { p.fills[n] = "randn"; });
}

static void addExtents(const Program &program, Candidates &result) {
  auto reduce = [&](auto getField, int64_t least) {
    Program smaller = program;
    int64_t &field = getField(smaller);
    int64_t from = field;
    for (int64_t to : {least, from / 2, from - 1}) {
      if (to < least || to >= from)
        continue;
      field = to;
      result.push_back(smaller);
    }
  };
  for (size_t n = 0; n < program.runs.size(); ++n) {
    reduce([&](Program &p) -> int64_t & { return p.runs[n].batch; }, 1);
    reduce([&](Program &p) -> int64_t & { return p.runs[n].kvHeads; }, 1);
    reduce([&](Program &p) -> int64_t & { return p.runs[n].group; }, 1);
    reduce([&](Program &p) -> int64_t & { return p.runs[n].queries; }, 1);
    reduce([&](Program &p) -> int64_t & { return p.runs[n].keys; }, 1);
  }
  reduce([](Program &p) -> int64_t & { return p.keyDim; }, 1);
  reduce([](Program &p) -> int64_t & { return p.valueDim; }, 1);
  // One length for all is easier to read than free ones.
  if (program.runs.size() == 1)
    for (auto [n, tensor] : llvm::enumerate(program.dynamic))
      for (size_t dim = 0; dim < 3; ++dim)
        if (tensor[dim]) {
          result.push_back(program);
          result.back().dynamic[n][dim] = false;
        }
}

static void addExpressions(const Program &program, Candidates &result) {
  for (size_t n = 0; n < program.attentions.size(); ++n) {
    const Attention &attention = program.attentions[n];
    auto add = [&](ExprRef Attention::*region, bool hasScore) {
      if (!(attention.*region))
        return;
      for (const ExprRef &smaller : simplify(attention.*region, hasScore)) {
        result.push_back(program);
        result.back().attentions[n].*region = smaller;
      }
    };
    add(&Attention::mask, /*hasScore=*/false);
    add(&Attention::score, /*hasScore=*/true);
  }
}

Program property::shrink(const Program &program, Outcome::Kind kind,
                         llvm::function_ref<Outcome(const Program &)> check,
                         llvm::function_ref<bool()> mayContinue) {
  Program best = program;
  auto improve = [&](auto addCandidates) {
    bool improved = false;
    for (bool again = true; again;) {
      again = false;
      Candidates candidates;
      addCandidates(best, candidates);
      for (Program &candidate : candidates) {
        if (!mayContinue())
          return false;
        if (check(candidate).kind != kind)
          continue;
        best = std::move(candidate);
        again = improved = true;
        break;
      }
    }
    return improved;
  };
  for (bool again = true; again;) {
    again = improve(addWholeParts);
    again |= improve(addExtents);
    again |= improve(addExpressions);
  }
  return best;
}
