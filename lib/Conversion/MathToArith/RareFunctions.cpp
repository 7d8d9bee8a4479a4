//===- RareFunctions.cpp - Functions that have no instruction -------------===//

#include "Functions.h"
#include "attn/Conversion/MathToArith/FloatFunctions.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::attn;

bool mlir::attn::isRareFunction(Operation *op) {
  if (isa<arith::RemFOp>(op)) {
    Type element = getElementTypeOrSelf(op->getResult(0).getType());
    return element.isF32() || element.isF64();
  }
  return isa<math::AcosOp, math::AcoshOp, math::AsinOp, math::AsinhOp,
             math::AtanOp, math::Atan2Op, math::AtanhOp, math::CbrtOp,
             math::CosOp, math::CoshOp, math::ErfOp, math::ErfcOp,
             math::ExpM1Op, math::Log10Op, math::Log1pOp, math::PowFOp,
             math::SinOp, math::SinhOp, math::TanOp>(op) &&
         getElementTypeOrSelf(op->getResult(0).getType()).isF32();
}

void mlir::attn::populateRareFunctionPatterns(RewritePatternSet &patterns) {
  populateFloatFunctionPatterns(patterns);
  populateTrigonometricPatterns(patterns);
  populateHyperbolicPatterns(patterns);
  populatePowerPatterns(patterns);
  populateRemainderPatterns(patterns);
  // How accurate these are was measured; see the test float-functions.test.
  populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
    return llvm::is_contained(
        {math::AcosOp::getOperationName(), math::AsinOp::getOperationName(),
         math::ErfOp::getOperationName(), math::ErfcOp::getOperationName(),
         math::ExpM1Op::getOperationName(), math::Log1pOp::getOperationName(),
         math::TanhOp::getOperationName()},
        name);
  });
}
