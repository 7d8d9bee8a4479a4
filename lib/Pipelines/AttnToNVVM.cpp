//===- AttnToNVVM.cpp - From attention to kernels for a GPU ---------------===//

#include "attn/Pipelines/AttnToNVVM.h"
#include "Cleanup.h"
#include "attn/Conversion/AttnToHopper/Passes.h"
#include "attn/Conversion/HopperToNVVM/Passes.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "attn/Dialect/Hopper/Transforms/Passes.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ConvertToLLVM/ToLLVMPass.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::attn;

void mlir::attn::buildGPUProgramStage(OpPassManager &pm,
                                      const AttnToNVVMOptions &) {
  pm.addPass(createInlinerPass({}, [](OpPassManager &) {}));
  pm.addPass(createSymbolDCEPass());
  pm.addPass(createAttnExpandScalarOpsPass());
  pm.addPass(createAttnShapeFunctionPass());
  pm.addPass(createAttnHopperSplitValuesPass());
  pm.addPass(createAttnHopperPadHeadDimsPass());
  pm.addPass(createAttnHopperSplitGradientsPass());
  pm.addPass(createAttnHopperExpandGradientsPass());
  // Attentions that are the same are one launch.
  pm.addPass(createCSEPass());
  pm.addPass(createAttnJoinProductsPass());
  pm.addPass(createAttnHopperElementLoopsPass());
  pm.addPass(createAttnExpandDivisionsPass());
  pm.addPass(createAttnDestinationArgumentsPass());
  addCleanup(pm);
}

void mlir::attn::buildGPUOnlineStage(OpPassManager &pm,
                                     const AttnToNVVMOptions &options) {
  AttnHopperSelectLaunchPassOptions select;
  select.launch = options.launch;
  pm.addPass(createAttnHopperSelectLaunchPass(select));
  pm.addPass(createAttnExpandScalarOpsPass());
  // Halves are what is loaded and stored; threads compute in f32.
  arith::ArithEmulateUnsupportedFloatsOptions halves;
  halves.sourceTypeStrs = {"bf16", "f16"};
  pm.addPass(arith::createArithEmulateUnsupportedFloats(halves));
  pm.addPass(math::createMathExtendToSupportedTypes());
  AttnChooseSparsityPassOptions choice;
  choice.form = options.sparsity;
  choice.onePerLaunch = true;
  pm.addPass(createAttnChooseSparsityPass(choice));
  // As a kernel fills tables: an element at a time.
  AttnExpandSparsityPassOptions sparsity;
  sparsity.byElement = true;
  pm.addPass(createAttnExpandSparsityPass(sparsity));
  if (!options.accurateTanh)
    pm.addPass(createAttnHopperUseTanhPass());
  pm.addPass(createAttnCanonicalizeScorePass());
  pm.addPass(createAttnTabulatePositionsPass());
  AttnOnlineSoftmaxPassOptions softmax;
  softmax.rescale = Rescale::Lazy;
  pm.addPass(createAttnOnlineSoftmaxPass(softmax));
  pm.addPass(createAttnSplitRowTermsPass());
  pm.addPass(createAttnClassifyBlocksPass());
  pm.addPass(createAttnLiftMaskPass());
}

void mlir::attn::buildGPUTileStage(OpPassManager &pm,
                                   const AttnToNVVMOptions &options) {
  if (options.table) {
    pm.addPass(createAttnHopperAssignSchedulePass(options.table));
  } else {
    AttnHopperAssignSchedulePassOptions schedule;
    schedule.schedules = options.schedules;
    pm.addPass(createAttnHopperAssignSchedulePass(schedule));
  }
  AttnTileGradientsPassOptions gradients;
  gradients.onePass = true;
  pm.addPass(createAttnTileGradientsPass(gradients));
  pm.addPass(createAttnPackGQAPass());
  pm.addPass(createAttnPlaceScalePass());
  pm.addPass(createAttnTilePass());
  addCleanup(pm);
  // A warp that has one list of keys goes through it in a plain loop, which
  // stays one where it is known to have one iteration.
  AttnExpandTileLoopsPassOptions expand;
  expand.keyLists = true;
  pm.addPass(createAttnExpandTileLoopsPass(expand));
  pm.addPass(createCSEPass());
}

/// From a kernel of named steps to one of partitions. The steps of a loop stay
/// as the schedule names them until it has been pipelined.
static void addPartitions(OpPassManager &kernels) {
  kernels.addPass(createHopperInsertChannelsPass());
  kernels.addPass(createHopperInsertTurnsPass());
  kernels.addPass(createHopperCheckProtocolPass());
  kernels.addPass(createHopperSpecializePass());
  kernels.addPass(createHopperPipelinePass());
  addCleanup(kernels);
  kernels.addPass(createHopperDecomposeSoftmaxPass());
  kernels.addPass(createHopperInsertWaitsPass());
  kernels.addPass(createHopperNumberChannelsPass());
  kernels.addPass(createHopperLowerWorkLoopPass());
}

void mlir::attn::buildGPUKernelStage(OpPassManager &pm,
                                     const AttnToNVVMOptions &options) {
  pm.addPass(createAttnHopperOutlineTablesPass());
  AttnRowsToNVVMPassOptions rows;
  rows.accurateTanh = options.accurateTanh;
  pm.addPass(createAttnRowsToNVVMPass(rows));
  pm.addPass(createAttnHopperOutlinePass());
  addPartitions(pm.nest<gpu::GPUModuleOp>().nest<gpu::GPUFuncOp>());
  addCleanup(pm);
}

void mlir::attn::buildHopperToNVVMPipeline(OpPassManager &pm,
                                           const AttnToNVVMOptions &options) {
  addPartitions(pm.nest<gpu::GPUModuleOp>().nest<gpu::GPUFuncOp>());
  addCleanup(pm);
  buildGPUThreadStage(pm, options);
}

void mlir::attn::buildGPUThreadStage(OpPassManager &pm,
                                     const AttnToNVVMOptions &options) {
  OpPassManager &kernels = pm.nest<gpu::GPUModuleOp>();
  kernels.addPass(createLowerAffinePass());
  kernels.addNestedPass<gpu::GPUFuncOp>(createHopperAllowContractionPass());
  kernels.addNestedPass<gpu::GPUFuncOp>(createHopperAssignLayoutsPass());
  AttnHopperLowerPassOptions lower;
  lower.accurateTanh = options.accurateTanh;
  kernels.addPass(createAttnHopperLowerPass(lower));
  kernels.addPass(createAttnHopperExpandMathPass());
  kernels.addPass(createAttnHopperHideNegationsPass());
  kernels.addPass(createCSEPass());
  kernels.addPass(createSCFToControlFlowPass());
  // One conversion for all, which goes through a kernel once.
  ConvertToLLVMPassOptions all;
  all.filterDialects = {"arith", "cf", "math", "nvvm"};
  kernels.addPass(createConvertToLLVMPass(all));
  pm.addPass(createReconcileUnrealizedCastsPass());
}

void mlir::attn::buildGPUCheckStage(OpPassManager &pm,
                                    const AttnToNVVMOptions &) {
  AttnCheckListsPassOptions lists;
  lists.byList = true;
  pm.addPass(createAttnCheckListsPass(lists));
  addCleanup(pm);
  pm.addPass(createAttnHopperChecksPass());
  addCleanup(pm);
}

ArrayRef<GPUPipelineStage> mlir::attn::getGPUCheckStages() {
  static constexpr GPUPipelineStage stages[] = {
      {"program", buildGPUProgramStage},
      {"check", buildGPUCheckStage},
      {"thread", buildGPUThreadStage}};
  return stages;
}

ArrayRef<GPUPipelineStage> mlir::attn::getAttnToNVVMStages() {
  static constexpr GPUPipelineStage stages[] = {
      {"program", buildGPUProgramStage},
      {"online", buildGPUOnlineStage},
      {"tile", buildGPUTileStage},
      {"kernel", buildGPUKernelStage},
      {"thread", buildGPUThreadStage}};
  return stages;
}

void mlir::attn::buildAttnToNVVMPipeline(OpPassManager &pm,
                                         const AttnToNVVMOptions &options) {
  for (const GPUPipelineStage &stage : getAttnToNVVMStages())
    stage.build(pm, options);
}

void mlir::attn::buildChecksToNVVMPipeline(OpPassManager &pm,
                                           const AttnToNVVMOptions &options) {
  for (const GPUPipelineStage &stage : getGPUCheckStages())
    stage.build(pm, options);
}
