//===- AttnTileUtils.cpp - Tiles of attention operands --------------------===//

#include "AttnTileUtils.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// Whether a range is known to be all of a dimension of `tensor`.
static bool isWhole(OpFoldResult offset, OpFoldResult size, Value tensor,
                    unsigned dim) {
  if (!isZeroInteger(offset))
    return false;
  int64_t extent = cast<RankedTensorType>(tensor.getType()).getDimSize(dim);
  if (!ShapedType::isDynamic(extent))
    return isConstantIntValue(size, extent);
  FailureOr<bool> equal = ValueBoundsConstraintSet::areEqual(
      ValueBoundsConstraintSet::Variable(size),
      ValueBoundsConstraintSet::Variable(tensor, dim));
  return succeeded(equal) && *equal;
}

SmallVector<TensorDim> mlir::attn::getLoopDims(AttentionLikeOpInterface op) {
  Layout layout = op.getLayout(0);
  return {{op.getQuery(), layout.b},
          {op.getQuery(), layout.h},
          {op.getQuery(), layout.s},
          {op.getKey(), op.getLayout(1).s}};
}

SmallVector<DimTile> mlir::attn::getTile(ArrayRef<TensorDim> dims,
                                         ArrayRef<OpFoldResult> offsets,
                                         ArrayRef<OpFoldResult> sizes) {
  SmallVector<DimTile> tile;
  for (auto [dim, offset, size] : llvm::zip_equal(dims, offsets, sizes))
    tile.push_back(
        {offset, size, isWhole(offset, size, dim.first, dim.second)});
  return tile;
}

Value mlir::attn::extractTile(OpBuilder &builder, Location loc, Value tensor,
                              ArrayRef<DimTile> dims,
                              SmallVectorImpl<Operation *> &slices) {
  if (llvm::all_of(dims, [](const DimTile &dim) { return dim.isWhole; }))
    return tensor;
  SmallVector<OpFoldResult> offsets, sizes;
  SmallVector<OpFoldResult> strides(dims.size(), builder.getIndexAttr(1));
  for (auto [number, dim] : llvm::enumerate(dims)) {
    offsets.push_back(dim.isWhole ? builder.getIndexAttr(0) : dim.offset);
    sizes.push_back(dim.isWhole
                        ? tensor::getMixedSize(builder, loc, tensor, number)
                        : dim.size);
  }
  auto slice = tensor::ExtractSliceOp::create(builder, loc, tensor, offsets,
                                              sizes, strides);
  slices.push_back(slice);
  return slice;
}

//===----------------------------------------------------------------------===//
// Keys and values of a tile
//===----------------------------------------------------------------------===//

/// The size of a dimension that k and v have in common, as far as the type of
/// either tells.
static int64_t getCommonSize(AttentionLikeOpInterface op,
                             unsigned Layout::*dim) {
  int64_t size = op.getKeyType().getDimSize(op.getLayout(1).*dim);
  return ShapedType::isDynamic(size)
             ? op.getValueType().getDimSize(op.getLayout(2).*dim)
             : size;
}

/// The batches of k and v for some of q. They may have the batch of q, or 1.
static DimTile getKeyBatches(OpBuilder &builder, AttentionLikeOpInterface op,
                             const DimTile &batches) {
  int64_t numQuery = op.getQueryType().getDimSize(op.getLayout(0).b);
  int64_t numKey = getCommonSize(op, &Layout::b);
  if (batches.isWhole || numKey == 1 || numQuery == 1)
    return DimTile::whole();
  if (!ShapedType::isDynamic(numKey))
    return batches;
  // Which of the two is known when the program runs: of n batches the tile
  // takes those up to the last, which is 0 if there is one.
  Location loc = op.getLoc();
  OpFoldResult total =
      tensor::getMixedSize(builder, loc, op.getKey(), op.getLayout(1).b);
  AffineExpr d0, s0;
  bindDims(builder.getContext(), d0);
  bindSymbols(builder.getContext(), s0);
  auto min = [&](AffineExpr first, AffineExpr second, OpFoldResult value) {
    return affine::makeComposedFoldedAffineMin(
        builder, loc,
        AffineMap::get(1, 1, {first, second}, builder.getContext()),
        {value, total});
  };
  return {min(d0, s0 - 1, batches.offset), isOneInteger(batches.size)
                                               ? batches.size
                                               : min(d0, s0, batches.size)};
}

/// The heads of k and v for some heads of q.
static FailureOr<DimTile> getKeyHeads(OpBuilder &builder,
                                      AttentionLikeOpInterface op,
                                      const DimTile &heads) {
  int64_t numQuery = op.getQueryType().getDimSize(op.getLayout(0).h);
  int64_t numKey = getCommonSize(op, &Layout::h);
  if (heads.isWhole || numKey == 1)
    return DimTile::whole();
  Location loc = op.getLoc();
  std::optional<int64_t> size = getConstantIntValue(heads.size);

  if (ShapedType::isDynamic(numQuery) || ShapedType::isDynamic(numKey)) {
    if (size != 1)
      return op->emitOpError("expects a tile of the heads of q to be all or "
                             "one, as their number is not known");
    auto getSize = [&](Value tensor, unsigned dim) {
      return getValueOrCreateConstantIndexOp(
          builder, loc, tensor::getMixedSize(builder, loc, tensor, dim));
    };
    Value head = getValueOrCreateConstantIndexOp(builder, loc, heads.offset);
    Value scaled = arith::MulIOp::create(
        builder, loc, head, getSize(op.getKey(), op.getLayout(1).h));
    Value keyHead = arith::DivUIOp::create(
        builder, loc, scaled, getSize(op.getQuery(), op.getLayout(0).h));
    return DimTile{keyHead, builder.getIndexAttr(1)};
  }

  if (numQuery == numKey)
    return heads;
  int64_t group = numQuery / numKey;
  std::optional<int64_t> offset = getConstantIntValue(heads.offset);
  bool isAligned =
      size && *size % group == 0 && (!offset || *offset % group == 0);
  if (size != 1 && !isAligned) {
    InFlightDiagnostic diagnostic =
        op->emitOpError("expects a tile of the heads of q to be all, one, or a "
                        "multiple of the ");
    diagnostic << group << " that share a head of k and v, but got ";
    return size ? diagnostic << *size
                : diagnostic << "a size that is not known";
  }
  OpFoldResult keyHead = affine::makeComposedFoldedAffineApply(
      builder, loc, getAffineDimExpr(0, builder.getContext()).floorDiv(group),
      {heads.offset});
  return DimTile{keyHead, builder.getIndexAttr(size == 1 ? 1 : *size / group)};
}

/// Where the tile starts, for regions and blocks that count from the start of
/// the whole.
static SmallVector<Value> getOffsets(OpBuilder &builder,
                                     AttentionLikeOpInterface op,
                                     ArrayRef<DimTile> tile,
                                     bool startsAtZero) {
  SmallVector<Value> offsets(op.getOffsets());
  if (op.getCaptureRegions().empty() && !op.getSparsityAttr())
    return {};
  // The blocks of a sparsity are those of the whole, which only offsets tell.
  bool isPartOfBlocks =
      op.getSparsityAttr() &&
      !llvm::all_of(tile, [](const DimTile &dim) { return dim.isWhole; });
  if (startsAtZero && !isPartOfBlocks)
    return offsets;
  Location loc = op.getLoc();
  SmallVector<Value> result;
  AffineExpr d0, d1;
  bindDims(builder.getContext(), d0, d1);
  for (unsigned loop = 0; loop < 4; ++loop) {
    OpFoldResult start = loop < tile.size() && !tile[loop].isWhole
                             ? tile[loop].offset
                             : OpFoldResult(builder.getIndexAttr(0));
    if (!offsets.empty())
      start = affine::makeComposedFoldedAffineApply(builder, loc, d0 + d1,
                                                    {start, offsets[loop]});
    result.push_back(getValueOrCreateConstantIndexOp(builder, loc, start));
  }
  return result;
}

FailureOr<AttentionInputs>
mlir::attn::extractInputs(OpBuilder &builder, AttentionLikeOpInterface op,
                          ArrayRef<DimTile> tile) {
  Location loc = op.getLoc();
  FailureOr<DimTile> keyHeads = getKeyHeads(builder, op, tile[kLoopH]);
  if (failed(keyHeads))
    return failure();
  DimTile keyBatches = getKeyBatches(builder, op, tile[kLoopB]);
  DimTile keys = tile.size() > kLoopJ ? tile[kLoopJ] : DimTile::whole();

  AttentionInputs inputs;
  inputs.query =
      extractTile(builder, loc, op.getQuery(),
                  op.getLayout(0).arrange(tile[kLoopB], tile[kLoopH],
                                          tile[kLoopI], DimTile::whole()),
                  inputs.slices);
  auto extract = [&](Value tensor, unsigned which) {
    return extractTile(builder, loc, tensor,
                       op.getLayout(which).arrange(keyBatches, *keyHeads, keys,
                                                   DimTile::whole()),
                       inputs.slices);
  };
  inputs.key = extract(op.getKey(), 1);
  inputs.value = extract(op.getValue(), 2);
  inputs.startsAtZero = llvm::all_of(tile, [](const DimTile &dim) {
    return dim.isWhole || isZeroInteger(dim.offset);
  });
  inputs.offsets = getOffsets(builder, op, tile, inputs.startsAtZero);
  return inputs;
}

OnlineAttentionOp mlir::attn::cloneWithInputs(OpBuilder &builder,
                                              OnlineAttentionOp op,
                                              const AttentionInputs &inputs,
                                              ValueRange outs) {
  auto tiled = OnlineAttentionOp::create(
      builder, op.getLoc(), outs.getTypes(), inputs.query, inputs.key,
      inputs.value, op.getCaptures(), op.getSparsityOperands(), inputs.offsets,
      outs, op.getScaleAttr(), op.getLayoutsAttr(), op.getScheduleAttr(),
      op.getSparsityAttr());
  tiled->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  for (auto [from, to] : llvm::zip_equal(op->getRegions(), tiled->getRegions()))
    if (!from.empty() &&
        ((&from != &op.getBlocks() && &from != &op.getTiles()) ||
         inputs.startsAtZero))
      builder.cloneRegionBefore(from, to, to.end());
  return tiled;
}
