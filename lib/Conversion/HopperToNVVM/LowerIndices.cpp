//===- LowerIndices.cpp - Index arithmetic of a thread --------------------===//
//
// An index is kept as a base and a constant, so that the positions of a
// thread's elements, which differ by constants, need one register. It is
// computed in 32 bits where an interval analysis shows that it fits.
//
//===----------------------------------------------------------------------===//

#include "ScalarMath.h"
#include "ThreadProgram.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::attn;

using hopper::kMaxPosition;

//===----------------------------------------------------------------------===//
// Intervals
//===----------------------------------------------------------------------===//

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

Interval ThreadProgram::getInterval(Value value) {
  auto it = intervals.find(value);
  if (it != intervals.end())
    return it->second;
  // For recursion through loops.
  intervals[value] = {};
  Interval result = computeInterval(value);
  intervals[value] = result;
  return result;
}

Interval ThreadProgram::computeInterval(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (parent == kernel) {
      auto has = [&](StringRef name) {
        return kernel.getArgAttr(argument.getArgNumber(), name) != nullptr;
      };
      return has(hopper::kDimAttrName) ? Interval{0, kMaxPosition}
             : has(hopper::kPackedCountAttrName)
                 ? Interval{1, hopper::kWarpgroupRows}
                 : Interval{};
    }
    auto loop = dyn_cast<scf::ForOp>(parent);
    if (loop && value == loop.getInductionVar())
      return {getInterval(loop.getLowerBound()).lo,
              getInterval(loop.getUpperBound()).hi};
    return {};
  }
  Operation *op = value.getDefiningOp();
  auto operand = [&](unsigned number) {
    return getInterval(op->getOperand(number));
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
    auto type = cast<VectorType>(value.getType());
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
  if (isa<vector::BroadcastOp>(op))
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
    // Of a non-negative number by a positive one, or 0 by total division.
    if (x.lo < 0 || y.lo < 0)
      return x.lo > INT64_MIN && y.lo > INT64_MIN && x.fitsInt32()
                 ? Interval{-(int64_t(1) << 32), int64_t(1) << 32}
                 : Interval{};
    return {0, x.hi};
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

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

Value ThreadProgram::addOffset(Value value, int64_t offset) {
  if (offset == 0)
    return value;
  unsigned bits = value.getType().getIntOrFloatBitWidth();
  return arith::AddIOp::create(b, value,
                               arith::ConstantIntOp::create(b, offset, bits));
}

Value ThreadProgram::toInt(IndexElement index, unsigned bits) {
  if (!index.base)
    return arith::ConstantIntOp::create(b, index.offset, bits);
  Value value = addOffset(index.base, index.offset);
  unsigned width = value.getType().getIntOrFloatBitWidth();
  if (width < bits)
    return arith::ExtSIOp::create(b, b.getIntegerType(bits), value);
  if (width > bits)
    return arith::TruncIOp::create(b, b.getIntegerType(bits), value);
  return value;
}

SmallVector<IndexElement> ThreadProgram::getIndices(Value value) {
  auto it = indices.find(value);
  assert(it != indices.end() && "operand is emitted before its use");
  return it->second;
}

/// Floats of positions that differ by constants: one conversion, which is slow,
/// and an addition each. Beyond 2^24, where both round, that may be off by one
/// unit in the last place.
bool ThreadProgram::emitPositionsToFloat(arith::SIToFPOp op) {
  auto it = castIndices.find(op.getIn());
  Type type = getElementTypeOrSelf(op.getType());
  if (it == castIndices.end() || !type.isF32() ||
      getElementTypeOrSelf(op.getIn().getType()).getIntOrFloatBitWidth() < 32)
    return false;
  Elements list;
  SmallVector<FloatSum> sums;
  for (IndexElement element : it->second) {
    auto offset = static_cast<double>(element.offset);
    if (!element.base) {
      list.push_back(f32(offset));
      sums.push_back({{}, offset});
      continue;
    }
    Value base = arith::SIToFPOp::create(b, b.getF32Type(),
                                         toInt({element.base, 0}, 32));
    list.push_back(arith::AddFOp::create(b, base, f32(offset)));
    sums.push_back({base, offset});
  }
  values[op.getResult()] = list;
  floatSums[op.getResult()] = sums;
  return true;
}

/// Quotients and remainders of a thread's positions in a tile by a constant: a
/// period holds its base, so that quotients are constants.
bool ThreadProgram::emitDivisionOfPositions(Operation &op) {
  APInt divisor;
  if (!isa<arith::DivUIOp, arith::RemUIOp>(op) ||
      !matchPattern(op.getOperand(1), m_ConstantInt(&divisor)) ||
      !divisor.isStrictlyPositive() || divisor.getSignificantBits() > 32)
    return false;
  int64_t period = divisor.getSExtValue();
  SmallVector<IndexElement> list;
  for (IndexElement element : getIndices(op.getOperand(0))) {
    auto base = bases.find(element.base);
    int64_t rest = element.offset % period;
    if (element.offset < 0 || base == bases.end() || base->second.lo < 0 ||
        rest + base->second.hi >= period)
      return false;
    if (isa<arith::DivUIOp>(op))
      list.push_back({Value(), element.offset / period});
    else
      list.push_back({element.base, rest});
  }
  indices[op.getResult(0)] = list;
  return true;
}

LogicalResult ThreadProgram::emitIndexOp(Operation &op) {
  if (isa<hopper::WarpgroupIdOp>(op)) {
    indices[op.getResult(0)] = {{warpgroup, 0}};
    return success();
  }
  if (isa<gpu::LaneIdOp, gpu::ThreadIdOp>(op)) {
    indices[op.getResult(0)] = {{isa<gpu::LaneIdOp>(op) ? lane : threadId, 0}};
    return success();
  }
  if (auto position = dyn_cast<hopper::PositionOp>(op)) {
    indices[op.getResult(0)] = {{get(position.getSource())[0], 0}};
    return success();
  }
  // Ids of blocks are made by NVVM operations in the caller.
  if (isa<gpu::BlockIdOp, gpu::GridDimOp>(op)) {
    Value id =
        isa<gpu::BlockIdOp>(op)
            ? intrinsic("llvm.nvvm.read.ptx.sreg.ctaid.x", {}, b.getI32Type())
            : intrinsic("llvm.nvvm.read.ptx.sreg.nctaid.x", {}, b.getI32Type());
    indices[op.getResult(0)] = {{id, 0}};
    return success();
  }
  if (op.getNumResults() != 1 || op.getNumRegions() != 0)
    return op.emitError("'") << op.getName() << "' has no form in a GPU kernel";
  Value result = op.getResult(0);
  int64_t count = getCount(result.getType());
  bool isIndexResult = getElementTypeOrSelf(result.getType()).isIndex();
  auto isIndexOperand = [&](unsigned number) {
    return getElementTypeOrSelf(op.getOperand(number).getType()).isIndex();
  };

  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op)) {
    bool isUnsigned = isa<arith::IndexCastUIOp>(op);
    if (isIndexResult) {
      Interval interval = getInterval(result);
      SmallVector<IndexElement> list;
      for (Value element : get(op.getOperand(0))) {
        unsigned width = element.getType().getIntOrFloatBitWidth();
        unsigned bits = interval.fitsInt32() ? 32 : 64;
        if (width < bits)
          element =
              isUnsigned
                  ? arith::ExtUIOp::create(b, b.getIntegerType(bits), element)
                        .getResult()
                  : arith::ExtSIOp::create(b, b.getIntegerType(bits), element)
                        .getResult();
        list.push_back({element, 0});
      }
      indices[result] = list;
      return success();
    }
    Elements list;
    // Kept for a conversion to floats.
    if (getInterval(op.getOperand(0)).fitsInt32())
      castIndices[result] = getIndices(op.getOperand(0));
    unsigned bits =
        getElementTypeOrSelf(result.getType()).getIntOrFloatBitWidth();
    for (IndexElement element : getIndices(op.getOperand(0)))
      list.push_back(bits < 32
                         ? arith::TruncIOp::create(b, b.getIntegerType(bits),
                                                   toInt(element, 32))
                               .getResult()
                         : toInt(element, bits));
    values[result] = list;
    return success();
  }

  if (isIndexResult && emitDivisionOfPositions(op))
    return success();

  // Operands that are to be computed with in as many bits as all of them need.
  bool fits = !isIndexResult || getInterval(result).fitsInt32();
  for (unsigned number = 0; number < op.getNumOperands(); ++number)
    fits &= !isIndexOperand(number) ||
            getInterval(op.getOperand(number)).fitsInt32();
  unsigned bits = fits ? 32 : 64;

  if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    emitComparison(compare, bits);
    return success();
  }

  SmallVector<IndexElement> list;
  // Elements with the same bases have the same one afterwards, so that those
  // with the same offset, too, can be seen to be equal.
  DenseMap<std::pair<Value, Value>, Value> bases;
  for (int64_t e = 0; e < count; ++e) {
    auto element = [&](unsigned number) {
      return getIndices(op.getOperand(number))[e];
    };
    if (isIndexResult && isa<arith::AddIOp, arith::SubIOp>(op)) {
      bool isSub = isa<arith::SubIOp>(op);
      IndexElement x = element(0), y = element(1);
      int64_t offset = isSub ? x.offset - y.offset : x.offset + y.offset;
      if (!y.base) {
        list.push_back({x.base ? toInt({x.base, 0}, bits) : Value(), offset});
        continue;
      }
      Value &known = bases[{x.base, y.base}];
      if (known) {
        list.push_back({known, offset});
        continue;
      }
      Value base = toInt({y.base, 0}, bits);
      if (x.base && isSub)
        base = arith::SubIOp::create(b, toInt({x.base, 0}, bits), base);
      else if (x.base)
        base = arith::AddIOp::create(b, toInt({x.base, 0}, bits), base);
      else if (isSub)
        base = arith::SubIOp::create(
            b, arith::ConstantIntOp::create(b, 0, bits), base);
      known = base;
      list.push_back({base, offset});
      continue;
    }
    // Everything else on plain integers.
    SmallVector<Value> operands;
    for (unsigned number = 0; number < op.getNumOperands(); ++number)
      operands.push_back(isIndexOperand(number)
                             ? toInt(element(number), bits)
                             : get(op.getOperand(number))[e]);
    Type type = isIndexResult ? Type(b.getIntegerType(bits))
                              : getElementTypeOrSelf(result.getType());
    Value value = emitScalarOp(b, op, operands, type, accurateTanh);
    if (isIndexResult)
      list.push_back({value, 0});
    else
      values[result].push_back(value);
  }
  if (isIndexResult)
    indices[result] = list;
  return success();
}
