//===- TileValues.cpp - Values of the tile level in a kernel --------------===//

#include "TileValues.h"
#include "attn/Dialect/Attn/IR/AttnTile.h"
#include "attn/Dialect/Hopper/IR/Hopper.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

bool TileValues::isInvariant(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return !loop || !loop->isAncestor(
                        cast<BlockArgument>(value).getOwner()->getParentOp());
  if (!loop)
    return true;
  if (!loop->isProperAncestor(op))
    return true;
  auto it = invariant.find(value);
  if (it != invariant.end())
    return it->second;
  bool result = (isMemoryEffectFree(op) || isa<GatherOp>(op)) &&
                op->getNumRegions() == 0 &&
                llvm::all_of(op->getOperands(), [&](Value operand) {
                  return isInvariant(operand);
                });
  return invariant[value] = result;
}

bool TileValues::isHoisted(Value value) {
  Operation *op = value.getDefiningOp();
  bool isCostly = op && (isa<GatherOp, arith::DivFOp>(op) ||
                         isa<math::MathDialect>(op->getDialect()));
  return anchor && (!isRarelyRun || isCostly) && isInvariant(value);
}

VectorType TileValues::getType(VectorType type, VectorKind kind) const {
  Type element = type.getElementType();
  constexpr int64_t queries = hopper::kWarpgroupRows;
  if (type.getRank() == 1 && kind == VectorKind::Diagonal) {
    int64_t own = llvm::alignTo(type.getDimSize(0) - tileSize + queries,
                                hopper::kWarpgroupThreads);
    return VectorType::get({1, own}, element);
  }
  if (type.getRank() == 1)
    return kind == VectorKind::Query
               ? VectorType::get({1, queries}, element)
               : VectorType::get({type.getDimSize(0), 1}, element);
  // A column of keys stays one.
  if (type.getDimSize(1) == 1)
    return type;
  return VectorType::get({type.getDimSize(0), queries}, element);
}

FailureOr<SmallVector<Value>> TileValues::getAll(ValueRange values,
                                                 VectorKind kind) {
  SmallVector<Value> result;
  for (Value value : values) {
    FailureOr<Value> mapped = isa<VectorType>(value.getType())
                                  ? getVector(value, kind)
                                  : getScalar(value);
    if (failed(mapped))
      return failure();
    result.push_back(*mapped);
  }
  return result;
}

FailureOr<Value> TileValues::computeElementwise(OpResult result,
                                                VectorKind kind) {
  Operation *op = result.getOwner();
  FailureOr<SmallVector<Value>> operands = getAll(op->getOperands(), kind);
  if (failed(operands))
    return failure();
  SmallVector<Type> types;
  for (Type type : op->getResultTypes()) {
    auto vector = dyn_cast<VectorType>(type);
    types.push_back(vector ? Type(getType(vector, kind)) : type);
  }
  OperationState state(op->getLoc(), op->getName(), *operands, types);
  state.attributes = NamedAttrList(op->getDiscardableAttrDictionary());
  if (op->getPropertiesStorage())
    state.propertiesAttr = op->getPropertiesAsAttribute();
  return builder.create(state)->getResult(result.getResultNumber());
}

FailureOr<Value> TileValues::computePlain(Value value, VectorKind kind) {
  auto type = dyn_cast<VectorType>(value.getType());
  Operation *op = value.getDefiningOp();
  if (DenseElementsAttr elements;
      type && matchPattern(value, m_Constant(&elements)) && elements.isSplat())
    return Value(arith::ConstantOp::create(
        builder, value.getLoc(),
        DenseElementsAttr::get(getType(type, kind),
                               elements.getSplatValue<Attribute>())));
  if (auto start = dyn_cast<OnlineStartOp>(op))
    return hopper::createSplat(builder, value.getLoc(), getType(type, kind),
                               start.getFirst(cast<OpResult>(value)));
  if (auto cast = dyn_cast<vector::ShapeCastOp>(op))
    return getVector(cast.getSource(),
                     cast.getResultVectorType().getDimSize(1) == 1
                         ? VectorKind::Key
                         : VectorKind::Query);
  if (auto broadcast = dyn_cast<vector::BroadcastOp>(op)) {
    FailureOr<SmallVector<Value>> source =
        getAll(broadcast.getSource(), VectorKind::Query);
    if (failed(source))
      return failure();
    return Value(vector::BroadcastOp::create(
        builder, value.getLoc(), getType(type, kind), source->front()));
  }
  bool isScalar =
      !type && llvm::none_of(op->getOperandTypes(), llvm::IsaPred<ShapedType>);
  if (op->getNumRegions() == 0 && isMemoryEffectFree(op) &&
      (isScalar || OpTrait::hasElementwiseMappableTraits(op)))
    return computeElementwise(cast<OpResult>(value), kind);
  return Value();
}
