//===- VerifyThreadOps.cpp - What threads cannot compute ------------------===//

#include "ScalarMath.h"
#include "Threads/ThreadPatterns.h"
#include "attn/Dialect/Attn/IR/AttnDropout.h"
#include "attn/Dialect/Attn/IR/OtherTarget.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::attn;

static LogicalResult verifyConstant(Operation *op) {
  Attribute value;
  matchPattern(op->getResult(0), m_Constant(&value));
  if (auto elements = dyn_cast_or_null<DenseElementsAttr>(value);
      elements && !elements.isSplat())
    return op->emitError("expects a constant vector to be a splat");
  if (!isa<arith::ConstantOp>(op))
    return op->emitError("'")
           << op->getName() << "' has no form in a GPU kernel" << otherTarget;
  return success();
}

/// A thread has vectors of its own; others are distributed by their layouts.
static LogicalResult verifyTypes(Operation *op) {
  for (Type type :
       llvm::concat<const Type>(SmallVector<Type>(op->getOperandTypes()),
                                SmallVector<Type>(op->getResultTypes())))
    if (hopper::isFragment(type) && !hopper::getLayout(type))
      return op->emitError("expects fragments with layouts, but got ") << type;
  return success();
}

static LogicalResult verifyBroadcast(vector::BroadcastOp op) {
  if (isa<VectorType>(op.getSourceType()))
    return op.emitError("expects a vector of one number");
  return success();
}

static LogicalResult verifyWarpReduce(gpu::SubgroupReduceOp op) {
  if (op.getOp() == gpu::AllReduceOperation::ADD && op.getType().isF32() &&
      op.getClusterStride() == 1)
    return success();
  if (op.getOp() == gpu::AllReduceOperation::ADD &&
      op.getType().isInteger(32) && !op.getClusterSize())
    return success();
  if (!llvm::is_contained(
          {gpu::AllReduceOperation::MINSI, gpu::AllReduceOperation::MAXSI,
           gpu::AllReduceOperation::AND, gpu::AllReduceOperation::OR},
          op.getOp()) ||
      !isa<IntegerType>(op.getType()) || op.getClusterSize())
    return op.emitError(
        "expects a minimum, a maximum, 'and' or 'or' of "
        "integers, or a sum of i32 or f32, over a warp, or, of f32, over "
        "threads of it that follow each other");
  return success();
}

static LogicalResult verifyAtomic(memref::AtomicRMWOp op) {
  if (op.getKind() != arith::AtomicRMWKind::minu || !op.getType().isInteger(64))
    return op.emitError("expects a minimum of unsigned numbers of 64 bits");
  return success();
}

/// A thread reads and writes vectors of its own in a buffer.
static LogicalResult verifyTransfer(VectorTransferOpInterface op) {
  AffineMap map = op.getPermutationMap();
  if (!isa<MemRefType>(op.getShapedType()) ||
      op.getVectorType().getRank() != 1 || op.hasOutOfBoundsDim() ||
      op.getMask() || !isa<AffineDimExpr>(map.getResult(0)))
    return op.emitError(
        "expects a vector of rank 1 all of which is in a buffer");
  return success();
}

static LogicalResult verifySum(vector::ReductionOp op) {
  if (op.getKind() != vector::CombiningKind::ADD || op.getAcc() ||
      !op.getType().isF32())
    return op.emitError("expects the sum of a vector of f32");
  return success();
}

/// Channels, work queues, turns and ping-pong barriers are places, not values.
static LogicalResult verifyPlaces(Operation *op) {
  for (Value operand : op->getOperands())
    if (isa<hopper::ChannelType, hopper::WorkQueueType, hopper::PingPongType,
            hopper::TurnsType>(operand.getType()) &&
        !isa_and_present<hopper::CreateChannelOp, hopper::CreateWorkQueueOp,
                         hopper::CreatePingPongOp, hopper::CreateTurnsOp>(
            operand.getDefiningOp()))
      return op->emitError("expects a channel, a work queue, turns or a "
                           "ping-pong barrier that the kernel creates, but got "
                           "a value of ")
             << operand.getType() << " that control flow carries";
  return success();
}

static LogicalResult verifyShuffle(vector::ShuffleOp op) {
  if (op.getV1VectorType().getRank() == 1 &&
      op.getV1VectorType() == op.getV2VectorType())
    return success();
  return op.emitError("expects vectors of a thread of one type, but got ")
         << op.getV1VectorType() << " and " << op.getV2VectorType();
}

static LogicalResult verifyReduceAdd(hopper::ReduceAddOp op) {
  if (op.getCounters())
    return op.emitError("expects a turn where it adds in an order: run "
                        "hopper-insert-turns before");
  return success();
}

static LogicalResult verify(Operation *op) {
  if (failed(verifyPlaces(op)) || failed(verifyTypes(op)))
    return failure();
  if (op->hasTrait<OpTrait::ConstantLike>())
    return verifyConstant(op);
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([](vector::BroadcastOp op) { return verifyBroadcast(op); })
      .Case([](vector::ShuffleOp op) { return verifyShuffle(op); })
      .Case([](gpu::SubgroupReduceOp op) { return verifyWarpReduce(op); })
      .Case([](memref::AtomicRMWOp op) { return verifyAtomic(op); })
      .Case<vector::TransferReadOp, vector::TransferWriteOp>(
          [](auto op) { return verifyTransfer(op); })
      .Case([](vector::ReductionOp op) { return verifySum(op); })
      .Case([](hopper::ReduceAddOp op) { return verifyReduceAdd(op); })
      .Case<scf::ForOp, scf::IfOp, scf::WhileOp, scf::YieldOp, scf::ConditionOp,
            gpu::BlockIdOp, gpu::GridDimOp, gpu::LaneIdOp, gpu::ThreadIdOp,
            gpu::ReturnOp, memref::StoreOp, DropoutOp, GatherOp, KeyBitmaskOp,
            KeyUnionOp>([](Operation *) { return success(); })
      .Default([](Operation *op) {
        return isa<hopper::HopperDialect>(op->getDialect())
                   ? success()
                   : verifyScalarOp(*op);
      });
}

LogicalResult mlir::attn::verifyThreadOps(Operation *root) {
  WalkResult result = root->walk([&](Operation *op) {
    if (op != root && failed(verify(op)))
      return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}
