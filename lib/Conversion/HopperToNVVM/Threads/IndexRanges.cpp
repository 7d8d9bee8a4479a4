//===- IndexRanges.cpp - What index values of a kernel may be -------------===//

#include "IndexRanges.h"
#include "attn/Dialect/Hopper/IR/Hopper.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::attn;

Interval Interval::combine(Interval a, Interval b,
                           function_ref<bool(int64_t, int64_t, int64_t &)> op) {
  Interval result{INT64_MAX, INT64_MIN};
  for (int64_t x : {a.lo, a.hi})
    for (int64_t y : {b.lo, b.hi}) {
      int64_t value;
      if (op(x, y, value))
        return {};
      result.lo = std::min(result.lo, value);
      result.hi = std::max(result.hi, value);
    }
  return result;
}

IndexRanges::IndexRanges(Operation *root) {
  auto add = [&](ValueRange values) {
    for (Value value : values)
      if (getElementTypeOrSelf(value.getType()).isIndex())
        getOrCompute(value);
  };
  root->walk([&](Operation *op) {
    add(op->getResults());
    for (Region &region : op->getRegions())
      for (Block &block : region)
        add(block.getArguments());
  });
}

Interval IndexRanges::getOrCompute(Value value) {
  // All, for recursion through loops.
  auto [it, isNew] = intervals.try_emplace(value);
  if (!isNew)
    return it->second;
  Interval result = compute(value);
  intervals[value] = result;
  return result;
}

Interval IndexRanges::compute(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    auto loop = dyn_cast_or_null<scf::ForOp>(parent);
    if (loop && value == loop.getInductionVar())
      return {getOrCompute(loop.getLowerBound()).lo,
              getOrCompute(loop.getUpperBound()).hi};
    return {};
  }
  Operation *op = value.getDefiningOp();
  auto operand = [&](unsigned number) {
    return getOrCompute(op->getOperand(number));
  };
  APInt constant;
  DenseIntElementsAttr elements;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return {constant.getSExtValue(), constant.getSExtValue()};
  if (matchPattern(value, m_Constant(&elements)) && elements.isSplat()) {
    int64_t splat = elements.getSplatValue<APInt>().getSExtValue();
    return {splat, splat};
  }
  if (auto position = dyn_cast<hopper::PositionOp>(op))
    return {0, position.getMost()};
  if (isa<hopper::WarpgroupIdOp>(op))
    return {0,
            std::max<int64_t>(3, hopper::getPartition(op).getReplicas() - 1)};
  if (isa<gpu::LaneIdOp>(op))
    return {0, hopper::kWarpThreads - 1};
  if (isa<gpu::ThreadIdOp>(op))
    return {0, 1023};
  if (isa<hopper::IotaOp>(op)) {
    auto type = cast<ShapedType>(value.getType());
    return {0, type.getNumElements() - 1};
  }
  if (isa<gpu::BlockIdOp, gpu::GridDimOp>(op))
    return {0, INT32_MAX};
  if (isa<arith::IndexCastOp>(op)) {
    Type source = getElementTypeOrSelf(op->getOperand(0).getType());
    if (auto integer = dyn_cast<IntegerType>(source);
        integer && integer.getWidth() < 64)
      return {llvm::minIntN(integer.getWidth()),
              llvm::maxIntN(integer.getWidth())};
    return {};
  }
  if (isa<arith::IndexCastUIOp>(op)) {
    Type source = getElementTypeOrSelf(op->getOperand(0).getType());
    if (auto integer = dyn_cast<IntegerType>(source);
        integer && integer.getWidth() < 63)
      return {0, static_cast<int64_t>(llvm::maxUIntN(integer.getWidth()))};
    return {};
  }
  if (isa<hopper::BroadcastOp>(op))
    return operand(0);
  if (isa<arith::AddIOp>(op))
    return Interval::combine(operand(0), operand(1),
                             llvm::AddOverflow<int64_t>);
  if (isa<arith::SubIOp>(op))
    return Interval::combine(operand(0), operand(1),
                             llvm::SubOverflow<int64_t>);
  if (isa<arith::MulIOp>(op))
    return Interval::combine(operand(0), operand(1),
                             llvm::MulOverflow<int64_t>);
  if (isa<arith::SelectOp>(op)) {
    Interval x = operand(1), y = operand(2);
    return {std::min(x.lo, y.lo), std::max(x.hi, y.hi)};
  }
  if (isa<arith::MinSIOp>(op)) {
    Interval x = operand(0), y = operand(1);
    return {std::min(x.lo, y.lo), std::min(x.hi, y.hi)};
  }
  if (isa<arith::MinUIOp>(op)) {
    // At most what one of them is that is not negative.
    Interval x = operand(0), y = operand(1);
    if (x.lo >= 0 || y.lo >= 0)
      return {0, x.lo < 0 ? y.hi : y.lo < 0 ? x.hi : std::min(x.hi, y.hi)};
    return {};
  }
  if (isa<arith::MaxSIOp>(op)) {
    Interval x = operand(0), y = operand(1);
    return {std::max(x.lo, y.lo), std::max(x.hi, y.hi)};
  }
  if (isa<math::AbsIOp>(op)) {
    Interval x = operand(0);
    if (x.lo > INT64_MIN)
      return {std::max<int64_t>(0, std::max(x.lo, -x.hi)),
              std::max(-x.lo, x.hi)};
    return {};
  }
  if (isa<arith::DivUIOp, arith::DivSIOp, arith::RemUIOp, arith::RemSIOp,
          arith::CeilDivSIOp, arith::CeilDivUIOp, arith::FloorDivSIOp>(op)) {
    Interval x = operand(0), y = operand(1);
    // With a sign, by a number that is known.
    if (y.lo == y.hi && y.lo > 0 && x.lo > INT64_MIN &&
        isa<arith::DivSIOp, arith::RemSIOp, arith::CeilDivSIOp,
            arith::FloorDivSIOp>(op)) {
      if (isa<arith::RemSIOp>(op))
        return {std::min<int64_t>(std::max(x.lo, 1 - y.lo), 0),
                std::max<int64_t>(std::min(x.hi, y.lo - 1), 0)};
      return {llvm::divideFloorSigned(x.lo, y.lo),
              llvm::divideCeilSigned(x.hi, y.lo)};
    }
    // By any number, or 0 by total division.
    if (x.lo >= 0 &&
        (y.lo >= 0 ||
         isa<arith::DivUIOp, arith::RemUIOp, arith::CeilDivUIOp>(op)))
      return {0, x.hi};
    if (x.lo == INT64_MIN ||
        isa<arith::DivUIOp, arith::RemUIOp, arith::CeilDivUIOp>(op))
      return {};
    if (isa<arith::RemSIOp>(op))
      return {std::min<int64_t>(x.lo, 0), std::max<int64_t>(x.hi, 0)};
    int64_t most = std::max(-x.lo, x.hi);
    return {-most, most};
  }
  if (isa<arith::AndIOp>(op)) {
    // At most what one of them is that is not negative.
    Interval x = operand(0), y = operand(1);
    if (x.lo >= 0 && y.lo >= 0)
      return {0, std::min(x.hi, y.hi)};
    if (x.lo >= 0 || y.lo >= 0)
      return {0, x.lo >= 0 ? x.hi : y.hi};
  }
  return {};
}
