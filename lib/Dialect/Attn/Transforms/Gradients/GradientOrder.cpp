//===- GradientOrder.cpp - In which order work tiles add ------------------===//

#include "GradientOrder.h"
#include "Gradients/GradientBounds.h"
#include "Tiles/TileOps.h"
#include "attn/Dialect/ScalarBuilder.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::attn;

bool mlir::attn::isMaskOfAllHeads(AttentionGradOp op) {
  return op.getMask().empty() ||
         llvm::all_of(op.getMask().getArguments().take_front(2),
                      [](Value place) { return place.use_empty(); });
}

/// Whether a work tile meets a Q block: ids are (batch, head, block, ..).
static FailureOr<Value> emitMeets(OpBuilder &builder, AttentionGradOp op,
                                  const QueryLists *lists, ValueRange ids,
                                  Value tile) {
  Location loc = op.getLoc();
  if (lists) {
    Value found = tensor::ExtractOp::create(
        builder, loc, lists->classes, ValueRange{ids[0], ids[1], tile, ids[2]});
    Value none = arith::ConstantIntOp::create(builder, loc, 0, 32);
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, found,
                                 none)
        .getResult();
  }
  AttentionLikeOpInterface attention = op;
  ScheduleAttrInterface schedule = op.getScheduleAttr();
  auto dim = [&](Value tensor, unsigned layout) -> Value {
    return tensor::DimOp::create(builder, loc, tensor,
                                 attention.getLayout(layout).s);
  };
  Value numKeys = dim(op.getKey(), 1), numQueries = dim(op.getQuery(), 0);
  Value query = arith::MulIOp::create(
      builder, loc, ids[2], createIndex(builder, loc, schedule.getTileN()));
  Value size = createIndex(builder, loc, schedule.getTileM());
  Value begin = arith::MulIOp::create(builder, loc, tile, size);
  Value end = arith::MinSIOp::create(
      builder, loc, arith::AddIOp::create(builder, loc, begin, size), numKeys);
  FailureOr<MetQueries> met =
      emitMetQueries(builder, op, {ids[0], ids[1], begin, end, numQueries},
                     /*isBounded=*/true, schedule.getTileN());
  if (failed(met))
    return failure();
  Value isBehind = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::sge, query, met->lower);
  Value isBefore = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::slt, query, met->upper);
  return arith::AndIOp::create(builder, loc, isBehind, isBefore).getResult();
}

/// How many work tiles a head of keys has.
static Value emitNumTiles(OpBuilder &builder, AttentionGradOp op) {
  AttentionLikeOpInterface attention = op;
  Location loc = op.getLoc();
  Value numKeys = tensor::DimOp::create(builder, loc, op.getKey(),
                                        attention.getLayout(1).s);
  return arith::CeilDivUIOp::create(
      builder, loc, numKeys,
      createIndex(builder, loc, op.getScheduleAttr().getTileM()));
}

/// The place of a work tile among those of its head as they are started.
static Value emitPlace(OpBuilder &builder, AttentionGradOp op, Value tile) {
  Location loc = op.getLoc();
  ScalarBuilder b(loc, builder);
  Layout layout = AttentionLikeOpInterface(op).getLayout(1);
  auto dim = [&](unsigned dim) -> Value {
    return tensor::DimOp::create(builder, loc, op.getKey(), dim);
  };
  return op.getScheduleAttr().emitPlaceInTurns(
      b, tile, emitNumTiles(builder, op), b.mul(dim(layout.b), dim(layout.h)));
}

/// The element of a table for (batch, head, block, work tile).
static FailureOr<Value> emitSearch(OpBuilder &builder, AttentionGradOp op,
                                   const QueryLists *lists,
                                   ArrayRef<Value> limits, ValueRange ids) {
  Location loc = op.getLoc();
  ScalarBuilder b(loc, builder);
  Value first = b.index(0), end = emitNumTiles(builder, op);
  if (!limits.empty()) {
    auto getLimit = [&](Value table) -> Value {
      return tensor::ExtractOp::create(b, table, ids.take_front(3));
    };
    std::tie(first, end) = emitBetween(
        builder, loc, first, end, getLimit(limits[0]), getLimit(limits[1]));
  }
  Value own = b.toI32(emitPlace(builder, op, ids[3])), none = b.i32(0);
  // The numbers of the nearest one before this one and of the last one of all.
  auto loop = scf::ForOp::create(builder, loc, first, end, b.index(1),
                                 ValueRange{none, none});
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value tile = loop.getInductionVar();
    FailureOr<Value> meets = emitMeets(builder, op, lists, ids, tile);
    if (failed(meets))
      return failure();
    ScalarBuilder inside(loc, builder);
    Value at = inside.toI32(emitPlace(builder, op, tile)),
          number = inside.add(at, 1);
    Value isBefore = inside.andI(*meets, inside.slt(at, own));
    auto join = [&](Value carried, Value condition) {
      return inside.maxS(carried, inside.select(condition, number, none));
    };
    Value before = join(loop.getRegionIterArg(0), isBefore),
          last = join(loop.getRegionIterArg(1), *meets);
    scf::YieldOp::create(inside, ValueRange{before, last});
  }
  Value before = loop.getResult(0), last = loop.getResult(1);
  auto getBit = [&](Value condition, AddingBit bit) {
    return b.select(condition, b.i32(bit), none);
  };
  return b.orI(b.shl(before, kNumAddingBits),
               b.orI(getBit(b.eq(last, b.add(own, 1)), kIsLastToAdd),
                     getBit(b.ne(last, none), kIsAddedTo)));
}

FailureOr<AddingOrder> mlir::attn::emitAddingOrder(RewriterBase &rewriter,
                                                   AttentionGradOp op,
                                                   bool isBounded,
                                                   const QueryLists *lists) {
  Location loc = op.getLoc();
  ScheduleAttrInterface schedule = op.getScheduleAttr();
  AddingOrder order;
  if (!schedule.hasPlacesInTurns())
    return op.emitError("expects a schedule that starts work tiles in the "
                        "order of their keys, so that sums are the same each "
                        "time, but got ")
           << schedule << "; leave zigzag out, or add nondeterministic";
  if ((!isBounded && !lists) || op.getMask().empty())
    return order;
  if (lists) {
    order.ofBatch = lists->ofBatch;
    order.ofHead = lists->ofHead;
  } else {
    order.ofBatch = !op.getMask().getArgument(0).use_empty();
    order.ofHead = !op.getMask().getArgument(1).use_empty();
  }
  SmallVector<OpFoldResult> sizes =
      getTableSizes(rewriter, op, order.ofBatch, order.ofHead);
  std::swap(sizes[2], sizes[3]);
  Value numTiles = getValueOrCreateConstantIndexOp(rewriter, loc, sizes[3]);
  using Elements = FailureOr<SmallVector<Value>>;
  // Only between the first and the last work tile that a block has are others
  // looked for.
  Elements limits = SmallVector<Value>();
  if (lists)
    limits = emitTablesOf(
        rewriter, op, 2, ArrayRef(sizes).drop_back(), [&](ValueRange ids) {
          return emitLimits(rewriter, loc, numTiles, [&](Value tile) {
            return emitMeets(rewriter, op, lists, ids, tile);
          });
        });
  if (failed(limits))
    return failure();
  FailureOr<Value> table =
      emitTableOf(rewriter, op, sizes, [&](ValueRange ids) {
        return emitSearch(rewriter, op, lists, *limits, ids);
      });
  if (failed(table))
    return failure();
  order.table = *table;
  return order;
}

static Value readTable(OpBuilder &builder, AttentionGradOp op,
                       const AddingOrder &order, Value batch, Value head,
                       Value block, Value tile) {
  Value zero = createIndex(builder, op.getLoc(), 0);
  return tensor::ExtractOp::create(builder, op.getLoc(), order.table,
                                   ValueRange{order.ofBatch ? batch : zero,
                                              order.ofHead ? head : zero, block,
                                              tile});
}

AddingPlace mlir::attn::emitAddingPlace(OpBuilder &builder, AttentionGradOp op,
                                        const AddingOrder &order, Value batch,
                                        Value head, Value block, Value tile) {
  ScalarBuilder b(op.getLoc(), builder);
  // Numbers are one more than places.
  if (!order.table) {
    Value place = emitPlace(builder, op, tile);
    return {place, b.eq(b.add(place, 1), emitNumTiles(builder, op))};
  }
  Value element = readTable(builder, op, order, batch, head, block, tile);
  return {arith::IndexCastOp::create(b, b.getIndexType(),
                                     b.shrU(element, kNumAddingBits)),
          b.ne(b.andI(element, kIsLastToAdd), 0)};
}

Value mlir::attn::emitIsAddedTo(OpBuilder &builder, AttentionGradOp op,
                                const AddingOrder &order, Value batch,
                                Value head, Value block) {
  ScalarBuilder b(op.getLoc(), builder);
  if (!order.table)
    return b.ne(emitNumTiles(builder, op), 0);
  Value element = readTable(builder, op, order, batch, head, block, b.index(0));
  return b.ne(b.andI(element, kIsAddedTo), 0);
}

Value mlir::attn::emitTileNumber(OpBuilder &builder, AttentionGradOp op,
                                 Value tile) {
  Location loc = op.getLoc();
  Value place = emitPlace(builder, op, tile);
  return arith::AddIOp::create(builder, loc, place,
                               createIndex(builder, loc, 1));
}
