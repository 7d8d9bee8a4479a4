//===- KeyBias.cpp - Biases that are affine in the key --------------------===//

#include "KeyBias.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace mlir::attn;

using Degree = KeyForm::Degree;

/// A float constant, or the element of a splat.
static std::optional<double> getConstant(Value value) {
  FloatAttr scalar;
  if (matchPattern(value, m_Constant(&scalar)))
    return scalar.getValueAsDouble();
  DenseFPElementsAttr elements;
  if (matchPattern(value, m_Constant(&elements)) && elements.isSplat())
    return elements.getSplatValue<APFloat>().convertToDouble();
  return std::nullopt;
}

static bool isPositive(std::optional<double> value) {
  return value && *value > 0 && std::isfinite(*value);
}

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

std::optional<KeyBias> KeyForm::match(Value scores) {
  std::optional<KeyBias> bias = split(scores);
  if (!bias || !isPositive(bias->factor))
    return std::nullopt;
  bool isAffine = false;
  for (const KeyBias::Term &term : bias->terms) {
    Degree degree = getDegree(term.value);
    if (degree == Degree::Other ||
        !getElementTypeOrSelf(term.value.getType()).isF32())
      return std::nullopt;
    isAffine |= degree == Degree::Affine;
  }
  return isAffine ? bias : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Whether a value depends on the key, or the product, or at the tile level on
/// the tile.
bool KeyForm::dependsOnKey(Value value) {
  if (value == key || value == product)
    return true;
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (auto it = dependent.find(value); it != dependent.end())
    return it->second;
  bool result = op->walk([&](Operation *inner) {
                    return llvm::any_of(inner->getOperands(),
                                        [&](Value operand) {
                                          return dependsOnKey(operand);
                                        })
                               ? WalkResult::interrupt()
                               : WalkResult::advance();
                  }).wasInterrupted();
  return dependent[value] = result;
}

Degree KeyForm::getDegree(Value value, VectorKind kind) {
  if (value == product)
    return Degree::Other;
  auto type = dyn_cast<VectorType>(value.getType());
  bool isAlongKeys = type && (type.getRank() == 2 || kind == VectorKind::Key);
  // A scalar of the tile level is the same for all keys of a tile.
  bool isScalarOfTile = !type && !isa<BlockArgument>(product);
  if (isScalarOfTile || (type && !isAlongKeys))
    return Degree::Constant;
  if (value == key)
    return Degree::Affine;
  if (value.getDefiningOp())
    return computeDegree(value, kind);
  return Degree::Constant;
}

/// `value` times, or divided by, a factor that is the same for all keys.
Degree KeyForm::getScaledDegree(Value value, Value factor, VectorKind kind) {
  Degree degree = getDegree(value, kind);
  if (getDegree(factor, kind) != Degree::Constant ||
      !getElementTypeOrSelf(value.getType()).isF32())
    return Degree::Other;
  if (degree == Degree::Affine && dependsOnKey(factor))
    return Degree::Other;
  return degree;
}

Degree KeyForm::computeDegree(Value value, VectorKind kind) {
  auto get = [&](Value operand) { return getDegree(operand, kind); };
  auto ofElement = [](Value value) {
    return getElementTypeOrSelf(value.getType());
  };
  // Integers that hold all positions.
  auto isWide = [&](Value value) {
    Type type = ofElement(value);
    return type.isIndex() || type.isInteger(32) || type.isInteger(64);
  };
  return llvm::TypeSwitch<Operation *, Degree>(value.getDefiningOp())
      .Case([&](vector::BroadcastOp op) { return get(op.getSource()); })
      .Case([&](vector::ShapeCastOp op) {
        return getDegree(op.getSource(), VectorKind::Key);
      })
      .Case([](vector::StepOp) { return Degree::Affine; })
      .Case<arith::AddIOp, arith::SubIOp>([&](Operation *op) {
        return isWide(value)
                   ? std::max(get(op->getOperand(0)), get(op->getOperand(1)))
                   : Degree::Other;
      })
      .Case<arith::IndexCastOp, arith::ExtSIOp>([&](Operation *op) {
        Value source = op->getOperand(0);
        return isWide(value) && isWide(source) ? get(source) : Degree::Other;
      })
      .Case([&](arith::SIToFPOp op) {
        return ofElement(value).isF32() && isWide(op.getIn()) ? get(op.getIn())
                                                              : Degree::Other;
      })
      .Case<arith::AddFOp, arith::SubFOp>([&](Operation *op) {
        return ofElement(value).isF32()
                   ? std::max(get(op->getOperand(0)), get(op->getOperand(1)))
                   : Degree::Other;
      })
      .Case([&](arith::NegFOp op) {
        return ofElement(value).isF32() ? get(op.getOperand()) : Degree::Other;
      })
      .Case([&](arith::MulFOp op) {
        return std::min(getScaledDegree(op.getLhs(), op.getRhs(), kind),
                        getScaledDegree(op.getRhs(), op.getLhs(), kind));
      })
      .Case([&](arith::DivFOp op) {
        return getScaledDegree(op.getLhs(), op.getRhs(), kind);
      })
      .Default([&](Operation *op) {
        if (op->hasTrait<OpTrait::ConstantLike>())
          return Degree::Constant;
        // Values of a region; on tiles, those that do not depend on the key
        // have no rows for it.
        bool isConstant = isa<BlockArgument>(product) && !dependsOnKey(value);
        return isConstant ? Degree::Constant : Degree::Other;
      });
}

bool mlir::attn::fitsProduct(const KeyBias &bias, Type element) {
  constexpr double mostInF16 = 2;
  return !element.isF16() || bias.factor <= mostInF16;
}

bool mlir::attn::hasKeyBias(AttentionLikeOpInterface op) {
  Region &score = op.getScore();
  if (score.empty())
    return false;
  KeyForm form(score.getArgument(0), score.getArgument(kNumScoreArgs - 1));
  return form.match(score.front().getTerminator()->getOperand(0)).has_value();
}
