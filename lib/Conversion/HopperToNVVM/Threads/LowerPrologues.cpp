//===- LowerPrologues.cpp - What fills tables, and what checks lists ------===//

#include "ThreadPatterns.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::attn;

static NVVM::ReduxKind getReductionKind(gpu::AllReduceOperation kind) {
  switch (kind) {
  case gpu::AllReduceOperation::ADD:
    return NVVM::ReduxKind::ADD;
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
static Value combine(ScalarBuilder &b, gpu::AllReduceOperation kind, Value x,
                     Value y) {
  switch (kind) {
  case gpu::AllReduceOperation::MINSI:
    return b.minS(x, y);
  case gpu::AllReduceOperation::MAXSI:
    return b.maxS(x, y);
  case gpu::AllReduceOperation::AND:
    return b.andI(x, y);
  default:
    return b.orI(x, y);
  }
}

/// The hardware reduces numbers of 32 bits. Those of 64 go from thread to
/// thread in halves.
static Elements lowerWarpReduce(gpu::SubgroupReduceOp op,
                                Operands<gpu::SubgroupReduceOp> in,
                                ThreadBuilder &b) {
  gpu::AllReduceOperation kind = op.getOp();
  Value value = in.getValue()[0];
  if (value.getType().isF32()) {
    int64_t all = op.getClusterSize().value_or(hopper::kWarpThreads);
    for (int64_t lanes = 1; lanes < all; lanes *= 2)
      value = b.add(value, b.shuffle(value, lanes));
    return {value};
  }
  Type type = value.getType();
  unsigned bits = type.getIntOrFloatBitWidth();
  if (bits <= 32) {
    if (bits < 32)
      value =
          bits == 1
              ? arith::ExtUIOp::create(b, b.getI32Type(), value).getResult()
              : arith::ExtSIOp::create(b, b.getI32Type(), value).getResult();
    value = NVVM::ReduxOp::create(b, b.getI32Type(), value,
                                  getReductionKind(kind), b.i32(-1));
    if (bits < 32)
      value = arith::TruncIOp::create(b, type, value);
    return {value};
  }
  for (int64_t distance = hopper::kWarpThreads / 2; distance != 0;
       distance /= 2) {
    Value low = b.shuffle(b.trunc32(value), distance);
    Value high = b.shuffle(b.trunc32(b.shrU(value, 32)), distance);
    Value other = b.orI(b.shl(b.zext64(high), 32), b.zext64(low));
    value = combine(b, kind, value, other);
  }
  return {value};
}

/// One element of a buffer; an i1 is a byte.
static void lowerElementStore(memref::StoreOp op, Operands<memref::StoreOp> in,
                              ThreadBuilder &b) {
  BufferParameter buffer = b.getBuffer(op.getMemRefType(), in.getMemref());
  SmallVector<IndexElement> position = b.getPosition(in.getIndices());
  Type type = op.getMemRefType().getElementType();
  Value value;
  if (type.isIndex())
    value = b.toInt(in.getValue(), 64);
  else
    value = in.getValue()[0];
  if (type.isInteger(1))
    value = arith::ExtUIOp::create(b, b.getI8Type(), value);
  unsigned bytes = value.getType().getIntOrFloatBitWidth() / 8;
  LLVM::StoreOp::create(b, value, b.getAddress(buffer, position, bytes));
}

/// A minimum in memory that all CTAs share.
static Elements lowerAtomicMinimum(memref::AtomicRMWOp op,
                                   Operands<memref::AtomicRMWOp> in,
                                   ThreadBuilder &b) {
  SmallVector<IndexElement> position = b.getPosition(in.getIndices());
  return {LLVM::AtomicRMWOp::create(
      b, LLVM::AtomicBinOp::umin,
      b.getAddress(b.getBuffer(op.getMemref().getType(), in.getMemref()),
                   position, /*bytes=*/8),
      in.getValue()[0], LLVM::AtomicOrdering::monotonic,
      /*syncscope=*/"device")};
}

void mlir::attn::populateProloguePatterns(ThreadPatterns &patterns) {
  patterns.add(lowerWarpReduce);
  patterns.add(lowerElementStore);
  patterns.add(lowerAtomicMinimum);
}
