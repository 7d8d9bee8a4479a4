//===- LowerVectors.cpp - Vectors of one thread ---------------------------===//
//
// In kernels of plain warps a thread reads and writes some elements of a row at
// a time, and the sum of its elements is joined with those of its warp.
//
//===----------------------------------------------------------------------===//

#include "ThreadPatterns.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::attn;

namespace {
/// The elements of a vector in memory: the address of the first one, and the
/// distance between them in elements, null for 1.
struct VectorPlace {
  Value address, stride;
};
} // namespace

template <typename Op>
static VectorPlace getPlace(Op op, Operands<Op> in, Value base,
                            ThreadBuilder &b) {
  BufferParameter buffer = b.getBuffer(base.getType(), in.getBase());
  int64_t bytes = op.getVectorType().getElementTypeBitWidth() / 8;
  unsigned dim =
      cast<AffineDimExpr>(op.getPermutationMap().getResult(0)).getPosition();
  return {b.getAddress(buffer, b.getPosition(in.getIndices()), bytes),
          buffer.strides[dim]};
}

/// The address of element `number` of a vector whose elements lie apart.
static Value getElementAddress(ThreadBuilder &b, const VectorPlace &place,
                               Type element, int64_t number) {
  Value distance = b.mul(place.stride, number);
  return LLVM::GEPOp::create(b, place.address.getType(), element, place.address,
                             ArrayRef<LLVM::GEPArg>{distance});
}

/// What vectors without a stride are aligned to, in bytes: what a thread reads
/// at once.
static unsigned getAlignment(VectorType type) {
  return std::min<int64_t>(
      kSegmentBytes, type.getNumElements() * type.getElementTypeBitWidth() / 8);
}

static Elements lowerRead(vector::TransferReadOp op,
                          Operands<vector::TransferReadOp> in,
                          ThreadBuilder &b) {
  VectorType type = op.getVectorType();
  Type element = type.getElementType();
  VectorPlace place = getPlace(op, in, op.getBase(), b);
  if (!place.stride)
    return {LLVM::LoadOp::create(b, type, place.address, getAlignment(type))};
  Value result = LLVM::UndefOp::create(b, type);
  for (int64_t e = 0; e < type.getNumElements(); ++e)
    result = LLVM::InsertElementOp::create(
        b, result,
        LLVM::LoadOp::create(b, element,
                             getElementAddress(b, place, element, e)),
        b.i32(e));
  return {result};
}

static void lowerWrite(vector::TransferWriteOp op,
                       Operands<vector::TransferWriteOp> in, ThreadBuilder &b) {
  VectorType type = op.getVectorType();
  Type element = type.getElementType();
  VectorPlace place = getPlace(op, in, op.getBase(), b);
  Value vector = in.getValueToStore()[0];
  if (!place.stride) {
    LLVM::StoreOp::create(b, vector, place.address, getAlignment(type));
    return;
  }
  for (int64_t e = 0; e < type.getNumElements(); ++e)
    LLVM::StoreOp::create(b,
                          LLVM::ExtractElementOp::create(b, vector, b.i32(e)),
                          getElementAddress(b, place, element, e));
}

/// One after the other.
static Elements lowerSum(vector::ReductionOp op,
                         Operands<vector::ReductionOp> in, ThreadBuilder &b) {
  Value vector = in.getVector()[0], sum;
  for (int64_t e = 0; e < op.getSourceVectorType().getNumElements(); ++e) {
    Value element = LLVM::ExtractElementOp::create(b, vector, b.i32(e));
    sum = sum ? b.add(sum, element) : element;
  }
  return {sum};
}

static Elements lowerBroadcast(vector::BroadcastOp op,
                               Operands<vector::BroadcastOp> in,
                               ThreadBuilder &b) {
  VectorType type = op.getResultVectorType();
  Value result = LLVM::UndefOp::create(b, type);
  for (int64_t e = 0; e < type.getNumElements(); ++e)
    result =
        LLVM::InsertElementOp::create(b, result, in.getSource()[0], b.i32(e));
  return {result};
}

static Elements lowerShuffle(vector::ShuffleOp op,
                             Operands<vector::ShuffleOp> in, ThreadBuilder &b) {
  return {LLVM::ShuffleVectorOp::create(
      b, in.getV1()[0], in.getV2()[0],
      SmallVector<int32_t>(op.getMask().begin(), op.getMask().end()))};
}

void mlir::attn::populateVectorPatterns(ThreadPatterns &patterns) {
  patterns.add(lowerRead);
  patterns.add(lowerWrite);
  patterns.add(lowerSum);
  patterns.add(lowerBroadcast);
  patterns.add(lowerShuffle);
}
