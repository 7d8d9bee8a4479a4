//===- KeyLimits.cpp - Masks that bound the keys of a row -----------------===//
//
// A conjunction of conditions that bound the key from above, such as a causal
// mask and the length, is one comparison of each key with a limit that each
// row has once.
//
//===----------------------------------------------------------------------===//

#include "WorkerCloner.h"

using namespace mlir;
using namespace mlir::attn;

/// What is broadcast along the queries: vector<N>.
static Value getKeyVector(Value value) {
  auto broadcast = value.getDefiningOp<vector::BroadcastOp>();
  if (!broadcast)
    return {};
  auto column = broadcast.getSource().getDefiningOp<vector::ShapeCastOp>();
  return column ? column.getSource() : Value();
}

/// What is broadcast along the keys, or along both: vector<M> or a scalar.
static Value getLimit(Value value) {
  auto broadcast = value.getDefiningOp<vector::BroadcastOp>();
  if (!broadcast)
    return {};
  auto type = dyn_cast<VectorType>(broadcast.getSource().getType());
  if (!type || type.getRank() == 1)
    return broadcast.getSource();
  return {};
}

static std::optional<KeyLimit> matchLimit(Value mask) {
  // A comparison of keys with a scalar is made before it is broadcast.
  Value source = getKeyVector(mask);
  bool isAlongKeys = source != nullptr;
  auto compare = (source ? source : mask).getDefiningOp<arith::CmpIOp>();
  if (!compare || !getElementTypeOrSelf(compare.getLhs().getType()).isIndex())
    return std::nullopt;
  auto get = [&](Value keys, Value limit,
                 bool isInclusive) -> std::optional<KeyLimit> {
    KeyLimit result;
    result.keys = isAlongKeys ? keys : getKeyVector(keys);
    result.limit = getLimit(limit);
    result.isInclusive = isInclusive;
    if (!result.keys || !result.limit)
      return std::nullopt;
    return result;
  };
  switch (compare.getPredicate()) {
  case arith::CmpIPredicate::slt:
    return get(compare.getLhs(), compare.getRhs(), false);
  case arith::CmpIPredicate::sle:
    return get(compare.getLhs(), compare.getRhs(), true);
  case arith::CmpIPredicate::sgt:
    return get(compare.getRhs(), compare.getLhs(), false);
  case arith::CmpIPredicate::sge:
    return get(compare.getRhs(), compare.getLhs(), true);
  default:
    return std::nullopt;
  }
}

/// The limits of a conjunction; false if it holds anything else.
static bool collectLimits(Value mask, SmallVectorImpl<KeyLimit> &limits) {
  if (auto conjunction = mask.getDefiningOp<arith::AndIOp>())
    return collectLimits(conjunction.getLhs(), limits) &&
           collectLimits(conjunction.getRhs(), limits);
  std::optional<KeyLimit> limit = matchLimit(mask);
  if (limit)
    limits.push_back(*limit);
  return limit.has_value();
}

/// The mask as one comparison, or null if it is something else.
FailureOr<Value> WorkerCloner::computeKeyLimits(Value mask) {
  SmallVector<KeyLimit> limits;
  if (!collectLimits(mask, limits) ||
      llvm::any_of(limits, [&](const KeyLimit &limit) {
        return limit.keys != limits[0].keys;
      }))
    return Value();
  Location loc = mask.getLoc();
  auto rowType =
      VectorType::get({1, hopper::kWarpgroupRows}, builder.getIndexType());
  Value least;
  for (const KeyLimit &limit : limits) {
    bool isRow = isa<VectorType>(limit.limit.getType());
    FailureOr<Value> value = isRow ? getVector(limit.limit, VectorKind::Query)
                                   : getScalar(limit.limit);
    if (failed(value))
      return failure();
    Value row = *value;
    if (!isRow)
      row = vector::BroadcastOp::create(builder, loc, rowType, row);
    if (limit.isInclusive) {
      // A captured limit may be the largest number there is; no key is beyond
      // the largest position.
      Value largest = arith::ConstantOp::create(
          builder, loc,
          DenseElementsAttr::get(rowType,
                                 builder.getIndexAttr(hopper::kMaxPosition)));
      row = arith::MinSIOp::create(builder, loc, row, largest);
      Value one = arith::ConstantOp::create(
          builder, loc,
          DenseElementsAttr::get(rowType, builder.getIndexAttr(1)));
      row = arith::AddIOp::create(builder, loc, row, one);
    }
    least = least ? arith::MinSIOp::create(builder, loc, least, row).getResult()
                  : row;
  }
  FailureOr<Value> keys = getVector(limits[0].keys, VectorKind::Key);
  if (failed(keys))
    return failure();
  auto type = VectorType::get(
      {cast<VectorType>(keys->getType()).getDimSize(0), hopper::kWarpgroupRows},
      builder.getIndexType());
  auto broadcast = [&](Value value) {
    return vector::BroadcastOp::create(builder, loc, type, value);
  };
  return Value(arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                     broadcast(*keys), broadcast(least)));
}
