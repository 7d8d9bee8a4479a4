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
  ArrayRef<Step> steps;
  /// Its number among the consumers.
  size_t consumer = 0;
  /// By ring: tiles that it has got and released.
  SmallVector<int64_t, 8> got, released;

  bool isDone() const { return steps.empty(); }
};

class Run {
public:
  Run(ArrayRef<Step> producer, ArrayRef<ArrayRef<Step>> consumers,
      MutableArrayRef<Ring> rings)
      : rings(rings), turns(rings.size()) {
    roles.emplace_back().steps = producer;
    for (const Ring &ring : rings)
      numPut.push_back(ring.held + ring.waiting);
    for (auto [number, steps] : llvm::enumerate(consumers)) {
      Runner &role = roles.emplace_back();
      role.steps = steps;
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
  ArrayRef<Runner> getConsumers() const { return ArrayRef(roles).drop_front(); }

  MutableArrayRef<Ring> rings;
  SmallVector<int64_t, 8> numPut;
  /// By ring: whose turn it is.
  SmallVector<size_t, 8> turns;
  SmallVector<Runner, 4> roles;
};
} // namespace

/// Does the next step of a role, unless it has to wait.
bool Run::step(Runner &role) {
  auto [kind, ring, op] = role.steps.front();
  switch (kind) {
  case Step::Kind::Put:
    for (const Runner &consumer : getConsumers())
      if (numPut[ring] - consumer.released[ring] >= rings[ring].capacity)
        return false;
    ++numPut[ring];
    break;
  case Step::Kind::Get:
  case Step::Kind::Receive:
    if (role.got[ring] >= numPut[ring])
      return false;
    ++role.got[ring];
    if (kind == Step::Kind::Receive)
      ++role.released[ring];
    break;
  case Step::Kind::Take:
    if (turns[ring] != role.consumer)
      return false;
    ++role.got[ring];
    break;
  case Step::Kind::Pass:
    turns[ring] = (role.consumer + 1) % getConsumers().size();
    ++role.released[ring];
    break;
  case Step::Kind::Release:
    ++role.released[ring];
    break;
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
    Operation *op = stuck->steps.front().op;
    if (isa<hopper::TakeTurnOp, hopper::PassTurnOp>(op))
      return op->emitOpError("waits for a turn that no consumer passes ")
             << meeting;
    return op->emitOpError("waits for use of a ")
           << (isa<hopper::GetOp>(op) ? "channel" : "mailbox")
           << " that the producer does not fill " << meeting;
  }
  Operation *op = producer.steps.front().op;
  if (stuck == getConsumers().end())
    return op->emitOpError("waits for room that no consumer makes ") << meeting;
  InFlightDiagnostic diag =
      op->emitOpError("never ends: the producer waits for room here");
  diag.attachNote(stuck->steps.front().op->getLoc())
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
    if (!ring.isTurns())
      ring.waiting = numPut[number] - consumer.got[number];
  }
  return success();
}

LogicalResult protocol::runSteps(ArrayRef<Step> producer,
                                 ArrayRef<ArrayRef<Step>> consumers,
                                 MutableArrayRef<Ring> rings) {
  return Run(producer, consumers, rings).complete();
}
