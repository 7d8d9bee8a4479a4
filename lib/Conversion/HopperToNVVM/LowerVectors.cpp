//===- LowerVectors.cpp - Elements of vectors -----------------------------===//

#include "ScalarMath.h"
#include "ThreadProgram.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include <map>

using namespace mlir;
using namespace mlir::attn;

LogicalResult ThreadProgram::emitConstant(Operation &op) {
  Value result = op.getResult(0);
  Attribute attribute;
  matchPattern(result, m_Constant(&attribute));
  if (auto elements = dyn_cast_or_null<DenseElementsAttr>(attribute)) {
    if (!elements.isSplat())
      return op.emitError("expects a constant vector to be a splat");
    attribute = elements.getSplatValue<Attribute>();
  }
  auto typed = dyn_cast_or_null<TypedAttr>(attribute);
  if (!typed)
    return op.emitError("'") << op.getName() << "' has no form in a GPU kernel";
  int64_t count = getCount(result.getType());
  if (isa<IndexType>(typed.getType())) {
    indices[result].assign(
        count, IndexElement{{}, cast<IntegerAttr>(attribute).getInt()});
    return success();
  }
  Value value;
  if (getElementType(result.getType()) == typed.getType()) {
    value = arith::ConstantOp::create(b, typed);
  } else {
    // Two of 16 bits.
    uint64_t bits =
        cast<FloatAttr>(attribute).getValue().bitcastToAPInt().getZExtValue();
    value = i32(static_cast<int32_t>(bits << 16 | bits));
  }
  values[result] = Elements(count, value);
  return success();
}

LogicalResult ThreadProgram::emitBroadcast(Operation &op) {
  Value source = op.getOperand(0), result = op.getResult(0);
  auto to = cast<VectorType>(result.getType());
  auto from = dyn_cast<VectorType>(source.getType());
  // The element of the source for each of the result.
  auto select = [&](int64_t e) -> int64_t {
    if (!from)
      return 0;
    if (from == to || (from.getDimSize(0) == 1 && to.getDimSize(0) == 4))
      return e;
    if (from.getDimSize(0) == 1 && from.getDimSize(1) != 1)
      return e % 4 / 2;
    return 2 * (e / 4) + e % 2;
  };
  if (from && from.getNumElements() == 1)
    return op.emitError("expects a vector of keys or queries");
  auto spread = [&](const auto &elements) {
    std::decay_t<decltype(elements)> list;
    for (int64_t e = 0, count = getCount(to); e < count; ++e)
      list.push_back(elements[select(e)]);
    return list;
  };
  if (to.getElementType().isIndex()) {
    indices[result] = spread(getIndices(source));
    return success();
  }
  values[result] = spread(get(source));
  if (auto known = floatSums.find(source); known != floatSums.end())
    floatSums[result] = spread(known->second);
  if (auto known = castIndices.find(source); known != castIndices.end())
    castIndices[result] = spread(known->second);
  if (auto known = limits.find(source); known != limits.end())
    limits[result] = spread(known->second);
  return success();
}

/// x * (y + c) as x * c + x * y, of which the last product is the same for many
/// elements, so that one instruction is left.
LogicalResult ThreadProgram::emitMultiplication(arith::MulFOp op) {
  Value factor = op.getLhs(), sum = op.getRhs();
  if (floatSums.contains(factor))
    std::swap(factor, sum);
  auto it = floatSums.find(sum);
  if (it == floatSums.end() || floatSums.contains(factor) ||
      !isa<VectorType>(op.getType()))
    return emitElementwise(*op);
  Elements factors = get(factor), list;
  for (auto [e, term] : llvm::enumerate(it->second)) {
    Value x = factors.size() == 1 ? factors[0] : factors[e];
    Value offset = f32(term.offset);
    if (!term.base) {
      list.push_back(arith::MulFOp::create(b, x, offset));
      continue;
    }
    Value product = arith::MulFOp::create(b, x, term.base);
    list.push_back(LLVM::FMAOp::create(b, b.getF32Type(), x, offset, product));
  }
  values[op.getResult()] = list;
  return success();
}

/// The two floats of 16 bits in each register as f32, the lower half first.
LogicalResult ThreadProgram::emitExtension(Operation &op) {
  auto type = dyn_cast<VectorType>(op.getOperand(0).getType());
  if (!type || getElementType(type) == type.getElementType())
    return emitElementwise(op);
  Value result = op.getResult(0);
  if (!getElementTypeOrSelf(result.getType()).isF32())
    return op.emitError("expects an extension to f32");
  auto pair = VectorType::get({2}, type.getElementType());
  Elements list;
  for (Value packed : Elements(get(op.getOperand(0)))) {
    if (type.getElementType().isBF16()) {
      // The upper half of a float.
      for (Value bits :
           {arith::ShLIOp::create(b, packed, i32(16)).getResult(),
            arith::AndIOp::create(b, packed, i32(0xFFFF0000)).getResult()})
        list.push_back(LLVM::BitcastOp::create(b, b.getF32Type(), bits));
      continue;
    }
    Value both = LLVM::BitcastOp::create(b, pair, packed);
    for (int64_t half : {0, 1})
      list.push_back(LLVM::FPExtOp::create(
          b, b.getF32Type(),
          LLVM::ExtractElementOp::create(b, both, i32(half))));
  }
  values[result] = list;
  return success();
}

/// Two floats of 16 bits in one register.
Value ThreadProgram::packPair(Value low, Value high, Type element) {
  StringRef name =
      element.isBF16() ? "llvm.nvvm.ff2bf16x2.rn" : "llvm.nvvm.ff2f16x2.rn";
  Value packed = intrinsic(name, {high, low}, VectorType::get({2}, element));
  return LLVM::BitcastOp::create(b, b.getI32Type(), packed);
}

/// Two neighbouring floats in one register, the first in the lower half.
LogicalResult ThreadProgram::emitRounding(Operation &op) {
  Value result = op.getResult(0);
  auto type = dyn_cast<VectorType>(result.getType());
  if (!type || getElementType(type) == type.getElementType())
    return emitElementwise(op);
  Elements source = get(op.getOperand(0)), list;
  for (size_t e = 0; e < source.size(); e += 2)
    list.push_back(packPair(source[e], source[e + 1], type.getElementType()));
  values[result] = list;
  return success();
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

LogicalResult ThreadProgram::emitElementwise(Operation &op) {
  if (failed(verifyScalarOp(op)))
    return failure();
  Value result = op.getResult(0);
  Type type = getElementTypeOrSelf(result.getType());
  for (Type used : op.getOperandTypes())
    if (getElementType(used) != getElementTypeOrSelf(used))
      return op.emitError("expects arithmetic in f32 on vectors of keys and "
                          "queries, but got ")
             << used;
  Elements list;
  for (int64_t e = 0, count = getCount(result.getType()); e < count; ++e) {
    SmallVector<Value> operands;
    for (Value operand : op.getOperands()) {
      Elements &elements = get(operand);
      operands.push_back(elements.size() == 1 ? elements[0] : elements[e]);
    }
    list.push_back(emitScalarOp(b, op, operands, type, accurateTanh));
  }
  values[result] = list;
  return success();
}

//===----------------------------------------------------------------------===//
// Reductions and positions
//===----------------------------------------------------------------------===//

/// Combines in two chains, which hides latency without more registers.
static Value reduceList(ArrayRef<Value> list,
                        function_ref<Value(Value, Value)> combine) {
  constexpr size_t numChains = 2;
  SmallVector<Value> chains(list.take_front(numChains));
  for (auto [number, value] : llvm::enumerate(list.drop_front(chains.size())))
    chains[number % numChains] = combine(chains[number % numChains], value);
  Value result = chains[0];
  for (Value chain : ArrayRef(chains).drop_front())
    result = combine(result, chain);
  return result;
}

void ThreadProgram::emitReduce(hopper::ReduceOp op) {
  bool isMax = op.getKind() == "max";
  auto combine = [&](Value x, Value y) -> Value {
    if (isMax)
      return arith::MaxNumFOp::create(b, x, y);
    return arith::AddFOp::create(b, x, y);
  };
  Elements source = get(op.getSource()), list;
  auto type = cast<VectorType>(op.getSource().getType());
  for (int64_t r : {0, 1}) {
    Value value;
    if (type.getDimSize(0) <= 4) {
      value = source[r];
    } else {
      SmallVector<Value> ofRow;
      for (size_t e = 0; e < source.size(); ++e)
        if (static_cast<int64_t>(e % 4 / 2) == r)
          ofRow.push_back(source[e]);
      value = reduceList(ofRow, combine);
    }
    list.push_back(value);
  }
  // Over the four threads that share a row.
  auto resultType = cast<VectorType>(op.getResult().getType());
  if (resultType.getDimSize(0) == 1 && type.getDimSize(0) != 1)
    for (int64_t distance : {1, 2})
      for (Value &value : list)
        value = combine(value, shuffle(value, distance));
  values[op.getResult()] = list;
}

void ThreadProgram::emitAny(hopper::AnyOp op) {
  Elements &elements = get(op.getCondition());
  Value condition = elements[0];
  for (Value element : ArrayRef(elements).drop_front())
    condition = arith::OrIOp::create(b, condition, element);
  values[op.getResult()] = {NVVM::VoteSyncOp::create(
      b, b.getI1Type(), i32(-1), condition, NVVM::VoteSyncKind::any)};
}

void ThreadProgram::emitIota(hopper::IotaOp op) {
  auto type = cast<VectorType>(op.getResult().getType());
  SmallVector<IndexElement> list;
  if (type.getDimSize(0) == 1) {
    list = {{row, 0}, {row, 8}};
  } else {
    Value first = arith::ShLIOp::create(b, quad, i32(1));
    bases[first] = {0, 6};
    for (int64_t e = 0, count = getCount(type); e < count; ++e)
      list.push_back({first, 8 * (e / 2) + e % 2});
  }
  indices[op.getResult()] = list;
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

/// The address of an element, in 64 bits. Constant distances are added last, so
/// that elements of one row share all but the offset in the instruction.
Value ThreadProgram::getAddress(const BufferParameter &buffer,
                                ArrayRef<IndexElement> index, unsigned bytes) {
  Value sum;
  auto add = [&](Value term) {
    sum = sum ? arith::AddIOp::create(b, sum, term).getResult() : term;
  };
  int64_t constant = 0;
  for (auto [element, stride] : llvm::zip_equal(index, buffer.strides)) {
    if (element.base) {
      Value term = toInt({element.base, 0}, 64);
      add(stride ? arith::MulIOp::create(b, term, stride).getResult() : term);
    }
    if (!stride)
      constant += element.offset;
    else if (element.offset != 0)
      add(arith::MulIOp::create(b, i64(element.offset), stride));
  }
  Value pointer = buffer.pointer;
  auto advance = [&](LLVM::GEPArg offset) {
    pointer = LLVM::GEPOp::create(b, pointer.getType(), b.getI8Type(), pointer,
                                  ArrayRef<LLVM::GEPArg>{offset});
  };
  if (sum)
    advance(arith::MulIOp::create(b, sum, i64(bytes)).getResult());
  if (llvm::isInt<31>(constant * bytes))
    advance(static_cast<int32_t>(constant * bytes));
  else
    advance(i64(constant * bytes));
  return pointer;
}

/// What is equal for equal values; a splat constant is one value or many.
static int64_t toKey(Value value) {
  APInt constant;
  if (value && matchPattern(value, m_ConstantInt(&constant)))
    return constant.getZExtValue();
  return reinterpret_cast<intptr_t>(value.getAsOpaquePointer());
}

LogicalResult ThreadProgram::emitGather(GatherOp op) {
  const BufferParameter &buffer = buffers.at(op.getSource());
  Type element = getElementTypeOrSelf(op.getType());
  bool isIndex = element.isIndex(), isBool = element.isInteger(1);
  unsigned bits = isIndex ? 64 : isBool ? 8 : element.getIntOrFloatBitWidth();
  Type loadType = b.getIntegerType(std::max(bits, 16u));
  StringRef letter = bits == 64 ? "l" : bits == 32 ? "r" : "h";
  std::string suffix = bits == 8 ? "u8" : ("b" + Twine(bits)).str();
  std::string move = bits == 64   ? "mov.b64"
                     : bits == 32 ? "mov.b32"
                                  : "mov.b16";
  // Not read unless the predicate holds.
  std::string text = ("{ " + Twine(move) + " $0, 0; @$2 ld.global.nc." +
                      suffix + " $0, [$1]; }")
                         .str();
  std::string constraints = ("=&" + letter + ",l,b").str();
  Elements list;
  SmallVector<IndexElement> indexList;
  // Of 16-bit floats, two go to one register.
  bool isPacked = getElementType(op.getType()) != element;
  int64_t count = getCount(op.getType()) * (isPacked ? 2 : 1);
  // Elements with one position are loaded once, such as those on a diagonal of
  // what is read at the distance of query and key.
  std::map<SmallVector<int64_t>, Value> known;
  for (int64_t e = 0; e < count; ++e) {
    SmallVector<IndexElement> position;
    Elements &mask = get(op.getMask());
    Value active = mask.size() == 1 ? mask[0] : mask[e];
    SmallVector<int64_t> key = {toKey(active)};
    for (Value index : op.getIndices()) {
      SmallVector<IndexElement> elements = getIndices(index);
      IndexElement at = elements.size() == 1 ? elements[0] : elements[e];
      position.push_back(at);
      llvm::append_values(key, toKey(at.base), at.offset);
    }
    if (auto it = known.find(key); it != known.end()) {
      if (isIndex)
        indexList.push_back({it->second, 0});
      else
        list.push_back(it->second);
      continue;
    }
    for (auto [number, index] : llvm::enumerate(op.getIndices())) {
      unsigned width = getInterval(index).fitsInt32() ? 32 : 64;
      Value inRange = arith::CmpIOp::create(
          b, arith::CmpIPredicate::ult, toInt(position[number], width),
          toInt(buffer.extents[number], width));
      active = arith::AndIOp::create(b, active, inRange);
    }
    Value address = getAddress(buffer, position, bits / 8);
    Value loaded = emitAsm(text, constraints, {address, active}, loadType)[0];
    if (isIndex) {
      known[key] = loaded;
      indexList.push_back({loaded, 0});
      continue;
    }
    if (isPacked)
      loaded = arith::ExtUIOp::create(b, b.getI32Type(), loaded);
    else if (isBool)
      loaded = arith::TruncIOp::create(b, b.getI1Type(), loaded);
    else if (bits == 8)
      loaded = arith::TruncIOp::create(b, element, loaded);
    else if (isa<FloatType>(element))
      loaded = arith::BitcastOp::create(b, element, loaded);
    known[key] = loaded;
    list.push_back(loaded);
  }
  if (isPacked) {
    Elements packed;
    for (size_t e = 0; e < list.size(); e += 2)
      packed.push_back(arith::OrIOp::create(
          b, list[e], arith::ShLIOp::create(b, list[e + 1], i32(16))));
    list = packed;
  }
  if (isIndex)
    indices[op.getResult()] = indexList;
  else
    values[op.getResult()] = list;
  return success();
}
