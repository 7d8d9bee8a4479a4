//===- JoinedRows.cpp - Captured rows as elements of queries --------------===//

#include "JoinedRows.h"
#include "../Gradients/Adjoints.h"
#include "../Gradients/Differentiate.h"
#include "Filled.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::attn;

bool mlir::attn::isDifferentiable(AttentionGradOp op,
                                  const RowProduct &product) {
  Type type = getElementTypeOrSelf(op.getQuery().getType());
  for (const CapturedRows &rows : {product.rows, product.columns}) {
    if (!op.getOutOf(kGradCapture + rows.getNumber()))
      continue;
    // The gradient is rounded as those of q and k are.
    if (rows.getElementType().getWidth() > type.getIntOrFloatBitWidth() ||
        product.rows.capture == product.columns.capture)
      return false;
    for (Operation *user : rows.capture.getUsers())
      if (!isa<tensor::DimOp>(user) && !llvm::is_contained(product.reads, user))
        return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

static Value createNumber(OpBuilder &builder, Location loc, FloatType type,
                          double number) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getFloatAttr(type, number));
}

static Value castTo(OpBuilder &builder, Location loc, Value value, Type type) {
  return value.getType() == type
             ? value
             : tensor::CastOp::create(builder, loc, type, value);
}

static Value roundTensor(OpBuilder &builder, Location loc, Value tensor,
                         FloatType type) {
  if (getElementTypeOrSelf(tensor.getType()) == type)
    return tensor;
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, loc, tensor);
  Value empty = tensor::EmptyOp::create(builder, loc, sizes, type);
  SmallVector<AffineMap> maps(2, builder.getMultiDimIdentityMap(sizes.size()));
  SmallVector<utils::IteratorType> loops(sizes.size(),
                                         utils::IteratorType::parallel);
  auto rounded = linalg::GenericOp::create(
      builder, loc, empty.getType(), tensor, empty, maps, loops,
      [&](OpBuilder &inner, Location where, ValueRange arguments) {
        linalg::YieldOp::create(
            inner, where, convertFloats(inner, where, arguments[0], type));
      });
  return rounded.getResult(0);
}

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

/// Whether products read keys that batches, or heads of a group, share at the
/// batch or the head of a query.
static SharedKeys getSharedKeys(OpBuilder &builder, AttentionLikeOpInterface op,
                                ArrayRef<JoinedProduct> joined) {
  bool readBatches = false, readHeads = false;
  for (const JoinedProduct &one : joined) {
    readBatches |= one.product.columns.reads(kBatchPosition);
    readHeads |= one.product.columns.reads(kHeadPosition);
  }
  return SharedKeys(builder, op, readBatches, readHeads);
}

JoinedRows::JoinedRows(OpBuilder &builder, AttentionLikeOpInterface op,
                       ArrayRef<JoinedProduct> joined)
    : builder(builder), op(op), loc(op.getLoc()), joined(joined),
      type(cast<FloatType>(op.getQueryType().getElementType())),
      accType(op.getAccumulatorType()),
      shared(getSharedKeys(builder, op, joined)) {}

JoinedRows::CaptureSlice JoinedRows::getSlice(const JoinedProduct &one, End end,
                                              ArrayRef<OpFoldResult> sizes) {
  Layout layout = getLayout(end);
  CaptureSlice slice;
  SmallVector<AffineExpr> dims;
  for (unsigned place : getRows(one, end).places) {
    bool isElement = place == CapturedRows::kRowElement;
    unsigned dim = isElement                 ? layout.d
                   : place == kBatchPosition ? layout.b
                   : place == kHeadPosition  ? layout.h
                                             : layout.s;
    dims.push_back(builder.getAffineDimExpr(dim));
    slice.sizes.push_back(sizes[dim]);
    slice.offsets.push_back(
        builder.getIndexAttr(isElement ? one.product.first : 0));
    slice.strides.push_back(builder.getIndexAttr(1));
  }
  slice.map = AffineMap::get(4, 0, dims, builder.getContext());
  return slice;
}

/// Those of the gradient of joined queries or keys that are not of captures.
Value JoinedRows::getOwnElements(Value gradient, End end) {
  SmallVector<OpFoldResult> zeros(4, builder.getIndexAttr(0));
  SmallVector<OpFoldResult> ones(4, builder.getIndexAttr(1));
  return tensor::ExtractSliceOp::create(builder, loc, gradient, zeros,
                                        getSizes(end), ones);
}

//===----------------------------------------------------------------------===//
// Queries and keys
//===----------------------------------------------------------------------===//

/// A part of the elements of a capture, of the shape of `tensor` but for the
/// number of elements.
Value JoinedRows::emitPart(const JoinedProduct &one, End end, unsigned part) {
  SmallVector<OpFoldResult> sizes = getSizes(end);
  sizes[getLayout(end).d] = builder.getIndexAttr(one.product.length);
  CaptureSlice own = getSlice(one, end, sizes);
  Value slice = tensor::ExtractSliceOp::create(
      builder, loc, getCapture(one, end), own.offsets, own.sizes, own.strides);
  Value empty = tensor::EmptyOp::create(builder, loc, sizes, type);
  AffineMap maps[] = {own.map, builder.getMultiDimIdentityMap(4)};
  SmallVector<utils::IteratorType> loops(4, utils::IteratorType::parallel);
  double factor = end == kRows ? one.factor : 1;
  auto emit = [&](OpBuilder &inner, Location where, ValueRange arguments) {
    Value value = convertFloats(inner, where, arguments[0], accType);
    if (factor != 1)
      value = arith::MulFOp::create(
          inner, where, value, createNumber(inner, where, accType, factor));
    for (unsigned before = 0; before < part; ++before) {
      Value high = convertFloats(inner, where, value, type);
      Value rest = arith::SubFOp::create(
          inner, where, value, convertFloats(inner, where, high, accType));
      // Infinity has no rest.
      Value isNumber = arith::CmpFOp::create(
          inner, where, arith::CmpFPredicate::ORD, rest, rest);
      value = arith::SelectOp::create(inner, where, isNumber, rest,
                                      createNumber(inner, where, accType, 0));
    }
    linalg::YieldOp::create(inner, where,
                            convertFloats(inner, where, value, type));
  };
  return linalg::GenericOp::create(builder, loc, empty.getType(), slice, empty,
                                   maps, loops, emit)
      .getResult(0);
}

static constexpr int64_t kRowAlignmentBits = 128;

/// `tensor` with the elements that products add behind its own.
Value JoinedRows::join(Value tensor, End end) {
  Layout layout = getLayout(end);
  SmallVector<OpFoldResult> sizes = getSizes(end);
  int64_t elements = op.getQueryKeyDim();
  SmallVector<Value> pieces = {tensor};
  SmallVector<int64_t> lengths = {elements};
  for (const JoinedProduct &one : joined)
    for (auto [row, column] : one.pairs) {
      pieces.push_back(emitPart(one, end, end == kRows ? row : column));
      lengths.push_back(one.product.length);
    }
  // Rows begin where 16 bytes do, as matrix instructions and their copies ask;
  // products with the zeros behind them are 0.
  int64_t length = llvm::sum_of(lengths);
  int64_t whole = llvm::alignTo(length, kRowAlignmentBits / type.getWidth());
  sizes[layout.d] = builder.getIndexAttr(whole);
  Value all = whole == length
                  ? tensor::EmptyOp::create(builder, loc, sizes, type)
                  : createFilled(builder, loc, sizes, type, 0);
  SmallVector<OpFoldResult> ones(4, builder.getIndexAttr(1));
  int64_t start = 0;
  for (auto [piece, own] : llvm::zip_equal(pieces, lengths)) {
    SmallVector<OpFoldResult> offsets(4, builder.getIndexAttr(0));
    offsets[layout.d] = builder.getIndexAttr(start);
    sizes[layout.d] = builder.getIndexAttr(own);
    all = tensor::InsertSliceOp::create(builder, loc, piece, all, offsets,
                                        sizes, ones);
    start += own;
  }
  return all;
}

Value JoinedRows::joinQuery() { return join(op.getQuery(), kRows); }

Value JoinedRows::joinKey() {
  return join(shared.spread(op.getKey(), 1), kColumns);
}

Value JoinedRows::spreadValue() { return shared.spread(op.getValue(), 2); }

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

/// The gradient of a capture, of that of joined queries or keys.
Value JoinedRows::emitCaptureGradient(const JoinedProduct &one, End end,
                                      Value gradient) {
  Layout layout = getLayout(end);
  int64_t length = one.product.length;
  SmallVector<OpFoldResult> sizes = getSizes(end);
  sizes[layout.d] = builder.getIndexAttr(length);
  SmallVector<OpFoldResult> ones(4, builder.getIndexAttr(1));
  // Those that are multiplied by all of the other's parts.
  SmallVector<Value> parts;
  SmallVector<AffineMap> maps;
  for (auto [number, pair] : llvm::enumerate(one.pairs)) {
    if ((end == kRows ? pair.first : pair.second) != 0)
      continue;
    SmallVector<OpFoldResult> offsets(4, builder.getIndexAttr(0));
    offsets[layout.d] = builder.getIndexAttr(one.start + number * length);
    parts.push_back(tensor::ExtractSliceOp::create(builder, loc, gradient,
                                                   offsets, sizes, ones));
    maps.push_back(builder.getMultiDimIdentityMap(4));
  }
  CaptureSlice own = getSlice(one, end, sizes);
  maps.push_back(own.map);
  SmallVector<utils::IteratorType> loops(4, utils::IteratorType::reduction);
  for (AffineExpr dim : own.map.getResults())
    loops[cast<AffineDimExpr>(dim).getPosition()] =
        utils::IteratorType::parallel;
  double factor = end == kRows ? one.factor : 1;
  Value zeros = createFilled(builder, loc, own.sizes, accType, 0);
  auto sums = linalg::GenericOp::create(
      builder, loc, zeros.getType(), parts, zeros, maps, loops,
      [&](OpBuilder &inner, Location where, ValueRange arguments) {
        Value sum;
        for (Value part : arguments.drop_back()) {
          Value next = convertFloats(inner, where, part, accType);
          sum = sum ? arith::AddFOp::create(inner, where, sum, next) : next;
        }
        if (factor != 1)
          sum = arith::MulFOp::create(
              inner, where, sum, createNumber(inner, where, accType, factor));
        sum = arith::AddFOp::create(inner, where, arguments.back(), sum);
        linalg::YieldOp::create(inner, where, sum);
      });
  Value capture = getCapture(one, end);
  auto wanted = cast<RankedTensorType>(capture.getType());
  Value result = roundTensor(builder, loc, sums.getResult(0),
                             cast<FloatType>(wanted.getElementType()));
  if (wanted.hasStaticShape() && result.getType() == wanted)
    return result;
  // Elements that nothing reads have no gradient.
  Value all =
      createFilled(builder, loc, tensor::getMixedSizes(builder, loc, capture),
                   wanted.getElementType(), 0);
  return castTo(builder, loc,
                tensor::InsertSliceOp::create(builder, loc, result, all,
                                              own.offsets, own.sizes,
                                              own.strides),
                wanted);
}

FailureOr<SmallVector<Value>> JoinedRows::joinGradient(AttentionGradOp op) {
  Value inputs[] = {joinQuery(), joinKey(), spreadValue()};
  DenseMap<int64_t, std::pair<const JoinedProduct *, End>> ends;
  for (const JoinedProduct &one : joined)
    for (End end : {kRows, kColumns})
      ends[kGradCapture + getRows(one, end).getNumber()] = {&one, end};

  SmallVector<int64_t> wrt;
  for (int64_t input : op.getWrt()) {
    auto end = ends.find(input);
    int64_t next = end == ends.end()             ? input
                   : end->second.second == kRows ? kGradQuery
                                                 : kGradKey;
    if (!llvm::is_contained(wrt, next))
      wrt.push_back(next);
  }
  llvm::sort(wrt);
  SmallVector<Value> outs;
  for (int64_t input : wrt) {
    if (input >= kGradCapture) {
      outs.push_back(op.getOutOf(input));
      continue;
    }
    SmallVector<OpFoldResult> sizes =
        shared.getSizes(op.getInput(input), input);
    if (input != kGradValue)
      sizes[op.getLayout(input).d] =
          builder.getIndexAttr(cast<RankedTensorType>(inputs[input].getType())
                                   .getDimSize(op.getLayout(input).d));
    outs.push_back(tensor::EmptyOp::create(builder, loc, sizes, type));
  }
  auto gradient = AttentionGradOp::create(
      builder, loc, ValueRange(outs).getTypes(), inputs[kGradQuery],
      inputs[kGradKey], inputs[kGradValue], op.getOutput(), op.getLse(),
      op.getOutputGrad(), op.getLseGrad(), op.getCaptures(),
      op.getSparsityOperands(), op.getOffsets(), outs, wrt,
      builder.getF64FloatAttr(op.getEffectiveScale()), op.getLayoutsAttr(),
      op.getScheduleAttr(), op.getSparsityAttr(), op.getNondeterministic());
  gradient->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  for (const JoinedProduct &one : joined)
    removeRowProduct(one.product);
  gradient.getScore().takeBody(op.getScore());
  gradient.getMask().takeBody(op.getMask());
  gradient.getTiles().takeBody(op.getTiles());
  if (failed(differentiateScore(gradient)))
    return failure();

  auto getGradient = [&](int64_t input) {
    return gradient.getResult(llvm::find(wrt, input) - wrt.begin());
  };
  SmallVector<Value> results;
  for (auto [input, old] : llvm::zip_equal(op.getWrt(), op.getResults())) {
    Value result;
    if (auto end = ends.find(input); end != ends.end()) {
      auto [one, which] = end->second;
      result = emitCaptureGradient(
          *one, which, getGradient(which == kRows ? kGradQuery : kGradKey));
    } else {
      result = getGradient(input);
      if (shared.areSpread() && (input == kGradKey || input == kGradValue))
        result = shared.sum(result, input, type);
      else if (input == kGradQuery || input == kGradKey)
        result = getOwnElements(result, End(input));
    }
    results.push_back(castTo(builder, loc, result, old.getType()));
  }
  return results;
}
