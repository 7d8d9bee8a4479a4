//===- GradientSchedules.cpp - Schedules of gradients ---------------------===//
//
// A row of the table has all steps of a loop over blocks of queries, or, where
// dq is all that is wanted, over blocks of keys. Those of gradients that a
// program does not want are left out of it.
//
//===----------------------------------------------------------------------===//

#include "ScheduleFacts.h"
#include "attn/Conversion/AttnToHopper/Schedules.h"
#include "attn/Dialect/Attn/IR/AttnDropout.h"
#include "attn/Dialect/Attn/Transforms/GradientSteps.h"
#include "llvm/ADT/StringSwitch.h"
#include <algorithm>

using namespace mlir;
using namespace mlir::attn;

/// Whether gradients of scores are computed: not for those of values alone.
static bool needsScores(AttentionGradOp op) {
  return op.getOutOf(kGradQuery) || op.getOutOf(kGradKey) ||
         hasContributions(op);
}

static ScheduleFacts getFacts(AttentionGradOp gradient) {
  AttentionLikeOpInterface op = gradient;
  ScheduleFacts facts = ProgramFacts(op);
  facts.masked = !op.getMask().empty();
  facts.keepsScores = keepsScores(gradient);
  facts.weights = getWeight(op) != nullptr;
  facts.dq = gradient.getOutOf(kGradQuery) != nullptr;
  facts.dv = gradient.getOutOf(kGradValue) != nullptr;
  facts.sharedDq = facts.queryKeyDim > 64 && facts.queryKeyDim <= 128 &&
                   facts.queryKeyDim % 16 == 0 && facts.valueDim <= 128;
  facts.ordered = facts.dq && !gradient.getNondeterministic();
  facts.contributions = hasContributions(gradient);
  facts.diagonals = hasSumsOfDiagonals(gradient);
  facts.readsScores = readsScores(gradient);
  return facts;
}

namespace {
/// What becomes of the steps of a row in one program.
class Steps {
public:
  explicit Steps(AttentionGradOp op) : op(op) {}

  bool isWanted(StringRef step) {
    return llvm::StringSwitch<bool>(step)
        .Cases({"dq", "red"}, op.getOutOf(kGradQuery) != nullptr)
        .Cases({"dp", "ds"}, needsScores(op))
        .Case("dk", op.getOutOf(kGradKey) != nullptr)
        .Case("dv", op.getOutOf(kGradValue) != nullptr)
        .Default(true);
  }

  hopper::ScheduleAttr fit(hopper::ScheduleAttr row) {
    Builder builder(op.getContext());
    SmallVector<Attribute> order, exclusive;
    SmallVector<NamedAttribute> partitions;
    for (auto place : row.getOrder().getAsRange<hopper::PlaceAttr>())
      if (isWanted(place.getName()))
        order.push_back(place);
    if (row.getExclusive())
      for (auto name : row.getExclusive().getAsRange<StringAttr>()) {
        bool isLast = name == "dp" && !needsScores(op);
        exclusive.push_back(isLast ? builder.getStringAttr("dv") : name);
      }
    if (row.getPartitions())
      for (NamedAttribute entry : row.getPartitions())
        if (isWanted(entry.getName()))
          partitions.push_back(entry);
    return hopper::ScheduleAttr::get(
        op.getContext(), row.getTileM(), row.getTileN(), row.getStages(),
        row.getRegisters(), row.getHeadSwizzle(), row.getHeadSwizzleKeys(),
        row.getHeadSwizzleLeastKeys(), row.getLongestFirstRows(),
        row.getLongestFirstLeastTiles(), row.getCaptureStages(),
        row.getMinCtasPerSm(), row.getInFlight(), row.getLongestFirst(),
        row.getZigzag(), row.getShortFirst(), row.getPersistent(),
        row.getPingPong(), row.getQInRegisters(), row.getBiasInProduct(),
        row.getStrided(), row.getSplitKV(), row.getPackGQA(), row.getReuseQ(),
        row.getWriteDq(), builder.getArrayAttr(order),
        exclusive.empty() ? ArrayAttr() : builder.getArrayAttr(exclusive),
        partitions.empty() ? DictionaryAttr()
                           : builder.getDictionaryAttr(partitions));
  }

private:
  AttentionGradOp op;
};
} // namespace

FailureOr<SmallVector<HopperSchedule>>
mlir::attn::getGradientSchedules(AttentionGradOp op, const ScheduleTable &table,
                                 SmallVectorImpl<RuledOutRow> *ruledOut) {
  ScheduleFacts facts = getFacts(op);
  Steps steps(op);
  SmallVector<HopperSchedule> schedules;
  const ScheduleTable::Section &section = table.getSection(op);
  for (const ScheduleTable::Row &row : section.rows) {
    if (!row.when.holds(facts)) {
      if (ruledOut)
        ruledOut->push_back({table.describe(row), row.when.explain(facts)});
      continue;
    }
    auto schedule = table.getSchedule(section, row, facts, op.getContext());
    if (!schedule)
      return op.emitError(llvm::toString(schedule.takeError()));
    using Use = ScheduleTable::Use;
    // The first one of all is no last resort.
    bool isFirst = schedules.empty();
    HopperSchedule &added = schedules.emplace_back();
    added.schedule = steps.fit(*schedule);
    added.row = table.describe(row);
    added.isForAnyStrides = row.use == Use::AnyStrides;
    added.isLastResort = row.use == Use::LastResort && !isFirst;
    added.spillBytes = row.spillBytes;
    added.tileCost = row.tileCost;
    double part = facts.masked ? table.model.maskedPart : 1;
    added.keyCost = row.keyCost * part;
    // A window leaves that part of no more of them, however many there are.
    if (facts.window)
      added.typicalKeys = table.model.typicalKeys / part;
  }
  findFallbacks(schedules);
  return schedules;
}
