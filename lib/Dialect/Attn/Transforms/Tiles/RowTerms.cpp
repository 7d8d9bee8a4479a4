//===- RowTerms.cpp - What all keys of a row share ------------------------===//

#include "RowTerms.h"
#include "RegionVectorizer.h"
#include "TileOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace mlir::attn;

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

FailureOr<TileState> mlir::attn::emitRowTerms(OpBuilder &builder,
                                              OnlineAttentionOp op,
                                              const TileRows &rows,
                                              TileState state) {
  Location loc = op.getLoc();
  Region &region = op.getRows();
  int64_t numQueries = cast<VectorType>(state.sum.getType()).getDimSize(0);
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
  TileValue active = {arith::CmpIOp::create(builder, loc,
                                            arith::CmpIPredicate::slt,
                                            positions.value, end),
                      positions.kind};
  SmallVector<TileValue> arguments = {{withOffset(builder, op, rows.batch, 0)},
                                      {withOffset(builder, op, rows.head, 1)},
                                      positions};
  for (Value capture : op.getCaptures())
    arguments.push_back({capture});
  RegionVectorizer vectorizer(builder, loc, /*numKeys=*/1, numQueries,
                              /*sites=*/nullptr);
  if (op.getOffsets().empty())
    vectorizer.setStart(region.getArgument(kNumRowsArgs - 1), rows.row,
                        op.getScheduleAttr().getRowAlignment(), numQueries);
  RowTermEmitter emitter{builder, op, state};
  auto emit = [&](unsigned number) -> FailureOr<Value> {
    FailureOr<TileValue> value =
        vectorizer.run(region, arguments, active, number);
    if (failed(value))
      return failure();
    return vectorizer.broadcast(*value, TileKind::Query);
  };
  Operation *yield = region.front().getTerminator();
  if (!matchPattern(yield->getOperand(0), m_AnyZeroFloat())) {
    FailureOr<Value> added = emit(0);
    if (failed(added))
      return failure();
    emitter.addToScores(*added);
  }
  if (!matchPattern(yield->getOperand(1), m_One())) {
    FailureOr<Value> allowed = emit(1);
    if (failed(allowed))
      return failure();
    emitter.allow(*allowed);
  }
  return emitter.state;
}
