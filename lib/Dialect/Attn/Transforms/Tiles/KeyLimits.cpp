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

TileValue RegionVectorizer::joinLimits(bool isAnd, KeyLimit a, KeyLimit b) {
  if (!a.keys || a.keys != b.keys)
    return {};
  if (a.isInclusive != b.isInclusive) {
    if (!keyEnd)
      return {};
    KeyLimit &last = a.isInclusive ? a : b, &end = a.isInclusive ? b : a;
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    if (end.limit == keyEnd) {
      // Which is not negative.
      end.limit = arith::SubIOp::create(builder, loc, keyEnd, one);
      end.isInclusive = true;
    } else {
      // A limit may be the largest number there is: one more is that of a
      // lesser one, beyond which there are no keys.
      last.limit = arith::MinSIOp::create(builder, loc, last.limit,
                                          broadcast({keyEnd}, last.kind));
      last.limit = arith::AddIOp::create(builder, loc, last.limit,
                                         broadcast({one}, last.kind));
      last.isInclusive = false;
    }
  }
  TileKind kind = join(a.kind, b.kind);
  Value lhs = broadcast({a.limit, a.kind}, kind),
        rhs = broadcast({b.limit, b.kind}, kind);
  Value limit = isAnd
                    ? arith::MinSIOp::create(builder, loc, lhs, rhs).getResult()
                    : arith::MaxSIOp::create(builder, loc, lhs, rhs);
  return compare(a.isInclusive ? Predicate::sle : Predicate::slt,
                 {a.keys, TileKind::Key}, {limit, kind});
}
