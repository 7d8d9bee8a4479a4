//===- RowTerms.h - What all keys of a row share ----------------*- C++ -*-===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILES_ROWTERMS_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILES_ROWTERMS_H

#include "TileBody.h"

namespace mlir::attn {

/// The state after all keys of a Q block with what the `rows` region of `op`
/// says. `state` started without a key.
FailureOr<TileState> emitRowTerms(OpBuilder &builder, OnlineAttentionOp op,
                                  const TileRows &rows, TileState state);

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILES_ROWTERMS_H
