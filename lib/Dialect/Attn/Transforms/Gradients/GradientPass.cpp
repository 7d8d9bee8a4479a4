//===- GradientPass.cpp - Gradients in one pass over all pairs ------------===//
//
// Work tiles of keys meet all queries once. What a Q block gets from each of
// them, and captures, is added to memory that they share.
//
//===----------------------------------------------------------------------===//

#include "Adjoints.h"
#include "Diagonals.h"
#include "GradientLoop.h"
#include "Tiles/TileScores.h"
#include "attn/Dialect/Attn/IR/AttnDropout.h"
#include "attn/Dialect/Attn/Transforms/GradientSteps.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

bool mlir::attn::loopsOverKeys(AttentionGradOp op) {
  return op.getWrt() == ArrayRef<int64_t>(kGradQuery);
}

bool mlir::attn::hasContributions(AttentionGradOp op) {
  return llvm::any_of(op.getWrt(), [&](int64_t input) {
    return input >= kGradCapture &&
           !getContributions(op, input - kGradCapture).empty();
  });
}

bool mlir::attn::readsScores(AttentionGradOp op) {
  Region &adjoint = op.getAdjoint();
  return !adjoint.empty() && !adjoint.getArgument(kAdjointScore).use_empty();
}

bool mlir::attn::keepsScores(AttentionGradOp op) {
  if (!changesScores(op))
    return false;
  Block &adjoint = op.getAdjoint().front();
  return hasContributions(op) || adjoint.getTerminator()->getOperand(0) !=
                                     adjoint.getArgument(kAdjointGradient);
}

//===----------------------------------------------------------------------===//
// Q blocks
//===----------------------------------------------------------------------===//

void GradientLoop::setOthers(const SharingHeads &heads) {
  sharing = heads;
  setOther(heads.firstBatch, heads.firstHead);
}

/// Sets which tile of which head is at a position of the loop, and gives its
/// first row: the first tile, at `lower`, of all heads, then the next one. So
/// work tiles of fewer Q blocks meet the same ones in the same order as others,
/// and none that has a turn to wait for has to wait longer at each head.
/// `positions` are those of a tile in the heads of one batch.
Value GradientLoop::emitOther(Value position, Value lower, Value positions) {
  Value size = createIndex(builder, loc, numOther);
  if (!sharing) {
    otherTile = arith::DivUIOp::create(builder, loc, position, size);
    return position;
  }
  SmallVector<Value> extents = {positions};
  // Of no batches nothing runs, but positions have to be legal.
  if (Value batches = sharing->counts.batches)
    extents.insert(extents.begin(), matchPattern(batches, m_Zero())
                                        ? createIndex(builder, loc, 1)
                                        : batches);
  auto place = affine::AffineDelinearizeIndexOp::create(
      builder, loc, position, extents, /*hasOuterBound=*/false);
  otherBatch = sharing->firstBatch;
  if (sharing->counts.batches)
    otherBatch =
        arith::AddIOp::create(builder, loc, otherBatch, place.getResult(1));
  otherHead = arith::AddIOp::create(
      builder, loc, sharing->firstHead,
      arith::DivUIOp::create(builder, loc, place.getResults().back(), size));
  otherTile = arith::AddIOp::create(
      builder, loc, arith::DivUIOp::create(builder, loc, lower, size),
      place.getResult(0));
  return arith::MulIOp::create(builder, loc, otherTile, size);
}

/// What rows there are at most on targets that have this pass.
static constexpr int64_t kMostRows = int64_t(1) << 30;

/// The first row of a Q block as regions see it: a position, and known to be
/// one.
Value GradientLoop::emitPosition(Value first) {
  return arith::MinUIOp::create(builder, loc, first,
                                createIndex(builder, loc, kMostRows));
}

/// Sets which tile a work tile has, in whose loop the builder stands.
void GradientLoop::setAll() {
  auto grid = cast<scf::ForallOp>(builder.getInsertionBlock()->getParentOp());
  ownTile = grid.getInductionVar(2);
  Value size = createIndex(builder, loc, numOwn);
  allBegin = arith::MulIOp::create(builder, loc, ownTile, size);
  Value end = arith::AddIOp::create(builder, loc, allBegin, size);
  Value tensor = isOverKeys() ? op.getQuery() : op.getKey();
  Value count = tensor::DimOp::create(
      builder, loc, tensor, attention.getLayout(isOverKeys() ? 0 : 1).s);
  allEnd = arith::MinSIOp::create(builder, loc, end, count);
}

/// Numbers of own queries.
TileValue GradientLoop::readOwnShared(Value numbers) {
  Type index = builder.getIndexType();
  auto positions =
      vector::StepOp::create(builder, loc, VectorType::get({numOwn}, index));
  SmallVector<Value> at = {own.batch, own.head, ownTile, positions};
  Value all = arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(VectorType::get({numOwn}, builder.getI1Type()),
                             /*value=*/true));
  Value read =
      GatherOp::create(builder, loc, VectorType::get({numOwn}, accType),
                       numbers, at, all, /*site=*/IntegerAttr());
  return {read, TileKind::Query};
}

/// Numbers of a Q block.
Value GradientLoop::readShared(Value numbers) {
  return createRead(
      builder, loc, VectorType::get({numOther}, accType), numbers,
      {otherBatch, otherHead, otherTile, createIndex(builder, loc, 0)}, {3},
      {true});
}

/// Rows of keys times dx.
Value GradientLoop::multiplySums(Value dx) {
  auto map = [&](ArrayRef<unsigned> dims) {
    return AffineMap::getMultiDimMapWithTargets(3, dims, builder.getContext());
  };
  // result[n, m] = sum_k lhs[.., k] rhs[.., k], where k are keys.
  constexpr unsigned n = 0, m = 1, k = 2;
  return emitStep(builder, loc, "dq", [&]() -> Value {
    using vector::IteratorType;
    Value lhs = ownFirst, rhs = dx;
    SmallVector<int64_t> shape = {attention.getQueryKeyDim(), numOther};
    if (shared->areColumns) {
      std::swap(lhs, rhs);
      std::swap(shape[0], shape[1]);
    }
    auto zero = createFloat(builder, loc, VectorType::get(shape, accType), 0);
    auto parallel = vector::IteratorTypeAttr::get(builder.getContext(),
                                                  IteratorType::parallel);
    auto reduction = vector::IteratorTypeAttr::get(builder.getContext(),
                                                   IteratorType::reduction);
    return vector::ContractionOp::create(
        builder, loc, lhs, rhs, zero,
        builder.getAffineMapArrayAttr({map({n, k}), map({m, k}), map({n, m})}),
        builder.getArrayAttr({parallel, parallel, reduction}));
  });
}

/// Adds rows of keys times dx to the sums of a Q block.
void GradientLoop::emitSums(Value dx) {
  Value sums = multiplySums(dx);
  auto add = [&]() -> FailureOr<SmallVector<Value>> {
    Value zero = createIndex(builder, loc, 0);
    // Rows of the sums are the last dimension but one.
    AffineMap transposed =
        AffineMap::getMultiDimMapWithTargets(5, {4, 3}, builder.getContext());
    SmallVector<Value> block = {otherBatch, otherHead, otherTile}, at(block);
    at.append(2, zero);
    AddingPlace place;
    Value number, last;
    SmallVector<Value> outAt;
    AffineMapAttr outMap;
    double scale = 1;
    if (shared->counters) {
      place = emitAddingPlace(builder, op, shared->order, own.batch, otherHead,
                              otherTile, ownTile);
      number = emitTileNumber(builder, op, ownTile);
    }
    if (shared->out) {
      last = place.isLast;
      scale = op.getEffectiveScale();
      Value row = arith::MulIOp::create(builder, loc, otherTile,
                                        createIndex(builder, loc, numOther));
      Layout layout = attention.getLayout(0);
      outAt = layout.arrange(otherBatch, otherHead, row, zero);
      SmallVector<unsigned> dims = {layout.d, layout.s};
      if (shared->areColumns)
        std::swap(dims[0], dims[1]);
      outMap = AffineMapAttr::get(
          AffineMap::getMultiDimMapWithTargets(4, dims, builder.getContext()));
    }
    AccumulateOp::create(
        builder, loc, Type(),
        shared->counters ? AccumulateMode::Ordered : AccumulateMode::Add, sums,
        shared->sums, at, place.before, number, shared->counters,
        shared->counters ? ValueRange(block) : ValueRange(), last, shared->out,
        outAt, AffineMapAttr::get(transposed), outMap, llvm::APFloat(scale));
    return SmallVector<Value>();
  };
  (void)emitStep(builder, loc, "red", add);
}

/// What is added to `x` in `sum`, or null if it is no such sum.
static Value getAddend(Value sum, Value x) {
  auto add = sum.getDefiningOp<arith::AddFOp>();
  if (!add || (add.getLhs() != x && add.getRhs() != x))
    return {};
  return add.getLhs() == x ? add.getRhs() : add.getLhs();
}

/// `value` times a number, which is one operation with what follows.
static Value multiplyBy(OpBuilder &builder, Location loc, Value value,
                        double number) {
  return arith::MulFOp::create(
      builder, loc, value, createFloat(builder, loc, value.getType(), number),
      arith::FastMathFlags::contract);
}

/// The same, where a factor that many elements share has the number instead if
/// there is one, such as the slope of a bias.
static Value multiplyFactorBy(OpBuilder &builder, Location loc, Value value,
                              double number) {
  if (auto product = value.getDefiningOp<arith::MulFOp>())
    for (auto [factor, other] : {std::pair(product.getLhs(), product.getRhs()),
                                 std::pair(product.getRhs(), product.getLhs())})
      if (auto shared = factor.getDefiningOp<vector::BroadcastOp>()) {
        Value scaled = vector::BroadcastOp::create(
            builder, loc, value.getType(),
            multiplyBy(builder, loc, shared.getSource(), number));
        return arith::MulFOp::create(builder, loc, scaled, other,
                                     arith::FastMathFlags::contract);
      }
  return multiplyBy(builder, loc, value, number);
}

FailureOr<SmallVector<Value>> GradientLoop::emitSharedTile(Value first,
                                                           ValueRange carried) {
  auto tileType = VectorType::get({numOther, numOwn}, accType);
  Type rounded = attention.getQueryType().getElementType();
  bool hasScore = changesScores(op), keeps = keepsScores(op);
  // Values have gradients of probabilities alone.
  bool needsProducts = shared->sums || wanted.products;
  bool needsScores = needsProducts || hasContributions(op);
  auto load = [&](StringRef name, Value tensor, unsigned layout,
                  Value numbers) -> ValueRange {
    auto emit = [&]() -> FailureOr<SmallVector<Value>> {
      SmallVector<Value> loaded = {
          readRows(tensor, attention.getLayout(layout), first)};
      if (numbers)
        loaded.push_back(readShared(numbers));
      return loaded;
    };
    return *emitStep(builder, loc, name, emit);
  };
  bool overKeys = isOverKeys();
  auto extend = [&](Value value) {
    return convertFloats(builder, loc, value, tileType);
  };
  auto round = [&](Value value) {
    return convertFloats(builder, loc, value, tileType.clone(rounded));
  };
  ValueRange others = overKeys ? load("load_k", op.getKey(), 1, Value())
                               : load("load_q", op.getQuery(), 0, shared->lse);
  Value otherFirst = others[0];
  TileValue lse = overKeys ? ownShift : TileValue{others[1], TileKind::Key};
  Value products = multiply("qk", otherFirst, ownFirst);

  RegionVectorizer vectorizer(builder, loc, numOther, numOwn,
                              /*sites=*/nullptr);
  setStarts(vectorizer, first);
  auto emitProbabilities = [&]() -> FailureOr<SmallVector<Value>> {
    SmallVector<TileValue> arguments = getArguments(emitPosition(first));
    // Scores of pairs that are not allowed are computed, and replaced.
    TileValue all = vectorizer.getTrue();
    double scale = op.getEffectiveScale();
    Value x = products, scores = x;
    if (hasScore) {
      if (scale != 1)
        x = arith::MulFOp::create(builder, loc, x,
                                  createFloat(builder, loc, tileType, scale));
      SmallVector<TileValue> ofScore = {{x, TileKind::Tile}};
      llvm::append_range(ofScore, arguments);
      FailureOr<TileValue> score = vectorizer.run(op.getScore(), ofScore, all);
      if (failed(score))
        return failure();
      scores = vectorizer.broadcast(*score, TileKind::Tile);
    }
    Value shift = vectorizer.broadcast(lse, TileKind::Tile);
    auto subtract = [&](Value value) -> Value {
      return arith::SubFOp::create(builder, loc, value, shift,
                                   arith::FastMathFlags::contract);
    };
    // Of what a score adds, the log-sum-exp is subtracted first, so that both
    // sums are one operation with the product that each has.
    Value exponent;
    if (Value added = hasScore ? getAddend(scores, x) : Value())
      exponent = arith::AddFOp::create(
          builder, loc,
          multiplyBy(builder, loc, products, scale * llvm::numbers::log2e),
          subtract(multiplyFactorBy(builder, loc, added, llvm::numbers::log2e)),
          arith::FastMathFlags::contract);
    else
      exponent = subtract(multiplyBy(builder, loc, scores,
                                     hasScore ? llvm::numbers::log2e
                                              : scale * llvm::numbers::log2e));
    auto mask = MaskTileOp::create(builder, loc, exponent);
    {
      // What the mask alone reads is for partial tiles alone.
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(&mask.getAllowed().front());
      FailureOr<TileValue> allowed = emitAllowed(vectorizer, arguments);
      if (failed(allowed))
        return failure();
      YieldOp::create(builder, loc,
                      vectorizer.broadcast(*allowed, TileKind::Tile));
    }
    Value p = math::Exp2Op::create(builder, loc, mask.getResult());
    FailureOr<Value> weights = emitWeights(vectorizer, arguments, all);
    if (failed(weights))
      return failure();
    SmallVector<Value> results;
    if (!*weights || needsScores)
      results.push_back(round(p));
    if (*weights)
      results.push_back(
          round(arith::MulFOp::create(builder, loc, p, *weights)));
    if (needsScores && keeps)
      results.push_back(x);
    return results;
  };
  FailureOr<ValueRange> exp = emitStep(builder, loc, "exp", emitProbabilities);
  if (failed(exp))
    return failure();
  // What dv is computed of, behind what ds is.
  bool isWeighted = getWeight(op) != nullptr;
  Value p = exp->front(), x = exp->back();
  Value weighted = (*exp)[isWeighted && needsScores ? 1 : 0];
  others = overKeys ? load("load_v", op.getValue(), 2, Value())
                    : load("load_do", op.getOutputGrad(), 3,
                           needsScores ? shared->delta : Value());
  Value rows = others[0];
  TileValue ofDelta = overKeys ? ownDelta : TileValue{};
  if (!overKeys && needsScores)
    ofDelta = {others[1], TileKind::Key};
  Value dp = needsScores ? multiply("dp", rows, ownSecond) : Value();
  SmallVector<Value> next;
  unsigned number = wanted.products;
  Value newValues;
  if (wanted.values) {
    Value sums = carried[number];
    newValues = emitStep(builder, loc, "dv", [&] {
      return contractTiles(builder, loc, rows, extend(weighted), sums,
                           /*isTransposed=*/true);
    });
  }
  SmallVector<Value> sums(carried.take_back(carriedSums.size()));
  auto emitGradients = [&]() -> FailureOr<SmallVector<Value>> {
    Value wide = extend(p);
    Value ds =
        emitScoreGradient(wide, isWeighted ? extend(weighted) : Value(), dp,
                          vectorizer.broadcast(ofDelta, TileKind::Tile));
    if (!keeps)
      return SmallVector<Value>{ds};
    Value position = emitPosition(first);
    // Diagonal d has the queries that are d - numOwn behind their keys.
    auto getDiagonals = [&]() {
      SmallVector<TileValue> arguments = {{}, {}};
      llvm::append_range(arguments, getArguments(position));
      Value begin = arith::SubIOp::create(builder, loc, position,
                                          createIndex(builder, loc, numOwn));
      arguments[kAdjointQuery] = {emitPositions(begin, 2, numOther + numOwn),
                                  TileKind::Key};
      arguments[kAdjointKey] = {withOffset(own.row, 3)};
      return arguments;
    };
    LogicalResult contributed = success();
    auto contribute = [&](ContributeOp contribution, TileValue active, Value,
                          RegionVectorizer &reverse) {
      for (auto [carriedSum, parts] : llvm::zip_equal(carriedSums, sums))
        if (carriedSum.first == contribution) {
          parts =
              emitCarriedSums(builder, contribution, parts, active, reverse);
          return Value();
        }
      for (const CaptureSum &sum : shared->captures)
        if (sum.capture == contribution.getCaptureNumber() &&
            failed(emitScatter(builder, sum, contribution, active, reverse,
                               {numOther, numOwn, getDiagonals})))
          contributed = failure();
      return Value();
    };
    FailureOr<SmallVector<Value>> dx =
        emitAdjoint(position, x, wide, ds, contribute, /*into=*/Value());
    if (failed(dx) || failed(contributed))
      return failure();
    SmallVector<Value> results;
    if (needsProducts)
      results.push_back(dx->front());
    llvm::append_range(results, sums);
    return results;
  };
  if (needsScores) {
    FailureOr<ValueRange> gradients =
        emitStep(builder, loc, "ds", emitGradients);
    if (failed(gradients))
      return failure();
    llvm::copy(gradients->take_back(sums.size()), sums.begin());
    if (shared->sums)
      emitSums(gradients->front());
    if (wanted.products)
      next.push_back(sum(overKeys ? "dq" : "dk", otherFirst, gradients->front(),
                         carried[0]));
  }
  if (newValues)
    next.push_back(newValues);
  llvm::append_range(next, sums);
  return next;
}

/// A loop over positions, of which `enter` makes the first row of a tile, after
/// it has set which tile that is. `emitFull` says whether it is full, in the
/// region for that; null where none is known to be.
FailureOr<SmallVector<Value>>
GradientLoop::emitLoopOver(Value begin, Value end, ValueRange carried,
                           function_ref<Value(Value position)> enter,
                           function_ref<Value(Value first)> emitFull) {
  Value isWhole = emitIsWhole();
  auto loop = TileLoopOp::create(builder, loc, begin, end, numOther, carried);
  OpBuilder::InsertionGuard guard(builder);
  if (emitFull) {
    builder.setInsertionPointToStart(loop.addClass(loop.getFull()));
    Value isFull = isWhole;
    if (!op.getMask().empty() || changesScores(op)) {
      Value first = enter(loop.getFull().getArgument(0));
      isFull = arith::AndIOp::create(builder, loc, isWhole, emitFull(first));
    }
    YieldOp::create(builder, loc, isFull);
  }
  builder.setInsertionPointToStart(&loop.getBody().front());
  Value first = enter(loop.getInductionVar());
  FailureOr<SmallVector<Value>> next =
      emitSharedTile(first, loop.getBody().getArguments().drop_front());
  if (failed(next))
    return failure();
  YieldOp::create(builder, loc, *next);
  return SmallVector<Value>(loop.getResults());
}

/// The loop over the tiles of one head, or one over those of all heads that
/// share the keys. Rows are bounded alike for all heads.
FailureOr<SmallVector<Value>>
GradientLoop::emitSharedLoop(const MetQueries &met, ValueRange carried) {
  Value numOthers = createIndex(builder, loc, numOther);
  Value begin = met.lower, end = met.upper, positions;
  if (sharing) {
    Value tiles = arith::CeilDivUIOp::create(
        builder, loc, arith::SubIOp::create(builder, loc, met.upper, met.lower),
        numOthers);
    positions = builder.createOrFold<arith::MulIOp>(loc, sharing->counts.heads,
                                                    numOthers);
    begin = createIndex(builder, loc, 0);
    end = arith::MulIOp::create(builder, loc, tiles, positions);
    if (Value batches = sharing->counts.batches)
      end = arith::MulIOp::create(builder, loc, end, batches);
  }
  auto enter = [&](Value position) {
    return emitOther(position, met.lower, positions);
  };
  auto emitFull = [&](Value first) -> Value {
    Value isBehind = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::sge, first, *met.fullLower);
    Value last = arith::AddIOp::create(builder, loc, first, numOthers);
    Value isBefore = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::sle, last, *met.fullUpper);
    // What is behind the last query needs no predicate, see emitAllowed.
    if (!changesScores(op))
      isBefore = arith::OrIOp::create(
          builder, loc,
          arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge,
                                *met.fullUpper, otherEnd),
          isBefore);
    return arith::AndIOp::create(builder, loc, isBehind, isBefore);
  };
  using Full = function_ref<Value(Value)>;
  return emitLoopOver(begin, end, carried, enter,
                      met.fullLower ? Full(emitFull) : Full());
}

/// Sets which tile is at a position of the loop over a list, and gives its
/// first row.
Value GradientLoop::emitListed(QueryList &list, Value position) {
  QueryList::Entry entry = list.emitEntry(position);
  otherBatch = entry.batch;
  otherHead = entry.head;
  otherTile = entry.tile;
  isListedFull = entry.isFull;
  return arith::MulIOp::create(builder, loc, otherTile,
                               createIndex(builder, loc, numOther));
}

/// The loop over the tiles that a list names.
FailureOr<SmallVector<Value>> GradientLoop::emitListLoop(ValueRange carried) {
  std::optional<SharingCounts> counts;
  if (sharing)
    counts = sharing->counts;
  QueryList list(builder, op, *shared->lists,
                 sharing ? sharing->firstBatch : otherBatch,
                 sharing ? sharing->firstHead : otherHead, counts, ownTile);
  Value numOthers = createIndex(builder, loc, numOther);
  Value end = list.emitEnd();
  auto enter = [&](Value position) { return emitListed(list, position); };
  auto emitFull = [&](Value first) -> Value {
    if (!changesScores(op))
      return isListedFull;
    // Of a tile that has fewer queries, the others need a predicate.
    Value last = arith::AddIOp::create(builder, loc, first, numOthers);
    Value isBefore = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::sle, last, otherEnd);
    return arith::AndIOp::create(builder, loc, isListedFull, isBefore);
  };
  using Full = function_ref<Value(Value)>;
  return emitLoopOver(createIndex(builder, loc, 0), end, carried, enter,
                      shared->lists->haveFull ? Full(emitFull) : Full());
}
