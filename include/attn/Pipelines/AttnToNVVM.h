//===- AttnToNVVM.h - From attention to kernels for a GPU -------*- C++ -*-===//
//
// The pipeline in stages, as in AttnToCPU.h. Functions with attention become
// modules of kernels, and shape functions stay functions for the host: the
// stages "buffer" and "llvm" of AttnToCPU.h lower them.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_PIPELINES_ATTNTONVVM_H
#define ATTN_PIPELINES_ATTNTONVVM_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace mlir::attn {

class ScheduleTable;

struct AttnToNVVMOptions : public PassPipelineOptions<AttnToNVVMOptions> {
  Option<bool> accurateTanh{
      *this, "accurate-tanh",
      llvm::cl::desc("Compute math.tanh from exponentials"),
      llvm::cl::init(false)};
  Option<unsigned> launch{
      *this, "launch",
      llvm::cl::desc("Which of the attentions of a function to compile"),
      llvm::cl::init(0)};
  Option<std::string> schedules{
      *this, "schedules",
      llvm::cl::desc("A file with another table of schedules")};
  /// The table, if somebody has read it already.
  std::shared_ptr<const ScheduleTable> table;
  Option<std::string> sparsity{
      *this, "sparsity",
      llvm::cl::desc("How sparse structures run: auto, dense, blocks, lists, "
                     "or gathered"),
      llvm::cl::init("auto")};
};

/// The program as the host calls it, which decides the operands of kernels.
void buildGPUProgramStage(OpPassManager &pm, const AttnToNVVMOptions &options);
/// Attentions are at the online level, in one form of their sparse structures.
/// Nothing depends on a schedule so far.
void buildGPUOnlineStage(OpPassManager &pm, const AttnToNVVMOptions &options);
/// Attentions are loops over tiles, by their schedules, or those that are
/// chosen for them.
void buildGPUTileStage(OpPassManager &pm, const AttnToNVVMOptions &options);
/// Loops over tiles are kernels of the hopper dialect.
void buildGPUKernelStage(OpPassManager &pm, const AttnToNVVMOptions &options);
/// Kernels are in the LLVM and NVVM dialects.
void buildGPUThreadStage(OpPassManager &pm, const AttnToNVVMOptions &options);
/// From kernels of steps, or of partitions.
void buildHopperToNVVMPipeline(OpPassManager &pm,
                               const AttnToNVVMOptions &options);

/// Checks of lists are kernels, and nothing else is left.
void buildGPUCheckStage(OpPassManager &pm, const AttnToNVVMOptions &options);

/// A stage by its name: "program", "online", "tile", "kernel", "thread".
struct GPUPipelineStage {
  llvm::StringLiteral name;
  void (*build)(OpPassManager &, const AttnToNVVMOptions &);
};
ArrayRef<GPUPipelineStage> getAttnToNVVMStages();
/// The stages of the kernels that check the lists of a program: "program",
/// "check", "thread".
ArrayRef<GPUPipelineStage> getGPUCheckStages();

/// All stages of the kernels that compute.
void buildAttnToNVVMPipeline(OpPassManager &pm,
                             const AttnToNVVMOptions &options);
/// All stages of the kernels that check lists.
void buildChecksToNVVMPipeline(OpPassManager &pm,
                               const AttnToNVVMOptions &options);

} // namespace mlir::attn

#endif // ATTN_PIPELINES_ATTNTONVVM_H
