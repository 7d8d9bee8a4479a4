//===- NeededTiles.cpp - Where a Q block has keys -------------------------===//
//
// The producer of a kernel would test the class of every KV block. Where
// tables are filled before the kernel anyway, a second table stores, for each
// part of a Q block that computes by itself, the first and the last KV block
// that it needs. The producer scans the range of all parts only, and each part
// computes with the blocks of its own.
//
//===----------------------------------------------------------------------===//

#include "TileClasses.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::attn;

LogicalResult mlir::attn::emitNeededTiles(RewriterBase &rewriter,
                                          OnlineAttentionOp op,
                                          BlockMetadata &metadata) {
  Location loc = op.getLoc();
  ScheduleAttrInterface schedule = op.getScheduleAttr();
  TileDependence dependence =
      getTileDependence(op.getTiles())
          .lookup(op.getTiles().front().getTerminator()->getOperand(0));
  dependence.rows = true;
  dependence.keys = false;
  Type type = rewriter.getI32Type();
  auto toInt = [&](Value index) -> Value {
    return arith::IndexCastOp::create(rewriter, loc, type, index);
  };
  auto emit = [&](ValueRange ids, TileSpan span,
                  TileSpan) -> FailureOr<std::pair<Value, Value>> {
    auto index = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(rewriter, loc, value);
    };
    AttentionLikeOpInterface attention = op;
    Value numKeys = tensor::DimOp::create(rewriter, loc, op.getKey(),
                                          attention.getLayout(1).s);
    Value size = index(schedule.getTileN());
    Value numTiles = arith::CeilDivUIOp::create(rewriter, loc, numKeys, size);
    Value none = arith::ConstantIntOp::create(rewriter, loc, -1, 32);
    Value most = toInt(numTiles);
    TileRows rows = {ids[0], ids[1], span.begin, span.end};
    TileClasses classes(rewriter, op, rows, metadata,
                        schedule.getPartitionRows());
    if (failed(classes.emitRows()))
      return failure();
    auto loop = scf::ForOp::create(rewriter, loc, index(0), numTiles, index(1),
                                   ValueRange{most, none});
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(loop.getBody());
    Value tile = loop.getInductionVar();
    Value key = arith::MulIOp::create(rewriter, loc, tile, size);
    Value keyEnd = arith::MinSIOp::create(
        rewriter, loc, arith::AddIOp::create(rewriter, loc, key, size),
        numKeys);
    FailureOr<TileClasses::TileClass> tileClass = classes.emit(key, keyEnd);
    if (failed(tileClass))
      return failure();
    auto choose = [&](Value otherwise) -> Value {
      return arith::SelectOp::create(rewriter, loc, tileClass->may, toInt(tile),
                                     otherwise);
    };
    Value first = arith::MinSIOp::create(
        rewriter, loc, loop.getRegionIterArg(0), choose(most));
    Value last = arith::MaxSIOp::create(rewriter, loc, loop.getRegionIterArg(1),
                                        choose(none));
    scf::YieldOp::create(rewriter, loc, ValueRange{first, last});
    return std::pair(loop.getResult(0), loop.getResult(1));
  };
  FailureOr<BlockMinMax> needed =
      emitTable(rewriter, op, loc, dependence, type, emit);
  if (failed(needed))
    return failure();
  metadata.needed = *needed;
  return success();
}
