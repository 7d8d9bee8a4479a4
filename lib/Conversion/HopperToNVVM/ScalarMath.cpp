//===- ScalarMath.cpp - Elements of arithmetic on a GPU -------------------===//

#include "ScalarMath.h"
#include "attn/Conversion/MathToArith/FloatFunctions.h"
#include "attn/Dialect/Attn/IR/OtherTarget.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::attn;

static Value createIntrinsic(ScalarBuilder &b, StringRef name, Value operand,
                             Type type) {
  return LLVM::CallIntrinsicOp::create(b, type, b.getStringAttr(name),
                                       ValueRange{operand})
      .getResult(0);
}

Value mlir::attn::emitPureAsm(ScalarBuilder &b, StringRef text,
                              StringRef constraints, ValueRange operands,
                              Type type) {
  return LLVM::InlineAsmOp::create(
             b, TypeRange(type), operands, text, constraints,
             /*has_side_effects=*/false, /*is_align_stack=*/false,
             LLVM::TailCallKind::None,
             LLVM::AsmDialectAttr::get(b.getContext(),
                                       LLVM::AsmDialect::AD_ATT),
             ArrayAttr())
      .getResult(0);
}

static Value emitTanh(ScalarBuilder &b, Value x, bool isAccurate) {
  auto intrinsic = [&](StringRef name, Value operand, Type type) {
    return createIntrinsic(b, name, operand, type);
  };
  if (!isAccurate)
    return emitPureAsm(b, "tanh.approx.f32 $0, $1;", "=f,f", x, b.getF32Type());
  // 1 - 2 / (1 + e^2x), and x for small x, where that loses digits.
  Value exponent = b.mul(x, b.f32(2 * llvm::numbers::log2e));
  Value power =
      intrinsic("llvm.nvvm.ex2.approx.ftz.f32", exponent, b.getF32Type());
  Value inverse = intrinsic("llvm.nvvm.rcp.approx.ftz.f",
                            b.add(power, b.f32(1)), b.getF32Type());
  Value large = b.sub(b.f32(1), b.mul(b.f32(2), inverse));
  // x - x^3/3 + 2x^5/15 - 17x^7/315.
  Value square = b.mul(x, x);
  auto fma = [&](Value p, Value q, Value r) -> Value {
    return LLVM::FMAOp::create(b, p.getType(), p, q, r);
  };
  Value series = fma(square, b.f32(-17.0 / 315), b.f32(2.0 / 15));
  series = fma(square, series, b.f32(-1.0 / 3));
  Value small = fma(b.mul(square, x), series, x);
  Value isSmall =
      b.cmp(arith::CmpFPredicate::OLT, math::AbsFOp::create(b, x), b.f32(0.25));
  return b.select(isSmall, small, large);
}

/// The larger one of x and -x, not abs: ptxas 13.0 takes -|x| < c as decided,
/// whatever x is.
static Value emitAbsolute(ScalarBuilder &b, Value x, Type type) {
  // LLVM would make abs of arithmetic in 64 bits; attn-hopper-hide-negations
  // is in front of it in 32.
  if (type.isInteger(64))
    return emitPureAsm(b, "{ .reg .b64 n; neg.s64 n, $1; max.s64 $0, $1, n; }",
                       "=l,l", x, type);
  Value zero = b.number(type, 0);
  return b.maxS(x, b.sub(zero, x));
}

Value mlir::attn::emitScalarOp(ScalarBuilder &b, Operation &op,
                               ValueRange operands, Type type,
                               bool accurateTanh) {
  Type f32Type = b.getF32Type();
  auto hardware = [&](StringRef name, Value x) {
    return createIntrinsic(b, name, x, f32Type);
  };
  if (isa<math::AbsIOp>(op) && (type.isInteger(32) || type.isInteger(64)))
    return emitAbsolute(b, operands[0], type);
  if (type.isF32()) {
    if (isa<math::Exp2Op>(op))
      return hardware("llvm.nvvm.ex2.approx.ftz.f32", operands[0]);
    if (isa<math::ExpOp>(op))
      return hardware("llvm.nvvm.ex2.approx.ftz.f32",
                      b.mul(operands[0], b.f32(llvm::numbers::log2e)));
    if (isa<math::Log2Op>(op))
      return hardware("llvm.nvvm.lg2.approx.ftz.f", operands[0]);
    if (isa<math::LogOp>(op))
      return b.mul(hardware("llvm.nvvm.lg2.approx.ftz.f", operands[0]),
                   b.f32(llvm::numbers::ln2));
    if (isa<math::TanhOp>(op))
      return emitTanh(b, operands[0], accurateTanh);
    if (isa<math::RsqrtOp>(op))
      return hardware("llvm.nvvm.rsqrt.approx.ftz.f", operands[0]);
    if (isa<math::SqrtOp>(op))
      return hardware("llvm.nvvm.sqrt.approx.ftz.f", operands[0]);
    if (isa<math::FmaOp>(op))
      return LLVM::FMAOp::create(b, f32Type, operands[0], operands[1],
                                 operands[2]);
    if (isa<arith::DivFOp>(op))
      return b.mul(operands[0],
                   hardware("llvm.nvvm.rcp.approx.ftz.f", operands[1]));
  }
  OperationState state(b.getLoc(), op.getName(), operands, type);
  if (op.getPropertiesStorage())
    state.propertiesAttr = op.getPropertiesAsAttribute();
  return b.create(state)->getResult(0);
}

bool mlir::attn::isReplacedScalarOp(Operation *op) {
  if (op->getNumResults() != 1)
    return false;
  Type type = op->getResult(0).getType();
  if (isa<math::AbsIOp>(op))
    return type.isInteger(32) || type.isInteger(64);
  return type.isF32() &&
         isa<math::Exp2Op, math::ExpOp, math::Log2Op, math::LogOp, math::TanhOp,
             math::RsqrtOp, math::SqrtOp, math::FmaOp, arith::DivFOp>(op);
}

/// Whether a function of the math dialect is an instruction, or one of those
/// that emitScalar replaces.
static bool isInstruction(Operation *op) {
  if (isa<math::Exp2Op, math::ExpOp, math::Log2Op, math::LogOp, math::RsqrtOp,
          math::SqrtOp, math::TanhOp>(op))
    return getElementTypeOrSelf(op->getResult(0).getType()).isF32();
  return isa<math::AbsFOp, math::AbsIOp, math::CeilOp, math::CopySignOp,
             math::CountLeadingZerosOp, math::CountTrailingZerosOp,
             math::CtPopOp, math::FloorOp, math::FmaOp, math::IsFiniteOp,
             math::IsInfOp, math::IsNaNOp, math::IsNormalOp, math::RoundEvenOp,
             math::RoundOp, math::TruncOp>(op);
}

LogicalResult mlir::attn::verifyScalarOp(Operation &op) {
  if (op.getNumResults() != 1 || op.getNumRegions() != 0 ||
      !isMemoryEffectFree(&op))
    return op.emitError("'")
           << op.getName() << "' has no form in a GPU kernel" << otherTarget;
  // Of the rest, code generation makes calls of a library, or nothing.
  if (isa<math::MathDialect>(op.getDialect()) && !isRareFunction(&op) &&
      !isInstruction(&op))
    return op.emitError("'")
           << op.getName() << "' on " << op.getResult(0).getType()
           << " has no form in a GPU kernel" << otherTarget;
  return success();
}
