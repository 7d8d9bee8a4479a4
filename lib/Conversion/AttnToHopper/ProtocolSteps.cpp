//===- ProtocolSteps.cpp - Roles that wait for each other -----------------===//
//
// Each role does its steps in order, and waits where it has to. What a step
// waits for are counts that only grow. So if one order of all steps completes,
// every order does, and it is enough to find one.
//
//===----------------------------------------------------------------------===//

#include "Protocol.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::protocol;

namespace {
/// One warpgroup, or the producer.
struct Runner {
  ArrayRef<Operation *> steps;
  /// Its number among the consumers.
  size_t consumer = 0;
  /// By ring: tiles that it has got and released.
  SmallVector<int64_t> got, released;

  bool isDone() const { return steps.empty(); }
};

class Run {
public:
  Run(ArrayRef<Operation *> producer, ArrayRef<Operation *> consumer,
      int64_t numConsumers, MutableArrayRef<Ring> rings)
      : rings(rings) {
    roles.emplace_back().steps = producer;
    for (const Ring &ring : rings)
      numPut.push_back(ring.held + ring.waiting);
    for (int64_t number = 0; number < numConsumers; ++number) {
      Runner &role = roles.emplace_back();
      role.steps = consumer;
      role.consumer = number;
      for (const Ring &ring : rings)
        role.got.push_back(ring.held);
      role.released.resize(rings.size());
    }
  }

  LogicalResult complete();

private:
  bool step(Runner &role);
  LogicalResult reportStuck();
  size_t getRing(Value value) const {
    return llvm::find_if(
               rings, [&](const Ring &ring) { return ring.value == value; }) -
           rings.begin();
  }
  ArrayRef<Runner> getConsumers() const { return ArrayRef(roles).drop_front(); }

  MutableArrayRef<Ring> rings;
  SmallVector<int64_t> numPut;
  SmallVector<Runner> roles;
  /// Whose turn it is.
  DenseMap<Value, size_t> turns;
};
} // namespace

/// Does the next step of a role, unless it has to wait.
bool Run::step(Runner &role) {
  Operation *op = role.steps.front();
  Value subject = op->getOperand(0);
  size_t ring = getRing(subject);
  if (isa<hopper::PutOp, hopper::PostOp>(op)) {
    if (llvm::any_of(getConsumers(), [&](const Runner &consumer) {
          return numPut[ring] - consumer.released[ring] >= rings[ring].capacity;
        }))
      return false;
    ++numPut[ring];
  } else if (isa<hopper::GetOp, hopper::ReceiveOp>(op)) {
    if (role.got[ring] >= numPut[ring])
      return false;
    ++role.got[ring];
    if (isa<hopper::ReceiveOp>(op))
      ++role.released[ring];
  } else if (isa<hopper::ReleaseOp>(op)) {
    ++role.released[ring];
  } else if (isa<hopper::TakeTurnOp>(op)) {
    if (turns[subject] != role.consumer)
      return false;
  } else {
    turns[subject] = (role.consumer + 1) % getConsumers().size();
  }
  role.steps = role.steps.drop_front();
  return true;
}

LogicalResult Run::reportStuck() {
  auto stuck = llvm::find_if(getConsumers(),
                             [](const Runner &role) { return !role.isDone(); });
  const Runner &producer = roles.front();
  constexpr StringLiteral meeting =
      "before the loop, branch or end where the roles meet next";
  if (producer.isDone()) {
    Operation *op = stuck->steps.front();
    if (isa<hopper::TakeTurnOp, hopper::PassTurnOp>(op))
      return op->emitOpError("waits for a turn that no consumer passes ")
             << meeting;
    return op->emitOpError("waits for use of a ")
           << (isa<hopper::GetOp>(op) ? "channel" : "mailbox")
           << " that the producer does not fill " << meeting;
  }
  Operation *op = producer.steps.front();
  if (stuck == getConsumers().end())
    return op->emitOpError("waits for room that no consumer makes ") << meeting;
  InFlightDiagnostic diag =
      op->emitOpError("never ends: the producer waits for room here");
  diag.attachNote(stuck->steps.front()->getLoc())
      << "while a consumer waits here";
  return diag;
}

LogicalResult Run::complete() {
  bool moves = true;
  while (moves) {
    moves = false;
    for (Runner &role : roles)
      while (!role.isDone() && step(role))
        moves = true;
  }
  if (!llvm::all_of(roles, [](const Runner &role) { return role.isDone(); }))
    return reportStuck();
  for (auto [number, ring] : llvm::enumerate(rings)) {
    // All consumers have done the same.
    const Runner &consumer = roles.back();
    ring.held = consumer.got[number] - consumer.released[number];
    ring.waiting = numPut[number] - consumer.got[number];
  }
  return success();
}

LogicalResult protocol::runSteps(ArrayRef<Operation *> producer,
                                 ArrayRef<Operation *> consumers,
                                 int64_t numConsumers,
                                 MutableArrayRef<Ring> rings) {
  return Run(producer, consumers, numConsumers, rings).complete();
}
