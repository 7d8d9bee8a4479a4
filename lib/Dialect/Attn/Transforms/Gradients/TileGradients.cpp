//===- TileGradients.cpp - Cut gradients into loops over tiles ------------===//

#include "TileGradients.h"
#include "Filled.h"
#include "GradientLoop.h"
#include "GradientPairs.h"
#include "Tiles/TileGrid.h"
#include "attn/Dialect/Attn/Transforms/GradientSteps.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNTILEGRADIENTSPASS
#include "attn/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

Value mlir::attn::emitDelta(OpBuilder &builder, AttentionGradOp op) {
  AttentionLikeOpInterface attention = op;
  Location loc = op.getLoc();
  FloatType accType = attention.getAccumulatorType();
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(builder, loc, op.getLse());
  Value init;
  AffineMap rows = builder.getMultiDimIdentityMap(3);
  if (op.getLseGrad()) {
    Value empty = tensor::EmptyOp::create(builder, loc, sizes, accType);
    init =
        linalg::GenericOp::create(
            builder, loc, empty.getType(), ValueRange{op.getLseGrad()},
            ValueRange{empty}, ArrayRef<AffineMap>{rows, rows},
            SmallVector<utils::IteratorType>(3, utils::IteratorType::parallel),
            [&](OpBuilder &b, Location loc, ValueRange arguments) {
              Value negated = arith::NegFOp::create(b, loc, arguments[0]);
              linalg::YieldOp::create(b, loc, negated);
            })
            .getResult(0);
  } else {
    init = createFilled(builder, loc, sizes, accType, 0);
  }
  unsigned d = attention.getLayout(3).d;
  AffineMap all = builder.getMultiDimIdentityMap(4);
  SmallVector<utils::IteratorType> iterators(4, utils::IteratorType::parallel);
  iterators[d] = utils::IteratorType::reduction;
  return linalg::GenericOp::create(
             builder, loc, init.getType(),
             ValueRange{op.getOutputGrad(), op.getOutput()}, ValueRange{init},
             ArrayRef<AffineMap>{all, all, all.dropResult(d)}, iterators,
             [&](OpBuilder &b, Location loc, ValueRange arguments) {
               auto extend = [&](Value value) -> Value {
                 if (value.getType() == accType)
                   return value;
                 return arith::ExtFOp::create(b, loc, accType, value);
               };
               Value product = arith::MulFOp::create(
                   b, loc, extend(arguments[0]), extend(arguments[1]));
               Value sum = arith::AddFOp::create(b, loc, arguments[2], product);
               linalg::YieldOp::create(b, loc, sum);
             })
      .getResult(0);
}

//===----------------------------------------------------------------------===//
// Queries, keys and values
//===----------------------------------------------------------------------===//

FailureOr<Value> mlir::attn::tileOverKeys(RewriterBase &rewriter,
                                          AttentionGradOp op,
                                          const GradientInputs &inputs,
                                          const SharedSums *shared) {
  AttentionLikeOpInterface attention = op;
  Value out = op.getOutOf(kGradQuery);
  auto emitTile = [&](OpBuilder &builder, const TileRows &rows,
                      ValueRange) -> FailureOr<SmallVector<Value>> {
    GradientLoop loop(builder, op, GradientLoop::Keys, inputs.delta,
                      {/*products=*/true}, shared);
    loop.setClasses(inputs.overKeys);
    loop.setOwn(rows);
    KeyPlace keys = emitKeyPlace(builder, op, rows.batch, rows.head);
    loop.setOther(keys.batch, keys.head);
    FailureOr<SmallVector<Value>> sums = loop.emit(loop.createZeros());
    if (failed(sums))
      return failure();
    return loop.finish(*sums, out);
  };
  FailureOr<SmallVector<Value>> results =
      emitGrid(rewriter, op.getLoc(), out, attention.getLayout(0), out,
               attention.getLayout(0), op.getScheduleAttr(), emitTile);
  if (failed(results))
    return failure();
  return results->front();
}

FailureOr<SmallVector<Value>> mlir::attn::emitFor(
    OpBuilder &builder, Location loc, Value lower, Value upper,
    ValueRange carried,
    function_ref<FailureOr<SmallVector<Value>>(Value, ValueRange)> body) {
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  auto loop = scf::ForOp::create(builder, loc, lower, upper, one, carried);
  OpBuilder::InsertionGuard guard(builder);
  Block *block = loop.getBody();
  if (!block->empty())
    block->getTerminator()->erase();
  builder.setInsertionPointToEnd(block);
  FailureOr<SmallVector<Value>> next =
      body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (failed(next))
    return failure();
  scf::YieldOp::create(builder, loc, *next);
  return SmallVector<Value>(loop.getResults());
}

/// dk and dv: work tiles of keys meet the queries of all batches and heads that
/// share them.
static FailureOr<SmallVector<Value>>
tileOverQueries(RewriterBase &rewriter, AttentionGradOp op,
                const GradientInputs &inputs) {
  AttentionLikeOpInterface attention = op;
  Location loc = op.getLoc();
  KeyGradients gradients(op);
  ArrayRef<Value> outs = gradients.outs;
  auto emitTile = [&](OpBuilder &builder, const TileRows &rows,
                      ValueRange) -> FailureOr<SmallVector<Value>> {
    GradientLoop loop(builder, op, GradientLoop::Queries, inputs.delta,
                      gradients.wanted);
    loop.setClasses(inputs.overQueries);
    loop.setOwn(rows);
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    Value batches = tensor::DimOp::create(builder, loc, op.getQuery(),
                                          attention.getLayout(0).b);
    Value keyBatches = tensor::DimOp::create(builder, loc, op.getKey(),
                                             attention.getLayout(1).b);
    Value isShared = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::eq, keyBatches, one);
    Value next = arith::AddIOp::create(builder, loc, rows.batch, one);
    Value lastBatch =
        arith::SelectOp::create(builder, loc, isShared, batches, next);
    Value group = emitGroup(builder, op);
    Value firstHead = arith::MulIOp::create(builder, loc, rows.head, group);
    Value lastHead = arith::AddIOp::create(builder, loc, firstHead, group);
    auto emitBatch = [&](Value batch, ValueRange carried) {
      return emitFor(builder, loc, firstHead, lastHead, carried,
                     [&](Value head, ValueRange sums) {
                       loop.setOther(batch, head);
                       return loop.emit(sums);
                     });
    };
    FailureOr<SmallVector<Value>> sums = emitFor(
        builder, loc, rows.batch, lastBatch, loop.createZeros(), emitBatch);
    if (failed(sums))
      return failure();
    return loop.finish(*sums, outs);
  };
  return emitGrid(rewriter, loc, outs[0], gradients.layouts[0], outs,
                  gradients.layouts, op.getScheduleAttr(), emitTile);
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

/// What is emitted in front of the work tiles of `op`.
static FailureOr<GradientInputs> emitInputs(RewriterBase &rewriter,
                                            AttentionGradOp op) {
  GradientInputs inputs;
  inputs.delta = emitDelta(rewriter, op);
  bool haveKeys = op.getOutOf(kGradKey) || op.getOutOf(kGradValue);
  bool haveQueries =
      (op.getOutOf(kGradQuery) && !fitsKeyParts(op)) || hasContributions(op);
  for (auto [isOverKeys, isUsed, classes] :
       {std::tuple(true, haveQueries, &inputs.overKeys),
        std::tuple(false, haveKeys, &inputs.overQueries)}) {
    if (!isUsed)
      continue;
    FailureOr<std::optional<GradientClasses>> made =
        GradientClasses::create(rewriter, op, isOverKeys);
    if (failed(made))
      return failure();
    *classes = std::move(*made);
  }
  return inputs;
}

static LogicalResult tileGradient(RewriterBase &rewriter, AttentionGradOp op,
                                  bool inOnePass) {
  if (!op.getScheduleAttr())
    return op.emitError("expects a schedule: run attn-assign-schedule before "
                        "attn-tile-gradients");
  if (auto tiles = dyn_cast<ScheduleAttr>(op.getScheduleAttr());
      tiles && tiles.hasFewQueries())
    return op.emitError("expects tile_m to be at least lanes for a gradient, "
                        "but got ")
           << tiles << "; leave it out, and the compiler chooses one";
  if (SparsityAttr sparsity = op.getSparsityAttr())
    return op.emitError("expects no sparsity, but got ")
           << sparsity
           << ": attn-choose-sparsity and attn-expand-sparsity make it a mask";
  rewriter.setInsertionPoint(op);
  if (inOnePass) {
    FailureOr<SmallVector<Value>> results = tileInOnePass(rewriter, op);
    if (succeeded(results))
      rewriter.replaceOp(op, *results);
    return results;
  }
  FailureOr<GradientInputs> inputsOrFailure = emitInputs(rewriter, op);
  if (failed(inputsOrFailure))
    return failure();
  const GradientInputs &shared = *inputsOrFailure;
  SmallVector<Value> results(op.getWrt().size());
  auto set = [&](int64_t input, Value result) {
    results[llvm::find(op.getWrt(), input) - op.getWrt().begin()] = result;
  };
  SmallVector<int64_t> inputs;
  for (int64_t input : {kGradQuery, kGradKey, kGradValue})
    if (op.getOutOf(input))
      inputs.push_back(input);
  SmallVector<Value> gradients;
  if (fitsKeyParts(op)) {
    FailureOr<SmallVector<Value>> all = tileKeyParts(rewriter, op, shared);
    if (failed(all))
      return failure();
    gradients = *all;
  } else {
    if (op.getOutOf(kGradQuery)) {
      FailureOr<Value> result = tileOverKeys(rewriter, op, shared);
      if (failed(result))
        return failure();
      gradients.push_back(*result);
    }
    if (op.getOutOf(kGradKey) || op.getOutOf(kGradValue)) {
      FailureOr<SmallVector<Value>> sums =
          tileOverQueries(rewriter, op, shared);
      if (failed(sums))
        return failure();
      llvm::append_range(gradients, *sums);
    }
  }
  for (auto [input, gradient] : llvm::zip_equal(inputs, gradients))
    set(input, gradient);
  for (int64_t input : op.getWrt()) {
    if (input < kGradCapture)
      continue;
    FailureOr<Value> result =
        tileCapture(rewriter, op, input - kGradCapture, shared);
    if (failed(result))
      return failure();
    set(input, *result);
  }
  rewriter.replaceOp(op, results);
  return success();
}

namespace {
struct AttnTileGradients
    : public mlir::attn::impl::AttnTileGradientsPassBase<AttnTileGradients> {
  using AttnTileGradientsPassBase::AttnTileGradientsPassBase;

  void runOnOperation() override {
    SmallVector<AttentionGradOp> ops;
    getOperation()->walk([&](AttentionGradOp op) { ops.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (AttentionGradOp op : ops)
      if (failed(tileGradient(rewriter, op, onePass)))
        return signalPassFailure();
  }
};
} // namespace
