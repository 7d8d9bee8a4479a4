//===- LinalgOps.cpp - Structured operations on tensors -------------------===//
//
// Every structured operation is a region that is run for each point of an
// iteration space, so all of them, named or generic, are evaluated alike. Lanes
// are points along one parallel loop; reductions run in their order.
//
//===----------------------------------------------------------------------===//

#include "FunctionEvaluator.h"
#include "mlir/IR/AffineExprVisitor.h"

using namespace attn;
using namespace attn::reference;
using llvm::Error;
using llvm::Expected;

namespace {
/// One operand, as the loops see it.
struct LoopOperand {
  Array *array;
  uint32_t reg;
  /// Position of the element at the origin, and the step of each loop.
  int64_t base = 0;
  llvm::SmallVector<int64_t> steps;
  /// The register of what is yielded into this operand, if it is a result.
  uint32_t yielded = 0;
};

/// The loops of one operation.
struct LoopNest {
  llvm::SmallVector<int64_t> sizes;
  /// Loops from the outermost; the last is the one of the lanes.
  llvm::SmallVector<unsigned> order;
  /// Whether the last loop may have more than one lane.
  bool hasLanes = false;
  /// Registers of linalg.index, and the loop each stands for.
  llvm::SmallVector<std::pair<uint32_t, unsigned>> indices;
  llvm::SmallVector<LoopOperand> operands;
  unsigned numInputs = 0;
};
} // namespace

/// Coefficients of a linear expression of the loops.
static bool getCoefficients(mlir::AffineExpr expression, unsigned numLoops,
                            llvm::SmallVectorImpl<int64_t> &coefficients,
                            int64_t &constant) {
  bool isLinear = true;
  expression.walk([&](mlir::AffineExpr part) {
    mlir::AffineExprKind kind = part.getKind();
    isLinear &= kind == mlir::AffineExprKind::Add ||
                kind == mlir::AffineExprKind::Mul ||
                kind == mlir::AffineExprKind::Constant ||
                kind == mlir::AffineExprKind::DimId;
  });
  if (!isLinear)
    return false;
  auto evaluate = [&](llvm::ArrayRef<int64_t> point) {
    return mlir::AffineMap::get(numLoops, 0, expression).compose(point)[0];
  };
  llvm::SmallVector<int64_t> point(numLoops, 0);
  constant = evaluate(point);
  for (unsigned loop = 0; loop < numLoops; ++loop) {
    point[loop] = 1;
    coefficients.push_back(evaluate(point) - constant);
    point[loop] = 0;
  }
  return true;
}

/// Sets where the elements of an operand lie, and checks that all of them do.
static Error setAccess(mlir::Operation *op, mlir::AffineMap map,
                       const LoopNest &nest, LoopOperand &operand) {
  Shape strides = operand.array->strides();
  operand.steps.assign(nest.sizes.size(), 0);
  bool isEmpty = llvm::is_contained(nest.sizes, 0);
  for (auto [dim, expression] : llvm::enumerate(map.getResults())) {
    llvm::SmallVector<int64_t> coefficients;
    int64_t constant;
    if (!getCoefficients(expression, nest.sizes.size(), coefficients, constant))
      return makeError(op, "expects indexing maps that are linear");
    int64_t smallest = constant, largest = constant;
    for (auto [loop, coefficient] : llvm::enumerate(coefficients)) {
      operand.steps[loop] += coefficient * strides[dim];
      int64_t last = coefficient * (nest.sizes[loop] - 1);
      smallest += std::min<int64_t>(0, last);
      largest += std::max<int64_t>(0, last);
    }
    operand.base += constant * strides[dim];
    int64_t extent = operand.array->shape[dim];
    if (!isEmpty && (smallest < 0 || largest >= extent))
      return makeError(op, "expects an index from 0 to " +
                               llvm::Twine(extent - 1) + " in dimension " +
                               llvm::Twine(dim) + " of an operand, but got " +
                               llvm::Twine(smallest < 0 ? smallest : largest));
  }
  return Error::success();
}

/// Chooses the loop of the lanes: the last parallel one, if each lane then has
/// elements of the results to itself.
static void orderLoops(mlir::linalg::LinalgOp op, LoopNest &nest) {
  llvm::SmallVector<mlir::utils::IteratorType> types =
      op.getIteratorTypesArray();
  auto isParallel = [&](unsigned loop) {
    return types[loop] == mlir::utils::IteratorType::parallel;
  };
  int64_t lanes = -1;
  for (unsigned loop = 0; loop < types.size(); ++loop)
    if (isParallel(loop) &&
        llvm::all_of(llvm::drop_begin(nest.operands, nest.numInputs),
                     [&](const LoopOperand &operand) {
                       return operand.steps[loop] != 0;
                     }))
      lanes = loop;
  for (bool parallel : {true, false})
    for (unsigned loop = 0; loop < types.size(); ++loop)
      if (isParallel(loop) == parallel && int64_t(loop) != lanes)
        nest.order.push_back(loop);
  if (lanes >= 0)
    nest.order.push_back(lanes);
  nest.hasLanes = lanes >= 0;
}

template <typename T>
static void gather(const T *from, int64_t step, int64_t count, T *to) {
  for (int64_t l = 0; l < count; ++l)
    to[l] = from[l * step];
}
template <typename T>
static void scatter(const T *from, int64_t step, int64_t count, T *to) {
  for (int64_t l = 0; l < count; ++l)
    to[l * step] = from[l];
}

/// Runs the region for `count` points from `point` along the last loop.
static bool runPoints(const LoopNest &nest, llvm::ArrayRef<int64_t> point,
                      int64_t count, Frame &frame) {
  unsigned lanes = nest.order.empty() ? 0 : nest.order.back();
  auto getPosition = [&](const LoopOperand &operand) {
    int64_t position = operand.base;
    for (auto [index, step] : llvm::zip(point, operand.steps))
      position += index * step;
    return position;
  };
  auto getStep = [&](const LoopOperand &operand) {
    return operand.steps.empty() ? 0 : operand.steps[lanes];
  };
  for (const LoopOperand &operand : nest.operands) {
    int64_t position = getPosition(operand);
    if (operand.array->type.isFloat())
      gather(operand.array->floats.data() + position, getStep(operand), count,
             frame.laneFloats(operand.reg));
    else
      gather(operand.array->ints.data() + position, getStep(operand), count,
             frame.laneInts(operand.reg));
  }
  for (auto [reg, loop] : nest.indices)
    for (int64_t l = 0; l < count; ++l)
      frame.laneInts(reg)[l] = point[loop] + (loop == lanes ? l : 0);
  if (!frame.runLanes(count))
    return false;
  for (const LoopOperand &operand :
       llvm::drop_begin(nest.operands, nest.numInputs)) {
    int64_t position = getPosition(operand);
    if (operand.array->type.isFloat())
      scatter(frame.laneFloats(operand.yielded), getStep(operand), count,
              operand.array->floats.data() + position);
    else
      scatter(frame.laneInts(operand.yielded), getStep(operand), count,
              operand.array->ints.data() + position);
  }
  return true;
}

static bool runLoops(const LoopNest &nest, Frame &frame) {
  if (llvm::is_contained(nest.sizes, 0))
    return true;
  llvm::SmallVector<int64_t> point(nest.sizes.size(), 0);
  while (true) {
    int64_t count = 1;
    if (nest.hasLanes) {
      unsigned lanes = nest.order.back();
      count = std::min<int64_t>(kLanes, nest.sizes[lanes] - point[lanes]);
    }
    if (!runPoints(nest, point, count, frame))
      return false;
    size_t level = nest.order.size();
    for (; level > 0; --level, count = 1) {
      unsigned loop = nest.order[level - 1];
      point[loop] += count;
      if (point[loop] < nest.sizes[loop])
        break;
      point[loop] = 0;
    }
    if (level == 0)
      return true;
  }
}

Error FunctionEvaluator::evaluateLinalg(mlir::linalg::LinalgOp op) {
  mlir::AffineMap toLoops = op.getShapesToLoopsMap();
  if (!op.hasPureTensorSemantics() || !toLoops)
    return makeUnsupportedError(op);

  LoopNest nest;
  llvm::SmallVector<std::shared_ptr<Array>> results;
  llvm::SmallVector<int64_t> extents;
  // Inputs are only read, through the same pointers as results.
  for (mlir::OpOperand &operand : op->getOpOperands()) {
    const ArrayPtr &array = get(operand.get());
    llvm::append_range(extents, array->shape);
    LoopOperand loop{const_cast<Array *>(array.get()), 0};
    if (op.isDpsInit(&operand)) {
      results.push_back(std::make_shared<Array>(*array));
      loop.array = results.back().get();
      loop.array->noise = RoundingNoise();
    } else {
      ++nest.numInputs;
    }
    nest.operands.push_back(loop);
  }
  nest.sizes = toLoops.compose(extents);
  for (auto [map, operand] :
       llvm::zip_equal(op.getIndexingMapsArray(), nest.operands))
    if (Error error = setAccess(op, map, nest, operand))
      return error;
  orderLoops(op, nest);

  Program program;
  RegionCompiler compiler(options.mode, program, getOuterValues());
  mlir::Block &block = *op.getBlock();
  for (auto [argument, operand] :
       llvm::zip_equal(block.getArguments(), nest.operands))
    operand.reg = compiler.bindLane(argument);
  for (auto index : block.getOps<mlir::linalg::IndexOp>())
    nest.indices.push_back({compiler.bindLane(index), index.getDim()});
  if (Error error = compiler.compileBlock(block))
    return error;
  mlir::Operation *yield = block.getTerminator();
  for (auto [value, operand] :
       llvm::zip_equal(yield->getOperands(),
                       llvm::drop_begin(nest.operands, nest.numInputs))) {
    Expected<uint32_t> reg = compiler.getLane(value, yield);
    if (!reg)
      return reg.takeError();
    operand.yielded = *reg;
  }
  Frame frame(program);
  if ((!llvm::is_contained(nest.sizes, 0) && !frame.runRow()) ||
      !runLoops(nest, frame))
    return llvm::createStringError(compiler.describe(frame.getError()));
  // Once more with operands that are off by their noise.
  llvm::SmallVector<const Array *> given;
  std::vector<Array> disturbed;
  disturbed.reserve(nest.operands.size());
  for (auto [value, operand] :
       llvm::zip_equal(op->getOperands(), nest.operands)) {
    const Array &array = *get(value);
    given.push_back(&array);
    disturbed.push_back(hasNoise(array) ? disturb(array) : array);
    operand.array = &disturbed.back();
  }
  if (llvm::any_of(given,
                   [](const Array *array) { return hasNoise(*array); })) {
    Frame again(program);
    if ((llvm::is_contained(nest.sizes, 0) || again.runRow()) &&
        runLoops(nest, again))
      for (auto [array, operand] : llvm::zip_equal(
               results, llvm::drop_begin(nest.operands, nest.numInputs)))
        array->noise = measureNoise(*array, *operand.array, given);
  }
  for (auto [result, array] : llvm::zip_equal(op->getResults(), results))
    values[result] = array;
  return Error::success();
}
