//===- Protocol.h - What roles may do with what they share ------*- C++ -*-===//
//
// Two proofs about a kernel, whose arguments are in the description of the pass
// attn-hopper-verify-protocol. The first is about one consumer alone: what it
// reads and releases. The second is about producer and consumers together: that
// their uses agree, and that none waits for ever.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_ATTNTOHOPPER_PROTOCOL_H
#define ATTN_LIB_CONVERSION_ATTNTOHOPPER_PROTOCOL_H

#include "attn/Dialect/Hopper/IR/Hopper.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::attn::protocol {

/// Whether an operation is a step of the protocol that another role, or another
/// consumer, can see.
inline bool isEvent(Operation *op) {
  return isa<hopper::PutOp, hopper::GetOp, hopper::ReleaseOp, hopper::PostOp,
             hopper::ReceiveOp, hopper::TakeTurnOp, hopper::PassTurnOp>(op);
}

/// The partitions of a kernel that has one producer and equal consumers.
struct Roles {
  hopper::WarpSpecializeOp op;
  Region *producer = nullptr, *consumers = nullptr;
  int64_t numConsumers = 0;

  /// An error where partitions are others.
  static FailureOr<Roles> get(hopper::WarpSpecializeOp op);
};

/// Checks what a consumer does with tiles, products and turns.
LogicalResult verifyConsumer(const Roles &roles);

/// Checks that producer and consumers use channels and mailboxes equally, and
/// that none waits for ever.
LogicalResult verifyRoles(const Roles &roles);

/// A channel, mailbox or turns at a point of both roles.
struct Ring {
  Value value;
  int64_t capacity = 0;
  /// Tiles that a consumer has got and not released, and that it has not got.
  /// Of turns, whether one is taken.
  int64_t held = 0, waiting = 0;

  bool isTurns() const { return isa<hopper::TurnsType>(value.getType()); }
};

/// A step of a role with one of its rings.
struct Step {
  enum class Kind { Put, Get, Release, Receive, Take, Pass } kind;
  /// The ring's place in a list.
  size_t ring = 0;
  Operation *op = nullptr;
};

/// Runs steps of the producer against those of each consumer, and updates
/// rings; an error if one of them is not done in the end. All consumers have as
/// many steps of each kind.
LogicalResult runSteps(ArrayRef<Step> producer,
                       ArrayRef<ArrayRef<Step>> consumers,
                       MutableArrayRef<Ring> rings);

} // namespace mlir::attn::protocol

#endif // ATTN_LIB_CONVERSION_ATTNTOHOPPER_PROTOCOL_H
