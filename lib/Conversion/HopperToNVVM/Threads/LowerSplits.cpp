//===- LowerSplits.cpp - Results of parts of the keys ---------------------===//
//
// Parts of results are written as they are in the registers of a warpgroup, and
// combined by warps: half of a warp has the columns of a part, four in each
// thread, and the other half those of the next part. Of few rows, most of the
// time goes into reading the instructions, of which there are few for that.
//
//===----------------------------------------------------------------------===//

#include "ThreadPatterns.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace mlir::attn;

/// Columns that a thread reads at a time.
static constexpr int64_t kColumns = 4;
static constexpr int64_t kHalfThreads = hopper::kCombineColumns / kColumns;
static constexpr int64_t kNumHalves = hopper::kWarpThreads / kHalfThreads;
/// Parts that each half reads at a time, so that it does not wait for each.
static constexpr int64_t kBatch = 8;

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// The head and the query of row `at` of packed heads.
static void unpackPosition(hopper::StoreRowsOp op,
                           Operands<hopper::StoreRowsOp> in, ThreadBuilder &b,
                           Value at, SmallVectorImpl<IndexElement> &position) {
  // Rows are positions.
  Value row32 = b.toInt(IndexElement{at, 0}, 32),
        count = b.toInt(in.getPacked(), 32);
  int64_t heads = static_cast<int64_t>(*op.getHeads());
  Value head = b.toInt(in.getIndices()[heads], 32);
  position[heads] = {b.add(b.mul(head, count), b.remU(row32, count)), 0};
  position[op.getDim()] = {b.divU(row32, count), 0};
}

/// One element for each query is written by the first thread of the four that
/// share a row; of rows each thread writes its own, two at a time.
static void lowerStoreRows(hopper::StoreRowsOp op,
                           Operands<hopper::StoreRowsOp> in, ThreadBuilder &b) {
  BufferParameter buffer =
      b.getBuffer(op.getMemref().getType(), in.getMemref());
  ValueRange list = in.getVector();
  SmallVector<IndexElement> position = b.getPosition(in.getIndices());
  Value first = b.toInt(position[op.getDim()], 64);
  Value end = b.toInt(in.getEnd(), 64);
  bool hasColumns = position.size() != buffer.strides.size();
  Value isOwn;
  if (hasColumns)
    position.push_back({b.mul(b.thread.quad, 2), 0});
  else
    isOwn = b.eq(b.thread.quad, 0);
  auto pair = VectorType::get({2}, b.getF32Type());
  for (int64_t r : {0, 1}) {
    Value at = b.add(first, b.zext64(b.addOffset(b.thread.row, 8 * r)));
    Value inRange = b.slt(at, end);
    if (isOwn)
      inRange = b.andI(isOwn, inRange);
    b.ifThen(inRange, [&] {
      position[op.getDim()] = {at, 0};
      if (op.getPacked())
        unpackPosition(op, in, b, at, position);
      Value address = b.getAddress(buffer, position, 4);
      if (!hasColumns) {
        LLVM::StoreOp::create(b, list[r], address);
        return;
      }
      for (size_t e = 2 * r; e < list.size(); e += 4) {
        Value both = LLVM::UndefOp::create(b, pair);
        for (int64_t p : {0, 1})
          both = LLVM::InsertElementOp::create(b, both, list[e + p], b.i32(p));
        constexpr int64_t groupBytes = 8 * 4;
        Value place = LLVM::GEPOp::create(
            b, address.getType(), b.getI8Type(), address,
            ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(e / 4 * groupBytes)});
        LLVM::StoreOp::create(b, both, place, /*alignment=*/8);
      }
    });
  }
}

//===----------------------------------------------------------------------===//
// Combine
//===----------------------------------------------------------------------===//

namespace {
/// Emits what a thread of a warp does to combine a row.
class Combine {
public:
  /// `lses` and `parts` are those of the row, in memory.
  Combine(ThreadBuilder &b, Value lane, Value lses, Value parts,
          Value numSplits, int64_t rowBytes)
      : b(b), lane(lane), lses(lses), parts(parts), numSplits(numSplits),
        rowBytes(rowBytes), inHalf(b.andI(lane, kHalfThreads - 1)),
        half(b.shrU(lane, llvm::Log2_64(kHalfThreads))) {}

  /// The largest log-sum-exp of a part.
  Value emitMax();
  struct Sums {
    Value weights;
    SmallVector<Value> values;
  };
  /// The sums of the weights relative to 2^shift, and of weighted columns of
  /// this thread, which are `offset` bytes from the start of a part's row.
  Sums emitSums(Value shift, Value offset, Value hasColumns);

private:
  Value shuffle(Value value, Value lane, NVVM::ShflKind kind) {
    return NVVM::ShflOp::create(b, value.getType(), b.i32(-1), value, lane,
                                b.i32(31), kind, UnitAttr());
  }
  /// Of all threads whose numbers differ in the bits from `least` to `most`.
  template <typename Op>
  Value reduce(Value value, int64_t least, int64_t most) {
    for (int64_t bit = most; bit >= least; bit /= 2)
      value = Op::create(b, value,
                         shuffle(value, b.i32(bit), NVVM::ShflKind::bfly));
    return value;
  }
  /// What is not read unless a condition holds.
  SmallVector<Value> load(Value address, Value condition, int64_t count,
                          StringRef otherwise);
  /// -inf, as of a part without keys, if there is no such part.
  Value loadLse(Value part) {
    Value isPart = b.slt(part, numSplits);
    Value address = b.offsetPointer(lses, b.mul(part, 4));
    return load(address, isPart, 1, "0fFF800000")[0];
  }
  void addBatch(Value first, Value lse, Value shift, Value offset,
                Value hasColumns, Sums &sums);

  ThreadBuilder &b;
  Value lane, lses, parts, numSplits;
  int64_t rowBytes;
  Value inHalf, half;
};
} // namespace

SmallVector<Value> Combine::load(Value address, Value condition, int64_t count,
                                 StringRef otherwise) {
  std::string text = "{ ", list, constraints;
  for (int64_t e = 0; e < count; ++e) {
    std::string name = "$" + std::to_string(e);
    text += "mov.b32 " + name + ", " + otherwise.str() + "; ";
    list += (e ? ", " : "") + name;
    constraints += "=&f,";
  }
  std::string from = "[$" + std::to_string(count) + "]";
  text += "@$" + std::to_string(count + 1) + " ld.global" +
          (count == 1 ? ".f32 " + list : ".v4.f32 {" + list + "}") + ", " +
          from + "; }";
  constraints += "l,b";
  Type f32 = b.getF32Type();
  SmallVector<Type> types(count, f32);
  Type result =
      count == 1
          ? f32
          : Type(LLVM::LLVMStructType::getLiteral(b.getContext(), types));
  auto op = LLVM::InlineAsmOp::create(
      b, TypeRange(result), ValueRange{address, condition}, text, constraints,
      /*has_side_effects=*/true, /*is_align_stack=*/false,
      LLVM::TailCallKind::None,
      LLVM::AsmDialectAttr::get(b.getContext(), LLVM::AsmDialect::AD_ATT),
      ArrayAttr());
  if (count == 1)
    return {op.getResult(0)};
  SmallVector<Value> values;
  for (int64_t e = 0; e < count; ++e)
    values.push_back(LLVM::ExtractValueOp::create(b, op.getResult(0), e));
  return values;
}

Value Combine::emitMax() {
  auto loop =
      scf::ForOp::create(b, b.i32(0), numSplits, b.i32(hopper::kWarpThreads),
                         ValueRange{b.f32(-INFINITY)});
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value part = b.add(loop.getInductionVar(), lane);
    scf::YieldOp::create(
        b, arith::MaxNumFOp::create(b, loop.getRegionIterArg(0), loadLse(part))
               .getResult());
  }
  return reduce<arith::MaxNumFOp>(loop.getResult(0), 1,
                                  hopper::kWarpThreads / 2);
}

/// Adds the parts from `first` on that are read at a time: those of a half are
/// each second one. Each thread of a half has the log-sum-exp of one of them.
void Combine::addBatch(Value first, Value lse, Value shift, Value offset,
                       Value hasColumns, Sums &sums) {
  Value weight =
      LLVM::CallIntrinsicOp::create(
          b, b.getF32Type(), b.getStringAttr("llvm.nvvm.ex2.approx.ftz.f32"),
          ValueRange(b.sub(lse, shift)))
          .getResult(0);
  sums.weights = b.add(sums.weights, weight);
  Value hasKeys = b.cmp(arith::CmpFPredicate::UNE, lse, b.f32(-INFINITY));
  Value bits =
      b.shrU(NVVM::VoteSyncOp::create(b, b.getI32Type(), b.i32(-1), hasKeys,
                                      NVVM::VoteSyncKind::ballot),
             half);
  struct Part {
    Value weight;
    SmallVector<Value> values;
  };
  SmallVector<Part> list;
  for (int64_t e = 0; e < kBatch; ++e) {
    Part &part = list.emplace_back();
    Value number = b.add(half, e * kNumHalves);
    part.weight = shuffle(weight, number, NVVM::ShflKind::idx);
    Value reads = b.ne(b.andI(bits, int64_t(1) << (e * kNumHalves)), 0);
    Value row = b.mul(b.add(first, number), rowBytes);
    part.values = load(b.offsetPointer(parts, b.add(row, offset)),
                       b.andI(reads, hasColumns), kColumns, "0f00000000");
  }
  for (const Part &part : list)
    for (auto [sum, value] : llvm::zip_equal(sums.values, part.values))
      sum = LLVM::FMAOp::create(b, value.getType(), part.weight, value, sum);
}

Combine::Sums Combine::emitSums(Value shift, Value offset, Value hasColumns) {
  SmallVector<Value> inits(1 + kColumns, b.f32(0));
  // The next log-sum-exps are read ahead.
  inits.push_back(loadLse(inHalf));
  constexpr int64_t step = kBatch * kNumHalves;
  static_assert(step == kHalfThreads, "a thread for each part of a batch");
  auto loop = scf::ForOp::create(b, b.i32(0), numSplits, b.i32(step), inits);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    ValueRange carried = loop.getRegionIterArgs();
    Value first = loop.getInductionVar();
    Value next = loadLse(b.add(b.add(first, step), inHalf));
    Sums sums = {carried[0],
                 SmallVector<Value>(carried.drop_front().drop_back())};
    addBatch(first, carried.back(), shift, offset, hasColumns, sums);
    SmallVector<Value> yielded = {sums.weights};
    llvm::append_range(yielded, sums.values);
    yielded.push_back(next);
    scf::YieldOp::create(b, yielded);
  }
  Sums sums;
  // Both halves have the same weights, but other columns.
  sums.weights = reduce<arith::AddFOp>(loop.getResult(0), 1, kHalfThreads / 2);
  for (Value sum : loop.getResults().drop_front().drop_back())
    sums.values.push_back(
        reduce<arith::AddFOp>(sum, kHalfThreads, hopper::kWarpThreads / 2));
  return sums;
}

static void lowerCombine(hopper::CombineOp op, Operands<hopper::CombineOp> in,
                         ThreadBuilder &b) {
  BufferParameter parts = b.getBuffer(op.getParts().getType(), in.getParts()),
                  lses = b.getBuffer(op.getLses().getType(), in.getLses()),
                  into = b.getBuffer(op.getInto().getType(), in.getInto());
  int64_t numColumns =
      cast<MemRefType>(op.getParts().getType()).getShape().back();
  SmallVector<IndexElement> position = b.getPosition(in.getRow());
  position.push_back({{}, 0});
  Value lsesOfRow = b.getAddress(lses, position, 4);
  position.push_back({{}, 0});
  Combine combine(b, b.thread.lane, lsesOfRow, b.getAddress(parts, position, 4),
                  b.toInt(lses.extents.back(), 32), 4 * numColumns);

  // The columns of this thread, of which each half of the warp writes a part.
  Value firstColumn = b.toInt(in.getIndices()[op.getDim()], 32);
  Value inHalf = b.andI(b.thread.lane, kHalfThreads - 1);
  Value column = b.add(firstColumn, b.mul(inHalf, kColumns));
  Value hasColumns = b.slt(column, numColumns);
  Value max = combine.emitMax();
  auto isEqual = [&](Value value, double other) {
    return b.cmp(arith::CmpFPredicate::OEQ, value, b.f32(other));
  };
  // Where all parts are empty, their weights are 0.
  Value shift = b.select(isEqual(max, -INFINITY), b.f32(0), max);
  Combine::Sums sums = combine.emitSums(shift, b.mul(column, 4), hasColumns);
  Value isEmpty = isEqual(sums.weights, 0);
  Value weights = b.select(isEmpty, b.f32(1), sums.weights);
  Value factor =
      b.intrinsic("llvm.nvvm.rcp.approx.ftz.f", weights, b.getF32Type());
  Value isFirstHalf = b.ult(b.thread.lane, kHalfThreads);
  constexpr int64_t perHalf = kColumns / kNumHalves;
  Value own = b.add(column, b.select(isFirstHalf, b.i32(0), b.i32(perHalf)));
  Type element = cast<MemRefType>(op.getInto().getType()).getElementType();
  b.ifThen(hasColumns, [&] {
    SmallVector<IndexElement> at = b.getPosition(in.getIndices());
    for (int64_t e = 0; e < perHalf; ++e) {
      Value sum =
          b.select(isFirstHalf, sums.values[e], sums.values[perHalf + e]);
      Value value = b.mul(sum, factor);
      if (!element.isF32())
        value = arith::TruncFOp::create(b, element, value);
      at[op.getDim()] = {own, e};
      LLVM::StoreOp::create(
          b, value, b.getAddress(into, at, hopper::getElementBytes(element)));
    }
  });
  if (!op.getLse())
    return;
  Value isFirst = b.eq(b.orI(firstColumn, b.thread.lane), 0);
  b.ifThen(isFirst, [&] {
    Value log =
        b.intrinsic("llvm.nvvm.lg2.approx.ftz.f", weights, b.getF32Type());
    Value lse = b.mul(b.add(shift, log), b.f32(llvm::numbers::ln2));
    lse = b.select(isEmpty, b.f32(-INFINITY), lse);
    SmallVector<IndexElement> at = b.getPosition(in.getLseIndices());
    LLVM::StoreOp::create(
        b, lse,
        b.getAddress(b.getBuffer(op.getLse().getType(), in.getLse()), at, 4));
  });
}

void mlir::attn::populateSplitPatterns(ThreadPatterns &patterns) {
  patterns.add(lowerStoreRows);
  patterns.add(lowerCombine);
}
