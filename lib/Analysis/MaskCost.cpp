//===- MaskCost.cpp - What a mask computes for each pair ------------------===//

#include "attn/Analysis/MaskCost.h"
#include "attn/Analysis/MaskValues.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::attn;

namespace {
/// Which of the two positions a value depends on, as bits.
enum Positions : unsigned { None = 0, Query = 1, Key = 2, Pair = 3 };

// Instructions. Divisions are products with a reciprocal that is known when the
// kernel is compiled, or that is computed once for a tile.
constexpr int64_t kRead = 4, kConstantDivision = 4, kSharedDivision = 6,
                  kDivision = 20, kFloatDivision = 10, kFunction = 12,
                  kFastFunction = 2;
// Of a word with a bit for each of 32 keys: a bound, and a remainder.
constexpr int64_t kBoundInWord = 10, kRemainderInWord = 25;
/// With fewer conditions, each pair is compared.
constexpr int64_t kFewestInWords = 2;
/// More iterations, also those of loops in others, count as so many.
constexpr int64_t kMostTimes = 1 << 20;
/// Parts that a description names.
constexpr size_t kMaxNamed = 3;

class CostCounter {
public:
  explicit CostCounter(Region &mask) : mask(mask) {
    uses[mask.getArgument(kNumMaskArgs - 2)] = Query;
    uses[mask.getArgument(kNumMaskArgs - 1)] = Key;
    forms[mask.getArgument(kNumMaskArgs - 1)] = Form::Position;
  }

  MaskCost count();

private:
  void count(Region &region, int64_t times, unsigned around);
  void count(Operation &op, int64_t times, unsigned around);
  void addToPairs(MaskCost::Part part);
  unsigned getPositions(Operation &op);
  /// The instructions of an operation, and, if it is several, what to say of
  /// it.
  int64_t getCost(Operation &op, MaskCost::Part &part);
  int64_t getDivisionCost(Operation &op, MaskCost::Part &part);
  void describeRead(tensor::ExtractOp op, MaskCost::Part &part);

  /// What a kernel for a GPU has as words, and of what.
  enum class Form { Other, Position, Size, Remainder, Word };
  Form getForm(Operation &op);
  int64_t getCostInWords(Operation &op, Form form);

  Region &mask;
  DenseMap<Value, unsigned> uses;
  DenseMap<Value, Form> forms;
  /// Comparisons that are words, and operations that count for pairs unless
  /// there are enough of them.
  int64_t numInWords = 0;
  SmallVector<MaskCost::Part> inPairs;
  MaskCost cost;
};
} // namespace

/// Positions that a value or a region of an operation depends on.
unsigned CostCounter::getPositions(Operation &op) {
  unsigned positions = None;
  op.walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      positions |= uses.lookup(operand);
  });
  return positions;
}

int64_t CostCounter::getDivisionCost(Operation &op, MaskCost::Part &part) {
  bool isRemainder = isa<arith::RemSIOp, arith::RemUIOp>(op);
  part.what = isRemainder ? "a remainder" : "a division";
  Value divisor = op.getOperand(1);
  if (std::optional<int64_t> constant = getConstantInteger(divisor)) {
    if (llvm::isPowerOf2_64(*constant))
      return 1;
    part.instead = "a power of two takes 1";
    return kConstantDivision;
  }
  if (uses.lookup(divisor) == None) {
    part.what += " by a captured number";
    part.instead =
        llvm::formatv("a constant takes {0}", kConstantDivision).str();
    return kSharedDivision;
  }
  part.what += " by a number that changes with the position";
  part.instead = llvm::formatv("one number for all takes {0}, a constant {1}",
                               kSharedDivision, kConstantDivision);
  return kDivision;
}

void CostCounter::describeRead(tensor::ExtractOp op, MaskCost::Part &part) {
  part.what = "a read of a tensor";
  bool isOfBoth = llvm::any_of(
      op.getIndices(), [&](Value index) { return uses.lookup(index) == Pair; });
  part.instead = isOfBoth
                     ? "a comparison of the index takes 1"
                     : "pairs as a block mask or as lists of keys need no mask";
}

int64_t CostCounter::getCost(Operation &op, MaskCost::Part &part) {
  return llvm::TypeSwitch<Operation &, int64_t>(op)
      .Case<arith::ConstantOp, arith::IndexCastOp, arith::IndexCastUIOp,
            arith::ExtUIOp, arith::ExtSIOp, arith::TruncIOp, arith::BitcastOp,
            YieldOp, scf::YieldOp>([](auto) { return 0; })
      .Case<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp,
            arith::CeilDivSIOp, arith::CeilDivUIOp, arith::RemSIOp,
            arith::RemUIOp>([&](auto) { return getDivisionCost(op, part); })
      .Case<tensor::ExtractOp>([&](auto read) {
        describeRead(read, part);
        return kRead;
      })
      .Case<arith::DivFOp, arith::RemFOp>([&](auto) {
        part.what = "a division of floating-point numbers";
        part.instead = "a product with the reciprocal takes 1";
        return kFloatDivision;
      })
      .Case<math::AbsFOp, math::AbsIOp, math::FmaOp, math::CopySignOp,
            math::FloorOp, math::CeilOp, math::TruncOp, math::RoundEvenOp>(
          [](auto) { return 1; })
      .Case<math::Exp2Op, math::RsqrtOp, math::SqrtOp>(
          [](auto) { return kFastFunction; })
      .Default([&](Operation &other) -> int64_t {
        if (!isa<math::MathDialect>(other.getDialect()))
          return 1;
        part.what = "'" + other.getName().getStringRef().str() + "'";
        part.instead = "a comparison of its operand takes 1";
        return kFunction;
      });
}

/// A position of the key and numbers of the query and the call, the size or a
/// remainder of one, or a condition on these.
CostCounter::Form CostCounter::getForm(Operation &op) {
  auto get = [&](unsigned number) {
    return forms.lookup(op.getOperand(number));
  };
  auto isOfRow = [&](unsigned number) {
    return (uses.lookup(op.getOperand(number)) & Key) == 0;
  };
  auto isWith = [&](unsigned number, Form form) {
    return get(number) == form && isOfRow(1 - number);
  };
  auto isEither = [&](Form form) { return isWith(0, form) || isWith(1, form); };
  if (isa<arith::AddIOp, arith::SubIOp>(op)) {
    if (isEither(Form::Position))
      return Form::Position;
    return isEither(Form::Remainder) ? Form::Remainder : Form::Other;
  }
  if (isa<math::AbsIOp>(op))
    return get(0) == Form::Position ? Form::Size : Form::Other;
  if (isa<arith::RemSIOp, arith::RemUIOp>(op))
    return get(0) == Form::Position && uses.lookup(op.getOperand(1)) == None
               ? Form::Remainder
               : Form::Other;
  if (isa<arith::SelectOp>(op))
    return get(1) == Form::Remainder && get(2) == Form::Remainder
               ? Form::Remainder
               : Form::Other;
  if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    if (isEither(Form::Remainder))
      return Form::Word;
    bool isBound = compare.getPredicate() != arith::CmpIPredicate::eq &&
                   compare.getPredicate() != arith::CmpIPredicate::ne;
    return isBound && (isEither(Form::Position) || isEither(Form::Size))
               ? Form::Word
               : Form::Other;
  }
  if (!isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op))
    return Form::Other;
  // Conditions of the query or of the key alone are words beside others.
  auto isOne = [&](unsigned number) {
    return get(number) == Form::Word ||
           uses.lookup(op.getOperand(number)) != Pair;
  };
  bool isAny = get(0) == Form::Word || get(1) == Form::Word;
  return isAny && isOne(0) && isOne(1) ? Form::Word : Form::Other;
}

int64_t CostCounter::getCostInWords(Operation &op, Form form) {
  if (form != Form::Word)
    return 0;
  auto compare = dyn_cast<arith::CmpIOp>(op);
  if (!compare)
    return 1;
  auto isOf = [&](Form form) {
    return llvm::any_of(op.getOperands(), [&](Value operand) {
      return forms.lookup(operand) == form;
    });
  };
  // The correction of a sign is no comparison of its own.
  if (isOf(Form::Remainder)) {
    bool isOfSign = compare.getPredicate() != arith::CmpIPredicate::eq &&
                    llvm::any_of(op.getOperands(), [](Value operand) {
                      return getConstantInteger(operand) == 0;
                    });
    return isOfSign ? 0 : kRemainderInWord;
  }
  return isOf(Form::Size) ? 2 * kBoundInWord : kBoundInWord;
}

void CostCounter::count(Operation &op, int64_t times, unsigned around) {
  unsigned positions = getPositions(op);
  for (Value result : op.getResults())
    uses[result] = positions;
  if (op.getNumRegions() != 0) {
    int64_t trips = 1;
    for (Region &region : op.getRegions())
      for (Value argument : region.getArguments())
        uses[argument] = positions;
    // Its bounds are constants.
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      uses[loop.getInductionVar()] = None;
      trips = loop.getStaticTripCount()->getLimitedValue(kMostTimes);
    }
    // A loop or a branch of pairs has all of its operations for each pair.
    for (Region &region : op.getRegions())
      count(region, std::min(times * trips, kMostTimes), positions | around);
    return;
  }
  MaskCost::Part part{&op, 0, "", ""};
  part.cost = times * getCost(op, part);
  // What is in a branch or a loop of pairs is computed for each of them.
  Form form = around == None ? getForm(op) : Form::Other;
  if (form != Form::Other)
    forms[op.getResult(0)] = form;
  switch (positions | around) {
  case None:
    return;
  case Query:
    cost.query += part.cost;
    return;
  case Key:
    cost.key += part.cost;
    return;
  }
  if (form != Form::Other) {
    numInWords += form == Form::Word && isa<arith::CmpIOp>(op);
    cost.word += getCostInWords(op, form);
    inPairs.push_back(std::move(part));
    return;
  }
  addToPairs(std::move(part));
}

void CostCounter::addToPairs(MaskCost::Part part) {
  cost.pair += part.cost;
  if (part.what.empty())
    return;
  auto isDearer = [](int64_t cost, const MaskCost::Part &other) {
    return cost > other.cost;
  };
  int64_t own = part.cost;
  cost.parts.insert(llvm::upper_bound(cost.parts, own, isDearer),
                    std::move(part));
}

void CostCounter::count(Region &region, int64_t times, unsigned around) {
  for (Operation &op : region.getOps())
    count(op, times, around);
}

MaskCost CostCounter::count() {
  count(mask, 1, None);
  if (numInWords >= kFewestInWords) {
    // The test of a bit.
    ++cost.pair;
  } else {
    cost.word = 0;
    for (MaskCost::Part &part : inPairs)
      addToPairs(std::move(part));
  }
  return std::move(cost);
}

MaskCost mlir::attn::getMaskCost(Region &mask) {
  return CostCounter(mask).count();
}

std::string MaskCost::describe() const {
  std::string text = llvm::formatv(
      "the predicate takes about {0} instruction{1} for each pair of a partial "
      "tile",
      pair, pair == 1 ? "" : "s");
  if (word)
    text += llvm::formatv(", {0} for each query and 32 keys", word);
  if (query)
    text += llvm::formatv(", {0} for each query", query);
  if (key)
    text += llvm::formatv(", {0} for each key", key);
  for (const Part &part : ArrayRef(parts).take_front(kMaxNamed)) {
    text += llvm::formatv("; {0} of them for {1}", part.cost, part.what);
    if (auto at = part.op->getLoc()->findInstanceOf<FileLineColLoc>())
      text += llvm::formatv(" in line {0}", at.getLine());
    if (!part.instead.empty())
      text += " (" + part.instead + ")";
  }
  return text;
}
