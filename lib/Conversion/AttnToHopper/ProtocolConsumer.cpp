//===- ProtocolConsumer.cpp - What a consumer reads and releases ----------===//
//
// Follows a consumer through its program. Tiles of a channel are got and
// released in order, so that a tile is a channel and how many were got before.
// A loop is followed until an iteration starts from a state in which one before
// it started, which all later ones then do, too.
//
//===----------------------------------------------------------------------===//

#include "Protocol.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::protocol;

namespace {
/// A tile of a channel, by the number of tiles got before; or, without a
/// channel, memory that is no channel's, or not any more.
struct Slot {
  Value channel;
  int64_t number = 0;
  /// Whether it is the memory of that tile, for results.
  bool isReuse = false;
  /// For a value that is another tile on another path.
  static constexpr int64_t kUnknown = -1;
  bool operator==(const Slot &other) const {
    return channel == other.channel && number == other.number &&
           isReuse == other.isReuse;
  }
};

/// A matrix product that may be running.
struct Product {
  Operation *op = nullptr;
  SmallVector<Slot> reads;
};

struct ChannelState {
  int64_t got = 0, released = 0;
  /// Its memory is another tile's from here on, or until the release of the
  /// tile that is held.
  Operation *reuse = nullptr, *reuseOfHeld = nullptr;
  /// Stored from that tile's memory, which nothing has waited for.
  Operation *store = nullptr;
  Operation *lastGet = nullptr, *lastRelease = nullptr;
};

/// Values are by their pointers, in an order that is the same in a run.
struct State {
  llvm::MapVector<Value, ChannelState> channels;
  std::map<void *, Slot> tiles;
  /// The products that may be running, in the order in which they were started.
  SmallVector<Product> products;
  /// For a pending vector, how many of the products started last come after the
  /// one it needs, as a set.
  std::map<void *, SmallVector<int64_t>> pending;
  llvm::MapVector<Value, Operation *> turns;
};

class ConsumerCheck {
public:
  LogicalResult check(Region &region);

private:
  LogicalResult walk(Block &block, State &state);
  LogicalResult visit(Operation *op, State &state);
  LogicalResult visitGet(hopper::GetOp op, State &state);
  LogicalResult visitRelease(hopper::ReleaseOp op, State &state);
  LogicalResult visitMma(hopper::MmaOp op, State &state);
  LogicalResult visitWait(hopper::WaitOp op, State &state);
  LogicalResult visitReuse(hopper::ReuseOp op, State &state);
  LogicalResult visitStore(hopper::StoreOp op, State &state);
  LogicalResult visitIf(scf::IfOp op, State &state);
  LogicalResult visitLoop(Operation *op, State &state);
  LogicalResult verifyNoProduct(Operation *op, StringRef what, Value channel,
                                int64_t number, State &state);
  LogicalResult verifyRead(Operation *op, Value tile, State &state);
  LogicalResult verifyIteration(Operation *loop, State &before, State &after);
  LogicalResult join(Operation *op, State &state, State other);
};
} // namespace

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Gives `to` the tiles and products of `from`.
static void passValues(State &state, ValueRange from, ValueRange to) {
  // All are read first: a loop may exchange them.
  SmallVector<std::optional<Slot>> tiles;
  SmallVector<SmallVector<int64_t>> pending;
  for (Value value : from) {
    auto tile = state.tiles.find(value.getAsOpaquePointer());
    if (tile != state.tiles.end())
      tiles.push_back(tile->second);
    else if (value.getDefiningOp<hopper::CreateTileOp>())
      tiles.push_back(Slot());
    else
      tiles.push_back(std::nullopt);
    auto it = state.pending.find(value.getAsOpaquePointer());
    pending.push_back(it == state.pending.end() ? SmallVector<int64_t>()
                                                : it->second);
  }
  for (auto [number, value] : llvm::enumerate(to)) {
    if (isa<hopper::TileType>(value.getType()))
      state.tiles[value.getAsOpaquePointer()] =
          tiles[number].value_or(Slot{Value(), Slot::kUnknown});
    if (isa<hopper::PendingType>(value.getType()))
      state.pending[value.getAsOpaquePointer()] = pending[number];
  }
}

LogicalResult ConsumerCheck::verifyRead(Operation *op, Value tile,
                                        State &state) {
  auto it = state.tiles.find(tile.getAsOpaquePointer());
  if (it == state.tiles.end())
    return success();
  Slot slot = it->second;
  if (slot.number == Slot::kUnknown)
    return op->emitOpError("reads a tile that differs between paths to here");
  if (!slot.channel)
    return success();
  const ChannelState &channel = state.channels[slot.channel];
  if (slot.number >= channel.released) {
    if (slot.isReuse || !channel.reuseOfHeld)
      return success();
    InFlightDiagnostic diag =
        op->emitOpError("reads a tile whose memory is reused");
    diag.attachNote(channel.reuseOfHeld->getLoc()) << "reused here";
    return diag;
  }
  InFlightDiagnostic diag = op->emitOpError("reads a tile after its release");
  if (channel.lastRelease)
    diag.attachNote(channel.lastRelease->getLoc()) << "released here";
  return diag;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

LogicalResult ConsumerCheck::visitGet(hopper::GetOp op, State &state) {
  ChannelState &channel = state.channels[op.getChannel()];
  if (channel.reuse) {
    InFlightDiagnostic diag =
        op.emitOpError("gets a tile of a channel whose memory is reused");
    diag.attachNote(channel.reuse->getLoc()) << "reused here";
    return diag;
  }
  int64_t stages = op.getChannel().getType().getStages();
  if (channel.got - channel.released >= stages) {
    InFlightDiagnostic diag =
        op.emitOpError("gets a tile while this consumer holds all ")
        << stages << " of the channel";
    diag.attachNote(channel.lastGet->getLoc())
        << "the last of them is got here";
    return diag;
  }
  state.tiles[op.getTile().getAsOpaquePointer()] = {op.getChannel(),
                                                    channel.got++};
  channel.lastGet = op;
  return success();
}

/// Checks that no product may still read a tile.
LogicalResult ConsumerCheck::verifyNoProduct(Operation *op, StringRef what,
                                             Value channel, int64_t number,
                                             State &state) {
  for (const Product &product : state.products)
    for (const Slot &slot : product.reads)
      if (slot.channel == channel && slot.number == number) {
        InFlightDiagnostic diag = op->emitOpError(what)
                                  << " that a product may still read";
        diag.attachNote(product.op->getLoc())
            << "no hopper.wait has waited for this one";
        return diag;
      }
  return success();
}

LogicalResult ConsumerCheck::visitRelease(hopper::ReleaseOp op, State &state) {
  ChannelState &channel = state.channels[op.getChannel()];
  if (channel.got == channel.released) {
    InFlightDiagnostic diag =
        op.emitOpError("releases a tile of a channel of which none is held");
    if (channel.lastRelease)
      diag.attachNote(channel.lastRelease->getLoc())
          << "the last one is released here";
    return diag;
  }
  if (failed(verifyNoProduct(op, "releases a tile", op.getChannel(),
                             channel.released, state)))
    return failure();
  if (channel.store) {
    InFlightDiagnostic diag =
        op.emitOpError("releases memory that a store may still read");
    diag.attachNote(channel.store->getLoc())
        << "no hopper.drain has waited for this one";
    return diag;
  }
  ++channel.released;
  channel.lastRelease = op;
  channel.reuseOfHeld = nullptr;
  return success();
}

LogicalResult ConsumerCheck::visitMma(hopper::MmaOp op, State &state) {
  Product product{op, {}};
  for (Value operand : {op.getLhs(), Value(op.getRhs())}) {
    if (!isa<hopper::TileType>(operand.getType()))
      continue;
    if (failed(verifyRead(op, operand, state)))
      return failure();
    auto it = state.tiles.find(operand.getAsOpaquePointer());
    if (it != state.tiles.end() && it->second.channel)
      product.reads.push_back(it->second);
  }
  state.products.push_back(std::move(product));
  for (auto &[value, after] : state.pending)
    for (int64_t &count : after)
      ++count;
  state.pending[op.getResult().getAsOpaquePointer()] = {0};
  return success();
}

LogicalResult ConsumerCheck::visitWait(hopper::WaitOp op, State &state) {
  int64_t inFlight = op.getInFlight(), running = state.products.size();
  for (Value pending : op.getPending()) {
    auto it = state.pending.find(pending.getAsOpaquePointer());
    if (it == state.pending.end())
      continue;
    for (int64_t after : it->second)
      if (after < inFlight && after < running) {
        InFlightDiagnostic diag =
            op.emitOpError("does not wait for the product of its operand, "
                           "which may be one of the last ")
            << inFlight;
        diag.attachNote(state.products[running - 1 - after].op->getLoc())
            << "started here";
        return diag;
      }
  }
  if (running > inFlight)
    state.products.erase(state.products.begin(),
                         state.products.end() - inFlight);
  return success();
}

LogicalResult ConsumerCheck::visitReuse(hopper::ReuseOp op, State &state) {
  ChannelState &channel = state.channels[op.getChannel()];
  Slot &slot = state.tiles[op.getTile().getAsOpaquePointer()];
  slot = {};
  if (channel.got == channel.released) {
    channel.reuse = op;
    return success();
  }
  if (failed(verifyNoProduct(op, "reuses the memory of a tile", op.getChannel(),
                             channel.released, state)))
    return failure();
  channel.reuseOfHeld = op;
  slot = {op.getChannel(), channel.released, /*isReuse=*/true};
  return success();
}

LogicalResult ConsumerCheck::visitStore(hopper::StoreOp op, State &state) {
  auto it = state.tiles.find(op.getStaging().getAsOpaquePointer());
  if (it == state.tiles.end())
    return success();
  const Slot &slot = it->second;
  if (slot.number == Slot::kUnknown)
    return op.emitOpError(
        "writes to a tile that differs between paths to here");
  if (!slot.channel)
    return success();
  if (!slot.isReuse)
    return op.emitOpError("writes to a tile of a channel");
  ChannelState &channel = state.channels[slot.channel];
  if (slot.number < channel.released) {
    InFlightDiagnostic diag =
        op.emitOpError("writes to memory after its release");
    diag.attachNote(channel.lastRelease->getLoc()) << "released here";
    return diag;
  }
  channel.store = op;
  return success();
}

LogicalResult ConsumerCheck::visit(Operation *op, State &state) {
  if (auto get = dyn_cast<hopper::GetOp>(op))
    return visitGet(get, state);
  if (auto release = dyn_cast<hopper::ReleaseOp>(op))
    return visitRelease(release, state);
  if (auto mma = dyn_cast<hopper::MmaOp>(op))
    return visitMma(mma, state);
  if (auto wait = dyn_cast<hopper::WaitOp>(op))
    return visitWait(wait, state);
  if (auto reuse = dyn_cast<hopper::ReuseOp>(op))
    return visitReuse(reuse, state);
  if (auto rows = dyn_cast<hopper::RowsOp>(op)) {
    passValues(state, rows.getSource(), rows.getResult());
    return success();
  }
  if (auto take = dyn_cast<hopper::TakeTurnOp>(op)) {
    if (Operation *&taken = state.turns[take.getTurns()]) {
      InFlightDiagnostic diag =
          take.emitOpError("takes a turn that this consumer has not passed");
      diag.attachNote(taken->getLoc()) << "taken here";
      return diag;
    }
    state.turns[take.getTurns()] = take;
    return success();
  }
  if (auto pass = dyn_cast<hopper::PassTurnOp>(op)) {
    if (!state.turns[pass.getTurns()])
      return pass.emitOpError("passes a turn that this consumer has not taken");
    state.turns[pass.getTurns()] = nullptr;
    return success();
  }
  if (auto store = dyn_cast<hopper::StoreOp>(op))
    return visitStore(store, state);
  if (isa<hopper::DrainOp>(op)) {
    for (auto &[value, channel] : state.channels)
      channel.store = nullptr;
    return success();
  }
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return visitIf(branch, state);
  if (isa<scf::ForOp, scf::WhileOp>(op))
    return visitLoop(op, state);
  bool hasSteps =
      op->getNumRegions() != 0 &&
      op->walk([](Operation *inner) {
          return isEvent(inner) ||
                         isa<hopper::MmaOp, hopper::WaitOp, hopper::ReuseOp,
                             hopper::StoreOp, hopper::DrainOp>(inner)
                     ? WalkResult::interrupt()
                     : WalkResult::advance();
        }).wasInterrupted();
  if (hasSteps)
    return op->emitOpError("expects no step of a consumer in other control "
                           "flow than scf.for, scf.while and scf.if");
  for (Value operand : op->getOperands())
    if (isa<hopper::TileType>(operand.getType()) &&
        failed(verifyRead(op, operand, state)))
      return failure();
  return success();
}

LogicalResult ConsumerCheck::walk(Block &block, State &state) {
  for (Operation &op : block)
    if (failed(visit(&op, state)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

/// Lets the tiles of a channel be counted from another number.
static void renumber(State &state, Value channel, int64_t shift) {
  auto move = [&](Slot &slot) {
    if (slot.channel == channel && slot.number != Slot::kUnknown)
      slot.number += shift;
  };
  for (auto &[tile, slot] : state.tiles)
    move(slot);
  for (Product &product : state.products)
    llvm::for_each(product.reads, move);
  ChannelState &counts = state.channels[channel];
  counts.got += shift;
  counts.released += shift;
}

/// Makes `state` one that stands for `other`, too.
LogicalResult ConsumerCheck::join(Operation *op, State &state, State other) {
  for (auto &[value, channel] : other.channels)
    state.channels.insert({value, ChannelState()});
  for (auto &[value, channel] : state.channels) {
    ChannelState &there = other.channels[value];
    int64_t held = channel.got - channel.released;
    int64_t otherHeld = there.got - there.released;
    if (held != otherHeld) {
      InFlightDiagnostic diag =
          op->emitOpError("leaves tiles of a channel held, ")
          << held << " on one path and " << otherHeld << " on another";
      diag.attachNote(value.getLoc()) << "channel created here";
      return diag;
    }
    if (!channel.reuse)
      channel.reuse = there.reuse;
    if (!channel.reuseOfHeld)
      channel.reuseOfHeld = there.reuseOfHeld;
    if (!channel.store)
      channel.store = there.store;
    if (!channel.lastGet)
      channel.lastGet = there.lastGet;
    if (!channel.lastRelease)
      channel.lastRelease = there.lastRelease;
    // The same numbers stand for the same tiles.
    int64_t shift = channel.released - there.released;
    renumber(shift < 0 ? state : other, value, std::abs(shift));
  }
  for (auto &[value, turn] : other.turns)
    state.turns.insert({value, nullptr});
  for (auto &[value, turn] : state.turns) {
    Operation *there = other.turns.lookup(value);
    if ((turn != nullptr) == (there != nullptr))
      continue;
    InFlightDiagnostic diag =
        op->emitOpError("passes a turn on one path and not on another");
    diag.attachNote((turn ? turn : there)->getLoc()) << "taken here";
    return diag;
  }
  auto isDead = [&](const Slot &slot) {
    return slot.channel && slot.number < state.channels[slot.channel].released;
  };
  for (auto &[value, slot] : other.tiles) {
    auto [it, isNew] = state.tiles.try_emplace(value, slot);
    if (!isNew && !(it->second == slot) &&
        !(it->second.channel == slot.channel && isDead(it->second) &&
          isDead(slot)))
      it->second.number = Slot::kUnknown;
  }
  // Products are equal that are followed by equally many.
  if (state.products.size() < other.products.size())
    std::swap(state.products, other.products);
  for (auto [product, there] :
       llvm::zip(llvm::reverse(state.products), llvm::reverse(other.products)))
    for (const Slot &slot : there.reads)
      if (!llvm::is_contained(product.reads, slot))
        product.reads.push_back(slot);
  for (auto &[value, after] : other.pending)
    llvm::append_range(state.pending[value], after);
  // Those that are not running any more are all alike.
  for (auto &[value, after] : state.pending) {
    for (int64_t &count : after)
      count = std::min<int64_t>(count, state.products.size());
    llvm::sort(after);
    after.erase(llvm::unique(after), after.end());
  }
  return success();
}

LogicalResult ConsumerCheck::visitIf(scf::IfOp op, State &state) {
  State other = state;
  if (failed(walk(*op.thenBlock(), state)))
    return failure();
  passValues(state, op.thenYield().getResults(), op.getResults());
  if (Block *block = op.elseBlock()) {
    if (failed(walk(*block, other)))
      return failure();
    passValues(other, op.elseYield().getResults(), op.getResults());
  }
  return join(op, state, std::move(other));
}

/// A state as numbers, without what a loop computes anew in each iteration.
static SmallVector<int64_t> getKey(State &state, Operation *loop,
                                   ValueRange arguments) {
  auto isInside = [&](void *pointer) {
    Value value = Value::getFromOpaquePointer(pointer);
    return loop->isAncestor(value.getParentBlock()->getParentOp()) &&
           !llvm::is_contained(arguments, value);
  };
  SmallVector<int64_t> key;
  auto addSlot = [&](const Slot &slot) {
    key.push_back(
        reinterpret_cast<intptr_t>(slot.channel.getAsOpaquePointer()));
    if (!slot.channel || slot.number == Slot::kUnknown) {
      key.push_back(slot.number);
      return;
    }
    key.push_back(std::max<int64_t>(
        slot.number - state.channels[slot.channel].released, -1));
    key.push_back(slot.isReuse);
  };
  for (auto &[value, channel] : state.channels)
    llvm::append_values(key, channel.got - channel.released,
                        int64_t(channel.reuse != nullptr),
                        int64_t(channel.reuseOfHeld != nullptr),
                        int64_t(channel.store != nullptr));
  for (auto &[value, turn] : state.turns)
    key.push_back(turn != nullptr);
  for (auto &[value, slot] : state.tiles) {
    if (isInside(value))
      continue;
    key.push_back(reinterpret_cast<intptr_t>(value));
    addSlot(slot);
  }
  key.push_back(state.products.size());
  for (Product &product : state.products) {
    key.push_back(product.reads.size());
    for (const Slot &slot : product.reads)
      addSlot(slot);
  }
  for (auto &[value, after] : state.pending) {
    if (isInside(value))
      continue;
    key.push_back(reinterpret_cast<intptr_t>(value));
    for (int64_t count : after)
      key.push_back(
          std::min(count, static_cast<int64_t>(state.products.size())));
  }
  return key;
}

/// Checks that an iteration holds in the end what it held in the beginning.
LogicalResult ConsumerCheck::verifyIteration(Operation *loop, State &before,
                                             State &after) {
  for (auto &[value, channel] : after.channels) {
    ChannelState start = before.channels.lookup(value);
    int64_t more =
        channel.got - channel.released - (start.got - start.released);
    if (more == 0)
      continue;
    InFlightDiagnostic diag =
        loop->emitOpError("holds ")
        << std::abs(more) << (more > 0 ? " more" : " fewer")
        << " of a channel's tiles after an iteration than before it";
    Operation *at = more > 0 ? channel.lastGet : channel.lastRelease;
    diag.attachNote(at->getLoc())
        << (more > 0 ? "got and not released" : "released and not got")
        << " in the same iteration";
    return diag;
  }
  for (auto &[value, turn] : after.turns) {
    Operation *start = before.turns.lookup(value);
    if ((turn != nullptr) == (start != nullptr))
      continue;
    InFlightDiagnostic diag =
        loop->emitOpError("ends an iteration with a turn that ")
        << (turn ? "is not passed" : "was taken before it");
    diag.attachNote((turn ? turn : start)->getLoc()) << "taken here";
    return diag;
  }
  return success();
}

LogicalResult ConsumerCheck::visitLoop(Operation *op, State &state) {
  auto loop = dyn_cast<scf::ForOp>(op);
  auto whileLoop = dyn_cast<scf::WhileOp>(op);
  ValueRange arguments = loop ? ValueRange(loop.getRegionIterArgs())
                              : ValueRange(whileLoop.getBeforeArguments());
  ValueRange inits =
      loop ? ValueRange(loop.getInitArgs()) : ValueRange(whileLoop.getInits());
  passValues(state, inits, arguments);
  // The states in which the loop may end.
  SmallVector<State, 4> ends;
  SmallVector<SmallVector<int64_t>, 4> keys;
  // More than any state that starts with tiles from before the loop.
  constexpr size_t most = 12;
  while (keys.size() < most) {
    SmallVector<int64_t> key = getKey(state, op, arguments);
    if (llvm::is_contained(keys, key))
      break;
    keys.push_back(std::move(key));
    State start = state;
    if (loop) {
      State end = state;
      passValues(end, arguments, op->getResults());
      ends.push_back(std::move(end));
      if (failed(walk(*loop.getBody(), state)))
        return failure();
      passValues(state, loop.getYieldedValues(), arguments);
    } else {
      if (failed(walk(*whileLoop.getBeforeBody(), state)))
        return failure();
      ValueRange passed = whileLoop.getConditionOp().getArgs();
      State end = state;
      passValues(end, passed, op->getResults());
      ends.push_back(std::move(end));
      passValues(state, passed, whileLoop.getAfterArguments());
      if (failed(walk(*whileLoop.getAfterBody(), state)))
        return failure();
      passValues(state, whileLoop.getYieldOp().getOperands(), arguments);
    }
    if (failed(verifyIteration(op, start, state)))
      return failure();
  }
  if (keys.size() == most)
    return op->emitOpError("does not come back to the same tiles and products "
                           "from one iteration to the next");
  state = std::move(ends.front());
  for (State &end : MutableArrayRef(ends).drop_front())
    if (failed(join(op, state, std::move(end))))
      return failure();
  return success();
}

/// Checks that each consumer has its own rows of what is reused, which it may
/// write when others have not yet read theirs.
static LogicalResult verifyOwnRows(hopper::ReuseOp reuse) {
  if (hopper::getPartition(reuse).getReplicas() == 1)
    return success();
  SmallVector<Value> tiles = {reuse.getTile()};
  for (Operation *user : reuse.getChannel().getUsers())
    if (auto get = dyn_cast<hopper::GetOp>(user))
      tiles.push_back(get.getTile());
  for (Value tile : tiles)
    for (Operation *user : tile.getUsers()) {
      auto rows = dyn_cast<hopper::RowsOp>(user);
      if (rows && rows.getIndex().getDefiningOp<hopper::WarpgroupIdOp>())
        continue;
      InFlightDiagnostic diag = user->emitOpError(
          "uses rows that may be those of another consumer, of memory that is "
          "reused");
      diag.attachNote(reuse.getLoc()) << "reused here";
      return diag;
    }
  return success();
}

LogicalResult ConsumerCheck::check(Region &region) {
  WalkResult reuses = region.walk(
      [](hopper::ReuseOp op) { return WalkResult(verifyOwnRows(op)); });
  State state;
  if (reuses.wasInterrupted() || failed(walk(region.front(), state)))
    return failure();
  for (auto &[value, channel] : state.channels)
    if (channel.got != channel.released)
      return channel.lastGet->emitOpError("gets a tile that is not released");
  for (auto &[value, turn] : state.turns)
    if (turn)
      return turn->emitOpError("takes a turn that is not passed");
  if (!state.products.empty())
    return state.products.back().op->emitOpError(
        "starts a product that nothing waits for");
  return success();
}

LogicalResult protocol::verifyConsumer(const Roles &roles) {
  return ConsumerCheck().check(*roles.consumers);
}
