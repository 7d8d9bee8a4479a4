//===- AffineBias.cpp - The bias of a tile that is affine in the key ------===//
//
// Of a bias that is affine in the key (KeyBias.h), a tile needs what the first
// of its keys gets, which is the region of the score on that key, and what the
// bias grows by from key to key, which is a derivative of the region.
//
//===----------------------------------------------------------------------===//

#include "AffineBias.h"
#include "RegionSlice.h"
#include "TileScores.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::attn;

/// Computes the terms for the key at a position.
FailureOr<RegionVectorizer> AffineBias::emitTerms(OpBuilder &builder,
                                                  Value key) {
  RegionVectorizer values(builder, op.getLoc(), /*numKeys=*/1, numQueries,
                          /*sites=*/nullptr);
  Region &score = op.getScore();
  SmallVector<TileValue> arguments = {batch, head, query, {key}};
  for (Value capture : op.getCaptures())
    arguments.push_back({capture});
  // All but the product, of which no term is computed.
  for (auto [argument, value] :
       llvm::zip_equal(score.getArguments().drop_front(), arguments))
    values.set(argument, value);
  llvm::SmallPtrSet<Operation *, 16> done;
  for (const KeyBias::Term &term : bias.terms)
    for (Operation *inner : getRegionSlice(score, term.value))
      if (done.insert(inner).second && failed(values.emit(*inner)))
        return failure();
  return values;
}

static TileValue emitBinary(OpBuilder &builder, Location loc,
                            RegionVectorizer &values, StringRef name,
                            TileValue a, TileValue b) {
  TileKind kind = join(a.kind, b.kind);
  Value lhs = values.broadcast(a, kind), rhs = values.broadcast(b, kind);
  OperationState state(loc, name, {lhs, rhs}, lhs.getType());
  return {builder.create(state)->getResult(0), kind};
}

/// What a value of the region grows by from key to key, in f32; null for 0.
TileValue AffineBias::emitSlope(OpBuilder &builder, RegionVectorizer &values,
                                Value value) {
  Location loc = op.getLoc();
  auto isConstant = [&](Value value) {
    return form.getDegree(value) == KeyForm::Degree::Constant;
  };
  if (isConstant(value))
    return {};
  Operation *inner = value.getDefiningOp();
  // The key.
  if (!inner)
    return {
        arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(1))};
  if (isa<arith::MulFOp, arith::DivFOp>(inner)) {
    bool isSwapped = isConstant(inner->getOperand(0));
    TileValue slope = emitSlope(builder, values, inner->getOperand(isSwapped));
    return emitBinary(builder, loc, values, inner->getName().getStringRef(),
                      slope, values.get(inner->getOperand(!isSwapped)));
  }
  auto negate = [&](TileValue slope) -> TileValue {
    return {arith::NegFOp::create(builder, loc, slope.value), slope.kind};
  };
  bool isNegated = isa<arith::NegFOp, arith::SubIOp, arith::SubFOp>(inner);
  TileValue slope = emitSlope(builder, values, inner->getOperand(0));
  if (inner->getNumOperands() == 1)
    return isNegated ? negate(slope) : slope;
  TileValue other = emitSlope(builder, values, inner->getOperand(1));
  if (!other.value)
    return slope;
  if (!slope.value)
    return isNegated ? negate(other) : other;
  StringRef name = isNegated ? arith::SubFOp::getOperationName()
                             : arith::AddFOp::getOperationName();
  return emitBinary(builder, loc, values, name, slope, other);
}

/// The sum of what `get` gives for each term, times `scale`.
Value AffineBias::sumTerms(OpBuilder &builder, RegionVectorizer &values,
                           double scale, function_ref<TileValue(Value)> get) {
  Location loc = op.getLoc();
  Value sum;
  for (const KeyBias::Term &term : bias.terms) {
    TileValue value = get(term.value);
    if (!value.value)
      continue;
    Value rows = values.broadcast(value, TileKind::Query);
    Value scaled = arith::MulFOp::create(
        builder, loc, rows,
        createFloat(builder, loc, rows.getType(), term.factor * scale));
    sum = sum ? arith::AddFOp::create(builder, loc, sum, scaled) : scaled;
  }
  return sum;
}

LogicalResult AffineBias::emitSlope(OpBuilder &builder) {
  Value zero = arith::ConstantIndexOp::create(builder, op.getLoc(), 0);
  FailureOr<RegionVectorizer> values = emitTerms(builder, zero);
  if (failed(values))
    return failure();
  slope = sumTerms(builder, *values, 1 / getFactor(), [&](Value term) {
    return emitSlope(builder, *values, term);
  });
  return success();
}

FailureOr<Value> AffineBias::emitOffset(OpBuilder &builder, Value key) {
  FailureOr<RegionVectorizer> values = emitTerms(builder, key);
  if (failed(values))
    return failure();
  return sumTerms(builder, *values, 1,
                  [&](Value term) { return values->get(term); });
}
