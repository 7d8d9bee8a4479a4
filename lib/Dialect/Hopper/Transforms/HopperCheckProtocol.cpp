//===- HopperCheckProtocol.cpp - No partition waits for ever --------------===//
//
// What partitions wait for is a graph. Its nodes are the events of one
// iteration of a loop: put, get and release of a channel, and taking and
// passing on a turn. An edge `a -> b` of distance `d` says that `b` of an
// iteration comes after `a` of the iteration `d` before:
//
//   in one partition, from event to event               0
//   from its last event to its first                    1
//   put -> get                    stage(get) - stage(put)
//   release -> put      stages + stage(put) - stage(release)
//   ping_pong_arrive of a replica -> ping_pong_wait of the next     0, of the
//   first one 1
//   hold_turn -> reduce_add       stage(reduce_add) - stage(hold_turn)
//   reduce_add that gives a turn back -> pass_turn
//                             stage(pass_turn) - stage(reduce_add)
//
// Some partition waits for ever if and only if there is a cycle whose distances
// sum up to 0 or less. Replicas may pass over blocks that they do not need:
// they take and pass on a turn, and give back what comes, block after block, as
// if all were of stage 0. So the graph is looked at for each set of replicas
// that do so.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Hopper/Transforms/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include <tuple>

namespace mlir::attn {
#define GEN_PASS_DEF_HOPPERCHECKPROTOCOLPASS
#include "attn/Dialect/Hopper/Transforms/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::hopper;

namespace {
enum class EventKind {
  Put,
  Get,
  Release,
  PingPongWait,
  PingPongArrive,
  HoldTurn,
  TakeTurn,
  GiveTurn,
  PassTurn,
  Enter,
  Leave
};

struct Event {
  EventKind kind;
  /// What the event is of: a channel, turns, or null.
  Value channel;
  Operation *op;
  int64_t stage = 0;
};

struct Edge {
  unsigned from, to;
  int64_t distance;
};

/// The events of an iteration of one loop, in all partitions.
class Protocol {
public:
  Protocol(int64_t replicas, int64_t inFlight)
      : replicas(replicas), inFlight(inFlight) {}

  void addLoop(PipelinedForOp loop);
  void addPassed(PipelinedForOp loop);
  bool hasPingPong(StringRef partition);
  void addWork(WorkLoopOp loop);
  LogicalResult check(Operation *loop);

private:
  using Events = SmallVector<Event>;
  /// By partition, in the order in which they happen.
  llvm::MapVector<StringRef, Events> partitions;
  /// The same of blocks that are passed over.
  llvm::StringMap<Events> passed;
  void connect(unsigned passing);
  LogicalResult check(Operation *loop, unsigned passing);
  void addSequence(const Events &events, unsigned replica);

  int64_t replicas, inFlight;
  SmallVector<Event> nodes;
  SmallVector<unsigned> replicaOf;
  SmallVector<Edge> edges;
};
} // namespace

static int64_t getStages(Value channel) {
  return cast<ChannelType>(channel.getType()).getStages();
}

static std::optional<EventKind> getKind(Operation *op) {
  if (isa<PutOp, PutVectorOp, PutFragmentOp, PutBF16x3Op>(op))
    return EventKind::Put;
  if (isa<GetOp>(op))
    return EventKind::Get;
  if (isa<ReleaseOp>(op))
    return EventKind::Release;
  if (isa<HoldTurnOp>(op))
    return EventKind::HoldTurn;
  if (isa<PassTurnOp>(op))
    return EventKind::PassTurn;
  if (isa<TakeTurnOp>(op))
    return EventKind::TakeTurn;
  if (isa<GiveTurnOp>(op))
    return EventKind::GiveTurn;
  return std::nullopt;
}

/// The channel of such an operation, or the turns.
static Value getRing(Operation *op) { return op->getOperand(0); }

namespace {
/// A product of an iteration: the number of its step, and of the one in front
/// of which it is waited for.
struct Product {
  DotOp dot;
  int64_t place, wait;
};
} // namespace

/// The number of the first step in which the result of a product is needed:
/// that of the product, or a later one, at the latest the end of the iteration.
static int64_t getNeed(PipelinedForOp loop, DotOp dot, int64_t own) {
  auto step = dot->getParentOfType<hopper::StepOp>();
  int64_t needed = loop.getSchedule().size();
  for (OpOperand &use : dot->getUses()) {
    if (!isa<EndOp>(use.getOwner()) || use.getOwner()->getParentOp() != step)
      return own;
    for (Operation *later : step.getResult(use.getOperandNumber()).getUsers()) {
      auto user = later->getParentOfType<hopper::StepOp>();
      if (!user || user->getParentOp() != loop)
        continue;
      // One of a later stage has it in another iteration.
      auto [at, stage] = loop.getPlace(user.getName());
      if (stage == loop.getPlace(step.getName()).second && at > own)
        needed = std::min(needed, at);
    }
  }
  return needed;
}

/// The products of a partition in the order in which an iteration starts them.
/// Waiting for one is waiting for all before; of more than may be in flight the
/// first one is waited for when the last one has been started.
static SmallVector<Product> getProducts(PipelinedForOp loop,
                                        StringRef partition, int64_t inFlight) {
  SmallVector<Product> products;
  for (auto place : loop.getSchedule().getAsRange<PlaceAttr>())
    for (auto step : loop.getBlock()->getOps<hopper::StepOp>())
      if (step.getName() == place.getName() && step.getPartition() == partition)
        step.walk([&](DotOp dot) {
          int64_t own = loop.getPlace(step.getName()).first;
          products.push_back({dot, own, getNeed(loop, dot, own)});
        });
  for (size_t number = products.size(); number-- > 0;) {
    Product &product = products[number];
    if (number + 1 < products.size())
      product.wait = std::min(product.wait, products[number + 1].wait);
    size_t last = number + inFlight - 1;
    if (inFlight > 0 && last < products.size())
      product.wait = std::min(product.wait, products[last].place + 1);
  }
  return products;
}

/// The number of the step, in the order of the loop, in front of which a tile
/// is given back: when the products that read it are waited for.
static int64_t getReleasePlace(ReleaseOp release, int64_t own,
                               ArrayRef<Product> products) {
  int64_t place = own;
  for (const Product &product : products) {
    DotOp dot = product.dot;
    for (Value operand : {dot.getLhs(), Value(dot.getRhs())})
      if (getChannelOf(operand) == release.getChannel())
        place = std::max(place, product.wait);
  }
  return place;
}

void Protocol::addLoop(PipelinedForOp loop) {
  /// In front of the step with number `place`, or as a part of it.
  struct Placed {
    int64_t place;
    bool isPart;
    int64_t number;
    Event event;
  };
  llvm::MapVector<StringRef, SmallVector<Placed>> placed;
  int64_t number = 0, first = INT64_MAX, last = -1, turnStage = 0;
  for (auto name : loop.getExclusive().getAsRange<StringAttr>()) {
    auto [order, stage] = loop.getPlace(name.getValue());
    first = std::min(first, order);
    last = std::max(last, order);
    turnStage = std::max(turnStage, stage);
  }
  int64_t order = -1;
  for (PlaceAttr place : loop.getSchedule().getAsRange<PlaceAttr>()) {
    ++order;
    for (auto step : loop.getBlock()->getOps<hopper::StepOp>()) {
      if (step.getName() != place.getName())
        continue;
      auto &events = placed[step.getPartition()];
      SmallVector<Product> products =
          getProducts(loop, step.getPartition(), inFlight);
      if (replicas > 1 && order == first)
        events.push_back({order,
                          true,
                          number++,
                          {EventKind::PingPongWait, Value(), step, turnStage}});
      step.walk([&](Operation *op) {
        std::optional<EventKind> kind = getKind(op);
        if (!kind)
          return;
        auto release = dyn_cast<ReleaseOp>(op);
        int64_t own =
            release ? getReleasePlace(release, order, products) : order;
        events.push_back({own,
                          own == order,
                          number++,
                          {*kind, getRing(op), op, place.getStage()}});
      });
      if (replicas > 1 && order == last)
        events.push_back(
            {order,
             true,
             number++,
             {EventKind::PingPongArrive, Value(), step, turnStage}});
    }
  }
  for (auto &[partition, events] : placed) {
    llvm::sort(events, [](const Placed &a, const Placed &b) {
      return std::tuple(a.place, a.isPart, a.number) <
             std::tuple(b.place, b.isPart, b.number);
    });
    for (Placed &event : events)
      partitions[partition].push_back(event.event);
  }
  addPassed(loop);
}

/// As hopper-pipeline writes it.
void Protocol::addPassed(PipelinedForOp loop) {
  auto pass = [&](hopper::StepOp step) {
    Events &events = passed[step.getPartition()];
    if (events.empty() && !loop.getExclusive().empty() &&
        hasPingPong(step.getPartition()))
      for (EventKind kind :
           {EventKind::PingPongWait, EventKind::PingPongArrive})
        events.push_back({kind, Value(), step});
    step.walk([&](GetOp get) {
      for (EventKind kind : {EventKind::Get, EventKind::Release})
        events.push_back({kind, get.getChannel(), get});
    });
  };
  int64_t lastStage = 0;
  for (auto place : loop.getSchedule().getAsRange<PlaceAttr>())
    lastStage = std::max(lastStage, place.getStage());
  for (int64_t stage : llvm::seq(lastStage + 1))
    for (auto place : loop.getSchedule().getAsRange<PlaceAttr>())
      for (auto step : loop.getBlock()->getOps<hopper::StepOp>())
        if (place.getStage() == stage && step.getName() == place.getName())
          pass(step);
}

bool Protocol::hasPingPong(StringRef partition) {
  return llvm::any_of(partitions[partition], [](const Event &event) {
    return event.kind == EventKind::PingPongWait;
  });
}

/// Steps of a work tile run in the order in which they are written. Of a loop
/// in it, all partitions that have steps there wait for each other.
void Protocol::addWork(WorkLoopOp loop) {
  for (Operation &op : *loop.getBlock()) {
    if (auto step = dyn_cast<hopper::StepOp>(op)) {
      step.walk([&](Operation *inner) {
        if (std::optional<EventKind> kind = getKind(inner))
          partitions[step.getPartition()].push_back(
              {*kind, getRing(inner), inner});
      });
      continue;
    }
    auto inner = dyn_cast<PipelinedForOp>(op);
    if (!inner)
      continue;
    llvm::SetVector<StringRef> names;
    for (auto step : inner.getBlock()->getOps<hopper::StepOp>())
      names.insert(step.getPartition());
    for (StringRef name : names)
      for (EventKind kind : {EventKind::Enter, EventKind::Leave})
        partitions[name].push_back({kind, Value(), inner});
  }
}

void Protocol::addSequence(const Events &events, unsigned replica) {
  unsigned first = nodes.size();
  for (const Event &event : events) {
    if (nodes.size() > first)
      edges.push_back({unsigned(nodes.size() - 1), unsigned(nodes.size()), 0});
    nodes.push_back(event);
    replicaOf.push_back(replica);
  }
  edges.push_back({unsigned(nodes.size() - 1), first, 1});
}

void Protocol::connect(unsigned passing) {
  nodes.clear();
  replicaOf.clear();
  edges.clear();
  for (auto &[partition, events] : partitions) {
    if (events.empty())
      continue;
    // What copies has no replicas, and passes over nothing, as what gives tiles
    // to others does not.
    bool copies = false, gives = false;
    for (const Event &event : events) {
      copies |= isa<PutOp, PutVectorOp, PutBF16x3Op>(event.op);
      gives |= event.kind == EventKind::Put ||
               event.kind == EventKind::HoldTurn ||
               event.kind == EventKind::TakeTurn ||
               event.kind == EventKind::GiveTurn;
    }
    for (unsigned replica = 0; replica < (copies ? 1 : replicas); ++replica) {
      bool passes = !gives && (passing >> replica & 1);
      auto it = passed.find(partition);
      if (!passes)
        addSequence(events, replica);
      else if (it != passed.end() && !it->second.empty())
        addSequence(it->second, replica);
    }
  }
  auto count = static_cast<unsigned>(nodes.size());
  for (unsigned from = 0; from < count; ++from)
    for (unsigned to = 0; to < count; ++to) {
      const Event &a = nodes[from], &b = nodes[to];
      auto connect = [&](int64_t distance) {
        edges.push_back({from, to, distance});
      };
      bool isSame = a.channel && a.channel == b.channel;
      if (isSame && a.kind == EventKind::Put && b.kind == EventKind::Get)
        connect(b.stage - a.stage);
      if (isSame && a.kind == EventKind::Release && b.kind == EventKind::Put)
        connect(getStages(a.channel) + b.stage - a.stage);
      bool isOfReplica = isSame && replicaOf[from] == replicaOf[to];
      if (isOfReplica &&
          ((a.kind == EventKind::HoldTurn && b.kind == EventKind::TakeTurn) ||
           (a.kind == EventKind::GiveTurn && b.kind == EventKind::PassTurn)))
        connect(b.stage - a.stage);
      if (a.kind == EventKind::Enter && b.kind == EventKind::Leave &&
          a.op == b.op)
        connect(0);
      if (a.kind == EventKind::PingPongArrive &&
          b.kind == EventKind::PingPongWait) {
        if (replicaOf[to] == replicaOf[from] + 1)
          connect(b.stage - a.stage);
        else if (replicaOf[to] == 0 && replicaOf[from] + 1 == replicas)
          connect(1 + b.stage - a.stage);
      }
    }
}

static StringRef getText(EventKind kind) {
  switch (kind) {
  case EventKind::Put:
    return "waits for a free place to copy a tile to";
  case EventKind::Get:
    return "waits for a tile";
  case EventKind::Release:
    return "gives back a tile";
  case EventKind::PingPongWait:
    return "waits for its turn";
  case EventKind::PingPongArrive:
    return "passes on its turn";
  case EventKind::HoldTurn:
    return "holds a turn";
  case EventKind::TakeTurn:
    return "waits for a turn to add";
  case EventKind::GiveTurn:
    return "gives back a turn";
  case EventKind::PassTurn:
    return "waits for a turn to be given back";
  case EventKind::Enter:
  case EventKind::Leave:
    break;
  }
  return "waits for blocks of this loop";
}

/// Bellman and Ford: with `distance * (N + 1) - 1` for each edge, a cycle of
/// distance 0 or less is one of negative length.
LogicalResult Protocol::check(Operation *loop, unsigned passing) {
  connect(passing);
  auto count = static_cast<int64_t>(nodes.size());
  SmallVector<int64_t> length(nodes.size(), 0);
  SmallVector<int> before(nodes.size(), -1);
  int changed = -1;
  for (int64_t round = 0; round <= count; ++round) {
    changed = -1;
    for (const Edge &edge : edges) {
      int64_t next = length[edge.from] + edge.distance * (count + 1) - 1;
      if (next < length[edge.to]) {
        length[edge.to] = next;
        before[edge.to] = static_cast<int>(edge.from);
        changed = static_cast<int>(edge.to);
      }
    }
    if (changed < 0)
      return success();
  }
  // On the cycle, after so many steps back.
  int node = changed;
  for (int64_t step = 0; step < count; ++step)
    node = before[node];
  InFlightDiagnostic diagnostic = loop->emitOpError(
      "expects a schedule and stages with which no partition waits for ever; "
      "take more stages, or an order and stages in which steps that use a tile "
      "follow sooner the one that gives it, or leave the choice of a schedule "
      "to the compiler; these wait for each other:");
  int at = node;
  do {
    const Event &event = nodes[at];
    auto step = event.op->getParentOfType<hopper::StepOp>();
    if (auto own = dyn_cast<hopper::StepOp>(event.op))
      step = own;
    Diagnostic &note = diagnostic.attachNote(event.op->getLoc());
    if (step)
      note << "'" << step.getName() << "' in '" << step.getPartition() << "' ";
    note << getText(event.kind);
    at = before[at];
  } while (at != node);
  return failure();
}

LogicalResult Protocol::check(Operation *loop) {
  // One alone needs whatever comes.
  unsigned numSets = replicas > 1 && !passed.empty() ? 1u << replicas : 1;
  for (unsigned passing = 0; passing < numSets; ++passing)
    if (failed(check(loop, passing)))
      return failure();
  return success();
}

namespace {
struct HopperCheckProtocol
    : public mlir::attn::impl::HopperCheckProtocolPassBase<
          HopperCheckProtocol> {
  void runOnOperation() override {
    gpu::GPUFuncOp kernel = getOperation();
    auto schedule =
        kernel->getAttrOfType<hopper::ScheduleAttr>(hopper::kScheduleAttrName);
    int64_t replicas = schedule ? schedule.getNumConsumers() : 1;
    int64_t inFlight = schedule ? schedule.getInFlight() : 0;
    WalkResult walk = kernel.walk([&](Operation *op) -> WalkResult {
      Protocol protocol(replicas, inFlight);
      if (auto loop = dyn_cast<PipelinedForOp>(op))
        protocol.addLoop(loop);
      else if (auto work = dyn_cast<WorkLoopOp>(op))
        protocol.addWork(work);
      else
        return WalkResult::advance();
      return failed(protocol.check(op)) ? WalkResult::interrupt()
                                        : WalkResult::advance();
    });
    if (walk.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
