//===- AffineBias.cpp - The bias of a tile that is affine in the key ------===//
//
// Of a bias that is affine in the key (KeyBias.h), a tile needs what the first
// of its keys gets, which is the region of the score on that key, and what the
// bias grows by from key to key, which is a derivative of the region. A bias of
// pieces is affine in a tile where its first and its last key are in one piece.
//
//===----------------------------------------------------------------------===//

#include "AffineBias.h"
#include "RegionSlice.h"
#include "TileOps.h"
#include "TileScores.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::attn;

/// Computes terms for keys at a position, or at several.
FailureOr<RegionVectorizer> AffineBias::emitTerms(OpBuilder &builder,
                                                  ArrayRef<KeyBias::Term> terms,
                                                  TileValue key,
                                                  int64_t numKeys) {
  RegionVectorizer values(builder, op.getLoc(), numKeys, numQueries,
                          /*sites=*/nullptr);
  Region &score = op.getScore();
  SmallVector<TileValue> arguments = {batch, head, query, key};
  for (Value capture : op.getCaptures())
    arguments.push_back({capture});
  // All but the product, of which no term is computed.
  for (auto [argument, value] :
       llvm::zip_equal(score.getArguments().drop_front(), arguments))
    values.set(argument, value);
  llvm::SmallPtrSet<Operation *, 16> done;
  for (const KeyBias::Term &term : terms)
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

/// Whether the second operand is above the first one, or 0 above the only one.
TileValue AffineBias::emitSign(OpBuilder &builder, RegionVectorizer &values,
                               Operation *piece) {
  Location loc = op.getLoc();
  Type type = piece->getOperand(0).getType();
  TileValue a = values.get(piece->getOperand(0)), b;
  if (piece->getNumOperands() == 1)
    b = {arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type))};
  else
    b = values.get(piece->getOperand(1));
  TileKind kind = join(a.kind, b.kind);
  Value lhs = values.broadcast(a, kind), rhs = values.broadcast(b, kind);
  if (isa<FloatType>(type))
    return {arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLT, lhs,
                                  rhs),
            kind};
  return {
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, lhs, rhs),
      kind};
}

/// The bias is affine where these are the same for the first and the last key,
/// too.
void AffineBias::requireSame(OpBuilder &builder, Ends &ends, TileValue first,
                             TileValue last) {
  Location loc = op.getLoc();
  RegionVectorizer &values = ends.first;
  TileKind kind = join(first.kind, last.kind);
  TileValue isSame = {arith::CmpIOp::create(builder, loc,
                                            arith::CmpIPredicate::eq,
                                            values.broadcast(first, kind),
                                            values.broadcast(last, kind)),
                      kind};
  ends.where = ends.where.value ? emitBinary(builder, loc, values,
                                             arith::AndIOp::getOperationName(),
                                             ends.where, isSame)
                                : isSame;
}

/// The same for all that a value is chosen by, in front of it.
void AffineBias::requirePieces(OpBuilder &builder, Ends &ends, Value value,
                               llvm::SmallPtrSetImpl<Operation *> &known) {
  Operation *inner = value.getDefiningOp();
  if (!inner || form.isConstant(value) || !known.insert(inner).second)
    return;
  if (isa<math::AbsIOp, math::AbsFOp>(inner))
    requireSame(builder, ends, emitSign(builder, ends.first, inner),
                emitSign(builder, *ends.last, inner));
  else if (auto select = dyn_cast<arith::SelectOp>(inner);
           select && !form.isConstant(select.getCondition()))
    requireSame(builder, ends, ends.first.get(select.getCondition()),
                ends.last->get(select.getCondition()));
  for (Value operand : inner->getOperands())
    requirePieces(builder, ends, operand, known);
}

/// The operand that such an operation gives a multiple of, and that multiple:
/// of an absolute value, the sign, and of others one of the two.
TileValue AffineBias::emitPieceSlope(OpBuilder &builder, Ends &ends,
                                     Operation *piece) {
  Location loc = op.getLoc();
  bool isAbs = piece->getNumOperands() == 1;
  RegionVectorizer &values = ends.first;
  TileValue first = emitSign(builder, values, piece);
  requireSame(builder, ends, first, emitSign(builder, *ends.last, piece));
  auto getSlope = [&](unsigned number) -> TileValue {
    TileValue slope = emitSlope(builder, ends, piece->getOperand(number));
    if (!slope.value)
      slope = {
          arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0))};
    return slope;
  };
  TileValue slope = getSlope(0), other;
  if (isAbs)
    other = {arith::NegFOp::create(builder, loc, slope.value), slope.kind};
  else
    other = getSlope(1);
  if (isa<arith::MinSIOp, arith::MinimumFOp, arith::MinNumFOp>(piece))
    std::swap(slope, other);
  TileKind kind = join(first.kind, join(slope.kind, other.kind));
  return {arith::SelectOp::create(builder, loc, values.broadcast(first, kind),
                                  values.broadcast(other, kind),
                                  values.broadcast(slope, kind)),
          kind};
}

/// What a value of the region grows by from key to key, in f32; null for 0.
/// Once for each value, however many share it.
TileValue AffineBias::emitSlope(OpBuilder &builder, Ends &ends, Value value) {
  auto known = ends.slopes.find(value);
  if (known != ends.slopes.end())
    return known->second;
  TileValue slope = computeSlope(builder, ends, value);
  ends.slopes[value] = slope;
  return slope;
}

TileValue AffineBias::computeSlope(OpBuilder &builder, Ends &ends,
                                   Value value) {
  Location loc = op.getLoc();
  if (form.isConstant(value))
    return {};
  Operation *inner = value.getDefiningOp();
  // The key.
  if (!inner)
    return {
        arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(1))};
  if (makesPieces(inner))
    return emitPieceSlope(builder, ends, inner);
  // One element of a table, where the index is the same for all keys.
  if (auto extract = dyn_cast<tensor::ExtractOp>(inner)) {
    llvm::SmallPtrSet<Operation *, 8> known;
    for (Value index : extract.getIndices()) {
      if (form.isConstant(index))
        continue;
      requireSame(builder, ends, ends.first.get(index), ends.last->get(index));
      requirePieces(builder, ends, index, known);
    }
    return {};
  }
  RegionVectorizer &values = ends.first;
  if (isa<arith::MulFOp, arith::DivFOp>(inner)) {
    bool isSwapped = form.isConstant(inner->getOperand(0));
    TileValue slope = emitSlope(builder, ends, inner->getOperand(isSwapped));
    if (!slope.value)
      return {};
    return emitBinary(builder, loc, values, inner->getName().getStringRef(),
                      slope, values.get(inner->getOperand(!isSwapped)));
  }
  auto negate = [&](TileValue slope) -> TileValue {
    return {arith::NegFOp::create(builder, loc, slope.value), slope.kind};
  };
  bool isNegated = isa<arith::NegFOp, arith::SubIOp, arith::SubFOp>(inner);
  TileValue slope = emitSlope(builder, ends, inner->getOperand(0));
  if (inner->getNumOperands() == 1)
    return isNegated && slope.value ? negate(slope) : slope;
  TileValue other = emitSlope(builder, ends, inner->getOperand(1));
  if (!other.value)
    return slope;
  if (!slope.value)
    return isNegated ? negate(other) : other;
  StringRef name = isNegated ? arith::SubFOp::getOperationName()
                             : arith::AddFOp::getOperationName();
  return emitBinary(builder, loc, values, name, slope, other);
}

/// The sum of what `get` gives for each term in the shape of `kind`, times
/// `scale`; null if it gives nothing.
Value AffineBias::sumTerms(OpBuilder &builder, RegionVectorizer &values,
                           ArrayRef<KeyBias::Term> terms, TileKind kind,
                           double scale, function_ref<TileValue(Value)> get) {
  Location loc = op.getLoc();
  Value sum;
  for (const KeyBias::Term &term : terms) {
    TileValue value = get(term.value);
    if (!value.value)
      continue;
    Value all = values.broadcast(value, kind);
    Value scaled = arith::MulFOp::create(
        builder, loc, all,
        createFloat(builder, loc, all.getType(), term.factor * scale));
    sum = sum ? arith::AddFOp::create(builder, loc, sum, scaled) : scaled;
  }
  return sum;
}

/// A number for each query.
Value AffineBias::createZeros(OpBuilder &builder) {
  return createFloat(builder, op.getLoc(),
                     VectorType::get({numQueries}, builder.getF32Type()), 0);
}

/// Of all terms.
Value AffineBias::sumSlopes(OpBuilder &builder, Ends &ends) {
  Value sum = sumTerms(
      builder, ends.first, bias.terms, TileKind::Query, 1 / getFactor(),
      [&](Value term) { return emitSlope(builder, ends, term); });
  return sum ? sum : createZeros(builder);
}

LogicalResult AffineBias::emitSlope(OpBuilder &builder) {
  if (bias.hasPieces)
    return success();
  Value zero = arith::ConstantIndexOp::create(builder, op.getLoc(), 0);
  FailureOr<RegionVectorizer> values = emitTerms(builder, bias.terms, {zero});
  if (failed(values))
    return failure();
  Ends ends = {std::move(*values), std::nullopt, {}};
  slope = sumSlopes(builder, ends);
  return success();
}

FailureOr<AffineBias::Slope> AffineBias::emitSlope(OpBuilder &builder,
                                                   Value first, Value last) {
  if (!bias.hasPieces)
    return Slope{slope, Value()};
  FailureOr<RegionVectorizer> ofFirst = emitTerms(builder, bias.terms, {first}),
                              ofLast = emitTerms(builder, bias.terms, {last});
  if (failed(ofFirst) || failed(ofLast))
    return failure();
  Ends ends = {std::move(*ofFirst), std::move(*ofLast), {}};
  Value own = sumSlopes(builder, ends);
  return Slope{own, ends.first.broadcast(ends.where, TileKind::Query)};
}

FailureOr<Value> AffineBias::emitOffset(OpBuilder &builder, Value key) {
  FailureOr<RegionVectorizer> values = emitTerms(builder, bias.terms, {key});
  if (failed(values))
    return failure();
  Value sum = sumTerms(builder, *values, bias.terms, TileKind::Query, 1,
                       [&](Value term) { return values->get(term); });
  return sum ? sum : createZeros(builder);
}

FailureOr<Value> AffineBias::emitKeys(OpBuilder &builder, TileValue keys,
                                      int64_t numKeys, Value end) {
  if (bias.keys.empty())
    return Value();
  FailureOr<RegionVectorizer> values =
      emitTerms(builder, bias.keys, keys, numKeys);
  if (failed(values))
    return failure();
  Value sum = sumTerms(builder, *values, bias.keys, TileKind::Key, 1,
                       [&](Value term) { return values->get(term); });
  if (!end)
    return sum;
  TileValue exists =
      values->compare(arith::CmpIPredicate::slt, keys, TileValue{end});
  return arith::SelectOp::create(
             builder, op.getLoc(), values->broadcast(exists, TileKind::Key),
             sum,
             createFloat(builder, op.getLoc(), sum.getType(),
                         -std::numeric_limits<double>::infinity()))
      .getResult();
}
