//===- ProtocolRoles.cpp - Producer and consumers side by side ------------===//
//
// Follows both roles at the same time. They meet at each loop and branch that
// has steps of the protocol, which must be the same for both; in between, the
// steps are run against each other.
//
// A loop is followed for all iterations at once: an iteration that starts from
// any numbers, of which some are equal, adds the same to those.
//
//===----------------------------------------------------------------------===//

#include "Protocol.h"
#include "ProtocolTerms.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::protocol;

namespace {
/// A ring, and the number of the first use that is not released.
struct NumberedRing : Ring {
  Term released;
  /// Of mailboxes: messages that have not been received.
  SmallVector<SmallVector<Term>> messages;
};

/// A number that changes from one iteration of a loop to the next.
struct Carried {
  Term init;
  /// What any iteration adds.
  Term growth;
  /// Which of the numbers it is equal to at the start of each iteration.
  size_t group = 0, next = 0;
};

/// Steps, and the loop or branch that follows them; none at the end.
struct Section {
  SmallVector<Operation *> steps;
  Operation *meeting = nullptr;
};

class RolesCheck {
public:
  explicit RolesCheck(hopper::WarpSpecializeOp roles) : roles(roles) {}
  LogicalResult check();

private:
  LogicalResult walk(Block *producer, Block *consumer, Operation *owner);
  LogicalResult walkSteps(const Section &producer, const Section &consumer);
  LogicalResult walkProducerStep(Operation *op);
  LogicalResult walkConsumerStep(Operation *op);
  LogicalResult walkMeeting(Operation *producer, Operation *consumer);
  LogicalResult walkIf(scf::IfOp producer, scf::IfOp consumer);
  LogicalResult walkFor(scf::ForOp producer, scf::ForOp consumer);
  LogicalResult walkWhile(scf::WhileOp producer, scf::WhileOp consumer);
  LogicalResult walkLoop(Operation *producer, Operation *consumer,
                         ArrayRef<std::pair<Value, Term>> carried,
                         std::optional<Term> trip,
                         function_ref<FailureOr<SmallVector<Term>>()> body,
                         function_ref<LogicalResult()> end);
  LogicalResult verifyNumber(Operation *op, Value number, const Term &expected);
  LogicalResult verifySame(Operation *producer, Operation *consumer,
                           ArrayRef<NumberedRing> before);
  SmallVector<Section> split(Block *block);
  NumberedRing *findRing(Operation *op);
  /// Those of the values that are integers.
  void addTerms(ValueRange values, SmallVectorImpl<Term> &list) {
    for (Value value : values)
      if (getBits(value.getType()))
        list.push_back(terms.get(value));
  }
  void addCarried(ValueRange arguments, ValueRange inits,
                  SmallVectorImpl<std::pair<Value, Term>> &list) {
    for (auto [argument, init] : llvm::zip_equal(arguments, inits))
      if (getBits(argument.getType()))
        list.push_back({argument, terms.get(init)});
  }

  hopper::WarpSpecializeOp roles;
  TermTable terms;
  SmallVector<NumberedRing> rings;
  /// Loops and branches with steps.
  DenseSet<Operation *> meetings;
  /// Whether numbers stand for any.
  bool isMeasuring = false;
};
} // namespace

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

NumberedRing *RolesCheck::findRing(Operation *op) {
  auto it = llvm::find_if(rings, [&](const NumberedRing &ring) {
    return ring.value == op->getOperand(0);
  });
  return it == rings.end() ? nullptr : &*it;
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

LogicalResult RolesCheck::walkProducerStep(Operation *op) {
  NumberedRing &ring = *findRing(op);
  if (failed(verifyNumber(op, op->getOperand(1),
                          add(ring.released, ring.held + ring.waiting))))
    return failure();
  if (auto post = dyn_cast<hopper::PostOp>(op))
    ring.messages.push_back(llvm::map_to_vector(
        post.getValues(), [&](Value value) { return terms.get(value); }));
  ++ring.waiting;
  return success();
}

LogicalResult RolesCheck::walkConsumerStep(Operation *op) {
  if (isa<hopper::TakeTurnOp, hopper::PassTurnOp>(op))
    return success();
  NumberedRing &ring = *findRing(op);
  bool isRelease = isa<hopper::ReleaseOp>(op);
  if (failed(verifyNumber(op, op->getOperand(1),
                          add(ring.released, isRelease ? 0 : ring.held))))
    return failure();
  if (isRelease) {
    --ring.held;
    ring.released = add(ring.released, 1);
    return success();
  }
  --ring.waiting;
  if (isa<hopper::GetOp>(op)) {
    ++ring.held;
    return success();
  }
  // A message is received and released at once.
  for (auto [result, term] :
       llvm::zip_equal(op->getResults(), ring.messages.front()))
    terms.bind(result, term);
  ring.messages.erase(ring.messages.begin());
  ring.released = add(ring.released, 1);
  return success();
}

LogicalResult RolesCheck::walkSteps(const Section &producer,
                                    const Section &consumer) {
  // All steps are done in some order; after that, numbers do not depend on it.
  SmallVector<Ring> counts(rings.begin(), rings.end());
  if (failed(runSteps(producer.steps, consumer.steps, roles.getNumConsumers(),
                      counts)))
    return failure();
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
  SmallVector<Section> here = split(producer), there = split(consumer);
  for (size_t number = 0;; ++number) {
    const Section &p = here[number], &c = there[number];
    if (failed(walkSteps(p, c)))
      return failure();
    if (!p.meeting && !c.meeting)
      return success();
    if (p.meeting && c.meeting) {
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
  for (const NumberedRing &ring : rings)
    if (!ring.messages.empty())
      return consumer->emitOpError(
          "expects messages to be received before a loop or branch");
  if (auto loop = dyn_cast<scf::ForOp>(producer))
    if (auto other = dyn_cast<scf::ForOp>(consumer))
      return walkFor(loop, other);
  if (auto loop = dyn_cast<scf::WhileOp>(producer))
    if (auto other = dyn_cast<scf::WhileOp>(consumer))
      return walkWhile(loop, other);
  if (auto branch = dyn_cast<scf::IfOp>(producer))
    if (auto other = dyn_cast<scf::IfOp>(consumer))
      return walkIf(branch, other);
  InFlightDiagnostic diag = consumer->emitOpError(
      "expects the loop or branch that the producer has here");
  diag.attachNote(producer->getLoc()) << "the producer's is here";
  return diag;
}

LogicalResult RolesCheck::walkIf(scf::IfOp producer, scf::IfOp consumer) {
  Term condition = terms.get(producer.getCondition());
  if (!terms.areEquivalent(condition, terms.get(consumer.getCondition()))) {
    InFlightDiagnostic diag =
        consumer.emitOpError("cannot prove that the condition is the same as "
                             "that of the producer");
    diag.attachNote(producer.getLoc()) << "the producer's branch is here";
    return diag;
  }
  SmallVector<NumberedRing> start = rings, ends[2];
  size_t numFacts = terms.getNumFacts();
  // What each branch gives for each integer result.
  SmallVector<Term> yields[2];
  for (bool isElse : {false, true}) {
    rings = start;
    terms.assume(condition, !isElse);
    auto getBlock = [&](scf::IfOp op) {
      return isElse ? op.elseBlock() : op.thenBlock();
    };
    if (failed(walk(getBlock(producer), getBlock(consumer), consumer)))
      return failure();
    for (scf::IfOp op : {producer, consumer})
      if (op.getNumResults() != 0)
        addTerms(getBlock(op)->getTerminator()->getOperands(), yields[isElse]);
    ends[isElse] = rings;
    terms.dropFacts(numFacts);
  }
  size_t next = 0;
  for (scf::IfOp op : {producer, consumer})
    for (Value result : op.getResults())
      if (unsigned bits = getBits(result.getType())) {
        const Term &a = yields[0][next], &b = yields[1][next];
        ++next;
        terms.bind(result,
                   a == b ? a : terms.getNamed("if", bits, {condition, a, b}));
      }
  for (size_t number = 0; number < start.size(); ++number) {
    NumberedRing &ring = ends[0][number], &other = ends[1][number];
    if (ring.held != other.held || ring.waiting != other.waiting) {
      InFlightDiagnostic diag = producer.emitOpError(
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
      terms.dropFacts(numFacts);
      return isEqual;
    };
    if (isEqualIf(false))
      continue;
    if (isEqualIf(true)) {
      ring.released = other.released;
      continue;
    }
    // Whoever needs the number has it from the same branches.
    ring.released = terms.getNamed("if", ring.released.bits,
                                   {condition, ring.released, other.released});
  }
  rings = std::move(ends[0]);
  return success();
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

LogicalResult RolesCheck::verifySame(Operation *producer, Operation *consumer,
                                     ArrayRef<NumberedRing> before) {
  for (auto [ring, start] : llvm::zip_equal(rings, before)) {
    if (ring.waiting == start.waiting && ring.held == start.held)
      continue;
    int64_t more = ring.waiting - start.waiting;
    InFlightDiagnostic diag = producer->emitOpError("puts ")
                              << std::abs(more)
                              << (more < 0 ? " fewer" : " more")
                              << " in an iteration than the consumers get";
    diag.attachNote(consumer->getLoc()) << "the consumers' loop is here";
    diag.attachNote(ring.value.getLoc()) << "created here";
    return diag;
  }
  return success();
}

/// Follows a loop whose arguments and first values are `carried`. `body` gives
/// the next values; `end` follows what a loop does when it ends. Without a
/// `trip` count it is a new number.
LogicalResult
RolesCheck::walkLoop(Operation *producer, Operation *consumer,
                     ArrayRef<std::pair<Value, Term>> carried,
                     std::optional<Term> trip,
                     function_ref<FailureOr<SmallVector<Term>>()> body,
                     function_ref<LogicalResult()> end) {
  SmallVector<NumberedRing> start = rings;
  SmallVector<Carried> numbers;
  for (auto &[argument, init] : carried)
    numbers.push_back({init, {}});
  for (const NumberedRing &ring : start)
    numbers.push_back({ring.released, {}});
  auto set = [&](function_ref<Term(Carried &)> get) {
    terms.forget(producer);
    terms.forget(consumer);
    for (auto [pair, number] : llvm::zip(carried, numbers))
      terms.bind(pair.first, get(number));
    rings = start;
    for (auto [ring, number] : llvm::zip_equal(
             rings, MutableArrayRef(numbers).take_back(rings.size())))
      ring.released = get(number);
  };

  // Numbers that start equal are taken for one, until an iteration shows that
  // they do not stay equal; from any numbers, as it says by how much they grow.
  auto split = [&](auto getKey) {
    SmallVector<std::pair<size_t, Term>> keys;
    for (Carried &number : numbers) {
      auto it = llvm::find(keys, getKey(number));
      if (it == keys.end())
        it = keys.insert(keys.end(), getKey(number));
      number.next = it - keys.begin();
    }
    for (Carried &number : numbers)
      number.group = number.next;
    return keys.size();
  };
  size_t numGroups = 0;
  size_t numSplit =
      split([](Carried &number) { return std::pair(size_t(0), number.init); });
  bool wasMeasuring = std::exchange(isMeasuring, true);
  while (numGroups != numSplit) {
    numGroups = numSplit;
    SmallVector<Term> any(numGroups);
    for (Carried &number : numbers)
      if (any[number.group].isConstant())
        any[number.group] = terms.getFresh(number.init.bits);
    set([&](Carried &number) { return any[number.group]; });
    FailureOr<SmallVector<Term>> next = body();
    if (failed(next) || failed(verifySame(producer, consumer, start)))
      return failure();
    for (const NumberedRing &ring : rings)
      next->push_back(ring.released);
    for (auto [number, after] : llvm::zip_equal(numbers, *next))
      number.growth = subtract(after, any[number.group]);
    numSplit = split(
        [](Carried &number) { return std::pair(number.group, number.growth); });
  }
  isMeasuring = wasMeasuring;

  // Those that grow by a constant are a multiple of the number of the
  // iteration.
  Term identity = terms.getFresh(64);
  auto get = [&](Carried &number, StringRef name, std::optional<Term> count) {
    unsigned bits = number.init.bits;
    if (!number.growth.isConstant())
      return terms.getNamed(name, bits, {identity, Term{64, number.group, {}}});
    Term factor = count && count->bits == bits
                      ? *count
                      : terms.getNamed(name, bits, {identity});
    return combine(number.init, factor, number.growth.constant);
  };
  set([&](Carried &number) { return get(number, "iteration", {}); });
  if (failed(body()))
    return failure();
  set([&](Carried &number) { return get(number, "end", trip); });
  return end();
}

LogicalResult RolesCheck::walkFor(scf::ForOp producer, scf::ForOp consumer) {
  Term lower = terms.get(producer.getLowerBound()),
       upper = terms.get(producer.getUpperBound()),
       step = terms.get(producer.getStep());
  if (!terms.areEqual(lower, terms.get(consumer.getLowerBound())) ||
      !terms.areEqual(upper, terms.get(consumer.getUpperBound())) ||
      !terms.areEqual(step, terms.get(consumer.getStep())) ||
      producer.getUnsignedCmp() != consumer.getUnsignedCmp()) {
    InFlightDiagnostic diag = consumer.emitOpError(
        "cannot prove that the loop has as many iterations as that of the "
        "producer");
    diag.attachNote(producer.getLoc()) << "the producer's loop is here";
    return diag;
  }
  // With steps of 1 and bounds in order, the difference.
  std::optional<Term> trip;
  if (step == Term{step.bits, 1, {}} && !producer.getUnsignedCmp() &&
      terms.getRange(upper).smin().sge(terms.getRange(lower).smax()))
    trip = subtract(upper, lower);
  SmallVector<std::pair<Value, Term>> carried;
  for (scf::ForOp loop : {producer, consumer}) {
    carried.push_back({loop.getInductionVar(), lower});
    addCarried(loop.getRegionIterArgs(), loop.getInitArgs(), carried);
  }
  auto body = [&]() -> FailureOr<SmallVector<Term>> {
    if (failed(walk(producer.getBody(), consumer.getBody(), consumer)))
      return failure();
    SmallVector<Term> next;
    for (scf::ForOp loop : {producer, consumer}) {
      next.push_back(combine(terms.get(loop.getInductionVar()), step));
      addTerms(loop.getYieldedValues(), next);
    }
    return next;
  };
  return walkLoop(
      producer, consumer, carried, trip, body, [&]() -> LogicalResult {
        for (scf::ForOp loop : {producer, consumer})
          for (auto [argument, result] :
               llvm::zip(loop.getRegionIterArgs(), loop.getResults()))
            if (getBits(result.getType()))
              terms.bind(result, terms.get(argument));
        return success();
      });
}

LogicalResult RolesCheck::walkWhile(scf::WhileOp producer,
                                    scf::WhileOp consumer) {
  SmallVector<std::pair<Value, Term>> carried;
  for (scf::WhileOp loop : {producer, consumer})
    addCarried(loop.getBeforeArguments(), loop.getInits(), carried);
  auto walkBefore = [&](auto getTargets) -> LogicalResult {
    if (failed(
            walk(producer.getBeforeBody(), consumer.getBeforeBody(), consumer)))
      return failure();
    if (!terms.areEquivalent(
            terms.get(producer.getConditionOp().getCondition()),
            terms.get(consumer.getConditionOp().getCondition()))) {
      InFlightDiagnostic diag = consumer.emitOpError(
          "cannot prove that the loop has as many iterations as that of the "
          "producer");
      diag.attachNote(producer.getLoc()) << "the producer's loop is here";
      return diag;
    }
    for (scf::WhileOp loop : {producer, consumer})
      for (auto [value, target] : llvm::zip_equal(
               loop.getConditionOp().getArgs(), ValueRange(getTargets(loop))))
        if (getBits(target.getType()))
          terms.bind(target, terms.get(value));
    return success();
  };
  auto body = [&]() -> FailureOr<SmallVector<Term>> {
    if (failed(walkBefore(
            [](scf::WhileOp loop) { return loop.getAfterArguments(); })) ||
        failed(
            walk(producer.getAfterBody(), consumer.getAfterBody(), consumer)))
      return failure();
    SmallVector<Term> next;
    for (scf::WhileOp loop : {producer, consumer})
      addTerms(loop.getYieldOp().getOperands(), next);
    return next;
  };
  return walkLoop(producer, consumer, carried, std::nullopt, body, [&] {
    return walkBefore([](scf::WhileOp loop) { return loop.getResults(); });
  });
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

LogicalResult RolesCheck::check() {
  WalkResult result = roles->walk([&](Operation *op) {
    if (!isEvent(op))
      return WalkResult::advance();
    if (!isa<hopper::TakeTurnOp, hopper::PassTurnOp>(op) && !findRing(op)) {
      Value value = op->getOperand(0);
      Operation *source = value.getDefiningOp();
      if (!isa_and_nonnull<hopper::CreateChannelOp, hopper::CreateMailboxOp>(
              source)) {
        op->emitOpError("expects a channel or mailbox that the kernel creates");
        return WalkResult::interrupt();
      }
      NumberedRing &ring = rings.emplace_back();
      ring.value = value;
      // A mailbox is a ring of two messages.
      auto channel = dyn_cast<hopper::ChannelType>(value.getType());
      ring.capacity = channel ? channel.getStages() : 2;
    }
    for (Operation *parent = op->getParentOp(); parent != roles;
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
      failed(walk(&roles.getProducer().front(), &roles.getConsumers().front(),
                  roles)))
    return failure();
  for (const NumberedRing &ring : rings)
    if (ring.waiting != 0) {
      InFlightDiagnostic diag = roles.emitOpError("ends with ")
                                << ring.waiting
                                << " uses that no consumer has got";
      diag.attachNote(ring.value.getLoc()) << "created here";
      return diag;
    }
  return success();
}

LogicalResult protocol::verifyRoles(hopper::WarpSpecializeOp roles) {
  return RolesCheck(roles).check();
}
