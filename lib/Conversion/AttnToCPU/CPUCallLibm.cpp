//===- CPUCallLibm.cpp - Functions that LLVM has no intrinsic for ---------===//

#include "attn/Conversion/AttnToCPU/Passes.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/DialectConversion.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNCPUCALLLIBMPASS
#include "attn/Conversion/AttnToCPU/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;

namespace {
struct AttnCPUCallLibm
    : public mlir::attn::impl::AttnCPUCallLibmPassBase<AttnCPUCallLibm> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateMathToLibmConversionPatterns(patterns);
    ConversionTarget target(getContext());
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    target.addIllegalOp<math::ExpM1Op, math::Log1pOp>();
    if (failed(applyPartialConversion(getOperation(), target,
                                      std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
