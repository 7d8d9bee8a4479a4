//===- TileCaptureGradient.cpp - Tiles that add to captures' gradients ----===//
//
// What an element of the gradient of a capture gets comes from pairs that its
// index function tells. Where an index is b, h or i itself, work tiles of
// different batches, heads or queries have parts of the tensor of their own,
// and run side by side; over the others a worker goes one after the other. So
// there are neither races nor sums whose order varies.
//
//===----------------------------------------------------------------------===//

#include "CaptureSums.h"
#include "GradientLoop.h"
#include "TileGradients.h"
#include "WorkerLoop.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::attn;

namespace {
/// Which dimension of the capture is indexed by each of b, h and i alone; -1
/// where none is.
using OwnDims = std::array<int64_t, 3>;
} // namespace

/// Elements of all copies of a gradient.
static constexpr int64_t kMostCopied = int64_t(1) << 22;

static OwnDims getOwnDims(AttentionGradOp op, ArrayRef<ContributeOp> ops,
                          int64_t rank) {
  OwnDims dims = {-1, -1, -1};
  // With offsets, positions are not those that the regions see.
  if (!op.getOffsets().empty())
    return dims;
  for (unsigned loop = 0; loop < dims.size(); ++loop)
    for (int64_t dim = rank - 1; dim >= 0; --dim)
      if (llvm::all_of(ops, [&](ContributeOp contribution) {
            return contribution.getIndices()[dim] ==
                   op.getAdjoint().getArgument(kAdjointBatch + loop);
          }))
        dims[loop] = dim;
  return dims;
}

/// The gradient in the type of the capture, in `out`.
static Value emitConversion(OpBuilder &builder, Location loc, Value sums,
                            Value out) {
  auto type = cast<RankedTensorType>(out.getType());
  if (getElementTypeOrSelf(sums.getType()) == type.getElementType())
    return sums;
  AffineMap map = builder.getMultiDimIdentityMap(type.getRank());
  return linalg::GenericOp::create(
             builder, loc, type, ValueRange{sums}, ValueRange{out},
             ArrayRef<AffineMap>{map, map},
             SmallVector<utils::IteratorType>(type.getRank(),
                                              utils::IteratorType::parallel),
             [](OpBuilder &b, Location loc, ValueRange arguments) {
               Type from = arguments[0].getType(), to = arguments[1].getType();
               Value value =
                   from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth()
                       ? arith::ExtFOp::create(b, loc, to, arguments[0])
                             .getResult()
                       : arith::TruncFOp::create(b, loc, to, arguments[0])
                             .getResult();
               linalg::YieldOp::create(b, loc, value);
             })
      .getResult(0);
}

namespace {
/// The work tiles of one capture.
class CaptureTiles {
public:
  CaptureTiles(RewriterBase &rewriter, AttentionGradOp op, int64_t capture,
               const GradientInputs &inputs, OwnDims dims)
      : builder(rewriter), op(op), attention(op), capture(capture),
        inputs(inputs), dims(dims), loc(op.getLoc()),
        tileM(op.getScheduleAttr().getTileM()) {}

  /// Adds to copies of the gradient, of which there are `getNumCopies`.
  FailureOr<Value> emit(Value copies);
  OpFoldResult getNumCopies(Value out);

private:
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  Value min(Value a, Value b) {
    return arith::MinSIOp::create(builder, loc, a, b);
  }
  /// Whether workers have shares of batches or heads.
  bool hasShares() const { return dims[0] < 0 || dims[1] < 0; }
  /// The batches and heads that are shared out, as one range.
  Value getNumShared();
  FailureOr<Value> emitShare(Value copy, std::array<Value, 3> ids, Value into);
  FailureOr<Value> emitQueries(std::array<Value, 3> ids, Value into);
  FailureOr<Value> emitTile(std::array<Value, 3> ids, Value into);
  void setSlice(Value copies, std::array<Value, 3> ids);

  OpBuilder &builder;
  AttentionGradOp op;
  AttentionLikeOpInterface attention;
  int64_t capture;
  const GradientInputs &inputs;
  OwnDims dims;
  Location loc;
  int64_t tileM;
  std::array<Value, 3> counts;
  Value numQueries;
  Value numCopies;
  /// Of the part of a copy that a worker has for itself.
  SmallVector<OpFoldResult> offsets, sizes;
};
} // namespace

/// The part of the sums that a worker has for itself. What is outside of the
/// tensor, where a score must not read, is left out.
void CaptureTiles::setSlice(Value copies, std::array<Value, 3> ids) {
  sizes = tensor::getMixedSizes(builder, loc, copies);
  sizes.erase(sizes.begin());
  offsets.assign(sizes.size(), builder.getIndexAttr(0));
  for (unsigned loop = 0; loop < dims.size(); ++loop) {
    if (dims[loop] < 0)
      continue;
    Value extent = tensor::DimOp::create(builder, loc, copies, dims[loop] + 1);
    Value length = index(loop == 2 ? tileM : 1);
    Value first = arith::MulIOp::create(builder, loc, ids[loop], length);
    first = min(first, extent);
    Value rest = arith::SubIOp::create(builder, loc, extent, first);
    offsets[dims[loop]] = first;
    sizes[dims[loop]] = min(length, rest);
  }
}

FailureOr<Value> CaptureTiles::emitTile(std::array<Value, 3> ids, Value into) {
  TileRows rows;
  rows.batch = ids[0];
  rows.head = ids[1];
  Value size = index(tileM);
  rows.row = arith::MulIOp::create(builder, loc, ids[2], size);
  rows.rowEnd =
      min(arith::AddIOp::create(builder, loc, rows.row, size), numQueries);
  GradientLoop::Wanted wanted;
  wanted.capture = capture;
  GradientLoop loop(builder, op, GradientLoop::Keys, inputs.delta, wanted);
  loop.setClasses(inputs.overKeys);
  loop.setOwn(rows);
  KeyPlace keys = emitKeyPlace(builder, op, rows.batch, rows.head);
  loop.setOther(keys.batch, keys.head);
  auto scatter = [&](ContributeOp contribution, TileValue value, TileValue mask,
                     Value sums, RegionVectorizer &vectorizer) -> Value {
    SmallVector<Value> indices;
    for (auto [dim, operand] : llvm::enumerate(contribution.getIndices())) {
      TileValue at = vectorizer.get(operand);
      if (!isa<Attribute>(offsets[dim])) {
        Value first =
            vectorizer.broadcast({cast<Value>(offsets[dim])}, at.kind);
        at.value = arith::SubIOp::create(builder, loc, at.value, first);
      }
      indices.push_back(at.kind == TileKind::Uniform
                            ? at.value
                            : vectorizer.broadcast(at, TileKind::Tile));
    }
    return ScatterOp::create(builder, loc, sums.getType(), ScatterMode::InOrder,
                             vectorizer.broadcast(value, TileKind::Tile), sums,
                             indices,
                             vectorizer.broadcast(mask, TileKind::Tile))
        .getResult();
  };
  FailureOr<SmallVector<Value>> result = loop.emit(into, scatter);
  if (failed(result))
    return failure();
  return result->front();
}

FailureOr<Value> CaptureTiles::emitQueries(std::array<Value, 3> ids,
                                           Value into) {
  if (dims[2] >= 0)
    return emitTile(ids, into);
  auto body = [&](Value id, ValueRange sums) -> FailureOr<SmallVector<Value>> {
    ids[2] = id;
    FailureOr<Value> next = emitTile(ids, sums[0]);
    if (failed(next))
      return failure();
    return SmallVector<Value>{*next};
  };
  FailureOr<SmallVector<Value>> result =
      emitFor(builder, loc, index(0), counts[2], into, body);
  if (failed(result))
    return failure();
  return result->front();
}

Value CaptureTiles::getNumShared() {
  if (dims[0] >= 0)
    return dims[1] < 0 ? counts[1] : index(1);
  return dims[1] < 0 ? arith::MulIOp::create(builder, loc, counts[0], counts[1])
                     : counts[0];
}

FailureOr<Value> CaptureTiles::emitShare(Value copy, std::array<Value, 3> ids,
                                         Value into) {
  if (!hasShares())
    return emitQueries(ids, into);
  Value numShared = getNumShared();
  auto getStart = [&](Value number) -> Value {
    return arith::DivUIOp::create(
        builder, loc, arith::MulIOp::create(builder, loc, number, numShared),
        numCopies);
  };
  Value first = getStart(copy);
  Value last = getStart(arith::AddIOp::create(builder, loc, copy, index(1)));
  auto body = [&](Value id, ValueRange sums) -> FailureOr<SmallVector<Value>> {
    if (dims[0] < 0 && dims[1] < 0) {
      ids[0] = arith::DivUIOp::create(builder, loc, id, counts[1]);
      ids[1] = arith::RemUIOp::create(builder, loc, id, counts[1]);
    } else {
      ids[dims[0] < 0 ? 0 : 1] = id;
    }
    FailureOr<Value> next = emitQueries(ids, sums[0]);
    if (failed(next))
      return failure();
    return SmallVector<Value>{*next};
  };
  FailureOr<SmallVector<Value>> result =
      emitFor(builder, loc, first, last, into, body);
  if (failed(result))
    return failure();
  return result->front();
}

OpFoldResult CaptureTiles::getNumCopies(Value out) {
  Layout layout = attention.getLayout(0);
  auto dim = [&](unsigned number) -> Value {
    return tensor::DimOp::create(builder, loc, op.getQuery(), number);
  };
  numQueries = dim(layout.s);
  counts = {dim(layout.b), dim(layout.h),
            arith::CeilDivUIOp::create(builder, loc, numQueries, index(tileM))};
  // As a number where it is one: a loop whose destination turns out to be of
  // static shape later is made anew, and forgets its schedule.
  SmallVector<int64_t> shared;
  RankedTensorType query = attention.getQueryType();
  if (dims[0] < 0)
    shared.push_back(query.getDimSize(layout.b));
  if (dims[1] < 0)
    shared.push_back(query.getDimSize(layout.h));
  auto type = cast<RankedTensorType>(out.getType());
  if (shared.empty() ||
      (type.hasStaticShape() && !ShapedType::isDynamicShape(shared))) {
    int64_t most =
        kMostCopied /
        std::max<int64_t>(type.hasStaticShape() ? type.getNumElements() : 1, 1);
    int64_t number = std::max<int64_t>(
        std::min(most, ShapedType::getNumElements(shared)), 1);
    numCopies = index(number);
    return builder.getIndexAttr(number);
  }
  Value elements = index(1);
  for (int64_t number = 0; number < type.getRank(); ++number)
    elements =
        arith::MulIOp::create(builder, loc, elements,
                              tensor::DimOp::create(builder, loc, out, number));
  auto max = [&](Value a, Value b) -> Value {
    return arith::MaxSIOp::create(builder, loc, a, b);
  };
  Value most = arith::DivUIOp::create(builder, loc, index(kMostCopied),
                                      max(elements, index(1)));
  numCopies = max(min(most, getNumShared()), index(1));
  return numCopies;
}

FailureOr<Value> CaptureTiles::emit(Value copies) {
  SmallVector<OpFoldResult> grid;
  // Copies take the place of a loop that no worker has for itself.
  unsigned ofCopies = dims[0] < 0 ? 0 : 1;
  for (unsigned loop = 0; loop < dims.size(); ++loop) {
    grid.push_back(dims[loop] >= 0 ? OpFoldResult(counts[loop])
                   : loop == ofCopies && hasShares()
                       ? OpFoldResult(numCopies)
                       : OpFoldResult(builder.getIndexAttr(1)));
  }
  scf::ForallOp forall =
      createWorkerLoop(builder, loc, grid, copies, op.getScheduleAttr());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(forall.getTerminator());
  SmallVector<Value> inductions = forall.getInductionVars();
  std::array<Value, 3> ids = {inductions[0], inductions[1], inductions[2]};
  Value shared = forall.getRegionIterArgs()[0];
  Value copy = hasShares() ? ids[ofCopies] : index(0);
  setSlice(shared, ids);
  SmallVector<OpFoldResult> at = {copy}, extents = {builder.getIndexAttr(1)};
  llvm::append_range(at, offsets);
  llvm::append_range(extents, sizes);
  SmallVector<OpFoldResult> strides(at.size(), builder.getIndexAttr(1));
  auto [shape, ignored] = decomposeMixedValues(sizes);
  auto type = RankedTensorType::get(shape, getElementTypeOrSelf(shared));
  Value slice = tensor::ExtractSliceOp::create(builder, loc, type, shared, at,
                                               extents, strides);
  FailureOr<Value> result = emitShare(copy, ids, slice);
  if (failed(result))
    return failure();
  OpBuilder::InsertionGuard inParallel(builder);
  builder.setInsertionPointToEnd(forall.getTerminator().getBody());
  tensor::ParallelInsertSliceOp::create(builder, loc, *result, shared, at,
                                        extents, strides);
  return forall.getResult(0);
}

/// What work tiles have for themselves, and what they share out.
static std::string describeForm(OwnDims dims) {
  constexpr StringRef names[] = {"batches", "heads", "tiles of queries"};
  SmallVector<StringRef> own, shared;
  for (auto [name, dim] : llvm::zip_equal(names, dims))
    (dim < 0 ? shared : own).push_back(name);
  std::string form = "a sum in order";
  if (!own.empty())
    form += ", in parts of their own for " + llvm::join(own, ", ");
  if (dims[2] < 0)
    shared.pop_back();
  if (!shared.empty())
    form += "; workers share out " + llvm::join(shared, " and ") +
            ", and have copies";
  return form;
}

/// The sum of all copies, one after the other, added to `init`.
static Value emitSum(OpBuilder &builder, Location loc, Value copies,
                     Value init) {
  int64_t rank = cast<RankedTensorType>(copies.getType()).getRank();
  AffineMap all = builder.getMultiDimIdentityMap(rank);
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  iterators[0] = utils::IteratorType::reduction;
  return linalg::GenericOp::create(
             builder, loc, init.getType(), ValueRange{copies}, ValueRange{init},
             ArrayRef<AffineMap>{all, all.dropResult(0)}, iterators,
             [](OpBuilder &b, Location loc, ValueRange arguments) {
               Value sum =
                   arith::AddFOp::create(b, loc, arguments[1], arguments[0]);
               linalg::YieldOp::create(b, loc, sum);
             })
      .getResult(0);
}

FailureOr<Value> mlir::attn::tileCapture(RewriterBase &rewriter,
                                         AttentionGradOp op, int64_t capture,
                                         const GradientInputs &inputs) {
  AttentionLikeOpInterface attention = op;
  Location loc = op.getLoc();
  Value out = op.getOutOf(kGradCapture + capture);
  auto type = cast<RankedTensorType>(out.getType());
  SmallVector<ContributeOp> contributions = getContributions(op, capture);
  FloatType accType = attention.getAccumulatorType();
  Value into = out;
  if (type.getElementType() != accType)
    into = tensor::EmptyOp::create(
        rewriter, loc, tensor::getMixedSizes(rewriter, loc, out), accType);
  Value zero =
      arith::ConstantOp::create(rewriter, loc, rewriter.getZeroAttr(accType));
  auto fill = [&](Value tensor) -> Value {
    return linalg::FillOp::create(rewriter, loc, zero, tensor).getResult(0);
  };
  Value sums = fill(into);
  if (!contributions.empty()) {
    OwnDims dims = getOwnDims(op, contributions, type.getRank());
    remarkCaptureGradient(contributions.front(), capture, describeForm(dims));
    CaptureTiles tiles(rewriter, op, capture, inputs, dims);
    SmallVector<OpFoldResult> sizes = {tiles.getNumCopies(out)};
    llvm::append_range(sizes, tensor::getMixedSizes(rewriter, loc, out));
    Value empty = tensor::EmptyOp::create(rewriter, loc, sizes, accType);
    FailureOr<Value> copies = tiles.emit(fill(empty));
    if (failed(copies))
      return failure();
    sums = emitSum(rewriter, loc, *copies, sums);
  }
  return emitConversion(rewriter, loc, sums, out);
}
