//===- LowerIndices.cpp - Index arithmetic of a thread --------------------===//
//
// An index is an i64, of which it is known that it is the sum of a base and a
// constant: the positions of a thread's elements, which differ by constants,
// need one register. What uses an index computes in 32 bits where its range
// fits, from a base of 32 bits.
//
//===----------------------------------------------------------------------===//

#include "ScalarMath.h"
#include "ThreadPatterns.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::attn;

static bool isIndex(Value value) {
  return getElementTypeOrSelf(value.getType()).isIndex();
}

//===----------------------------------------------------------------------===//
// Numbers of threads and blocks
//===----------------------------------------------------------------------===//

static Elements lowerWarpgroupId(hopper::WarpgroupIdOp,
                                 Operands<hopper::WarpgroupIdOp>,
                                 ThreadBuilder &b) {
  return {b.toIndex({b.thread.warpgroup, 0})};
}

static Elements lowerLaneId(gpu::LaneIdOp, Operands<gpu::LaneIdOp>,
                            ThreadBuilder &b) {
  return {b.toIndex({b.thread.lane, 0})};
}

static Elements lowerThreadId(gpu::ThreadIdOp, Operands<gpu::ThreadIdOp>,
                              ThreadBuilder &b) {
  return {b.toIndex({b.thread.id, 0})};
}

static Elements lowerPosition(hopper::PositionOp,
                              Operands<hopper::PositionOp> in,
                              ThreadBuilder &b) {
  return {b.toIndex({in.getSource()[0], 0})};
}

// Ids of blocks are made by NVVM operations in the caller.
static Elements lowerBlockId(gpu::BlockIdOp, Operands<gpu::BlockIdOp>,
                             ThreadBuilder &b) {
  return {b.toIndex(
      {b.intrinsic("llvm.nvvm.read.ptx.sreg.ctaid.x", {}, b.getI32Type()), 0})};
}

static Elements lowerGridDim(gpu::GridDimOp, Operands<gpu::GridDimOp>,
                             ThreadBuilder &b) {
  return {b.toIndex(
      {b.intrinsic("llvm.nvvm.read.ptx.sreg.nctaid.x", {}, b.getI32Type()),
       0})};
}

static Elements lowerIota(hopper::IotaOp op, Operands<hopper::IotaOp>,
                          ThreadBuilder &b) {
  Fragment fragment(op.getType());
  SmallVector<IndexElement> list;
  if (fragment.layout == hopper::FragmentLayout::Rows) {
    list = {{b.thread.row, 0}, {b.thread.row, 8}};
  } else if (fragment.layout == hopper::FragmentLayout::Threads) {
    for (int64_t e = 0, count = fragment.getNumRegisters(); e < count; ++e)
      list.push_back({b.thread.inGroup, hopper::kWarpgroupThreads * e});
  } else if (fragment.layout == hopper::FragmentLayout::Lanes) {
    for (int64_t e = 0, count = fragment.getNumRegisters(); e < count; ++e)
      list.push_back({b.thread.lane, hopper::kWarpThreads * e});
  } else {
    Value first = b.shl(b.thread.quad, 1);
    b.kernel.facts.bases[first] = {/*most=*/6, /*multiple=*/2};
    for (int64_t e = 0, count = fragment.getNumRegisters(); e < count; ++e)
      list.push_back({first, 8 * (e / 2) + e % 2});
  }
  return b.toIndices(list);
}

//===----------------------------------------------------------------------===//
// Casts
//===----------------------------------------------------------------------===//

template <typename CastOp, typename ExtendOp>
static Elements lowerIndexCast(CastOp op, Operands<CastOp> in,
                               ThreadBuilder &b) {
  Value result = op.getResult();
  if (isIndex(result)) {
    SmallVector<IndexElement> list;
    unsigned bits = b.kernel.ranges.fitsInt32(result) ? 32 : 64;
    for (Value element : in.getIn()) {
      if (element.getType().getIntOrFloatBitWidth() < bits)
        element = ExtendOp::create(b, b.getIntegerType(bits), element);
      list.push_back({element, 0});
    }
    return b.toIndices(list);
  }
  unsigned bits =
      getElementTypeOrSelf(result.getType()).getIntOrFloatBitWidth();
  bool fits = b.kernel.ranges.fitsInt32(op.getIn());
  Elements list;
  for (IndexElement index : b.getIndices(in.getIn())) {
    Value value = bits < 32 ? arith::TruncIOp::create(b, b.getIntegerType(bits),
                                                      b.toInt(index, 32))
                                  .getResult()
                            : b.toInt(index, bits);
    // For a conversion to floats, and for tests of bits.
    if (fits)
      b.kernel.facts.sums[value] = index;
    list.push_back(value);
  }
  return list;
}

/// Floats of positions that differ by constants: one conversion, which is slow,
/// and an addition each. Beyond 2^24, where both round, that may be off by one
/// unit in the last place.
static FailureOr<Elements> lowerPositionsToFloat(arith::SIToFPOp op,
                                                 Operands<arith::SIToFPOp> in,
                                                 ThreadBuilder &b) {
  Type source = getElementTypeOrSelf(op.getIn().getType());
  if (!getElementTypeOrSelf(op.getType()).isF32() ||
      source.getIntOrFloatBitWidth() < 32)
    return failure();
  FailureOr<SmallVector<IndexElement>> indices = b.getCastIndices(in.getIn());
  if (failed(indices))
    return failure();
  Elements list;
  for (IndexElement index : *indices) {
    auto offset = static_cast<double>(index.offset);
    Value base, value;
    if (index.base) {
      base = arith::SIToFPOp::create(b, b.getF32Type(),
                                     b.toInt(IndexElement{index.base, 0}, 32));
      value = b.add(base, b.f32(offset));
    } else {
      value = b.f32(offset);
    }
    b.kernel.facts.floatSums[value] = {base, offset};
    list.push_back(value);
  }
  return list;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// The bits that operands need which an operation is computed with.
static unsigned getBits(ThreadBuilder &b, Operation *op) {
  auto fits = [&](Value value) {
    return !isIndex(value) || b.kernel.ranges.fitsInt32(value);
  };
  return llvm::all_of(op->getOperands(), fits) &&
                 llvm::all_of(op->getResults(), fits)
             ? 32
             : 64;
}

/// Sums and differences of bases. Elements with the same bases have the same
/// one afterwards, so that those with the same offset, too, can be seen to be
/// equal.
template <typename OpT>
static FailureOr<Elements> lowerIndexSum(OpT op, Operands<OpT> in,
                                         ThreadBuilder &b) {
  if (!isIndex(op.getResult()))
    return failure();
  constexpr bool isSub = std::is_same_v<OpT, arith::SubIOp>;
  unsigned bits = getBits(b, op);
  auto getBase = [&](IndexElement index) {
    return b.toInt(IndexElement{index.base, 0}, bits);
  };
  SmallVector<IndexElement> list;
  DenseMap<std::pair<Value, Value>, Value> bases;
  for (auto [x, y] :
       llvm::zip_equal(b.getIndices(in.getLhs()), b.getIndices(in.getRhs()))) {
    int64_t offset = isSub ? x.offset - y.offset : x.offset + y.offset;
    if (!y.base) {
      list.push_back({x.base ? getBase(x) : Value(), offset});
      continue;
    }
    Value &known = bases[{x.base, y.base}];
    if (!known) {
      Value base = getBase(y);
      if (x.base)
        base = OpT::create(b, getBase(x), base);
      else if (isSub)
        base = b.sub(b.number(b.getIntegerType(bits), 0), base);
      known = base;
    }
    list.push_back({known, offset});
  }
  return b.toIndices(list);
}

/// Everything else on plain integers.
static FailureOr<Elements>
lowerIndexOp(Operation *op, ArrayRef<ValueRange> operands, ThreadBuilder &b) {
  if (op->getNumResults() != 1 || op->getNumRegions() != 0 ||
      !isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) ||
      op->hasTrait<OpTrait::ConstantLike>() ||
      llvm::none_of(op->getOperands(), isIndex))
    return failure();
  bool isIndexResult = isIndex(op->getResult(0));
  unsigned bits = getBits(b, op);
  Type type = isIndexResult ? Type(b.getIntegerType(bits))
                            : getElementTypeOrSelf(op->getResult(0).getType());
  return mapEqualElements(b, operands, [&](ValueRange own) {
    SmallVector<Value> plain;
    for (auto [value, element] : llvm::zip_equal(op->getOperands(), own))
      plain.push_back(isIndex(value) ? b.toInt(b.getIndex(element), bits)
                                     : element);
    Value value = emitScalarOp(b, *op, plain, type, b.kernel.accurateTanh);
    return isIndexResult ? b.toIndex({value, 0}) : value;
  });
}

void mlir::attn::populateIndexPatterns(ThreadPatterns &patterns) {
  patterns.add(lowerWarpgroupId);
  patterns.add(lowerLaneId);
  patterns.add(lowerThreadId);
  patterns.add(lowerPosition);
  patterns.add(lowerBlockId);
  patterns.add(lowerGridDim);
  patterns.add(lowerIota);
  // In front of those for any operation.
  patterns.add(lowerIndexCast<arith::IndexCastOp, arith::ExtSIOp>,
               /*benefit=*/3);
  patterns.add(lowerIndexCast<arith::IndexCastUIOp, arith::ExtUIOp>,
               /*benefit=*/3);
  patterns.add(lowerPositionsToFloat, /*benefit=*/3);
  patterns.add(lowerIndexSum<arith::AddIOp>, /*benefit=*/3);
  patterns.add(lowerIndexSum<arith::SubIOp>, /*benefit=*/3);
  patterns.addForAny(lowerIndexOp, /*benefit=*/2);
}
