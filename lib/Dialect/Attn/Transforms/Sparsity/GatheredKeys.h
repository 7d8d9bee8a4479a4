//===- GatheredKeys.h - Tiles of the keys in lists --------------*- C++ -*-===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_SPARSITY_GATHEREDKEYS_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_SPARSITY_GATHEREDKEYS_H

#include "Tiles/TileBody.h"

namespace mlir::attn {

/// Whether Q blocks gather the keys that are in lists of some of them:
/// those of an attention with such lists that has a schedule of tiles, and one
/// loop over these. `op` may be null.
bool gathersKeys(OnlineAttentionOp op);

/// Finds the keys of all Q blocks, in front of the loop over these.
KeyUnionOp emitKeyUnion(RewriterBase &rewriter, OnlineAttentionOp op);

/// Emits the loop over the keys of the tile `rows` that continues `state`.
FailureOr<TileState> emitGatheredLoop(OpBuilder &builder, OnlineAttentionOp op,
                                      const TileRows &rows, TileState state,
                                      KeyUnionOp unions,
                                      BoundsCheckSites *sites);

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_SPARSITY_GATHEREDKEYS_H
