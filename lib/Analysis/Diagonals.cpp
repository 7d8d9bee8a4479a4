//===- Diagonals.cpp - What pairs of a diagonal share ---------------------===//

#include "attn/Analysis/Diagonals.h"
#include "attn/Analysis/KeyBias.h"
#include "attn/Dialect/Attn/IR/AttnGrad.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Growth
//===----------------------------------------------------------------------===//

static bool isInduction(BlockArgument argument) {
  auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
  return loop && argument == loop.getInductionVar();
}

std::optional<int64_t> PairGrowth::get(Value value) {
  auto it = known.find(value);
  if (it != known.end())
    return it->second;
  std::optional<int64_t> growth = compute(value);
  return known[value] = growth;
}

std::optional<int64_t> PairGrowth::compute(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    // In an iteration of a loop there is one for all pairs.
    if (argument.getOwner() != &region.front())
      return isInduction(argument) ? std::optional<int64_t>(0) : std::nullopt;
    unsigned number = argument.getArgNumber();
    if (number == query || number == query + 1)
      return 1;
    return number < firstPosition ? std::nullopt : std::optional<int64_t>(0);
  }
  Operation *op = value.getDefiningOp();
  // What a branch gives depends on more than operands.
  if (op->getNumRegions() != 0)
    return std::nullopt;
  SmallVector<int64_t> operands;
  for (Value operand : op->getOperands()) {
    std::optional<int64_t> growth = get(operand);
    if (!growth)
      return std::nullopt;
    operands.push_back(*growth);
  }
  if (llvm::all_of(operands, [](int64_t growth) { return growth == 0; }))
    return 0;
  int64_t growth;
  if (isa<arith::AddIOp>(op) &&
      !llvm::AddOverflow(operands[0], operands[1], growth))
    return growth;
  if (isa<arith::SubIOp>(op) &&
      !llvm::SubOverflow(operands[0], operands[1], growth))
    return growth;
  if (isa<arith::MulIOp>(op))
    for (auto [number, other] : {std::pair{0, 1}, {1, 0}}) {
      APInt factor;
      if (matchPattern(op->getOperand(number), m_ConstantInt(&factor)) &&
          factor.getSignificantBits() <= 64 &&
          !llvm::MulOverflow(operands[other], factor.getSExtValue(), growth))
        return growth;
    }
  // Of a position alone, as sums may have wrapped in the narrower type.
  bool isOfPosition = isa<BlockArgument>(op->getOperand(0));
  if (isa<arith::TruncIOp>(op) ||
      (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op) &&
       (isOfPosition || value.getType().isInteger())))
    return operands[0];
  if (isa<arith::ExtSIOp, arith::ExtUIOp>(op))
    if (auto cast = op->getOperand(0).getDefiningOp<arith::IndexCastOp>();
        cast && isa<BlockArgument>(cast.getIn()))
      return operands[0];
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Instructions of a thread, more or less.
static int64_t getCost(Operation *op) {
  if (op->hasTrait<OpTrait::ConstantLike>())
    return 0;
  // An address, a test of its range, and the wait.
  if (isa<tensor::ExtractOp>(op))
    return 8;
  if (isa<math::AbsFOp, math::AbsIOp, math::CopySignOp>(op))
    return 1;
  if (isa<math::SinOp, math::CosOp, math::PowFOp, math::FPowIOp>(op))
    return 20;
  if (isa<math::MathDialect>(op->getDialect()) || isa<arith::DivFOp>(op))
    return 6;
  return isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
             arith::FloorDivSIOp, arith::CeilDivSIOp>(op)
             ? 6
             : 1;
}

Diagonals::Diagonals(AttentionLikeOpInterface op) {
  Region &score = op.getScore();
  // Gradients compute scores for each pair.
  if (score.empty() || isa<AttentionGradOp>(*op))
    return;
  // A bias that is affine in the key is computed for no pair.
  if (std::optional<KeyBias> bias = getKeyBias(op); bias && !bias->hasPieces)
    return;
  // A read, a write for many elements, and two barriers of a warpgroup.
  constexpr int64_t leastCost = 8;
  const unsigned query = kNumScoreArgs - 2;
  PairGrowth growth(score, /*firstPosition=*/1, query);
  llvm::SetVector<Operation *> ofQuery;
  getForwardSlice(score.getArgument(query), &ofQuery);
  auto isOfDiagonal = [&](Operation *inner) {
    return ofQuery.contains(inner) && inner->getNumResults() == 1 &&
           growth.get(inner->getResult(0)) == 0;
  };
  BackwardSliceOptions options;
  options.inclusive = true;
  options.omitBlockArguments = true;
  options.filter = [&](Operation *inner) {
    return inner->getParentRegion() == &score;
  };
  for (Operation &inner : score.front().without_terminator()) {
    if (!isOfDiagonal(&inner) || !inner.getResult(0).getType().isF32() ||
        llvm::all_of(inner.getUsers(), isOfDiagonal))
      continue;
    llvm::SetVector<Operation *> slice;
    (void)getBackwardSlice(&inner, &slice, options);
    int64_t cost = 0;
    for (Operation *other : slice)
      if (ofQuery.contains(other))
        cost += getCost(other);
    if (cost < leastCost)
      continue;
    values.push_back(inner.getResult(0));
    ops.insert_range(slice);
  }
  llvm::SmallVector<Operation *> sorted(ops.getArrayRef());
  llvm::sort(sorted,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  ops.clear();
  ops.insert_range(sorted);
}
