//===- RowTerms.cpp - What all keys of a row share ------------------------===//

#include "RowTerms.h"
#include "RegionVectorizer.h"
#include "TileOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace mlir::attn;

/// Where the `rows` region yields them.
enum RowResult : unsigned { kAdded, kAllowed, kFactor };

static Value getYielded(OnlineAttentionOp op, RowResult result) {
  return op.getRows().front().getTerminator()->getOperand(result);
}

namespace {
/// Computes what the `rows` region yields for the rows of a work tile.
class RowRegion {
public:
  RowRegion(OpBuilder &builder, OnlineAttentionOp op, const TileRows &rows);

  FailureOr<Value> emit(RowResult result) {
    FailureOr<TileValue> value =
        vectorizer.run(op.getRows(), arguments, active, result);
    if (failed(value))
      return failure();
    return vectorizer.broadcast(*value, TileKind::Query);
  }

private:
  OnlineAttentionOp op;
  RegionVectorizer vectorizer;
  SmallVector<TileValue> arguments;
  TileValue active;
};
} // namespace

RowRegion::RowRegion(OpBuilder &builder, OnlineAttentionOp op,
                     const TileRows &rows)
    : op(op), vectorizer(builder, op.getLoc(), /*numKeys=*/1,
                         op.getScheduleAttr().getTileM(), /*sites=*/nullptr) {
  Location loc = op.getLoc();
  int64_t numQueries = op.getScheduleAttr().getTileM();
  Value start = withOffset(builder, op, rows.row, 2);
  Value end = withOffset(builder, op, rows.rowEnd, 2);
  // A row alone is a scalar.
  TileValue positions = {start};
  if (numQueries > 1) {
    positions = {emitPositions(builder, loc, start, numQueries),
                 TileKind::Query, start};
    end = vector::BroadcastOp::create(builder, loc, positions.value.getType(),
                                      end);
  }
  active = {arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                  positions.value, end),
            positions.kind};
  arguments = {{withOffset(builder, op, rows.batch, 0)},
               {withOffset(builder, op, rows.head, 1)},
               positions};
  for (Value capture : op.getCaptures())
    arguments.push_back({capture});
  if (op.getOffsets().empty())
    vectorizer.setStart(op.getRows().getArgument(kNumRowsArgs - 1), rows.row,
                        op.getScheduleAttr().getRowAlignment(), numQueries);
}

FailureOr<Value> mlir::attn::emitRowFactor(OpBuilder &builder,
                                           OnlineAttentionOp op,
                                           const TileRows &rows) {
  if (op.getRows().empty() ||
      matchPattern(getYielded(op, kFactor), m_OneFloat()))
    return Value();
  return RowRegion(builder, op, rows).emit(kFactor);
}

FailureOr<RowFactors> mlir::attn::emitRowFactors(OpBuilder &builder,
                                                 OnlineAttentionOp op,
                                                 const TileRows &rows) {
  FailureOr<Value> factor = emitRowFactor(builder, op, rows);
  if (failed(factor))
    return failure();
  if (!*factor)
    return RowFactors();
  Location loc = op.getLoc();
  Type type = factor->getType();
  // Not 0, times which a masked score is no number, and not NaN, which a row
  // without a key does not see.
  Value least = createFloat(
      builder, loc, type,
      APFloat::getSmallestNormalized(
          cast<FloatType>(getElementTypeOrSelf(type)).getFloatSemantics())
          .convertToDouble());
  RowFactors factors;
  factors.magnitudes = arith::MaxNumFOp::create(
      builder, loc, math::AbsFOp::create(builder, loc, *factor), least);
  factors.areNegative =
      arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLT, *factor,
                            createFloat(builder, loc, type, 0));
  return factors;
}

namespace {
struct RowTermEmitter {
  OpBuilder &builder;
  OnlineAttentionOp op;
  TileState state;
  Location loc = op.getLoc();
  Type rowType = state.sum.getType();

  Value splat(double value) {
    return createFloat(builder, loc, rowType, value);
  }
  Value isEqual(Value value, double number) {
    return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, value,
                                 splat(number));
  }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  }
  Value mul(Value a, Value b) {
    return arith::MulFOp::create(builder, loc, a, b);
  }
  Value add(Value a, Value b) {
    return arith::AddFOp::create(builder, loc, a, b);
  }
  Value toAcc(Value row) {
    auto type = cast<VectorType>(state.acc.getType())
                    .clone(getElementTypeOrSelf(row.getType()));
    return vector::BroadcastOp::create(builder, loc, type, row);
  }

  void addToScores(Value added);
  void allow(Value allowed);
  void multiplyScores(Value factor);
};
} // namespace

/// What is infinite or NaN makes that of all scores, but for those of masked
/// keys; -inf masks, unless a score is infinite or NaN.
void RowTermEmitter::addToScores(Value added) {
  Value isMasked = isEqual(added, -INFINITY);
  Value isEmpty =
      arith::OrIOp::create(builder, loc, isMasked, isEqual(state.sum, 0.0));
  Value zeroOrNaN = arith::SubFOp::create(builder, loc, added, added);
  state.max = add(state.max, mul(added, splat(llvm::numbers::log2e)));
  state.sum =
      select(isEmpty, mul(state.sum, splat(0.0)), add(state.sum, zeroOrNaN));
  state.acc = mul(state.acc, toAcc(select(isMasked, splat(0.0), splat(1.0))));
}

/// Rows that are left out have no key, whatever their scores are.
void RowTermEmitter::allow(Value allowed) {
  state.sum = select(allowed, state.sum, splat(0.0));
  state.acc = select(toAcc(allowed), state.acc,
                     createFloat(builder, loc, state.acc.getType(), 0.0));
}

/// A factor that is NaN makes that of all scores, but for those of masked keys.
void RowTermEmitter::multiplyScores(Value factor) {
  Value isNaN = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNO,
                                      factor, factor);
  Value isScored = arith::CmpFOp::create(
      builder, loc, arith::CmpFPredicate::UNE, state.sum, splat(0.0));
  state.sum = select(arith::AndIOp::create(builder, loc, isNaN, isScored),
                     factor, state.sum);
}

FailureOr<TileState> mlir::attn::emitRowTerms(OpBuilder &builder,
                                              OnlineAttentionOp op,
                                              const TileRows &rows,
                                              TileState state) {
  RowRegion region(builder, op, rows);
  RowTermEmitter emitter{builder, op, state};
  if (!matchPattern(getYielded(op, kFactor), m_OneFloat())) {
    FailureOr<Value> factor = region.emit(kFactor);
    if (failed(factor))
      return failure();
    emitter.multiplyScores(*factor);
  }
  if (!matchPattern(getYielded(op, kAdded), m_AnyZeroFloat())) {
    FailureOr<Value> added = region.emit(kAdded);
    if (failed(added))
      return failure();
    emitter.addToScores(*added);
  }
  if (!matchPattern(getYielded(op, kAllowed), m_One())) {
    FailureOr<Value> allowed = region.emit(kAllowed);
    if (failed(allowed))
      return failure();
    emitter.allow(*allowed);
  }
  return emitter.state;
}
