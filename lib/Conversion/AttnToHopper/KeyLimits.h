//===- KeyLimits.h - Masks that bound the keys of a row ---------*- C++ -*-===//

#ifndef ATTN_LIB_CONVERSION_ATTNTOHOPPER_KEYLIMITS_H
#define ATTN_LIB_CONVERSION_ATTNTOHOPPER_KEYLIMITS_H

#include "TileValues.h"

namespace mlir::attn {

/// A predicate of the tile level, taken apart.
struct PredicateParts {
  /// Conditions for each key and query, those on positions and others.
  SmallVector<Value> positions, others;
  /// One more: whether a key is before `end`, a scalar, which only a tile that
  /// reaches it has to ask. Null if the others say it.
  Value length, end;
};
PredicateParts splitPredicate(Value mask, bool areKeysGathered);

/// All conditions but the length.
FailureOr<Value> computeCondition(OpBuilder &builder, TileValues &values,
                                  const PredicateParts &parts);

/// All of `masks` as one comparison, or null if they are something else.
FailureOr<Value> computeKeyLimits(OpBuilder &builder, TileValues &values,
                                  ArrayRef<Value> masks);

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_ATTNTOHOPPER_KEYLIMITS_H
