//===- QueryLists.h - Q blocks that keys meet, found from data --*- C++ -*-===//
//
// Where no bounds say which queries a work tile of keys needs, loops in front
// of the work tiles find the class of each tile, and make a list of the Q
// blocks that are needed for each work tile. So the loop over Q blocks is one
// over the entries of a list, and no tile is visited that is not needed.
//
// Where several heads of queries share the keys and the mask differs among
// them, entries of a list are of all of them: the blocks at the first place in
// each head, then those at the next place. Batches that share keys need what
// any of them does.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_GRADIENTS_QUERYLISTS_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_GRADIENTS_QUERYLISTS_H

#include "attn/Dialect/Attn/IR/AttnGrad.h"
#include "mlir/IR/PatternMatch.h"
#include <optional>

namespace mlir::attn {

/// How many batches, or null for one, and heads of queries share a head of
/// keys.
struct SharingCounts {
  Value batches, heads;
};
/// Nothing where each head of queries is known to have keys of its own.
std::optional<SharingCounts> emitSharingCounts(OpBuilder &builder,
                                               AttentionGradOp op);

/// Tables of i32, [B or 1, H or 1, work tiles, Q blocks], of batches of keys
/// and heads of queries.
struct QueryLists {
  /// 0 for a tile that is not needed, 1 for a partial and 2 for a full one.
  Value classes;
  /// How many tiles that are needed come before.
  Value before;
  /// For each entry, twice the number of a tile, and 1 more if it is full.
  Value lists;
  /// Whether the tables depend on batches and on heads.
  bool ofBatch = false, ofHead = false;
  /// Whether some tile may be full.
  bool haveFull = false;
};

/// Emits the loops that fill them, where the mask of `op` tells tiles apart.
FailureOr<std::optional<QueryLists>> emitQueryLists(RewriterBase &rewriter,
                                                    AttentionGradOp op);

/// Tables of i32 whose elements are what `emit` makes of their indices.
FailureOr<SmallVector<Value>>
emitTablesOf(RewriterBase &rewriter, AttentionGradOp op, unsigned count,
             ArrayRef<OpFoldResult> sizes,
             function_ref<FailureOr<SmallVector<Value>>(ValueRange ids)> emit);
/// One of them.
FailureOr<Value>
emitTableOf(RewriterBase &rewriter, AttentionGradOp op,
            ArrayRef<OpFoldResult> sizes,
            function_ref<FailureOr<Value>(ValueRange ids)> emit);
/// The extents of a table of tiles, [B or 1, H or 1, work tiles, Q blocks], by
/// whether it depends on batches, which are those of keys, and on heads.
SmallVector<OpFoldResult> getTableSizes(RewriterBase &rewriter,
                                        AttentionGradOp op, bool ofBatch,
                                        bool ofHead);

/// The least and the largest of the numbers below `count` that `isFound` holds
/// for, which are i32; `count` and -1 where it holds for none.
FailureOr<SmallVector<Value>>
emitLimits(OpBuilder &builder, Location loc, Value count,
           function_ref<FailureOr<Value>(Value number)> isFound);

/// The numbers from `lower` to below `upper` that are between two limits: where
/// they start and end.
std::pair<Value, Value> emitBetween(OpBuilder &builder, Location loc,
                                    Value lower, Value upper, Value first,
                                    Value last);

/// The list of a work tile.
class QueryList {
public:
  /// `firstBatch` and `firstHead` are the first that share the keys, of so many
  /// as `sharing` says: of a batch of keys, it is the first one, too.
  QueryList(OpBuilder &builder, AttentionGradOp op, const QueryLists &lists,
            Value firstBatch, Value firstHead,
            std::optional<SharingCounts> sharing, Value workTile);

  /// Where a loop over the tiles that are needed ends, of all heads together,
  /// which starts at 0 and steps by their queries.
  Value emitEnd();
  /// A tile, and whether it is full as far as the mask says.
  struct Entry {
    Value batch, head, tile, isFull;
  };
  /// That of a position of the loop.
  Entry emitEntry(Value position);

private:
  friend class QueryListsBuilder;
  /// The tile of a number that entries of a list are of.
  Entry getPlace(Value number);
  Value read(Value table, const Entry &place);
  Value emitNumTiles();

  OpBuilder &builder;
  AttentionGradOp op;
  const QueryLists &lists;
  Value firstBatch, firstHead, workTile;
  /// Heads that have entries of their own; batches and heads that share one.
  Value listedHeads, sharedBatches, sharedHeads;
};

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_GRADIENTS_QUERYLISTS_H
