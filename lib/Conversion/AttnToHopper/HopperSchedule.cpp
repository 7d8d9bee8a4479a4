//===- HopperSchedule.cpp - Loops over tiles become kernels ---------------===//

#include "MergeKernel.h"
#include "Roles.h"
#include "SummaryKernels.h"
#include "attn/Conversion/AttnToHopper/Passes.h"
#include "attn/Conversion/AttnToHopper/Schedules.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNHOPPERSCHEDULEPASS
#include "attn/Conversion/AttnToHopper/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

static Value createChannel(OpBuilder &builder, Location loc, int64_t stages,
                           int64_t rows, const TileAccess &access,
                           bool notes = false) {
  return hopper::CreateChannelOp::create(
      builder, loc,
      hopper::ChannelType::get(builder.getContext(), stages, rows,
                               access.columns, access.elementType, notes));
}

static KernelResources createResources(OpBuilder &builder, Location loc,
                                       TileProgram &program,
                                       KernelArguments &arguments) {
  hopper::ScheduleAttr schedule = program.schedule;
  int64_t tileM = schedule.getTileM(), tileN = schedule.getTileN();
  int64_t stages = schedule.getStages();
  KernelResources resources;
  resources.queryMap = arguments.getMap(program.query, tileM);
  resources.keyMap = arguments.getMap(program.key, tileN);
  resources.valueMap = arguments.getMap(program.value, tileN);
  bool byClass = static_cast<bool>(program.isNeeded);
  SmallVector<Type> captures = llvm::map_to_vector(
      program.captures, [](const TileCapture &capture) -> Type {
        return capture.access.elementType;
      });
  int64_t queryStages = getQueryStages(schedule, program.query.columns,
                                       program.value.columns, captures);
  resources.queryChannel =
      createChannel(builder, loc, queryStages, tileM, program.query, byClass);
  resources.keyChannel =
      createChannel(builder, loc, stages, tileN, program.key, byClass);
  resources.valueChannel =
      createChannel(builder, loc, stages, tileN, program.value);
  for (const TileCapture &capture : program.captures) {
    resources.captureMaps.push_back(arguments.getMap(capture.access, tileM));
    resources.captureChannels.push_back(createChannel(
        builder, loc, schedule.getCaptureStages(), tileM, capture.access));
  }
  if (schedule.getSplitKeys())
    resources.parts = getPartResults(getMergedResults(program), arguments);
  int64_t stagingColumns = getStagingColumns(schedule, program.query.columns,
                                             program.value.columns, captures);
  resources.stagesInQueries = stagingColumns == 0 && !schedule.getSplitKeys();
  for (auto [number, result] : llvm::enumerate(program.results))
    if (result.hasColumns() && stagingColumns != 0)
      resources.staging[number] = hopper::CreateTileOp::create(
          builder, loc,
          hopper::TileType::get(builder.getContext(), tileM, stagingColumns,
                                result.access.elementType, tileM));
  if (program.bias)
    resources.ramp = hopper::CreateRampOp::create(
        builder, loc,
        hopper::TileType::get(builder.getContext(), tileN, /*columns=*/8,
                              program.key.elementType, tileN));
  if (schedule.getPersistent()) {
    resources.counter = arguments.getCounter();
    resources.mailbox = hopper::CreateMailboxOp::create(
        builder, loc,
        hopper::MailboxType::get(builder.getContext(), /*length=*/3));
  }
  if (schedule.getPingPong())
    resources.turns = hopper::CreateTurnsOp::create(
        builder, loc, hopper::TurnsType::get(builder.getContext()));
  return resources;
}

/// Where a launch finds the number of tiles and of keys, as a dictionary: the
/// dimensions of batch, head and row of an operand that has all rows, and the
/// one of the keys, and of their heads where heads of queries are packed.
static DictionaryAttr describeGrid(Builder &builder,
                                   const TileProgram &program) {
  const TileAccess *rows = &program.query;
  if (const TileResult *output = program.getOutput())
    rows = &output->access;
  auto getNumber = [&](int64_t number) {
    return builder.getI64IntegerAttr(number);
  };
  auto dims = ArrayRef<int64_t>(rows->dims).take_front(3);
  SmallVector<NamedAttribute> members = {
      builder.getNamedAttr("operand", getNumber(rows->argument)),
      builder.getNamedAttr("dims", builder.getDenseI64ArrayAttr(dims)),
      builder.getNamedAttr("key_operand", getNumber(program.key.argument)),
      builder.getNamedAttr("key_dim", getNumber(program.key.dims[2]))};
  if (PackedCountOp packing = program.query.packing)
    members.push_back(builder.getNamedAttr(
        "key_head_dim",
        getNumber(static_cast<int64_t>(packing.getKeyHeads()))));
  return builder.getDictionaryAttr(members);
}

/// Whether it is known that there is no tile of queries.
static bool isGridEmpty(scf::ForallOp grid) {
  return llvm::any_of(grid.getMixedUpperBound(), [](OpFoldResult extent) {
    return getConstantIntValue(extent) == 0;
  });
}

/// What the warps of a thread block do.
static LogicalResult emitRoles(OpBuilder &builder, TileProgram &program,
                               KernelArguments &arguments,
                               const KernelResources &resources,
                               hopper::WarpSpecializeOp roles) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&roles.getBodies()[0].front());
  if (failed(emitProducer(builder, program, arguments, resources)))
    return failure();
  builder.setInsertionPointToStart(&roles.getBodies()[1].front());
  return emitConsumer(builder, program, arguments, resources);
}

static LogicalResult schedule(TileProgram &program) {
  func::FuncOp function = program.function;
  Location loc = function.getLoc();
  OpBuilder builder(function);
  auto module = gpu::GPUModuleOp::create(builder, loc,
                                         (function.getName() + ".cuda").str());
  builder.setInsertionPointToStart(module.getBody());
  FailureOr<DictionaryAttr> tables = describeTables(program);
  if (failed(tables) || failed(emitSummaryKernels(builder, program)))
    return failure();
  if (program.schedule.getSplitKeys()) {
    const TileResult *output = program.getOutput();
    if (!output ||
        !getUnroundedOutput(output->vector, program.keys.getResult(0)) ||
        program.results.size() > 2)
      return emitNotMerged(program.grid);
    emitMergeKernel(builder, program.grid.getLoc(), getMergedResults(program));
  }
  auto kernel =
      gpu::GPUFuncOp::create(builder, loc, function.getName(),
                             FunctionType::get(builder.getContext(), {}, {}));
  kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                  builder.getUnitAttr());
  kernel->setAttr(hopper::kScheduleAttrName, program.schedule);
  kernel->setAttr(hopper::kGridAttrName, describeGrid(builder, program));
  if (*tables)
    kernel->setAttr(hopper::kTablesAttrName, *tables);
  if (program.schedule.getSplitKeys())
    declarePartResults(kernel, getMergedResults(program));
  bool isStrided = program.schedule.getStrided();
  KernelArguments arguments(function, kernel, isStrided);

  builder.setInsertionPointToStart(&kernel.getBody().front());
  // Without tiles the kernel is empty: no block is ever launched, and nothing
  // could be known of positions in a tile.
  bool isEmpty = isGridEmpty(program.grid);
  KernelResources resources;
  if (!isEmpty)
    resources = createResources(builder, loc, program, arguments);
  // A warpgroup copies what the hardware does not, and a warp finds the tiles
  // that are needed.
  bool areRowsListed = static_cast<bool>(program.key.list);
  int64_t producerThreads = isStrided || areRowsListed ? 128
                            : program.isNeeded         ? hopper::kWarpThreads
                                                       : 1;
  MLIRContext *context = builder.getContext();
  auto roles = hopper::WarpSpecializeOp::create(
      builder, loc,
      {hopper::PartitionAttr::get(context, "load", /*replicas=*/1,
                                  producerThreads, /*registers=*/0),
       hopper::PartitionAttr::get(
           context, "compute", program.schedule.getNumConsumers(),
           /*threads=*/128, program.schedule.getRegisters())},
      program.schedule.getThreadBlocks());
  gpu::ReturnOp::create(builder, loc);
  if (!isEmpty &&
      failed(emitRoles(builder, program, arguments, resources, roles)))
    return failure();
  function.erase();
  return success();
}

namespace {
struct AttnHopperSchedule
    : public mlir::attn::impl::AttnHopperSchedulePassBase<AttnHopperSchedule> {
  void runOnOperation() override {
    SmallVector<func::FuncOp> functions;
    for (func::FuncOp function : getOperation().getOps<func::FuncOp>())
      if (function.isPublic() && !function.isExternal() &&
          !function->hasAttr(kConstraintsAttrName))
        functions.push_back(function);
    for (func::FuncOp function : functions) {
      FailureOr<TileProgram> program = TileProgram::match(function);
      if (failed(program) || failed(schedule(*program)))
        return signalPassFailure();
    }
  }
};
} // namespace
