//===- LowerSummaries.cpp - What fills tables, and what checks lists ------===//

#include "ThreadProgram.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::attn;

static NVVM::ReduxKind getReductionKind(gpu::AllReduceOperation kind) {
  switch (kind) {
  case gpu::AllReduceOperation::MINSI:
    return NVVM::ReduxKind::MIN;
  case gpu::AllReduceOperation::MAXSI:
    return NVVM::ReduxKind::MAX;
  case gpu::AllReduceOperation::AND:
    return NVVM::ReduxKind::AND;
  default:
    return NVVM::ReduxKind::OR;
  }
}

/// The least or the largest of two numbers, or their bits together.
static Value combine(ImplicitLocOpBuilder &b, gpu::AllReduceOperation kind,
                     Value x, Value y) {
  switch (kind) {
  case gpu::AllReduceOperation::MINSI:
    return arith::MinSIOp::create(b, x, y);
  case gpu::AllReduceOperation::MAXSI:
    return arith::MaxSIOp::create(b, x, y);
  case gpu::AllReduceOperation::AND:
    return arith::AndIOp::create(b, x, y);
  default:
    return arith::OrIOp::create(b, x, y);
  }
}

/// The hardware reduces numbers of 32 bits. Those of 64 go from thread to
/// thread in halves.
LogicalResult ThreadProgram::emitWarpReduce(gpu::SubgroupReduceOp op) {
  gpu::AllReduceOperation kind = op.getOp();
  if (!llvm::is_contained(
          {gpu::AllReduceOperation::MINSI, gpu::AllReduceOperation::MAXSI,
           gpu::AllReduceOperation::AND, gpu::AllReduceOperation::OR},
          kind) ||
      !isa<IntegerType>(op.getType()) || op.getClusterSize())
    return op.emitError("expects a minimum, a maximum, 'and' or 'or' of "
                        "integers over a warp");
  Value value = get(op.getValue())[0];
  Type type = value.getType();
  unsigned bits = type.getIntOrFloatBitWidth();
  if (bits <= 32) {
    if (bits < 32)
      value =
          bits == 1
              ? arith::ExtUIOp::create(b, b.getI32Type(), value).getResult()
              : arith::ExtSIOp::create(b, b.getI32Type(), value).getResult();
    value = NVVM::ReduxOp::create(b, b.getI32Type(), value,
                                  getReductionKind(kind), i32(-1));
    if (bits < 32)
      value = arith::TruncIOp::create(b, type, value);
    values[op.getResult()] = {value};
    return success();
  }
  for (int64_t distance = hopper::kWarpThreads / 2; distance != 0;
       distance /= 2) {
    Value low =
        shuffle(arith::TruncIOp::create(b, b.getI32Type(), value), distance);
    Value high = shuffle(
        arith::TruncIOp::create(b, b.getI32Type(),
                                arith::ShRUIOp::create(b, value, i64(32))),
        distance);
    Value other = arith::OrIOp::create(
        b, arith::ShLIOp::create(b, zext64(high), i64(32)), zext64(low));
    value = combine(b, kind, value, other);
  }
  values[op.getResult()] = {value};
  return success();
}

/// One element of a buffer; an i1 is a byte.
LogicalResult ThreadProgram::emitElementStore(memref::StoreOp op) {
  const BufferParameter &buffer = buffers.at(op.getMemRef());
  SmallVector<IndexElement> position;
  for (Value index : op.getIndices())
    position.push_back(getIndices(index)[0]);
  Type type = op.getMemRefType().getElementType();
  Value value;
  if (type.isIndex())
    value = getIndexInt(op.getValueToStore(), 64);
  else
    value = get(op.getValueToStore())[0];
  if (type.isInteger(1))
    value = arith::ExtUIOp::create(b, b.getI8Type(), value);
  unsigned bytes = value.getType().getIntOrFloatBitWidth() / 8;
  LLVM::StoreOp::create(b, value, getAddress(buffer, position, bytes));
  return success();
}

/// A minimum in memory that all thread blocks share.
LogicalResult ThreadProgram::emitAtomicMinimum(memref::AtomicRMWOp op) {
  if (op.getKind() != arith::AtomicRMWKind::minu || !op.getType().isInteger(64))
    return op.emitError("expects a minimum of unsigned numbers of 64 bits");
  SmallVector<IndexElement> position;
  for (Value index : op.getIndices())
    position.push_back(getIndices(index)[0]);
  values[op.getResult()] = {LLVM::AtomicRMWOp::create(
      b, LLVM::AtomicBinOp::umin,
      getAddress(buffers.at(op.getMemref()), position, /*bytes=*/8),
      get(op.getValue())[0], LLVM::AtomicOrdering::monotonic,
      /*syncscope=*/"device")};
  return success();
}
