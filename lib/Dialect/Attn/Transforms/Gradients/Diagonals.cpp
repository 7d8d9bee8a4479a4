//===- Diagonals.cpp - Indices that differ from query to key --------------===//

#include "Diagonals.h"
#include "attn/Dialect/Attn/Transforms/GradientSteps.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

static Region &getAdjointOf(ContributeOp op) {
  return op->getParentOfType<AttentionGradOp>().getAdjoint();
}

static bool isInduction(BlockArgument argument) {
  auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
  return loop && argument == loop.getInductionVar();
}

namespace {
/// By how much values grow from (i, j) to (i + 1, j + 1), where that is a
/// constant. Sums and products wrap as the values themselves do.
class Growth {
public:
  explicit Growth(Region &adjoint) : adjoint(adjoint) {}
  std::optional<int64_t> get(Value value);

private:
  std::optional<int64_t> compute(Value value);

  Region &adjoint;
  DenseMap<Value, std::optional<int64_t>> known;
};
} // namespace

std::optional<int64_t> Growth::get(Value value) {
  auto it = known.find(value);
  if (it != known.end())
    return it->second;
  std::optional<int64_t> growth = compute(value);
  return known[value] = growth;
}

std::optional<int64_t> Growth::compute(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    // In an iteration of a loop there is one for all pairs.
    if (argument.getOwner() != &adjoint.front())
      return isInduction(argument) ? std::optional<int64_t>(0) : std::nullopt;
    unsigned number = argument.getArgNumber();
    if (number == kAdjointQuery || number == kAdjointKey)
      return 1;
    return number < kAdjointBatch ? std::nullopt : std::optional<int64_t>(0);
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

/// The operations of the adjoint that compute a value, which no branch or loop
/// does.
static SetVector<Operation *> getComputing(Region &adjoint,
                                           ArrayRef<Value> values) {
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.filter = [&](Operation *op) {
    return adjoint.isAncestor(op->getParentRegion()) &&
           op->getNumRegions() == 0;
  };
  for (Value value : values)
    if (Operation *op = value.getDefiningOp())
      (void)getBackwardSlice(op, &slice, options);
  return slice;
}

/// Whether a value is computed of the position of the query.
static bool isOfQueries(Region &adjoint, Value value) {
  Value queries = adjoint.getArgument(kAdjointQuery);
  return value == queries ||
         llvm::any_of(getComputing(adjoint, value), [&](Operation *op) {
           return llvm::is_contained(op->getOperands(), queries);
         });
}

bool mlir::attn::isByDiagonal(ContributeOp op) {
  Region &adjoint = getAdjointOf(op);
  Growth growth(adjoint);
  return llvm::all_of(op.getIndices(),
                      [&](Value index) { return growth.get(index) == 0; }) &&
         llvm::any_of(op.getIndices(),
                      [&](Value index) { return isOfQueries(adjoint, index); });
}

bool mlir::attn::hasSumsOfDiagonals(AttentionGradOp op) {
  bool found = false;
  op.getAdjoint().walk([&](ContributeOp contribution) {
    found |= llvm::is_contained(
                 op.getWrt(), kGradCapture + contribution.getCaptureNumber()) &&
             isByDiagonal(contribution);
  });
  return found;
}

SetVector<Operation *> mlir::attn::getIndexOps(ContributeOp op) {
  return topologicalSort(
      getComputing(getAdjointOf(op), SmallVector<Value>(op.getIndices())));
}

LogicalResult mlir::attn::emitIndices(ContributeOp op,
                                      ArrayRef<TileValue> arguments,
                                      RegionVectorizer &vectorizer) {
  for (auto [argument, value] :
       llvm::zip_equal(getAdjointOf(op).getArguments(), arguments))
    if (value.value)
      vectorizer.set(argument, value);
  for (Operation *defining : getIndexOps(op))
    if (failed(vectorizer.emit(*defining)))
      return failure();
  return success();
}

FailureOr<SmallVector<Value>>
mlir::attn::emitDiagonalIndices(OpBuilder &builder, ContributeOp op,
                                int64_t count, ArrayRef<TileValue> arguments,
                                RegionVectorizer &around) {
  Region &adjoint = getAdjointOf(op);
  RegionVectorizer vectorizer(builder, op.getLoc(), count, /*numQueries=*/1,
                              /*sites=*/nullptr);
  for (auto loop = op->getParentOfType<scf::ForOp>(); loop;
       loop = loop->getParentOfType<scf::ForOp>()) {
    Value induction = loop.getInductionVar();
    if (adjoint.isAncestor(loop->getParentRegion()))
      vectorizer.set(induction, around.get(induction));
  }
  if (failed(emitIndices(op, arguments, vectorizer)))
    return failure();
  SmallVector<Value> indices;
  for (Value index : op.getIndices()) {
    TileValue value = vectorizer.get(index);
    indices.push_back(value.kind == TileKind::Uniform
                          ? value.value
                          : vectorizer.broadcast(value, TileKind::Key));
  }
  return indices;
}
