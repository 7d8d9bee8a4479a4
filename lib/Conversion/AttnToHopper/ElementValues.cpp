//===- ElementValues.cpp - Elements of tensors as numbers -----------------===//

#include "ElementValues.h"
#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Dialect/Attn/IR/OtherTarget.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/SaveAndRestore.h"
#include <map>

using namespace mlir;
using namespace mlir::attn;

/// Whether an operation of linalg writes each element once, or adds to it, at
/// indices that are loops of their own.
static bool hasPlainResults(linalg::LinalgOp op) {
  return op.hasPureTensorSemantics() &&
         llvm::all_of(op.getDpsInitsMutable(), [&](OpOperand &init) {
           AffineMap map = op.getMatchingIndexingMap(&init);
           return map.isProjectedPermutation() &&
                  map.getNumResults() == op.getNumParallelLoops();
         });
}

bool mlir::attn::isComputedByElement(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !isa<RankedTensorType>(value.getType()))
    return false;
  if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    return hasPlainResults(structured);
  DenseElementsAttr elements;
  if (matchPattern(op, m_Constant(&elements)))
    return elements.isSplat();
  return isa<tensor::ExtractSliceOp, tensor::InsertSliceOp,
             tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::SplatOp,
             tensor::CastOp>(op) ||
         OpTrait::hasElementwiseMappableTraits(op);
}

bool mlir::attn::isSum(Value value) {
  auto structured = value.getDefiningOp<linalg::LinalgOp>();
  return structured && structured.getNumReductionLoops() != 0;
}

bool mlir::attn::isArithmetic(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    return !structured.getBlock()->without_terminator().empty();
  return OpTrait::hasElementwiseMappableTraits(op) &&
         !isa<CastOpInterface>(op) && !matchPattern(op, m_Constant());
}

bool mlir::attn::isElementRead(OpOperand &use) {
  Operation *op = use.getOwner();
  if (isa<tensor::DimOp>(op))
    return false;
  auto structured = dyn_cast<linalg::LinalgOp>(op);
  if (structured && structured.isDpsInit(&use))
    return !structured.getMatchingBlockArgument(&use).use_empty();
  auto style = dyn_cast<DestinationStyleOpInterface>(op);
  return !style || !style.isDpsInit(&use) || isa<tensor::InsertSliceOp>(op);
}

SmallVector<OpFoldResult> mlir::attn::getExtents(OpBuilder &builder,
                                                 Value tensor) {
  Location loc = tensor.getLoc();
  auto type = cast<RankedTensorType>(tensor.getType());
  Operation *op = tensor.getDefiningOp();
  if (type.hasStaticShape() || !isComputedByElement(tensor))
    return tensor::getMixedSizes(builder, loc, tensor);
  SmallVector<OpFoldResult> sizes;
  if (auto style = dyn_cast<DestinationStyleOpInterface>(op)) {
    sizes = getExtents(builder,
                       style.getTiedOpOperand(cast<OpResult>(tensor))->get());
  } else if (auto cast = dyn_cast<tensor::CastOp>(op)) {
    sizes = getExtents(builder, cast.getSource());
  } else if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    llvm::SmallBitVector dropped = slice.getDroppedDims();
    for (auto [dim, size] : llvm::enumerate(slice.getMixedSizes()))
      if (!dropped.test(dim))
        sizes.push_back(size);
  } else if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    sizes = expand.getMixedOutputShape();
  } else if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
    SmallVector<OpFoldResult> source = getExtents(builder, collapse.getSrc());
    for (ArrayRef<int64_t> group : collapse.getReassociationIndices()) {
      AffineExpr product = builder.getAffineConstantExpr(1);
      SmallVector<OpFoldResult> factors;
      for (int64_t dim : group) {
        product = product * builder.getAffineSymbolExpr(factors.size());
        factors.push_back(source[dim]);
      }
      sizes.push_back(affine::makeComposedFoldedAffineApply(builder, loc,
                                                            product, factors));
    }
  } else if (auto splat = dyn_cast<tensor::SplatOp>(op)) {
    sizes = getMixedValues(type.getShape(), splat.getDynamicSizes(), builder);
  } else {
    // A condition may be a scalar.
    sizes = getExtents(builder, op->getOperands().back());
  }
  // What the type says, it says, too.
  for (auto [size, known] : llvm::zip_equal(sizes, type.getShape()))
    if (ShapedType::isStatic(known))
      size = builder.getIndexAttr(known);
  return sizes;
}

OpFoldResult mlir::attn::getLoopExtent(OpBuilder &builder, linalg::LinalgOp op,
                                       unsigned loop) {
  for (OpOperand &operand : op->getOpOperands())
    if (isa<TensorType>(operand.get().getType()))
      for (auto [dim, expr] :
           llvm::enumerate(op.getMatchingIndexingMap(&operand).getResults()))
        if (expr == builder.getAffineDimExpr(loop))
          return getExtents(builder, operand.get())[dim];
  return {};
}

namespace {
/// Emits elements, each with what it is made of.
class ElementEmitter {
public:
  explicit ElementEmitter(OpBuilder &builder) : builder(builder) {}

  FailureOr<Value> get(Value tensor, ValueRange indices);

private:
  FailureOr<Value> compute(Value tensor, ValueRange indices);
  FailureOr<Value> getElementwise(OpResult result, ValueRange indices);
  FailureOr<Value> getStructured(linalg::LinalgOp op, OpResult result,
                                 ValueRange indices);
  FailureOr<SmallVector<Value>> emitBody(linalg::LinalgOp op,
                                         ValueRange loopIndices,
                                         ValueRange accumulators);
  FailureOr<SmallVector<Value>> emitSums(linalg::LinalgOp op,
                                         MutableArrayRef<Value> loopIndices,
                                         ArrayRef<unsigned> dims,
                                         ValueRange accumulators);
  FailureOr<Value> getOfSlice(tensor::ExtractSliceOp op, ValueRange indices);
  FailureOr<Value> getOfInsertion(tensor::InsertSliceOp op, ValueRange indices);
  FailureOr<Value> getOfExpansion(tensor::ExpandShapeOp op, ValueRange indices);
  FailureOr<Value> getOfCollapse(tensor::CollapseShapeOp op,
                                 ValueRange indices);
  Value toValue(Location loc, OpFoldResult value) {
    return getValueOrCreateConstantIndexOp(builder, loc, value);
  }
  Value apply(Location loc, AffineExpr expr, ArrayRef<OpFoldResult> operands) {
    return toValue(loc, affine::makeComposedFoldedAffineApply(builder, loc,
                                                              expr, operands));
  }

  OpBuilder &builder;
  /// What has been computed, by tensor and indices.
  using Elements = std::map<std::pair<void *, SmallVector<void *>>, Value>;
  Elements known;
};
} // namespace

FailureOr<Value> ElementEmitter::get(Value tensor, ValueRange indices) {
  std::pair key(tensor.getAsOpaquePointer(),
                llvm::map_to_vector(indices, [](Value index) {
                  return index.getAsOpaquePointer();
                }));
  auto found = known.find(key);
  if (found != known.end())
    return found->second;
  FailureOr<Value> element = compute(tensor, indices);
  if (succeeded(element))
    known[key] = *element;
  return element;
}

FailureOr<Value> ElementEmitter::compute(Value tensor, ValueRange indices) {
  Location loc = tensor.getLoc();
  if (!isComputedByElement(tensor)) {
    Operation *op = tensor.getDefiningOp();
    // What nobody has written may be anything.
    if (isa_and_present<tensor::EmptyOp>(op))
      return arith::ConstantOp::create(
                 builder, loc,
                 builder.getZeroAttr(getElementTypeOrSelf(tensor.getType())))
          .getResult();
    if (op && !isa<AttentionLikeOpInterface, scf::ForallOp>(op))
      return FailureOr<Value>(
          op->emitError("expects around attentions for a GPU what computes "
                        "tensors element by element, but got '")
          << op->getName() << "'" << otherTarget);
    return tensor::ExtractOp::create(builder, loc, tensor, indices).getResult();
  }
  Operation *op = tensor.getDefiningOp();
  DenseElementsAttr elements;
  if (matchPattern(op, m_Constant(&elements)))
    return arith::ConstantOp::create(builder, loc,
                                     elements.getSplatValue<TypedAttr>())
        .getResult();
  return llvm::TypeSwitch<Operation *, FailureOr<Value>>(op)
      .Case([&](tensor::CastOp cast) { return get(cast.getSource(), indices); })
      .Case([&](tensor::SplatOp splat) { return Value(splat.getInput()); })
      .Case([&](linalg::FillOp fill) { return Value(fill.value()); })
      .Case([&](tensor::ExtractSliceOp slice) {
        return getOfSlice(slice, indices);
      })
      .Case([&](tensor::InsertSliceOp slice) {
        return getOfInsertion(slice, indices);
      })
      .Case([&](tensor::ExpandShapeOp expand) {
        return getOfExpansion(expand, indices);
      })
      .Case([&](tensor::CollapseShapeOp collapse) {
        return getOfCollapse(collapse, indices);
      })
      .Case([&](linalg::LinalgOp structured) {
        return getStructured(structured, cast<OpResult>(tensor), indices);
      })
      .Default([&](Operation *) {
        return getElementwise(cast<OpResult>(tensor), indices);
      });
}

FailureOr<Value> ElementEmitter::getElementwise(OpResult result,
                                                ValueRange indices) {
  Operation *op = result.getOwner();
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    bool isTensor = isa<TensorType>(operand.getType());
    FailureOr<Value> element =
        isTensor ? get(operand, indices) : FailureOr<Value>(operand);
    if (failed(element))
      return failure();
    operands.push_back(*element);
  }
  SmallVector<Type> types;
  for (Type type : op->getResultTypes())
    types.push_back(getElementTypeOrSelf(type));
  OperationState state(op->getLoc(), op->getName(), operands, types);
  if (op->getPropertiesStorage())
    state.propertiesAttr = op->getPropertiesAsAttribute();
  return builder.create(state)->getResult(result.getResultNumber());
}

//===----------------------------------------------------------------------===//
// Operations of linalg
//===----------------------------------------------------------------------===//

/// What the body yields in one iteration.
FailureOr<SmallVector<Value>>
ElementEmitter::emitBody(linalg::LinalgOp op, ValueRange loopIndices,
                         ValueRange accumulators) {
  Location loc = op.getLoc();
  IRMapping mapping;
  SmallVector<OpFoldResult> all(loopIndices.begin(), loopIndices.end());
  for (OpOperand *input : op.getDpsInputOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(input);
    if (argument.use_empty())
      continue;
    if (!isa<TensorType>(input->get().getType())) {
      mapping.map(argument, input->get());
      continue;
    }
    SmallVector<Value> indices;
    for (AffineExpr expr : op.getMatchingIndexingMap(input).getResults())
      indices.push_back(apply(loc, expr, all));
    FailureOr<Value> element = get(input->get(), indices);
    if (failed(element))
      return failure();
    mapping.map(argument, *element);
  }
  for (auto [init, value] :
       llvm::zip_equal(op.getDpsInitsMutable(), accumulators))
    mapping.map(op.getMatchingBlockArgument(&init), value);
  Block *body = op.getBlock();
  for (Operation &inner : body->without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(inner))
      mapping.map(index.getResult(), loopIndices[index.getDim()]);
    else
      builder.clone(inner, mapping);
  }
  return llvm::map_to_vector(
      body->getTerminator()->getOperands(),
      [&](Value value) { return mapping.lookupOrDefault(value); });
}

/// The loops of `dims`, the first one outermost, and the body in them.
FailureOr<SmallVector<Value>>
ElementEmitter::emitSums(linalg::LinalgOp op,
                         MutableArrayRef<Value> loopIndices,
                         ArrayRef<unsigned> dims, ValueRange accumulators) {
  if (dims.empty())
    return emitBody(op, loopIndices, accumulators);
  Location loc = op.getLoc();
  OpFoldResult extent = getLoopExtent(builder, op, dims.front());
  if (!extent)
    return FailureOr<SmallVector<Value>>(
        op->emitError("expects extents of loops to be those of operands")
        << otherTarget);
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  auto loop = scf::ForOp::create(builder, loc, zero, toValue(loc, extent), one,
                                 accumulators);
  OpBuilder::InsertionGuard guard(builder);
  llvm::SaveAndRestore<Elements> outside(known, Elements(known));
  builder.setInsertionPointToStart(loop.getBody());
  loopIndices[dims.front()] = loop.getInductionVar();
  FailureOr<SmallVector<Value>> sums =
      emitSums(op, loopIndices, dims.drop_front(), loop.getRegionIterArgs());
  if (failed(sums))
    return failure();
  scf::YieldOp::create(builder, loc, *sums);
  return SmallVector<Value>(loop.getResults());
}

FailureOr<Value> ElementEmitter::getStructured(linalg::LinalgOp op,
                                               OpResult result,
                                               ValueRange indices) {
  SmallVector<Value> loopIndices(op.getNumLoops()), accumulators;
  AffineMap map = op.getIndexingMapMatchingResult(result);
  for (auto [expr, index] : llvm::zip_equal(map.getResults(), indices))
    loopIndices[cast<AffineDimExpr>(expr).getPosition()] = index;
  bool hasSums = op.getNumReductionLoops() != 0;
  for (OpOperand &init : op.getDpsInitsMutable()) {
    BlockArgument argument = op.getMatchingBlockArgument(&init);
    if (argument.use_empty() && !hasSums) {
      accumulators.push_back(Value());
      continue;
    }
    SmallVector<Value> own;
    for (AffineExpr expr : op.getMatchingIndexingMap(&init).getResults())
      own.push_back(loopIndices[cast<AffineDimExpr>(expr).getPosition()]);
    FailureOr<Value> start = get(init.get(), own);
    if (failed(start))
      return failure();
    accumulators.push_back(*start);
  }
  SmallVector<unsigned> dims;
  op.getReductionDims(dims);
  FailureOr<SmallVector<Value>> values =
      emitSums(op, loopIndices, dims, accumulators);
  if (failed(values))
    return failure();
  return (*values)[result.getResultNumber()];
}

//===----------------------------------------------------------------------===//
// Views and copies
//===----------------------------------------------------------------------===//

FailureOr<Value> ElementEmitter::getOfSlice(tensor::ExtractSliceOp op,
                                            ValueRange indices) {
  Location loc = op.getLoc();
  AffineExpr index, stride, offset;
  bindSymbols(builder.getContext(), index, stride, offset);
  llvm::SmallBitVector dropped = op.getDroppedDims();
  SmallVector<Value> place;
  unsigned number = 0;
  for (auto [dim, start] : llvm::enumerate(op.getMixedOffsets()))
    place.push_back(
        dropped.test(dim)
            ? toValue(loc, start)
            : apply(loc, index * stride + offset,
                    {indices[number++], op.getMixedStrides()[dim], start}));
  return get(op.getSource(), place);
}

/// The element of the slice where that has one, and the other elsewhere.
FailureOr<Value> ElementEmitter::getOfInsertion(tensor::InsertSliceOp op,
                                                ValueRange indices) {
  Location loc = op.getLoc();
  AffineExpr index, stride, offset;
  bindSymbols(builder.getContext(), index, stride, offset);
  Value isInside = arith::ConstantIntOp::create(builder, loc, 1, 1);
  llvm::SmallBitVector dropped = op.getDroppedDims();
  SmallVector<Value> place;
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  auto require = [&](arith::CmpIPredicate predicate, Value x, Value y) {
    isInside = arith::AndIOp::create(
        builder, loc, isInside,
        arith::CmpIOp::create(builder, loc, predicate, x, y));
  };
  SmallVector<OpFoldResult> whole = getExtents(builder, op.getDest());
  for (auto [dim, start] : llvm::enumerate(op.getMixedOffsets())) {
    OpFoldResult step = op.getMixedStrides()[dim];
    if (isZeroInteger(start) && isOneInteger(step) &&
        isEqualConstantIntOrValue(op.getMixedSizes()[dim], whole[dim])) {
      if (!dropped.test(dim))
        place.push_back(indices[dim]);
      continue;
    }
    SmallVector<OpFoldResult> operands = {indices[dim], step, start};
    Value distance = apply(loc, index - offset, operands);
    Value own = distance;
    if (!isConstantIntValue(step, 1)) {
      Value by = toValue(loc, step);
      own = arith::FloorDivSIOp::create(builder, loc, distance, by);
      require(arith::CmpIPredicate::eq, distance,
              arith::MulIOp::create(builder, loc, own, by));
    }
    require(arith::CmpIPredicate::sge, own, zero);
    require(arith::CmpIPredicate::slt, own,
            toValue(loc, op.getMixedSizes()[dim]));
    if (!dropped.test(dim))
      place.push_back(own);
  }
  auto branch = scf::IfOp::create(
      builder, loc, TypeRange(op.getResultType().getElementType()), isInside,
      /*withElseRegion=*/true);
  for (bool isElse : {false, true}) {
    OpBuilder::InsertionGuard guard(builder);
    llvm::SaveAndRestore<Elements> outside(known, Elements(known));
    builder.setInsertionPointToStart(isElse ? branch.elseBlock()
                                            : branch.thenBlock());
    FailureOr<Value> element =
        isElse ? get(op.getDest(), indices) : get(op.getSource(), place);
    if (failed(element))
      return failure();
    scf::YieldOp::create(builder, loc, *element);
  }
  return branch.getResult(0);
}

/// The index among all elements of some dimensions.
FailureOr<Value> ElementEmitter::getOfExpansion(tensor::ExpandShapeOp op,
                                                ValueRange indices) {
  Location loc = op.getLoc();
  SmallVector<OpFoldResult> sizes = op.getMixedOutputShape();
  AffineExpr outer, size, inner;
  bindSymbols(builder.getContext(), outer, size, inner);
  SmallVector<Value> place;
  for (ArrayRef<int64_t> group : op.getReassociationIndices()) {
    Value index = indices[group.front()];
    for (int64_t dim : group.drop_front())
      index =
          apply(loc, outer * size + inner, {index, sizes[dim], indices[dim]});
    place.push_back(index);
  }
  return get(op.getSrc(), place);
}

FailureOr<Value> ElementEmitter::getOfCollapse(tensor::CollapseShapeOp op,
                                               ValueRange indices) {
  Location loc = op.getLoc();
  SmallVector<OpFoldResult> sizes = getExtents(builder, op.getSrc());
  SmallVector<Value> place(sizes.size());
  for (auto [number, group] : llvm::enumerate(op.getReassociationIndices())) {
    Value rest = indices[number];
    for (int64_t dim : llvm::reverse(ArrayRef<int64_t>(group).drop_front())) {
      Value size = toValue(loc, sizes[dim]);
      place[dim] = arith::RemUIOp::create(builder, loc, rest, size);
      rest = arith::DivUIOp::create(builder, loc, rest, size);
    }
    place[group.front()] = rest;
  }
  return get(op.getSrc(), place);
}

FailureOr<Value> mlir::attn::computeElement(OpBuilder &builder, Value tensor,
                                            ValueRange indices) {
  return ElementEmitter(builder).get(tensor, indices);
}
