//===- VectorLoops.cpp - Kernels of loops over vectors --------------------===//
//
// Some threads of a warp, a power of two, have an iteration, and the others the
// next ones. Each of them has as many elements of a vector that follow each
// other as all of them need to have them all, a power of two, too.
//
//===----------------------------------------------------------------------===//

#include "VectorLoops.h"
#include "ElementLoops.h"
#include "FragmentLoops.h"
#include "WarpLoops.h"
#include "attn/Dialect/Attn/IR/OtherTarget.h"
#include "attn/Dialect/ScalarBuilder.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

/// Bytes that a thread reads or writes at once.
static constexpr int64_t kMostBytes = 16;

namespace {
/// Emits an iteration of a loop for a thread.
class VectorIteration {
public:
  VectorIteration(OpBuilder &builder, scf::ForallOp loop,
                  KernelArguments &arguments, KernelValues &values,
                  int64_t numLanes)
      : builder(builder), loop(loop), arguments(arguments), values(values),
        loc(loop.getLoc()), numLanes(numLanes) {}

  LogicalResult emit();

private:
  /// The elements of a thread.
  VectorType getOwnType(VectorType type);
  FailureOr<Value> get(Value vector);
  FailureOr<Value> compute(Value vector);
  FailureOr<Value> emitRead(vector::TransferReadOp op);
  LogicalResult emitReduction(vector::ReductionOp op);
  LogicalResult emitStore(memref::StoreOp op);
  LogicalResult emitWrite(tensor::ParallelInsertSliceOp insert);
  FailureOr<Value> getBuffer(Value tensor, VectorType type, Operation *user);
  FailureOr<SmallVector<Value>> getPosition(ArrayRef<OpFoldResult> indices,
                                            AffineMap map, VectorType type);
  /// Whether this thread has elements of a vector; null where all have.
  Value hasElements(VectorType type);

  OpBuilder &builder;
  scf::ForallOp loop;
  KernelArguments &arguments;
  KernelValues &values;
  Location loc;
  /// How many threads have an iteration, and the number of this one of them.
  int64_t numLanes;
  Value lane;
  DenseMap<Value, Value> vectors;
};
} // namespace

/// How many threads share out the vectors of a loop: twice as many bytes of the
/// shortest elements to each as it reads at once, where these are whole shares,
/// so that a warp waits for more rows together; and fewer where that leaves a
/// part of a warp without an iteration.
static int64_t getNumLanes(scf::ForallOp loop) {
  int64_t lanes = 1;
  auto count = [&](VectorType type) {
    int64_t bytes = type.getNumElements() * type.getElementTypeBitWidth() / 8;
    int64_t share = bytes % (2 * kMostBytes) == 0 ? 2 * kMostBytes : kMostBytes;
    lanes = std::max<int64_t>(
        lanes, llvm::PowerOf2Ceil(llvm::divideCeil(bytes, share)));
  };
  loop.walk([&](Operation *op) {
    if (auto transfer = dyn_cast<VectorTransferOpInterface>(op))
      count(transfer.getVectorType());
  });
  std::optional<int64_t> last =
      getConstantIntValue(loop.getMixedUpperBound().back());
  while (lanes < hopper::kWarpThreads &&
         (!last || *last % (hopper::kWarpThreads / lanes) != 0))
    lanes *= 2;
  return std::min<int64_t>(lanes, hopper::kWarpThreads);
}

VectorType VectorIteration::getOwnType(VectorType type) {
  int64_t share = llvm::divideCeil(type.getNumElements(), numLanes);
  return VectorType::get(
      {static_cast<int64_t>(llvm::PowerOf2Ceil(std::max<int64_t>(share, 2)))},
      type.getElementType());
}

Value VectorIteration::hasElements(VectorType type) {
  int64_t share = getOwnType(type).getNumElements();
  if (share * numLanes == type.getNumElements())
    return {};
  ScalarBuilder ints(loc, builder);
  return ints.ult(ints.toI32(lane), type.getNumElements() / share);
}

FailureOr<SmallVector<Value>>
VectorIteration::getPosition(ArrayRef<OpFoldResult> indices, AffineMap map,
                             VectorType type) {
  int64_t share = getOwnType(type).getNumElements();
  unsigned dim = cast<AffineDimExpr>(map.getResults().back()).getPosition();
  SmallVector<Value> position;
  for (auto [number, index] : llvm::enumerate(indices)) {
    FailureOr<Value> value = values.getScalar(index);
    if (failed(value))
      return failure();
    if (number == dim) {
      ScalarBuilder ints(loc, builder);
      value =
          ints.add(*value, hopper::PositionOp::create(
                               ints, ints.mul(ints.toI32(lane), share), share));
    }
    position.push_back(*value);
  }
  return position;
}

/// Where a vector is in memory, of which threads read some bytes at once.
FailureOr<Value> VectorIteration::getBuffer(Value tensor, VectorType type,
                                            Operation *user) {
  std::optional<unsigned> operand = values.getOperand(tensor);
  if (!operand || type.getRank() != 1 ||
      type.getNumElements() % getOwnType(type).getNumElements() != 0)
    return user->emitError("expects vectors of rank 1 of arguments of the "
                           "function, or of buffers that it allocates, that a "
                           "warp can share out")
           << otherTarget;
  VectorType own = getOwnType(type);
  int64_t bytes = std::min(kMostBytes, own.getNumElements() *
                                           own.getElementTypeBitWidth() / 8);
  return arguments.getRows(*operand, cast<ShapedType>(tensor.getType()), bytes);
}

FailureOr<Value> VectorIteration::emitRead(vector::TransferReadOp op) {
  VectorType type = op.getVectorType(), own = getOwnType(type);
  if (op.hasOutOfBoundsDim() || op.getMask())
    return op.emitError("expects a vector all of which is there")
           << otherTarget;
  FailureOr<Value> buffer = getBuffer(op.getBase(), type, op);
  FailureOr<SmallVector<Value>> position = getPosition(
      getAsOpFoldResult(op.getIndices()), op.getPermutationMap(), type);
  if (failed(buffer) || failed(position))
    return failure();
  Value padding = arith::ConstantOp::create(
      builder, loc, builder.getZeroAttr(type.getElementType()));
  auto read = [&]() -> Value {
    return vector::TransferReadOp::create(builder, loc, own, *buffer, *position,
                                          padding, op.getPermutationMap(),
                                          ArrayRef<bool>{true});
  };
  Value condition = hasElements(type);
  if (!condition)
    return read();
  auto branch = scf::IfOp::create(builder, loc, TypeRange(own), condition,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(builder, loc, read());
  builder.setInsertionPointToStart(branch.elseBlock());
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(own));
  scf::YieldOp::create(builder, loc, zero);
  return branch.getResult(0);
}

FailureOr<Value> VectorIteration::get(Value vector) {
  if (Value known = vectors.lookup(vector))
    return known;
  FailureOr<Value> result = compute(vector);
  if (succeeded(result))
    vectors[vector] = *result;
  return result;
}

FailureOr<Value> VectorIteration::compute(Value vector) {
  Operation *op = vector.getDefiningOp();
  auto type = cast<VectorType>(vector.getType());
  if (auto read = dyn_cast_or_null<vector::TransferReadOp>(op))
    return emitRead(read);
  DenseElementsAttr elements;
  if (matchPattern(vector, m_Constant(&elements)) && elements.isSplat())
    return arith::ConstantOp::create(
               builder, loc,
               DenseElementsAttr::get(getOwnType(type),
                                      elements.getSplatValue<Attribute>()))
        .getResult();
  if (auto broadcast = dyn_cast_or_null<vector::BroadcastOp>(op);
      broadcast && !isa<VectorType>(broadcast.getSourceType())) {
    FailureOr<Value> scalar = values.getScalar(broadcast.getSource());
    if (failed(scalar))
      return failure();
    return vector::BroadcastOp::create(builder, loc, getOwnType(type), *scalar)
        .getResult();
  }
  if (!op || !OpTrait::hasElementwiseMappableTraits(op) ||
      op->getNumResults() != 1)
    return loop.emitError("expects vectors that are read, or computed element "
                          "by element, in a loop over vectors")
           << otherTarget;
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    FailureOr<Value> own = isa<VectorType>(operand.getType())
                               ? get(operand)
                               : values.getScalar(operand);
    if (failed(own))
      return failure();
    operands.push_back(*own);
  }
  OperationState state(op->getLoc(), op->getName(), operands,
                       TypeRange(getOwnType(type)));
  if (op->getPropertiesStorage())
    state.propertiesAttr = op->getPropertiesAsAttribute();
  return builder.create(state)->getResult(0);
}

/// The sum of all elements, which all threads of the iteration have.
LogicalResult VectorIteration::emitReduction(vector::ReductionOp op) {
  FailureOr<Value> own = get(op.getVector());
  if (failed(own))
    return failure();
  if (op.getKind() != vector::CombiningKind::ADD || op.getAcc() ||
      !op.getType().isF32())
    return op.emitError("expects the sum of a vector of f32") << otherTarget;
  Value sum = vector::ReductionOp::create(builder, loc,
                                          vector::CombiningKind::ADD, *own);
  values.map(op.getResult(),
             gpu::SubgroupReduceOp::create(
                 builder, loc, sum, gpu::AllReduceOperation::ADD,
                 /*uniform=*/true, static_cast<uint32_t>(numLanes)));
  return success();
}

/// A scalar is written by the first thread.
LogicalResult VectorIteration::emitStore(memref::StoreOp op) {
  std::optional<unsigned> operand = values.getOperand(op.getMemref());
  FailureOr<Value> value = values.getScalar(op.getValueToStore());
  if (!operand || failed(value))
    return op.emitError("expects a scalar that is written to a buffer that the "
                        "function allocates")
           << otherTarget;
  FailureOr<SmallVector<Value>> position = values.getScalars(op.getIndices());
  if (failed(position))
    return failure();
  Value buffer = arguments.getMemRef(*operand, op.getMemRefType());
  ScalarBuilder ints(loc, builder);
  Value isFirst = ints.eq(ints.toI32(lane), 0);
  auto branch = scf::IfOp::create(builder, loc, isFirst,
                                  /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  memref::StoreOp::create(builder, loc, *value, buffer, *position);
  return success();
}

/// A row of a result, all of it or, where a condition does not hold, nothing.
LogicalResult VectorIteration::emitWrite(tensor::ParallelInsertSliceOp insert) {
  auto write = insert.getSource().getDefiningOp<vector::TransferWriteOp>();
  Value mask = write ? write.getMask() : Value();
  // Extents that are known may make the condition a constant.
  DenseElementsAttr constant;
  bool isKnown =
      mask && matchPattern(mask, m_Constant(&constant)) && constant.isSplat();
  if (isKnown && !constant.getSplatValue<bool>())
    return success();
  auto writesAll = mask && !isKnown ? mask.getDefiningOp<vector::BroadcastOp>()
                                    : vector::BroadcastOp();
  if (!write || write.getVectorType().getRank() != 1 ||
      (mask && !isKnown && !writesAll) ||
      insert.getSourceType().getRank() != insert.getDestType().getRank())
    return insert.emitError("expects a vector that is written to a result")
           << otherTarget;
  VectorType type = write.getVectorType();
  FailureOr<Value> own = get(write.getValueToStore());
  FailureOr<Value> buffer = getBuffer(insert.getDest(), type, insert);
  FailureOr<SmallVector<Value>> position =
      getPosition(insert.getMixedOffsets(), write.getPermutationMap(), type);
  if (failed(own) || failed(buffer) || failed(position))
    return failure();
  Value condition = hasElements(type);
  if (writesAll) {
    FailureOr<Value> writes = values.getScalar(writesAll.getSource());
    if (failed(writes))
      return failure();
    condition = condition
                    ? arith::AndIOp::create(builder, loc, condition, *writes)
                          .getResult()
                    : *writes;
  }
  OpBuilder::InsertionGuard guard(builder);
  if (condition)
    builder.setInsertionPointToStart(
        scf::IfOp::create(builder, loc, condition, /*withElseRegion=*/false)
            .thenBlock());
  vector::TransferWriteOp::create(builder, loc, *own, *buffer, *position,
                                  write.getPermutationMap(),
                                  ArrayRef<bool>{true});
  return success();
}

LogicalResult VectorIteration::emit() {
  lane = gpu::LaneIdOp::create(builder, loc, /*upper_bound=*/IntegerAttr());
  if (numLanes < hopper::kWarpThreads) {
    ScalarBuilder ints(loc, builder);
    lane =
        hopper::PositionOp::create(ints, ints.remU(ints.toI32(lane), numLanes));
  }
  for (Operation &op : loop.getBody()->without_terminator()) {
    LogicalResult result = success();
    if (auto reduction = dyn_cast<vector::ReductionOp>(op))
      result = emitReduction(reduction);
    else if (auto store = dyn_cast<memref::StoreOp>(op))
      result = emitStore(store);
    if (failed(result))
      return failure();
  }
  for (Operation &op : loop.getTerminator().getYieldingOps())
    if (failed(emitWrite(cast<tensor::ParallelInsertSliceOp>(op))))
      return failure();
  return success();
}

static LogicalResult emitVectorKernel(OpBuilder &builder, TileProgram &program,
                                      scf::ForallOp loop, const Twine &name,
                                      bool isBehind, bool isStrided) {
  OpBuilder::InsertionGuard guard(builder);
  Location loc = loop.getLoc();
  SmallVector<Attribute> extents;
  // A launch counts warps.
  bool isOfElements = isElementLoop(loop);
  vector::TransferReadOp tileRead =
      isOfElements ? vector::TransferReadOp() : findTileRead(loop);
  bool isOfThreads = isOfElements && !hasSums(loop);
  int64_t numLanes = isOfThreads                ? 1
                     : isOfElements || tileRead ? hopper::kWarpThreads
                                                : getNumLanes(loop);
  int64_t perWarp = hopper::kWarpThreads / numLanes;
  if (isOfThreads)
    perWarp *= getIterationsOfThread(loop);
  for (auto [number, bound] : llvm::enumerate(loop.getMixedUpperBound())) {
    bool isShared = static_cast<int64_t>(number) + 1 == loop.getRank();
    FailureOr<DictionaryAttr> extent = describeExtent(
        builder, program.function, bound, loop, isShared ? perWarp : 1);
    if (failed(extent))
      return failure();
    extents.push_back(*extent);
  }
  gpu::GPUFuncOp kernel =
      createWarpKernel(builder, loc, program.function.getName() + "_" + name);
  SmallVector<NamedAttribute> members = {
      builder.getNamedAttr("extents", builder.getArrayAttr(extents))};
  if (isBehind)
    members.push_back(builder.getNamedAttr("behind", builder.getUnitAttr()));
  kernel->setAttr(hopper::kVectorLoopAttrName,
                  builder.getDictionaryAttr(members));
  KernelArguments arguments(program.function, kernel, isStrided);
  builder.setInsertionPointToStart(&kernel.getBody().front());
  KernelValues values(builder, program.function, loop, arguments,
                      program.tables);
  {
    OpBuilder::InsertionGuard inBranch(builder);
    LogicalResult result = success();
    if (isOfElements)
      result = emitElementIteration(builder, loop, arguments, values);
    else if (failed(emitWarpIteration(builder, loop, values, numLanes)))
      return failure();
    else if (tileRead)
      result =
          emitFragmentIteration(builder, loop, tileRead, arguments, values);
    else
      result =
          VectorIteration(builder, loop, arguments, values, numLanes).emit();
    if (failed(result))
      return failure();
  }
  builder.setInsertionPointToEnd(&kernel.getBody().front());
  gpu::ReturnOp::create(builder, loc);
  return success();
}

LogicalResult mlir::attn::emitVectorKernels(OpBuilder &builder,
                                            TileProgram &program,
                                            bool isStrided) {
  for (auto [number, loop] : llvm::enumerate(program.before))
    if (failed(emitVectorKernel(builder, program, loop,
                                "before" + Twine(number), /*isBehind=*/false,
                                isStrided)))
      return failure();
  for (auto [number, loop] : llvm::enumerate(program.behind))
    if (failed(emitVectorKernel(builder, program, loop,
                                "behind" + Twine(number), /*isBehind=*/true,
                                isStrided)))
      return failure();
  return success();
}
