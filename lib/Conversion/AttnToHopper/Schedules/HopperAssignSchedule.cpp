//===- HopperAssignSchedule.cpp - Choose how attentions run on a GPU ------===//

#include "attn/Conversion/AttnToHopper/Passes.h"
#include "attn/Conversion/AttnToHopper/Schedules.h"
#include "attn/Dialect/Attn/IR/AttnGrad.h"
#include "attn/Dialect/Attn/IR/OtherTarget.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNHOPPERASSIGNSCHEDULEPASS
#include "attn/Conversion/AttnToHopper/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// Whether what a region ends with first is computed of one of its arguments.
static bool dependsOn(Block &block, BlockArgument argument) {
  Value value = block.getTerminator()->getOperand(0);
  if (value == argument)
    return true;
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.omitUsesFromAbove = false;
  options.inclusive = true;
  (void)getBackwardSlice(value, &slice, options);
  return llvm::any_of(argument.getUsers(), [&](Operation *user) {
    return slice.contains(block.findAncestorOpInBlock(*user));
  });
}

/// Makes what a region ends with depend on one of its arguments, by a choice
/// that is never taken. A position is never negative, but no upstream pattern
/// knows.
static void makeDependOn(Block &block, BlockArgument argument, Value position) {
  if (dependsOn(block, argument))
    return;
  OpBuilder builder(block.getTerminator());
  Location loc = block.getTerminator()->getLoc();
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value isPosition = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::sge, position, zero);
  OpOperand &result = block.getTerminator()->getOpOperand(0);
  result.set(arith::SelectOp::create(builder, loc, isPosition, result.get(),
                                     argument));
}

/// Makes kernels use their products, which they start each tile of scores as,
/// and each tile of gradients: those of queries and keys where a score does not
/// depend on them, and those with gradients where these are lost in the score.
/// The sums of the latter are zeros, written as any others are.
static void useProducts(AttentionLikeOpInterface op) {
  if (op.getScore().empty())
    return;
  Block &score = op.getScore().front();
  makeDependOn(score, score.getArgument(0),
               score.getArgument(kNumScoreArgs - 1));
  auto gradient = dyn_cast<AttentionGradOp>(*op);
  if (!gradient || gradient.getAdjoint().empty())
    return;
  Block &adjoint = gradient.getAdjoint().front();
  makeDependOn(adjoint, adjoint.getArgument(1),
               adjoint.getArgument(kAdjointKey));
}

/// Tells a schedule, its costs, what it may spill, and its row of the table.
static void describe(Operation *op, const HopperSchedule &schedule) {
  InFlightDiagnostic remark =
      op->emitRemark(schedule.isForAnyStrides ? "for any strides: "
                     : schedule.isSplitKV     ? "split-KV: "
                     : schedule.isLastResort  ? "last resort: "
                     : schedule.isFallback    ? "fallback: "
                                              : "schedule: ");
  remark << schedule.schedule;
  ::attn::cuda::Costs::forEach(schedule, [&](StringRef name, double cost) {
    if (cost != 0)
      remark << ", " << name << " = " << llvm::formatv("{0:f4}", cost).str();
  });
  if (schedule.spillBytes != 0)
    remark << ", spill_bytes = " << schedule.spillBytes;
  if (!schedule.row.empty())
    remark << ", " << schedule.row;
}

namespace {
struct AttnHopperAssignSchedule
    : public mlir::attn::impl::AttnHopperAssignSchedulePassBase<
          AttnHopperAssignSchedule> {
  using AttnHopperAssignSchedulePassBase::AttnHopperAssignSchedulePassBase;

  explicit AttnHopperAssignSchedule(std::shared_ptr<const ScheduleTable> table)
      : table(std::move(table)) {}

  LogicalResult initialize(MLIRContext *context) override {
    if (table)
      return success();
    if (schedules.empty()) {
      table = ScheduleTable::getDefault();
      return success();
    }
    auto read = ScheduleTable::load(schedules, context);
    if (!read)
      return emitError(UnknownLoc::get(context),
                       llvm::toString(read.takeError()));
    table = std::move(*read);
    return success();
  }

  void runOnOperation() override {
    WalkResult walk = getOperation()->walk([&](AttentionLikeOpInterface op) {
      bool areTiles =
          op->hasAttr(kGatheredAttrName) ||
          isa_and_nonnull<hopper::ScheduleAttr>(op->getAttr("schedule"));
      TargetAttr target = getTarget(op);
      if (areTiles && !target.getWgmma()) {
        op.emitError("expects a target with wgmma for tiles on a GPU, but ")
            << target.getChip()
            << " has none; leave the choice of a schedule and of a form to the "
               "compiler";
        return WalkResult::interrupt();
      }
      if (op->hasAttr(kGatheredAttrName) && !target.getCpAsync()) {
        op.emitError("expects a target with cp.async for gathered tiles, but ")
            << target.getChip()
            << " has none; leave the choice of a form to the compiler";
        return WalkResult::interrupt();
      }
      if (areTiles && !areHeadDimsSupported(op)) {
        op.emitError("expects head dimensions that are multiples of 8 for "
                     "tiles on a GPU, of values up to ")
            << kMostValueColumns << " and of queries up to " << kMostKeyColumns
            << ", of gradients and lists of keys up to " << kMostValueColumns
            << ", but got " << op.getQueryKeyDim() << " and "
            << op.getValueDim()
            << "; leave the choice of a schedule and of a form to the compiler";
        return WalkResult::interrupt();
      }
      if (isa<AttentionGradOp>(op) && !haveTiles(op)) {
        op.emitError("expects elements of bf16 or f16, or of f32 without a "
                     "schedule of tiles, for gradients on a GPU")
            << otherTarget;
        return WalkResult::interrupt();
      }
      // Queries with lists of keys, and what no matrix instruction takes.
      if ((hasKeyLists(op) && !op->hasAttr(kGatheredAttrName)) ||
          (!areTiles && !haveTiles(op))) {
        if (!op->hasAttr("schedule"))
          op->setAttr("schedule", getRowSchedule(op));
        return WalkResult::advance();
      }
      FailureOr<SmallVector<HopperSchedule>> found =
          isa<AttentionGradOp>(op)
              ? getGradientSchedules(cast<AttentionGradOp>(*op), *table)
              : getHopperSchedules(op, *table);
      if (failed(found))
        return WalkResult::interrupt();
      if (list)
        llvm::for_each(*found, [&](const HopperSchedule &schedule) {
          describe(op, schedule);
        });
      if (auto given = op->getAttrOfType<hopper::ScheduleAttr>("schedule")) {
        if (failed(hopper::verifyRegisters([&] { return op.emitError(); },
                                           target, given)))
          return WalkResult::interrupt();
        // The assembler judges those of the table, of which another is taken.
        bool isOfTable =
            llvm::any_of(*found, [&](const HopperSchedule &schedule) {
              return schedule.schedule == given;
            });
        if (!isOfTable && !isa<AttentionGradOp>(op) &&
            failed(verifyTileRegisters(op, target, given)))
          return WalkResult::interrupt();
      }
      if (!op->hasAttr("schedule"))
        op->setAttr("schedule", found->front().schedule);
      useProducts(op);
      return WalkResult::advance();
    });
    if (walk.wasInterrupted())
      signalPassFailure();
  }

private:
  std::shared_ptr<const ScheduleTable> table;
};
} // namespace

std::unique_ptr<Pass> mlir::attn::createAttnHopperAssignSchedulePass(
    std::shared_ptr<const ScheduleTable> table) {
  return std::make_unique<AttnHopperAssignSchedule>(std::move(table));
}
