//===- CudaCandidates.cpp - The schedules to try for a program ------------===//

#include "CudaCandidates.h"
#include "attn/Conversion/AttnToHopper/Launches.h"
#include "attn/Conversion/AttnToHopper/Schedules.h"
#include "attn/Dialect/Attn/IR/AttnGrad.h"
#include "attn/Dialect/Attn/IR/AttnTarget.h"
#include "attn/Dialect/Attn/Transforms/Sparsity.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <limits>

using namespace attn;
using mlir::attn::AttentionLikeOpInterface;
using mlir::attn::ScheduleTable;
using mlir::attn::SparsityForm;

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

static llvm::SmallVector<AttentionLikeOpInterface>
getAttentions(mlir::ModuleOp module) {
  llvm::SmallVector<AttentionLikeOpInterface> attentions;
  module.walk([&](AttentionLikeOpInterface op) { attentions.push_back(op); });
  return attentions;
}

/// The launches of a module behind the stage "program".
static llvm::SmallVector<mlir::DestinationStyleOpInterface>
getLaunches(mlir::ModuleOp module) {
  llvm::SmallVector<mlir::DestinationStyleOpInterface> launches;
  for (auto function : module.getOps<mlir::func::FuncOp>())
    if (function.isPublic() && !function.isExternal() &&
        !function->hasAttr(mlir::attn::kConstraintsAttrName))
      llvm::append_range(launches, mlir::attn::getLaunches(function));
  return launches;
}

unsigned attn::getNumLaunches(mlir::ModuleOp module) {
  return std::max<size_t>(getLaunches(module).size(), 1);
}

std::vector<CudaForm> attn::getCudaForms(mlir::ModuleOp module,
                                         const CompileOptions &options,
                                         const ScheduleTable &table,
                                         unsigned launch) {
  std::vector<CudaForm> forms;
  auto launches = getLaunches(module);
  auto attentions = getAttentions(module);
  if (launches.size() > 1 && launch < launches.size()) {
    attentions.clear();
    if (auto op = llvm::dyn_cast<AttentionLikeOpInterface>(
            launches[launch].getOperation()))
      attentions.push_back(op);
  }
  SparsityForm form = *mlir::attn::parseSparsityForm(options.sparsity);
  bool isFree = attentions.size() == 1 && !attentions[0]->hasAttr("schedule");
  auto withLists = llvm::find_if(attentions, mlir::attn::hasKeyLists);
  bool hasLists = withLists != attentions.end();
  bool haveTiles = isFree && mlir::attn::haveTiles(attentions[0]);
  mlir::attn::ListCosts costs;
  if (hasLists)
    costs = mlir::attn::getCudaListCosts(*withLists);
  constexpr double microseconds = 1e-3;
  // Rows are a form of their own, in which alone there may be other elements.
  // Gradients have none: they compute with lists as a mask.
  bool isGradient =
      hasLists && llvm::isa<mlir::attn::AttentionGradOp>(**withLists);
  bool isGathered = hasLists && form == SparsityForm::Gathered && !isGradient;
  bool areRows =
      hasLists && form != SparsityForm::Dense && !isGathered && !isGradient;
  bool hasBoth = haveTiles && areRows && form == SparsityForm::Auto;
  if (areRows) {
    CudaForm &rows = forms.emplace_back();
    rows.sparsity =
        isFree && form == SparsityForm::Auto ? "lists" : options.sparsity;
    rows.areRows = true;
    rows.costs.rowCost = costs.row * microseconds;
    rows.costs.pairCost = costs.pair * microseconds;
  }
  // Without a sparsity, too: no mask is asked which tiles it needs.
  if (haveTiles && form == SparsityForm::Dense)
    attentions[0]->setAttr(mlir::attn::kWholeAttrName,
                           mlir::UnitAttr::get(module.getContext()));
  if (!areRows || hasBoth) {
    CudaForm &tiles = forms.emplace_back();
    bool isDense = haveTiles && hasLists && !isGathered;
    tiles.sparsity = isDense ? "dense" : options.sparsity;
    tiles.isChosen = haveTiles;
    tiles.isOneOfSeveral = hasBoth;
    if (isDense) {
      tiles.costs.entryCost = costs.entry * microseconds;
      tiles.costs.tableCost = table.model.wordByteCost;
    }
  }
  return forms;
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

/// The argument of the function that an operand is, or -1.
static int32_t getArgumentNumber(mlir::Value operand) {
  while (auto cast = operand.getDefiningOp<mlir::tensor::CastOp>())
    operand = cast.getSource();
  auto argument = llvm::dyn_cast<mlir::BlockArgument>(operand);
  return argument ? static_cast<int32_t>(argument.getArgNumber()) : -1;
}

/// What attentions read for the pairs that a mask or lists leave: keys, values
/// and captures; gradients, which are sums over queries, the queries, too.
static std::vector<int32_t>
getPartlyRead(llvm::ArrayRef<AttentionLikeOpInterface> attentions) {
  std::vector<int32_t> numbers;
  for (AttentionLikeOpInterface op : attentions) {
    if (op.getMask().empty() && !op.getSparsityAttr())
      continue;
    bool isGradient = llvm::isa<mlir::attn::AttentionGradOp>(*op);
    auto style = llvm::cast<mlir::DestinationStyleOpInterface>(*op);
    for (mlir::OpOperand *operand : style.getDpsInputOperands())
      if (int32_t number = getArgumentNumber(operand->get());
          number >= 0 && (isGradient || operand->get() != op->getOperand(0)))
        numbers.push_back(number);
  }
  llvm::sort(numbers);
  numbers.erase(llvm::unique(numbers), numbers.end());
  return numbers;
}

static mlir::FailureOr<llvm::SmallVector<mlir::attn::HopperSchedule>>
getSchedules(
    AttentionLikeOpInterface attention, const ScheduleTable &table,
    llvm::SmallVectorImpl<mlir::attn::RuledOutRow> *ruledOut = nullptr) {
  // No pass has needed it so far.
  attention->getContext()->loadDialect<mlir::attn::hopper::HopperDialect>();
  if (auto gradient = llvm::dyn_cast<mlir::attn::AttentionGradOp>(*attention))
    return mlir::attn::getGradientSchedules(gradient, table, ruledOut);
  return mlir::attn::getHopperSchedules(attention, table, ruledOut);
}

/// Tells how many rows of the table each condition has ruled out.
static void explainRows(AttentionLikeOpInterface attention,
                        const ScheduleTable &table,
                        llvm::ArrayRef<mlir::attn::RuledOutRow> ruledOut) {
  llvm::MapVector<llvm::StringRef, unsigned> counts;
  for (const mlir::attn::RuledOutRow &row : ruledOut)
    ++counts[row.reason];
  auto reasons = counts.takeVector();
  llvm::sort(reasons, [](const auto &a, const auto &b) {
    return std::tie(b.second, a.first) < std::tie(a.second, b.first);
  });
  const ScheduleTable::Section &rows = table.getSection(attention);
  llvm::StringRef section;
  for (auto [name, each] : table.getSections())
    if (each == &rows)
      section = name;
  for (const auto &[reason, count] : reasons)
    mlir::remark::analysis(
        attention.getLoc(),
        mlir::remark::RemarkOpts::name("rows-ruled-out")
            .category(mlir::attn::kRemarkCategory)
            .function(mlir::attn::getFunctionName(attention)))
        << mlir::remark::add("{0}",
                             llvm::formatv("{0} of {1} rows of {2}: {3}", count,
                                           rows.rows.size(), section, reason)
                                 .str());
}

/// What a kernel may spill whose schedule somebody has given: as much as with
/// the same one from the table, and nothing with one that is not in it.
static int64_t getSpillBytes(AttentionLikeOpInterface attention,
                             const ScheduleTable &table) {
  auto given =
      attention->getAttrOfType<mlir::attn::hopper::ScheduleAttr>("schedule");
  if (!given || !mlir::attn::haveTiles(attention))
    return 0;
  // It needs no schedule of the table.
  mlir::ScopedDiagnosticHandler silence(
      attention->getContext(),
      [](mlir::Diagnostic &) { return mlir::success(); });
  auto schedules = getSchedules(attention, table);
  if (failed(schedules))
    return 0;
  int64_t bytes = 0;
  for (const mlir::attn::HopperSchedule &schedule : *schedules)
    if (schedule.schedule == given)
      bytes = std::max(bytes, schedule.spillBytes);
  return bytes;
}

/// The schedules of one form.
static mlir::LogicalResult addCandidates(const CudaForm &form,
                                         const ScheduleTable &table,
                                         std::vector<Candidate> &candidates) {
  auto attentions = getAttentions(*form.module);
  if (!form.isChosen || attentions.size() != 1) {
    Candidate &candidate = candidates.emplace_back();
    static_cast<cuda::Costs &>(candidate) = form.costs;
    candidate.form = &form;
    // The assembler chooses the registers of rows: a few bytes are the price of
    // more warps at a time, and there is no other kernel.
    if (form.areRows)
      candidate.spillBytes = std::numeric_limits<int64_t>::max();
    else if (attentions.size() == 1)
      candidate.spillBytes = getSpillBytes(attentions[0], table);
    candidate.partlyRead = getPartlyRead(attentions);
    if (attentions.size() == 1 && !form.areRows &&
        mlir::attn::haveTiles(attentions[0]))
      candidate.pairOperations = mlir::attn::getPairOperations(
          attentions[0], table, /*hasTypicalKeys=*/false);
    return mlir::success();
  }
  AttentionLikeOpInterface attention = attentions[0];
  llvm::SmallVector<mlir::attn::RuledOutRow> ruledOut;
  auto schedules = getSchedules(attention, table, &ruledOut);
  explainRows(attention, table, ruledOut);
  if (failed(schedules))
    return mlir::failure();
  for (const mlir::attn::HopperSchedule &schedule : *schedules) {
    // The other form is for any strides, and runs where nothing else does; few
    // tiles of one of several forms are not shared out.
    if (form.isOneOfSeveral &&
        (schedule.isForAnyStrides || schedule.isLastResort))
      continue;
    bool hasBitmask = form.costs.tableCost > 0;
    if (schedule.isSplitKV &&
        (hasBitmask || attention->hasAttr(mlir::attn::kGatheredAttrName)))
      continue;
    Candidate &candidate = candidates.emplace_back();
    static_cast<cuda::Costs &>(candidate) = schedule;
    candidate.pairOperations = mlir::attn::getPairOperations(
        attention, table, schedule.typicalKeys > 0);
    candidate.entryCost = form.costs.entryCost;
    candidate.tableCost = form.costs.tableCost;
    candidate.form = &form;
    candidate.partlyRead = getPartlyRead(attention);
    candidate.schedule = schedule.schedule;
    candidate.spillBytes = schedule.spillBytes;
    // The registers of a thread that computes, of which small tiles have few.
    // Where dq is written in the loop there is half as much code again.
    candidate.assemblyCost =
        schedule.schedule.getPackGQA() ? 0 : schedule.schedule.getRegisters();
    if (schedule.schedule.getWriteDq())
      candidate.assemblyCost *= 2;
    if (schedule.isForAnyStrides) {
      candidate.kind = Candidate::Kind::AnyStrides;
    } else if (schedule.isLastResort) {
      candidate.kind = Candidate::Kind::LastResort;
    } else if (schedule.isFallback) {
      candidate.kind = Candidate::Kind::Fallback;
    } else if (schedule.isSplitKV) {
      candidate.kind = Candidate::Kind::SplitKV;
      candidate.combineCost = table.model.combineCost;
      candidate.splitRowCost =
          table.model.partElementCost * double(attention.getValueDim());
    }
  }
  return mlir::success();
}

mlir::FailureOr<std::vector<Candidate>>
attn::getCandidates(llvm::ArrayRef<CudaForm> forms,
                    const ScheduleTable &table) {
  std::vector<Candidate> candidates;
  for (const CudaForm &form : forms)
    if (failed(addCandidates(form, table, candidates)))
      return mlir::failure();
  return candidates;
}

mlir::OwningOpRef<mlir::ModuleOp> Candidate::makeModule() const {
  mlir::OwningOpRef<mlir::ModuleOp> copy = form->module.get().clone();
  if (schedule)
    for (AttentionLikeOpInterface op : getAttentions(*copy))
      op->setAttr("schedule", schedule);
  return copy;
}

//===----------------------------------------------------------------------===//
// Remarks
//===----------------------------------------------------------------------===//

cuda::ListsInfo attn::describeLists(mlir::ModuleOp module) {
  cuda::ListsInfo lists;
  module.walk([&](AttentionLikeOpInterface op) {
    if (!mlir::attn::hasKeyLists(op))
      return;
    lists.rowsOperand = getArgumentNumber(op.getSparsityOperands()[0]);
    lists.columnsOperand = getArgumentNumber(op.getSparsityOperands()[1]);
  });
  return lists;
}

void attn::explainForms(llvm::ArrayRef<Candidate> candidates,
                        mlir::Location loc, llvm::StringRef entry) {
  const Candidate *rows = nullptr, *dense = nullptr;
  for (const Candidate &candidate : candidates)
    (candidate.form->areRows ? rows : dense) = &candidate;
  if (!rows || rows->pairCost == 0)
    return;
  std::string text = "lists: the only form that was asked for, or that a GPU "
                     "has for these elements";
  if (dense) {
    // Of many keys, each list of one head.
    double pairCost = HUGE_VAL;
    for (const Candidate &candidate : candidates)
      if (auto schedule =
              llvm::dyn_cast_or_null<mlir::attn::hopper::ScheduleAttr>(
                  candidate.schedule))
        pairCost =
            std::min(pairCost, candidate.keyCost / double(schedule.getTileM()));
    mlir::attn::ListCosts costs;
    costs.pair = rows->pairCost;
    costs.row = rows->rowCost;
    costs.entry = dense->entryCost;
    costs.densePair =
        pairCost / double(mlir::attn::getTarget(*rows->form->module).getSms()) +
        dense->tableCost / 8;
    constexpr double keys = 4096;
    text = llvm::formatv(
        "lists and dense: a launch takes the one that costs less, lists below "
        "some {0:F1} % of all pairs (of 4096 keys); a pair of a list costs "
        "{1:F1} ps on an H200, and one of all {2:F2}",
        100 * costs.getCrossover(keys), 1e6 * costs.pair,
        1e6 * costs.densePair);
  }
  mlir::remark::passed(loc, mlir::remark::RemarkOpts::name("sparsity")
                                .category(mlir::attn::kRemarkCategory)
                                .function(entry))
      << mlir::remark::add("{0}", text);
}

void attn::explainPacking(llvm::ArrayRef<CudaForm> forms, mlir::Location loc,
                          llvm::StringRef entry) {
  const CudaForm &form = forms.back();
  auto attentions = getAttentions(*form.module);
  bool hasLists = form.costs.tableCost > 0 || form.areRows;
  if (!form.isChosen || attentions.size() != 1 || hasLists ||
      llvm::isa<mlir::attn::AttentionGradOp>(*attentions[0]) ||
      attentions[0]->hasAttr(mlir::attn::kGatheredAttrName) ||
      !mlir::attn::mayShareKeys(attentions[0]))
    return;
  llvm::StringRef obstacle = mlir::attn::getPackingObstacle(attentions[0]);
  auto opts = mlir::remark::RemarkOpts::name("pack-gqa")
                  .category(mlir::attn::kRemarkCategory)
                  .function(entry);
  if (obstacle.empty())
    mlir::remark::passed(loc, opts)
        << mlir::remark::add("where queries are few, tiles have those of "
                             "several heads, whose keys are read once");
  else
    mlir::remark::missed(loc, opts) << mlir::remark::add(
        "{0}", "tiles have the queries of one head: " + obstacle.str());
}
