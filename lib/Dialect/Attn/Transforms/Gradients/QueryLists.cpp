//===- QueryLists.cpp - Q blocks that keys meet, found from data ----------===//

#include "QueryLists.h"
#include "Tiles/TileClasses.h"
#include "WorkerLoop.h"
#include "attn/Dialect/ScalarBuilder.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Heads that share keys
//===----------------------------------------------------------------------===//

static bool areEqual(Value a, Value b, unsigned dimA, unsigned dimB) {
  int64_t x = cast<RankedTensorType>(a.getType()).getDimSize(dimA),
          y = cast<RankedTensorType>(b.getType()).getDimSize(dimB);
  return !ShapedType::isDynamic(x) && x == y;
}

/// Whether each batch of queries is known to have keys of its own.
static bool haveOwnBatches(AttentionGradOp op) {
  AttentionLikeOpInterface attention = op;
  Layout query = attention.getLayout(0), key = attention.getLayout(1);
  return op.getKey().getType().getDimSize(key.b) > 1 ||
         areEqual(op.getQuery(), op.getKey(), query.b, key.b);
}

std::optional<SharingCounts> mlir::attn::emitSharingCounts(OpBuilder &builder,
                                                           AttentionGradOp op) {
  AttentionLikeOpInterface attention = op;
  Location loc = op.getLoc();
  Layout query = attention.getLayout(0), key = attention.getLayout(1);
  bool ownBatches = haveOwnBatches(op);
  if (ownBatches && areEqual(op.getQuery(), op.getKey(), query.h, key.h))
    return std::nullopt;
  auto get = [&](Value tensor, unsigned dim) {
    return builder.createOrFold<tensor::DimOp>(loc, tensor, dim);
  };
  SharingCounts counts;
  counts.heads = emitGroup(builder, op);
  if (ownBatches)
    return counts;
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value isShared = builder.createOrFold<arith::CmpIOp>(
      loc, arith::CmpIPredicate::eq, get(op.getKey(), key.b), one);
  counts.batches = builder.createOrFold<arith::SelectOp>(
      loc, isShared, get(op.getQuery(), query.b), one);
  return counts;
}

//===----------------------------------------------------------------------===//
// The list of a work tile
//===----------------------------------------------------------------------===//

QueryList::QueryList(OpBuilder &builder, AttentionGradOp op,
                     const QueryLists &lists, Value firstBatch, Value firstHead,
                     std::optional<SharingCounts> sharing, Value workTile)
    : builder(builder), op(op), lists(lists), firstBatch(firstBatch),
      firstHead(firstHead), workTile(workTile) {
  if (!sharing)
    return;
  sharedBatches = sharing->batches;
  if (!matchPattern(sharing->heads, m_One()))
    (lists.ofHead ? listedHeads : sharedHeads) = sharing->heads;
}

/// The parts of a number, of which those behind the first are below `extents`,
/// or null where these are.
static SmallVector<Value> splitNumber(OpBuilder &builder, Location loc,
                                      Value number, ArrayRef<Value> extents) {
  SmallVector<Value> known;
  for (Value extent : extents)
    if (extent)
      // Of no batches nothing runs, but numbers have to be legal.
      known.push_back(matchPattern(extent, m_Zero())
                          ? createIndex(builder, loc, 1)
                          : extent);
  SmallVector<Value> parts(extents.size() + 1);
  parts[0] = number;
  if (known.empty())
    return parts;
  auto split = affine::AffineDelinearizeIndexOp::create(
      builder, loc, number, known, /*hasOuterBound=*/false);
  unsigned next = 0;
  parts[0] = split.getResult(next++);
  for (auto [number, extent] : llvm::enumerate(extents))
    if (extent)
      parts[number + 1] = split.getResult(next++);
  return parts;
}

QueryList::Entry QueryList::getPlace(Value number) {
  Location loc = op.getLoc();
  SmallVector<Value> parts = splitNumber(builder, loc, number, listedHeads);
  Value head = firstHead;
  if (parts[1])
    head = arith::AddIOp::create(builder, loc, head, parts[1]);
  return {firstBatch, head, parts[0], Value()};
}

Value QueryList::read(Value table, const Entry &place) {
  Location loc = op.getLoc();
  Value zero = createIndex(builder, loc, 0);
  return tensor::ExtractOp::create(
      builder, loc, table,
      ValueRange{lists.ofBatch ? place.batch : zero,
                 lists.ofHead ? place.head : zero, workTile, place.tile});
}

Value QueryList::emitNumTiles() {
  Location loc = op.getLoc();
  AttentionLikeOpInterface attention = op;
  Value rows = builder.createOrFold<tensor::DimOp>(loc, op.getQuery(),
                                                   attention.getLayout(0).s);
  return arith::CeilDivUIOp::create(
      builder, loc, rows,
      createIndex(builder, loc, op.getScheduleAttr().getTileN()));
}

Value QueryList::emitEnd() {
  ScalarBuilder b(op.getLoc(), builder);
  Value count = emitNumTiles();
  if (listedHeads)
    count = b.mul(count, listedHeads);
  // Where there is no query, nothing is read.
  Entry last = getPlace(b.sub(b.maxS(count, 1), 1));
  Value isNeeded = b.minS(read(lists.classes, last), 1);
  Value needed = arith::IndexCastOp::create(
      b, b.getIndexType(), b.add(read(lists.before, last), isNeeded));
  for (Value extent : {sharedBatches, sharedHeads})
    if (extent)
      needed = b.mul(needed, extent);
  return b.mul(needed, op.getScheduleAttr().getTileN());
}

QueryList::Entry QueryList::emitEntry(Value position) {
  ScalarBuilder b(op.getLoc(), builder);
  int64_t size = op.getScheduleAttr().getTileN();
  // Of the position itself, so that its parts can be carried from tile to tile:
  // the innermost one has the queries of a tile of each head.
  Value number, batch, head;
  if (sharedBatches || sharedHeads) {
    Value positions = createIndex(builder, op.getLoc(), size);
    if (sharedHeads)
      positions = builder.createOrFold<arith::MulIOp>(op.getLoc(), sharedHeads,
                                                      positions);
    SmallVector<Value> parts =
        splitNumber(b, b.getLoc(), position, {sharedBatches, positions});
    number = parts[0];
    batch = parts[1];
    if (sharedHeads)
      head = b.divU(parts[2], size);
  } else {
    number = b.divU(position, size);
  }
  Value code = read(lists.lists, getPlace(number));
  Entry entry = getPlace(
      arith::IndexCastOp::create(b, b.getIndexType(), b.shrU(code, 1)));
  if (batch)
    entry.batch = b.add(entry.batch, batch);
  if (head)
    entry.head = b.add(entry.head, head);
  entry.isFull = b.cmp(arith::CmpIPredicate::ne, b.andI(code, 1), 0);
  return entry;
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<Value>> mlir::attn::emitTablesOf(
    RewriterBase &rewriter, AttentionGradOp op, unsigned count,
    ArrayRef<OpFoldResult> sizes,
    function_ref<FailureOr<SmallVector<Value>>(ValueRange ids)> emit) {
  Location loc = op.getLoc();
  SmallVector<Value> outs;
  for (unsigned number = 0; number < count; ++number)
    outs.push_back(
        tensor::EmptyOp::create(rewriter, loc, sizes, rewriter.getI32Type()));
  scf::ForallOp forall =
      createWorkerLoop(rewriter, loc, sizes, outs, op.getScheduleAttr());
  markPreparation(forall, op);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(forall.getTerminator());
  SmallVector<Value> ids(forall.getInductionVars());
  FailureOr<SmallVector<Value>> elements = emit(ids);
  if (failed(elements))
    return failure();
  writeElements(rewriter, forall, ids, *elements);
  return SmallVector<Value>(forall.getResults());
}

FailureOr<Value>
mlir::attn::emitTableOf(RewriterBase &rewriter, AttentionGradOp op,
                        ArrayRef<OpFoldResult> sizes,
                        function_ref<FailureOr<Value>(ValueRange ids)> emit) {
  using Elements = FailureOr<SmallVector<Value>>;
  Elements tables =
      emitTablesOf(rewriter, op, 1, sizes, [&](ValueRange ids) -> Elements {
        FailureOr<Value> element = emit(ids);
        if (failed(element))
          return failure();
        return SmallVector<Value>{*element};
      });
  if (failed(tables))
    return failure();
  return tables->front();
}

SmallVector<OpFoldResult> mlir::attn::getTableSizes(RewriterBase &rewriter,
                                                    AttentionGradOp op,
                                                    bool ofBatch, bool ofHead) {
  AttentionLikeOpInterface attention = op;
  Location loc = op.getLoc();
  ScheduleAttrInterface schedule = op.getScheduleAttr();
  Layout query = attention.getLayout(0), key = attention.getLayout(1);
  auto count = [&](Value tensor, unsigned dim, int64_t size) {
    AffineExpr s0;
    bindSymbols(rewriter.getContext(), s0);
    return affine::makeComposedFoldedAffineApply(
        rewriter, loc, s0.ceilDiv(size),
        {tensor::getMixedSize(rewriter, loc, tensor, dim)});
  };
  OpFoldResult one = rewriter.getIndexAttr(1);
  return {ofBatch ? count(op.getKey(), key.b, 1) : one,
          ofHead ? count(op.getQuery(), query.h, 1) : one,
          count(op.getKey(), key.s, schedule.getTileM()),
          count(op.getQuery(), query.s, schedule.getTileN())};
}

FailureOr<SmallVector<Value>>
mlir::attn::emitLimits(OpBuilder &builder, Location loc, Value count,
                       function_ref<FailureOr<Value>(Value number)> isFound) {
  ScalarBuilder b(loc, builder);
  Value none = b.i32(-1), most = b.toI32(count);
  auto loop = scf::ForOp::create(builder, loc, b.index(0), count, b.index(1),
                                 ValueRange{most, none});
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  FailureOr<Value> found = isFound(loop.getInductionVar());
  if (failed(found))
    return failure();
  ScalarBuilder inside(loc, builder);
  Value number = inside.toI32(loop.getInductionVar());
  auto choose = [&](Value otherwise) -> Value {
    return arith::SelectOp::create(inside, *found, number, otherwise);
  };
  Value first = inside.minS(loop.getRegionIterArg(0), choose(most)),
        last = inside.maxS(loop.getRegionIterArg(1), choose(none));
  scf::YieldOp::create(inside, ValueRange{first, last});
  return SmallVector<Value>(loop.getResults());
}

std::pair<Value, Value> mlir::attn::emitBetween(OpBuilder &builder,
                                                Location loc, Value lower,
                                                Value upper, Value first,
                                                Value last) {
  ScalarBuilder b(loc, builder);
  auto toIndex = [&](Value number) -> Value {
    return arith::IndexCastOp::create(b, b.getIndexType(), number);
  };
  return {b.maxS(lower, toIndex(first)),
          b.minS(upper, b.add(toIndex(last), 1))};
}

namespace mlir::attn {
class QueryListsBuilder {
public:
  QueryListsBuilder(RewriterBase &rewriter, AttentionGradOp op)
      : rewriter(rewriter), op(op), questions(op), loc(op.getLoc()) {}

  FailureOr<QueryLists> emit();

private:
  FailureOr<TileClasses::TileClass> emitOfBatches(
      Value first,
      function_ref<FailureOr<TileClasses::TileClass>(Value batch)> emit);
  FailureOr<Value> emitClass(ValueRange ids);
  QueryList getList(ValueRange ids);
  Value emitNumber(const QueryList &list, ValueRange ids);
  Value emitBefore(ValueRange ids);
  Value emitEntry(ValueRange ids);
  std::pair<Value, Value> emitBetween(ValueRange ids, Value lower, Value upper);

  RewriterBase &rewriter;
  AttentionGradOp op;
  TileQuestions questions;
  Location loc;
  BlockMetadata metadata;
  QueryLists lists;
  std::optional<SharingCounts> sharing;
  /// The first and the last Q block that a work tile needs, where a list is of
  /// one head.
  SmallVector<Value> limits;
};
} // namespace mlir::attn

/// Whether a pair of some batch may be allowed, and whether all of all batches
/// are: those that share the keys, from `first` on.
FailureOr<TileClasses::TileClass> QueryListsBuilder::emitOfBatches(
    Value first,
    function_ref<FailureOr<TileClasses::TileClass>(Value batch)> emit) {
  ScalarBuilder b(loc, rewriter);
  Value inits[] = {b.i1(false), b.i1(true)};
  auto loop = scf::ForOp::create(rewriter, loc, b.index(0), sharing->batches,
                                 b.index(1), inits);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(loop.getBody());
  Value batch =
      arith::AddIOp::create(rewriter, loc, first, loop.getInductionVar());
  FailureOr<TileClasses::TileClass> tile = emit(batch);
  if (failed(tile))
    return failure();
  Value may = arith::OrIOp::create(rewriter, loc, loop.getRegionIterArg(0),
                                   tile->may),
        must = arith::AndIOp::create(rewriter, loc, loop.getRegionIterArg(1),
                                     tile->must);
  scf::YieldOp::create(rewriter, loc, ValueRange{may, must});
  return TileClasses::TileClass{loop.getResult(0), loop.getResult(1)};
}

FailureOr<Value> QueryListsBuilder::emitClass(ValueRange ids) {
  ScalarBuilder b(loc, rewriter);
  AttentionLikeOpInterface attention = op;
  auto getSpan = [&](Value number, int64_t size, Value tensor,
                     unsigned layout) -> TileSpan {
    Value begin = b.mul(number, size);
    Value end = tensor::DimOp::create(b, tensor, attention.getLayout(layout).s);
    return {begin, b.minS(b.add(begin, size), end)};
  };
  TileSpan queries = getSpan(ids[3], questions.numQueries, op.getQuery(), 0),
           keys = getSpan(ids[2], questions.numKeys, op.getKey(), 1);
  auto emitOf = [&](Value batch) -> FailureOr<TileClasses::TileClass> {
    TileRows rows = {batch, ids[1], queries.begin, queries.end};
    TileClasses classes(rewriter, questions, rows, metadata,
                        questions.numQueries);
    if (failed(classes.emitRows()))
      return failure();
    return classes.emit(keys.begin, keys.end);
  };
  FailureOr<TileClasses::TileClass> tile =
      sharing && sharing->batches && lists.ofBatch
          ? emitOfBatches(ids[0], emitOf)
          : emitOf(ids[0]);
  if (failed(tile))
    return failure();
  Value needed =
      arith::SelectOp::create(rewriter, loc, tile->must, b.i32(2), b.i32(1));
  return arith::SelectOp::create(rewriter, loc, tile->may, needed, b.i32(0))
      .getResult();
}

/// The list that an element belongs to.
QueryList QueryListsBuilder::getList(ValueRange ids) {
  ScalarBuilder b(loc, rewriter);
  Value head = ids[1];
  if (sharing && lists.ofHead)
    head = b.mul(b.divU(head, sharing->heads), sharing->heads);
  return QueryList(rewriter, op, lists, ids[0], head, sharing, ids[2]);
}

/// The number of an element in its list.
Value QueryListsBuilder::emitNumber(const QueryList &list, ValueRange ids) {
  ScalarBuilder b(loc, rewriter);
  if (!list.listedHeads)
    return ids[3];
  return b.add(b.mul(ids[3], list.listedHeads), b.sub(ids[1], list.firstHead));
}

/// Of tiles of a list, those among which some are needed.
std::pair<Value, Value>
QueryListsBuilder::emitBetween(ValueRange ids, Value lower, Value upper) {
  if (limits.empty())
    return {lower, upper};
  Value zero = createIndex(rewriter, loc, 0);
  auto read = [&](Value table) -> Value {
    return tensor::ExtractOp::create(rewriter, loc, table,
                                     ValueRange{lists.ofBatch ? ids[0] : zero,
                                                lists.ofHead ? ids[1] : zero,
                                                ids[2]});
  };
  return mlir::attn::emitBetween(rewriter, loc, lower, upper, read(limits[0]),
                                 read(limits[1]));
}

/// A loop over the tiles of a list, which carries a number.
static Value
emitOverTiles(OpBuilder &builder, Location loc, Value lower, Value upper,
              int64_t init,
              function_ref<Value(Value number, Value carried)> emit) {
  Value first = arith::ConstantIntOp::create(builder, loc, init, 32);
  auto loop = scf::ForOp::create(builder, loc, lower, upper,
                                 createIndex(builder, loc, 1), first);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value next = emit(loop.getInductionVar(), loop.getRegionIterArg(0));
  scf::YieldOp::create(builder, loc, next);
  return loop.getResult(0);
}

Value QueryListsBuilder::emitBefore(ValueRange ids) {
  QueryList list = getList(ids);
  Value own = emitNumber(list, ids);
  auto count = [&](Value number, Value carried) {
    Value tile = list.read(lists.classes, list.getPlace(number));
    ScalarBuilder b(loc, rewriter);
    return b.add(carried, b.minS(tile, 1));
  };
  auto [lower, upper] = emitBetween(ids, createIndex(rewriter, loc, 0), own);
  return emitOverTiles(rewriter, loc, lower, upper, 0, count);
}

/// The last tile that is needed and has no more than so many before it.
Value QueryListsBuilder::emitEntry(ValueRange ids) {
  QueryList list = getList(ids);
  ScalarBuilder b(loc, rewriter);
  Value own = emitNumber(list, ids), end = list.emitNumTiles();
  if (list.listedHeads)
    end = b.mul(end, list.listedHeads);
  Value most = arith::IndexCastOp::create(b, b.getI32Type(), own);
  auto find = [&](Value number, Value carried) {
    QueryList::Entry place = list.getPlace(number);
    Value tile = list.read(lists.classes, place);
    Value before = list.read(lists.before, place);
    ScalarBuilder b(loc, rewriter);
    Value isOne = b.andI(b.cmp(arith::CmpIPredicate::ne, tile, 0),
                         b.cmp(arith::CmpIPredicate::sle, before, most));
    Value code =
        b.add(b.mul(arith::IndexCastOp::create(b, b.getI32Type(), number), 2),
              b.shrU(tile, 1));
    return b.maxS(carried, arith::SelectOp::create(b, isOne, code, b.i32(-1)));
  };
  // No tile has more before it than there are.
  auto [lower, upper] = emitBetween(ids, own, end);
  return emitOverTiles(rewriter, loc, lower, upper, -1, find);
}

FailureOr<QueryLists> QueryListsBuilder::emit() {
  if (failed(emitRangeTables(rewriter, questions, metadata)))
    return failure();
  OperandRange yielded =
      questions.tiles->front().getTerminator()->getOperands();
  DenseMap<Value, TileDependence> dependence =
      getTileDependence(*questions.tiles);
  for (Value value : yielded) {
    lists.ofBatch |= dependence.lookup(value).batch;
    lists.ofHead |= dependence.lookup(value).head;
  }
  lists.haveFull = !matchPattern(yielded[1], m_Zero());
  sharing = emitSharingCounts(rewriter, op);
  SmallVector<OpFoldResult> sizes =
      getTableSizes(rewriter, op, lists.ofBatch, lists.ofHead);
  FailureOr<Value> classes = emitTableOf(
      rewriter, op, sizes, [&](ValueRange ids) { return emitClass(ids); });
  if (failed(classes))
    return failure();
  lists.classes = *classes;
  // What comes before and behind all of those that are needed is not looked at
  // again.
  if (!sharing || !lists.ofHead)
    limits = *emitTablesOf(
        rewriter, op, 2, ArrayRef(sizes).drop_back(), [&](ValueRange ids) {
          QueryList list = getList(ids);
          return emitLimits(rewriter, loc, list.emitNumTiles(),
                            [&](Value tile) -> FailureOr<Value> {
                              ScalarBuilder b(loc, rewriter);
                              QueryList::Entry place = {ids[0], ids[1], tile,
                                                        Value()};
                              return b.cmp(arith::CmpIPredicate::ne,
                                           list.read(lists.classes, place), 0);
                            });
        });
  lists.before = *emitTableOf(
      rewriter, op, sizes,
      [&](ValueRange ids) -> FailureOr<Value> { return emitBefore(ids); });
  lists.lists = *emitTableOf(
      rewriter, op, sizes,
      [&](ValueRange ids) -> FailureOr<Value> { return emitEntry(ids); });
  return lists;
}

FailureOr<std::optional<QueryLists>>
mlir::attn::emitQueryLists(RewriterBase &rewriter, AttentionGradOp op) {
  if (op.getTiles().empty())
    return std::optional<QueryLists>();
  FailureOr<QueryLists> lists = QueryListsBuilder(rewriter, op).emit();
  if (failed(lists))
    return failure();
  return std::optional<QueryLists>(*lists);
}
