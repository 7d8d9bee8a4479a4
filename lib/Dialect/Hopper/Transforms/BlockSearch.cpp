//===- BlockSearch.cpp - Loops that visit some of their blocks ------------===//

#include "BlockSearch.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::hopper;

static constexpr llvm::StringLiteral kSearchStep = "blocks.search";

//===----------------------------------------------------------------------===//
// Payloads
//===----------------------------------------------------------------------===//

static GetOp findGet(Operation *op, function_ref<bool(GetOp)> filter) {
  GetOp result;
  op->walk([&](GetOp get) {
    if (!filter(get))
      return WalkResult::advance();
    result = get;
    return WalkResult::interrupt();
  });
  return result;
}

/// Whether what comes with a tile may tell blocks: it tells nothing else.
static bool isTile(GetOp get) {
  bool hasNumber =
      llvm::any_of(get.getChannel().getUsers(), llvm::IsaPred<PutBF16x3Op>);
  return !hasNumber &&
         !cast<ChannelType>(get.getChannel().getType()).isVector();
}

/// What a partition gets in front of a loop last, and what it gets first in an
/// iteration.
static GetOp findBefore(PipelinedForOp loop, StringRef partition,
                        function_ref<bool(GetOp)> filter) {
  for (Operation *op = loop->getPrevNode(); op && !isa<PipelinedForOp>(op);
       op = op->getPrevNode())
    if (auto step = dyn_cast<hopper::StepOp>(op);
        step && step.getPartition() == partition)
      if (GetOp get = findGet(step, filter))
        return get;
  return {};
}

static GetOp findInside(PipelinedForOp loop, StringRef partition,
                        function_ref<bool(GetOp)> filter) {
  for (auto place : loop.getSchedule().getAsRange<PlaceAttr>())
    for (auto step : loop.getBlock()->getOps<hopper::StepOp>())
      if (step.getName() == place.getName() && place.getStage() == 0 &&
          step.getPartition() == partition)
        if (GetOp get = findGet(step, filter))
          return get;
  return {};
}

/// Lets the tiles of a channel come with payload.
static void addPayload(RewriterBase &rewriter, GetOp get) {
  Value channel = get.getChannel();
  auto type = cast<ChannelType>(channel.getType());
  if (type.getPayload())
    return;
  channel.setType(ChannelType::get(
      type.getContext(), type.getStages(), type.getRows(), type.getColumns(),
      type.getElementType(), /*payload=*/true, type.getChunkColumns()));
  for (Operation *user : llvm::make_early_inc_range(channel.getUsers())) {
    rewriter.setInsertionPoint(user);
    if (auto put = dyn_cast<PutOp>(user)) {
      Value code = NextBlockOp::create(rewriter, put.getLoc());
      put.getPayloadMutable().assign(code);
    } else if (auto other = dyn_cast<GetOp>(user)) {
      auto noted =
          GetOp::create(rewriter, other.getLoc(), channel, other.getNumber());
      rewriter.replaceAllUsesWith(other.getTile(), noted.getTile());
      rewriter.eraseOp(other);
    }
  }
}

LogicalResult mlir::attn::hopper::addPayloads(RewriterBase &rewriter,
                                              PipelinedForOp loop) {
  llvm::SmallSetVector<StringRef, 2> partitions;
  for (auto step : loop.getBlock()->getOps<hopper::StepOp>())
    partitions.insert(step.getPartition());
  for (StringRef partition : partitions) {
    if (searchesBlocks(loop, partition))
      continue;
    GetOp before = findBefore(loop, partition, isTile),
          inside = findInside(loop, partition, isTile);
    if (!before || !inside)
      return loop.emitOpError("expects tiles that '")
             << partition
             << "' gets in front of the loop and in stage 0 of it, as they "
                "tell which blocks there are";
    addPayload(rewriter, before);
    addPayload(rewriter, inside);
  }
  return success();
}

bool mlir::attn::hopper::searchesBlocks(PipelinedForOp loop,
                                        StringRef partition) {
  return loop
      .walk([&](PutOp put) {
        auto step = put->getParentOfType<hopper::StepOp>();
        return step && step.getPartition() == partition
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

namespace {
/// Of the 32 blocks from number `base`, those that are needed and not yet
/// found, and those that are full, as bits. Blocks are numbered in the order in
/// which they are visited, from the last to the first.
struct SearchState {
  Value base, needed, full;
  SmallVector<Value> getValues() const { return {base, needed, full}; }
  static SearchState get(ValueRange values) {
    return {values[0], values[1], values[2]};
  }
};

class BlockSearch {
public:
  /// Where the rewriter stands, in front of the loop.
  BlockSearch(RewriterBase &rewriter, PipelinedForOp loop);

  SearchState start() {
    return {constant(-kWarpThreads), constant(0), constant(0)};
  }
  /// The code of the next block.
  Value next(SearchState &state);

private:
  SearchState refill(Value base);
  Value getPosition(Value number);

  Value constant(int64_t value) {
    return arith::ConstantIntOp::create(rewriter, loc, value, 32);
  }
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(rewriter, loc, predicate, a, b);
  }
  template <typename Op> Value emit(Value a, Value b) {
    return Op::create(rewriter, loc, a, b);
  }
  Value toI32(Value index) {
    return arith::IndexCastOp::create(rewriter, loc, rewriter.getI32Type(),
                                      index);
  }

  RewriterBase &rewriter;
  PipelinedForOp loop;
  Location loc;
  Value lane, lower, count, last;
};
} // namespace

BlockSearch::BlockSearch(RewriterBase &rewriter, PipelinedForOp loop)
    : rewriter(rewriter), loop(loop), loc(loop.getLoc()) {
  lane = toI32(
      gpu::LaneIdOp::create(rewriter, loc, /*upper_bound=*/IntegerAttr()));
  lower = toI32(loop.getLower());
  Value length = emit<arith::MaxSIOp>(
      emit<arith::SubIOp>(toI32(loop.getUpper()), lower), constant(0));
  count = emit<arith::DivUIOp>(
      emit<arith::AddIOp>(length, constant(loop.getStep() - 1)),
      constant(loop.getStep()));
  last = emit<arith::SubIOp>(count, constant(1));
}

Value BlockSearch::getPosition(Value number) {
  return emit<arith::AddIOp>(
      lower, emit<arith::MulIOp>(emit<arith::SubIOp>(last, number),
                                 constant(loop.getStep())));
}

/// The classes of the 32 blocks from `base`, one in each thread. Beyond the
/// last block there are none; what is computed there is for the last one.
SearchState BlockSearch::refill(Value base) {
  Value number = emit<arith::AddIOp>(base, lane);
  Value isBlock = compare(arith::CmpIPredicate::slt, number, count);
  number = emit<arith::MinSIOp>(number, last);
  Block &classes = loop.getClasses().front();
  IRMapping mapping;
  mapping.map(classes.getArgument(0),
              PositionOp::create(rewriter, loc, getPosition(number)));
  for (Operation &op : classes.without_terminator())
    rewriter.clone(op, mapping);
  ValueRange ends = cast<EndOp>(classes.getTerminator()).getValues();
  Value needed = emit<arith::AndIOp>(isBlock, mapping.lookupOrDefault(ends[0]));
  return {base, BallotOp::create(rewriter, loc, needed),
          BallotOp::create(rewriter, loc, mapping.lookupOrDefault(ends[1]))};
}

Value BlockSearch::next(SearchState &state) {
  SmallVector<Value> inits = state.getValues();
  auto fill = scf::WhileOp::create(
      rewriter, loc, ValueRange(inits).getTypes(), inits,
      [&](OpBuilder &, Location, ValueRange values) {
        Value isEmpty = compare(arith::CmpIPredicate::eq,
                                SearchState::get(values).needed, constant(0));
        Value hasMore = compare(
            arith::CmpIPredicate::slt,
            emit<arith::AddIOp>(values[0], constant(kWarpThreads)), count);
        scf::ConditionOp::create(rewriter, loc,
                                 emit<arith::AndIOp>(isEmpty, hasMore), values);
      },
      [&](OpBuilder &, Location, ValueRange values) {
        scf::YieldOp::create(
            rewriter, loc,
            refill(emit<arith::AddIOp>(values[0], constant(kWarpThreads)))
                .getValues());
      });
  state = SearchState::get(fill.getResults());
  Value exists = compare(arith::CmpIPredicate::ne, state.needed, constant(0));
  Value bit = math::CountTrailingZerosOp::create(rewriter, loc, state.needed);
  Value one = constant(1);
  Value isFull =
      emit<arith::AndIOp>(emit<arith::ShRUIOp>(state.full, bit), one);
  Value code =
      emit<arith::OrIOp>(getPosition(emit<arith::AddIOp>(state.base, bit)),
                         emit<arith::XOrIOp>(isFull, one));
  // The lowest bit is gone.
  state.needed =
      emit<arith::AndIOp>(state.needed, emit<arith::SubIOp>(state.needed, one));
  return arith::SelectOp::create(rewriter, loc, exists, code, constant(-1));
}

//===----------------------------------------------------------------------===//
// Loops that are told their blocks
//===----------------------------------------------------------------------===//

hopper::StepOp mlir::attn::hopper::rebuildStep(RewriterBase &rewriter,
                                               hopper::StepOp step,
                                               ArrayRef<unsigned> kept,
                                               ValueRange added) {
  SmallVector<Value> values;
  EndOp end = step.getEnd();
  for (unsigned number : kept)
    values.push_back(end.getValues()[number]);
  llvm::append_range(values, added);
  rewriter.setInsertionPoint(step);
  auto result = hopper::StepOp::create(rewriter, step.getLoc(),
                                       ValueRange(values).getTypes(),
                                       step.getName(), step.getPartition());
  result.getBody().takeBody(step.getBody());
  rewriter.setInsertionPoint(end);
  rewriter.replaceOpWithNewOp<EndOp>(end, values);
  for (auto [to, from] : llvm::enumerate(kept))
    rewriter.replaceAllUsesWith(step.getResult(from), result.getResult(to));
  rewriter.eraseOp(step);
  return result;
}

SmallVector<unsigned> mlir::attn::hopper::getAllResults(hopper::StepOp step) {
  return llvm::to_vector(llvm::seq<unsigned>(0, step.getNumResults()));
}

/// The payload that comes with a tile, outside of the step that gets it.
static Value takePayload(RewriterBase &rewriter, GetOp get) {
  auto step = get->getParentOfType<hopper::StepOp>();
  return rebuildStep(rewriter, step, getAllResults(step), get.getPayload())
      ->getResults()
      .back();
}

/// What a partition puts in `op` comes with this code.
static void replaceCodes(RewriterBase &rewriter, Operation *op,
                         StringRef partition, Value code) {
  SmallVector<NextBlockOp> codes;
  op->walk([&](NextBlockOp next) {
    auto step = next->getParentOfType<hopper::StepOp>();
    if (step && step.getPartition() == partition)
      codes.push_back(next);
  });
  for (NextBlockOp next : codes)
    rewriter.replaceOp(next, code);
}

/// Computes what the range and the classes of a loop depend on in front of
/// `start`. Wherever an equal value was, a pass may have used that instead.
static LogicalResult hoistInputs(RewriterBase &rewriter, PipelinedForOp loop,
                                 Operation *start) {
  SetVector<Value> inputs;
  getUsedValuesDefinedAbove(loop.getClasses(), inputs);
  inputs.insert_range(ValueRange{loop.getLower(), loop.getUpper()});
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.omitBlockArguments = true;
  options.omitUsesFromAbove = false;
  options.filter = [&](Operation *op) {
    return op->getBlock() == start->getBlock() && !op->isBeforeInBlock(start);
  };
  for (Value input : inputs)
    if (failed(getBackwardSlice(input, &slice, options)))
      return failure();
  for (Operation *op : topologicalSort(slice)) {
    if (auto step = dyn_cast<hopper::StepOp>(op))
      return step.emitOpError("tells which blocks the loop behind it has, but "
                              "a tile says so no later than this step");
    rewriter.moveOpBefore(op, start);
  }
  return success();
}

LogicalResult mlir::attn::hopper::tellBlocks(RewriterBase &rewriter,
                                             PipelinedForOp loop,
                                             StringRef partition) {
  Location loc = loop.getLoc();
  auto hasPayload = [](GetOp get) {
    return isTile(get) && get.getPayload() != nullptr;
  };
  Block *body = loop.getBlock();
  Type i32 = rewriter.getI32Type();
  SmallVector<Attribute> places(loop.getSchedule().begin(),
                                loop.getSchedule().end());
  // The code of the first block, and in the body that of the next one.
  Value first, next;
  // What is found is in the range.
  bool searches = searchesBlocks(loop, partition);
  SmallVector<Value> inits, states;
  SmallVector<Value> ends(loop.getEnd().getValues());
  Value code = body->insertArgument(0u, i32, loc);
  if (searches) {
    // In front of the first step that comes with the code.
    Operation *start = loop;
    for (Operation *op = loop->getPrevNode(); op && !isa<PipelinedForOp>(op);
         op = op->getPrevNode())
      if (op->walk([](NextBlockOp) {
              return WalkResult::interrupt();
            }).wasInterrupted())
        start = op;
    if (failed(hoistInputs(rewriter, loop, start)))
      return failure();
    rewriter.setInsertionPoint(start);
    BlockSearch search(rewriter, loop);
    SearchState state = search.start();
    first = search.next(state);
    inits = state.getValues();
    for (Operation *op = start; op != loop; op = op->getNextNode())
      replaceCodes(rewriter, op, partition, first);
    for (Value init : inits)
      states.push_back(body->addArgument(init.getType(), loc));
    rewriter.setInsertionPointToStart(body);
    SmallVector<Type> types = {i32};
    llvm::append_range(types, ValueRange(inits).getTypes());
    auto step =
        hopper::StepOp::create(rewriter, loc, types, kSearchStep, partition);
    rewriter.createBlock(&step.getBody());
    state = SearchState::get(states);
    SmallVector<Value> found = {search.next(state)};
    llvm::append_range(found, state.getValues());
    EndOp::create(rewriter, loc, found);
    next = step.getResult(0);
    replaceCodes(rewriter, loop, partition, next);
    llvm::append_range(ends, step.getResults().drop_front());
    places.insert(places.begin(), PlaceAttr::get(rewriter.getContext(),
                                                 kSearchStep, /*stage=*/0));
  } else {
    GetOp before = findBefore(loop, partition, hasPayload),
          inside = findInside(loop, partition, hasPayload);
    if (!before || !inside)
      return loop.emitOpError("expects payloads that tell '")
             << partition << "' which blocks there are";
    // The one before is rebuilt where it is.
    first = takePayload(rewriter, before);
    next = takePayload(rewriter, inside);
    // The step's other results may be carried.
    ends.assign(loop.getEnd().getValues().begin(),
                loop.getEnd().getValues().end());
  }
  // What the body knows of its block is in the code.
  rewriter.setInsertionPointToStart(body);
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(rewriter, loc, value, 32);
  };
  Value position = PositionOp::create(
      rewriter, loc,
      arith::AndIOp::create(rewriter, loc, code, number(-kCodeAlignment)));
  Value isFull = arith::CmpIOp::create(
      rewriter, loc, arith::CmpIPredicate::eq,
      arith::AndIOp::create(rewriter, loc, code, number(1)), number(0));
  rewriter.replaceAllUsesWith(body->getArgument(1), position);
  rewriter.replaceAllUsesWith(body->getArgument(2), isFull);
  body->eraseArguments(1, 2);
  ends.insert(ends.begin(), next);
  rewriter.setInsertionPoint(loop.getEnd());
  rewriter.replaceOpWithNewOp<EndOp>(loop.getEnd(), ends);
  SmallVector<Value> allInits = {first};
  llvm::append_range(allInits, loop.getInits());
  llvm::append_range(allInits, inits);
  rewriter.setInsertionPoint(loop);
  auto told = PipelinedForOp::create(
      rewriter, loc, ValueRange(allInits).getTypes(),
      searches ? Value() : loop.getLower(),
      searches ? Value() : loop.getUpper(), /*outerLower=*/Value(),
      /*outerUpper=*/Value(), loop.getStep(), /*only_last_partial=*/false,
      /*told=*/true, allInits, rewriter.getArrayAttr(places),
      loop.getExclusive());
  told.getBody().takeBody(loop.getBody());
  rewriter.replaceAllUsesWith(loop.getResults(),
                              told.getResults().slice(1, loop.getNumResults()));
  rewriter.eraseOp(loop);
  return success();
}
