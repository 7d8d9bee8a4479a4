//===- AttnTileUtils.h - Tiles of attention operands ------------*- C++ -*-===//
//
// What the tiling interfaces of attention share: which part of each operand a
// tile of the iteration space (b, h, i, j) needs.
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_ATTN_IR_ATTNTILEUTILS_H
#define LIB_DIALECT_ATTN_IR_ATTNTILEUTILS_H

#include "attn/Dialect/Attn/IR/Attn.h"

namespace mlir::attn {

/// Loops of an attention, in the order of its iteration domain.
enum AttentionLoop : unsigned { kLoopB, kLoopH, kLoopI, kLoopJ };

/// A range of one dimension. A range that is known to be all of the dimension
/// says so: tensors are not sliced along it.
struct DimTile {
  OpFoldResult offset;
  OpFoldResult size;
  bool isWhole = false;

  static DimTile whole() { return {{}, {}, true}; }
};

/// A dimension of a tensor, which gives the extent of a loop.
using TensorDim = std::pair<Value, unsigned>;

/// The dimensions that give the extents of b, h, i and j.
SmallVector<TensorDim> getLoopDims(AttentionLikeOpInterface op);

/// The tile at `offsets` of `sizes` of loops over `dims`.
SmallVector<DimTile> getTile(ArrayRef<TensorDim> dims,
                             ArrayRef<OpFoldResult> offsets,
                             ArrayRef<OpFoldResult> sizes);

/// The part of `tensor` that `dims` say, or `tensor` if they are all of it.
/// Slices that were made are added to `slices`.
Value extractTile(OpBuilder &builder, Location loc, Value tensor,
                  ArrayRef<DimTile> dims, SmallVectorImpl<Operation *> &slices);

/// What a tile of an attention reads.
struct AttentionInputs {
  Value query, key, value;
  /// The offsets of the tiled operation; empty if no region asks for them.
  SmallVector<Value> offsets;
  /// Whether the tile starts where the attention starts.
  bool startsAtZero = true;
  SmallVector<Operation *> slices;
};

/// Slices q, k and v. Fails, with an error, if the heads of the tile share
/// heads of k and v with other tiles in a way that no attention can say.
FailureOr<AttentionInputs> extractInputs(OpBuilder &builder,
                                         AttentionLikeOpInterface op,
                                         ArrayRef<DimTile> tile);

/// The same online attention on other inputs and destinations. Bounds of
/// blocks count from where their operation starts, so that only a tile that
/// starts there too keeps them.
OnlineAttentionOp cloneWithInputs(OpBuilder &builder, OnlineAttentionOp op,
                                  const AttentionInputs &inputs,
                                  ValueRange outs);

/// Attach the interfaces to the operations; called as the dialect is loaded.
void attachTilingInterfaces(MLIRContext *context);
void attachPartialReductionInterface(MLIRContext *context);

} // namespace mlir::attn

#endif // LIB_DIALECT_ATTN_IR_ATTNTILEUTILS_H
