//===- ValueOrder.h - An order of values by what they are -------*- C++ -*-===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILES_VALUEORDER_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILES_VALUEORDER_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::attn {

/// Orders the values of a mask region by how they are computed, and not by
/// where: positions, other arguments, operations by name, attributes and
/// operands, and constants last. Two values that compare equal are computed the
/// same way.
class ValueOrder {
public:
  /// Less than 0, 0, or more than 0, as `a` is before, the same as, or after
  /// `b`.
  int compare(Value a, Value b);
  bool isLess(Value a, Value b) { return compare(a, b) < 0; }

private:
  int compareOps(Operation *a, Operation *b);

  llvm::DenseMap<std::pair<Value, Value>, int> known;
};

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILES_VALUEORDER_H
