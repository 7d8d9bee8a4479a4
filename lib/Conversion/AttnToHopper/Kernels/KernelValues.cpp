//===- KernelValues.cpp - Values of a worker's program in a kernel --------===//

#include "KernelValues.h"
#include "PackedHeads.h"
#include "attn/Dialect/Attn/IR/OtherTarget.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::attn;

void KernelValues::mapRows(Value first, Value end, Value tile,
                           int64_t tileSize) {
  this->first = first;
  this->tile = tile;
  this->tileSize = tileSize;
  if (rowValue)
    map(rowValue, first);
  if (!countValue)
    return;
  map(countValue, arith::SubIOp::create(builder, first.getLoc(), end, first));
  // The end, as the worker's program has it.
  for (Operation *user : countValue.getUsers())
    if (auto add = dyn_cast<arith::AddIOp>(user);
        add && add.getLhs() == rowValue && add.getRhs() == countValue)
      map(add.getResult(), end);
}

/// The destination of the loop is an argument, too; behind casts.
Value KernelValues::skipDestination(Value tensor) {
  while (true) {
    auto argument = dyn_cast<BlockArgument>(tensor);
    if (auto cast = tensor.getDefiningOp<tensor::CastOp>())
      tensor = cast.getSource();
    else if (argument && argument.getOwner() == grid.getBody() &&
             isa<TensorType>(tensor.getType()))
      tensor = grid.getTiedOpOperand(argument)->get();
    else if (auto buffer = tensor.getDefiningOp<bufferization::ToBufferOp>())
      tensor = buffer.getTensor();
    else if (auto read = tensor.getDefiningOp<bufferization::ToTensorOp>())
      tensor = read.getBuffer();
    else if (auto before = tensor.getDefiningOp<scf::ForallOp>();
             before && !isPrologue(before))
      tensor = before.getTiedOpOperand(llvm::cast<OpResult>(tensor))->get();
    else
      return tensor;
  }
}

PackGQAOp KernelValues::getPacking(Value tensor) {
  auto packing = skipDestination(tensor).getDefiningOp<PackGQAOp>();
  return packing && packing.getCount().getDefiningOp<PackedCountOp>()
             ? packing
             : PackGQAOp();
}

std::optional<unsigned> KernelValues::getArgument(Value tensor) {
  tensor = skipDestination(tensor);
  if (PackGQAOp packing = getPacking(tensor))
    tensor = skipDestination(packing.getSource());
  auto argument = dyn_cast<BlockArgument>(tensor);
  if (argument && argument.getOwner() == &function.getBody().front())
    return argument.getArgNumber();
  return std::nullopt;
}

std::optional<unsigned> KernelValues::getOperand(Value tensor) {
  if (std::optional<unsigned> argument = getArgument(tensor))
    return argument;
  while (auto cast = tensor.getDefiningOp<tensor::CastOp>())
    tensor = cast.getSource();
  auto table = llvm::find(tables, tensor);
  if (table == tables.end())
    return std::nullopt;
  return function.getNumArguments() + (table - tables.begin());
}

Value KernelValues::getExtent(unsigned argument, int64_t dim) {
  if (argument >= function.getNumArguments())
    return arguments.getExtent(argument, dim);
  auto type = cast<ShapedType>(function.getArgument(argument).getType());
  if (!type.isDynamicDim(dim))
    return arith::ConstantIndexOp::create(builder, function.getLoc(),
                                          type.getDimSize(dim));
  return arguments.getExtent(argument, dim);
}

/// What a result that nobody asks for, and that others have the extents of, was
/// made as before its heads were packed; null for what is in memory.
static tensor::EmptyOp getPackedEmpty(PackGQAOp packing) {
  return packing ? packing.getSource().getDefiningOp<tensor::EmptyOp>()
                 : tensor::EmptyOp();
}

FailureOr<Value> KernelValues::getExtent(Value tensor, int64_t dim) {
  PackGQAOp packing = getPacking(tensor);
  tensor::EmptyOp empty = getPackedEmpty(packing);
  FailureOr<Value> extent = empty ? getScalar(empty.getMixedSizes()[dim])
                                  : getExtent(*getOperand(tensor), dim);
  if (failed(extent) || !packing || !isPackedDim(packing, dim))
    return extent;
  FailureOr<Value> count = getScalar(packing.getCount());
  if (failed(count))
    return failure();
  return emitPackedExtent(builder, packing, dim, *extent, *count,
                          grid.getLoc());
}

FailureOr<Value> KernelValues::getScalar(OpFoldResult value) {
  if (auto dynamic = dyn_cast<Value>(value))
    return getScalar(dynamic);
  return Value(arith::ConstantIndexOp::create(builder, grid.getLoc(),
                                              *getConstantIntValue(value)));
}

FailureOr<SmallVector<Value>>
KernelValues::getScalars(ArrayRef<OpFoldResult> list) {
  SmallVector<Value> scalars;
  for (OpFoldResult one : list) {
    FailureOr<Value> scalar = getScalar(one);
    if (failed(scalar))
      return failure();
    scalars.push_back(*scalar);
  }
  return scalars;
}

/// Whether a value can be used where the builder stands.
static bool isUsable(OpBuilder &builder, Value value) {
  Block *block = builder.getInsertionBlock();
  Region *region = value.getParentRegion();
  return value.getParentBlock() == block ||
         region->findAncestorBlockInRegion(*block) == value.getParentBlock();
}

FailureOr<Value> KernelValues::get(Value value, VectorKind kind) {
  // What was computed of positions before may be counted from elsewhere.
  bool isOther =
      isWithinTile && value.getDefiningOp() && isa<VectorType>(value.getType());
  auto it = values.find({value, kind});
  if (it != values.end() && !isOther && isUsable(builder, it->second))
    return it->second;
  OpBuilder::InsertionGuard guard(builder);
  if (isHoisted(value))
    builder.setInsertionPoint(anchor);
  FailureOr<Value> result = compute(value, kind);
  if (succeeded(result))
    values[{value, kind}] = *result;
  return result;
}

/// Positions within a work tile, or within a block.
FailureOr<Value> KernelValues::computeStep(vector::StepOp step,
                                           VectorKind kind) {
  Location loc = step.getLoc();
  VectorType type = getType(step.getType(), kind);
  Value iota = hopper::IotaOp::create(builder, loc, type);
  if (kind == VectorKind::Key)
    return iota;
  Value start;
  // What is added to positions is the first row of the warpgroup, but where
  // there is one work tile, whose first row is 0.
  if (!rowValue || isWithinTile) {
    Value size = arith::ConstantIndexOp::create(builder, loc, tileSize);
    start = arith::SubIOp::create(
        builder, loc, first, arith::MulIOp::create(builder, loc, tile, size));
  }
  // Diagonals are counted from the last column on, which has the first ones.
  if (kind == VectorKind::Diagonal) {
    Value last = arith::ConstantIndexOp::create(
        builder, loc, tileSize - hopper::kWarpgroupRows);
    start = start ? arith::SubIOp::create(builder, loc, last, start) : last;
  }
  if (!start)
    return iota;
  return arith::AddIOp::create(
             builder, loc,
             vector::BroadcastOp::create(builder, loc, type, start), iota)
      .getResult();
}

Value KernelValues::readTile(Value tile) {
  auto type = cast<hopper::TileType>(tile.getType());
  if (type.isVector())
    return hopper::LoadFragmentOp::create(
        builder, tile.getLoc(),
        VectorType::get({type.getRows(), 1}, type.getElementType()), tile);
  auto rows = hopper::TileType::get(builder.getContext(),
                                    hopper::kWarpgroupRows, type.getColumns(),
                                    type.getElementType(), type.getRows());
  Value own = hopper::OwnRowsOp::create(builder, tile.getLoc(), rows, tile);
  return hopper::LoadFragmentOp::create(
      builder, tile.getLoc(),
      VectorType::get({type.getColumns(), hopper::kWarpgroupRows},
                      type.getElementType()),
      own);
}

/// Whether `value` is computed of `other`, by operations in front of it.
static bool isComputedOf(Value value, Value other) {
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.omitBlockArguments = true;
  if (Operation *op = value.getDefiningOp())
    (void)getBackwardSlice(op, &slice, options);
  return llvm::any_of(slice, [&](Operation *op) {
    return llvm::is_contained(op->getOperands(), other);
  });
}

/// Tables of work tiles are read by the number of a row in its work tile.
FailureOr<SmallVector<Value>> KernelValues::computeIndices(GatherOp gather,
                                                           VectorKind kind) {
  SmallVector<Value> indices;
  for (Value index : gather.getIndices()) {
    bool isWithin = rowValue && isa<VectorType>(index.getType()) &&
                    !isComputedOf(index, rowValue);
    State saved = save();
    bool outer = std::exchange(isWithinTile, isWithin);
    FailureOr<SmallVector<Value>> computed = getAll(index, kind);
    isWithinTile = outer;
    if (isWithin)
      restore(std::move(saved));
    if (failed(computed))
      return failure();
    indices.push_back(computed->front());
  }
  return indices;
}

FailureOr<Value> KernelValues::computeGather(GatherOp gather, VectorKind kind) {
  assert(!gather.getBox() && "other boxes have been expanded");
  std::optional<unsigned> operand = getOperand(gather.getSource());
  if (!operand)
    return gather.emitError("expects a capture that is an argument of the "
                            "function on a GPU");
  // The mask tells which queries and keys there are. What a kernel computes for
  // others it does not use, and no element outside of the capture is read in
  // any case.
  FailureOr<SmallVector<Value>> indices = computeIndices(gather, kind);
  if (failed(indices))
    return failure();
  Type type = gather.getType();
  if (auto vector = dyn_cast<VectorType>(type))
    type = getType(vector, kind);
  Value all = arith::ConstantIntOp::create(builder, gather.getLoc(), 1, 1);
  Value source = arguments.getMemRef(
      *operand, cast<ShapedType>(gather.getSource().getType()));
  return GatherOp::create(builder, gather.getLoc(), type, source, *indices, all,
                          gather.getSiteAttr())
      .getResult();
}

FailureOr<Value> KernelValues::compute(Value value, VectorKind kind) {
  Operation *op = value.getDefiningOp();
  if (!op) {
    auto argument = cast<BlockArgument>(value);
    if (argument.getOwner() == &function.getBody().front() &&
        !isa<TensorType>(value.getType()))
      return arguments.getScalar(argument.getArgNumber());
    return grid.emitError("expects a value that a kernel can compute");
  }
  if (Value tile = tiles.lookup(value))
    return isa<SpreadDiagonalsOp>(op)
               ? hopper::SpreadDiagonalsOp::create(
                     builder, op->getLoc(),
                     getType(cast<VectorType>(value.getType()), kind), tile)
                     .getResult()
               : readTile(tile);
  if (auto dim = dyn_cast<tensor::DimOp>(op)) {
    std::optional<int64_t> number = dim.getConstantIndex();
    bool isKnown = getOperand(dim.getSource()) ||
                   getPackedEmpty(getPacking(dim.getSource()));
    if (!isKnown || !number)
      return op->emitError("expects the extent of an argument");
    return getExtent(dim.getSource(), *number);
  }
  if (isa<PackedCountOp>(op))
    return arguments.getPackedCount();
  auto result = cast<OpResult>(value);
  if (auto extract = dyn_cast<tensor::ExtractOp>(op))
    return computeExtract(extract);
  if (auto sum = dyn_cast<ExactSumOp>(op))
    return computeSum(sum);
  if (auto load = dyn_cast<memref::LoadOp>(op)) {
    FailureOr<SmallVector<Value>> indices = getScalars(load.getIndices());
    if (failed(indices))
      return failure();
    return computeElement(load.getMemRef(), *indices, load.getLoc());
  }
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return computeLoop(loop, result.getResultNumber(), kind);
  if (auto branch = dyn_cast<scf::IfOp>(op);
      branch && !isa<ShapedType>(value.getType()))
    return computeBranch(branch, result.getResultNumber());
  if (auto gather = dyn_cast<GatherOp>(op))
    return computeGather(gather, kind);
  if (auto step = dyn_cast<vector::StepOp>(op))
    return computeStep(step, kind);
  FailureOr<Value> plain = computePlain(value, kind);
  if (failed(plain) || *plain)
    return plain;
  return op->emitError("'")
         << op->getName() << "' has no form on a GPU" << otherTarget;
}
