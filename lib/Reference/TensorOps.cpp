//===- TensorOps.cpp - Operations of the tensor dialect -------------------===//

#include "FunctionEvaluator.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace attn;
using namespace attn::reference;
using llvm::Error;
using llvm::Expected;

static int64_t getOffset(llvm::ArrayRef<int64_t> index,
                         llvm::ArrayRef<int64_t> strides) {
  int64_t offset = 0;
  for (auto [position, stride] : llvm::zip(index, strides))
    offset += position * stride;
  return offset;
}

/// The noise of values that may come from either.
static RoundingNoise joinNoise(const RoundingNoise &a, const RoundingNoise &b) {
  return {std::max(a.max, b.max), std::max(a.mean, b.mean),
          std::max(a.chanceMax, b.chanceMax),
          std::max(a.chanceMean, b.chanceMean)};
}

Error FunctionEvaluator::evaluateTensorOp(mlir::Operation *op) {
  namespace tensor = mlir::tensor;
  return llvm::TypeSwitch<mlir::Operation *, Error>(op)
      .Case([&](tensor::EmptyOp op) { return evaluateEmpty(op); })
      .Case([&](tensor::DimOp op) { return evaluateDim(op); })
      .Case([&](tensor::RankOp op) {
        set(op, Array(get(op.getTensor())->shape.size()));
        return Error::success();
      })
      .Case([&](tensor::ExtractOp op) { return evaluateExtract(op); })
      .Case([&](tensor::InsertOp op) { return evaluateInsert(op); })
      .Case([&](tensor::ExtractSliceOp op) { return evaluateExtractSlice(op); })
      .Case([&](tensor::InsertSliceOp op) { return evaluateInsertSlice(op); })
      .Case([&](tensor::CastOp op) {
        return evaluateReshape(op, get(op.getSource())->shape);
      })
      .Case([&](tensor::ExpandShapeOp op) {
        return evaluateReshape(op, getIndices(op.getMixedOutputShape()));
      })
      .Case([&](tensor::CollapseShapeOp op) {
        const Shape &source = get(op.getSrc())->shape;
        Shape shape;
        for (const mlir::ReassociationIndices &group :
             op.getReassociationIndices()) {
          shape.push_back(1);
          for (int64_t dim : group)
            shape.back() *= source[dim];
        }
        return evaluateReshape(op, shape);
      })
      .Case([&](tensor::FromElementsOp op) { return evaluateFromElements(op); })
      .Case([&](tensor::SplatOp op) { return evaluateSplat(op); })
      .Case([&](tensor::PadOp op) { return evaluatePad(op); })
      .Case([&](tensor::GenerateOp op) { return evaluateGenerate(op); })
      .Default([](mlir::Operation *op) { return makeUnsupportedError(op); });
}

/// Sizes of a type, with the dynamic ones taken from `dynamic` in order.
static Shape fillShape(mlir::Type type, llvm::ArrayRef<int64_t> dynamic) {
  Shape shape;
  for (int64_t extent : mlir::cast<mlir::RankedTensorType>(type).getShape()) {
    if (mlir::ShapedType::isDynamic(extent)) {
      extent = dynamic.front();
      dynamic = dynamic.drop_front();
    }
    shape.push_back(extent);
  }
  return shape;
}

Error FunctionEvaluator::evaluateEmpty(mlir::tensor::EmptyOp op) {
  Shape shape = fillShape(op.getType(), getIndices(op.getDynamicSizes()));
  if (observer && isOnlyShapeUsed(op, depth == 0)) {
    Expected<ElementType> type = convertType(op.getType(), op);
    if (!type)
      return type.takeError();
    set(op, Array::ofShape(*type, shape));
    return Error::success();
  }
  Expected<Array> array = makeArray(op, shape);
  if (!array)
    return array.takeError();
  set(op, std::move(*array));
  return Error::success();
}

Error FunctionEvaluator::evaluateDim(mlir::tensor::DimOp op) {
  const Shape &shape = get(op.getSource())->shape;
  int64_t index = getIndex(op.getIndex());
  if (index < 0 || index >= int64_t(shape.size()))
    return makeError(op, "expects a dimension below the rank " +
                             llvm::Twine(shape.size()) + ", but got " +
                             llvm::Twine(index));
  set(op, Array(shape[index]));
  return Error::success();
}

Error FunctionEvaluator::evaluateExtract(mlir::tensor::ExtractOp op) {
  const Array &source = *get(op.getTensor());
  Shape indices = getIndices(op.getIndices());
  if (Error error = checkIndices(op, indices, source.shape))
    return error;
  Array result(source.type, {});
  result.copyElement(0, source, getOffset(indices, source.strides()));
  result.noise = source.noise;
  set(op, std::move(result));
  return Error::success();
}

Error FunctionEvaluator::evaluateInsert(mlir::tensor::InsertOp op) {
  Array result = *get(op.getDest());
  Shape indices = getIndices(op.getIndices());
  if (Error error = checkIndices(op, indices, result.shape))
    return error;
  result.copyElement(getOffset(indices, result.strides()), *get(op.getScalar()),
                     0);
  set(op, std::move(result));
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Slices and reshapes
//===----------------------------------------------------------------------===//

/// An error unless the slice lies within `shape`.
static Error checkSlice(mlir::Operation *op, const Shape &offsets,
                        const Shape &sizes, const Shape &strides,
                        const Shape &shape) {
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    if (sizes[dim] == 0)
      continue;
    int64_t last = offsets[dim] + (sizes[dim] - 1) * strides[dim];
    if (sizes[dim] < 0 || std::min(offsets[dim], last) < 0 ||
        std::max(offsets[dim], last) >= shape[dim])
      return makeError(op, "expects a slice within extent " +
                               llvm::Twine(shape[dim]) + " of dimension " +
                               llvm::Twine(dim) + ", but got offset " +
                               llvm::Twine(offsets[dim]) + ", size " +
                               llvm::Twine(sizes[dim]) + " and stride " +
                               llvm::Twine(strides[dim]));
  }
  return Error::success();
}

Error FunctionEvaluator::evaluateExtractSlice(mlir::tensor::ExtractSliceOp op) {
  const Array &source = *get(op.getSource());
  Shape offsets = getIndices(op.getMixedOffsets()),
        sizes = getIndices(op.getMixedSizes()),
        steps = getIndices(op.getMixedStrides());
  if (Error error = checkSlice(op, offsets, sizes, steps, source.shape))
    return error;
  llvm::SmallBitVector dropped = op.getDroppedDims();
  Shape shape;
  for (auto [dim, size] : llvm::enumerate(sizes))
    if (!dropped.test(dim))
      shape.push_back(size);
  Expected<Array> result = makeArray(op, shape);
  if (!result)
    return result.takeError();
  result->noise = source.noise;
  Shape strides = source.strides();
  int64_t base = getOffset(offsets, strides), position = 0;
  for (auto [stride, step] : llvm::zip(strides, steps))
    stride *= step;
  forEachIndex(sizes, [&](llvm::ArrayRef<int64_t> index) {
    result->copyElement(position++, source, base + getOffset(index, strides));
  });
  set(op, std::move(*result));
  return Error::success();
}

Error FunctionEvaluator::evaluateInsertSlice(mlir::tensor::InsertSliceOp op) {
  Array result = *get(op.getDest());
  if (Error error = insertSlice(op, result))
    return error;
  set(op, std::move(result));
  return Error::success();
}

Error FunctionEvaluator::evaluateParallelInsertSlice(
    mlir::tensor::ParallelInsertSliceOp op, Array &result) {
  return insertSlice(op, result);
}

template <typename OpTy>
Error FunctionEvaluator::insertSlice(OpTy op, Array &result) {
  const Array &source = *get(op.getSource());
  Shape offsets = getIndices(op.getMixedOffsets()),
        sizes = getIndices(op.getMixedSizes()),
        steps = getIndices(op.getMixedStrides());
  if (Error error = checkSlice(op, offsets, sizes, steps, result.shape))
    return error;
  llvm::SmallBitVector dropped = op.getDroppedDims();
  Shape shape;
  for (auto [dim, size] : llvm::enumerate(sizes))
    if (!dropped.test(dim))
      shape.push_back(size);
  if (shape != source.shape)
    return makeError(op, "expects a source of shape " + formatShape(shape) +
                             ", but got " + formatShape(source.shape));
  result.noise = joinNoise(result.noise, source.noise);
  Shape strides = result.strides();
  int64_t base = getOffset(offsets, strides), position = 0;
  for (auto [stride, step] : llvm::zip(strides, steps))
    stride *= step;
  forEachIndex(sizes, [&](llvm::ArrayRef<int64_t> index) {
    result.copyElement(base + getOffset(index, strides), source, position++);
  });
  return Error::success();
}

/// The elements stay in their row-major order.
Error FunctionEvaluator::evaluateReshape(mlir::Operation *op,
                                         const Shape &shape) {
  const Array &source = *get(op->getOperand(0));
  Array result = source;
  result.shape = shape;
  auto type = mlir::cast<mlir::RankedTensorType>(op->getResult(0).getType());
  if (result.size() != source.size() ||
      failed(mlir::verifyCompatibleShape(type.getShape(), shape)))
    return makeError(op, "expects a source that fits the result type " +
                             formatShape(type.getShape()) + ", but got shape " +
                             formatShape(source.shape));
  set(op->getResult(0), std::move(result));
  return Error::success();
}

//===----------------------------------------------------------------------===//
// New tensors
//===----------------------------------------------------------------------===//

Error FunctionEvaluator::evaluateFromElements(mlir::tensor::FromElementsOp op) {
  Expected<Array> result = makeArray(op, fillShape(op.getType(), {}));
  if (!result)
    return result.takeError();
  for (auto [position, element] : llvm::enumerate(op.getElements()))
    result->copyElement(position, *get(element), 0);
  set(op, std::move(*result));
  return Error::success();
}

Error FunctionEvaluator::evaluateSplat(mlir::tensor::SplatOp op) {
  Expected<Array> result =
      makeArray(op, fillShape(op.getType(), getIndices(op.getDynamicSizes())));
  if (!result)
    return result.takeError();
  const Array &element = *get(op.getInput());
  for (int64_t position = 0, size = result->size(); position < size; ++position)
    result->copyElement(position, element, 0);
  set(op, std::move(*result));
  return Error::success();
}

Error FunctionEvaluator::fillFromRegion(mlir::Region &region, Array &result) {
  Program program;
  RegionCompiler compiler(options.mode, program, getOuterValues());
  mlir::Block &block = region.front();
  llvm::SmallVector<uint32_t> indices;
  for (mlir::BlockArgument argument : block.getArguments())
    indices.push_back(compiler.bindLane(argument));
  if (Error error = compiler.compileBlock(block))
    return error;
  mlir::Operation *yield = block.getTerminator();
  Expected<uint32_t> value = compiler.getLane(yield->getOperand(0), yield);
  if (!value)
    return value.takeError();

  Frame frame(program);
  auto fail = [&] {
    return llvm::createStringError(compiler.describe(frame.getError()));
  };
  if (result.size() == 0)
    return Error::success();
  if (!frame.runRow())
    return fail();
  Shape strides = result.strides();
  int64_t size = result.size();
  for (int64_t begin = 0; begin < size; begin += kLanes) {
    int64_t count = std::min<int64_t>(kLanes, size - begin);
    for (auto [dim, reg] : llvm::enumerate(indices)) {
      int64_t *index = frame.laneInts(reg);
      for (int64_t l = 0; l < count; ++l)
        index[l] = (begin + l) / strides[dim] % result.shape[dim];
    }
    if (!frame.runLanes(count))
      return fail();
    if (result.type.isFloat())
      std::copy_n(frame.laneFloats(*value), count,
                  result.floats.data() + begin);
    else
      std::copy_n(frame.laneInts(*value), count, result.ints.data() + begin);
  }
  return Error::success();
}

Error FunctionEvaluator::evaluateGenerate(mlir::tensor::GenerateOp op) {
  Expected<Array> result = makeArray(
      op, fillShape(op.getType(), getIndices(op.getDynamicExtents())));
  if (!result)
    return result.takeError();
  if (Error error = fillFromRegion(op.getBody(), *result))
    return error;
  set(op, std::move(*result));
  return Error::success();
}

Error FunctionEvaluator::evaluatePad(mlir::tensor::PadOp op) {
  const Array &source = *get(op.getSource());
  Shape low = getIndices(op.getMixedLowPad()),
        high = getIndices(op.getMixedHighPad());
  Shape shape;
  for (auto [extent, before, after] : llvm::zip(source.shape, low, high)) {
    if (before < 0 || after < 0)
      return makeError(op, "expects padding of at least 0, but got " +
                               llvm::Twine(std::min(before, after)));
    shape.push_back(before + extent + after);
  }
  Expected<Array> result = makeArray(op, shape);
  if (!result)
    return result.takeError();
  if (Error error = fillFromRegion(op.getRegion(), *result))
    return error;
  result->noise = source.noise;
  Shape strides = result->strides();
  int64_t base = getOffset(low, strides), position = 0;
  forEachIndex(source.shape, [&](llvm::ArrayRef<int64_t> index) {
    result->copyElement(base + getOffset(index, strides), source, position++);
  });
  set(op, std::move(*result));
  return Error::success();
}
