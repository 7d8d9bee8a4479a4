//===- WorkerCloner.cpp - Computations of a tile in one role --------------===//

#include "WorkerCloner.h"
#include "KeyLimits.h"
#include "PackedHeads.h"
#include "attn/Dialect/Attn/IR/OtherTarget.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"

using namespace mlir;
using namespace mlir::attn;

/// Whether a value can be used where the builder stands. One that was computed
/// where few tiles come cannot be by what is computed before all tiles.
static bool isUsable(OpBuilder &builder, Value value) {
  Block::iterator point = builder.getInsertionPoint();
  Block *block = builder.getInsertionBlock();
  if (point != block->end())
    return DominanceInfo().properlyDominates(value, &*point);
  Operation *parent = block->getParentOp();
  return value.getParentBlock() == block ||
         DominanceInfo().properlyDominates(value, parent);
}

FailureOr<Value> WorkerCloner::get(Value value, VectorKind kind) {
  auto it = values.find({value, kind});
  if (it != values.end() && isUsable(builder, it->second))
    return it->second;
  OpBuilder::InsertionGuard guard(builder);
  if (isHoisted(value))
    builder.setInsertionPoint(anchor);
  FailureOr<Value> result = compute(value, kind);
  if (succeeded(result))
    values[{value, kind}] = *result;
  return result;
}

FailureOr<Value> WorkerCloner::getScalar(OpFoldResult value) {
  if (auto dynamic = dyn_cast<Value>(value))
    return getScalar(dynamic);
  return Value(arith::ConstantIndexOp::create(builder, program.grid.getLoc(),
                                              *getConstantIntValue(value)));
}

std::optional<unsigned> WorkerCloner::getOperand(Value tensor) {
  Value source = tensor;
  while (auto cast = source.getDefiningOp<tensor::CastOp>())
    source = cast.getSource();
  auto argument = dyn_cast<BlockArgument>(source);
  if (argument &&
      argument.getOwner() == &program.function.getFunctionBody().front())
    return argument.getArgNumber();
  auto *table = llvm::find(program.tables, source);
  if (table == program.tables.end())
    return std::nullopt;
  return program.function.getNumArguments() + (table - program.tables.begin());
}

/// tensor.dim of an operand.
FailureOr<Value> WorkerCloner::getTensorScalar(Operation *op) {
  auto dim = cast<tensor::DimOp>(op);
  Value source = dim.getSource();
  std::optional<int64_t> number = dim.getConstantIndex();
  // The destination of the loop is an argument, too.
  if (auto argument = dyn_cast<BlockArgument>(source))
    if (program.grid && argument.getOwner() == program.grid.getBody())
      source = program.grid.getTiedOpOperand(argument)->get();
  if (auto packed = source.getDefiningOp<PackHeadsOp>(); packed && number)
    return getPackedExtent(packed, *number, op->getLoc());
  std::optional<unsigned> operand = getOperand(source);
  if (!operand || !number)
    return op->emitError("expects the extent of an argument");
  if (*operand >= program.function.getNumArguments())
    return arguments.getExtent(*operand, *number);
  return getExtent(*operand, *number, op->getLoc());
}

/// An extent of packed heads.
FailureOr<Value> WorkerCloner::getPackedExtent(PackHeadsOp op, int64_t dim,
                                               Location loc) {
  std::optional<unsigned> operand = getOperand(op.getSource());
  if (!operand || *operand >= program.function.getNumArguments())
    return op.emitError("expects packed heads of an argument");
  Value extent = getExtent(*operand, dim, loc);
  if (!isPackedDim(op, dim))
    return extent;
  FailureOr<Value> count = getScalar(op.getCount());
  if (failed(count))
    return failure();
  return emitPackedExtent(builder, op, dim, extent, *count, loc);
}

FailureOr<SmallVector<Value>>
WorkerCloner::getUnpackedPosition(PackedCountOp packing, Value head, Value row,
                                  Location loc) {
  FailureOr<Value> count = getScalar(packing.getCount());
  if (failed(count))
    return failure();
  auto [firstHead, firstRow] =
      emitUnpackedPosition(builder, *count, head, row, loc);
  return SmallVector<Value>{firstHead, firstRow};
}

Value WorkerCloner::getExtent(unsigned argument, int64_t dim, Location loc) {
  auto type =
      cast<RankedTensorType>(program.function.getArgument(argument).getType());
  if (!type.isDynamicDim(dim))
    return arith::ConstantIndexOp::create(builder, loc, type.getDimSize(dim));
  return arguments.getExtent(argument, dim);
}

FailureOr<Value> WorkerCloner::computeGather(GatherOp op, VectorKind kind) {
  std::optional<unsigned> operand = getOperand(op.getSource());
  if (!operand)
    return op.emitError("expects a capture that is an argument of the "
                        "function")
           << otherTarget;
  // The mask tells which queries and keys there are. What a kernel computes for
  // others it does not use, and no element outside of the capture is read in
  // any case, so that elements at one position can be one.
  bool isMasked = op.getSiteAttr() != nullptr;
  SmallVector<Value> operands = {arguments.getMemRef(
      *operand, cast<RankedTensorType>(op.getSource().getType()))};
  for (Value operand : op->getOperands().drop_front()) {
    if (!isMasked && operand == op.getMask()) {
      operands.push_back(
          arith::ConstantIntOp::create(builder, op.getLoc(), 1, 1));
      continue;
    }
    FailureOr<Value> mapped = isa<VectorType>(operand.getType())
                                  ? getVector(operand, kind)
                                  : getScalar(operand);
    if (failed(mapped))
      return failure();
    operands.push_back(*mapped);
  }
  Type type = op.getType();
  if (auto vector = dyn_cast<VectorType>(type))
    type = getType(vector, kind);
  ValueRange all(operands);
  return GatherOp::create(builder, op.getLoc(), type, operands[0],
                          all.drop_front().drop_back(), operands.back(),
                          op.getSiteAttr())
      .getResult();
}

FailureOr<Value> WorkerCloner::compute(Value value, VectorKind kind) {
  Location loc = value.getLoc();
  auto type = dyn_cast<VectorType>(value.getType());
  Operation *op = value.getDefiningOp();
  if (!op) {
    auto argument = cast<BlockArgument>(value);
    if (argument.getOwner() == &program.function.getFunctionBody().front() &&
        !isa<TensorType>(value.getType()))
      return arguments.getScalar(argument.getArgNumber());
    return program.grid.emitError("expects a value that a kernel can compute");
  }
  if (isa<tensor::DimOp>(op))
    return getTensorScalar(op);
  if (isa<PackedCountOp>(op))
    return arguments.getPackedCount();
  if (auto extract = dyn_cast<tensor::ExtractOp>(op))
    return computeExtract(extract);
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return computeLoop(loop, cast<OpResult>(value).getResultNumber());
  auto branch = dyn_cast<scf::IfOp>(op);
  if (branch && !type)
    return computeBranch(branch, cast<OpResult>(value).getResultNumber());
  if (auto gather = dyn_cast<GatherOp>(op))
    return computeGather(gather, kind);
  if (auto step = dyn_cast<vector::StepOp>(op)) {
    Value iota = hopper::IotaOp::create(builder, loc, getType(type, kind));
    if (kind == VectorKind::Key)
      return iota;
    Value rows =
        arith::ConstantIndexOp::create(builder, loc, hopper::kWarpgroupRows);
    Value first = arith::MulIOp::create(builder, loc, warpgroup, rows);
    return Value(arith::AddIOp::create(
        builder, loc, iota,
        vector::BroadcastOp::create(builder, loc, iota.getType(), first)));
  }
  if (isa<arith::AndIOp, arith::OrIOp>(op) && type && type.getRank() == 2) {
    FailureOr<Value> limits = computeKeyLimits(builder, *this, value);
    if (failed(limits) || *limits)
      return limits;
  }
  FailureOr<Value> result = computePlain(value, kind);
  if (failed(result) || *result)
    return result;
  return op->emitError("'")
         << op->getName() << "' has no form in a GPU kernel" << otherTarget;
}

LogicalResult WorkerCloner::computeInvariants(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || isa<ShapedType>(value.getType()))
    return success();
  if (isInvariant(value))
    return getScalar(value);
  for (Value operand : op->getOperands())
    if (failed(computeInvariants(operand)))
      return failure();
  return success();
}
