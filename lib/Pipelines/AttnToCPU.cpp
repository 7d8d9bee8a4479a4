//===- AttnToCPU.cpp - From attention to code for a CPU -------------------===//

#include "attn/Pipelines/AttnToCPU.h"
#include "Cleanup.h"
#include "attn/Conversion/AttnToCPU/Passes.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "attn/Pipelines/AttnToNVVM.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/BufferizationToMemRef/BufferizationToMemRef.h"
#include "mlir/Conversion/ConvertToLLVM/ToLLVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/TensorToLinalg/TensorToLinalgPass.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/Affine/Transforms/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Pipelines/Passes.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::attn;

void mlir::attn::buildTensorStage(OpPassManager &pm,
                                  const AttnToCPUOptions &options) {
  // Without clean-up, so that locations in the shape function are those of the
  // program.
  pm.addPass(createInlinerPass({}, [](OpPassManager &) {}));
  pm.addPass(createSymbolDCEPass());
  pm.addPass(createConvertElementwiseToLinalgPass());
  pm.addPass(createAttnExpandScalarOpsPass());
  pm.addPass(createAttnShapeFunctionPass());
  pm.addPass(createAttnExpandDivisionsPass());
  pm.addPass(createAttnCheckSlicesPass());
  pm.addPass(createAttnJoinProductsPass());
  pm.addPass(createAttnDestinationArgumentsPass());
  addCleanup(pm);
  pm.addPass(createAttnCheckListsPass());
  AttnChooseSparsityPassOptions sparsity;
  sparsity.form = options.sparsity;
  pm.addPass(createAttnChooseSparsityPass(sparsity));
  pm.addPass(createAttnExpandSparsityPass());
  pm.addPass(createAttnCanonicalizeScorePass());
}

void mlir::attn::buildOnlineStage(OpPassManager &pm,
                                  const AttnToCPUOptions &options) {
  pm.addPass(createAttnOnlineSoftmaxPass());
  // Reads are checked for each pair.
  if (!options.boundsCheck)
    pm.addPass(createAttnSplitRowTermsPass());
  pm.addPass(createAttnClassifyBlocksPass());
  pm.addPass(createAttnLiftMaskPass());
  AttnAssignSchedulePassOptions schedule;
  schedule.vectorBits = options.vectorBits;
  schedule.vectorRegisters = options.vectorRegisters;
  schedule.l1Bytes = options.l1Bytes;
  pm.addPass(createAttnAssignSchedulePass(schedule));
}

void mlir::attn::buildTileStage(OpPassManager &pm,
                                const AttnToCPUOptions &options) {
  pm.addPass(createAttnTileGradientsPass());
  pm.addPass(createAttnPlaceScalePass());
  AttnTilePassOptions tile;
  tile.boundsCheck = options.boundsCheck;
  pm.addPass(createAttnTilePass(tile));
  pm.addPass(createAttnExpandTileLoopsPass());
  pm.addPass(createAttnDecomposeOnlineStepPass());
  pm.addPass(createAttnExpandDropoutPass());
  pm.addPass(createConvertTensorToLinalgPass());
  addCleanup(pm);
  pm.addPass(createAttnHoistInvariantsPass());
}

void mlir::attn::buildBufferStage(OpPassManager &pm, const AttnToCPUOptions &) {
  pm.addPass(createAttnBufferizePass());
  bufferization::buildBufferDeallocationPipeline(pm);
  pm.addPass(createConvertBufferizationToMemRefPass());
  pm.addPass(createConvertAttnToCPUPass());
  pm.addPass(createConvertLinalgToLoopsPass());
  pm.addPass(createLowerAffinePass());
  addCleanup(pm);
  pm.addPass(createLoopInvariantCodeMotionPass());
  pm.addPass(createAttnCPUOutlineParallelPass());
}

void mlir::attn::buildLLVMStage(OpPassManager &pm, const AttnToCPUOptions &) {
  // Numbers of 16 bits are computed with in 32; their conversion is arithmetic
  // that stays on vectors.
  pm.addPass(math::createMathExtendToSupportedTypes());
  arith::ArithEmulateUnsupportedFloatsOptions emulate;
  emulate.sourceTypeStrs = {"bf16", "f16"};
  emulate.targetTypeStr = "f32";
  pm.addPass(arith::createArithEmulateUnsupportedFloats(emulate));
  pm.addPass(createAttnCPULowerMathPass());
  pm.addPass(createAttnCPUCallLibmPass());
  arith::ArithExpandOpsPassOptions expand;
  expand.includeBf16 = true;
  pm.addPass(arith::createArithExpandOpsPass(expand));

  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  addCleanup(pm);
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createConvertVectorToLLVMPass());
  FinalizeMemRefToLLVMConversionPassOptions memory;
  memory.useAlignedAlloc = true;
  memory.useGenericFunctions = true;
  pm.addPass(createFinalizeMemRefToLLVMConversionPass(memory));
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createConvertMathToLibmPass());
  pm.addPass(createConvertToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createAttnCPUCheckAllocationsPass());
}

ArrayRef<PipelineStage> mlir::attn::getAttnToCPUStages() {
  static constexpr PipelineStage stages[] = {{"tensor", buildTensorStage},
                                             {"online", buildOnlineStage},
                                             {"tile", buildTileStage},
                                             {"buffer", buildBufferStage},
                                             {"llvm", buildLLVMStage}};
  return stages;
}

void mlir::attn::buildAttnToCPUPipeline(OpPassManager &pm,
                                        const AttnToCPUOptions &options) {
  for (const PipelineStage &stage : getAttnToCPUStages())
    stage.build(pm, options);
}

void mlir::attn::registerAttnPipelines() {
  PassPipelineRegistration<AttnToCPUOptions>(
      "attn-to-cpu",
      "Lower attention and the tensors around it to LLVM for a CPU",
      buildAttnToCPUPipeline);
  PassPipelineRegistration<AttnToNVVMOptions>(
      "attn-to-nvvm", "Lower attention to kernels for Hopper GPUs",
      buildAttnToNVVMPipeline);
  PassPipelineRegistration<AttnToNVVMOptions>(
      "attn-hopper-to-nvvm",
      "Lower kernels of the machine level, of steps or of partitions, to what "
      "each of their threads does",
      buildHopperToNVVMPipeline);
  PassPipelineRegistration<AttnToNVVMOptions>(
      "attn-checks-to-nvvm",
      "Lower checks of the lists of a program to kernels for Hopper GPUs",
      buildChecksToNVVMPipeline);
}
