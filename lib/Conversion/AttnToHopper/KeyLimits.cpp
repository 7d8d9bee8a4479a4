//===- KeyLimits.cpp - Masks that bound the keys of a row -----------------===//
//
// Conditions that bound the key from above, such as a causal mask, a prefix and
// the length, make one comparison of each key with a limit that each row has
// once, if nothing but conjunctions and disjunctions joins them.
//
// Of a predicate that asks for other things as well, such as the document of a
// key, the conditions on positions are joined apart. If that is the length
// alone, only the last tile needs it.
//
//===----------------------------------------------------------------------===//

#include "KeyLimits.h"
#include "attn/Dialect/Hopper/IR/Hopper.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

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

namespace {
/// A condition `key < limit`, or `key <= limit`, for each key and query.
struct KeyLimit {
  /// vector<N>
  Value keys;
  /// A scalar, or vector<M>.
  Value limit;
  bool isInclusive = false;
};
} // namespace

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

/// Whether a mask is made of limits for the same keys, which it gives.
static bool matchLimits(Value mask, Value &keys) {
  Operation *op = mask.getDefiningOp();
  if (isa_and_nonnull<arith::AndIOp, arith::OrIOp>(op))
    return matchLimits(op->getOperand(0), keys) &&
           matchLimits(op->getOperand(1), keys);
  std::optional<KeyLimit> limit = matchLimit(mask);
  if (!limit || (keys && limit->keys != keys))
    return false;
  keys = limit->keys;
  return true;
}

/// The limit that no key of a row reaches, vector<1 x 64>: the lesser one of a
/// conjunction, the greater one of a disjunction.
static FailureOr<Value> computeKeyLimit(OpBuilder &builder, TileValues &values,
                                        Value mask) {
  Location loc = mask.getLoc();
  Operation *op = mask.getDefiningOp();
  if (isa_and_nonnull<arith::AndIOp, arith::OrIOp>(op)) {
    FailureOr<Value> lhs = computeKeyLimit(builder, values, op->getOperand(0)),
                     rhs = computeKeyLimit(builder, values, op->getOperand(1));
    if (failed(lhs) || failed(rhs))
      return failure();
    if (isa<arith::AndIOp>(op))
      return arith::MinSIOp::create(builder, loc, *lhs, *rhs).getResult();
    return arith::MaxSIOp::create(builder, loc, *lhs, *rhs).getResult();
  }
  KeyLimit limit = *matchLimit(mask);
  auto type =
      VectorType::get({1, hopper::kWarpgroupRows}, builder.getIndexType());
  bool isRow = isa<VectorType>(limit.limit.getType());
  FailureOr<Value> value =
      isRow ? values.getVector(limit.limit, VectorKind::Query)
            : values.getScalar(limit.limit);
  if (failed(value))
    return failure();
  Value row = *value;
  if (!isRow)
    row = vector::BroadcastOp::create(builder, loc, type, row);
  if (!limit.isInclusive)
    return row;
  // A captured limit may be the largest number there is; no key is beyond the
  // largest position.
  auto splat = [&](int64_t number) {
    return arith::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(type, builder.getIndexAttr(number)));
  };
  row = arith::MinSIOp::create(builder, loc, row, splat(hopper::kMaxPosition));
  return arith::AddIOp::create(builder, loc, row, splat(1)).getResult();
}

FailureOr<Value> mlir::attn::computeKeyLimits(OpBuilder &builder,
                                              TileValues &values,
                                              ArrayRef<Value> masks) {
  Value keyVector;
  if (!llvm::all_of(masks,
                    [&](Value mask) { return matchLimits(mask, keyVector); }))
    return Value();
  Location loc = masks.front().getLoc();
  Value limit;
  for (Value mask : masks) {
    FailureOr<Value> next = computeKeyLimit(builder, values, mask);
    if (failed(next))
      return failure();
    limit = limit ? arith::MinSIOp::create(builder, loc, limit, *next) : *next;
  }
  FailureOr<Value> keys = values.getVector(keyVector, VectorKind::Key);
  if (failed(keys))
    return failure();
  auto type = VectorType::get(
      {cast<VectorType>(keys->getType()).getDimSize(0), hopper::kWarpgroupRows},
      builder.getIndexType());
  auto broadcast = [&](Value value) {
    return vector::BroadcastOp::create(builder, loc, type, value);
  };
  return Value(arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                     broadcast(*keys), broadcast(limit)));
}

/// Whether a condition compares positions, which takes few operations, and
/// fewer together with others of its kind.
static bool isOnPositions(Value mask) {
  Value keys;
  if (matchLimits(mask, keys))
    return true;
  Value source = getKeyVector(mask);
  auto compare = (source ? source : mask).getDefiningOp<arith::CmpIOp>();
  return compare && getElementTypeOrSelf(compare.getLhs().getType()).isIndex();
}

static void collectConditions(Value mask, SmallVectorImpl<Value> &positions,
                              SmallVectorImpl<Value> &others) {
  auto both = mask.getDefiningOp<arith::AndIOp>();
  if (!both)
    return (isOnPositions(mask) ? positions : others).push_back(mask);
  collectConditions(both.getLhs(), positions, others);
  collectConditions(both.getRhs(), positions, others);
}

PredicateParts mlir::attn::splitPredicate(Value mask, bool areKeysGathered) {
  PredicateParts parts;
  collectConditions(mask, parts.positions, parts.others);
  if (parts.positions.empty() || parts.others.empty()) {
    parts.positions.clear();
    parts.others = {mask};
    return parts;
  }
  std::optional<KeyLimit> limit = matchLimit(parts.positions.front());
  // Gathered keys are anywhere, whichever tile they are in.
  if (parts.positions.size() == 1 && limit && !limit->isInclusive &&
      !isa<VectorType>(limit->limit.getType()) && !areKeysGathered) {
    parts.length = parts.positions.pop_back_val();
    parts.end = limit->limit;
  }
  return parts;
}

FailureOr<Value> mlir::attn::computeCondition(OpBuilder &builder,
                                              TileValues &values,
                                              const PredicateParts &parts) {
  Value result;
  ArrayRef<Value> positions = parts.positions;
  if (!positions.empty()) {
    FailureOr<Value> limits = computeKeyLimits(builder, values, positions);
    if (failed(limits))
      return failure();
    result = *limits;
    if (result)
      positions = {};
  }
  for (Value part : llvm::concat<const Value>(positions, parts.others)) {
    FailureOr<Value> condition = values.getVector(part, VectorKind::Both);
    if (failed(condition))
      return failure();
    result = result ? arith::AndIOp::create(builder, part.getLoc(), result,
                                            *condition)
                    : *condition;
  }
  return result;
}
