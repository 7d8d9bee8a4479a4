//===- AttnTiling.cpp - Attention as loops over tiles ---------------------===//
//
// TilingInterface of the tensor and the online level. The loops are:
//
//   attn.attention         b, h, i
//   attn.online_attention  b, h, i, and j, the reduction over keys
//   attn.finalize          b, h, i, and d where no lse is asked for: tiles of d
//                          would all write the same lse
//
// Consumers and producers may be fused along tiles of the queries, the
// destinations and the results.
//
//===----------------------------------------------------------------------===//

#include "AttnTileUtils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::attn;

using utils::IteratorType;

/// The loop that runs over each dimension of a tensor; -1 where none does.
using DimLoops = SmallVector<int>;

//===----------------------------------------------------------------------===//
// What differs between the operations
//===----------------------------------------------------------------------===//

static AttentionLikeOpInterface getInterface(Operation *op) {
  return cast<AttentionLikeOpInterface>(op);
}

/// The dimension that gives the extent of each loop.
static SmallVector<TensorDim> getLoopDims(AttentionOp op) {
  SmallVector<TensorDim> dims = attn::getLoopDims(getInterface(op));
  dims.pop_back();
  return dims;
}
static SmallVector<TensorDim> getLoopDims(OnlineAttentionOp op) {
  return attn::getLoopDims(getInterface(op));
}
static SmallVector<TensorDim> getLoopDims(FinalizeOp op) {
  Value acc = op.getAcc();
  Layout layout = op.getAccLayout();
  SmallVector<TensorDim> dims = {
      {acc, layout.b}, {acc, layout.h}, {acc, layout.s}};
  if (!op.getLseInit())
    dims.push_back({acc, layout.d});
  return dims;
}

/// Loops over a tensor of the shape of o or, without d, of lse.
static DimLoops getOutputLoops(Layout layout, bool hasD, int loopD) {
  return hasD ? layout.arrange<int>(kLoopB, kLoopH, kLoopI, loopD)
              : layout.arrangeRows<int>(kLoopB, kLoopH, kLoopI);
}

template <typename OpTy>
static DimLoops getResultLoops(OpTy op, unsigned number) {
  return getOutputLoops(getInterface(op).getLayout(3), number == 0,
                        /*loopD=*/-1);
}
static DimLoops getResultLoops(FinalizeOp op, unsigned number) {
  return getOutputLoops(op.getAccLayout(), number == 0,
                        op.getLseInit() ? -1 : 3);
}

/// Loops over an input; empty if a tile of it does not tell the loops' tile.
template <typename OpTy>
static DimLoops getInputLoops(OpTy op, OpOperand &input) {
  if (input.getOperandNumber() != 0)
    return {};
  return getInterface(op).getLayout(0).template arrange<int>(kLoopB, kLoopH,
                                                             kLoopI, -1);
}
static DimLoops getInputLoops(FinalizeOp op, OpOperand &input) {
  return getResultLoops(op, input.getOperandNumber() == 0 ? 0 : 1);
}

/// The parts of the destinations that a tile writes.
template <typename OpTy>
static SmallVector<Value> extractOuts(OpBuilder &builder, OpTy op,
                                      ArrayRef<DimTile> tile,
                                      SmallVectorImpl<Operation *> &slices) {
  SmallVector<Value> outs;
  for (auto [number, out] : llvm::enumerate(op.getOuts())) {
    SmallVector<DimTile> dims;
    for (int loop : getResultLoops(op, number))
      dims.push_back(loop < 0 ? DimTile::whole() : tile[loop]);
    outs.push_back(extractTile(builder, op.getLoc(), out, dims, slices));
  }
  return outs;
}

static TilingResult getTilingResult(Operation *tiled,
                                    ArrayRef<Operation *> slices) {
  return {{tiled},
          SmallVector<Value>(tiled->getResults()),
          SmallVector<Operation *>(slices)};
}

static FailureOr<TilingResult> makeTile(OpBuilder &builder, AttentionOp op,
                                        ArrayRef<DimTile> tile) {
  FailureOr<AttentionInputs> inputs =
      extractInputs(builder, getInterface(op), tile);
  if (failed(inputs))
    return failure();
  SmallVector<Value> outs = extractOuts(builder, op, tile, inputs->slices);
  auto tiled = AttentionOp::create(
      builder, op.getLoc(), ValueRange(outs).getTypes(), inputs->query,
      inputs->key, inputs->value, op.getCaptures(), op.getSparsityOperands(),
      inputs->offsets, outs, op.getScaleAttr(), op.getLayoutsAttr(),
      op.getScheduleAttr(), op.getSparsityAttr());
  tiled->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  for (auto [from, to] : llvm::zip_equal(op->getRegions(), tiled->getRegions()))
    if (!from.empty())
      builder.cloneRegionBefore(from, to, to.end());
  return getTilingResult(tiled, inputs->slices);
}

static FailureOr<TilingResult>
makeTile(OpBuilder &builder, OnlineAttentionOp op, ArrayRef<DimTile> tile) {
  FailureOr<AttentionInputs> inputs =
      extractInputs(builder, getInterface(op), tile);
  if (failed(inputs))
    return failure();
  SmallVector<Value> outs = extractOuts(builder, op, tile, inputs->slices);
  return getTilingResult(cloneWithInputs(builder, op, *inputs, outs),
                         inputs->slices);
}

static FailureOr<TilingResult> makeTile(OpBuilder &builder, FinalizeOp op,
                                        ArrayRef<DimTile> tile) {
  SmallVector<Operation *> slices;
  SmallVector<Value> inputs;
  for (OpOperand *input : cast<DestinationStyleOpInterface>(op.getOperation())
                              .getDpsInputOperands()) {
    SmallVector<DimTile> dims;
    for (int loop : getInputLoops(op, *input))
      dims.push_back(loop < 0 ? DimTile::whole() : tile[loop]);
    inputs.push_back(
        extractTile(builder, op.getLoc(), input->get(), dims, slices));
  }
  SmallVector<Value> outs = extractOuts(builder, op, tile, slices);
  auto tiled = FinalizeOp::create(
      builder, op.getLoc(), ValueRange(outs).getTypes(), inputs[0], inputs[1],
      inputs[2], outs, op.getLayoutAttr());
  tiled->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  return getTilingResult(tiled, slices);
}

//===----------------------------------------------------------------------===//
// What they share
//===----------------------------------------------------------------------===//

namespace {
/// One tile of a tensor, and the loops over it.
struct TensorTile {
  Value tensor;
  DimLoops loops;
  ArrayRef<OpFoldResult> offsets, sizes;

  /// Whether it holds all of the dimensions that no loop runs over, so that
  /// a tile of the iteration domain can make, or take, it.
  bool coversInnerDims() const {
    auto type = cast<RankedTensorType>(tensor.getType());
    return llvm::all_of(llvm::seq<size_t>(loops.size()), [&](size_t dim) {
      return loops[dim] >= 0 ||
             (isZeroInteger(offsets[dim]) &&
              isConstantIntValue(sizes[dim], type.getDimSize(dim)));
    });
  }
};
} // namespace

/// Sets the range of each loop that runs over one of the tensors. Fails if two
/// of them differ.
static LogicalResult refineDomain(ArrayRef<TensorTile> tiles,
                                  MutableArrayRef<OpFoldResult> offsets,
                                  MutableArrayRef<OpFoldResult> sizes) {
  SmallVector<bool> isKnown(offsets.size());
  for (const TensorTile &tile : tiles) {
    if (tile.loops.empty() || !tile.coversInnerDims())
      return failure();
    for (auto [dim, loop] : llvm::enumerate(tile.loops)) {
      if (loop < 0)
        continue;
      if (isKnown[loop] &&
          (!isEqualConstantIntOrValue(offsets[loop], tile.offsets[dim]) ||
           !isEqualConstantIntOrValue(sizes[loop], tile.sizes[dim])))
        return failure();
      offsets[loop] = tile.offsets[dim];
      sizes[loop] = tile.sizes[dim];
      isKnown[loop] = true;
    }
  }
  return success();
}

namespace {
template <typename OpTy>
struct Tiling : public TilingInterface::ExternalModel<Tiling<OpTy>, OpTy> {
  using Fold = OpFoldResult;
  using Folds = ArrayRef<OpFoldResult>;

  SmallVector<IteratorType> getLoopIteratorTypes(Operation *op) const {
    SmallVector<IteratorType> types(getLoopDims(cast<OpTy>(op)).size(),
                                    IteratorType::parallel);
    if (isa<OnlineAttentionOp>(op))
      types[kLoopJ] = IteratorType::reduction;
    return types;
  }

  SmallVector<Range> getIterationDomain(Operation *op,
                                        OpBuilder &builder) const {
    SmallVector<Range> domain;
    for (auto [tensor, dim] : getLoopDims(cast<OpTy>(op)))
      domain.push_back(
          {builder.getIndexAttr(0),
           tensor::getMixedSize(builder, op->getLoc(), tensor, dim),
           builder.getIndexAttr(1)});
    return domain;
  }

  FailureOr<TilingResult> getTiledImplementation(Operation *op,
                                                 OpBuilder &builder,
                                                 Folds offsets,
                                                 Folds sizes) const {
    auto concrete = cast<OpTy>(op);
    return makeTile(builder, concrete,
                    getTile(getLoopDims(concrete), offsets, sizes));
  }

  //===--------------------------------------------------------------------===//
  // Results
  //===--------------------------------------------------------------------===//

  LogicalResult getResultTilePosition(Operation *op, OpBuilder &builder,
                                      unsigned number, Folds offsets,
                                      Folds sizes,
                                      SmallVector<Fold> &resultOffsets,
                                      SmallVector<Fold> &resultSizes) const {
    Value out = cast<OpTy>(op).getOuts()[number];
    for (auto [dim, loop] :
         llvm::enumerate(getResultLoops(cast<OpTy>(op), number))) {
      resultOffsets.push_back(loop < 0 ? Fold(builder.getIndexAttr(0))
                                       : offsets[loop]);
      resultSizes.push_back(
          loop < 0 ? tensor::getMixedSize(builder, op->getLoc(), out, dim)
                   : sizes[loop]);
    }
    return success();
  }

  LogicalResult getIterationDomainTileFromResultTile(
      Operation *op, OpBuilder &builder, unsigned number, Folds resultOffsets,
      Folds resultSizes, SmallVectorImpl<Fold> &offsets,
      SmallVectorImpl<Fold> &sizes) const {
    startWithDomain(op, builder, offsets, sizes);
    return refineDomain(getResultTile(op, number, resultOffsets, resultSizes),
                        offsets, sizes);
  }

  FailureOr<TilingResult>
  generateResultTileValue(Operation *op, OpBuilder &builder, unsigned number,
                          Folds resultOffsets, Folds resultSizes) const {
    SmallVector<Fold> offsets, sizes;
    if (failed(getIterationDomainTileFromResultTile(
            op, builder, number, resultOffsets, resultSizes, offsets, sizes)))
      return failure();
    FailureOr<TilingResult> result =
        getTiledImplementation(op, builder, offsets, sizes);
    if (failed(result))
      return failure();
    return TilingResult{result->tiledOps,
                        {result->tiledValues[number]},
                        result->generatedSlices};
  }

  bool isOpFusableWithConsumerSlice(Operation *op, unsigned number,
                                    Folds resultOffsets,
                                    Folds resultSizes) const {
    return getResultTile(op, number, resultOffsets, resultSizes)
        .coversInnerDims();
  }

  //===--------------------------------------------------------------------===//
  // Operands
  //===--------------------------------------------------------------------===//

  LogicalResult getIterationDomainTileFromOperandTiles(
      Operation *op, OpBuilder &builder, ArrayRef<unsigned> numbers,
      ArrayRef<SmallVector<Fold>> operandOffsets,
      ArrayRef<SmallVector<Fold>> operandSizes, SmallVectorImpl<Fold> &offsets,
      SmallVectorImpl<Fold> &sizes) const {
    startWithDomain(op, builder, offsets, sizes);
    return refineDomain(
        getOperandTiles(op, numbers, operandOffsets, operandSizes), offsets,
        sizes);
  }

  FailureOr<TilingResult> getTiledImplementationFromOperandTiles(
      Operation *op, OpBuilder &builder, ArrayRef<unsigned> numbers,
      ArrayRef<SmallVector<Fold>> operandOffsets,
      ArrayRef<SmallVector<Fold>> operandSizes) const {
    SmallVector<Fold> offsets, sizes;
    if (failed(getIterationDomainTileFromOperandTiles(
            op, builder, numbers, operandOffsets, operandSizes, offsets,
            sizes)))
      return failure();
    return getTiledImplementation(op, builder, offsets, sizes);
  }

  bool isOpFusableWithProducerSlices(
      Operation *op, ArrayRef<unsigned> numbers,
      ArrayRef<SmallVector<Fold>> operandOffsets,
      ArrayRef<SmallVector<Fold>> operandSizes) const {
    SmallVector<Fold> offsets(getLoopDims(cast<OpTy>(op)).size());
    SmallVector<Fold> sizes(offsets.size());
    return succeeded(
        refineDomain(getOperandTiles(op, numbers, operandOffsets, operandSizes),
                     offsets, sizes));
  }

private:
  void startWithDomain(Operation *op, OpBuilder &builder,
                       SmallVectorImpl<Fold> &offsets,
                       SmallVectorImpl<Fold> &sizes) const {
    for (const Range &range : getIterationDomain(op, builder)) {
      offsets.push_back(range.offset);
      sizes.push_back(range.size);
    }
  }

  TensorTile getResultTile(Operation *op, unsigned number, Folds offsets,
                           Folds sizes) const {
    return {op->getResult(number), getResultLoops(cast<OpTy>(op), number),
            offsets, sizes};
  }

  SmallVector<TensorTile>
  getOperandTiles(Operation *op, ArrayRef<unsigned> numbers,
                  ArrayRef<SmallVector<Fold>> offsets,
                  ArrayRef<SmallVector<Fold>> sizes) const {
    auto destinations = cast<DestinationStyleOpInterface>(op);
    SmallVector<TensorTile> tiles;
    for (auto [number, from, extent] :
         llvm::zip_equal(numbers, offsets, sizes)) {
      OpOperand &operand = op->getOpOperand(number);
      DimLoops loops =
          destinations.isDpsInit(&operand)
              ? getResultLoops(
                    cast<OpTy>(op),
                    destinations.getTiedOpResult(&operand).getResultNumber())
              : getInputLoops(cast<OpTy>(op), operand);
      tiles.push_back({operand.get(), loops, from, extent});
    }
    return tiles;
  }
};
} // namespace

void mlir::attn::attachTilingInterfaces(MLIRContext *context) {
  AttentionOp::attachInterface<Tiling<AttentionOp>>(*context);
  OnlineAttentionOp::attachInterface<Tiling<OnlineAttentionOp>>(*context);
  FinalizeOp::attachInterface<Tiling<FinalizeOp>>(*context);
}
