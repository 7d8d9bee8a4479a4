//===- LowerScatter.cpp - Elements that go each to one of a buffer --------===//
//
// Elements that go to one place, as no index depends on their row or column,
// are summed first, and so are those of a warp that turn out to go to one.
// Additions to one address take turns, and are what a kernel would wait for.
// Exact sums are integers: whoever adds first, the bits are the same.
//
//===----------------------------------------------------------------------===//

#include "ThreadPatterns.h"
#include "attn/Dialect/Attn/IR/AttnGrad.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::attn;

namespace {
/// What a thread adds, where a condition holds, at these indices.
struct Addend {
  Value value, active;
  SmallVector<IndexElement> indices;
  /// Whether all threads of a warp add one.
  bool isOfAll = false;
};

class Scatter {
public:
  Scatter(hopper::ScatterAddOp op, Operands<hopper::ScatterAddOp> in,
          ThreadBuilder &b)
      : op(op), in(in), b(b), type(op.getVector().getType()),
        buffer(b.getBuffer(op.getMemref().getType(), in.getMemref())) {}

  void emit();

private:
  Value add(Value x, Value y) { return b.add(x, y); }
  Value hasLaneBit(int64_t bit) { return b.ne(b.andI(b.thread.lane, bit), 0); }
  Value hasNoLaneBit(int64_t bit) { return b.notI(hasLaneBit(bit)); }
  /// The sum over lanes whose numbers differ in these bits.
  Value sumOfLanes(Value value, ArrayRef<int64_t> bits) {
    for (int64_t lanes : bits)
      value = add(value, b.shuffle(value, lanes));
    return value;
  }
  Value takeOwn(SmallVector<Value> values, ArrayRef<int64_t> bits,
                bool areSummed);
  /// The sum of those elements of a thread for which `isIn` holds.
  Value sumElements(function_ref<bool(int64_t)> isIn);
  SmallVector<Addend> getAddends();
  SmallVector<IndexElement> getIndices(int64_t element);
  SmallVector<IndexElement> getIndices(int64_t first, int64_t count,
                                       ArrayRef<int64_t> bits);
  void emitAdd(const Addend &addend);
  void emitAdd(Value value, Value address);
  void emitExactAdd(Value value, Value address);
  std::pair<Value, Value> joinWarp(Value value, Value active, Value address);
  Value getWord(Value address, Value number);

  hopper::ScatterAddOp op;
  Operands<hopper::ScatterAddOp> in;
  ThreadBuilder &b;
  Fragment type;
  BufferParameter buffer;
};
} // namespace

Value Scatter::sumElements(function_ref<bool(int64_t)> isIn) {
  Value sum, zero = b.f32(0);
  for (auto [e, value, mask] : llvm::enumerate(in.getVector(), in.getMask())) {
    if (!isIn(e))
      continue;
    Value counted = b.select(mask, value, zero);
    sum = sum ? add(sum, counted) : counted;
  }
  return sum;
}

/// Of a power of two of values that one whose number is that of the lane in
/// `bits`, the first of which is the lowest; sums over all lanes that differ in
/// these, each half of whose values the other one takes.
Value Scatter::takeOwn(SmallVector<Value> values, ArrayRef<int64_t> bits,
                       bool areSummed) {
  for (int64_t bit : bits) {
    if (values.size() == 1) {
      if (areSummed)
        values = {sumOfLanes(values.front(), bit)};
      continue;
    }
    Value isOdd = hasLaneBit(bit);
    SmallVector<Value> own;
    for (size_t number = 0; number < values.size(); number += 2) {
      Value even = values[number], odd = values[number + 1];
      Value kept = b.select(isOdd, odd, even);
      if (areSummed)
        kept = add(kept, b.shuffle(b.select(isOdd, even, odd), bit));
      own.push_back(kept);
    }
    values = std::move(own);
  }
  return values.front();
}

/// A row of the matrix instruction, an m, is with the four threads of a quad; a
/// column, an n, with the eight threads of a warp that have one place in quads.
SmallVector<Addend> Scatter::getAddends() {
  bool ofRows = false, ofColumns = false;
  if (type.layout == hopper::FragmentLayout::Threads)
    return {{in.getVector()[0], in.getMask()[0], getIndices(0),
             /*isOfAll=*/true}};
  for (Value index : op.getIndices())
    if (auto shape = dyn_cast<ShapedType>(index.getType())) {
      ofRows |= shape.getDimSize(1) != 1;
      ofColumns |= shape.getDimSize(0) != 1;
    }
  SmallVector<Addend> addends;
  if (ofRows && ofColumns) {
    for (auto [e, value, mask] : llvm::enumerate(in.getVector(), in.getMask()))
      addends.push_back({value, mask, getIndices(e), /*isOfAll=*/true});
  } else if (ofRows) {
    // Two of four threads have a row each.
    SmallVector<Value> sums;
    for (int64_t r : {0, 1})
      sums.push_back(
          sumElements([&](int64_t e) { return type.getRow(e) == r; }));
    constexpr int64_t bits[] = {1, 2}, second = 2;
    addends.push_back({takeOwn(sums, bits, /*areSummed=*/true),
                       hasNoLaneBit(bits[1]), getIndices(0, second, bits)});
  } else if (ofColumns) {
    constexpr int64_t numLanes = 8, bits[] = {4, 8, 16};
    int64_t count = type.getNumRegisters() / 2;
    for (int64_t first = 0; first < count; first += numLanes) {
      int64_t number = std::min(numLanes, count - first);
      // What makes a power of two of them are zeros, which are not added.
      SmallVector<Value> sums(llvm::PowerOf2Ceil(number), b.f32(0));
      for (int64_t c = 0; c < number; ++c)
        sums[c] = sumElements(
            [&](int64_t e) { return type.getColumn(e) == first + c; });
      Value isOne = b.i1(true);
      for (auto [place, bit] : llvm::enumerate(bits))
        if ((size_t(1) << place) >= sums.size())
          isOne = b.andI(isOne, hasNoLaneBit(bit));
      addends.push_back({takeOwn(sums, bits, /*areSummed=*/true), isOne,
                         getIndices(first, number, bits)});
    }
  } else {
    Value sum = sumElements([](int64_t) { return true; });
    addends.push_back({sumOfLanes(sum, {1, 2, 4, 8, 16}),
                       b.eq(b.thread.lane, 0), getIndices(0)});
  }
  return addends;
}

/// Those of an element.
SmallVector<IndexElement> Scatter::getIndices(int64_t element) {
  SmallVector<IndexElement> indices;
  for (auto [value, registers] : llvm::zip(op.getIndices(), in.getIndices())) {
    std::optional<Fragment> fragment = Fragment::get(value.getType());
    int64_t number = !fragment ? 0
                     : fragment->layout == hopper::FragmentLayout::Rows
                         ? type.getRow(element)
                     : fragment->layout == hopper::FragmentLayout::Columns
                         ? type.getColumn(element)
                         : element;
    indices.push_back(b.getIndex(registers[number]));
  }
  return indices;
}

/// Those of the row or the column that the lane has, of `count` from `first`
/// on.
SmallVector<IndexElement> Scatter::getIndices(int64_t first, int64_t count,
                                              ArrayRef<int64_t> bits) {
  SmallVector<IndexElement> indices;
  for (auto [value, registers] : llvm::zip(op.getIndices(), in.getIndices())) {
    if (registers.size() == 1) {
      indices.push_back(b.getIndex(registers.front()));
      continue;
    }
    SmallVector<Value> own(registers.slice(first, count));
    own.resize(llvm::PowerOf2Ceil(count), own.back());
    indices.push_back(b.getIndex(takeOwn(own, bits, /*areSummed=*/false)));
  }
  return indices;
}

Value Scatter::getWord(Value address, Value number) {
  constexpr int64_t bytes = 8;
  Value offset = b.zext64(number);
  if (Value stride = buffer.strides.front())
    offset = b.mul(offset, stride);
  return b.offsetPointer(address, b.mul(offset, bytes));
}

/// Of a value m * 2^(p - 149), p = 32 w + s, the lower half of m * 2^s goes to
/// word w, and the upper one to the next.
void Scatter::emitExactAdd(Value value, Value address) {
  constexpr int64_t mantissaBits = 23, wordShift = 5;
  Value bits = arith::BitcastOp::create(b, b.getI32Type(), value);
  Value exponent = b.shrU(b.andI(bits, 0x7FFFFFFF), mantissaBits);
  Value fraction = b.andI(bits, 0x7FFFFF);
  // Denormal numbers have no leading one, and the exponent 1.
  Value isNormal = b.ne(exponent, 0);
  Value mantissa =
      b.orI(fraction, b.select(isNormal, b.i32(1 << mantissaBits), b.i32(0)));
  Value place = b.sub(b.maxU(exponent, 1), 1);
  Value word = b.shrU(place, wordShift);
  Value shift = b.andI(place, kExactSumBits - 1);
  Value wide = b.shl(b.zext64(mantissa), b.zext64(shift));
  Value low = b.andI(wide, 0xFFFFFFFF);
  Value high = b.shrU(wide, kExactSumBits);
  Value isNegative = b.slt(bits, 0);
  auto withSign = [&](Value number) -> Value {
    return b.select(isNegative, b.sub(b.i64(0), number), number);
  };
  constexpr int64_t infinite = 255;
  Value isFinite = b.ne(exponent, infinite);
  b.ifThen(isFinite, [&] {
    Value first = getWord(address, word);
    b.asmOp("red.global.add.u64 [$0], $1;", "l,l", {first, withSign(low)}, {});
    Value hasHigh = b.ne(high, 0);
    b.ifThen(hasHigh, [&] {
      b.asmOp("red.global.add.u64 [$0], $1;", "l,l",
              {getWord(first, b.i32(1)), withSign(high)}, {});
    });
  });
  Value isSpecial = b.notI(isFinite);
  b.ifThen(isSpecial, [&] {
    Value isInfinite = b.eq(fraction, 0);
    Value infinity =
        b.select(isNegative, b.i64(kExactSumNegInf), b.i64(kExactSumPosInf));
    Value flag = b.select(isInfinite, infinity, b.i64(kExactSumNaN));
    b.asmOp("red.global.or.b64 [$0], $1;", "l,l",
            {getWord(address, b.i32(kExactSumFlags)), flag}, {});
  });
}

/// What a thread adds if all those of a warp which do would add to one address:
/// the first of them has the sum.
std::pair<Value, Value> Scatter::joinWarp(Value value, Value active,
                                          Value address) {
  Type i32 = b.getI32Type();
  Value lanes = b.i32(-1);
  Value adding = NVVM::VoteSyncOp::create(b, i32, lanes, active,
                                          NVVM::VoteSyncKind::ballot);
  Value first = b.intrinsic("llvm.cttz.i32", {adding, b.i1(false)}, i32);
  Value number = LLVM::PtrToIntOp::create(b, b.getI64Type(), address);
  Value isFirst = b.i1(true);
  for (int64_t shift : {0, 32}) {
    Value half = arith::TruncIOp::create(b, i32, b.shrU(number, shift));
    Value other = NVVM::ShflOp::create(b, i32, lanes, half, first, b.i32(31),
                                       NVVM::ShflKind::idx, UnitAttr());
    isFirst = b.andI(isFirst, b.eq(half, other));
  }
  Value isNone = b.notI(active);
  Value areAlike = NVVM::VoteSyncOp::create(
      b, b.getI1Type(), lanes, b.orI(isFirst, isNone), NVVM::VoteSyncKind::all);
  auto join = scf::IfOp::create(b, TypeRange{value.getType(), active.getType()},
                                areAlike, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(join.thenBlock());
  Value sum = sumOfLanes(b.select(active, value, b.f32(0)), {1, 2, 4, 8, 16});
  Value adds = b.andI(active, b.eq(b.thread.lane, first));
  scf::YieldOp::create(b, ValueRange{sum, adds});
  b.setInsertionPointToStart(join.elseBlock());
  scf::YieldOp::create(b, ValueRange{value, active});
  return {join.getResult(0), join.getResult(1)};
}

void Scatter::emitAdd(Value value, Value address) {
  if (op.isExact())
    return emitExactAdd(value, address);
  b.asmOp("red.global.add.f32 [$0], $1;", "l,f", {address, value}, {});
}

void Scatter::emitAdd(const Addend &addend) {
  constexpr unsigned wordBytes = 8, floatBytes = 4;
  unsigned leading = op.isExact() ? 1 : 0;
  SmallVector<IndexElement> position(leading);
  // One unsigned comparison covers both ends. Nothing is added for a zero.
  Value active = b.andI(
      addend.active, b.cmp(arith::CmpFPredicate::UNE, addend.value, b.f32(0)));
  for (auto [dim, index, at] :
       llvm::enumerate(op.getIndices(), addend.indices)) {
    unsigned width = b.kernel.ranges.fitsInt32(index) ? 32 : 64;
    Value isInside = b.ult(b.toInt(at, width),
                           b.toInt(buffer.extents[leading + dim], width));
    active = b.andI(active, isInside);
    position.push_back(at);
  }
  Value value = addend.value,
        address = b.getAddress(buffer, position,
                               op.isExact() ? wordBytes : floatBytes);
  // Where elements are disjoint, threads have different ones anyway.
  if (addend.isOfAll && op.isExact())
    std::tie(value, active) = joinWarp(value, active, address);
  b.ifThen(active, [&] { emitAdd(value, address); });
}

void Scatter::emit() {
  for (const Addend &addend : getAddends())
    emitAdd(addend);
}

static void lowerScatterAdd(hopper::ScatterAddOp op,
                            Operands<hopper::ScatterAddOp> in,
                            ThreadBuilder &b) {
  Scatter(op, in, b).emit();
}

void mlir::attn::populateScatterPatterns(ThreadPatterns &patterns) {
  patterns.add(lowerScatterAdd);
}
