//===- TileKeyParts.cpp - All gradients from parts of the keys ------------===//
//
// Scores and their gradients are computed once for all of dq, dk and dv. A
// worker has a part of the keys of a head: for each KV block of it, dk and dv
// stay with the worker, and what the block gives each query is added to sums of
// the part. A second loop adds the sums of all parts, in their order.
//
// How many parts there are follows from extents alone, so that the bits of a
// result do not depend on the number of threads.
//
//===----------------------------------------------------------------------===//

#include "GradientLoop.h"
#include "TileGradients.h"
#include "WorkerLoop.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::attn;

/// Parts of all heads together that are enough for the cores of a processor.
static constexpr int64_t kEnoughParts = 16;
/// KV blocks of a part, which make up for the time to add its sums.
static constexpr int64_t kLeastBlocks = 4;
/// Parts of a head that there may be whatever their sums take, and elements of
/// all sums if there are more.
static constexpr int64_t kFewParts = 4, kMostSums = int64_t(1) << 26;

namespace {
class KeyParts {
public:
  KeyParts(RewriterBase &rewriter, AttentionGradOp op,
           const GradientInputs &inputs)
      : builder(rewriter), op(op), attention(op), inputs(inputs),
        loc(op.getLoc()), gradients(op), keys(attention.getLayout(1)),
        tileM(op.getScheduleAttr().getTileM()) {
    gradients.wanted.queries = true;
  }

  /// dq, then dk and dv as far as they are wanted.
  FailureOr<SmallVector<Value>> emit();

private:
  Value index(int64_t value) { return createIndex(builder, loc, value); }
  template <typename Op> Value fold(Value a, Value b) {
    return builder.createOrFold<Op>(loc, a, b);
  }
  Value dim(Value tensor, unsigned number) {
    return builder.createOrFold<tensor::DimOp>(loc, tensor, number);
  }
  void countParts();
  FailureOr<SmallVector<Value>> emitParts(Value sums);
  FailureOr<SmallVector<Value>> emitPart(ValueRange ids, Value firstKey,
                                         Value endKey, ValueRange slices);
  FailureOr<SmallVector<Value>> emitBlock(const TileRows &rows, Value firstKey,
                                          ValueRange slices);
  Value emitTotal(Value sums);

  OpBuilder &builder;
  AttentionGradOp op;
  AttentionLikeOpInterface attention;
  const GradientInputs &inputs;
  Location loc;
  KeyGradients gradients;
  Layout keys;
  int64_t tileM;
  Value keyBatches, keyHeads, numKeys, batches, heads, numQueries;
  /// The rows of a head in the sums: at least one, as a slice starts with.
  Value numRows;
  Value keysOfPart, numParts;
  /// The batches and heads of queries that share a batch and a head of keys.
  Value sharingBatches, group;
};
} // namespace

void KeyParts::countParts() {
  Layout queries = attention.getLayout(0);
  keyBatches = dim(op.getKey(), keys.b);
  keyHeads = dim(op.getKey(), keys.h);
  numKeys = dim(op.getKey(), keys.s);
  batches = dim(op.getQuery(), queries.b);
  heads = dim(op.getQuery(), queries.h);
  numQueries = dim(op.getQuery(), queries.s);
  numRows = fold<arith::MaxSIOp>(numQueries, index(1));
  Value one = index(1);
  Value isShared = builder.createOrFold<arith::CmpIOp>(
      loc, arith::CmpIPredicate::eq, keyBatches, one);
  sharingBatches =
      builder.createOrFold<arith::SelectOp>(loc, isShared, batches, one);
  group = fold<arith::DivUIOp>(heads, fold<arith::MaxSIOp>(keyHeads, one));

  Value ofKeys =
      fold<arith::MaxSIOp>(fold<arith::MulIOp>(keyBatches, keyHeads), one);
  Value wanted = fold<arith::CeilDivUIOp>(index(kEnoughParts), ofKeys);
  Value elements = fold<arith::MulIOp>(
      fold<arith::MulIOp>(fold<arith::MulIOp>(batches, heads), numQueries),
      index(attention.getQueryKeyDim()));
  Value most = fold<arith::DivUIOp>(index(kMostSums),
                                    fold<arith::MaxSIOp>(elements, one));
  wanted = fold<arith::MinSIOp>(wanted,
                                fold<arith::MaxSIOp>(most, index(kFewParts)));
  Value blocks = fold<arith::CeilDivUIOp>(numKeys, index(tileM));
  Value blocksOfPart = fold<arith::MaxSIOp>(
      fold<arith::CeilDivUIOp>(blocks, wanted), index(kLeastBlocks));
  keysOfPart = fold<arith::MulIOp>(blocksOfPart, index(tileM));
  numParts = fold<arith::CeilDivUIOp>(blocks, blocksOfPart);
}

/// Writes dk and dv of one KV block, of a part from `firstKey` on, and adds to
/// the sums of queries.
FailureOr<SmallVector<Value>>
KeyParts::emitBlock(const TileRows &rows, Value firstKey, ValueRange slices) {
  GradientLoop loop(builder, op, GradientLoop::Queries, inputs.delta,
                    gradients.wanted);
  loop.setClasses(inputs.overQueries);
  loop.setOwn(rows);
  SmallVector<Value> carried = loop.createZeros();
  carried.push_back(slices.back());
  Value firstHead = arith::MulIOp::create(builder, loc, rows.head, group);
  Value zero = index(0);
  auto emitHead = [&](Value batch, Value head, ValueRange sums) {
    loop.setOther(arith::AddIOp::create(builder, loc, rows.batch, batch),
                  arith::AddIOp::create(builder, loc, firstHead, head));
    loop.setSums(batch, head);
    return loop.emit(sums);
  };
  auto emitBatch = [&](Value batch, ValueRange carried) {
    return emitFor(builder, loc, zero, group, carried,
                   [&](Value head, ValueRange sums) {
                     return emitHead(batch, head, sums);
                   });
  };
  FailureOr<SmallVector<Value>> sums =
      emitFor(builder, loc, zero, sharingBatches, carried, emitBatch);
  if (failed(sums))
    return failure();
  Value ofQueries = sums->pop_back_val();
  SmallVector<Value> results;
  Value row = arith::SubIOp::create(builder, loc, rows.row, firstKey);
  for (auto [slice, tile, layout] : llvm::zip(
           slices, loop.finish(*sums, gradients.outs), gradients.layouts)) {
    AffineMap map = AffineMap::getMultiDimMapWithTargets(
        4, {layout.d, layout.s}, builder.getContext());
    results.push_back(
        vector::TransferWriteOp::create(builder, loc, tile, slice,
                                        layout.arrange(zero, zero, row, zero),
                                        map, ArrayRef<bool>{true, false})
            .getResult());
  }
  results.push_back(ofQueries);
  return results;
}

FailureOr<SmallVector<Value>> KeyParts::emitPart(ValueRange ids, Value firstKey,
                                                 Value endKey,
                                                 ValueRange slices) {
  Value step = index(tileM);
  auto loop = scf::ForOp::create(builder, loc, firstKey, endKey, step, slices);
  OpBuilder::InsertionGuard guard(builder);
  Block *body = loop.getBody();
  if (!body->empty())
    body->getTerminator()->erase();
  builder.setInsertionPointToEnd(body);
  TileRows rows;
  rows.batch = ids[0];
  rows.head = ids[1];
  rows.row = loop.getInductionVar();
  rows.rowEnd = arith::MinSIOp::create(
      builder, loc, arith::AddIOp::create(builder, loc, rows.row, step),
      endKey);
  FailureOr<SmallVector<Value>> next =
      emitBlock(rows, firstKey, loop.getRegionIterArgs());
  if (failed(next))
    return failure();
  scf::YieldOp::create(builder, loc, *next);
  return SmallVector<Value>(loop.getResults());
}

/// dk and dv, and the sums of all parts, in `sums`.
FailureOr<SmallVector<Value>> KeyParts::emitParts(Value sums) {
  SmallVector<Value> outs(gradients.outs);
  outs.push_back(sums);
  scf::ForallOp forall = createWorkerLoop(
      builder, loc, getAsOpFoldResult({keyBatches, keyHeads, numParts}), outs,
      op.getScheduleAttr());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(forall.getTerminator());
  SmallVector<Value> ids = forall.getInductionVars();
  Value firstKey = arith::MulIOp::create(builder, loc, ids[2], keysOfPart);
  Value endKey = arith::MinSIOp::create(
      builder, loc, arith::AddIOp::create(builder, loc, firstKey, keysOfPart),
      numKeys);
  OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
  struct Slice {
    SmallVector<OpFoldResult> offsets, sizes, strides;
  };
  SmallVector<Slice> slices;
  SmallVector<Value> carried;
  ValueRange arguments = forall.getRegionIterArgs();
  Value length = arith::SubIOp::create(builder, loc, endKey, firstKey);
  for (auto [out, layout] : llvm::zip(arguments, gradients.layouts)) {
    auto type = cast<RankedTensorType>(out.getType());
    Slice slice;
    slice.offsets =
        layout.arrange<OpFoldResult>(ids[0], ids[1], firstKey, zero);
    slice.sizes = layout.arrange<OpFoldResult>(
        one, one, length, builder.getIndexAttr(type.getDimSize(layout.d)));
    slice.strides.assign(4, one);
    carried.push_back(tensor::ExtractSliceOp::create(
        builder, loc, out, slice.offsets, slice.sizes, slice.strides));
    slices.push_back(slice);
  }
  Value firstHead = arith::MulIOp::create(builder, loc, ids[1], group);
  int64_t columns = attention.getQueryKeyDim();
  Slice slice;
  slice.offsets = {ids[2], ids[0], firstHead, zero, zero};
  SmallVector<OpFoldResult> sizes =
      getAsOpFoldResult({sharingBatches, group, numRows});
  sizes.push_back(builder.getIndexAttr(columns));
  slice.sizes = {one};
  llvm::append_range(slice.sizes, sizes);
  slice.strides.assign(5, one);
  auto [shape, ignored] = decomposeMixedValues(sizes);
  auto type = RankedTensorType::get(shape, attention.getAccumulatorType());
  Value own =
      tensor::ExtractSliceOp::create(builder, loc, type, arguments.back(),
                                     slice.offsets, slice.sizes, slice.strides);
  slices.push_back(slice);
  Value none = arith::ConstantOp::create(
      builder, loc, builder.getZeroAttr(attention.getAccumulatorType()));
  carried.push_back(
      linalg::FillOp::create(builder, loc, none, own).getResult(0));

  FailureOr<SmallVector<Value>> results =
      emitPart(ids, firstKey, endKey, carried);
  if (failed(results))
    return failure();
  builder.setInsertionPointToEnd(forall.getTerminator().getBody());
  for (auto [result, out, slice] : llvm::zip_equal(*results, arguments, slices))
    tensor::ParallelInsertSliceOp::create(
        builder, loc, result, out, slice.offsets, slice.sizes, slice.strides);
  return SmallVector<Value>(forall.getResults());
}

/// The sum of all parts, scaled, as the gradient of queries.
Value KeyParts::emitTotal(Value sums) {
  Value out = op.getOutOf(kGradQuery);
  Layout layout = attention.getLayout(0);
  FloatType accType = attention.getAccumulatorType();
  int64_t rows = op.getScheduleAttr().getTileN();
  int64_t columns = attention.getQueryKeyDim();
  auto tileType = VectorType::get({rows, columns}, accType);
  Value step = index(rows);
  scf::ForallOp forall = createWorkerLoop(
      builder, loc,
      getAsOpFoldResult(
          {batches, heads, fold<arith::CeilDivUIOp>(numQueries, step)}),
      out, op.getScheduleAttr());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(forall.getTerminator());
  SmallVector<Value> ids = forall.getInductionVars();
  Value row = arith::MulIOp::create(builder, loc, ids[2], step);
  Value zero = index(0);
  auto add = [&](Value part,
                 ValueRange carried) -> FailureOr<SmallVector<Value>> {
    Value tile =
        createRead(builder, loc, tileType, sums,
                   {part, ids[0], ids[1], row, zero}, {3, 4}, {false, true});
    return SmallVector<Value>{
        arith::AddFOp::create(builder, loc, carried[0], tile)};
  };
  Value total = (*emitFor(builder, loc, zero, numParts,
                          createFloat(builder, loc, tileType, 0), add))[0];
  if (double scale = op.getEffectiveScale(); scale != 1)
    total = arith::MulFOp::create(builder, loc, total,
                                  createFloat(builder, loc, tileType, scale));
  total = convertTile(builder, loc, total, getElementTypeOrSelf(out.getType()));

  OpFoldResult none = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
  Value length = arith::MinSIOp::create(
      builder, loc, arith::SubIOp::create(builder, loc, numQueries, row), step);
  Value shared = forall.getRegionIterArgs()[0];
  SmallVector<OpFoldResult> strides(4, one);
  SmallVector<OpFoldResult> offsets =
      layout.arrange<OpFoldResult>(ids[0], ids[1], row, none);
  SmallVector<OpFoldResult> sizes = layout.arrange<OpFoldResult>(
      one, one, length, builder.getIndexAttr(columns));
  Value slice = tensor::ExtractSliceOp::create(builder, loc, shared, offsets,
                                               sizes, strides);
  AffineMap map = AffineMap::getMultiDimMapWithTargets(4, {layout.s, layout.d},
                                                       builder.getContext());
  Value written = vector::TransferWriteOp::create(
                      builder, loc, total, slice, SmallVector<Value>(4, zero),
                      map, ArrayRef<bool>{false, true})
                      .getResult();
  builder.setInsertionPointToEnd(forall.getTerminator().getBody());
  tensor::ParallelInsertSliceOp::create(builder, loc, written, shared, offsets,
                                        sizes, strides);
  return forall.getResult(0);
}

FailureOr<SmallVector<Value>> KeyParts::emit() {
  countParts();
  SmallVector<OpFoldResult> sizes =
      getAsOpFoldResult({numParts, batches, heads, numRows});
  sizes.push_back(builder.getIndexAttr(attention.getQueryKeyDim()));
  Value empty = tensor::EmptyOp::create(builder, loc, sizes,
                                        attention.getAccumulatorType());
  FailureOr<SmallVector<Value>> results = emitParts(empty);
  if (failed(results))
    return failure();
  Value sums = results->pop_back_val();
  results->insert(results->begin(), emitTotal(sums));
  return results;
}

bool mlir::attn::fitsKeyParts(AttentionGradOp op) {
  AttentionLikeOpInterface attention = op;
  auto schedule = dyn_cast<ScheduleAttr>(op.getScheduleAttr());
  return schedule && op.getOutOf(kGradQuery) &&
         (op.getOutOf(kGradKey) || op.getOutOf(kGradValue)) &&
         attention.getQueryKeyDim() % schedule.getLanes() == 0;
}

FailureOr<SmallVector<Value>>
mlir::attn::tileKeyParts(RewriterBase &rewriter, AttentionGradOp op,
                         const GradientInputs &inputs) {
  return KeyParts(rewriter, op, inputs).emit();
}
