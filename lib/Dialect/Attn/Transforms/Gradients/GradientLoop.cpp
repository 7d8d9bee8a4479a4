//===- GradientLoop.cpp - Gradients of one work tile ----------------------===//

#include "GradientLoop.h"
#include "GradientBounds.h"
#include "Tiles/TileScores.h"
#include "attn/Dialect/Attn/IR/AttnDropout.h"
#include "attn/Dialect/Attn/Transforms/GradientSteps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace mlir::attn;

Value mlir::attn::emitShift(OpBuilder &builder, Location loc, Value lse) {
  Value none = createFloat(builder, loc, lse.getType(), -INFINITY);
  Value zero = createFloat(builder, loc, lse.getType(), 0);
  Value isEmpty =
      arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, lse, none);
  return arith::SelectOp::create(builder, loc, isEmpty, zero, lse);
}

GradientLoop::GradientLoop(OpBuilder &builder, AttentionGradOp op, Over over,
                           Value delta, Wanted wanted, const SharedSums *shared)
    : builder(builder), op(op), attention(op), over(over), delta(delta),
      wanted(wanted), shared(shared), loc(op.getLoc()),
      accType(attention.getAccumulatorType()),
      numOwn(op.getScheduleAttr().getTileM()),
      numOther(op.getScheduleAttr().getTileN()) {}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

Value GradientLoop::withOffset(Value position, unsigned which) {
  return attn::withOffset(builder, op, position, which);
}

Value GradientLoop::emitPositions(Value first, unsigned which, int64_t length) {
  return attn::emitPositions(builder, loc, withOffset(first, which), length);
}

//===----------------------------------------------------------------------===//
// Reads
//===----------------------------------------------------------------------===//

Value GradientLoop::readRows(Value tensor, Layout layout, Value first) {
  auto type = cast<RankedTensorType>(tensor.getType());
  Value tile = createRead(builder, loc,
                          VectorType::get({numOther, type.getDimSize(layout.d)},
                                          type.getElementType()),
                          tensor,
                          layout.arrange(otherBatch, otherHead, first,
                                         createIndex(builder, loc, 0)),
                          {layout.s, layout.d}, {false, true});
  return convertTile(builder, loc, tile, accType);
}

TileValue GradientLoop::readOfQueries(Value tensor, Value first) {
  Layout layout = attention.getLayout(3);
  bool isOwn = isOverKeys();
  auto type = VectorType::get({isOwn ? numOwn : numOther}, accType);
  Value batch = isOwn ? own.batch : otherBatch,
        head = isOwn ? own.head : otherHead;
  return {createRead(builder, loc, type, tensor,
                     layout.arrangeRows(batch, head, first),
                     {layout.rowDim(layout.s)}, {false}),
          isOwn ? TileKind::Query : TileKind::Key};
}

void GradientLoop::setOwn(const TileRows &rows) {
  own = rows;
  auto read = [&](Value tensor, unsigned layout) {
    return convertTile(builder, loc,
                       readColumns(builder, loc, tensor,
                                   attention.getLayout(layout), rows, numOwn),
                       accType);
  };
  ownFirst = isOverKeys() ? read(op.getQuery(), 0) : read(op.getKey(), 1);
  ownSecond =
      isOverKeys() ? read(op.getOutputGrad(), 3) : read(op.getValue(), 2);
  if (wanted.queries) {
    Layout layout = attention.getLayout(1);
    auto type = VectorType::get({numOwn, attention.getQueryKeyDim()},
                                getElementTypeOrSelf(op.getKey().getType()));
    Value keys = createRead(builder, loc, type, op.getKey(),
                            layout.arrange(rows.batch, rows.head, rows.row,
                                           createIndex(builder, loc, 0)),
                            {layout.s, layout.d}, {false, true});
    ownRows = convertTile(builder, loc, keys, accType);
  }
  if (shared)
    return setAll();
  if (!isOverKeys())
    return;
  ownShift = readOfQueries(op.getLse(), rows.row);
  ownShift.value = emitShift(builder, loc, ownShift.value);
  ownDelta = readOfQueries(delta, rows.row);
}

void GradientLoop::setOther(Value batch, Value head) {
  otherBatch = batch;
  otherHead = head;
  Value tensor = isOverKeys() ? op.getKey() : op.getQuery();
  otherEnd = tensor::DimOp::create(builder, loc, tensor,
                                   attention.getLayout(isOverKeys() ? 1 : 0).s);
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// (b, h, i, j) of the regions, and the captures.
SmallVector<TileValue> GradientLoop::getArguments(Value first) {
  unsigned ownIndex = isOverKeys() ? 2 : 3;
  TileValue ownAt = {emitPositions(own.row, ownIndex, numOwn), TileKind::Query};
  TileValue otherAt = {emitPositions(first, 5 - ownIndex, numOther),
                       TileKind::Key};
  Value batch = isOverKeys() ? own.batch : otherBatch,
        head = isOverKeys() ? own.head : otherHead;
  SmallVector<TileValue> arguments = {{withOffset(batch, 0)},
                                      {withOffset(head, 1)},
                                      isOverKeys() ? ownAt : otherAt,
                                      isOverKeys() ? otherAt : ownAt};
  for (Value capture : op.getCaptures())
    arguments.push_back({capture});
  return arguments;
}

/// Which pairs there are, and allowed.
FailureOr<TileValue> GradientLoop::emitAllowed(RegionVectorizer &vectorizer,
                                               ArrayRef<TileValue> arguments) {
  auto isBelow = [&](TileValue positions, Value end, unsigned which) {
    Value limit =
        vectorizer.broadcast({withOffset(end, which)}, positions.kind);
    return TileValue{arith::CmpIOp::create(builder, loc,
                                           arith::CmpIPredicate::slt,
                                           positions.value, limit),
                     positions.kind};
  };
  Value queryEnd = isOverKeys() ? own.rowEnd : otherEnd,
        keyEnd = isOverKeys() ? otherEnd : own.rowEnd;
  TileValue exist = isBelow(arguments[3], keyEnd, 3);
  // The shared lse of a query that is not there makes 0 of a score which is a
  // number, as one that nothing has been added to. What is computed of a query
  // that is not there nobody stores, if it is an own one.
  if (!shared || (changesScores(op) && !isOverKeys()))
    exist = vectorizer.logicalAnd(exist, isBelow(arguments[2], queryEnd, 2));
  if (op.getMask().empty())
    return exist;
  FailureOr<TileValue> mask = vectorizer.run(op.getMask(), arguments, exist);
  if (failed(mask))
    return failure();
  return vectorizer.logicalAnd(exist, *mask);
}

/// What probabilities are multiplied by; null for nothing.
FailureOr<Value> GradientLoop::emitWeights(RegionVectorizer &vectorizer,
                                           ArrayRef<TileValue> arguments,
                                           TileValue allowed) {
  if (!getWeight(op))
    return Value();
  SmallVector<TileValue> ofScore = {{}};
  llvm::append_range(ofScore, arguments);
  FailureOr<TileValue> weights =
      vectorizer.run(op.getScore(), ofScore, allowed, /*result=*/1);
  if (failed(weights))
    return failure();
  return vectorizer.broadcast(*weights, TileKind::Tile);
}

/// Tells of a score with weights where the tile starts: at multiples of its
/// sizes, unless it counts from elsewhere.
void GradientLoop::setStarts(RegionVectorizer &vectorizer, Value first) {
  if (!getWeight(op) || !op.getOffsets().empty())
    return;
  Block &score = op.getScore().front();
  BlockArgument query = score.getArgument(kNumScoreArgs - 2),
                key = score.getArgument(kNumScoreArgs - 1);
  vectorizer.setStart(isOverKeys() ? query : key, own.row,
                      op.getScheduleAttr().getRowAlignment(), numOwn);
  vectorizer.setStart(isOverKeys() ? key : query, first, numOther, numOther);
}

/// The gradient of a score, of which `weighted` is what `p` became by weights,
/// or null: p * (w * dp - delta).
Value GradientLoop::emitScoreGradient(Value p, Value weighted, Value dp,
                                      Value delta) {
  if (!weighted) {
    Value difference = arith::SubFOp::create(builder, loc, dp, delta);
    return arith::MulFOp::create(builder, loc, p, difference);
  }
  return arith::SubFOp::create(
      builder, loc,
      arith::MulFOp::create(builder, loc, weighted, dp,
                            arith::FastMathFlags::contract),
      arith::MulFOp::create(builder, loc, p, delta,
                            arith::FastMathFlags::contract),
      arith::FastMathFlags::contract);
}

/// Whether all rows of the work tile are there. A partition of it, whose own
/// rows are fewer than numOwn, asks the same of all of them.
Value GradientLoop::emitIsWhole() {
  Value begin = allBegin ? allBegin : own.row,
        end = allEnd ? allEnd : own.rowEnd;
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge,
                               arith::SubIOp::create(builder, loc, end, begin),
                               createIndex(builder, loc, numOwn));
}

Value GradientLoop::multiply(StringRef name, Value rows, Value columns) {
  return emitStep(builder, loc, name, [&] {
    auto type = VectorType::get({numOther, numOwn}, accType);
    return contractTiles(builder, loc, rows, columns,
                         createFloat(builder, loc, type, 0),
                         /*isTransposed=*/false);
  });
}

Value GradientLoop::sum(StringRef name, Value rows, Value columns, Value acc) {
  return emitStep(builder, loc, name, [&] {
    return contractTiles(builder, loc, rows, columns, acc,
                         /*isTransposed=*/true);
  });
}

/// Rows of keys times dx, added to the sums of the queries from `first` on.
Value GradientLoop::addToQueries(Value first, Value dx, Value sums) {
  return emitStep(builder, loc, "dq", [&]() -> Value {
    SmallVector<Value> at = {sumsBatch, sumsHead, first,
                             createIndex(builder, loc, 0)};
    auto type =
        VectorType::get({numOther, attention.getQueryKeyDim()}, accType);
    SmallVector<unsigned> dims = {2, 3};
    SmallVector<bool> inBounds = {false, true};
    Value before = createRead(builder, loc, type, sums, at, dims, inBounds);
    Value next = contractTiles(builder, loc, dx, ownRows, before,
                               /*isTransposed=*/false);
    AffineMap map =
        AffineMap::getMultiDimMapWithTargets(4, dims, builder.getContext());
    return vector::TransferWriteOp::create(builder, loc, next, sums, at, map,
                                           inBounds)
        .getResult();
  });
}

/// dx, and what `into` becomes.
FailureOr<SmallVector<Value>> GradientLoop::emitAdjoint(Value first, Value x,
                                                        Value p, Value ds,
                                                        Contribution contribute,
                                                        Value into) {
  // A pair of probability 0 adds nothing, whatever is not a number there. So do
  // those that are not allowed.
  Type type = p.getType();
  Value zero = createFloat(builder, loc, type, 0);
  Value isNone =
      arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, p, zero);
  auto unlessNone = [&](Value value) -> Value {
    return arith::SelectOp::create(builder, loc, isNone, zero, value);
  };
  SmallVector<Value> results;
  if (!changesScores(op)) {
    results.push_back(unlessNone(ds));
    if (into)
      results.push_back(into);
    return results;
  }
  // If dx is ds, at once, so that which pairs these are is not needed any more
  // behind contributions. One that is ds itself has the same select.
  Value given = op.getAdjoint().getArgument(kAdjointGradient);
  bool isAtOnce =
      op.getAdjoint().front().getTerminator()->getOperand(0) == given &&
      llvm::none_of(given.getUsers(), llvm::IsaPred<ContributeOp>);
  if (isAtOnce)
    ds = unlessNone(ds);
  Value ones = arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(cast<VectorType>(isNone.getType()),
                             /*value=*/true));
  TileValue isSome = {arith::XOrIOp::create(builder, loc, isNone, ones),
                      TileKind::Tile};
  RegionVectorizer reverse(builder, loc, numOther, numOwn, /*sites=*/nullptr);
  SmallVector<TileValue> arguments = {{x, TileKind::Tile},
                                      {ds, TileKind::Tile}};
  llvm::append_range(arguments, getArguments(first));
  if (contribute)
    reverse.setContribute(
        [&](ContributeOp contribution, TileValue active, Value sums) {
          return contribute(contribution, active, sums, reverse);
        },
        into);
  FailureOr<TileValue> adjoint =
      reverse.run(op.getAdjoint(), arguments, isSome);
  if (failed(adjoint))
    return failure();
  Value dx = reverse.broadcast(*adjoint, TileKind::Tile);
  results.push_back(isAtOnce ? dx : unlessNone(dx));
  if (into)
    results.push_back(reverse.getContributions());
  return results;
}

FailureOr<SmallVector<Value>>
GradientLoop::emitTile(Value first, ValueRange carried, Scatter scatter) {
  bool needsScores = wanted.products || wanted.queries || wanted.capture >= 0;
  auto tileType = VectorType::get({numOther, numOwn}, accType);
  auto load = [&](StringRef name, Value tensor, unsigned layout) {
    return emitStep(builder, loc, name, [&] {
      return readRows(tensor, attention.getLayout(layout), first);
    });
  };
  Value firstRows = isOverKeys() ? load("load_k", op.getKey(), 1)
                                 : load("load_q", op.getQuery(), 0);
  Value secondRows;
  if (needsScores || wanted.values)
    secondRows = isOverKeys() ? load("load_v", op.getValue(), 2)
                              : load("load_do", op.getOutputGrad(), 3);
  Value products = multiply("qk", firstRows, ownFirst);

  RegionVectorizer vectorizer(builder, loc, numOther, numOwn,
                              /*sites=*/nullptr);
  setStarts(vectorizer, first);
  auto emitProbabilities = [&]() -> FailureOr<SmallVector<Value>> {
    SmallVector<TileValue> arguments = getArguments(first);
    FailureOr<TileValue> allowed = emitAllowed(vectorizer, arguments);
    if (failed(allowed))
      return failure();
    double scale = op.getEffectiveScale();
    Value x = products;
    if (scale != 1)
      x = arith::MulFOp::create(builder, loc, x,
                                createFloat(builder, loc, tileType, scale));
    Value scores = x;
    if (changesScores(op)) {
      SmallVector<TileValue> ofScore = {{x, TileKind::Tile}};
      llvm::append_range(ofScore, arguments);
      FailureOr<TileValue> score =
          vectorizer.run(op.getScore(), ofScore, *allowed);
      if (failed(score))
        return failure();
      scores = vectorizer.broadcast(*score, TileKind::Tile);
    }
    TileValue shift = ownShift;
    if (!isOverKeys()) {
      shift = readOfQueries(op.getLse(), first);
      shift.value = emitShift(builder, loc, shift.value);
    }
    // Equal numbers are subtracted before anything is rounded.
    Value exponent = arith::SubFOp::create(
        builder, loc, scores, vectorizer.broadcast(shift, TileKind::Tile));
    auto mask = MaskTileOp::create(builder, loc, exponent);
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(&mask.getAllowed().front());
      YieldOp::create(builder, loc,
                      vectorizer.broadcast(*allowed, TileKind::Tile));
    }
    Value base2 = arith::MulFOp::create(
        builder, loc, mask.getResult(),
        createFloat(builder, loc, tileType, llvm::numbers::log2e));
    Value p = math::Exp2Op::create(builder, loc, base2);
    SmallVector<Value> results = {p, x};
    FailureOr<Value> weights = emitWeights(vectorizer, arguments, *allowed);
    if (failed(weights))
      return failure();
    if (*weights)
      results.push_back(arith::MulFOp::create(builder, loc, p, *weights));
    return results;
  };
  FailureOr<ValueRange> exp = emitStep(builder, loc, "exp", emitProbabilities);
  if (failed(exp))
    return failure();
  Value p = (*exp)[0], x = (*exp)[1];
  Value weighted = exp->size() > 2 ? (*exp)[2] : Value();
  Value dp;
  if (needsScores)
    dp = multiply("dp", secondRows, ownSecond);
  SmallVector<Value> next;
  unsigned number = wanted.products;
  Value newValues, newCapture;
  if (wanted.values)
    newValues =
        sum("dv", secondRows, weighted ? weighted : p, carried[number++]);

  Value dx;
  if (needsScores) {
    auto emitGradients = [&]() -> FailureOr<SmallVector<Value>> {
      TileValue ofRow = ownDelta;
      if (!isOverKeys())
        ofRow = readOfQueries(delta, first);
      Value ds = emitScoreGradient(p, weighted, dp,
                                   vectorizer.broadcast(ofRow, TileKind::Tile));
      Value into = wanted.capture < 0 ? Value() : carried[number];
      auto contribute = [&](ContributeOp contribution, TileValue active,
                            Value sums, RegionVectorizer &reverse) {
        if (!sums || contribution.getCaptureNumber() != wanted.capture)
          return sums;
        return scatter(contribution, reverse.get(contribution.getValue()),
                       active, sums, reverse);
      };
      return emitAdjoint(first, x, p, ds, contribute, into);
    };
    FailureOr<ValueRange> gradients =
        emitStep(builder, loc, "ds", emitGradients);
    if (failed(gradients))
      return failure();
    dx = (*gradients)[0];
    if (wanted.capture >= 0)
      newCapture = (*gradients)[1];
  }
  if (wanted.products)
    next.push_back(sum(isOverKeys() ? "dq" : "dk", firstRows, dx, carried[0]));
  if (newValues)
    next.push_back(newValues);
  if (wanted.queries)
    next.push_back(addToQueries(first, dx, carried.back()));
  if (newCapture)
    next.push_back(newCapture);
  return next;
}

SmallVector<Value> GradientLoop::createZeros() {
  SmallVector<Value> zeros;
  auto add = [&](int64_t dim) {
    zeros.push_back(
        createFloat(builder, loc, VectorType::get({dim, numOwn}, accType), 0));
  };
  if (wanted.products)
    add(attention.getQueryKeyDim());
  if (wanted.values)
    add(attention.getValueDim());
  carriedSums.clear();
  if (!shared)
    return zeros;
  // Beside scores, which adjoints may read, there are no registers for them.
  if (readsScores(op))
    return zeros;
  bool hasManyBatches = sharing && sharing->counts.batches,
       hasManyHeads = sharing && !matchPattern(sharing->counts.heads, m_One());
  for (const CaptureSum &sum : shared->captures)
    for (ContributeOp contribution : getContributions(op, sum.capture))
      if (sum.mode == ScatterMode::Exact &&
          isOfWorkTile(contribution, hasManyBatches, hasManyHeads)) {
        carriedSums.push_back({contribution, &sum});
        add(kSumParts);
      }
  return zeros;
}

LogicalResult GradientLoop::finishCaptures(ArrayRef<Value> parts) {
  if (parts.empty())
    return success();
  // Of the first of several batches and heads, if they do not matter.
  if (sharing)
    setOther(sharing->firstBatch, sharing->firstHead);
  SmallVector<TileValue> arguments = {{}, {}};
  llvm::append_range(arguments, getArguments(createIndex(builder, loc, 0)));
  arguments[kAdjointQuery] = {};
  for (auto [carried, sums] : llvm::zip_equal(carriedSums, parts))
    if (failed(emitScatterOfSums(builder, *carried.second, carried.first, sums,
                                 arguments)))
      return failure();
  return success();
}

FailureOr<SmallVector<Value>> GradientLoop::emit(ValueRange carried,
                                                 Scatter scatter) {
  GradientPlace place = {isOverKeys() ? own.batch : otherBatch,
                         isOverKeys() ? own.head : otherHead,
                         allBegin ? allBegin : own.row,
                         allEnd ? allEnd : own.rowEnd, otherEnd};
  if (shared && isOverKeys()) {
    ownShift = readOwnShared(shared->lse);
    ownDelta = readOwnShared(shared->delta);
  } else if (shared) {
    if (shared->lists)
      return emitListLoop(carried);
    FailureOr<MetQueries> met =
        emitMetQueries(builder, op, place, shared->isBounded, numOther);
    if (failed(met))
      return failure();
    return emitSharedLoop(*met, carried);
  }
  FailureOr<std::optional<std::array<Value, 4>>> bounds =
      emitGradientBounds(builder, op, place, /*isTransposed=*/!isOverKeys());
  if (failed(bounds))
    return failure();
  Value lower = createIndex(builder, loc, 0), upper = otherEnd;
  if (*bounds) {
    upper = (**bounds)[3];
    lower = emitTileBegin(builder, loc, (**bounds)[0], upper, numOther);
  }
  // Own rows that are not there have sums which nobody stores, but would
  // contribute to a capture, and an infinite one to a query: with them, no tile
  // is full.
  Value isWhole;
  if ((*bounds || classes) && (wanted.capture >= 0 || wanted.queries))
    isWhole = emitIsWhole();
  auto loop = TileLoopOp::create(builder, loc, lower, upper, numOther, carried);
  if (classes) {
    if (failed(classes->emit(builder, loop, own,
                             {otherBatch, otherHead, otherEnd}, isWhole)))
      return failure();
  } else if (*bounds) {
    OpBuilder before(loop);
    Value fullUpper = (**bounds)[2];
    if (isWhole)
      fullUpper = arith::SelectOp::create(before, loc, isWhole, fullUpper,
                                          (**bounds)[1]);
    emitFullWithin(builder, loop, (**bounds)[1], fullUpper);
  }
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&loop.getBody().front());
  ValueRange sums = loop.getBody().getArguments().drop_front();
  FailureOr<SmallVector<Value>> next =
      shared ? emitSharedTile(loop.getInductionVar(), sums)
             : emitTile(loop.getInductionVar(), sums, scatter);
  if (failed(next))
    return failure();
  YieldOp::create(builder, loc, *next);
  return SmallVector<Value>(loop.getResults());
}

SmallVector<Value> GradientLoop::finish(ArrayRef<Value> sums,
                                        ArrayRef<Value> outs) {
  double scale = op.getEffectiveScale();
  SmallVector<Value> results;
  for (auto [sum, out] : llvm::zip_equal(sums, outs)) {
    // The sum of products is the first one.
    Value result = sum;
    if (results.empty() && wanted.products && scale != 1)
      result = arith::MulFOp::create(
          builder, loc, sum, createFloat(builder, loc, sum.getType(), scale));
    results.push_back(
        convertTile(builder, loc, result, getElementTypeOrSelf(out.getType())));
  }
  return results;
}

KeyGradients::KeyGradients(AttentionGradOp op) {
  AttentionLikeOpInterface attention = op;
  if (Value out = op.getOutOf(kGradKey)) {
    wanted.products = true;
    outs.push_back(out);
    layouts.push_back(attention.getLayout(1));
  }
  if (Value out = op.getOutOf(kGradValue)) {
    wanted.values = true;
    outs.push_back(out);
    layouts.push_back(attention.getLayout(2));
  }
}
