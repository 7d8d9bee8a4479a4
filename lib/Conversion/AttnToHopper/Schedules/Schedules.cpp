//===- Schedules.cpp - The schedules that may serve an attention ----------===//

#include "attn/Conversion/AttnToHopper/Schedules.h"
#include "ScheduleFacts.h"
#include "attn/Analysis/Diagonals.h"
#include "attn/Conversion/MathToArith/FloatFunctions.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

bool mlir::attn::areHeadDimsSupported(AttentionLikeOpInterface op,
                                      int64_t queryKeyDim, int64_t valueDim) {
  bool areInRegisters = isa<AttentionGradOp>(op) || hasKeyLists(op);
  int64_t mostKeys = areInRegisters ? kMostValueColumns : kMostKeyColumns;
  return queryKeyDim % 8 == 0 && queryKeyDim <= mostKeys && valueDim % 8 == 0 &&
         valueDim <= kMostValueColumns;
}

bool mlir::attn::areHeadDimsSupported(AttentionLikeOpInterface op) {
  return areHeadDimsSupported(op, op.getQueryKeyDim(), op.getValueDim());
}

bool mlir::attn::haveMatrixInstructions(AttentionLikeOpInterface op) {
  return getTarget(op).getWgmma() &&
         isa<BFloat16Type, Float16Type>(op.getQueryType().getElementType());
}

bool mlir::attn::haveTiles(AttentionLikeOpInterface op) {
  return haveMatrixInstructions(op) && areHeadDimsSupported(op);
}

/// Whether a value is a number of a call, for all scores.
static bool isScalarCapture(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return false;
  auto op =
      dyn_cast<AttentionLikeOpInterface>(argument.getOwner()->getParentOp());
  return op &&
         argument.getArgNumber() >=
             argument.getOwner()->getNumArguments() - op.getCaptures().size();
}

/// About how many instructions an operation of a region is for each score.
static int64_t getCost(Operation *op) {
  if (isa<tensor::ExtractOp>(op))
    return 3;
  // In f64, or a product for each bit.
  if (isa<math::PowFOp, math::FPowIOp, math::CbrtOp, math::IPowIOp>(op))
    return 100;
  if (isRareFunction(op) || isa<math::SincosOp>(op))
    return 50;
  if (isa<arith::DivUIOp, arith::DivSIOp, arith::RemUIOp, arith::RemSIOp,
          arith::CeilDivUIOp, arith::CeilDivSIOp, arith::FloorDivSIOp>(op) &&
      !matchPattern(op->getOperand(1), m_Constant())) {
    // By a product with the reciprocal.
    if (op->getResult(0).getType().isIndex() &&
        isScalarCapture(op->getOperand(1)))
      return 6;
    return op->getResult(0).getType().isInteger(32) ? 30 : 128;
  }
  return 1;
}

/// About how many instructions a region is for each score. What depends on the
/// key alone is computed once for the two queries of a thread; what depends on
/// the query alone once for all keys, or, where the loop is over queries, as
/// what depends on the key. The rest is computed once, and diagonals apart.
static double getPairCost(Region &region, unsigned numArguments,
                          bool areQueriesInLoop, const Diagonals &diagonals) {
  if (region.empty())
    return 0;
  enum Positions : unsigned { Row = 1, Key = 2, Pair = 3 };
  DenseMap<Value, unsigned> uses;
  // Scores come first, if there are any.
  if (numArguments == kNumScoreArgs)
    uses[region.getArgument(0)] = Pair;
  uses[region.getArgument(numArguments - 2)] = Row;
  uses[region.getArgument(numArguments - 1)] = Key;
  double cost = 0;
  for (Operation &op : region.front()) {
    unsigned positions = 0;
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        positions |= uses.lookup(operand);
    });
    for (Value result : op.getResults())
      uses[result] = positions;
    bool isInLoop = positions == Key || (positions == Row && areQueriesInLoop);
    double share = diagonals.ops.contains(&op) ? 0
                   : positions == Pair         ? 1
                   : isInLoop                  ? 0.5
                                               : 0;
    op.walk([&](Operation *inner) { cost += share * getCost(inner); });
  }
  return cost;
}

namespace {
/// A schedule, and the row that it is of.
struct Choice : HopperSchedule {
  const ScheduleTable::Row *source = nullptr;
};

/// The schedules of a table for one attention.
class Chooser {
public:
  Chooser(AttentionLikeOpInterface op, const ScheduleTable &table,
          SmallVectorImpl<RuledOutRow> *ruledOut)
      : op(op), table(table), ruledOut(ruledOut), facts(op),
        section(table.getSection(op)) {}

  FailureOr<SmallVector<HopperSchedule>> choose();

private:
  /// Tells those who ask why a row is out: by its conditions, if for no other
  /// reason.
  void ruleOut(const ScheduleTable::Row &row, StringRef reason = "") {
    if (ruledOut)
      ruledOut->push_back({table.describe(row), reason.empty()
                                                    ? row.when.explain(facts)
                                                    : reason.str()});
  }
  LogicalResult add(const ScheduleTable::Row &row);
  LogicalResult setTileN(Choice &choice, int64_t tileN);
  void setCosts(Choice &choice);
  LogicalResult dropLargeTiles();

  AttentionLikeOpInterface op;
  const ScheduleTable &table;
  SmallVectorImpl<RuledOutRow> *ruledOut;
  ProgramFacts facts;
  const ScheduleTable::Section &section;
  SmallVector<Choice> choices;
};
} // namespace

LogicalResult Chooser::setTileN(Choice &choice, int64_t tileN) {
  auto schedule =
      table.getSchedule(section, *choice.source, facts, op.getContext(), tileN);
  if (!schedule)
    return op.emitError(llvm::toString(schedule.takeError()));
  choice.schedule = *schedule;
  return success();
}

/// Keys that a mask leaves cost, and others do not. How many there are in a
/// window, or in a document, is not known before a launch, but not all.
void Chooser::setCosts(Choice &choice) {
  const ScheduleTable::Model &model = table.model;
  choice.tileCost = choice.source->tileCost;
  choice.keyCost = choice.source->keyCost;
  if (facts.words || !facts.masked)
    return;
  if (!facts.classes && !facts.window) {
    choice.keyCost *= model.maskedPart;
    return;
  }
  choice.typicalKeys = model.typicalKeys;
  // A tile that is left alone takes less than its part of what CTAs take beside
  // each other, as much as they take more than their part.
  bool isBesides = choice.schedule.getMinCtasPerSm() > 1 && !choice.isSplitKV;
  choice.fewAreLong = facts.hasLongRows;
  choice.longKeyCost =
      facts.window ? 0 : choice.keyCost * (isBesides ? model.alone : 1);
}

/// Adds the schedule of a row, with a smaller KV block for pairs of head
/// dimensions that need more memory, if there is one that fits.
LogicalResult Chooser::add(const ScheduleTable::Row &row) {
  using Use = ScheduleTable::Use;
  Choice choice;
  choice.source = &row;
  choice.row = table.describe(row);
  choice.spillBytes = row.spillBytes;
  choice.isSplitKV = row.use == Use::FewTiles;
  choice.isForAnyStrides = row.use == Use::AnyStrides;
  // The first one of all is none.
  choice.isLastResort = row.use == Use::LastResort && !choices.empty();
  if (failed(setTileN(choice, 0)))
    return failure();
  TargetAttr target = getTarget(op);
  auto fits = [&] {
    return fitsSharedMemory(target, choice.schedule,
                            {facts.queryKeyDim, facts.valueDim, facts.captures,
                             facts.numDiagonals});
  };
  while (!fits()) {
    int64_t tileN = choice.schedule.getTileN() - section.keyStep;
    if (tileN < section.keyStep) {
      ruleOut(row, "no KV block fits the shared memory");
      return success();
    }
    if (failed(setTileN(choice, tileN)))
      return failure();
  }
  setCosts(choice);
  choices.push_back(choice);
  return success();
}

/// Leaves out schedules whose threads would compute so much for a tile that
/// ptxas takes long and finds no registers. Where score and mask cost more than
/// the products, larger tiles gain little. The last one that others fall back
/// to stays, and the one for any strides gets small tiles.
LogicalResult Chooser::dropLargeTiles() {
  Diagonals diagonals(op);
  bool areQueriesInLoop = isa<AttentionGradOp>(*op);
  auto getCostOf = [&](Region &region, unsigned numArguments) {
    return getPairCost(region, numArguments, areQueriesInLoop, diagonals);
  };
  double cost = getCostOf(op.getScore(), kNumScoreArgs) +
                getCostOf(op.getMask(), kNumMaskArgs);
  // Each thread has two of them, or one.
  int64_t costOfDiagonals = 0;
  for (Operation *inner : diagonals.ops)
    costOfDiagonals += 2 * getCost(inner);
  auto isLarge = [&](const Choice &choice) {
    return cost * double(choice.schedule.getTileN()) + costOfDiagonals >=
           table.model.mostInstructions;
  };
  hopper::ScheduleAttr kept;
  for (const Choice &choice : choices)
    if (!choice.isForAnyStrides && !choice.isSplitKV)
      kept = choice.schedule;
  for (Choice &choice : choices)
    if (choice.isForAnyStrides && isLarge(choice))
      if (failed(setTileN(choice, kept ? kept.getTileN() : section.keyStep)))
        return failure();
  llvm::erase_if(choices, [&](const Choice &choice) {
    bool isOut =
        isLarge(choice) && choice.schedule != kept && !choice.isForAnyStrides;
    if (isOut)
      ruleOut(*choice.source, "score and mask compute too much for its tiles");
    return isOut;
  });
  return success();
}

bool mlir::attn::isOutputRead(AttentionLikeOpInterface op) {
  return llvm::any_of(op->getResult(0).getUsers(), [](Operation *user) {
    return !isa<FinalizeOp>(user) || !user->getResult(0).use_empty();
  });
}

/// Whether a launch takes `other` rather than `schedule` whatever the extents.
static bool costsNoMore(const HopperSchedule &other,
                        const HopperSchedule &schedule) {
  hopper::ScheduleAttr a = other.schedule, b = schedule.schedule;
  // Of no keys, and of as many as a tile has.
  auto getMostCost = [](const HopperSchedule &of) {
    return of.typicalKeys > 0 ? of.tileCost + of.keyCost * of.typicalKeys
                              : of.keyCost;
  };
  return a.getTileM() == b.getTileM() && b.getTileN() % a.getTileN() == 0 &&
         a.getPackGQA() == b.getPackGQA() &&
         other.typicalKeys == schedule.typicalKeys &&
         other.tileCost <= schedule.tileCost &&
         getMostCost(other) <= getMostCost(schedule) &&
         other.longKeyCost <= schedule.longKeyCost;
}

void mlir::attn::findFallbacks(SmallVectorImpl<HopperSchedule> &schedules) {
  auto isUsual = [](const HopperSchedule &schedule) {
    return !schedule.isSplitKV && !schedule.isForAnyStrides &&
           !schedule.isLastResort;
  };
  // Of those that cost the same the first one stays.
  for (HopperSchedule &schedule : schedules)
    schedule.isFallback =
        isUsual(schedule) &&
        llvm::any_of(schedules, [&](const HopperSchedule &other) {
          return &other != &schedule && isUsual(other) &&
                 costsNoMore(other, schedule) &&
                 (&other < &schedule || !costsNoMore(schedule, other));
        });
  auto isFallback = [](const HopperSchedule &schedule) {
    return schedule.isFallback;
  };
  SmallVector<HopperSchedule> fallbacks =
      llvm::filter_to_vector(schedules, isFallback);
  // To insert none moves those behind to where they are, which empties them.
  if (fallbacks.empty())
    return;
  llvm::erase_if(schedules, isFallback);
  auto *behind = llvm::find_if(schedules, [](const HopperSchedule &schedule) {
    return schedule.isLastResort;
  });
  schedules.insert(behind, fallbacks.begin(), fallbacks.end());
}

FailureOr<SmallVector<HopperSchedule>> Chooser::choose() {
  // The parts of a split are combined to an output.
  bool maySplit = isOutputRead(op);
  for (const ScheduleTable::Row &row : section.rows) {
    if (!row.when.holds(facts))
      ruleOut(row);
    else if (!maySplit && row.use == ScheduleTable::Use::FewTiles)
      ruleOut(row, "it combines outputs, which nothing reads");
    else if (failed(add(row)))
      return failure();
  }
  if (failed(dropLargeTiles()))
    return failure();
  if (llvm::none_of(choices, [](const Choice &choice) {
        return !choice.isForAnyStrides && !choice.isSplitKV;
      }))
    return op.emitError("expects a row of the table of schedules that this "
                        "attention takes for any extents");
  SmallVector<HopperSchedule> schedules(choices.begin(), choices.end());
  findFallbacks(schedules);
  return schedules;
}

FailureOr<SmallVector<HopperSchedule>>
mlir::attn::getHopperSchedules(AttentionLikeOpInterface op,
                               const ScheduleTable &table,
                               SmallVectorImpl<RuledOutRow> *ruledOut) {
  return Chooser(op, table, ruledOut).choose();
}

double mlir::attn::getPairOperations(AttentionLikeOpInterface op,
                                     const ScheduleTable &table,
                                     bool hasTypicalKeys) {
  auto queryKeyDim = double(op.getQueryKeyDim());
  auto valueDim = double(op.getValueDim());
  // Scores and results; or scores, the gradients of probabilities, and those
  // that are asked for.
  double operations = 2 * (queryKeyDim + valueDim);
  if (auto gradient = dyn_cast<AttentionGradOp>(*op)) {
    bool ofValuesAlone = llvm::all_of(
        gradient.getWrt(), [](int64_t input) { return input == kGradValue; });
    operations = 2 * queryKeyDim;
    if (!ofValuesAlone)
      operations += 2 * valueDim;
    if (gradient.getOutOf(kGradValue))
      operations += 2 * valueDim;
    for (int64_t input : {kGradQuery, kGradKey})
      if (gradient.getOutOf(input))
        operations += 2 * queryKeyDim;
  }
  ProgramFacts facts(op);
  if (facts.words || !facts.masked)
    return operations;
  // Of the typical keys of gradients, too, a mask leaves a part.
  if ((!facts.classes && !facts.window) ||
      (hasTypicalKeys && isa<AttentionGradOp>(*op)))
    return operations * table.model.maskedPart;
  return hasTypicalKeys ? operations : 0;
}

RowScheduleAttr mlir::attn::getRowSchedule(AttentionLikeOpInterface op) {
  // As many lanes for a row as read it at once, 16 bytes each; more than eight
  // would read fewer rows at a time and exchange more.
  int64_t bytes = op.getQueryType().getElementTypeBitWidth() / 8;
  int64_t dim = std::max(op.getQueryKeyDim(), op.getValueDim());
  int64_t lanes = llvm::PowerOf2Ceil(llvm::divideCeil(dim * bytes, 16));
  lanes = std::min<int64_t>(lanes, 8);
  constexpr int64_t warps = 4;
  auto getSchedule = [&](int64_t queries) {
    return RowScheduleAttr::get(op.getContext(), /*rows=*/warps * queries,
                                /*tileN=*/hopper::kWarpThreads, lanes, queries);
  };
  if (hasKeyLists(op))
    return getSchedule(1);
  // A lane has registers for so many elements of its queries and of their
  // results, beside those of a key. The more queries, the fewer bytes for each;
  // the more lanes, the more exchanges.
  constexpr int64_t most = 128;
  int64_t elements =
      op.getQueryKeyDim() + op.getValueDim() + getCapturedRowElements(op);
  int64_t queries = 8;
  auto isTooMuch = [&] { return elements * queries > most * lanes; };
  auto growLanes = [&](int64_t largest) {
    while (lanes < largest && isTooMuch())
      lanes *= 2;
  };
  auto shrinkQueries = [&](int64_t least) {
    while (queries > least && isTooMuch())
      queries /= 2;
  };
  growLanes(16);
  shrinkQueries(4);
  growLanes(hopper::kWarpThreads);
  shrinkQueries(1);
  return getSchedule(queries);
}
