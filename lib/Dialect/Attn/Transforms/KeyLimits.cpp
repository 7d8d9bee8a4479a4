//===- KeyLimits.cpp - Conditions that bound the keys of a query ----------===//
//
// Conditions that bound the key from above, such as a causal mask, a prefix and
// the length, make one comparison of each key with a limit that each query has
// once, if nothing but conjunctions and disjunctions joins them.
//
//===----------------------------------------------------------------------===//

#include "RegionVectorizer.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::attn;

using Predicate = arith::CmpIPredicate;

/// What bounds the keys where `lhs predicate rhs` holds.
static KeyLimit getLimit(Predicate predicate, const TileValue &lhs,
                         const TileValue &rhs) {
  if (lhs.kind != TileKind::Key || isAlong(rhs.kind, TileKind::Key) ||
      !getElementTypeOrSelf(lhs.value.getType()).isIndex() ||
      (predicate != Predicate::slt && predicate != Predicate::sle))
    return {};
  return {lhs.value, rhs.value, rhs.kind, predicate == Predicate::sle};
}

TileValue RegionVectorizer::compare(Predicate predicate, TileValue lhs,
                                    TileValue rhs) {
  TileKind kind = join(lhs.kind, rhs.kind);
  TileValue result = {arith::CmpIOp::create(builder, loc, predicate,
                                            broadcast(lhs, kind),
                                            broadcast(rhs, kind)),
                      kind};
  if (predicate == Predicate::sgt || predicate == Predicate::sge) {
    std::swap(lhs, rhs);
    predicate = predicate == Predicate::sgt ? Predicate::slt : Predicate::sle;
  }
  result.limit = getLimit(predicate, lhs, rhs);
  return result;
}

TileValue RegionVectorizer::joinLimits(bool isAnd, const KeyLimit &a,
                                       const KeyLimit &b) {
  // A limit may be the largest number there is: one more is that of a lesser
  // one, beyond which there are no keys.
  bool isInclusive = a.isInclusive || b.isInclusive;
  if (!a.keys || a.keys != b.keys || (isInclusive && !keyEnd))
    return {};
  auto getEnd = [&](const KeyLimit &limit) -> TileValue {
    if (!limit.isInclusive)
      return {limit.limit, limit.kind};
    Value most = broadcast({keyEnd}, limit.kind);
    Value last = arith::MinSIOp::create(builder, loc, limit.limit, most);
    Value one = splat(builder.getIndexType(), APInt(64, 1), limit.kind);
    return {arith::AddIOp::create(builder, loc, last, one), limit.kind};
  };
  TileValue x = getEnd(a), y = getEnd(b);
  TileKind kind = join(x.kind, y.kind);
  Value lhs = broadcast(x, kind), rhs = broadcast(y, kind);
  Value limit = isAnd
                    ? arith::MinSIOp::create(builder, loc, lhs, rhs).getResult()
                    : arith::MaxSIOp::create(builder, loc, lhs, rhs);
  return compare(Predicate::slt, {a.keys, TileKind::Key}, {limit, kind});
}
