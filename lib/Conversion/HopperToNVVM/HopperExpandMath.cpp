//===- HopperExpandMath.cpp - Functions that GPUs have not ----------------===//

#include "attn/Conversion/HopperToNVVM/Passes.h"
#include "attn/Conversion/MathToArith/FloatFunctions.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNHOPPEREXPANDMATHPASS
#include "attn/Conversion/HopperToNVVM/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;

/// Replaces quotients and square roots by the approximations of the hardware:
/// the exact ones are functions that are called, around which no matrix product
/// can be in flight.
static void approximate(Operation *root) {
  SmallVector<Operation *> ops;
  root->walk([&](Operation *op) {
    if (isa<arith::DivFOp, math::SqrtOp>(op) &&
        op->getResult(0).getType().isF32())
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    OpBuilder builder(op);
    Location loc = op->getLoc();
    Type type = op->getResult(0).getType();
    auto call = [&](StringRef name, Value x) -> Value {
      return LLVM::CallIntrinsicOp::create(
                 builder, loc, type, builder.getStringAttr(name), ValueRange{x})
          .getResult(0);
    };
    Value result;
    if (isa<math::SqrtOp>(op))
      result = call("llvm.nvvm.sqrt.approx.ftz.f", op->getOperand(0));
    else
      result = arith::MulFOp::create(
          builder, loc, op->getOperand(0),
          call("llvm.nvvm.rcp.approx.ftz.f", op->getOperand(1)));
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
  }
}

namespace {
struct AttnHopperExpandMath
    : public mlir::attn::impl::AttnHopperExpandMathPassBase<
          AttnHopperExpandMath> {
  using AttnHopperExpandMathPassBase::AttnHopperExpandMathPassBase;

  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (attn::isRareFunction(op))
        ops.push_back(op);
    });
    if (ops.empty())
      return markAllAnalysesPreserved();
    RewritePatternSet patterns(&getContext());
    attn::populateRareFunctionPatterns(patterns);
    // All else stays as it is written.
    GreedyRewriteConfig config;
    config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
    if (failed(applyOpPatternsGreedily(ops, std::move(patterns), config)))
      return signalPassFailure();
    if (!portable)
      approximate(getOperation());
  }
};
} // namespace
