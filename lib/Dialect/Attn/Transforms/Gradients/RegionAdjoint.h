//===- RegionAdjoint.h - Regions in reverse ---------------------*- C++ -*-===//
//
// From the gradients of what blocks, branches and loops of a score yield to
// those of the score's arguments.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_GRADIENTS_REGIONADJOINT_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_GRADIENTS_REGIONADJOINT_H

#include "Adjoints.h"
#include "attn/Dialect/Attn/IR/AttnGrad.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::attn {

class RegionAdjoint {
public:
  /// Of the score of `op`, or a copy of it. `active` are arguments of the score
  /// that have gradients.
  RegionAdjoint(AttentionGradOp op, Block &score, DenseSet<Value> active);

  /// The values of the score that have gradients.
  const DenseSet<Value> &getActive() const { return active; }

  /// Adds to `cotangents` what the operations of `block` add to the gradients
  /// of what they use. `primals` says where the values of the block have been
  /// computed. Elements of captures get an attn.contribute. Fails, after an
  /// error, where an operation has no derivative.
  LogicalResult reverseBlock(Block &block, Cotangents &cotangents,
                             const IRMapping &primals);

  /// Adds the gradient with respect to an element of a capture.
  void contribute(OpBuilder &builder, Location loc, Value gradient,
                  Value capture, ValueRange indices);

  /// Loops of the score so far that are to be unrolled instead: their reverse
  /// computes iterations again, and they are short.
  ArrayRef<scf::ForOp> getRepeated() const { return repeated; }

private:
  /// The values from outside of `op`, other than tensors, whose gradients its
  /// blocks add to.
  SetVector<Value> getFreeValues(Operation *op);
  LogicalResult reverseIf(scf::IfOp branch, Cotangents &cotangents,
                          const IRMapping &primals);
  LogicalResult reverseFor(scf::ForOp loop, Cotangents &cotangents,
                           const IRMapping &primals);
  bool readsActive(scf::ForOp loop);
  Value createZero(OpBuilder &builder, Location loc, Type type);

  AttentionGradOp op;
  FloatType accType;
  DenseSet<Value> active;
  SmallVector<scf::ForOp> repeated;
};

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_GRADIENTS_REGIONADJOINT_H
