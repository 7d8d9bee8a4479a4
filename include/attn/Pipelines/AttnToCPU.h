//===- AttnToCPU.h - From attention to code for a CPU -----------*- C++ -*-===//
//
// The pipeline in five stages. Each leaves a module that prints, parses and
// verifies; the stages in order are the whole pipeline.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_PIPELINES_ATTNTOCPU_H
#define ATTN_PIPELINES_ATTNTOCPU_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace mlir::attn {

struct AttnToCPUOptions : public PassPipelineOptions<AttnToCPUOptions> {
  Option<unsigned> vectorBits{
      *this, "vector-bits",
      llvm::cl::desc("Width of a vector register in bits"),
      llvm::cl::init(256)};
  Option<unsigned> vectorRegisters{*this, "vector-registers",
                                   llvm::cl::desc("Number of vector registers"),
                                   llvm::cl::init(16)};
  Option<unsigned> l1Bytes{
      *this, "l1-bytes",
      llvm::cl::desc("Size of the first-level data cache in bytes"),
      llvm::cl::init(32768)};
  Option<bool> boundsCheck{
      *this, "bounds-check",
      llvm::cl::desc("Report indices of captures that are out of range"),
      llvm::cl::init(false)};
  Option<std::string> sparsity{
      *this, "sparsity",
      llvm::cl::desc("How sparse structures run: auto, dense, blocks, lists, "
                     "or gathered"),
      llvm::cl::init("auto")};
};

/// Calls are inlined, shape functions are made, results become
/// destinations, regions of attentions are canonical.
void buildTensorStage(OpPassManager &pm, const AttnToCPUOptions &options);
/// Attentions are reductions over keys whose blocks are classified.
void buildOnlineStage(OpPassManager &pm, const AttnToCPUOptions &options);
/// Attentions are loops over tiles, on vectors.
void buildTileStage(OpPassManager &pm, const AttnToCPUOptions &options);
/// Tensors are buffers, tiles are loops on hardware vectors, loops over tiles
/// are workers.
void buildBufferStage(OpPassManager &pm, const AttnToCPUOptions &options);
/// All is in the LLVM dialect.
void buildLLVMStage(OpPassManager &pm, const AttnToCPUOptions &options);

/// A stage by its name: "tensor", "online", "tile", "buffer", "llvm".
struct PipelineStage {
  llvm::StringLiteral name;
  void (*build)(OpPassManager &, const AttnToCPUOptions &);
};
ArrayRef<PipelineStage> getAttnToCPUStages();

/// All stages.
void buildAttnToCPUPipeline(OpPassManager &pm, const AttnToCPUOptions &options);

/// Makes --attn-to-cpu known.
void registerAttnPipelines();

} // namespace mlir::attn

#endif // ATTN_PIPELINES_ATTNTOCPU_H
