//===- HopperChecks.cpp - Loops that check data become kernels ------------===//
//
// The threads of a warp share out the columns of a list. What they report goes
// to words in memory, three for each site: the place of the first error there
// is, which is the least that anybody has reported, and its two numbers. All
// ones is the place of no error. Who reports the least place so far writes its
// numbers, which may come later than those of a lesser one. But when the
// kernel runs again with the words that it has left, only the first error is
// still the least, so that the numbers are then the same in each run.
//
//===----------------------------------------------------------------------===//

#include "Kernels/WarpLoops.h"
#include "attn/Conversion/AttnToHopper/Passes.h"
#include "attn/Dialect/Attn/IR/OtherTarget.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNHOPPERCHECKSPASS
#include "attn/Conversion/AttnToHopper/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {
/// Emits the kernel of one loop.
class CheckKernel {
public:
  CheckKernel(OpBuilder &builder, func::FuncOp function, scf::ForallOp loop,
              gpu::GPUFuncOp kernel, int64_t numSites)
      : builder(builder), function(function), loop(loop),
        arguments(function, kernel, /*isStrided=*/false),
        values(builder, function, loop, arguments),
        words(RankedTensorType::get({hopper::kWordsOfSite * numSites},
                                    builder.getI64Type())) {}

  LogicalResult emit();

private:
  /// `place` is the number of the iteration that the operations are in, and
  /// `isMine` whether this thread is the one that reports, or null.
  LogicalResult emitBlock(Block &block, Value place, Value isMine);
  LogicalResult emitLoop(scf::ForOp loop);
  LogicalResult emitReport(ReportOp op, Value place, Value isMine);
  Value toI64(Value index) {
    return arith::IndexCastOp::create(builder, index.getLoc(),
                                      builder.getI64Type(), index);
  }

  OpBuilder &builder;
  func::FuncOp function;
  scf::ForallOp loop;
  KernelArguments arguments;
  KernelValues values;
  RankedTensorType words;
  Value lane;
};
} // namespace

LogicalResult CheckKernel::emitReport(ReportOp op, Value place, Value isMine) {
  Location loc = op.getLoc();
  Value numbers[2];
  for (auto [number, value] :
       llvm::zip_equal(numbers, ValueRange{op.getFirst(), op.getSecond()})) {
    FailureOr<Value> mapped = values.getScalar(value);
    if (failed(mapped))
      return failure();
    number = *mapped;
  }
  FailureOr<Value> condition = values.getScalar(op.getCondition());
  if (failed(condition))
    return failure();
  Value isReported = *condition;
  if (isMine)
    isReported = arith::AndIOp::create(builder, loc, isReported, isMine);
  Value memory = arguments.getMemRef(function.getNumArguments(), words);
  OpBuilder::InsertionGuard guard(builder);
  auto branch =
      scf::IfOp::create(builder, loc, isReported, /*withElseRegion=*/false);
  builder.setInsertionPointToStart(branch.thenBlock());
  int64_t word = hopper::kWordsOfSite * op.getSite();
  auto next = [&]() -> Value {
    return arith::ConstantIndexOp::create(builder, loc, word++);
  };
  Value at = toI64(place);
  Value before = memref::AtomicRMWOp::create(
      builder, loc, arith::AtomicRMWKind::minu, at, memory, next());
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::uge,
                                        before, at);
  auto store =
      scf::IfOp::create(builder, loc, isFirst, /*withElseRegion=*/false);
  builder.setInsertionPointToStart(store.thenBlock());
  for (Value number : numbers)
    memref::StoreOp::create(builder, loc, toI64(number), memory, next());
  return success();
}

/// A loop whose iterations depend on nothing but their number is the warp's.
LogicalResult CheckKernel::emitLoop(scf::ForOp op) {
  Location loc = op.getLoc();
  SmallVector<Value> bounds;
  for (Value bound : {op.getLowerBound(), op.getUpperBound(), op.getStep()}) {
    FailureOr<Value> mapped = values.getScalar(bound);
    if (failed(mapped))
      return failure();
    bounds.push_back(*mapped);
  }
  if (lane) {
    Value first = arith::MulIOp::create(builder, loc, lane, bounds[2]);
    bounds[0] = arith::AddIOp::create(builder, loc, bounds[0], first);
    bounds[2] = arith::MulIOp::create(
        builder, loc, bounds[2],
        arith::ConstantIndexOp::create(builder, loc, hopper::kWarpThreads));
  }
  auto result =
      scf::ForOp::create(builder, loc, bounds[0], bounds[1], bounds[2]);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(result.getBody());
  KernelValues::State saved = values.save();
  Value outerLane = std::exchange(lane, nullptr);
  values.map(op.getInductionVar(), result.getInductionVar());
  LogicalResult done = emitBlock(*op.getBody(), result.getInductionVar(),
                                 /*isMine=*/nullptr);
  lane = outerLane;
  values.restore(std::move(saved));
  return done;
}

LogicalResult CheckKernel::emitBlock(Block &block, Value place, Value isMine) {
  for (Operation &op : block.without_terminator()) {
    if (auto report = dyn_cast<ReportOp>(op)) {
      if (failed(emitReport(report, place, isMine)))
        return failure();
    } else if (auto inner = dyn_cast<scf::ForOp>(op);
               inner && inner.getNumResults() == 0) {
      if (failed(emitLoop(inner)))
        return failure();
    } else if (op.getNumResults() == 0) {
      return op.emitError("'")
             << op.getName() << "' has no form in a check on a GPU"
             << otherTarget;
    }
    // All else is computed where it is used.
  }
  return success();
}

LogicalResult CheckKernel::emit() {
  Location loc = loop.getLoc();
  lane = gpu::LaneIdOp::create(builder, loc, /*upper_bound=*/IntegerAttr());
  FailureOr<WarpIteration> iteration = emitWarpIteration(builder, loop, values);
  if (failed(iteration))
    return failure();
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value isMine =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, lane, zero);
  Value place = hopper::PositionOp::create(builder, loc, iteration->number);
  return emitBlock(*loop.getBody(), place, isMine);
}

/// What a launch has to know of the kernel of a loop.
static FailureOr<DictionaryAttr> describe(Builder &builder,
                                          func::FuncOp function,
                                          scf::ForallOp loop,
                                          int64_t numSites) {
  SmallVector<Attribute> extents;
  for (OpFoldResult bound : loop.getMixedUpperBound()) {
    FailureOr<DictionaryAttr> extent =
        describeExtent(builder, function, bound, loop);
    if (failed(extent))
      return failure();
    extents.push_back(*extent);
  }
  return builder.getDictionaryAttr(
      {builder.getNamedAttr("extents", builder.getArrayAttr(extents)),
       builder.getNamedAttr("sites", builder.getI64IntegerAttr(numSites)),
       builder.getNamedAttr(
           "words", builder.getI64IntegerAttr(function.getNumArguments()))});
}

static LogicalResult emitChecks(func::FuncOp function, int64_t numSites) {
  SmallVector<scf::ForallOp> loops;
  for (auto loop : function.getOps<scf::ForallOp>())
    if (loop.walk([](ReportOp) { return WalkResult::interrupt(); })
            .wasInterrupted())
      loops.push_back(loop);
  if (loops.empty())
    return success();
  Location loc = function.getLoc();
  OpBuilder builder(function);
  auto module = gpu::GPUModuleOp::create(
      builder, loc, (function.getName() + ".checks").str());
  for (auto [number, loop] : llvm::enumerate(loops)) {
    builder.setInsertionPointToEnd(module.getBody());
    gpu::GPUFuncOp kernel = createWarpKernel(
        builder, loop.getLoc(), function.getName() + "_check" + Twine(number));
    FailureOr<DictionaryAttr> launch =
        describe(builder, function, loop, numSites);
    if (failed(launch))
      return failure();
    kernel->setAttr(hopper::kChecksAttrName, *launch);
    builder.setInsertionPointToStart(&kernel.getBody().front());
    if (failed(CheckKernel(builder, function, loop, kernel, numSites).emit()))
      return failure();
    builder.setInsertionPointToEnd(&kernel.getBody().front());
    gpu::ReturnOp::create(builder, loc);
  }
  function.erase();
  return success();
}

namespace {
struct HopperChecks
    : public mlir::attn::impl::AttnHopperChecksPassBase<HopperChecks> {
  void runOnOperation() override {
    auto sites = getOperation()->getAttrOfType<ArrayAttr>(kSitesAttrName);
    for (auto function :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (failed(emitChecks(function, sites ? sites.size() : 0)))
        return signalPassFailure();
  }
};
} // namespace
