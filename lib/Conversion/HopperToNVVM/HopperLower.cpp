//===- HopperLower.cpp - Give each thread its part of a kernel ------------===//

#include "ThreadProgram.h"
#include "attn/Conversion/HopperToNVVM/Passes.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNHOPPERLOWERPASS
#include "attn/Conversion/HopperToNVVM/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {
struct AttnHopperLower
    : public mlir::attn::impl::AttnHopperLowerPassBase<AttnHopperLower> {
  using AttnHopperLowerPassBase::AttnHopperLowerPassBase;

  void runOnOperation() override {
    SmallVector<gpu::GPUFuncOp> kernels(
        getOperation().getBody()->getOps<gpu::GPUFuncOp>());
    OpBuilder builder(&getContext());
    for (gpu::GPUFuncOp kernel : kernels) {
      if (!kernel->hasAttr(hopper::kScheduleAttrName) &&
          !kernel->hasAttr(hopper::kElementsAttrName) &&
          !kernel->hasAttr(hopper::kChecksAttrName) &&
          !kernel->hasAttr(hopper::kMergeAttrName) &&
          kernel.getBody().front().getOps<hopper::WarpSpecializeOp>().empty())
        continue;
      if (failed(ThreadProgram(builder, kernel, accurateTanh).emit()))
        return signalPassFailure();
      kernel.erase();
    }
  }
};
} // namespace
