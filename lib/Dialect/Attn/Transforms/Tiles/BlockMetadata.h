//===- BlockMetadata.h - Ranges of captures for KV blocks -------*- C++ -*-===//
//
// A `tiles` region asks for the least and the largest element of a captured
// tensor over the keys of a tile. All Q blocks ask for the same, so
// that the answers are computed before the loop over them, one for each KV
// block, and for each batch and head if they matter. For a GPU, those over the
// queries of a tile are, too: its CTAs have few threads to spare.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILES_BLOCKMETADATA_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILES_BLOCKMETADATA_H

#include "RegionVectorizer.h"
#include "TileOps.h"
#include "attn/Dialect/Attn/IR/AttnGrad.h"
#include "mlir/IR/PatternMatch.h"
#include <optional>

namespace mlir::attn {

/// Which arguments of a `tiles` region a value depends on.
struct TileDependence {
  bool batch = false, head = false, rows = false, keys = false;
};

/// The dependence of each value of the region.
DenseMap<Value, TileDependence> getTileDependence(Region &tiles);

/// A region `tiles`, and of which tiles it is asked.
struct TileQuestions {
  TileQuestions(OnlineAttentionOp op);
  TileQuestions(AttentionGradOp op);

  AttentionLikeOpInterface op;
  Region *tiles;
  ScheduleAttrInterface schedule;
  /// Queries and keys of a tile, and how many of the queries find out together
  /// which keys they need.
  int64_t numQueries, numKeys, partRows;
};

/// Tensors [B or 1, H or 1, number of parts of rows, number of KV blocks], of
/// both numbers only what the elements depend on. A part has `partRows` rows:
/// those that find out together which KV blocks they need.
struct BlockMinMax {
  Value min, max;
  TileDependence dependence;
  int64_t partRows;
};

struct BlockMetadata {
  /// By `attn.range` or `attn.range_over`.
  DenseMap<Operation *, BlockMinMax> ranges;
  /// The first and the last KV block that a part of a Q block needs; if it
  /// needs none, the first one is their number. i32.
  std::optional<BlockMinMax> needed;
  /// The keys of Q blocks with lists of keys, if tiles gather them.
  KeyUnionOp unions;
};

/// Positions from `begin` to below `end`.
struct TileSpan {
  Value begin, end;
};

/// Computes the elements of both tables for a part of rows and a KV block, of a
/// batch and head, or 0 if they do not matter; of rows and keys, what they do
/// not depend on is null.
using EmitElement = function_ref<FailureOr<std::pair<Value, Value>>(
    ValueRange ids, TileSpan rows, TileSpan keys)>;
/// Emits a loop that fills two tables.
FailureOr<BlockMinMax> emitTable(RewriterBase &rewriter,
                                 const TileQuestions &questions, Location loc,
                                 TileDependence dependence, Type element,
                                 EmitElement emit);

/// Emits a loop that finds `metadata.needed` from the classes of all tiles, so
/// that a worker looks for tiles only between those.
LogicalResult emitNeededTiles(RewriterBase &rewriter, OnlineAttentionOp op,
                              BlockMetadata &metadata);

/// Whether a worker is to ask the `tiles` region of `op`, if it has one, about
/// each tile. `op` may be null.
bool hasTileClasses(OnlineAttentionOp op);

/// Emits a loop that answers each `attn.range` and `attn.range_over` of a
/// `tiles` region that depends on the keys and not on the rows, each that is
/// over queries and keys, and for a schedule with one loop over keys, each that
/// depends on the rows and not on the keys.
LogicalResult emitRangeTables(RewriterBase &rewriter,
                              const TileQuestions &questions,
                              BlockMetadata &metadata);
/// Those of `op` and, for a schedule with one loop over keys, which tiles are
/// needed. Nothing without classes.
FailureOr<BlockMetadata> emitBlockMetadata(RewriterBase &rewriter,
                                           OnlineAttentionOp op);

/// Reads the answers for `numRows` rows, or as many as there are: those of all
/// of their parts together.
std::pair<Value, Value> readBlockMinMax(OpBuilder &builder, Location loc,
                                        const BlockMinMax &minMax,
                                        const TileRows &rows, int64_t numRows,
                                        Value keyTile);

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILES_BLOCKMETADATA_H
