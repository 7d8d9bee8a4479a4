//===- Branches.cpp - Branches that yield tiles ---------------------------===//
//
// A KV block is computed with a predicate, without one, or not at all. Each
// side of the branch continues the state of the softmax where it lies, and the
// side that does nothing leaves it there.
//
//===----------------------------------------------------------------------===//

#include "TileLowering.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::attn;

/// What of the type of a tile it is computed of where it lies.
static SmallVector<Value> getSources(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto contract = dyn_cast<vector::ContractionOp>(op))
    return {contract.getAcc()};
  if (auto inner = dyn_cast<scf::IfOp>(op)) {
    unsigned number = cast<OpResult>(value).getResultNumber();
    return {inner.thenYield().getOperand(number),
            inner.elseYield().getOperand(number)};
  }
  SmallVector<Value> sources;
  if (OpTrait::hasElementwiseMappableTraits(op))
    for (Value operand : op->getOperands())
      if (operand.getType() == value.getType())
        sources.push_back(operand);
  return sources;
}

/// The nearest tile from outside of `branch` that `value` is, or is computed
/// of, and that `isFree`. Null if none.
static Value getContinued(Value value, scf::IfOp branch,
                          function_ref<bool(Value)> isFree) {
  llvm::SetVector<Value> reached;
  reached.insert(value);
  for (unsigned next = 0; next < reached.size(); ++next) {
    Value current = reached[next];
    Operation *op = current.getDefiningOp();
    if (op && branch->isProperAncestor(op))
      reached.insert_range(getSources(current));
    else if (isFree(current))
      return current;
  }
  return {};
}

std::pair<Value, Value> TileLowering::getCommonBuffer(scf::IfOp op,
                                                      unsigned result,
                                                      ArrayRef<Value> taken) {
  // A tile that nobody reads but the branch is overwritten, unless another run
  // of the branch reads it again.
  auto isFree = [&](Value value) {
    return buffers.contains(value) &&
           value.getParentBlock() == op->getBlock() &&
           !llvm::is_contained(taken, value) &&
           llvm::all_of(value.getUsers(), [&](Operation *user) {
             return op->isProperAncestor(user);
           });
  };
  for (scf::YieldOp yield : {op.thenYield(), op.elseYield()})
    if (Value value = getContinued(yield.getOperand(result), op, isFree))
      return {buffers.lookup(value), value};
  return {allocate(cast<VectorType>(op.getResult(result).getType())), Value()};
}

LogicalResult TileLowering::lowerYield(scf::YieldOp yield,
                                       ArrayRef<Value> homes) {
  builder.setInsertionPoint(yield);
  loc = yield.getLoc();
  SmallVector<Value> scalars;
  // What is not updated in place goes through a buffer of its own, since it may
  // depend on the state it replaces.
  SmallVector<std::pair<Value, Value>> copies;
  for (auto [value, home] : llvm::zip_equal(yield.getOperands(), homes)) {
    if (!home) {
      scalars.push_back(value);
      continue;
    }
    Value buffer = buffers.lookup(value);
    if (buffer == home)
      continue;
    if (buffer && llvm::is_contained(homes, buffer)) {
      Value copy = allocate(cast<VectorType>(value.getType()));
      if (failed(store(value, copy)))
        return failure();
      buffers[value] = copy;
    } else if (failed(materialize(value))) {
      return failure();
    }
    copies.push_back({value, home});
  }
  for (auto [value, home] : copies)
    if (failed(store(value, home)))
      return failure();
  scf::YieldOp::create(builder, loc, scalars);
  return success();
}

FailureOr<bool> TileLowering::lowerSides(scf::IfOp op) {
  for (Region *side : op.getRegions()) {
    // What one side computes is not there for the other.
    TileBuffers before = buffers;
    if (!side->empty() && failed(lowerBlock(side->front())))
      return failure();
    buffers = std::move(before);
  }
  return true;
}

LogicalResult TileLowering::lowerIf(scf::IfOp op) {
  builder.setInsertionPoint(op);
  SmallVector<Value> homes, taken;
  SmallVector<Type> scalarTypes;
  SmallVector<unsigned> scalars;
  for (OpResult result : op.getResults()) {
    if (!isa<VectorType>(result.getType())) {
      homes.push_back(Value());
      scalarTypes.push_back(result.getType());
      scalars.push_back(result.getResultNumber());
      continue;
    }
    auto [home, value] = getCommonBuffer(op, result.getResultNumber(), taken);
    homes.push_back(home);
    if (value)
      taken.push_back(value);
  }

  auto newIf = scf::IfOp::create(builder, op.getLoc(), scalarTypes,
                                 op.getCondition(), /*withElseRegion=*/true);
  for (unsigned side : {0, 1}) {
    Block &oldBody = op->getRegion(side).front();
    Block &body = newIf->getRegion(side).front();
    if (!body.empty())
      body.back().erase();
    body.getOperations().splice(body.end(), oldBody.getOperations());
    for (Value value : taken)
      rename(value, body);
    auto yield = cast<scf::YieldOp>(body.getTerminator());
    // What one side computes is not there for the other.
    TileBuffers before = buffers;
    if (failed(lowerBlock(body)) || failed(lowerYield(yield, homes)))
      return failure();
    buffers = std::move(before);
    // Until the end this holds the tile values that were lowered.
    yield->moveBefore(&oldBody, oldBody.end());
  }
  for (auto [number, result] : llvm::zip_equal(scalars, newIf.getResults()))
    op.getResult(number).replaceAllUsesWith(result);
  for (auto [home, result] : llvm::zip_equal(homes, op.getResults()))
    if (home)
      buffers[result] = home;
  dead.push_back(op);
  return success();
}
