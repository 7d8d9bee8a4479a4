//===- Extents.h - Extents of tensors from those of arguments ---*- C++ -*-===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_EXTENTS_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_EXTENTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include <map>

namespace mlir::attn {

/// The operand whose buffer `value` is computed into, or null if there is none.
OpOperand *getDestination(Value value);

/// Computes extents of tensors of one function in another that has the same
/// arguments.
class Extents {
public:
  /// Emits at the end of the entry block of `target`. `source` is a scratch
  /// copy, into which operations are inserted.
  Extents(func::FuncOp source, func::FuncOp target);

  /// The extent of a dimension of `tensor`, a value of the source, as an index
  /// in the target. Null if it does not follow from extents of arguments; then
  /// getCulprit() tells why not.
  Value emitExtent(Value tensor, int64_t dim);

  /// The same for a number that is known, or a value of the source.
  Value emit(OpFoldResult value);

  /// Where data comes in that the last extent depends on.
  Location getCulprit() const { return culprit; }

  OpBuilder &getBuilder() { return builder; }

  /// Divisors that have to differ from 0, with the operation that divides.
  ArrayRef<std::pair<Value, Operation *>> getDivisors() const {
    return divisors;
  }

  /// Extents that have to be the same: what a loop starts with and carries on,
  /// or the two sides of a branch.
  struct Equality {
    Value a, b;
    Operation *op;
  };
  ArrayRef<Equality> getEqualities() const { return equalities; }

private:
  Value emitOperation(Operation *op);
  Value emitCarriedExtent(LoopLikeOpInterface loop, unsigned number,
                          int64_t dim);
  Value emitArgumentExtent(BlockArgument argument, int64_t dim);
  /// The first of two extents of which the other one is the same, or null.
  Value emitSame(Operation *op, Value a, Value b);
  Value emitResultExtent(OpResult result, int64_t dim);
  Value fail(Location loc) {
    culprit = loc;
    return {};
  }

  func::FuncOp source, target;
  OpBuilder builder;
  Location culprit;
  IRMapping mapping;
  DenseMap<std::pair<Value, int64_t>, Value> known;
  /// By their numbers, any of 64 bits, which keys of a DenseMap are not.
  std::map<int64_t, Value> constants;
  SmallVector<std::pair<Value, Operation *>> divisors;
  SmallVector<Equality> equalities;
};

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_EXTENTS_H
