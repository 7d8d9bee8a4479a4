//===- LowerElements.cpp - Arithmetic on the elements of a thread ---------===//

#include "ScalarMath.h"
#include "ThreadPatterns.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

static bool isPacked(Type type) {
  std::optional<Fragment> fragment = Fragment::get(type);
  return fragment && fragment->isPacked();
}

/// The two floats of 16 bits in each register, the lower half first.
static Elements unpack(ThreadBuilder &b, ValueRange packed, Type element) {
  auto pair = VectorType::get({2}, element);
  Elements list;
  for (Value bits : packed) {
    Value both = LLVM::BitcastOp::create(b, pair, bits);
    for (int64_t half : {0, 1})
      list.push_back(LLVM::ExtractElementOp::create(b, both, b.i32(half)));
  }
  return list;
}

/// The inverse: two neighbours in one register.
static Elements pack(ThreadBuilder &b, ValueRange halves) {
  Elements list;
  for (size_t e = 0; e < halves.size(); e += 2) {
    Value both = LLVM::PoisonOp::create(
        b, VectorType::get({2}, halves.front().getType()));
    for (int64_t half : {0, 1})
      both =
          LLVM::InsertElementOp::create(b, both, halves[e + half], b.i32(half));
    list.push_back(LLVM::BitcastOp::create(b, b.getI32Type(), both));
  }
  return list;
}

/// What `make` gives for each element of an elementwise operation.
static Elements mapScalars(Operation *op, ArrayRef<ValueRange> operands,
                           ThreadBuilder &b,
                           function_ref<Value(ValueRange)> make) {
  SmallVector<Elements> unpacked(operands.size());
  SmallVector<ValueRange> scalars(operands);
  for (auto [number, type] : llvm::enumerate(op->getOperandTypes()))
    if (isPacked(type))
      scalars[number] = unpacked[number] =
          unpack(b, operands[number], getElementTypeOrSelf(type));
  Elements list = mapElements(scalars, make);
  return isPacked(op->getResult(0).getType()) ? pack(b, list) : list;
}

//===----------------------------------------------------------------------===//
// Values that many elements have
//===----------------------------------------------------------------------===//

static FailureOr<Elements> lowerConstant(arith::ConstantOp op,
                                         Operands<arith::ConstantOp>,
                                         ThreadBuilder &b) {
  TypedAttr attribute = op.getValue();
  if (auto elements = dyn_cast<DenseElementsAttr>(attribute))
    attribute = elements.getSplatValue<TypedAttr>();
  std::optional<Fragment> fragment = Fragment::get(op.getType());
  int64_t count = fragment ? fragment->getNumRegisters() : 1;
  Value value;
  if (isa<IndexType>(attribute.getType())) {
    value = b.toIndex({{}, cast<IntegerAttr>(attribute).getInt()});
  } else if (isPacked(op.getType())) {
    uint64_t bits =
        cast<FloatAttr>(attribute).getValue().bitcastToAPInt().getZExtValue();
    value = b.i32(static_cast<int32_t>(bits << 16 | bits));
  } else {
    value = arith::ConstantOp::create(b, attribute);
  }
  return Elements(count, value);
}

/// Elements keep what is known of them.
static Elements lowerBroadcast(hopper::BroadcastOp op,
                               Operands<hopper::BroadcastOp> in,
                               ThreadBuilder &b) {
  Fragment to(op.getType());
  std::optional<Fragment> from = Fragment::get(op.getSource().getType());
  // The element of the source for each of the result.
  auto select = [&](int64_t e) -> int64_t {
    if (!from)
      return 0;
    return from->layout == hopper::FragmentLayout::Columns ? to.getColumn(e)
                                                           : to.getRow(e);
  };
  Elements list;
  int64_t count = to.getNumRegisters() * (to.isPacked() ? 2 : 1);
  for (int64_t e = 0; e < count; ++e)
    list.push_back(in.getSource()[select(e)]);
  return to.isPacked() ? pack(b, list) : list;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

static FailureOr<Elements> lowerElementwise(Operation *op,
                                            ArrayRef<ValueRange> operands,
                                            ThreadBuilder &b) {
  if (op->getNumResults() != 1 || op->getNumRegions() != 0 ||
      !isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) ||
      op->hasTrait<OpTrait::ConstantLike>())
    return failure();
  Type type = getElementTypeOrSelf(op->getResult(0).getType());
  return mapScalars(op, operands, b, [&](ValueRange own) {
    return emitScalarOp(b, *op, own, type, b.kernel.accurateTanh);
  });
}

/// Booleans that were read are together what their bytes are. One instruction
/// does it for three of them, and predicates, of which a thread has few, are
/// not needed before the end.
template <typename OpT>
static FailureOr<Elements> lowerBytes(OpT op, Operands<OpT> in,
                                      ThreadBuilder &b) {
  if (!getElementTypeOrSelf(op.getType()).isInteger(1))
    return failure();
  for (ValueRange operand : {in.getLhs(), in.getRhs()})
    for (Value element : operand)
      if (!b.kernel.facts.bytes.contains(element))
        return failure();
  return mapElements({in.getLhs(), in.getRhs()}, [&](ValueRange own) {
    return b.toBool(OpT::create(b, b.kernel.facts.bytes.lookup(own[0]),
                                b.kernel.facts.bytes.lookup(own[1])));
  });
}

/// Of anything but indices, also of tiles.
static FailureOr<Elements> lowerSelect(arith::SelectOp op,
                                       Operands<arith::SelectOp> in,
                                       ThreadBuilder &b) {
  if (getElementTypeOrSelf(op.getType()).isIndex())
    return failure();
  return mapScalars(op,
                    {in.getCondition(), in.getTrueValue(), in.getFalseValue()},
                    b, [&](ValueRange own) -> Value {
                      return b.select(own[0], own[1], own[2]);
                    });
}

/// x * (y + c) as x * c + x * y, of which the last product is the same for many
/// elements, so that one instruction is left: where it may round twice.
static FailureOr<Elements> lowerMultiplication(arith::MulFOp op,
                                               Operands<arith::MulFOp> in,
                                               ThreadBuilder &b) {
  if (!bitEnumContainsAll(op.getFastmath(), arith::FastMathFlags::contract))
    return failure();
  auto getSums = [&](ValueRange elements) -> FailureOr<SmallVector<FloatSum>> {
    SmallVector<FloatSum> list;
    for (Value element : elements) {
      auto it = b.kernel.facts.floatSums.find(element);
      if (it == b.kernel.facts.floatSums.end())
        return failure();
      list.push_back(it->second);
    }
    return list;
  };
  FailureOr<SmallVector<FloatSum>> left = getSums(in.getLhs()),
                                   right = getSums(in.getRhs());
  if (!Fragment::get(op.getType()) || succeeded(left) == succeeded(right))
    return failure();
  ValueRange factors = succeeded(left) ? in.getRhs() : in.getLhs();
  Elements list;
  for (auto [x, term] :
       llvm::zip_equal(factors, succeeded(left) ? *left : *right)) {
    Value offset = b.f32(term.offset);
    if (!term.base) {
      list.push_back(b.mul(x, offset));
      continue;
    }
    Value product = b.mul(x, term.base);
    // Not 0 times x, which may be infinite.
    if (term.offset == 0) {
      list.push_back(product);
      continue;
    }
    list.push_back(LLVM::FMAOp::create(b, b.getF32Type(), x, offset, product));
  }
  return list;
}

//===----------------------------------------------------------------------===//
// Floats of 16 bits
//===----------------------------------------------------------------------===//

/// A bf16 is the upper half of an f32.
static FailureOr<Elements>
lowerExtension(arith::ExtFOp op, Operands<arith::ExtFOp> in, ThreadBuilder &b) {
  if (!isPacked(op.getIn().getType()) ||
      !getElementTypeOrSelf(op.getIn().getType()).isBF16() ||
      !getElementTypeOrSelf(op.getType()).isF32())
    return failure();
  Elements list;
  for (Value packed : in.getIn())
    for (Value bits : {b.shl(packed, 16), b.andI(packed, 0xFFFF0000)})
      list.push_back(LLVM::BitcastOp::create(b, b.getF32Type(), bits));
  return list;
}

/// Two neighbours are rounded by one instruction.
static FailureOr<Elements> lowerRounding(arith::TruncFOp op,
                                         Operands<arith::TruncFOp> in,
                                         ThreadBuilder &b) {
  if (!isPacked(op.getType()) || !getElementTypeOrSelf(op.getIn()).isF32())
    return failure();
  Type element = getElementTypeOrSelf(op.getType());
  ValueRange source = in.getIn();
  Elements list;
  for (size_t e = 0; e < source.size(); e += 2)
    list.push_back(b.packPair(source[e], source[e + 1], element));
  return list;
}

void mlir::attn::populateElementwisePatterns(ThreadPatterns &patterns) {
  patterns.add(lowerConstant);
  patterns.add(lowerBroadcast);
  // In front of that for any operation.
  patterns.add(lowerSelect, /*benefit=*/2);
  patterns.add(lowerBytes<arith::AndIOp>, /*benefit=*/2);
  patterns.add(lowerBytes<arith::OrIOp>, /*benefit=*/2);
  patterns.add(lowerMultiplication, /*benefit=*/3);
  patterns.add(lowerExtension, /*benefit=*/3);
  patterns.add(lowerRounding, /*benefit=*/3);
  patterns.addForAny(lowerElementwise);
}
