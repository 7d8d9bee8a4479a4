//===- KeyBias.cpp - Biases that are affine in the key --------------------===//

#include "attn/Analysis/KeyBias.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace mlir::attn;

using Degree = KeyForm::Degree;

static std::optional<double> getConstant(Value value) {
  FloatAttr constant;
  if (matchPattern(value, m_Constant(&constant)))
    return constant.getValueAsDouble();
  return std::nullopt;
}

static bool isPositive(std::optional<double> value) {
  return value && *value > 0 && std::isfinite(*value);
}

bool mlir::attn::isMinOrMax(Operation *op) {
  return isa<arith::MinSIOp, arith::MaxSIOp, arith::MinimumFOp,
             arith::MaximumFOp, arith::MinNumFOp, arith::MaxNumFOp>(op);
}

bool mlir::attn::makesPieces(Operation *op) {
  return isMinOrMax(op) || isa<math::AbsIOp, math::AbsFOp>(op);
}

KeyForm::KeyForm(Region &score)
    : region(score), product(score.getArgument(0)),
      query(score.getArgument(kNumScoreArgs - 2)),
      key(score.getArgument(kNumScoreArgs - 1)) {}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

std::optional<KeyBias> KeyForm::split(Value scores) {
  if (scores == product)
    return KeyBias();
  Operation *op = scores.getDefiningOp();
  if (!isa_and_present<arith::MulFOp, arith::DivFOp, arith::AddFOp,
                       arith::SubFOp>(op))
    return std::nullopt;
  Value lhs = op->getOperand(0), rhs = op->getOperand(1);
  if (isa<arith::MulFOp, arith::DivFOp>(op)) {
    std::optional<double> constant = getConstant(rhs);
    if (!constant && isa<arith::MulFOp>(op)) {
      constant = getConstant(lhs);
      std::swap(lhs, rhs);
    }
    std::optional<KeyBias> bias = split(lhs);
    if (!bias || !isPositive(constant))
      return std::nullopt;
    double factor = isa<arith::MulFOp>(op) ? *constant : 1 / *constant;
    bias->factor *= factor;
    for (KeyBias::Term &term : bias->terms)
      term.factor *= factor;
    return bias;
  }
  bool isSub = isa<arith::SubFOp>(op);
  std::optional<KeyBias> bias = split(lhs);
  if (!bias && !isSub) {
    bias = split(rhs);
    std::swap(lhs, rhs);
  }
  if (!bias)
    return std::nullopt;
  bias->terms.push_back({rhs, isSub ? -1.0 : 1.0});
  return bias;
}

/// Adds a term to those of a bias, in parts where it is a sum of such, and says
/// whether all of it fits.
bool KeyForm::splitTerm(KeyBias::Term term, bool allowKeys, KeyBias &bias) {
  if (!term.value.getType().isF32())
    return false;
  Degree degree = getDegree(term.value);
  if (degree != Degree::Other) {
    bias.terms.push_back(term);
    bias.isAffine |= degree != Degree::Constant;
    bias.hasPieces |= degree == Degree::Piecewise;
    return true;
  }
  if (!allowKeys)
    return false;
  if (!dependsOnQuery(term.value)) {
    bias.keys.push_back(term);
    return true;
  }
  Operation *op = term.value.getDefiningOp();
  auto splitOperand = [&](unsigned number, double factor) {
    return splitTerm({op->getOperand(number), term.factor * factor}, allowKeys,
                     bias);
  };
  if (isa_and_present<arith::NegFOp>(op))
    return splitOperand(0, -1);
  if (isa_and_present<arith::AddFOp, arith::SubFOp>(op))
    return splitOperand(0, 1) &&
           splitOperand(1, isa<arith::SubFOp>(op) ? -1 : 1);
  if (isa_and_present<arith::MulFOp>(op))
    for (unsigned number : {0, 1})
      if (std::optional<double> factor = getConstant(op->getOperand(number));
          factor && std::isfinite(*factor))
        return splitOperand(1 - number, *factor);
  return false;
}

std::optional<KeyBias> KeyForm::match(bool allowKeys) {
  std::optional<KeyBias> found =
      split(region.front().getTerminator()->getOperand(0));
  if (!found || !isPositive(found->factor))
    return std::nullopt;
  KeyBias bias;
  bias.factor = found->factor;
  for (const KeyBias::Term &term : found->terms)
    if (!splitTerm(term, allowKeys, bias))
      return std::nullopt;
  if (!bias.isAffine && bias.keys.empty())
    return std::nullopt;
  return bias;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Whether a value depends on a position, or on the product.
bool KeyForm::dependsOn(Value value, Value position,
                        llvm::DenseMap<Value, bool> &known) {
  if (value == position || value == product)
    return true;
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (auto it = known.find(value); it != known.end())
    return it->second;
  bool result =
      op->walk([&](Operation *inner) {
          return llvm::any_of(inner->getOperands(),
                              [&](Value operand) {
                                return dependsOn(operand, position, known);
                              })
                     ? WalkResult::interrupt()
                     : WalkResult::advance();
        }).wasInterrupted();
  return known[value] = result;
}

Degree KeyForm::getDegree(Value value) {
  if (value == key)
    return Degree::Affine;
  if (!dependsOnKey(value))
    return Degree::Constant;
  if (value == product)
    return Degree::Other;
  // Once for each value, however many share it.
  if (auto known = degrees.find(value); known != degrees.end())
    return known->second;
  Degree degree = computeDegree(value);
  degrees[value] = degree;
  return degree;
}

/// Of integers that hold all positions.
static bool isWide(Value value) {
  Type type = value.getType();
  return type.isIndex() || type.isInteger(32) || type.isInteger(64);
}

/// That of a value that depends on the key.
Degree KeyForm::computeDegree(Value value) {
  auto get = [&](Value operand, bool isExact) {
    return isExact ? getDegree(operand) : Degree::Other;
  };
  bool isFloat = value.getType().isF32();
  return llvm::TypeSwitch<Operation *, Degree>(value.getDefiningOp())
      .Case<arith::AddIOp, arith::SubIOp>([&](Operation *op) {
        return std::max(get(op->getOperand(0), isWide(value)),
                        get(op->getOperand(1), isWide(value)));
      })
      .Case<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(
          [&](Operation *op) {
            Value source = op->getOperand(0);
            return get(source, isWide(value) && isWide(source));
          })
      .Case([&](arith::SIToFPOp op) {
        return get(op.getIn(), isFloat && isWide(op.getIn()));
      })
      .Case<arith::AddFOp, arith::SubFOp>([&](Operation *op) {
        return std::max(get(op->getOperand(0), isFloat),
                        get(op->getOperand(1), isFloat));
      })
      .Case([&](arith::NegFOp op) { return get(op.getOperand(), isFloat); })
      .Case([&](arith::ExtFOp op) { return get(op.getIn(), isFloat); })
      .Case([&](tensor::ExtractOp op) {
        // Of a table of which every key has another element, no tile has a
        // piece.
        bool isOfPieces = llvm::any_of(
            op.getIndices(), [&](Value index) { return canBeFlat(index); });
        return isOfPieces && llvm::all_of(
                                 op.getIndices(),
                                 [&](Value index) { return isMonotone(index); })
                   ? Degree::Piecewise
                   : Degree::Other;
      })
      .Case([&](arith::MulFOp op) {
        bool isSwapped = dependsOnKey(op.getRhs());
        Value factor = isSwapped ? op.getLhs() : op.getRhs();
        return get(isSwapped ? op.getRhs() : op.getLhs(),
                   isFloat && !dependsOnKey(factor));
      })
      .Case([&](arith::DivFOp op) {
        return get(op.getLhs(), isFloat && !dependsOnKey(op.getRhs()));
      })
      .Default([&](Operation *op) {
        if (!makesPieces(op))
          return Degree::Other;
        Degree degree = Degree::Piecewise;
        for (Value operand : op->getOperands())
          degree = std::max(degree, get(operand, isFloat || isWide(value)));
        return degree;
      });
}

/// Whether a value grows with the key or falls, between keys at which the
/// operand of an absolute value is 0, or the condition of a choice changes: so
/// if it is the same for two keys, it is for all between them.
bool KeyForm::isMonotone(Value value) {
  if (getDegree(value) <= Degree::Affine)
    return true;
  if (value == product)
    return false;
  auto [it, isFirst] = monotone.try_emplace(value, false);
  if (!isFirst)
    return it->second;
  bool result = computeIsMonotone(value);
  return monotone[value] = result;
}

bool KeyForm::computeIsMonotone(Value value) {
  // Of two operands, the one that depends on the key.
  auto isOne = [&](Operation *op) {
    Value lhs = op->getOperand(0), rhs = op->getOperand(1);
    return dependsOnKey(lhs) ? !dependsOnKey(rhs) && isMonotone(lhs)
                             : isMonotone(rhs);
  };
  auto isFirst = [&](Operation *op) {
    return !dependsOnKey(op->getOperand(1)) && isMonotone(op->getOperand(0));
  };
  return llvm::TypeSwitch<Operation *, bool>(value.getDefiningOp())
      .Case<arith::ExtSIOp, arith::SIToFPOp, arith::ExtFOp, arith::TruncFOp,
            arith::NegFOp, math::AbsIOp, math::AbsFOp, math::LogOp,
            math::Log2Op, math::Log1pOp, math::ExpOp, math::Exp2Op,
            math::SqrtOp, math::FloorOp, math::CeilOp, math::RoundOp,
            math::RoundEvenOp, math::TruncOp, math::TanhOp>(
          [&](Operation *op) { return isMonotone(op->getOperand(0)); })
      .Case<arith::IndexCastOp, arith::TruncIOp, arith::FPToSIOp>(
          [&](Operation *op) {
            // What is cut off may make the next number a smaller one.
            return isWide(value) && isMonotone(op->getOperand(0));
          })
      .Case<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::AddFOp,
            arith::SubFOp, arith::MulFOp>(isOne)
      .Case<arith::DivFOp, arith::DivSIOp, arith::FloorDivSIOp,
            arith::CeilDivSIOp>(isFirst)
      .Case([&](arith::CmpIOp op) {
        using Predicate = arith::CmpIPredicate;
        return llvm::is_contained({Predicate::slt, Predicate::sle,
                                   Predicate::sgt, Predicate::sge},
                                  op.getPredicate()) &&
               isOne(op);
      })
      .Case([&](arith::CmpFOp op) {
        using Predicate = arith::CmpFPredicate;
        return llvm::is_contained({Predicate::OLT, Predicate::OLE,
                                   Predicate::OGT, Predicate::OGE},
                                  op.getPredicate()) &&
               isOne(op);
      })
      .Case([&](arith::SelectOp op) {
        return llvm::all_of(op->getOperands(),
                            [&](Value operand) { return isMonotone(operand); });
      })
      .Default([&](Operation *op) { return isMinOrMax(op) && isOne(op); });
}

/// Whether such a value is the same for all keys beyond some.
bool KeyForm::canBeFlat(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || isConstant(value) || getDegree(value) == Degree::Affine)
    return false;
  if ((isMinOrMax(op) || isa<arith::SelectOp>(op)) &&
      llvm::any_of(op->getOperands(),
                   [&](Value operand) { return isConstant(operand); }))
    return true;
  return llvm::any_of(op->getOperands(),
                      [&](Value operand) { return canBeFlat(operand); });
}

std::optional<KeyBias> mlir::attn::getKeyBias(AttentionLikeOpInterface op) {
  Region &score = op.getScore();
  if (score.empty())
    return std::nullopt;
  return KeyForm(score).match(
      /*allowKeys=*/getElementTypeOrSelf(op.getQuery().getType()).isBF16());
}
