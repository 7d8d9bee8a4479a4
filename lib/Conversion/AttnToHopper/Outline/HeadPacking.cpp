//===- HeadPacking.cpp - Which attentions have tiles of several heads -----===//

#include "attn/Analysis/MaskBounds.h"
#include "attn/Conversion/AttnToHopper/Schedules.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::attn;

/// With more queries than this, tiles of one head are full enough.
static constexpr int64_t kMostQueries = 256;

/// Of larger head dimensions a kernel takes so long to assemble that it is not
/// made unless the types tell that it is of use, or it is likely to be: wider
/// heads than values may have in a tile are those of latent attention, which
/// all have the same keys.
static bool isExpensive(AttentionLikeOpInterface op) {
  constexpr int64_t mostCheap = 128;
  int64_t dim = std::max(op.getQueryKeyDim(), op.getValueDim());
  return dim > mostCheap && dim <= kMostValueColumns;
}

/// The greatest power of two that divides a number, 0 for 0.
static int64_t getPowerOf2Divisor(int64_t number) { return number & -number; }

/// Whether a region reads a capture by the key and by the query or the head, so
/// that no two of a tile's columns read the same.
static bool readsByKeyAndColumn(Region &region, unsigned headArgument) {
  if (region.empty())
    return false;
  llvm::SetVector<Operation *> ofColumn, ofKey;
  Value head = region.getArgument(headArgument),
        query = region.getArgument(headArgument + 1),
        key = region.getArgument(headArgument + 2);
  getForwardSlice(head, &ofColumn);
  getForwardSlice(query, &ofColumn);
  getForwardSlice(key, &ofKey);
  WalkResult walk = region.walk([&](tensor::ExtractOp op) {
    return ofColumn.contains(op) && ofKey.contains(op) ? WalkResult::interrupt()
                                                       : WalkResult::advance();
  });
  return walk.wasInterrupted();
}

/// How many heads have the same keys, if the types tell.
static std::optional<int64_t> getGroup(AttentionLikeOpInterface op) {
  int64_t heads = op.getQueryType().getDimSize(op.getLayout(0).h),
          keyHeads = op.getKeyType().getDimSize(op.getLayout(1).h);
  if (ShapedType::isDynamic(heads) || ShapedType::isDynamic(keyHeads))
    return std::nullopt;
  return keyHeads == 0 ? 0 : heads / keyHeads;
}

bool mlir::attn::mayShareKeys(AttentionLikeOpInterface op) {
  return getGroup(op).value_or(2) > 1;
}

StringRef mlir::attn::getPackingObstacle(AttentionLikeOpInterface op) {
  std::optional<int64_t> group = getGroup(op);
  if (group && getPowerOf2Divisor(*group) < 2)
    return "no even number of heads has the same keys";
  if (!group && isExpensive(op))
    return "the types do not tell how many heads have the same keys, and for "
           "head dimensions above 128 compiling it takes long";
  int64_t rows = op.getQueryType().getDimSize(op.getLayout(0).s);
  if (!ShapedType::isDynamic(rows) && rows > kMostQueries)
    return "there are enough queries to fill tiles of one head";
  if (op.getSparsityAttr() || !op.getOffsets().empty())
    return "it has a sparsity, or is a part of another one";
  Region &mask = op.getMask();
  auto dependsOnHead = [](Region &region) {
    return !region.empty() && !region.getArgument(1).use_empty();
  };
  auto online = dyn_cast<OnlineAttentionOp>(op.getOperation());
  if (dependsOnHead(mask) || (online && dependsOnHead(online.getBlocks())))
    return "the mask depends on the head, and keys of a tile are bounded for "
           "one head";
  if ((!mask.empty() && !MaskBounds(op).areIntervals()) ||
      (online && !online.getTiles().empty()))
    return "the mask allows other keys than one interval, which are found for "
           "tiles of one head";
  if (readsByKeyAndColumn(op.getScore(), kNumScoreArgs - 3) ||
      readsByKeyAndColumn(mask, kNumMaskArgs - 3))
    return "it reads a capture by the key and by the query or the head, which "
           "is copied in tiles of one head";
  return "";
}
