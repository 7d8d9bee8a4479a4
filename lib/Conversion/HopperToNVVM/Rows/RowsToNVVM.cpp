//===- RowsToNVVM.cpp - Queries with lists of keys become kernels ---------===//

#include "RowKernel.h"
#include "attn/Conversion/HopperToNVVM/Passes.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNROWSTONVVMPASS
#include "attn/Conversion/HopperToNVVM/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {
struct RowsToNVVM : public attn::impl::AttnRowsToNVVMPassBase<RowsToNVVM> {
  using AttnRowsToNVVMPassBase::AttnRowsToNVVMPassBase;

  void runOnOperation() override {
    SmallVector<scf::ForallOp> loops;
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (auto loop : function.getOps<scf::ForallOp>())
        if (loop->getAttrOfType<RowScheduleAttr>(attn::kScheduleAttrName))
          loops.push_back(loop);
    OpBuilder builder(&getContext());
    for (scf::ForallOp loop : loops) {
      auto function = cast<func::FuncOp>(loop->getParentOp());
      auto schedule =
          loop->getAttrOfType<RowScheduleAttr>(attn::kScheduleAttrName);
      // An approximation for halves has too few digits for results of f32.
      bool hasF32 = llvm::any_of(loop.getResultTypes(), [](Type type) {
        auto tensor = dyn_cast<RankedTensorType>(type);
        return tensor && tensor.getRank() == 4 &&
               tensor.getElementType().isF32();
      });
      if (failed(RowKernel(builder, function, loop, schedule,
                           accurateTanh || hasF32)
                     .emit()))
        return signalPassFailure();
    }
  }
};
} // namespace
