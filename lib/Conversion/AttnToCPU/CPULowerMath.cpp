//===- CPULowerMath.cpp - Replace functions on f32 by arithmetic ----------===//

#include "attn/Conversion/AttnToCPU/Passes.h"
#include "attn/Conversion/MathToArith/FloatFunctions.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNCPULOWERMATHPASS
#include "attn/Conversion/AttnToCPU/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;

namespace {
struct AttnCPULowerMath
    : public mlir::attn::impl::AttnCPULowerMathPassBase<AttnCPULowerMath> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    attn::populateFloatFunctionPatterns(patterns);
    // The upstream approximations whose error was measured to be small; see
    // the test float-functions.test.
    populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
      return name == math::TanhOp::getOperationName() ||
             name == math::Log1pOp::getOperationName() ||
             name == math::ExpM1Op::getOperationName() ||
             name == math::ErfOp::getOperationName();
    });
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      return signalPassFailure();
  }
};
} // namespace
