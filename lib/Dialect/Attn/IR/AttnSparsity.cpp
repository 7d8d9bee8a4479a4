//===- AttnSparsity.cpp - Explicit layouts of blocks ----------------------===//

#include "AttnSparsity.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::attn;

/// Checks the extents before those of blocks: [B or 1, Hq or 1], the last ones
/// of these.
static LogicalResult verifyLeading(AttentionLikeOpInterface op, StringRef name,
                                   RankedTensorType type, int64_t numLeading) {
  Layout layout = op.getLayout(0);
  for (int64_t dim = 0; dim < numLeading; ++dim) {
    bool isHeads = dim + 1 == numLeading;
    int64_t got = type.getDimSize(dim);
    int64_t wanted =
        op.getQueryType().getDimSize(isHeads ? layout.h : layout.b);
    // A tile has the blocks of the whole.
    bool isKnown = op.getOffsets().empty() && !ShapedType::isDynamic(wanted);
    if (ShapedType::isDynamic(got) || got == 1 || !isKnown || got == wanted)
      continue;
    return op->emitOpError("expects ")
           << name << " of the sparsity to have the " << wanted
           << (isHeads ? " heads" : " batches") << " of q or 1, but got "
           << got;
  }
  return success();
}

/// Checks one extent that counts blocks, and `extra`.
static LogicalResult verifyBlocks(AttentionLikeOpInterface op, StringRef name,
                                  RankedTensorType type, int64_t dim,
                                  bool isKeys, int64_t extra) {
  SparsityAttr sparsity = op.getSparsityAttr();
  int64_t length = isKeys ? op.getKeyType().getDimSize(op.getLayout(1).s)
                          : op.getQueryType().getDimSize(op.getLayout(0).s);
  int64_t block = isKeys ? sparsity.getBlockColumns() : sparsity.getBlockRows();
  int64_t got = type.getDimSize(dim);
  if (ShapedType::isDynamic(length) || ShapedType::isDynamic(got) ||
      !op.getOffsets().empty())
    return success();
  int64_t wanted = llvm::divideCeil(length, block) + extra;
  if (got == wanted)
    return success();
  return op->emitOpError("expects dimension ")
         << dim << " of " << name << " of the sparsity to have extent "
         << wanted << ", as " << length << (isKeys ? " keys" : " queries")
         << " have blocks of " << block << ", but got " << got;
}

static LogicalResult verifyBits(AttentionLikeOpInterface op) {
  OperandRange operands = op.getSparsityOperands();
  if (operands.size() != 1)
    return op->emitOpError("expects a sparsity of bits to have one operand, "
                           "but got ")
           << operands.size();
  auto bits = cast<RankedTensorType>(operands[0].getType());
  if (!bits.getElementType().isInteger(1))
    return op->emitOpError("expects bits of the sparsity to have element type "
                           "i1, but got ")
           << bits.getElementType();
  int64_t rank = bits.getRank();
  if (rank < 2 || rank > 4)
    return op->emitOpError("expects bits of the sparsity to have rank 2, 3 or "
                           "4, but got rank ")
           << rank;
  if (failed(verifyLeading(op, "bits", bits, rank - 2)) ||
      failed(verifyBlocks(op, "bits", bits, rank - 2, /*isKeys=*/false, 0)))
    return failure();
  return verifyBlocks(op, "bits", bits, rank - 1, /*isKeys=*/true, 0);
}

static LogicalResult verifyLists(AttentionLikeOpInterface op) {
  OperandRange operands = op.getSparsityOperands();
  if (operands.size() != 2)
    return op->emitOpError("expects a sparsity of lists to have two operands, "
                           "rows and columns, but got ")
           << operands.size();
  auto rows = cast<RankedTensorType>(operands[0].getType());
  auto columns = cast<RankedTensorType>(operands[1].getType());
  for (auto [name, type] :
       {std::pair<StringRef, RankedTensorType>{"rows", rows},
        {"columns", columns}})
    if (!type.getElementType().isInteger(32) &&
        !type.getElementType().isInteger(64))
      return op->emitOpError("expects ")
             << name << " of the sparsity to have element type i32 or i64, "
             << "but got " << type.getElementType();
  int64_t rank = rows.getRank();
  if (rank < 1 || rank > 3)
    return op->emitOpError("expects rows of the sparsity to have rank 1, 2 or "
                           "3, but got rank ")
           << rank;
  if (columns.getRank() != 1)
    return op->emitOpError("expects columns of the sparsity to have rank 1, "
                           "but got rank ")
           << columns.getRank();
  if (failed(verifyLeading(op, "rows", rows, rank - 1)))
    return failure();
  return verifyBlocks(op, "rows", rows, rank - 1, /*isKeys=*/false, 1);
}

LogicalResult mlir::attn::verifySparsity(AttentionLikeOpInterface op) {
  SparsityAttr sparsity = op.getSparsityAttr();
  if (!sparsity) {
    if (op.getSparsityOperands().empty())
      return success();
    return op->emitOpError("expects operands of a sparsity to come with the "
                           "attribute 'sparsity'");
  }
  return sparsity.isBits() ? verifyBits(op) : verifyLists(op);
}
