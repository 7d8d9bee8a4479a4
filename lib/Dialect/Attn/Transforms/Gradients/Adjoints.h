//===- Adjoints.h - Gradients through operations on numbers -----*- C++ -*-===//
//
// Reverse mode: from the gradient of a loss with respect to the results of an
// operation to that with respect to its operands. Numbers are scalars, or
// tensors of them element by element.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_GRADIENTS_ADJOINTS_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_GRADIENTS_ADJOINTS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::attn {

/// The gradient with respect to a value, as far as it is known.
struct Cotangent {
  Value value;
  /// Whether it may be 0 because the value is not the one that was chosen. What
  /// a derivative is does not matter then, and it may be no number.
  bool mayBeDead = false;
};

/// Gradients with respect to the values of a program, while its operations are
/// gone through in reverse.
class Cotangents {
public:
  /// `primals` says what a value of the program is where gradients are
  /// computed. Gradients of floats narrower than `least` are of that type, if
  /// there is one. Values that are not `active` have none.
  Cotangents(OpBuilder &builder, const IRMapping &primals, FloatType least,
             const DenseSet<Value> &active)
      : builder(builder), primals(primals), least(least), active(active) {}

  bool isActive(Value value) const { return active.contains(value); }
  Value getPrimal(Value value) const { return primals.lookupOrDefault(value); }
  /// The type of the gradient with respect to a value of `type`.
  Type getType(Type type) const;

  /// Adds to the gradient of an active value; that of another one is ignored.
  void add(Location loc, Value value, Cotangent cotangent);
  /// The gradient, or null where nothing was added.
  Cotangent get(Value value) const { return values.lookup(value); }
  bool has(Operation &op) const;

  /// Adds what the results of `op`, element by element, add to its operands.
  /// Fails, after an error, if it has no derivative.
  LogicalResult reverseElementwise(Operation &op);

  OpBuilder &builder;
  /// Values of the program, and others that are the same.
  SmallVector<std::pair<Value, Value>> again;

private:
  const IRMapping &primals;
  FloatType least;
  const DenseSet<Value> &active;
  DenseMap<Value, Cotangent> values;
};

/// A constant in each element of something like `like`.
Value createConstantLike(OpBuilder &builder, Location loc, Value like,
                         double value);
/// `value` in the type `type`, which differs in the width of floats only.
Value convertFloats(OpBuilder &builder, Location loc, Value value, Type type);

/// Whether `op` gives one of its operands, or of what its branches yield, and
/// leaves the others dead.
bool isChoice(Operation &op);

/// The operands of `op`, and what its regions read from outside.
llvm::SetVector<Value> getReadValues(Operation &op);

/// Adds the results of `op` to the active values if it reads one and they are
/// floats.
void propagateActivity(Operation &op, DenseSet<Value> &active);

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_GRADIENTS_ADJOINTS_H
