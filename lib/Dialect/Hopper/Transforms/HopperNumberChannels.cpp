//===- HopperNumberChannels.cpp - Which use of a channel each one is ------===//
//
// Each partition counts the uses of each channel: what it puts, what it gets,
// and what it gives back. A count is a value and a constant. A loop whose body
// has so many uses in each iteration needs no counter of its own, as its
// variable counts; counts that grow alike from work tile to work tile are one.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Hopper/Transforms/Passes.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::attn {
#define GEN_PASS_DEF_HOPPERNUMBERCHANNELSPASS
#include "attn/Dialect/Hopper/Transforms/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::hopper;

namespace {
/// What is counted: a channel, what is done with it, and by which reader.
using Key = std::tuple<Value, StringRef, int64_t>;

/// `base + offset`, or `offset` without a base.
struct Count {
  Value base;
  int64_t offset = 0;
  bool operator==(const Count &other) const {
    return base == other.base && offset == other.offset;
  }
};

using Counts = llvm::MapVector<Key, Count>;

class Numbering {
public:
  explicit Numbering(IRRewriter &rewriter) : rewriter(rewriter) {}

  LogicalResult run(Block &block, Counts &counts);

private:
  LogicalResult runLoop(scf::ForOp loop, Counts &counts);
  LogicalResult runWhile(scf::WhileOp loop, Counts &counts);
  LogicalResult runBranch(scf::IfOp branch, Counts &counts);
  LogicalResult runWork(WorkLoopOp loop, Counts &counts);
  Value add(Value a, Value b);
  Value mul(Value a, int64_t factor);
  Value toValue(Count count, Location loc);

  IRRewriter &rewriter;
  /// Sums that there are already, so that equal counts are one value.
  DenseMap<std::pair<Value, Value>, Value> sums;
};
} // namespace

/// The key of the use that a number is for, or none where there is no use.
static std::optional<Key> getKey(NextUseOp op) {
  if (op->use_empty())
    return std::nullopt;
  return Key(op.getChannel(), op->user_begin()->getName().getStringRef(),
             op.getReader());
}

static void collectKeys(Operation *op, Counts &counts) {
  op->walk([&](NextUseOp op) {
    if (std::optional<Key> key = getKey(op))
      counts.insert({*key, Count()});
  });
}

/// How many of the uses that a block counts are none, as the loop that has them
/// would have them for blocks in front of its first one. They are left out of
/// the count by the block that the loop and its last uses are in.
static int64_t getSkipped(Block &block, Key key) {
  Operation *parent = block.getParentOp();
  if (isa<scf::ForOp, scf::WhileOp>(parent) ||
      parent->getParentOfType<scf::ForOp>() ||
      parent->getParentOfType<scf::WhileOp>())
    return 0;
  int64_t skipped = 0;
  for (auto next : block.getOps<NextUseOp>())
    if (getKey(next) == key)
      skipped = std::max(skipped, static_cast<int64_t>(next.getSkipped()));
  return skipped;
}

/// How often something is used in a block, if that is known.
static std::optional<int64_t> getUses(Block &block, Key key) {
  int64_t uses = -getSkipped(block, key);
  for (Operation &op : block) {
    if (auto next = dyn_cast<NextUseOp>(op)) {
      uses += getKey(next) == key;
      continue;
    }
    std::optional<int64_t> inner;
    for (Region &region : op.getRegions())
      for (Block &nested : region) {
        std::optional<int64_t> now = getUses(nested, key);
        if (!now || (inner && *inner != *now))
          return std::nullopt;
        inner = now;
      }
    // Other than a branch without another side.
    auto branch = dyn_cast<scf::IfOp>(op);
    bool isOnce =
        (branch && branch.elseBlock()) || isa<scf::ExecuteRegionOp>(op);
    if (inner.value_or(0) != 0 && !isOnce)
      return std::nullopt;
    uses += inner.value_or(0);
  }
  return uses;
}

/// What describes how a count grows in a block: equal for counts that grow
/// alike.
static std::string describeGrowth(Block &block, Key key) {
  if (std::optional<int64_t> uses = getUses(block, key))
    return std::to_string(*uses);
  int64_t uses = -getSkipped(block, key);
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (Operation &op : block) {
    if (auto next = dyn_cast<NextUseOp>(op)) {
      uses += getKey(next) == key;
      continue;
    }
    for (Region &region : op.getRegions())
      for (Block &nested : region)
        if (std::string inner = describeGrowth(nested, key); inner != "0")
          stream << " " << region.getRegionNumber() << "@" << &op << "("
                 << inner << ")";
  }
  stream << " + " << uses;
  return text;
}

Value Numbering::add(Value a, Value b) {
  Value &sum = sums[{a, b}];
  Block *block = rewriter.getInsertionBlock();
  if (!sum || sum.getParentBlock() != block)
    sum = arith::AddIOp::create(rewriter, b.getLoc(), a, b);
  return sum;
}

Value Numbering::mul(Value a, int64_t factor) {
  if (factor == 1)
    return a;
  return arith::MulIOp::create(
      rewriter, a.getLoc(), a,
      arith::ConstantIntOp::create(rewriter, a.getLoc(), factor, 32));
}

Value Numbering::toValue(Count count, Location loc) {
  if (count.base && count.offset == 0)
    return count.base;
  Value offset = arith::ConstantIntOp::create(rewriter, loc, count.offset, 32);
  return count.base ? arith::AddIOp::create(rewriter, loc, count.base, offset)
                    : offset;
}

LogicalResult Numbering::runLoop(scf::ForOp loop, Counts &counts) {
  Location loc = loop.getLoc();
  Counts inner, after = counts;
  rewriter.setInsertionPoint(loop);
  Value length, passed;
  DenseMap<std::pair<Value, int64_t>, Value> ends;
  for (auto &[key, count] : counts) {
    std::optional<int64_t> uses = getUses(*loop.getBody(), key);
    if (!uses ||
        (*uses != 0 && !loop.getInductionVar().getType().isInteger(32)))
      return loop.emitOpError("expects as many uses of a channel in each "
                              "iteration, and a variable of type i32");
    if (*uses == 0)
      continue;
    if (!length) {
      Value zero = arith::ConstantIntOp::create(rewriter, loc, 0, 32);
      length = arith::MaxSIOp::create(
          rewriter, loc,
          arith::SubIOp::create(rewriter, loc, loop.getUpperBound(),
                                loop.getLowerBound()),
          zero);
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToStart(loop.getBody());
      passed = arith::SubIOp::create(rewriter, loc, loop.getInductionVar(),
                                     loop.getLowerBound());
    }
    // Counts that are equal stay one value.
    Value &end = ends[{count.base, *uses}];
    if (!end) {
      Value grown = mul(length, *uses);
      end = count.base ? add(count.base, grown) : grown;
    }
    after[key] = {end, count.offset};
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointAfterValue(passed);
    Value grown = mul(passed, *uses);
    inner.insert({key, Count{count.base ? add(count.base, grown) : grown,
                             count.offset}});
  }
  if (failed(run(*loop.getBody(), inner)))
    return failure();
  counts = std::move(after);
  return success();
}

/// Nobody knows how many iterations there will be: counts are carried, those
/// that start and grow alike as one value. What is not used in each iteration
/// has a count of its own.
LogicalResult Numbering::runWhile(scf::WhileOp loop, Counts &counts) {
  Location loc = loop.getLoc();
  // Where a count starts, and how it grows.
  SmallVector<std::pair<Value, std::string>> carried;
  SmallVector<std::pair<Key, unsigned>> changed;
  for (auto &[key, count] : counts) {
    if (getUses(*loop.getBeforeBody(), key) != 0)
      return loop.emitOpError("expects no uses of a channel in its condition");
    std::string growth = describeGrowth(*loop.getAfterBody(), key);
    if (growth == "0")
      continue;
    std::pair<Value, std::string> start(count.base, growth);
    auto *it = llvm::find(carried, start);
    changed.push_back({key, it - carried.begin()});
    if (it == carried.end())
      carried.push_back(start);
  }
  Counts inner = counts;
  if (carried.empty())
    return run(*loop.getAfterBody(), inner);
  rewriter.setInsertionPoint(loop);
  SmallVector<Value> inits(loop.getInits());
  for (auto &[base, growth] : carried)
    inits.push_back(base ? base
                         : arith::ConstantIntOp::create(rewriter, loc, 0, 32));
  SmallVector<Type> types(loop.getResultTypes());
  size_t numResults = types.size();
  types.append(carried.size(), rewriter.getI32Type());
  auto next = scf::WhileOp::create(rewriter, loc, types, inits);
  next.getBefore().takeBody(loop.getBefore());
  next.getAfter().takeBody(loop.getAfter());
  SmallVector<Value> passed(next.getConditionOp().getArgs());
  SmallVector<Value> own;
  for (size_t number = 0; number < carried.size(); ++number) {
    passed.push_back(
        next.getBeforeBody()->addArgument(rewriter.getI32Type(), loc));
    own.push_back(next.getAfterBody()->addArgument(rewriter.getI32Type(), loc));
  }
  rewriter.modifyOpInPlace(next.getConditionOp(), [&] {
    next.getConditionOp().getArgsMutable().assign(passed);
  });
  rewriter.replaceAllUsesWith(loop.getResults(),
                              next.getResults().take_front(numResults));
  rewriter.eraseOp(loop);
  for (auto [key, number] : changed) {
    int64_t offset = counts[key].offset;
    inner[key] = {own[number], offset};
    counts[key] = {next.getResult(numResults + number), offset};
  }
  if (failed(run(*next.getAfterBody(), inner)))
    return failure();
  // Offsets from before the loop stay what they are.
  SmallVector<Value> grown(next.getYieldOp().getOperands());
  size_t numYielded = grown.size();
  grown.resize(numYielded + carried.size());
  rewriter.setInsertionPoint(next.getYieldOp());
  for (auto [key, number] : changed) {
    Count count = inner[key];
    Value &end = grown[numYielded + number];
    if (!end)
      end = toValue({count.base, count.offset - counts[key].offset}, loc);
  }
  rewriter.modifyOpInPlace(next.getYieldOp(),
                           [&] { next.getYieldOp()->setOperands(grown); });
  return success();
}

LogicalResult Numbering::runBranch(scf::IfOp branch, Counts &counts) {
  Location loc = branch.getLoc();
  Counts sides[2] = {counts, counts};
  if (failed(run(*branch.thenBlock(), sides[0])) ||
      (branch.elseBlock() && failed(run(*branch.elseBlock(), sides[1]))))
    return failure();
  // What sides differ in becomes a result.
  SmallVector<std::pair<Count, Count>> results;
  SmallVector<std::pair<Key, unsigned>> changed;
  for (auto &[key, count] : counts) {
    Count a = sides[0][key], b = sides[1][key];
    if (a == b) {
      count = a;
      continue;
    }
    auto *it = llvm::find(results, std::pair(a, b));
    changed.push_back({key, it - results.begin()});
    if (it == results.end())
      results.push_back({a, b});
  }
  if (results.empty())
    return success();
  SmallVector<Type> types(branch.getResultTypes());
  size_t numBefore = types.size();
  types.append(results.size(), rewriter.getI32Type());
  rewriter.setInsertionPoint(branch);
  auto next = scf::IfOp::create(rewriter, loc, types, branch.getCondition(),
                                /*addThenBlock=*/false, /*addElseBlock=*/false);
  for (unsigned side : {0, 1}) {
    Region &from = branch->getRegion(side), &to = next->getRegion(side);
    if (from.empty()) {
      rewriter.createBlock(&to);
      scf::YieldOp::create(rewriter, loc);
    } else {
      to.takeBody(from);
    }
    Operation *yield = to.front().getTerminator();
    rewriter.setInsertionPoint(yield);
    SmallVector<Value> values(yield->getOperands());
    for (auto &[a, b] : results)
      values.push_back(toValue(side == 0 ? a : b, loc));
    rewriter.replaceOpWithNewOp<scf::YieldOp>(yield, values);
  }
  rewriter.replaceAllUsesWith(branch.getResults(),
                              next.getResults().take_front(numBefore));
  rewriter.eraseOp(branch);
  for (auto [key, number] : changed)
    counts[key] = {next.getResult(numBefore + number), 0};
  return success();
}

/// Counts that grow by a constant from work tile to work tile are a multiple of
/// the number of work tiles; others are carried, and those that go on behind
/// the loop.
LogicalResult Numbering::runWork(WorkLoopOp loop, Counts &counts) {
  Location loc = loop.getLoc();
  Block *body = loop.getBlock();
  Counts inner, later;
  for (Operation *op = loop->getNextNode(); op; op = op->getNextNode())
    collectKeys(op, later);
  llvm::StringMap<Value> carried;
  SmallVector<Key> carriedKeys;
  SmallVector<std::pair<Key, Value>> changed;
  rewriter.setInsertionPointToStart(body);
  for (auto &[key, count] : counts) {
    if (count.base || count.offset)
      return loop.emitOpError("expects no use of its channels before it");
    std::optional<int64_t> uses = getUses(*body, key);
    // How many work tiles there were is not known behind the loop.
    if (uses && (*uses == 0 || !later.contains(key))) {
      Value number = *uses ? mul(loop.getNumber(), *uses) : Value();
      inner.insert({key, Count{number, 0}});
      continue;
    }
    Value &argument = carried[describeGrowth(*body, key)];
    if (!argument) {
      argument = body->addArgument(rewriter.getI32Type(), loc);
      carriedKeys.push_back(key);
    }
    inner.insert({key, Count{argument, 0}});
    changed.push_back({key, argument});
  }
  if (failed(run(*body, inner)))
    return failure();
  if (carriedKeys.empty())
    return success();
  rewriter.setInsertionPoint(loop.getEnd());
  SmallVector<Value> ends(loop.getEnd().getValues());
  for (Key key : carriedKeys)
    ends.push_back(toValue(inner[key], loc));
  rewriter.replaceOpWithNewOp<EndOp>(loop.getEnd(), ends);
  rewriter.setInsertionPoint(loop);
  SmallVector<Value> inits(loop.getInits());
  Value zero = arith::ConstantIntOp::create(rewriter, loc, 0, 32);
  inits.append(carriedKeys.size(), zero);
  auto next = WorkLoopOp::create(rewriter, loc, ValueRange(inits).getTypes(),
                                 loop.getBatches(), loop.getHeads(),
                                 loop.getTiles(), loop.getNumSplits(),
                                 loop.getCounter(), loop.getGroup(), inits);
  next.getBody().takeBody(loop.getBody());
  for (auto [key, argument] : changed)
    counts[key] = {next.getResult(cast<BlockArgument>(argument).getArgNumber() -
                                  next.getNumIds() - 1),
                   0};
  rewriter.replaceOp(loop, next.getResults().take_front(loop.getNumResults()));
  return success();
}

LogicalResult Numbering::run(Block &block, Counts &counts) {
  SmallVector<std::pair<Key, int64_t>> skipped;
  for (auto &[key, count] : counts)
    if (int64_t uses = getSkipped(block, key))
      skipped.push_back({key, uses});
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto next = dyn_cast<NextUseOp>(op)) {
      if (std::optional<Key> key = getKey(next)) {
        Count &count = counts[*key];
        rewriter.setInsertionPoint(next);
        Count own = count;
        own.offset -= static_cast<int64_t>(next.getSkipped());
        rewriter.replaceAllUsesWith(next.getNumber(),
                                    toValue(own, next.getLoc()));
        ++count.offset;
      }
      rewriter.eraseOp(next);
      continue;
    }
    LogicalResult result = success();
    if (auto loop = dyn_cast<scf::ForOp>(op))
      result = runLoop(loop, counts);
    else if (auto loop = dyn_cast<scf::WhileOp>(op))
      result = runWhile(loop, counts);
    else if (auto branch = dyn_cast<scf::IfOp>(op))
      result = runBranch(branch, counts);
    else if (auto loop = dyn_cast<WorkLoopOp>(op))
      result = runWork(loop, counts);
    else if (auto once = dyn_cast<scf::ExecuteRegionOp>(op))
      result = run(once.getRegion().front(), counts);
    if (failed(result))
      return failure();
  }
  for (auto [key, uses] : skipped)
    counts[key].offset -= uses;
  return success();
}

namespace {
struct HopperNumberChannels
    : public mlir::attn::impl::HopperNumberChannelsPassBase<
          HopperNumberChannels> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    WalkResult walk = getOperation().walk([&](WarpSpecializeOp specialize) {
      for (Region &region : specialize->getRegions()) {
        Counts counts;
        for (Operation &op : region.front())
          collectKeys(&op, counts);
        if (failed(Numbering(rewriter).run(region.front(), counts)))
          return WalkResult::interrupt();
      }
      return WalkResult::skip();
    });
    if (walk.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
