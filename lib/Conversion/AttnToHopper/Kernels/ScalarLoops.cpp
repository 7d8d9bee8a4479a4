//===- ScalarLoops.cpp - Reads, loops and branches of scalars -------------===//

#include "TileValues.h"
#include "attn/Dialect/Attn/IR/OtherTarget.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::attn;

/// An element of a capture, or of a table that was filled before.
FailureOr<Value> TileValues::computeExtract(tensor::ExtractOp op) {
  std::optional<unsigned> operand = getOperand(op.getTensor());
  if (!operand)
    return op.emitError("expects an element of an argument of the function")
           << otherTarget;
  Value memref = arguments.getMemRef(
      *operand, cast<RankedTensorType>(op.getTensor().getType()));
  SmallVector<Value> indices;
  for (Value index : op.getIndices()) {
    FailureOr<Value> mapped = getScalar(index);
    if (failed(mapped))
      return failure();
    indices.push_back(*mapped);
  }
  Value always = arith::ConstantIntOp::create(builder, op.getLoc(), 1, 1);
  return GatherOp::create(builder, op.getLoc(), op.getType(), memref, indices,
                          always, /*site=*/IntegerAttr())
      .getResult();
}

/// How the threads of a warp bring together what each has found, if that does
/// not depend on who found what: the least of all, and so on, or a sum, whose
/// order is always the same. A loop may leave that to a loop in it.
static std::optional<gpu::AllReduceOperation> matchAllReduce(scf::ForOp loop,
                                                             unsigned number) {
  Operation *op = loop.getYieldedValues()[number].getDefiningOp();
  Value carried = loop.getRegionIterArg(number);
  if (auto inner = dyn_cast_if_present<scf::ForOp>(op)) {
    unsigned result =
        cast<OpResult>(loop.getYieldedValues()[number]).getResultNumber();
    return inner.getInitArgs()[result] == carried && carried.hasOneUse()
               ? matchAllReduce(inner, result)
               : std::nullopt;
  }
  if (!op || op->getNumOperands() != 2 ||
      llvm::count(op->getOperands(), carried) != 1 || !carried.hasOneUse())
    return std::nullopt;
  if (isa<arith::MinSIOp>(op))
    return gpu::AllReduceOperation::MINSI;
  if (isa<arith::MaxSIOp>(op))
    return gpu::AllReduceOperation::MAXSI;
  if (isa<arith::AndIOp>(op))
    return gpu::AllReduceOperation::AND;
  if (isa<arith::OrIOp>(op))
    return gpu::AllReduceOperation::OR;
  if ((isa<arith::AddFOp>(op) && op->getResult(0).getType().isF32()) ||
      (isa<arith::AddIOp>(op) && op->getResult(0).getType().isInteger(32)))
    return gpu::AllReduceOperation::ADD;
  return std::nullopt;
}

static Value reduce(OpBuilder &builder, Location loc, Value value,
                    gpu::AllReduceOperation kind) {
  Type type = value.getType();
  if (type.isIndex())
    value =
        arith::IndexCastOp::create(builder, loc, builder.getI64Type(), value);
  value = gpu::SubgroupReduceOp::create(builder, loc, value, kind,
                                        /*uniform=*/true);
  if (type.isIndex())
    value = arith::IndexCastOp::create(builder, loc, type, value);
  return value;
}

LogicalResult TileValues::emitLoop(scf::ForOp loop, VectorKind kind,
                                   function_ref<LogicalResult()> emitEffects) {
  Location loc = loop.getLoc();
  SmallVector<Value> bounds;
  for (Value bound :
       {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()}) {
    FailureOr<Value> mapped = getScalar(bound);
    if (failed(mapped))
      return failure();
    bounds.push_back(*mapped);
  }
  auto getKind = [&](Value value) {
    auto type = dyn_cast<VectorType>(value.getType());
    return type && type.getRank() == 1 ? kind : VectorKind::Both;
  };
  FailureOr<SmallVector<Value>> inits = getAll(loop.getInitArgs(), kind);
  if (failed(inits))
    return failure();
  // What it uses of outside is computed once, in front of it.
  SetVector<Value> outside;
  getUsedValuesDefinedAbove(loop.getRegion(), outside);
  for (Value value : outside) {
    auto vector = dyn_cast<VectorType>(value.getType());
    bool isPlain =
        vector ? vector.getRank() == 2 : value.getType().isIntOrIndexOrFloat();
    if (isPlain && failed(get(value, VectorKind::Both)))
      return failure();
  }
  // A loop in one that is shared out is each thread's own.
  bool isShared = lane != nullptr;
  SmallVector<gpu::AllReduceOperation> reductions;
  for (unsigned i = 0; isShared && i < inits->size(); ++i) {
    auto reduction = matchAllReduce(loop, i);
    isShared = reduction.has_value();
    reductions.push_back(reduction.value_or(gpu::AllReduceOperation::OR));
  }
  if (isShared) {
    // A sum starts once.
    for (auto [init, kind] : llvm::zip_equal(*inits, reductions)) {
      if (kind != gpu::AllReduceOperation::ADD)
        continue;
      Value isFirst = arith::CmpIOp::create(
          builder, loc, arith::CmpIPredicate::eq, lane,
          arith::ConstantIndexOp::create(builder, loc, 0));
      Value zero = arith::ConstantOp::create(
          builder, loc, builder.getZeroAttr(init.getType()));
      init = arith::SelectOp::create(builder, loc, isFirst, init, zero);
    }
    Value first = arith::MulIOp::create(builder, loc, lane, bounds[2]);
    bounds[0] = arith::AddIOp::create(builder, loc, bounds[0], first);
    bounds[2] = arith::MulIOp::create(
        builder, loc, bounds[2],
        arith::ConstantIndexOp::create(builder, loc, hopper::kWarpThreads));
  }
  auto copy =
      scf::ForOp::create(builder, loc, bounds[0], bounds[1], bounds[2], *inits);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(copy.getBody());
    auto saved = values;
    Value outerLane = lane;
    if (isShared)
      lane = nullptr;
    auto map = [&](Value from, Value to) {
      values[{from, getKind(from)}] = to;
    };
    map(loop.getInductionVar(), copy.getInductionVar());
    for (auto [from, to] :
         llvm::zip_equal(loop.getRegionIterArgs(), copy.getRegionIterArgs()))
      map(from, to);
    Operation *outerAnchor = std::exchange(anchor, nullptr);
    if (emitEffects && failed(emitEffects()))
      return failure();
    anchor = outerAnchor;
    if (loop.getNumResults() != 0 &&
        failed(yieldAll(loop.getYieldedValues(), kind)))
      return failure();
    lane = outerLane;
    values = std::move(saved);
  }
  for (unsigned i = 0; i < inits->size(); ++i) {
    Value value = copy.getResult(i);
    if (isShared)
      value = reduce(builder, loc, value, reductions[i]);
    values[{loop.getResult(i), getKind(loop.getResult(i))}] = value;
  }
  return success();
}

FailureOr<Value> TileValues::computeLoop(scf::ForOp loop, unsigned number,
                                         VectorKind kind) {
  if (failed(emitLoop(loop, kind)))
    return failure();
  Value result = loop.getResult(number);
  auto type = dyn_cast<VectorType>(result.getType());
  return values.at(
      {result, type && type.getRank() == 1 ? kind : VectorKind::Both});
}

/// Ends a block with values, which are computed in it.
LogicalResult TileValues::yieldAll(ValueRange from, VectorKind kind) {
  Operation *outerAnchor = std::exchange(anchor, nullptr);
  FailureOr<SmallVector<Value>> yielded = getAll(from, kind);
  if (failed(yielded))
    return failure();
  scf::YieldOp::create(builder, from[0].getLoc(), *yielded);
  anchor = outerAnchor;
  return success();
}

/// Computes a branch between scalars with all results, and returns one.
FailureOr<Value> TileValues::computeBranch(scf::IfOp branch, unsigned number) {
  FailureOr<Value> condition = getScalar(branch.getCondition());
  if (failed(condition))
    return failure();
  auto result =
      scf::IfOp::create(builder, branch.getLoc(), branch.getResultTypes(),
                        *condition, /*withElseRegion=*/true);
  for (bool isElse : {false, true}) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(isElse ? result.elseBlock()
                                            : result.thenBlock());
    auto saved = values;
    if (failed(yieldAll(
            (isElse ? branch.elseYield() : branch.thenYield()).getOperands(),
            VectorKind::Both)))
      return failure();
    values = std::move(saved);
  }
  for (auto [from, to] :
       llvm::zip_equal(branch.getResults(), result.getResults()))
    values[{from, VectorKind::Both}] = to;
  return values.at({branch.getResult(number), VectorKind::Both});
}
