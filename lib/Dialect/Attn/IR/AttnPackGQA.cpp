//===- AttnPackGQA.cpp - Views of several heads as one --------------------===//

#include "attn/Dialect/Attn/IR/Attn.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::attn;

static LogicalResult verifyHeads(Operation *op, StringRef name, Value tensor,
                                 uint64_t dim) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (dim < static_cast<uint64_t>(type.getRank()))
    return success();
  return op->emitOpError("expects heads of the ")
         << name << " to be a dimension of " << type << ", but got "
         << static_cast<int64_t>(dim);
}

LogicalResult PackedCountOp::verify() {
  if (failed(verifyHeads(*this, "query", getQuery(), getQueryHeads())) ||
      failed(verifyHeads(*this, "key", getKey(), getKeyHeads())))
    return failure();
  if (!llvm::isPowerOf2_64(getMost()))
    return emitOpError("expects most to be a power of two, but got ")
           << static_cast<int64_t>(getMost());
  return success();
}

/// Checks the view that `packed` is of `plain`.
static LogicalResult verifyPackedView(Operation *op, Type plain, Type packed,
                                      StringRef packedName, int64_t heads,
                                      int64_t rows) {
  auto from = cast<RankedTensorType>(plain),
       to = cast<RankedTensorType>(packed);
  for (int64_t dim : {heads, rows})
    if (dim < 0 || dim >= from.getRank())
      return op->emitOpError("expects heads and rows to be dimensions of ")
             << from << ", but got " << dim;
  if (heads == rows)
    return op->emitOpError("expects heads and rows to be two dimensions, but "
                           "got ")
           << heads << " for both";
  SmallVector<int64_t> shape(from.getShape());
  shape[heads] = shape[rows] = ShapedType::kDynamic;
  auto expected = RankedTensorType::get(shape, from.getElementType());
  if (to != expected)
    return op->emitOpError("expects the ")
           << packedName << " to be " << expected << ", but got " << to;
  return success();
}

LogicalResult PackGQAOp::verify() {
  return verifyPackedView(*this, getSource().getType(), getResult().getType(),
                          "result", getHeads(), getRows());
}

LogicalResult UnpackHeadsOp::verify() {
  return verifyPackedView(*this, getResult().getType(), getSource().getType(),
                          "source", getHeads(), getRows());
}
