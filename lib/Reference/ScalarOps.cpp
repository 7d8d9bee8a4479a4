//===- ScalarOps.cpp - Instructions of arith, math and index --------------===//
//
// How each operation on scalars becomes instructions. What upstream leaves
// undefined is defined here: division by zero gives 0, a shift by the width or
// more shifts everything out, and a float that does not fit an integer
// saturates.
//
//===----------------------------------------------------------------------===//

#include "RegionCompiler.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace attn::reference;

/// An operation that is one instruction.
struct RegionCompiler::Rule {
  enum Kind : uint8_t {
    /// Rounded to the type of the result.
    Float,
    /// Always a number of the type already.
    ExactFloat,
    /// A predicate of floats.
    Classify,
    /// Integers as they are held.
    Int,
    IntSigned,
    IntUnsigned,
    /// Signed, with an unsigned second operand.
    ShiftSigned,
    /// Unsigned, with the width as immediate.
    IntBits,
  };
  Opcode opcode;
  Kind kind;
};

const llvm::StringMap<RegionCompiler::Rule> &RegionCompiler::getRules() {
  using O = Opcode;
  static const llvm::StringMap<Rule> rules = {
      // Floats.
      {"arith.addf", {O::AddF, Rule::Float}},
      {"arith.subf", {O::SubF, Rule::Float}},
      {"arith.mulf", {O::MulF, Rule::Float}},
      {"arith.divf", {O::DivF, Rule::Float}},
      {"arith.remf", {O::RemF, Rule::Float}},
      {"arith.negf", {O::NegF, Rule::ExactFloat}},
      {"arith.maximumf", {O::MaximumF, Rule::ExactFloat}},
      {"arith.minimumf", {O::MinimumF, Rule::ExactFloat}},
      {"arith.maxnumf", {O::MaxNumF, Rule::ExactFloat}},
      {"arith.minnumf", {O::MinNumF, Rule::ExactFloat}},
      {"math.absf", {O::AbsF, Rule::ExactFloat}},
      {"math.acos", {O::Acos, Rule::Float}},
      {"math.acosh", {O::Acosh, Rule::Float}},
      {"math.asin", {O::Asin, Rule::Float}},
      {"math.asinh", {O::Asinh, Rule::Float}},
      {"math.atan", {O::Atan, Rule::Float}},
      {"math.atan2", {O::Atan2, Rule::Float}},
      {"math.atanh", {O::Atanh, Rule::Float}},
      {"math.cbrt", {O::Cbrt, Rule::Float}},
      {"math.ceil", {O::Ceil, Rule::ExactFloat}},
      {"math.copysign", {O::CopySign, Rule::ExactFloat}},
      {"math.cos", {O::Cos, Rule::Float}},
      {"math.cosh", {O::Cosh, Rule::Float}},
      {"math.erf", {O::Erf, Rule::Float}},
      {"math.erfc", {O::Erfc, Rule::Float}},
      {"math.exp", {O::Exp, Rule::Float}},
      {"math.exp2", {O::Exp2, Rule::Float}},
      {"math.expm1", {O::ExpM1, Rule::Float}},
      {"math.floor", {O::Floor, Rule::ExactFloat}},
      {"math.fma", {O::Fma, Rule::Float}},
      {"math.log", {O::Log, Rule::Float}},
      {"math.log10", {O::Log10, Rule::Float}},
      {"math.log1p", {O::Log1p, Rule::Float}},
      {"math.log2", {O::Log2, Rule::Float}},
      {"math.powf", {O::PowF, Rule::Float}},
      {"math.round", {O::Round, Rule::ExactFloat}},
      {"math.roundeven", {O::RoundEven, Rule::ExactFloat}},
      {"math.rsqrt", {O::Rsqrt, Rule::Float}},
      {"math.sin", {O::Sin, Rule::Float}},
      {"math.sinh", {O::Sinh, Rule::Float}},
      {"math.sqrt", {O::Sqrt, Rule::Float}},
      {"math.tan", {O::Tan, Rule::Float}},
      {"math.tanh", {O::Tanh, Rule::Float}},
      {"math.trunc", {O::Trunc, Rule::ExactFloat}},
      {"math.isfinite", {O::IsFinite, Rule::Classify}},
      {"math.isinf", {O::IsInf, Rule::Classify}},
      {"math.isnan", {O::IsNaN, Rule::Classify}},
      {"math.isnormal", {O::IsNormal, Rule::Classify}},
      // Integers.
      {"arith.addi", {O::AddI, Rule::Int}},
      {"arith.subi", {O::SubI, Rule::Int}},
      {"arith.muli", {O::MulI, Rule::Int}},
      {"arith.divsi", {O::DivSI, Rule::IntSigned}},
      {"arith.divui", {O::DivUI, Rule::IntUnsigned}},
      {"arith.ceildivsi", {O::CeilDivSI, Rule::IntSigned}},
      {"arith.ceildivui", {O::CeilDivUI, Rule::IntUnsigned}},
      {"arith.floordivsi", {O::FloorDivSI, Rule::IntSigned}},
      {"arith.remsi", {O::RemSI, Rule::IntSigned}},
      {"arith.remui", {O::RemUI, Rule::IntUnsigned}},
      {"arith.andi", {O::AndI, Rule::Int}},
      {"arith.ori", {O::OrI, Rule::Int}},
      {"arith.xori", {O::XOrI, Rule::Int}},
      {"arith.shli", {O::ShLI, Rule::IntUnsigned}},
      {"arith.shrsi", {O::ShRSI, Rule::ShiftSigned}},
      {"arith.shrui", {O::ShRUI, Rule::IntUnsigned}},
      {"arith.maxsi", {O::MaxSI, Rule::IntSigned}},
      {"arith.minsi", {O::MinSI, Rule::IntSigned}},
      {"arith.maxui", {O::MaxUI, Rule::IntUnsigned}},
      {"arith.minui", {O::MinUI, Rule::IntUnsigned}},
      {"math.absi", {O::AbsI, Rule::IntSigned}},
      {"math.ipowi", {O::IPowI, Rule::IntSigned}},
      {"math.ctpop", {O::PopCount, Rule::IntUnsigned}},
      {"math.ctlz", {O::CountLeadingZeros, Rule::IntBits}},
      {"math.cttz", {O::CountTrailingZeros, Rule::IntBits}},
      {"index.add", {O::AddI, Rule::Int}},
      {"index.sub", {O::SubI, Rule::Int}},
      {"index.mul", {O::MulI, Rule::Int}},
      {"index.divs", {O::DivSI, Rule::IntSigned}},
      {"index.divu", {O::DivUI, Rule::IntUnsigned}},
      {"index.ceildivs", {O::CeilDivSI, Rule::IntSigned}},
      {"index.ceildivu", {O::CeilDivUI, Rule::IntUnsigned}},
      {"index.floordivs", {O::FloorDivSI, Rule::IntSigned}},
      {"index.rems", {O::RemSI, Rule::IntSigned}},
      {"index.remu", {O::RemUI, Rule::IntUnsigned}},
      {"index.and", {O::AndI, Rule::Int}},
      {"index.or", {O::OrI, Rule::Int}},
      {"index.xor", {O::XOrI, Rule::Int}},
      {"index.shl", {O::ShLI, Rule::IntUnsigned}},
      {"index.shrs", {O::ShRSI, Rule::ShiftSigned}},
      {"index.shru", {O::ShRUI, Rule::IntUnsigned}},
      {"index.maxs", {O::MaxSI, Rule::IntSigned}},
      {"index.mins", {O::MinSI, Rule::IntSigned}},
      {"index.maxu", {O::MaxUI, Rule::IntUnsigned}},
      {"index.minu", {O::MinUI, Rule::IntUnsigned}},
  };
  return rules;
}

bool RegionCompiler::compileByRule(const OpInfo &info, Slots &results) {
  auto found = getRules().find(info.op->getName().getStringRef());
  if (found == getRules().end())
    return false;
  Rule rule = found->second;
  Slots operands = info.operands;
  for (auto [number, operand] : llvm::enumerate(operands)) {
    ElementType type = info.operandTypes[number];
    bool isAmount = rule.kind == Rule::ShiftSigned && number == 1;
    if (rule.kind == Rule::IntSigned ||
        (rule.kind == Rule::ShiftSigned && !isAmount))
      operand = asSigned(operand, type);
    else if (rule.kind == Rule::IntUnsigned || rule.kind == Rule::IntBits ||
             isAmount)
      operand = asUnsigned(operand, type);
  }
  ElementType type = info.resultTypes[0];
  switch (rule.kind) {
  case Rule::Float:
    results = {round(emit(rule.opcode, /*isFloat=*/true, operands), type)};
    break;
  case Rule::ExactFloat:
    results = {emit(rule.opcode, /*isFloat=*/true, operands)};
    break;
  case Rule::Classify:
    results = {emit(rule.opcode, /*isFloat=*/false, operands,
                    info.operandTypes[0].kind)};
    break;
  case Rule::IntBits:
    results = {
        wrap(emit(rule.opcode, /*isFloat=*/false, operands, type.width), type)};
    break;
  default:
    results = {wrap(emit(rule.opcode, /*isFloat=*/false, operands), type)};
    break;
  }
  return true;
}

bool RegionCompiler::compileCast(const OpInfo &info, Slots &results) {
  if (info.operands.size() != 1 || info.resultTypes.size() != 1)
    return false;
  SlotId operand = info.operands[0];
  ElementType from = info.operandTypes[0], to = info.resultTypes[0];
  // A rounding mode would change what a step of the maths means.
  auto truncf = mlir::dyn_cast<mlir::arith::TruncFOp>(info.op);
  if (truncf && truncf.getRoundingmode() &&
      *truncf.getRoundingmode() != mlir::arith::RoundingMode::to_nearest_even)
    return false;
  return llvm::TypeSwitch<mlir::Operation *, bool>(info.op)
      .Case<mlir::arith::ExtFOp, mlir::arith::TruncFOp>([&](auto) {
        results = {round(operand, to)};
        return true;
      })
      .Case<mlir::arith::ExtUIOp, mlir::arith::IndexCastUIOp,
            mlir::index::CastUOp>([&](auto) {
        results = {wrap(asUnsigned(operand, from), to)};
        return true;
      })
      .Case<mlir::arith::ExtSIOp, mlir::arith::TruncIOp,
            mlir::arith::IndexCastOp, mlir::index::CastSOp>([&](auto) {
        results = {wrap(asSigned(operand, from), to)};
        return true;
      })
      .Case([&](mlir::arith::SIToFPOp) {
        results = {
            round(emit(Opcode::SIToFP, true, asSigned(operand, from)), to)};
        return true;
      })
      .Case([&](mlir::arith::UIToFPOp) {
        results = {
            round(emit(Opcode::UIToFP, true, asUnsigned(operand, from)), to)};
        return true;
      })
      .Case([&](mlir::arith::FPToSIOp) {
        results = {wrap(emit(Opcode::FPToSI, false, operand, to.width), to)};
        return true;
      })
      .Case([&](mlir::arith::FPToUIOp) {
        results = {wrap(emit(Opcode::FPToUI, false, operand, to.width), to)};
        return true;
      })
      .Case([&](mlir::arith::BitcastOp) {
        if (from.isFloat())
          operand = emit(Opcode::BitsOfF, false, operand, from.kind);
        results = {to.isFloat() ? emit(Opcode::FOfBits, true, operand, to.kind)
                                : operand};
        return true;
      })
      .Default([](mlir::Operation *) { return false; });
}

//===----------------------------------------------------------------------===//
// Comparisons, selections and operations with two results
//===----------------------------------------------------------------------===//

namespace {
/// An integer predicate as an instruction, on swapped operands or not.
struct IntComparison {
  Opcode opcode;
  bool isSigned;
  bool swap;
};
} // namespace

static IntComparison getComparison(mlir::arith::CmpIPredicate predicate) {
  using P = mlir::arith::CmpIPredicate;
  switch (predicate) {
  case P::eq:
    return {Opcode::CmpEq, false, false};
  case P::ne:
    return {Opcode::CmpNe, false, false};
  case P::slt:
    return {Opcode::CmpSlt, true, false};
  case P::sle:
    return {Opcode::CmpSle, true, false};
  case P::sgt:
    return {Opcode::CmpSlt, true, true};
  case P::sge:
    return {Opcode::CmpSle, true, true};
  case P::ult:
    return {Opcode::CmpUlt, false, false};
  case P::ule:
    return {Opcode::CmpUle, false, false};
  case P::ugt:
    return {Opcode::CmpUlt, false, true};
  case P::uge:
    return {Opcode::CmpUle, false, true};
  }
  llvm_unreachable("unknown integer predicate");
}

/// The predicates of index are those of arith in the same order.
static mlir::arith::CmpIPredicate
toArith(mlir::index::IndexCmpPredicate predicate) {
  using P = mlir::index::IndexCmpPredicate;
  using A = mlir::arith::CmpIPredicate;
  static_assert(unsigned(P::EQ) == unsigned(A::eq) &&
                unsigned(P::SLE) == unsigned(A::sle) &&
                unsigned(P::UGE) == unsigned(A::uge));
  return static_cast<A>(predicate);
}

/// The set of orders for which a predicate holds: 1 less, 2 equal, 4 greater, 8
/// unordered.
static uint32_t getOrders(mlir::arith::CmpFPredicate predicate) {
  using P = mlir::arith::CmpFPredicate;
  switch (predicate) {
  case P::AlwaysFalse:
    return 0;
  case P::OEQ:
    return 2;
  case P::OGT:
    return 4;
  case P::OGE:
    return 4 | 2;
  case P::OLT:
    return 1;
  case P::OLE:
    return 1 | 2;
  case P::ONE:
    return 1 | 4;
  case P::ORD:
    return 1 | 2 | 4;
  case P::UEQ:
    return 8 | 2;
  case P::UGT:
    return 8 | 4;
  case P::UGE:
    return 8 | 4 | 2;
  case P::ULT:
    return 8 | 1;
  case P::ULE:
    return 8 | 1 | 2;
  case P::UNE:
    return 8 | 1 | 4;
  case P::UNO:
    return 8;
  case P::AlwaysTrue:
    return 15;
  }
  llvm_unreachable("unknown float predicate");
}

bool RegionCompiler::compileOther(const OpInfo &info, Slots &results) {
  const Slots &operands = info.operands;
  auto compare = [&](mlir::arith::CmpIPredicate predicate) {
    IntComparison comparison = getComparison(predicate);
    ElementType type = info.operandTypes[0];
    SlotId a = operands[0], b = operands[1];
    if (comparison.isSigned) {
      a = asSigned(a, type);
      b = asSigned(b, type);
    }
    if (comparison.swap)
      std::swap(a, b);
    results = {emit(comparison.opcode, false, {a, b})};
    return true;
  };
  auto multiplyHigh = [&](Opcode opcode, bool isSigned) {
    ElementType type = info.operandTypes[0];
    auto extend = [&](SlotId slot) {
      return isSigned ? asSigned(slot, type) : asUnsigned(slot, type);
    };
    results = {
        wrap(emit(Opcode::MulI, false, operands), type),
        wrap(emit(opcode, false, {extend(operands[0]), extend(operands[1])},
                  type.width),
             type)};
    return true;
  };
  return llvm::TypeSwitch<mlir::Operation *, bool>(info.op)
      .Case([&](mlir::arith::CmpIOp op) { return compare(op.getPredicate()); })
      .Case(
          [&](mlir::index::CmpOp op) { return compare(toArith(op.getPred())); })
      .Case([&](mlir::arith::CmpFOp op) {
        results = {
            emit(Opcode::CmpF, false, operands, getOrders(op.getPredicate()))};
        return true;
      })
      .Case([&](mlir::arith::SelectOp) {
        bool isFloat = info.resultTypes[0].isFloat();
        results = {emit(isFloat ? Opcode::SelectF : Opcode::SelectI, isFloat,
                        operands)};
        return true;
      })
      .Case([&](mlir::arith::AddUIExtendedOp) {
        // The sum carries where it is below an operand, as unsigned numbers.
        SlotId sum =
            wrap(emit(Opcode::AddI, false, operands), info.operandTypes[0]);
        results = {sum, emit(Opcode::CmpUlt, false, {sum, operands[0]})};
        return true;
      })
      .Case([&](mlir::arith::MulSIExtendedOp) {
        return multiplyHigh(Opcode::MulHighS, /*isSigned=*/true);
      })
      .Case([&](mlir::arith::MulUIExtendedOp) {
        return multiplyHigh(Opcode::MulHighU, /*isSigned=*/false);
      })
      .Case([&](mlir::math::SincosOp) {
        ElementType type = info.resultTypes[0];
        results = {round(emit(Opcode::Sin, true, operands), type),
                   round(emit(Opcode::Cos, true, operands), type)};
        return true;
      })
      .Case([&](mlir::math::FPowIOp) {
        SlotId power = asSigned(operands[1], info.operandTypes[1]);
        results = {round(emit(Opcode::FPowI, true, {operands[0], power}),
                         info.resultTypes[0])};
        return true;
      })
      .Case([&](mlir::math::ClampFOp) {
        // What the name says: min and max of upstream's expansion are swapped.
        SlotId raised =
            emit(Opcode::MaximumF, true, {operands[0], operands[1]});
        results = {emit(Opcode::MinimumF, true, {raised, operands[2]})};
        return true;
      })
      .Case([&](mlir::index::SizeOfOp) {
        results = {addIntConstant(64)};
        return true;
      })
      .Default([](mlir::Operation *) { return false; });
}
