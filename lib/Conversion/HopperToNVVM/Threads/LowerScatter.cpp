//===- LowerScatter.cpp - Elements that go each to one of a buffer --------===//
//
// Elements that go to one place, as no index depends on their row or column,
// are summed first. Exact sums are integers: whoever adds first, the bits are
// the same.
//
//===----------------------------------------------------------------------===//

#include "ThreadPatterns.h"
#include "attn/Dialect/Attn/IR/AttnGrad.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::attn;

namespace {
/// What a thread adds, where a condition holds, to where its element of number
/// `element` goes.
struct Addend {
  Value value, active;
  int64_t element;
};

class Scatter {
public:
  Scatter(hopper::ScatterAddOp op, Operands<hopper::ScatterAddOp> in,
          ThreadBuilder &b)
      : op(op), in(in), b(b), type(op.getVector().getType()),
        buffer(b.getBuffer(op.getMemref().getType(), in.getMemref())) {}

  void emit();

private:
  Value add(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  Value isEqual(Value number, int64_t other) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, number,
                                 b.i32(other));
  }
  /// The sum over lanes whose numbers differ in these bits.
  Value sumOfLanes(Value value, ArrayRef<int64_t> bits) {
    for (int64_t lanes : bits)
      value = add(value, b.shuffle(value, lanes));
    return value;
  }
  /// The sum of those elements of a thread for which `isIn` holds, with the
  /// number of the first one.
  std::pair<Value, int64_t> sumElements(function_ref<bool(int64_t)> isIn);
  SmallVector<Addend> getAddends();
  IndexElement getIndex(unsigned dim, int64_t element);
  void emitAdd(const Addend &addend);
  void emitExactAdd(Value value, Value address);
  Value getWord(Value address, Value number);

  hopper::ScatterAddOp op;
  Operands<hopper::ScatterAddOp> in;
  ThreadBuilder &b;
  Fragment type;
  BufferParameter buffer;
};
} // namespace

std::pair<Value, int64_t>
Scatter::sumElements(function_ref<bool(int64_t)> isIn) {
  Value sum, zero = b.f32(0);
  int64_t first = -1;
  for (auto [e, value, mask] : llvm::enumerate(in.getVector(), in.getMask())) {
    if (!isIn(e))
      continue;
    Value counted = arith::SelectOp::create(b, mask, value, zero);
    sum = sum ? add(sum, counted) : counted;
    first = first < 0 ? e : first;
  }
  return {sum, first};
}

/// A row of the matrix instruction, an m, is with the four threads of a quad; a
/// column, an n, with the eight threads of a warp that have one place in quads.
SmallVector<Addend> Scatter::getAddends() {
  bool ofRows = false, ofColumns = false;
  for (Value index : op.getIndices())
    if (auto shape = dyn_cast<ShapedType>(index.getType())) {
      ofRows |= shape.getDimSize(1) != 1;
      ofColumns |= shape.getDimSize(0) != 1;
    }
  SmallVector<Addend> addends;
  if (ofRows && ofColumns) {
    for (auto [e, value, mask] : llvm::enumerate(in.getVector(), in.getMask()))
      addends.push_back({value, mask, static_cast<int64_t>(e)});
  } else if (ofRows) {
    for (int64_t r : {0, 1}) {
      auto [sum, first] =
          sumElements([&](int64_t e) { return type.getRow(e) == r; });
      addends.push_back(
          {sumOfLanes(sum, {1, 2}), isEqual(b.thread.quad, r), first});
    }
  } else if (ofColumns) {
    Value inWarp = arith::ShRUIOp::create(b, b.thread.lane, b.i32(2));
    constexpr int64_t numRows = 8;
    for (int64_t c = 0, count = type.getNumRegisters() / 2; c < count; ++c) {
      auto [sum, first] =
          sumElements([&](int64_t e) { return type.getColumn(e) == c; });
      addends.push_back(
          {sumOfLanes(sum, {4, 8, 16}), isEqual(inWarp, c % numRows), first});
    }
  } else {
    auto [sum, first] = sumElements([](int64_t) { return true; });
    addends.push_back(
        {sumOfLanes(sum, {1, 2, 4, 8, 16}), isEqual(b.thread.lane, 0), first});
  }
  return addends;
}

IndexElement Scatter::getIndex(unsigned dim, int64_t element) {
  ValueRange registers = in.getIndices()[dim];
  std::optional<Fragment> fragment =
      Fragment::get(op.getIndices()[dim].getType());
  if (!fragment)
    return b.getIndex(registers.front());
  switch (fragment->layout) {
  case hopper::FragmentLayout::Rows:
    return b.getIndex(registers[type.getRow(element)]);
  case hopper::FragmentLayout::Columns:
    return b.getIndex(registers[type.getColumn(element)]);
  default:
    return b.getIndex(registers[element]);
  }
}

Value Scatter::getWord(Value address, Value number) {
  constexpr int64_t bytes = 8;
  Value offset = b.zext64(number);
  if (Value stride = buffer.strides.front())
    offset = arith::MulIOp::create(b, offset, stride);
  return b.offsetPointer(
      address, arith::MulIOp::create(b, offset, b.i64(bytes)).getResult());
}

/// Of a value m * 2^(p - 149), p = 32 w + s, the lower half of m * 2^s goes to
/// word w, and the upper one to the next.
void Scatter::emitExactAdd(Value value, Value address) {
  constexpr int64_t mantissaBits = 23, wordShift = 5;
  Value bits = arith::BitcastOp::create(b, b.getI32Type(), value);
  Value exponent = arith::ShRUIOp::create(
      b, arith::AndIOp::create(b, bits, b.i32(0x7FFFFFFF)),
      b.i32(mantissaBits));
  Value fraction = arith::AndIOp::create(b, bits, b.i32(0x7FFFFF));
  // Denormal numbers have no leading one, and the exponent 1.
  Value isNormal =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ne, exponent, b.i32(0));
  Value mantissa = arith::OrIOp::create(
      b, fraction,
      arith::SelectOp::create(b, isNormal, b.i32(1 << mantissaBits), b.i32(0)));
  Value place = arith::SubIOp::create(
      b, arith::MaxUIOp::create(b, exponent, b.i32(1)), b.i32(1));
  Value word = arith::ShRUIOp::create(b, place, b.i32(wordShift));
  Value shift = arith::AndIOp::create(b, place, b.i32(kExactSumBits - 1));
  Value wide = arith::ShLIOp::create(b, b.zext64(mantissa), b.zext64(shift));
  Value low = arith::AndIOp::create(b, wide, b.i64(0xFFFFFFFF));
  Value high = arith::ShRUIOp::create(b, wide, b.i64(kExactSumBits));
  Value isNegative =
      arith::CmpIOp::create(b, arith::CmpIPredicate::slt, bits, b.i32(0));
  auto withSign = [&](Value number) -> Value {
    return arith::SelectOp::create(
        b, isNegative, arith::SubIOp::create(b, b.i64(0), number), number);
  };
  constexpr int64_t infinite = 255;
  Value isFinite = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, exponent,
                                         b.i32(infinite));
  b.ifThen(isFinite, [&] {
    Value first = getWord(address, word);
    b.asmOp("red.global.add.u64 [$0], $1;", "l,l", {first, withSign(low)}, {});
    Value hasHigh =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ne, high, b.i64(0));
    b.ifThen(hasHigh, [&] {
      b.asmOp("red.global.add.u64 [$0], $1;", "l,l",
              {getWord(first, b.i32(1)), withSign(high)}, {});
    });
  });
  Value isSpecial =
      arith::XOrIOp::create(b, isFinite, arith::ConstantIntOp::create(b, 1, 1));
  b.ifThen(isSpecial, [&] {
    Value isInfinite =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, fraction, b.i32(0));
    Value infinity = arith::SelectOp::create(
        b, isNegative, b.i64(kExactSumNegInf), b.i64(kExactSumPosInf));
    Value flag =
        arith::SelectOp::create(b, isInfinite, infinity, b.i64(kExactSumNaN));
    b.asmOp("red.global.or.b64 [$0], $1;", "l,l",
            {getWord(address, b.i32(kExactSumFlags)), flag}, {});
  });
}

void Scatter::emitAdd(const Addend &addend) {
  constexpr unsigned wordBytes = 8, floatBytes = 4;
  unsigned leading = op.isExact() ? 1 : 0;
  SmallVector<IndexElement> position(leading);
  // One unsigned comparison covers both ends. Nothing is added for a zero.
  Value active =
      arith::AndIOp::create(b, addend.active,
                            arith::CmpFOp::create(b, arith::CmpFPredicate::UNE,
                                                  addend.value, b.f32(0)));
  for (auto [dim, index] : llvm::enumerate(op.getIndices())) {
    IndexElement at = getIndex(dim, addend.element);
    unsigned width = b.kernel.ranges.fitsInt32(index) ? 32 : 64;
    Value isInside =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ult, b.toInt(at, width),
                              b.toInt(buffer.extents[leading + dim], width));
    active = arith::AndIOp::create(b, active, isInside);
    position.push_back(at);
  }
  b.ifThen(active, [&] {
    if (op.isExact())
      emitExactAdd(addend.value, b.getAddress(buffer, position, wordBytes));
    else
      b.asmOp("red.global.add.f32 [$0], $1;", "l,f",
              {b.getAddress(buffer, position, floatBytes), addend.value}, {});
  });
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
