//===- TileOps.h - What programs of tiles are built from --------*- C++ -*-===//
//
// Constants, reads, products, steps and loops of the tile level, which programs
// of attention and of its gradients have in common.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILES_TILEOPS_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILES_TILEOPS_H

#include "Gradients/Adjoints.h"
#include "attn/Dialect/Attn/IR/AttnTile.h"

namespace mlir::attn {

/// The rows that one worker computes: queries [row, rowEnd) of one head.
struct TileRows {
  Value batch, head, row, rowEnd;
  /// Their number, or null if it is that of a tile.
  Value count;
  /// Whether the bounds of a part of them are those of all with its rows in
  /// place of all: not where the first one, or their number, is a constant.
  bool haveParts = false;
};

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value createIndex(OpBuilder &builder, Location loc, int64_t value);

/// A constant of a shape, whose elements are floats.
Value createFloat(OpBuilder &builder, Location loc, Type type, double value);

/// `value`, a float or a vector of floats, with elements of `element`.
Value convertTile(OpBuilder &builder, Location loc, Value value, Type element);

/// lhs * rhs + acc, with lhs transposed or not.
Value contractTiles(OpBuilder &builder, Location loc, Value lhs, Value rhs,
                    Value acc, bool isTransposed);

/// Reads a vector whose dimensions are `dims` of a tensor, 0 outside, and
/// everywhere unless `condition` holds, an i1 or null.
Value createRead(OpBuilder &builder, Location loc, VectorType type,
                 Value tensor, ArrayRef<Value> indices, ArrayRef<unsigned> dims,
                 ArrayRef<bool> inBounds, Value condition = {});
/// Reads rows of a [B, H, S, D] tensor as vector<D x numQueries>, 0 past the
/// end.
Value readColumns(OpBuilder &builder, Location loc, Value tensor, Layout layout,
                  const TileRows &rows, int64_t numQueries);
/// Reads rows of a [B, H, S] tensor, whose layout is `layout` without d, as
/// vector<numQueries>, 0 past the end.
Value readRows(OpBuilder &builder, Location loc, Value tensor, Layout layout,
               const TileRows &rows, int64_t numQueries);

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// A position in the whole, as regions see it: `local` counts from where the
/// operation starts in dimension `which` of (b, h, i, j).
Value withOffset(OpBuilder &builder, AttentionLikeOpInterface op, Value local,
                 unsigned which);

/// 0 where dimension `number` has extent 1, which serves all, otherwise
/// `position`.
Value emitShared(OpBuilder &builder, Location loc, Value tensor,
                 unsigned number, Value position);

/// How many heads of queries share a head of keys, a constant where types tell.
Value emitGroup(OpBuilder &builder, AttentionLikeOpInterface op);

/// Where the keys of a head of queries are in the tensor of keys, and how many.
struct KeyPlace {
  Value batch, head;
  Value numKeys;
};
KeyPlace emitKeyPlace(OpBuilder &builder, AttentionLikeOpInterface op,
                      Value batch, Value head);

/// The rows with these numbers of a tensor of keys or values as vector<N x D>,
/// 0 where `mask` does not hold.
Value gatherRows(OpBuilder &builder, Location loc, Value tensor, Layout layout,
                 const KeyPlace &place, Value rows, Value mask);

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// Where a loop over the tiles that [lo, hi) needs starts: at a multiple of
/// their size, or at `hi` if there is none.
Value emitTileBegin(OpBuilder &builder, Location loc, Value lo, Value hi,
                    int64_t size);

/// Emits what a class region yields, which `emit` makes of the start of a tile.
LogicalResult emitTileClass(OpBuilder &builder, TileLoopOp loop, Region &region,
                            function_ref<FailureOr<Value>(Value)> emit);
/// Says that the full tiles are those within [lower, upper).
void emitFullWithin(OpBuilder &builder, TileLoopOp loop, Value lower,
                    Value upper);

/// A step by name, whose results are what `body` makes.
FailureOr<ValueRange>
emitStep(OpBuilder &builder, Location loc, StringRef name,
         function_ref<FailureOr<SmallVector<Value>>()> body);
/// One that makes one value.
Value emitStep(OpBuilder &builder, Location loc, StringRef name,
               function_ref<Value()> body);

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILES_TILEOPS_H
