//===- ProtocolRanges.cpp - Roles with other loops than each other --------===//
//
// The producer's loop may be several loops of a consumer, over parts of its
// range that each consumer chooses for itself. What each role uses is added up
// by following it alone; in which order, by running each way through the roles.
//
// A deadlock is a state in which each role is done, or waits for a count of
// another one. If each role has done a whole iteration in it, the state without
// one of those of each is a deadlock, too: all iterations use all rings equally
// often, so that all counts become smaller by the same. So are those that each
// role has not begun. In a smallest deadlock, some role has done no whole
// iteration, and some role has none before it. As the two are at most the tiles
// of a channel apart, there are so few iterations that all are run.
//
//===----------------------------------------------------------------------===//

#include "ProtocolRoles.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::protocol;

/// By ring.
using Counts = SmallVector<int64_t, 8>;

/// More than any kernel of the compiler has.
static constexpr size_t kMaxWays = 64, kMaxRuns = 256;

//===----------------------------------------------------------------------===//
// Ways
//===----------------------------------------------------------------------===//

/// Whether the roles may be followed alone.
static bool canBeAlone(Block *block) {
  return !block ||
         !block
              ->walk([](Operation *op) {
                auto channel =
                    isa<hopper::PutOp, hopper::GetOp>(op)
                        ? cast<hopper::ChannelType>(op->getOperand(0).getType())
                        : hopper::ChannelType();
                return isa<hopper::PostOp, hopper::ReceiveOp, scf::WhileOp>(
                           op) ||
                               (channel && channel.getNotes())
                           ? WalkResult::interrupt()
                           : WalkResult::advance();
              })
              .wasInterrupted();
}

/// Whether the blocks have not the same loops and branches with steps.
bool RolesCheck::isApart(Block *producer, Block *consumer) {
  if (followed != Followed::Both || !canBeAlone(producer) ||
      !canBeAlone(consumer))
    return false;
  std::function<bool(Block *, Block *)> areAlike = [&](Block *a, Block *b) {
    return llvm::all_of_zip(
        split(a), split(b), [&](const Section &x, const Section &y) {
          if (!x.meeting || !y.meeting)
            return x.meeting == y.meeting;
          if (x.meeting->getName() != y.meeting->getName())
            return false;
          auto getBlock = [](Region &region) {
            return region.empty() ? nullptr : &region.front();
          };
          return llvm::all_of_zip(x.meeting->getRegions(),
                                  y.meeting->getRegions(),
                                  [&](Region &r, Region &s) {
                                    return areAlike(getBlock(r), getBlock(s));
                                  });
        });
  };
  return !areAlike(producer, consumer);
}

/// All ways through a block.
LogicalResult RolesCheck::addWays(Block *block, SmallVectorImpl<Way> &ways) {
  ways.assign(1, Way());
  for (const Section &section : split(block)) {
    Way::Piece straight{getSteps(section.steps), nullptr};
    if (!straight.steps.empty())
      for (Way &way : ways)
        way.pieces.push_back(straight);
    if (!section.meeting)
      continue;
    if (auto loop = dyn_cast<scf::ForOp>(section.meeting)) {
      SmallVector<Section> body = split(loop.getBody());
      if (body.size() != 1)
        return body.front().meeting->emitOpError(
            "has steps in a loop that the roles have not in common");
      Way::Piece piece{getSteps(body.front().steps), loop};
      for (Way &way : ways)
        way.pieces.push_back(piece);
      continue;
    }
    auto branch = cast<scf::IfOp>(section.meeting);
    SmallVector<Way> all;
    for (Block *side : {branch.thenBlock(), branch.elseBlock()}) {
      SmallVector<Way> inner;
      if (failed(addWays(side, inner)))
        return failure();
      for (const Way &first : ways)
        for (const Way &next : inner)
          llvm::append_range(all.emplace_back(first).pieces, next.pieces);
    }
    if (all.size() > kMaxWays)
      return branch.emitOpError("makes too many ways through a role");
    ways = std::move(all);
  }
  return success();
}

/// Uses that begin in some steps.
static void addUses(ArrayRef<Step> steps, Counts &counts) {
  for (const Step &step : steps)
    if (step.kind == Step::Kind::Put || step.kind == Step::Kind::Get ||
        step.kind == Step::Kind::Take)
      ++counts[step.ring];
}

/// Uses outside of loops.
static Counts getSingleUses(const Way &way, size_t numRings) {
  Counts counts(numRings);
  for (const Way::Piece &piece : way.pieces)
    if (!piece.loop)
      addUses(piece.steps, counts);
  return counts;
}

/// What each iteration of all loops uses, or an error.
static FailureOr<Counts> getIterationUses(ArrayRef<Way> producer,
                                          ArrayRef<Way> consumer,
                                          ArrayRef<NumberedRing> rings) {
  Counts uses(rings.size());
  // The loop by which it is known, of channels and of turns.
  Operation *known[2] = {};
  for (bool isProducer : {true, false})
    for (const Way &way : isProducer ? producer : consumer)
      for (const Way::Piece &piece : way.pieces) {
        if (!piece.loop)
          continue;
        Counts counts(rings.size());
        addUses(piece.steps, counts);
        for (auto [number, ring] : llvm::enumerate(rings)) {
          Operation *other = known[ring.isTurns()];
          if ((ring.isTurns() && isProducer) || uses[number] == counts[number])
            continue;
          if (!other) {
            uses[number] = counts[number];
            continue;
          }
          InFlightDiagnostic diag = piece.loop->emitOpError("begins with ")
                                    << counts[number]
                                    << " uses of a ring in an iteration";
          diag.attachNote(other->getLoc())
              << "and this loop with " << uses[number];
          diag.attachNote(ring.value.getLoc()) << "created here";
          return failure();
        }
        if (llvm::all_of_zip(counts, rings,
                             [](int64_t count, const NumberedRing &ring) {
                               return count == 0 || ring.isTurns();
                             }))
          return piece.loop->emitOpError(
              "has steps, but no use of a channel, in an iteration");
        if (!known[0])
          known[0] = piece.loop;
        if (!known[1] && !isProducer)
          known[1] = piece.loop;
      }
  return uses;
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

/// The steps of a way whose loops have some numbers of iterations, for all that
/// add up to `numIterations`.
static void addRuns(const Way &way, int64_t numIterations,
                    SmallVectorImpl<SmallVector<Step>> &runs) {
  std::function<void(ArrayRef<Way::Piece>, int64_t, size_t, SmallVector<Step>)>
      extend = [&](ArrayRef<Way::Piece> pieces, int64_t rest, size_t numLoops,
                   SmallVector<Step> steps) {
        while (!pieces.empty() && !pieces.front().loop) {
          llvm::append_range(steps, pieces.front().steps);
          pieces = pieces.drop_front();
        }
        if (pieces.empty()) {
          if (rest == 0)
            runs.push_back(std::move(steps));
          return;
        }
        for (int64_t trip = 0; trip <= rest; ++trip) {
          if (numLoops > 1 || trip == rest)
            extend(pieces.drop_front(), rest - trip, numLoops - 1, steps);
          llvm::append_range(steps, pieces.front().steps);
        }
      };
  extend(way.pieces, numIterations, way.getNumLoops(), {});
}

/// Runs all ways of the consumers against those of the producer that use as
/// many tiles.
///
/// Two consumers are enough, and one if there are no turns: if all roles wait,
/// the producer does so for one that waits for the producer, or for its turn.
/// In the latter case whoever has the turn waits for the producer. Without the
/// other consumers these three can do what they have done, and would wait, too.
LogicalResult RolesCheck::runWays(ArrayRef<Way> producer,
                                  ArrayRef<Way> consumer, Operation *owner) {
  size_t numRings = rings.size();
  FailureOr<Counts> uses = getIterationUses(producer, consumer, rings);
  if (failed(uses))
    return failure();
  // Runs do not depend on numbers.
  if (isMeasuring)
    return success();
  Counts most(numRings);
  bool hasTurns = false;
  for (ArrayRef<Way> ways : {producer, consumer})
    for (const Way &way : ways) {
      Counts single = getSingleUses(way, numRings);
      for (size_t ring = 0; ring < numRings; ++ring) {
        most[ring] = std::max(most[ring], single[ring]);
        hasTurns |= rings[ring].isTurns() && single[ring] + (*uses)[ring] > 0;
      }
    }
  bool hasPairs = hasTurns && roles.numConsumers > 1;

  auto runAll = [&](const Way &way, const Counts &single,
                    int64_t numIterations) -> LogicalResult {
    SmallVector<SmallVector<Step>> puts, gets;
    addRuns(way, numIterations, puts);
    for (const Way &other : consumer) {
      Counts otherSingle = getSingleUses(other, numRings);
      // Iterations that make up for other uses outside of loops.
      int64_t more = 0;
      for (size_t ring = 0; ring < numRings; ++ring)
        if ((*uses)[ring] != 0 && !rings[ring].isTurns())
          more = (single[ring] - otherSingle[ring]) / (*uses)[ring];
      bool isEqual = numIterations + more >= 0;
      for (size_t ring = 0; ring < numRings; ++ring)
        isEqual &= rings[ring].isTurns() ||
                   single[ring] == otherSingle[ring] + more * (*uses)[ring];
      if (isEqual)
        addRuns(other, numIterations + more, gets);
    }
    if (puts.size() * gets.size() > kMaxRuns)
      return owner->emitOpError("has too many ways to run");
    auto getTurns = [&](ArrayRef<Step> steps) {
      Counts counts(numRings);
      addUses(steps, counts);
      return counts;
    };
    auto run = [&](ArrayRef<Step> put, ArrayRef<ArrayRef<Step>> get) {
      SmallVector<Ring> counts(rings.begin(), rings.end());
      return runSteps(put, get, counts);
    };
    SmallVector<Counts> turns;
    for (const SmallVector<Step> &get : gets)
      turns.push_back(getTurns(get));
    for (const SmallVector<Step> &put : puts)
      for (size_t first = 0; first < gets.size(); ++first) {
        if (!hasPairs) {
          if (failed(run(put, {gets[first]})))
            return failure();
          continue;
        }
        for (size_t second = 0; second < gets.size(); ++second)
          if (turns[first] == turns[second] &&
              failed(run(put, {gets[first], gets[second]})))
            return failure();
      }
    return success();
  };
  for (const Way &way : producer) {
    Counts single = getSingleUses(way, numRings);
    auto isEnough = [&](int64_t numIterations) {
      for (size_t ring = 0; ring < numRings; ++ring)
        if ((*uses)[ring] != 0 && !rings[ring].isTurns() &&
            single[ring] + numIterations * (*uses)[ring] >
                rings[ring].capacity + 2 * (most[ring] + (*uses)[ring]))
          return true;
      return false;
    };
    bool hasLoop = way.getNumLoops() != 0;
    for (int64_t number = 0; number == 0 || (hasLoop && !isEnough(number));
         ++number)
      if (failed(runAll(way, single, number)))
        return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// Checks that each consumer has used what the producer has put, and that all
/// have taken as many turns. `puts` are the producer's rings.
LogicalResult RolesCheck::verifyEqualUses(ArrayRef<NumberedRing> start,
                                          ArrayRef<NumberedRing> puts,
                                          Operation *owner) {
  auto getUses = [&](size_t number) {
    return subtract(rings[number].released, start[number].released);
  };
  for (auto [number, ring] : llvm::enumerate(rings)) {
    if (ring.held != start[number].held) {
      InFlightDiagnostic diag =
          owner->emitOpError("leaves another number of tiles or turns held");
      diag.attachNote(ring.value.getLoc()) << "created here";
      return diag;
    }
    bool isEqual;
    if (!ring.isTurns()) {
      isEqual = terms.areEqual(add(ring.released, ring.held + ring.waiting),
                               puts[number].released);
    } else {
      // As often as something that all have used equally.
      Term turns = getUses(number);
      isEqual = roles.numConsumers == 1 || turns.isConstant();
      for (size_t other = 0; other < rings.size() && !isEqual; ++other)
        isEqual =
            !rings[other].isTurns() && terms.areEqual(turns, getUses(other));
    }
    if (isEqual)
      continue;
    InFlightDiagnostic diag =
        owner->emitOpError("cannot prove that ")
        << (ring.isTurns()
                ? "all consumers take as many turns"
                : "consumers use a channel as often as the producer");
    diag.attachNote(ring.value.getLoc()) << "created here";
    return diag;
  }
  return success();
}

LogicalResult RolesCheck::walkApart(Block *producer, Block *consumer,
                                    Operation *owner) {
  SmallVector<Way> puts, gets;
  if (failed(addWays(producer, puts)) || failed(addWays(consumer, gets)))
    return failure();
  SmallVector<NumberedRing> start = rings;
  if (failed(getIterationUses(puts, gets, rings)))
    return failure();
  for (NumberedRing &ring : rings) {
    ring.released = add(ring.released, ring.held + ring.waiting);
    ring.held = ring.waiting = 0;
  }
  followed = Followed::Producer;
  if (failed(walk(producer, nullptr, owner)))
    return failure();
  SmallVector<NumberedRing> producerRings = std::exchange(rings, start);
  followed = Followed::Consumers;
  if (failed(walk(nullptr, consumer, owner)))
    return failure();
  followed = Followed::Both;
  if (failed(verifyEqualUses(start, producerRings, owner)))
    return failure();
  return runWays(puts, gets, owner);
}
