//===- attn-opt.cpp - Run passes on attention programs --------------------===//

#include "attn/Conversion/AttnToCPU/Passes.h"
#include "attn/Conversion/AttnToHopper/Passes.h"
#include "attn/Conversion/HopperToNVVM/Passes.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "attn/Dialect/Hopper/Transforms/Passes.h"
#include "attn/Pipelines/AttnToCPU.h"
#include "attn/Pipelines/RegisterDialects.h"
#include "attn/Pipelines/RegisterPasses.h"
#include "attn/Tune/Passes.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"

/// The libraries of LLVM bring hundreds of options of its code generators.
/// They work, but `--help` leaves them to `--help-hidden`.
static void hideOptionsOfLibraries() {
  for (auto &option : llvm::cl::getRegisteredOptions())
    option.second->setHiddenFlag(llvm::cl::Hidden);
}

int main(int argc, char **argv) {
  hideOptionsOfLibraries();
  mlir::DialectRegistry registry;
  mlir::attn::registerCompilerDialects(registry);
  mlir::attn::registerAttnPasses();
  mlir::attn::registerAttnToCPUPasses();
  mlir::attn::registerAttnToHopperPasses();
  mlir::attn::registerHopperTransformsPasses();
  mlir::attn::registerHopperToNVVMPasses();
  mlir::attn::registerAttnTunePasses();
  mlir::attn::registerAttnPipelines();
  mlir::attn::registerUpstreamPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "Optimizer of attention kernels\n", registry));
}
