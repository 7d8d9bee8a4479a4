//===- ProtocolLoops.cpp - All iterations of a loop at once ---------------===//
//
// An iteration that starts from any numbers, of which some are equal, adds the
// same to those. With that the numbers of each iteration, and after the last
// one, are known.
//
//===----------------------------------------------------------------------===//

#include "ProtocolRoles.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::protocol;

LogicalResult RolesCheck::verifySame(Operation *producer, Operation *consumer,
                                     ArrayRef<NumberedRing> before) {
  for (auto [ring, start] : llvm::zip_equal(rings, before)) {
    if (ring.waiting == start.waiting && ring.held == start.held)
      continue;
    Operation *any = producer ? producer : consumer;
    int64_t more = ring.waiting - start.waiting;
    InFlightDiagnostic diag = any->emitOpError();
    if (more != 0)
      diag << "puts " << std::abs(more) << (more < 0 ? " fewer" : " more")
           << " in an iteration than the consumers get";
    else
      diag << "holds other tiles or turns after an iteration than before it";
    if (producer && consumer)
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
    for (Operation *loop : {producer, consumer})
      if (loop)
        terms.forget(loop);
    for (auto [pair, number] : llvm::zip(carried, numbers))
      terms.bind(pair.first, get(number));
    rings = start;
    for (auto [ring, number] : llvm::zip_equal(
             rings, MutableArrayRef(numbers).take_back(rings.size())))
      ring.released = get(number);
  };

  // Numbers that start a constant apart are taken to stay that far apart, until
  // an iteration shows that they do not; it starts from any numbers, as it says
  // by how much they grow.
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
  size_t numSplit = split([](Carried &number) {
    Term base = number.init;
    base.constant = 0;
    return std::pair(size_t(0), base);
  });
  bool wasMeasuring = std::exchange(isMeasuring, true);
  while (numGroups != numSplit) {
    numGroups = numSplit;
    SmallVector<Term> any(numGroups);
    for (Carried &number : numbers)
      if (any[number.group].isConstant())
        any[number.group] = terms.getFresh(number.init.bits);
    auto getStart = [&](Carried &number) {
      return add(any[number.group], number.init.constant);
    };
    set(getStart);
    FailureOr<SmallVector<Term>> next = body();
    if (failed(next) || failed(verifySame(producer, consumer, start)))
      return failure();
    for (const NumberedRing &ring : rings)
      next->push_back(ring.released);
    for (auto [number, after] : llvm::zip_equal(numbers, *next))
      number.growth = subtract(after, getStart(number));
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
      return add(
          terms.getNamed(name, bits, {identity, Term{64, number.group, {}}}),
          number.init.constant);
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
  SmallVector<scf::ForOp, 2> loops;
  for (scf::ForOp loop : {producer, consumer})
    if (loop)
      loops.push_back(loop);
  scf::ForOp first = loops.front(), last = loops.back();
  Term lower = terms.get(first.getLowerBound()),
       upper = terms.get(first.getUpperBound()),
       step = terms.get(first.getStep());
  if (!terms.areEqual(lower, terms.get(last.getLowerBound())) ||
      !terms.areEqual(upper, terms.get(last.getUpperBound())) ||
      !terms.areEqual(step, terms.get(last.getStep())) ||
      first.getUnsignedCmp() != last.getUnsignedCmp()) {
    InFlightDiagnostic diag = last.emitOpError(
        "cannot prove that the loop has as many iterations as that of the "
        "producer");
    diag.attachNote(first.getLoc()) << "the producer's loop is here";
    return diag;
  }
  if (loops.size() == 1 && !(isSameForThreads(first.getLowerBound()) &&
                             isSameForThreads(first.getUpperBound())))
    return first.emitOpError("cannot prove that all threads of a role do as "
                             "many iterations");
  // With steps of 1 and bounds in order, the difference.
  std::optional<Term> trip;
  if (step == Term{step.bits, 1, {}} && !first.getUnsignedCmp() &&
      terms.isAtMost(lower, upper))
    trip = subtract(upper, lower);
  else if (loops.size() == 1)
    return first.emitOpError("cannot prove that the loop has steps of 1, and "
                             "an end that is not before its start");
  SmallVector<std::pair<Value, Term>> carried;
  for (scf::ForOp loop : loops) {
    carried.push_back({loop.getInductionVar(), lower});
    addCarried(loop.getRegionIterArgs(), loop.getInitArgs(), carried);
  }
  auto body = [&]() -> FailureOr<SmallVector<Term>> {
    if (failed(walk(producer ? producer.getBody() : nullptr,
                    consumer ? consumer.getBody() : nullptr, last)))
      return failure();
    SmallVector<Term> next;
    for (scf::ForOp loop : loops) {
      next.push_back(combine(terms.get(loop.getInductionVar()), step));
      addTerms(loop.getYieldedValues(), next);
    }
    return next;
  };
  return walkLoop(
      producer, consumer, carried, trip, body, [&]() -> LogicalResult {
        for (scf::ForOp loop : loops)
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
