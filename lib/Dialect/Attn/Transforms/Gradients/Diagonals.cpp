//===- Diagonals.cpp - Indices that differ from query to key --------------===//

#include "Diagonals.h"
#include "attn/Analysis/Diagonals.h"
#include "attn/Dialect/Attn/Transforms/GradientSteps.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::attn;

static Region &getAdjointOf(ContributeOp op) {
  return op->getParentOfType<AttentionGradOp>().getAdjoint();
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
  PairGrowth growth(adjoint, kAdjointBatch, kAdjointQuery);
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
