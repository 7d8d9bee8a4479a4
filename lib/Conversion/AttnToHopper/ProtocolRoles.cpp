//===- ProtocolRoles.cpp - Producer and consumers side by side ------------===//
//
// Follows both roles at the same time. They meet at each loop and branch that
// has steps of the protocol, which are the same for both; in between, the steps
// are run against each other.
//
//===----------------------------------------------------------------------===//

#include "ProtocolRoles.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::protocol;

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

NumberedRing *RolesCheck::findRing(Operation *op) {
  auto it = llvm::find_if(rings, [&](const NumberedRing &ring) {
    return ring.value == op->getOperand(0);
  });
  return it == rings.end() ? nullptr : &*it;
}

Step RolesCheck::getStep(Operation *op) {
  Step::Kind kind =
      TypeSwitch<Operation *, Step::Kind>(op)
          .Case<hopper::PutOp, hopper::PostOp>(
              [](auto) { return Step::Kind::Put; })
          .Case([](hopper::GetOp) { return Step::Kind::Get; })
          .Case([](hopper::ReceiveOp) { return Step::Kind::Receive; })
          .Case([](hopper::ReleaseOp) { return Step::Kind::Release; })
          .Case([](hopper::TakeTurnOp) { return Step::Kind::Take; })
          .Default([](Operation *) { return Step::Kind::Pass; });
  return {kind, static_cast<size_t>(findRing(op) - rings.begin()), op};
}

LogicalResult RolesCheck::verifyNumber(Operation *op, Value number,
                                       const Term &expected) {
  if (isMeasuring || terms.areEqual(terms.get(number), expected))
    return success();
  InFlightDiagnostic diag =
      op->emitOpError("expects the number after that of the use before");
  if (Operation *source = number.getDefiningOp())
    diag.attachNote(source->getLoc()) << "cannot prove it of this value";
  return diag;
}

/// What comes to the consumers with a use.
static ValueRange getSent(Operation *op) {
  if (auto post = dyn_cast<hopper::PostOp>(op))
    return post.getValues();
  auto put = cast<hopper::PutOp>(op);
  return put.getNote() ? ValueRange(put.getNoteMutable().getAsOperandRange())
                       : ValueRange();
}
static ValueRange getReceived(Operation *op) {
  if (auto get = dyn_cast<hopper::GetOp>(op))
    return get->getResults().drop_front();
  return op->getResults();
}

LogicalResult RolesCheck::walkProducerStep(Operation *op) {
  NumberedRing &ring = *findRing(op);
  if (failed(verifyNumber(op, op->getOperand(1),
                          add(ring.released, ring.held + ring.waiting))))
    return failure();
  if (followed == Followed::Producer) {
    ring.released = add(ring.released, 1);
    return success();
  }
  ring.messages.push_back(llvm::map_to_vector(
      getSent(op), [&](Value value) { return terms.get(value); }));
  ++ring.waiting;
  return success();
}

LogicalResult RolesCheck::walkConsumerStep(Operation *op) {
  NumberedRing &ring = *findRing(op);
  if (isa<hopper::TakeTurnOp>(op)) {
    ++ring.held;
    return success();
  }
  if (isa<hopper::PassTurnOp>(op)) {
    --ring.held;
    ring.released = add(ring.released, 1);
    return success();
  }
  bool isRelease = isa<hopper::ReleaseOp>(op);
  if (failed(verifyNumber(op, op->getOperand(1),
                          add(ring.released, isRelease ? 0 : ring.held))))
    return failure();
  if (isRelease) {
    --ring.held;
    ring.released = add(ring.released, 1);
    return success();
  }
  if (followed == Followed::Both) {
    --ring.waiting;
    for (auto [result, term] :
         llvm::zip_equal(getReceived(op), ring.messages.front()))
      terms.bind(result, term);
    ring.messages.erase(ring.messages.begin());
  }
  if (isa<hopper::GetOp>(op)) {
    ++ring.held;
    return success();
  }
  // A message is received and released at once.
  ring.released = add(ring.released, 1);
  return success();
}

LogicalResult RolesCheck::walkSteps(const Section &producer,
                                    const Section &consumer) {
  // All steps are done in some order; after that, numbers do not depend on it.
  if (followed == Followed::Both) {
    SmallVector<Ring> counts(rings.begin(), rings.end());
    SmallVector<Step> steps = getSteps(consumer.steps);
    SmallVector<ArrayRef<Step>> consumers(roles.numConsumers, steps);
    if (failed(runSteps(getSteps(producer.steps), consumers, counts)))
      return failure();
  }
  for (Operation *op : producer.steps)
    if (failed(walkProducerStep(op)))
      return failure();
  for (Operation *op : consumer.steps)
    if (failed(walkConsumerStep(op)))
      return failure();
  return success();
}

SmallVector<Section> RolesCheck::split(Block *block) {
  SmallVector<Section> sections(1);
  if (!block)
    return sections;
  for (Operation &op : *block) {
    if (isEvent(&op)) {
      sections.back().steps.push_back(&op);
    } else if (meetings.contains(&op)) {
      sections.back().meeting = &op;
      sections.emplace_back();
    }
  }
  return sections;
}

/// Follows a block of each role; a branch that is absent is empty.
LogicalResult RolesCheck::walk(Block *producer, Block *consumer,
                               Operation *owner) {
  if (isApart(producer, consumer))
    return walkApart(producer, consumer, owner);
  SmallVector<Section> here = split(producer), there = split(consumer);
  for (size_t number = 0;; ++number) {
    // Of a role that is not followed there is one section, without steps.
    if (followed == Followed::Producer && number != 0)
      there.emplace_back();
    if (followed == Followed::Consumers && number != 0)
      here.emplace_back();
    const Section &p = here[number], &c = there[number];
    if (failed(walkSteps(p, c)))
      return failure();
    if (!p.meeting && !c.meeting)
      return success();
    if ((p.meeting && c.meeting) || followed != Followed::Both) {
      if (failed(walkMeeting(p.meeting, c.meeting)))
        return failure();
      continue;
    }
    Operation *alone = p.meeting ? p.meeting : c.meeting;
    return alone->emitOpError("has steps of the ")
           << (p.meeting ? "producer" : "consumers") << ", but the "
           << (p.meeting ? "consumers have" : "producer has")
           << " no loop or branch with steps here";
  }
}

//===----------------------------------------------------------------------===//
// Branches
//===----------------------------------------------------------------------===//

LogicalResult RolesCheck::walkMeeting(Operation *producer,
                                      Operation *consumer) {
  Operation *any = consumer ? consumer : producer;
  for (const NumberedRing &ring : rings)
    if (llvm::any_of(ring.messages,
                     [](ArrayRef<Term> message) { return !message.empty(); }))
      return any->emitOpError(
          "expects messages and notes to be received before a loop or branch");
  bool isOne = !producer || !consumer;
  if (isOne || producer->getName() == consumer->getName()) {
    if (isa<scf::ForOp>(any))
      return walkFor(dyn_cast_if_present<scf::ForOp>(producer),
                     dyn_cast_if_present<scf::ForOp>(consumer));
    if (isa<scf::IfOp>(any))
      return walkIf(dyn_cast_if_present<scf::IfOp>(producer),
                    dyn_cast_if_present<scf::IfOp>(consumer));
    assert(!isOne && "expects no such loop where one role is followed");
    return walkWhile(cast<scf::WhileOp>(producer),
                     cast<scf::WhileOp>(consumer));
  }
  InFlightDiagnostic diag = consumer->emitOpError(
      "expects the loop or branch that the producer has here");
  diag.attachNote(producer->getLoc()) << "the producer's is here";
  return diag;
}

/// `a` if a condition holds, otherwise `b`. By their difference, so that what
/// counts from one number is equal to what counts from another.
Term RolesCheck::getChoice(const Term &condition, const Term &a,
                           const Term &b) {
  if (a == b)
    return a;
  return combine(b, terms.getNamed("if", a.bits, {condition, subtract(a, b)}));
}

LogicalResult RolesCheck::walkIf(scf::IfOp producer, scf::IfOp consumer) {
  SmallVector<scf::IfOp, 2> ops;
  for (scf::IfOp op : {producer, consumer})
    if (op)
      ops.push_back(op);
  Term condition = terms.get(ops.front().getCondition());
  if (ops.size() == 2 &&
      !terms.areEquivalent(condition, terms.get(consumer.getCondition()))) {
    InFlightDiagnostic diag =
        consumer.emitOpError("cannot prove that the condition is the same as "
                             "that of the producer");
    diag.attachNote(producer.getLoc()) << "the producer's branch is here";
    return diag;
  }
  if (ops.size() == 1 && !isSameForThreads(ops.front().getCondition()))
    return ops.front().emitOpError(
        "cannot prove that all threads of a role take the same branch");
  // Of a branch that is never taken, what is known contradicts itself.
  std::optional<APInt> decision = terms.getRange(condition).getConstantValue();
  SmallVector<NumberedRing> start = rings, ends[2];
  TermTable::Mark mark = terms.getMark();
  // What each branch gives for each integer result.
  SmallVector<Term> yields[2];
  for (bool isElse : {false, true}) {
    if (decision && decision->isZero() != isElse)
      continue;
    rings = start;
    terms.assume(condition, !isElse);
    auto getBlock = [&](scf::IfOp op) -> Block * {
      return !op ? nullptr : isElse ? op.elseBlock() : op.thenBlock();
    };
    if (failed(walk(getBlock(producer), getBlock(consumer), ops.back())))
      return failure();
    for (scf::IfOp op : ops)
      if (op.getNumResults() != 0)
        addTerms(getBlock(op)->getTerminator()->getOperands(), yields[isElse]);
    ends[isElse] = rings;
    terms.dropFacts(mark);
  }
  if (decision) {
    bool isElse = decision->isZero();
    yields[!isElse] = yields[isElse];
    ends[!isElse] = ends[isElse];
  }
  size_t next = 0;
  for (scf::IfOp op : ops)
    for (Value result : op.getResults())
      if (getBits(result.getType())) {
        terms.bind(result,
                   getChoice(condition, yields[0][next], yields[1][next]));
        ++next;
      }
  for (size_t number = 0; number < start.size(); ++number) {
    NumberedRing &ring = ends[0][number], &other = ends[1][number];

    if (ring.held != other.held || ring.waiting != other.waiting) {
      InFlightDiagnostic diag = ops.front().emitOpError(
          "expects as many tiles in a channel after one branch as after the "
          "other");
      diag.attachNote(ring.value.getLoc()) << "channel created here";
      return diag;
    }
    if (ring.released == other.released)
      continue;
    // A number of one branch that is right in the other one, too.
    auto isEqualIf = [&](bool holds) {
      terms.assume(condition, holds);
      bool isEqual = terms.areEqual(ring.released, other.released);
      terms.dropFacts(mark);
      return isEqual;
    };
    if (isEqualIf(false))
      continue;
    if (isEqualIf(true)) {
      ring.released = other.released;
      continue;
    }
    // Whoever needs the number has it from the same branches.
    ring.released = getChoice(condition, ring.released, other.released);
  }
  rings = std::move(ends[0]);
  return success();
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

LogicalResult RolesCheck::check() {
  WalkResult result = roles.op->walk([&](Operation *op) {
    if (!isEvent(op))
      return WalkResult::advance();
    if (!findRing(op)) {
      Value value = op->getOperand(0);
      Operation *source = value.getDefiningOp();
      if (!isa_and_nonnull<hopper::CreateChannelOp, hopper::CreateMailboxOp,
                           hopper::CreateTurnsOp>(source)) {
        op->emitOpError(
            "expects a channel, mailbox or turns that the kernel creates");
        return WalkResult::interrupt();
      }
      NumberedRing &ring = rings.emplace_back();
      ring.value = value;
      // A mailbox is a ring of two messages.
      auto channel = dyn_cast<hopper::ChannelType>(value.getType());
      ring.capacity = channel ? channel.getStages() : 2;
    }
    for (Operation *parent = op->getParentOp(); parent != roles.op;
         parent = parent->getParentOp()) {
      if (!isa<scf::ForOp, scf::WhileOp, scf::IfOp>(parent)) {
        parent->emitOpError("expects no step of a role in other control flow "
                            "than scf.for, scf.while and scf.if");
        return WalkResult::interrupt();
      }
      meetings.insert(parent);
    }
    return WalkResult::advance();
  });
  if (result.wasInterrupted() ||
      failed(
          walk(&roles.producer->front(), &roles.consumers->front(), roles.op)))
    return failure();
  for (const NumberedRing &ring : rings)
    if (ring.waiting != 0) {
      InFlightDiagnostic diag = roles.op.emitOpError("ends with ")
                                << ring.waiting
                                << " uses that no consumer has got";
      diag.attachNote(ring.value.getLoc()) << "created here";
      return diag;
    }
  return success();
}

LogicalResult protocol::verifyRoles(const Roles &roles) {
  return RolesCheck(roles).check();
}
