//===- GradientOrder.cpp - In which order work tiles add ------------------===//

#include "GradientOrder.h"
#include "Gradients/GradientBounds.h"
#include "Tiles/TileOps.h"
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

/// The number of the nearest work tile before `tile` that meets a block, or 0.
static FailureOr<Value> emitSearch(OpBuilder &builder, AttentionGradOp op,
                                   bool startsWithLast, const QueryLists *lists,
                                   ArrayRef<Value> limits, ValueRange ids,
                                   Value numTiles) {
  Location loc = op.getLoc();
  auto index = [&](int64_t value) { return createIndex(builder, loc, value); };
  auto toInt = [&](Value number) -> Value {
    return arith::IndexCastOp::create(builder, loc, builder.getI32Type(),
                                      number);
  };
  Value tile = ids[3], one = index(1);
  // The number of none: behind all others, or in front of them.
  Value none = startsWithLast
                   ? toInt(arith::AddIOp::create(builder, loc, numTiles, one))
                   : toInt(index(0));
  Value first = startsWithLast
                    ? arith::AddIOp::create(builder, loc, tile, one).getResult()
                    : index(0);
  Value last = startsWithLast ? numTiles : tile;
  if (!limits.empty()) {
    auto read = [&](Value table) -> Value {
      return tensor::ExtractOp::create(builder, loc, table, ids.take_front(3));
    };
    std::tie(first, last) = emitBetween(builder, loc, first, last,
                                        read(limits[0]), read(limits[1]));
  }
  auto loop = scf::ForOp::create(builder, loc, first, last, one, none);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    FailureOr<Value> meets =
        emitMeets(builder, op, lists, ids, loop.getInductionVar());
    if (failed(meets))
      return failure();
    Value number =
        toInt(arith::AddIOp::create(builder, loc, loop.getInductionVar(), one));
    number = arith::SelectOp::create(builder, loc, *meets, number, none);
    Value carried = loop.getRegionIterArg(0);
    Value nearest =
        startsWithLast
            ? arith::MinSIOp::create(builder, loc, carried, number).getResult()
            : arith::MaxSIOp::create(builder, loc, carried, number).getResult();
    scf::YieldOp::create(builder, loc, nearest);
  }
  Value found = loop.getResult(0);
  if (!startsWithLast)
    return found;
  Value isNone = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                       found, none);
  return arith::SelectOp::create(builder, loc, isNone, toInt(index(0)), found)
      .getResult();
}

FailureOr<AddingOrder> mlir::attn::emitAddingOrder(RewriterBase &rewriter,
                                                   AttentionGradOp op,
                                                   bool isBounded,
                                                   const QueryLists *lists) {
  Location loc = op.getLoc();
  ScheduleAttrInterface schedule = op.getScheduleAttr();
  AddingOrder order;
  std::optional<bool> startsWithLast = schedule.startsWithLastTile();
  if (!startsWithLast)
    return op.emitError("expects a schedule that starts work tiles in the "
                        "order of their keys, so that sums are the same each "
                        "time, but got ")
           << schedule << "; leave zigzag out, or add nondeterministic";
  order.startsWithLast = *startsWithLast;
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
        return emitSearch(rewriter, op, order.startsWithLast, lists, *limits,
                          ids, numTiles);
      });
  if (failed(table))
    return failure();
  order.table = *table;
  return order;
}

Value mlir::attn::emitTileBefore(OpBuilder &builder, AttentionGradOp op,
                                 const AddingOrder &order, Value batch,
                                 Value head, Value block, Value tile) {
  Location loc = op.getLoc();
  Value zero = createIndex(builder, loc, 0);
  if (order.table) {
    Value number = tensor::ExtractOp::create(
        builder, loc, order.table,
        ValueRange{order.ofBatch ? batch : zero, order.ofHead ? head : zero,
                   block, tile});
    return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                      number);
  }
  // Numbers are one more than those of tiles.
  if (!order.startsWithLast)
    return tile;
  AttentionLikeOpInterface attention = op;
  Value numKeys = tensor::DimOp::create(builder, loc, op.getKey(),
                                        attention.getLayout(1).s);
  Value numTiles = arith::CeilDivUIOp::create(
      builder, loc, numKeys,
      createIndex(builder, loc, op.getScheduleAttr().getTileM()));
  Value next =
      arith::AddIOp::create(builder, loc, tile, createIndex(builder, loc, 1));
  Value isLast = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge,
                                       next, numTiles);
  Value number =
      arith::AddIOp::create(builder, loc, next, createIndex(builder, loc, 1));
  return arith::SelectOp::create(builder, loc, isLast, zero, number);
}
