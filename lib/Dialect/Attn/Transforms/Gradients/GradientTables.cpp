//===- GradientTables.cpp - What comes before and behind one pass ---------===//
//
// Loops over queries: in front of the pass over all pairs, one that computes
// what work tiles share; behind it, one that rounds what they have summed.
//
//===----------------------------------------------------------------------===//

#include "Adjoints.h"
#include "GradientLoop.h"
#include "TileGradients.h"
#include "Tiles/TileGrid.h"
#include "Tiles/TileScores.h"
#include "attn/Dialect/Attn/Transforms/GradientSteps.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace mlir::attn;

namespace {
/// Emits the loops for one gradient.
class QueryLoops {
public:
  /// `numQueries` are those of a Q block.
  QueryLoops(RewriterBase &rewriter, AttentionGradOp op, int64_t numQueries)
      : b(rewriter), op(op), attention(op), loc(op.getLoc()),
        accType(attention.getAccumulatorType()), numQueries(numQueries) {
    Layout layout = attention.getLayout(0);
    auto dim = [&](unsigned number) {
      return tensor::getMixedSize(b, loc, op.getQuery(), number);
    };
    batches = dim(layout.b);
    heads = dim(layout.h);
    queries = dim(layout.s);
    AffineExpr s0;
    bindSymbols(b.getContext(), s0);
    tiles = affine::makeComposedFoldedAffineApply(
        b, loc, s0.ceilDiv(numQueries), {queries});
  }

  /// Buffers: those that work tiles read, and with `hasSums` also those that
  /// they add to.
  SharedSums allocate(bool hasSums);
  /// The loop that fills those that work tiles read. Where the last one to add
  /// writes the gradient of queries, that writes zeros where nobody adds.
  void emitBefore(SharedSums &shared);
  /// The gradient of queries: what has been written, or a loop that makes it of
  /// the sums.
  Value emitBehind(const SharedSums &shared);

private:
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, loc, value);
  }
  Value allocate(ArrayRef<int64_t> inTile, Type type,
                 function_ref<MemRefLayoutAttrInterface(ArrayRef<int64_t>)>
                     getLayout = nullptr);
  Value readRow(Value tensor, Layout layout, ArrayRef<Value> place);
  void insertRows(scf::ForallOp loop, Value row, OpFoldResult count,
                  function_ref<vector::TransferWriteOp(Value slice)> write);
  void writeZeros(const SharedSums &shared, scf::ForallOp loop, Value row,
                  Value isQuery);
  Value extend(Value value) {
    auto type = cast<VectorType>(value.getType());
    return convertFloats(b, loc, value, type.clone(accType));
  }

  RewriterBase &b;
  AttentionGradOp op;
  AttentionLikeOpInterface attention;
  Location loc;
  FloatType accType;
  int64_t numQueries;
  OpFoldResult batches, heads, queries, tiles;
};
} // namespace

/// A buffer with so many elements for each Q block.
Value QueryLoops::allocate(
    ArrayRef<int64_t> inTile, Type type,
    function_ref<MemRefLayoutAttrInterface(ArrayRef<int64_t>)> getLayout) {
  SmallVector<OpFoldResult> sizes = {batches, heads, tiles};
  SmallVector<int64_t> shape;
  SmallVector<Value> dynamic;
  dispatchIndexOpFoldResults(sizes, dynamic, shape);
  llvm::append_range(shape, inTile);
  MemRefLayoutAttrInterface layout;
  if (getLayout)
    layout = getLayout(shape);
  return memref::AllocOp::create(b, loc, MemRefType::get(shape, type, layout),
                                 dynamic);
}

/// The row of a tensor at a batch, a head and a position.
Value QueryLoops::readRow(Value tensor, Layout layout, ArrayRef<Value> place) {
  auto type = cast<RankedTensorType>(tensor.getType());
  Value row = createRead(
      b, loc,
      VectorType::get({type.getDimSize(layout.d)}, type.getElementType()),
      tensor, layout.arrange(place[0], place[1], place[2], index(0)),
      {layout.d}, {true});
  return extend(row);
}

SharedSums QueryLoops::allocate(bool hasSums) {
  SharedSums shared;
  shared.lse = allocate({numQueries}, accType);
  shared.delta = allocate({numQueries}, accType);
  if (hasSums) {
    // Rows that are shared out to the parts of a worker are queries, or else
    // the columns of a query, unless these are shared out as columns.
    ScheduleAttrInterface schedule = op.getScheduleAttr();
    int64_t columns = attention.getQueryKeyDim(),
            own = schedule.getSharedOutColumns(numQueries, columns);
    shared.areColumns = !own && numQueries != schedule.getTileM();
    SmallVector<int64_t> shape = {numQueries, columns};
    // Each part has as many of what they share out.
    if (own)
      shape[1] = schedule.getTileM() / schedule.getPartitionRows() * own;
    if (shared.areColumns)
      shape = {static_cast<int64_t>(
                   llvm::alignTo(columns, schedule.getPartitionRows())),
               numQueries};
    shared.sums = allocate(shape, accType, [&](ArrayRef<int64_t> all) {
      return schedule.getSumLayout(all, /*m=*/3, /*n=*/4);
    });
    if (op.getNondeterministic()) {
      linalg::FillOp::create(b, loc, createFloat(b, loc, accType, 0),
                             shared.sums);
    } else {
      int64_t parts = std::max<int64_t>(
          schedule.getTileM() / schedule.getPartitionRows(), 1);
      shared.counters = allocate({parts}, b.getI32Type());
      Value none = arith::ConstantIntOp::create(b, loc, 0, 32);
      linalg::FillOp::create(b, loc, none, shared.counters);
    }
  }
  return shared;
}

/// Gives the result of a loop over (batch, head, ..) what `write` makes of so
/// many of its rows.
void QueryLoops::insertRows(
    scf::ForallOp loop, Value row, OpFoldResult count,
    function_ref<vector::TransferWriteOp(Value slice)> write) {
  Layout layout = attention.getLayout(0);
  BlockArgument out = loop.getRegionIterArgs()[0];
  OpFoldResult one = b.getIndexAttr(1);
  SmallVector<OpFoldResult> ones(4, one);
  SmallVector<OpFoldResult> offsets = layout.arrange<OpFoldResult>(
      loop.getInductionVar(0), loop.getInductionVar(1), row, b.getIndexAttr(0));
  SmallVector<OpFoldResult> sizes = layout.arrange<OpFoldResult>(
      one, one, count, b.getIndexAttr(attention.getQueryKeyDim()));
  Value slice =
      tensor::ExtractSliceOp::create(b, loc, out, offsets, sizes, ones);
  Value written = write(slice).getResult();
  b.setInsertionPointToEnd(loop.getTerminator().getBody());
  tensor::ParallelInsertSliceOp::create(b, loc, written, out, offsets, sizes,
                                        ones);
}

/// The row of a query of this loop, unless some work tile adds to it.
void QueryLoops::writeZeros(const SharedSums &shared, scf::ForallOp loop,
                            Value row, Value isQuery) {
  Value batch = loop.getInductionVar(0), head = loop.getInductionVar(1);
  Layout layout = attention.getLayout(0);
  // Of batches of queries that share keys, there is one batch of these.
  Value keyBatches =
      tensor::DimOp::create(b, loc, op.getKey(), attention.getLayout(1).b);
  Value keyBatch = arith::MinUIOp::create(
      b, loc, batch, arith::SubIOp::create(b, loc, keyBatches, index(1)));
  Value isAddedTo = emitIsAddedTo(b, op, shared.order, keyBatch, head,
                                  loop.getInductionVar(2));
  Value nobody =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, isAddedTo,
                            arith::ConstantIntOp::create(b, loc, 0, 1));
  Value writes = arith::AndIOp::create(b, loc, isQuery, nobody);
  auto type = cast<RankedTensorType>(loop.getRegionIterArgs()[0].getType());
  auto rowType =
      VectorType::get({type.getDimSize(layout.d)}, type.getElementType());
  Value zeros = arith::ConstantOp::create(
      b, loc, cast<TypedAttr>(b.getZeroAttr(rowType)));
  Value mask =
      vector::BroadcastOp::create(b, loc, rowType.clone(b.getI1Type()), writes);
  AffineMap map =
      AffineMap::getMultiDimMapWithTargets(4, {layout.d}, b.getContext());
  insertRows(loop, row, b.getIndexAttr(1), [&](Value slice) {
    return vector::TransferWriteOp::create(
        b, loc, slice.getType(), zeros, slice, SmallVector<Value>(4, index(0)),
        AffineMapAttr::get(map), mask, b.getBoolArrayAttr({true}));
  });
}

void QueryLoops::emitBefore(SharedSums &shared) {
  Value out = op.getOutOf(kGradQuery);
  bool isWritten = shared.counters && op.getScheduleAttr().roundsLastSums() &&
                   attention.getLayout(0).d == 3;
  auto loop = scf::ForallOp::create(
      b, loc, {batches, heads, tiles, b.getIndexAttr(numQueries)},
      isWritten ? ValueRange(out) : ValueRange(), std::nullopt);
  if (isWritten) {
    auto type = cast<RankedTensorType>(out.getType());
    shared.out = bufferization::ToBufferOp::create(
        b, loc, MemRefType::get(type.getShape(), type.getElementType()),
        loop.getResult(0));
  }
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(loop.getTerminator());
  Value batch = loop.getInductionVar(0), head = loop.getInductionVar(1),
        tile = loop.getInductionVar(2), inTile = loop.getInductionVar(3);
  Value row = arith::AddIOp::create(
      b, loc, arith::MulIOp::create(b, loc, tile, index(numQueries)), inTile);
  Value end = getValueOrCreateConstantIndexOp(b, loc, queries);
  Value isQuery =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, row, end);
  // Behind the last query, the last one.
  row = arith::MinSIOp::create(b, loc, row,
                               arith::SubIOp::create(b, loc, end, index(1)));
  Layout layout = attention.getLayout(3);
  Value place[] = {batch, head, row};
  Value products =
      arith::MulFOp::create(b, loc, readRow(op.getOutputGrad(), layout, place),
                            readRow(op.getOutput(), layout, place));
  Value delta =
      vector::ReductionOp::create(b, loc, vector::CombiningKind::ADD, products);
  SmallVector<Value> at = layout.arrangeRows(batch, head, row);
  if (op.getLseGrad())
    delta = arith::SubFOp::create(
        b, loc, delta, tensor::ExtractOp::create(b, loc, op.getLseGrad(), at));
  Value lse = tensor::ExtractOp::create(b, loc, op.getLse(), at);
  Value hasKeys =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ONE, lse,
                            createFloat(b, loc, accType, -INFINITY));
  Value counts = arith::AndIOp::create(b, loc, isQuery, hasKeys);
  Value base2 = arith::MulFOp::create(
      b, loc, lse, createFloat(b, loc, accType, llvm::numbers::log2e));
  auto store = [&](Value number, double otherwise, Value buffer) {
    Value chosen = arith::SelectOp::create(
        b, loc, counts, number, createFloat(b, loc, accType, otherwise));
    memref::StoreOp::create(b, loc, chosen, buffer,
                            ValueRange{batch, head, tile, inTile});
  };
  // Of the exponential of minus that, nothing is left.
  store(base2, INFINITY, shared.lse);
  store(delta, 0, shared.delta);
  if (isWritten)
    writeZeros(shared, loop, row, isQuery);
}

/// Some rows of a Q block at a time, so that an iteration reads whole pieces of
/// the sums whatever their order.
Value QueryLoops::emitBehind(const SharedSums &shared) {
  Value out = op.getOutOf(kGradQuery);
  if (shared.out)
    return bufferization::ToTensorOp::create(b, loc, out.getType(), shared.out,
                                             /*restrict=*/true,
                                             /*writable=*/true);
  Layout layout = attention.getLayout(0);
  constexpr int64_t most = 16;
  int64_t numRows = std::gcd(most, numQueries);
  int64_t columns = attention.getQueryKeyDim();
  auto loop = scf::ForallOp::create(
      b, loc, {batches, heads, tiles, b.getIndexAttr(numQueries / numRows)},
      out, std::nullopt);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(loop.getTerminator());
  Value batch = loop.getInductionVar(0), head = loop.getInductionVar(1),
        tile = loop.getInductionVar(2), zero = index(0);
  Value inTile =
      arith::MulIOp::create(b, loc, loop.getInductionVar(3), index(numRows));
  Value row = arith::AddIOp::create(
      b, loc, arith::MulIOp::create(b, loc, tile, index(numQueries)), inTile);
  Value end = getValueOrCreateConstantIndexOp(b, loc, queries);
  // None behind the last one.
  row = arith::MinSIOp::create(b, loc, row, end);
  Value rows = arith::MinSIOp::create(
      b, loc, arith::SubIOp::create(b, loc, end, row), index(numRows));
  auto type = VectorType::get({numRows, columns}, accType);
  SmallVector<Value> at = {batch, head, tile, inTile, zero};
  SmallVector<unsigned> dims = {3, 4};
  if (shared.areColumns) {
    std::swap(at[3], at[4]);
    std::swap(dims[0], dims[1]);
  }
  // Where a work tile has added to a block, each part has added to its own.
  Value isThere;
  if (shared.counters) {
    Value last = memref::LoadOp::create(b, loc, shared.counters,
                                        ValueRange{batch, head, tile, zero});
    Value none = arith::ConstantIntOp::create(b, loc, 0, 32);
    isThere =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, last, none);
  }
  Value sums =
      createRead(b, loc, type, shared.sums, at, dims, {true, true}, isThere);
  double scale = op.getEffectiveScale();
  if (scale != 1)
    sums =
        arith::MulFOp::create(b, loc, sums, createFloat(b, loc, type, scale));
  auto outType = cast<RankedTensorType>(out.getType());
  Value rounded =
      convertFloats(b, loc, sums, type.clone(outType.getElementType()));
  AffineMap map = AffineMap::getMultiDimMapWithTargets(4, {layout.s, layout.d},
                                                       b.getContext());
  insertRows(loop, row, rows, [&](Value slice) {
    return vector::TransferWriteOp::create(b, loc, rounded, slice,
                                           SmallVector<Value>(4, zero), map,
                                           ArrayRef<bool>{false, true});
  });
  return loop.getResult(0);
}

/// The heads of queries that share a head of keys, or none where there is one.
static std::optional<SharingHeads>
emitSharing(OpBuilder &builder, AttentionGradOp op, const TileRows &rows) {
  std::optional<SharingCounts> counts = emitSharingCounts(builder, op);
  if (!counts)
    return std::nullopt;
  SharingHeads heads;
  heads.counts = *counts;
  heads.firstBatch = rows.batch;
  heads.firstHead =
      arith::MulIOp::create(builder, op.getLoc(), rows.head, counts->heads);
  return heads;
}

/// dq alone, of work tiles of queries.
static FailureOr<SmallVector<Value>> tileQueries(RewriterBase &rewriter,
                                                 AttentionGradOp op) {
  QueryLoops loops(rewriter, op, op.getScheduleAttr().getTileM());
  SharedSums shared = loops.allocate(/*hasSums=*/false);
  loops.emitBefore(shared);
  if (!boundsKeys(op))
    liftMask(rewriter, op, /*evenIntervals=*/true);
  GradientInputs inputs;
  inputs.delta = shared.delta;
  FailureOr<std::optional<GradientClasses>> classes =
      GradientClasses::create(rewriter, op, /*isOverKeys=*/true);
  if (failed(classes))
    return failure();
  inputs.overKeys = std::move(*classes);
  FailureOr<Value> result = tileOverKeys(rewriter, op, inputs, &shared);
  if (failed(result))
    return failure();
  return SmallVector<Value>{*result};
}

FailureOr<SmallVector<Value>> mlir::attn::tileInOnePass(RewriterBase &rewriter,
                                                        AttentionGradOp op) {
  if (loopsOverKeys(op))
    return tileQueries(rewriter, op);
  AttentionLikeOpInterface attention = op;
  Location loc = op.getLoc();
  QueryLoops loops(rewriter, op, op.getScheduleAttr().getTileN());
  SharedSums shared =
      loops.allocate(/*hasSums=*/op.getOutOf(kGradQuery) != nullptr);
  // Bounds are of the heads that share keys, of which each may need others.
  shared.isBounded = !emitSharingCounts(rewriter, op) || isMaskOfAllHeads(op);
  if (!shared.isBounded)
    liftMask(rewriter, op, /*evenIntervals=*/true);
  FailureOr<std::optional<QueryLists>> lists = emitQueryLists(rewriter, op);
  if (failed(lists))
    return failure();
  shared.lists = *lists;
  if (shared.counters) {
    FailureOr<AddingOrder> order =
        emitAddingOrder(rewriter, op, shared.isBounded,
                        shared.lists ? &*shared.lists : nullptr);
    if (failed(order))
      return failure();
    shared.order = *order;
  }
  loops.emitBefore(shared);
  shared.captures = emitCaptureSums(rewriter, op);
  KeyGradients gradients(op);
  ArrayRef<Value> outs = gradients.outs;
  auto emitTile = [&](OpBuilder &builder, const TileRows &rows,
                      ValueRange) -> FailureOr<SmallVector<Value>> {
    GradientLoop loop(builder, op, GradientLoop::Queries, shared.delta,
                      gradients.wanted, &shared);
    loop.setOwn(rows);
    if (std::optional<SharingHeads> heads = emitSharing(builder, op, rows))
      loop.setOthers(*heads);
    else
      loop.setOther(rows.batch, rows.head);
    FailureOr<SmallVector<Value>> sums = loop.emit(loop.createZeros());
    if (failed(sums) ||
        failed(loop.finishCaptures(ArrayRef(*sums).drop_front(outs.size()))))
      return failure();
    return loop.finish(ArrayRef(*sums).take_front(outs.size()), outs);
  };
  bool hasKeys = op.getOutOf(kGradKey) || outs.empty();
  Value rows = outs.empty() ? op.getKey() : outs[0];
  FailureOr<SmallVector<Value>> sums =
      emitGrid(rewriter, loc, rows, attention.getLayout(hasKeys ? 1 : 2), outs,
               gradients.layouts, op.getScheduleAttr(), emitTile);
  if (failed(sums))
    return failure();
  SmallVector<Value> results;
  unsigned number = 0;
  const CaptureSum *capture = shared.captures.begin();
  for (int64_t input : op.getWrt()) {
    if (input == kGradQuery)
      results.push_back(loops.emitBehind(shared));
    else if (input < kGradCapture)
      results.push_back((*sums)[number++]);
    else
      results.push_back(emitCaptureGradient(rewriter, op, *capture++));
  }
  return results;
}
