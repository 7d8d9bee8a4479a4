//===- TileGrid.h - The loop over work tiles --------------------*- C++ -*-===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILES_TILEGRID_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILES_TILEGRID_H

#include "TileBody.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {

/// Emits the vectors of all results for one tile of rows.
using EmitTile = function_ref<FailureOr<SmallVector<Value>>(
    OpBuilder &, const TileRows &, ValueRange)>;

/// Emits the loop over (batch, head, tile of rows) that fills `outs`, of these
/// layouts. `rows`, of rank 4 and of layout `layout`, gives the extents.
FailureOr<SmallVector<Value>>
emitGrid(RewriterBase &rewriter, Location loc, Value rows, Layout layout,
         ValueRange outs, ArrayRef<Layout> layouts,
         ScheduleAttrInterface schedule, EmitTile emitTile);

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILES_TILEGRID_H
