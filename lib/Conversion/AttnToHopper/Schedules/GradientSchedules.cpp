//===- GradientSchedules.cpp - Schedules of gradients ---------------------===//
//
// A row of the table has all steps of a loop over blocks of queries. Those of
// gradients that a program does not want are left out of it, and a program that
// computes dq in parts has several steps in place of `dq` and `red`.
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
  ScheduleFacts facts;
  facts.queryKeyDim = op.getQueryKeyDim();
  facts.valueDim = op.getValueDim();
  facts.dim = std::max(facts.queryKeyDim, facts.valueDim);
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
  explicit Steps(AttentionGradOp op) : op(op) {
    AttentionLikeOpInterface attention = op;
    numParts = attention.getQueryKeyDim() / getColumnsAtOnce(op);
    // Both partitions are to have about as much to multiply. The first has the
    // scores and dk, and dp if scores or weights are kept for it; the second
    // has dv, or else dp.
    bool hasDp = keepsScores(op) || getWeight(attention);
    int64_t first = 1 + (op.getOutOf(kGradKey) ? 1 : 0) + hasDp,
            second = (op.getOutOf(kGradValue) ? 1 : 0) + !hasDp;
    numPartsOfFirst =
        std::clamp<int64_t>(numParts * (second + 1 - first) / 2, 0, numParts);
  }

  /// The steps that one of a row is: none, one, or those that compute and add
  /// parts of dq. `dq_first` and `dq_second` are the parts of two partitions.
  SmallVector<std::string> get(StringRef step) {
    bool isWanted = llvm::StringSwitch<bool>(step)
                        .Cases({"dq", "dq_first", "dq_second", "red"},
                               op.getOutOf(kGradQuery) != nullptr)
                        .Cases({"dp", "ds"}, needsScores(op))
                        .Case("dk", op.getOutOf(kGradKey) != nullptr)
                        .Case("dv", op.getOutOf(kGradValue) != nullptr)
                        .Default(true);
    bool areParts = step.starts_with("dq") && (numParts > 1 || step != "dq");
    if (!isWanted || (step == "red" && numParts > 1))
      return {};
    if (!areParts)
      return {step.str()};
    SmallVector<std::string> steps;
    int64_t begin = step == "dq_second" ? numPartsOfFirst : 0,
            end = step == "dq_first" ? numPartsOfFirst : numParts;
    for (int64_t part = begin; part < end; ++part)
      for (const char *name : {"dq", "red"})
        steps.push_back(name +
                        (numParts > 1 ? std::to_string(part) : std::string()));
    return steps;
  }

  hopper::ScheduleAttr fit(hopper::ScheduleAttr row) {
    Builder builder(op.getContext());
    SmallVector<Attribute> order, exclusive;
    SmallVector<NamedAttribute> partitions;
    for (auto place : row.getOrder().getAsRange<hopper::PlaceAttr>())
      for (const std::string &step : get(place.getName()))
        order.push_back(
            hopper::PlaceAttr::get(op.getContext(), step, place.getStage()));
    if (row.getExclusive())
      for (auto name : row.getExclusive().getAsRange<StringAttr>()) {
        bool isLast = name == "dp" && !needsScores(op);
        exclusive.push_back(isLast ? builder.getStringAttr("dv") : name);
      }
    if (row.getPartitions())
      for (NamedAttribute entry : row.getPartitions())
        for (const std::string &step : get(entry.getName()))
          partitions.push_back(builder.getNamedAttr(step, entry.getValue()));
    return hopper::ScheduleAttr::get(
        op.getContext(), row.getTileM(), row.getTileN(), row.getStages(),
        row.getRegisters(), row.getHeadSwizzle(), row.getHeadSwizzleKeys(),
        row.getCaptureStages(), row.getMinCtasPerSm(), row.getInFlight(),
        row.getLongestFirst(), row.getZigzag(), row.getShortFirst(),
        row.getPersistent(), row.getPingPong(), row.getQInRegisters(),
        row.getBiasInProduct(), row.getStrided(), row.getSplitKV(),
        row.getPackGQA(), row.getReuseQ(), builder.getArrayAttr(order),
        exclusive.empty() ? ArrayAttr() : builder.getArrayAttr(exclusive),
        partitions.empty() ? DictionaryAttr()
                           : builder.getDictionaryAttr(partitions));
  }

private:
  AttentionGradOp op;
  int64_t numParts, numPartsOfFirst;
};
} // namespace

FailureOr<SmallVector<HopperSchedule>>
mlir::attn::getGradientSchedules(AttentionGradOp op, const ScheduleTable &table,
                                 SmallVectorImpl<RuledOutRow> *ruledOut) {
  ScheduleFacts facts = getFacts(op);
  Steps steps(op);
  SmallVector<HopperSchedule> schedules;
  for (const ScheduleTable::Row &row : table.gradients.rows) {
    if (!row.when.holds(facts)) {
      if (ruledOut)
        ruledOut->push_back({table.describe(row), row.when.explain(facts)});
      continue;
    }
    auto schedule =
        table.getSchedule(table.gradients, row, facts, op.getContext());
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
    added.keyCost = row.keyCost * (facts.masked ? table.model.maskedPart : 1);
  }
  return schedules;
}
