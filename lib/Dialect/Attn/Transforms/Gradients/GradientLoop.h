//===- GradientLoop.h - Gradients of one work tile --------------*- C++ -*-===//
//
// A work tile has some queries and meets all keys, or some keys and all
// queries. The first gives the gradient of queries, the second those of keys
// and values; contributions to captures may come from either. Both are one
// program with its roles exchanged: own rows are the columns of tiles, the
// others, over which the loop runs, their rows.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_GRADIENTS_GRADIENTLOOP_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_GRADIENTS_GRADIENTLOOP_H

#include "CaptureSums.h"
#include "GradientBounds.h"
#include "GradientClasses.h"
#include "GradientOrder.h"
#include "QueryLists.h"
#include "Tiles/RegionVectorizer.h"
#include "Tiles/TileBody.h"
#include "attn/Dialect/Attn/IR/AttnGrad.h"
#include "attn/Dialect/Attn/IR/AttnTile.h"

namespace mlir::attn {

/// What work tiles share where one pass over all pairs gives all gradients that
/// are wanted: for each Q block, by (batch, head, tile), log2(e) * lse and
/// delta of its queries, +inf and 0 behind the last one; and, of work tiles of
/// keys, the sums of rows of keys times dx that they add to, with queries as
/// rows, or with the columns as rows. So probabilities are rounded, as an eager
/// program does.
struct SharedSums {
  Value lse, delta, sums;
  bool areColumns = false;
  /// Whose turn it is to add, for each tile of queries and each warpgroup; null
  /// for any order.
  Value counters;
  AddingOrder order;
  /// The gradient of queries, which the last one to add writes; null where a
  /// loop behind does.
  Value out;
  SmallVector<CaptureSum> captures;
  /// The Q blocks that work tiles meet, where data says which; or else whether
  /// the mask bounds them.
  std::optional<QueryLists> lists;
  bool isBounded = false;
};

/// The batches and heads whose queries a work tile of keys meets: so many, from
/// the first ones on.
struct SharingHeads {
  SharingCounts counts;
  Value firstBatch, firstHead;
};

class GradientLoop {
public:
  /// Over which the loop runs.
  enum Over { Keys, Queries };
  /// What the loop computes, of what its work tile can.
  struct Wanted {
    /// The sum of other rows times dx, of own rows: of queries, or of keys.
    bool products = false;
    /// That of gradients times p: of values.
    bool values = false;
    /// Rows of keys times dx, added to sums of queries, a tensor that the loop
    /// over queries carries.
    bool queries = false;
    /// The capture to contribute to, or -1.
    int64_t capture = -1;
  };
  /// Adds contributions where `mask` holds to the tensor that is carried.
  using Scatter =
      llvm::function_ref<Value(ContributeOp op, TileValue value, TileValue mask,
                               Value into, RegionVectorizer &vectorizer)>;

  /// `delta` is <do, o> - dlse, in the layout of lse.
  GradientLoop(OpBuilder &builder, AttentionGradOp op, Over over, Value delta,
               Wanted wanted, const SharedSums *shared = nullptr);

  /// Says which rows are its own, and reads what belongs to them: queries of
  /// (batch, head), or keys of a batch and a head of keys.
  void setOwn(const TileRows &rows);
  /// Says which rows are the others.
  void setOther(Value batch, Value head);
  /// Says where in the tensor of sums of queries those of the others are.
  void setSums(Value batch, Value head) {
    sumsBatch = batch;
    sumsHead = head;
  }

  /// The same, of many: the loop goes over the tiles of all of them.
  void setOthers(const SharingHeads &heads);

  /// Says how classes of tiles are found, where bounds do not say all.
  void setClasses(const std::optional<GradientClasses> &found) {
    classes = found ? &*found : nullptr;
  }

  /// The sums before any other row: for products, for values, as far as they
  /// are wanted, and then for contributions to captures that a loop over
  /// queries carries.
  SmallVector<Value> createZeros();
  /// Emits the loop over the others, which carries these sums and then the sums
  /// of queries, [B, H, S, D], or, for a capture, a tensor that `scatter` adds
  /// to.
  FailureOr<SmallVector<Value>> emit(ValueRange carried,
                                     Scatter scatter = nullptr);
  /// What the sums become: gradients, of the types of these.
  SmallVector<Value> finish(ArrayRef<Value> sums, ArrayRef<Value> outs);
  /// Adds sums for captures to memory.
  LogicalResult finishCaptures(ArrayRef<Value> parts);

private:
  FailureOr<SmallVector<Value>> emitTile(Value first, ValueRange carried,
                                         Scatter scatter);
  /// What becomes of a contribution where `active` holds, which adds to `into`
  /// and gives the sum, or adds to memory, and both are null.
  using Contribution =
      llvm::function_ref<Value(ContributeOp op, TileValue active, Value into,
                               RegionVectorizer &vectorizer)>;
  FailureOr<SmallVector<Value>> emitAdjoint(Value first, Value x, Value p,
                                            Value ds, Contribution contribute,
                                            Value into);
  FailureOr<TileValue> emitAllowed(RegionVectorizer &vectorizer,
                                   ArrayRef<TileValue> arguments);
  FailureOr<Value> emitWeights(RegionVectorizer &vectorizer,
                               ArrayRef<TileValue> arguments,
                               TileValue allowed);
  Value emitScoreGradient(Value p, Value weighted, Value dp, Value delta);
  void setStarts(RegionVectorizer &vectorizer, Value first);
  Value emitIsWhole();
  /// Steps with a product of rows of the others and own columns, and with one
  /// over the others that is added to a sum.
  Value multiply(StringRef name, Value rows, Value columns);
  Value sum(StringRef name, Value rows, Value columns, Value acc);
  SmallVector<TileValue> getArguments(Value first);
  Value emitPositions(Value first, unsigned which, int64_t length);
  Value withOffset(Value position, unsigned which);
  /// A vector of numbers of queries, which own rows or the others are.
  TileValue readOfQueries(Value tensor, Value first);
  Value readRows(Value tensor, Layout layout, Value first);
  FailureOr<SmallVector<Value>> emitSharedTile(Value first, ValueRange carried);
  FailureOr<SmallVector<Value>> emitSharedLoop(const MetQueries &met,
                                               ValueRange carried);
  FailureOr<SmallVector<Value>> emitListLoop(ValueRange carried);
  FailureOr<SmallVector<Value>>
  emitLoopOver(Value begin, Value end, ValueRange carried,
               llvm::function_ref<Value(Value position)> enter,
               llvm::function_ref<Value(Value first)> emitFull);
  Value addToQueries(Value first, Value dx, Value sums);
  Value emitOther(Value position, Value lower, Value positions);
  Value multiplySums(Value dx);
  void emitSums(Value dx);
  Value emitListed(QueryList &list, Value position);
  Value emitPosition(Value first);
  void setAll();
  Value readShared(Value numbers);
  TileValue readOwnShared(Value numbers);
  bool isOverKeys() const { return over == Keys; }

  OpBuilder &builder;
  AttentionGradOp op;
  AttentionLikeOpInterface attention;
  Over over;
  Value delta;
  Wanted wanted;
  const SharedSums *shared;
  const GradientClasses *classes = nullptr;
  std::optional<SharingHeads> sharing;
  Location loc;
  FloatType accType;
  int64_t numOwn, numOther;

  TileRows own;
  /// Which tile of rows all parts of the worker have together, where parts have
  /// some of its own rows each, but meet the same others.
  Value ownTile, allBegin, allEnd;
  Value otherBatch, otherHead, otherEnd;
  /// The number of a tile of the others in its head, where lse is shared.
  Value otherTile;
  /// Whether all its pairs are allowed, where a list says so.
  Value isListedFull;
  /// Own rows as columns: q and do, or k and v.
  Value ownFirst, ownSecond;
  /// Own keys as rows.
  Value ownRows;
  Value sumsBatch, sumsHead;
  TileValue ownShift, ownDelta;
  /// Which contributions to which captures the loop carries the sums of.
  SmallVector<std::pair<ContributeOp, const CaptureSum *>> carriedSums;
};

/// lse, a number or a vector, but 0 where there is no key, so that differences
/// of infinities do not occur.
Value emitShift(OpBuilder &builder, Location loc, Value lse);

/// The gradients of keys and values that are asked for, which work tiles of
/// keys give: what they are written to, how that is laid out, and which sums
/// they are.
struct KeyGradients {
  explicit KeyGradients(AttentionGradOp op);

  SmallVector<Value> outs;
  SmallVector<Layout> layouts;
  GradientLoop::Wanted wanted;
};

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_GRADIENTS_GRADIENTLOOP_H
