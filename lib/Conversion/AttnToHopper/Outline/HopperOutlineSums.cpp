//===- HopperOutlineSums.cpp - Sums in memory -----------------------------===//
//
// A tile is added to a buffer that work tiles share: to rows, or where the
// buffer has the order of fragments, to the part of it that has the tile of a
// warpgroup as its registers do.
//
//===----------------------------------------------------------------------===//

#include "HopperOutliner.h"

using namespace mlir;
using namespace mlir::attn;

/// The dimension of a vector that replicas share out; nothing for one with rows
/// of the work tile.
std::optional<unsigned> Outliner::getSharedOutDim(Value value) {
  if (auto product = value.getDefiningOp<vector::ContractionOp>()) {
    if (!matchAllRowsProduct(product).own)
      return std::nullopt;
    return getSharedOutColumns(cast<VectorType>(product.getResultType())) ? 0
                                                                          : 1;
  }
  if (value.getDefiningOp<StepOp>())
    return getSharedOutDim(StepOp::getSource(value));
  Operation *op = value.getDefiningOp();
  if (op && OpTrait::hasElementwiseMappableTraits(op))
    for (Value operand : op->getOperands())
      if (std::optional<unsigned> dim = getSharedOutDim(operand))
        return dim;
  return std::nullopt;
}

/// The part of a buffer in the order of fragments that a tile of the first
/// warpgroup is; nothing unless it is one.
std::optional<Outliner::FragmentPart>
Outliner::getPart(AccumulateOp op, hopper::FragmentOrderAttr order,
                  ArrayRef<int64_t> dims) {
  auto tile = cast<VectorType>(op.getVector().getType());
  auto into = cast<MemRefType>(op.getInto().getType());
  std::optional<int64_t> n = getConstantIntValue(op.getIndices()[dims[0]]),
                         m = getConstantIntValue(op.getIndices()[dims[1]]);
  std::optional<unsigned> sharedOut = getSharedOutDim(op.getVector());
  if (dims[0] != order.getN() || dims[1] != order.getM() || m != 0 || !n ||
      !sharedOut ||
      into.getDimSize(dims[1]) !=
          static_cast<int64_t>(
              llvm::alignTo(tile.getDimSize(1), hopper::kWarpgroupRows)))
    return std::nullopt;
  FragmentPart part = {.columns = tile.getDimSize(0)};
  int64_t columns = into.getDimSize(dims[0]);
  if (*sharedOut == 0) {
    part.columns = getSharedOutColumns(tile);
    if (*n != 0 || columns != part.columns * getNumReplicas())
      return std::nullopt;
    return part;
  }
  if (*n % part.columns != 0 || columns % part.columns != 0)
    return std::nullopt;
  part.number = *n / part.columns;
  part.count = columns / part.columns;
  return part;
}

FailureOr<Outliner::AddingTurn> Outliner::emitTurn(AccumulateOp op) {
  AddingTurn turn;
  if (!op.getCounters())
    return turn;
  std::optional<unsigned> counter = values->getOperand(op.getCounters());
  if (!counter)
    return op.emitError("expects counters in a buffer that the function "
                        "allocates on a GPU");
  turn.counters = arguments->getMemRef(
      *counter, cast<ShapedType>(op.getCounters().getType()));
  FailureOr<SmallVector<Value>> indices =
      values->getScalars(op.getCounterIndices());
  if (failed(indices))
    return failure();
  turn.indices = std::move(*indices);
  turn.indices.push_back(hopper::WarpgroupIdOp::create(builder, loc));
  FailureOr<Value> before = values->getScalar(op.getAfter()),
                   number = values->getScalar(op.getOwn());
  if (failed(before) || failed(number))
    return failure();
  turn.after = *before;
  turn.own = *number;
  if (!op.getLast())
    return turn;
  FailureOr<Value> last = values->getScalar(op.getLast());
  if (failed(last))
    return failure();
  turn.last = *last;
  return turn;
}

/// The first one that a warpgroup has, where each has `count`.
Value Outliner::emitOwnFirst(int64_t count) {
  return arith::MulIOp::create(
      builder, loc, hopper::WarpgroupIdOp::create(builder, loc),
      arith::ConstantIndexOp::create(builder, loc, count));
}

/// Where the last worker writes sums, of which warpgroups may share out a
/// dimension.
FailureOr<Outliner::RoundedSums> Outliner::emitRoundedSums(AccumulateOp op) {
  RoundedSums sums;
  std::optional<unsigned> argument = values->getArgument(op.getOut());
  if (!argument)
    return op.emitError("expects a result that is an argument of the function "
                        "on a GPU");
  auto type = cast<MemRefType>(op.getOut().getType());
  constexpr int64_t bytes = 16;
  sums.out = arguments->getRows(
      *argument, cast<ShapedType>(function.getArgument(*argument).getType()),
      bytes);
  FailureOr<SmallVector<Value>> indices =
      values->getScalars(op.getOutIndices());
  if (failed(indices))
    return failure();
  sums.indices = std::move(*indices);
  auto tile = cast<VectorType>(op.getVector().getType());
  std::optional<unsigned> sharedOut = getSharedOutDim(op.getVector());
  int64_t own[] = {sharedOut == 0 ? getSharedOutColumns(tile)
                                  : tile.getDimSize(0),
                   hopper::kWarpgroupRows};
  for (unsigned number : {0, 1}) {
    int64_t dim =
        cast<AffineDimExpr>(op.getOutMap()->getResult(number)).getPosition();
    sums.dims[number] = builder.getI64IntegerAttr(dim);
    std::optional<int64_t> start = getConstantIntValue(op.getOutIndices()[dim]);
    int64_t size = llvm::alignTo(tile.getDimSize(number), own[number]);
    if (!start || type.isDynamicDim(dim) ||
        *start + size > type.getDimSize(dim))
      sums.ends[number] = values->getExtent(*argument, dim);
    if (number == sharedOut) {
      sums.indices[dim] = arith::AddIOp::create(builder, loc, sums.indices[dim],
                                                emitOwnFirst(own[number]));
    }
  }
  return sums;
}

/// A tile is added to memory.
LogicalResult Outliner::emitAccumulate(AccumulateOp op) {
  auto type = cast<VectorType>(op.getVector().getType());
  auto into = dyn_cast<MemRefType>(op.getInto().getType());
  std::optional<unsigned> argument = values->getOperand(op.getInto());
  if (!into || !argument || type.getRank() != 2 ||
      !into.getElementType().isF32())
    return op.emitError("expects a tile of f32 that is added to a buffer that "
                        "is an argument of the function, or that it allocates, "
                        "on a GPU");
  AffineMap map =
      AffineMap::getMinorIdentityMap(into.getRank(), 2, builder.getContext());
  if (AffineMapAttr attribute = op.getPermutationMapAttr())
    map = attribute.getValue();
  int64_t dims[2];
  FailureOr<SmallVector<Value>> starts = values->getScalars(op.getIndices());
  if (failed(starts))
    return failure();
  SmallVector<Value> indices = std::move(*starts);
  for (int64_t number : {0, 1}) {
    int64_t dim = cast<AffineDimExpr>(map.getResult(number)).getPosition();
    dims[number] = dim;
  }
  FailureOr<Value> vector = values->getVector(op.getVector(), VectorKind::Both);
  FailureOr<AddingTurn> turn = emitTurn(op);
  if (failed(vector) || failed(turn))
    return failure();
  RoundedSums rounded;
  if (op.getOut()) {
    FailureOr<RoundedSums> sums = emitRoundedSums(op);
    if (failed(sums))
      return failure();
    rounded = std::move(*sums);
  }
  auto order = dyn_cast<hopper::FragmentOrderAttr>(into.getLayout());
  std::optional<FragmentPart> part;
  if (order)
    part = getPart(op, order, dims);
  if (!part)
    return op.emitError("expects a tile whose dimensions are n and m of the "
                        "order of fragments of ")
           << into
           << ", with all of m, which warpgroups share out, from a multiple "
              "of its size in n, or with all of both, of which they share out "
              "n";
  int64_t n = dims[0], m = dims[1];
  int64_t size = part->columns * hopper::kWarpgroupRows;
  SmallVector<int64_t> shape(into.getShape().drop_back(2));
  shape.push_back(into.getDimSize(m) * into.getDimSize(n) / size);
  shape.push_back(size);
  indices.truncate(into.getRank() - 2);
  indices.push_back(arith::AddIOp::create(
      builder, loc, emitOwnFirst(part->count),
      arith::ConstantIndexOp::create(builder, loc, part->number)));
  auto buffer = MemRefType::get(shape, into.getElementType());
  hopper::ReduceAddOp::create(
      builder, loc, *vector, arguments->getMemRef(*argument, buffer), indices,
      /*condition=*/Value(), turn->after, turn->own, turn->counters,
      turn->indices, /*first=*/Value(), turn->last, rounded.out,
      rounded.indices, rounded.dims[1], rounded.dims[0], rounded.ends[1],
      rounded.ends[0], op.getScaleAttr());
  return success();
}

/// Each warpgroup sums the diagonals of its own columns, through memory of its
/// own.
LogicalResult Outliner::emitSumDiagonals(SumDiagonalsOp op) {
  constexpr int64_t rows = hopper::kWarpgroupRows,
                    floats = rows * hopper::kDiagonalStride;
  ArrayRef<int64_t> shape = op.getTile().getType().getShape();
  if (shape[0] != rows || shape[1] != schedule.getTileM())
    return op.emitError("expects the diagonals of a tile of ")
           << rows << "x" << schedule.getTileM() << " on a GPU";
  FailureOr<Value> tile = values->getVector(op.getTile(), VectorKind::Both);
  if (failed(tile))
    return failure();
  Type f32 = builder.getF32Type();
  int64_t all = shape[1] / rows * floats;
  auto getType = [&](int64_t count) {
    return hopper::TileType::get(builder.getContext(), count, /*columns=*/0,
                                 f32, all);
  };
  if (!diagonalTile)
    diagonalTile = createAtStart<hopper::CreateTileOp>(getType(all));
  Value own =
      hopper::RowsOp::create(builder, loc, getType(floats), diagonalTile,
                             hopper::WarpgroupIdOp::create(builder, loc));
  auto type = VectorType::get({1, hopper::kWarpgroupThreads}, f32);
  values->map(op.getSums(), VectorKind::Diagonal,
              hopper::DiagonalSumsOp::create(builder, loc, type, *tile, own));
  return success();
}

/// Each warpgroup has the diagonals of its own columns, in memory of its own.
/// It writes them while a product is under way, and reads them where they are
/// used, as they would take as many registers as scores.
LogicalResult Outliner::emitSpreadDiagonals(SpreadDiagonalsOp op) {
  FailureOr<Value> diagonals =
      values->getVector(op.getDiagonals(), VectorKind::Diagonal);
  if (failed(diagonals))
    return failure();
  int64_t floats = cast<VectorType>(diagonals->getType()).getDimSize(1),
          all = getNumReplicas() * floats;
  auto getType = [&](int64_t count) {
    return hopper::TileType::get(builder.getContext(), count, /*columns=*/0,
                                 builder.getF32Type(), all);
  };
  Value tile = createAtStart<hopper::CreateTileOp>(getType(all));
  Value own =
      hopper::RowsOp::create(builder, loc, getType(floats), tile,
                             hopper::WarpgroupIdOp::create(builder, loc));
  hopper::PutDiagonalsOp::create(builder, loc, *diagonals, own);
  values->setTile(op.getTile(), own);
  return success();
}

/// Each thread adds what it holds of a row to its part of the row's sum.
FailureOr<Value> Outliner::emitAddRows(AddRowsOp op) {
  FailureOr<Value> tile = values->getVector(op.getTile(), VectorKind::Both),
                   mask = values->getVector(op.getMask(), VectorKind::Both),
                   sums = values->getVector(op.getSums(), VectorKind::Both);
  if (failed(tile) || failed(mask) || failed(sums))
    return failure();
  Value counted = arith::SelectOp::create(builder, loc, *mask, *tile,
                                          splat(tile->getType(), 0));
  Value parts = hopper::ReduceOp::create(builder, loc, getVectorType(kSumParts),
                                         "add", counted);
  return Value(arith::AddFOp::create(builder, loc, *sums, parts));
}

/// What the loop has carried of sums is added to buffers by who has it.
LogicalResult Outliner::emitCarriedSums() {
  SmallVector<ScatterOp> scatters(grid.getOps<ScatterOp>());
  if (scatters.empty())
    return success();
  auto sums = dyn_cast<OpResult>(scatters.front().getValues());
  StepOp step;
  if (sums && sums.getOwner() == loop)
    step = loop.getYielded()[sums.getResultNumber()].getDefiningOp<StepOp>();
  if (!step)
    return scatters.front().emitError(
        "expects elements that a step of the loop "
        "gives on a GPU");
  hopper::StepOp add =
      createStep("add", getPartition(step.getStepName()), TypeRange());
  for (ScatterOp scatter : scatters)
    if (failed(emitScatter(scatter)))
      return failure();
  hopper::EndOp::create(builder, loc);
  builder.setInsertionPointAfter(add);
  return success();
}

/// Elements of a tile are added to those of a buffer that work tiles share.
LogicalResult Outliner::emitScatter(ScatterOp op) {
  auto into = dyn_cast<MemRefType>(op.getInto().getType());
  std::optional<unsigned> argument = values->getOperand(op.getInto());
  if (!into || !argument || op.getMode() == ScatterMode::InOrder)
    return op.emitError("expects elements that are added exactly, or to "
                        "disjoint elements, to a buffer that the function "
                        "allocates on a GPU");
  // What is not a tile is of its diagonals.
  VectorKind kind = VectorKind::Diagonal;
  FailureOr<Value> vector = values->getVector(op.getValues(), kind),
                   mask = values->getVector(op.getMask(), kind);
  if (failed(vector) || failed(mask))
    return failure();
  SmallVector<Value> indices;
  for (Value index : op.getIndices()) {
    FailureOr<Value> mapped = isa<VectorType>(index.getType())
                                  ? values->getVector(index, kind)
                                  : values->getScalar(index);
    if (failed(mapped))
      return failure();
    indices.push_back(*mapped);
  }
  hopper::ScatterAddOp::create(builder, loc, *vector,
                               arguments->getMemRef(*argument, into), indices,
                               *mask);
  return success();
}
