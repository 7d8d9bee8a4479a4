//===- KeyLists.h - The program of a query with a list of keys --*- C++ -*-===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_SPARSITY_KEYLISTS_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_SPARSITY_KEYLISTS_H

#include "Tiles/TileBody.h"

namespace mlir::attn {

/// Emits the loop over the list of the one query `rows.row`, in steps of as
/// many keys as the schedule says, that continues `state`. Keys and values of a
/// step are gathered.
FailureOr<TileState> emitKeyListLoop(OpBuilder &builder, OnlineAttentionOp op,
                                     const TileRows &rows, TileState state,
                                     BoundsCheckSites *sites);

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_SPARSITY_KEYLISTS_H
