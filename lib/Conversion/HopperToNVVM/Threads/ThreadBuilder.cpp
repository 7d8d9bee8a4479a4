//===- ThreadBuilder.cpp - What lowers a kernel to a thread ---------------===//

#include "ThreadBuilder.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include <map>

using namespace mlir;
using namespace mlir::attn;

Elements mlir::attn::mapElements(ArrayRef<ValueRange> operands,
                                 function_ref<Value(ValueRange)> make) {
  size_t count = 1;
  for (ValueRange operand : operands)
    count = std::max(count, operand.size());
  Elements list;
  for (size_t e = 0; e < count; ++e) {
    SmallVector<Value> own;
    for (ValueRange operand : operands)
      own.push_back(operand[operand.size() == 1 ? 0 : e]);
    list.push_back(make(own));
  }
  return list;
}

Elements mlir::attn::mapEqualElements(ThreadBuilder &b,
                                      ArrayRef<ValueRange> operands,
                                      function_ref<Value(ValueRange)> make) {
  std::map<SmallVector<int64_t>, Value> known;
  return mapElements(operands, [&](ValueRange own) {
    SmallVector<int64_t> key;
    for (Value value : own)
      llvm::append_range(key, b.getKey(b.getIndex(value)));
    Value &result = known[key];
    if (!result)
      result = make(own);
    return result;
  });
}

/// Scores, a bias of them, and results.
static constexpr int64_t kProductsOfForward = 3;

static bool hasLoopOfManyProducts(LLVM::LLVMFuncOp function) {
  DenseMap<Operation *, int64_t> counts;
  WalkResult result = function.walk([&](hopper::MmaOp product) {
    auto loop = product->getParentOfType<LoopLikeOpInterface>();
    return loop && ++counts[loop] > kProductsOfForward ? WalkResult::interrupt()
                                                       : WalkResult::advance();
  });
  return result.wasInterrupted();
}

Kernel::Kernel(LLVM::LLVMFuncOp function, bool accurateTanh)
    : function(function), ranges(function),
      hasManyProducts(hasLoopOfManyProducts(function)),
      accurateTanh(accurateTanh) {}

Thread &Kernel::getThread(Operation *op) {
  for (Region *region = op->getParentRegion(); region;
       region = region->getParentRegion())
    if (auto it = threads.find(region); it != threads.end())
      return it->second;
  return all;
}

//===----------------------------------------------------------------------===//
// Short forms
//===----------------------------------------------------------------------===//

Value ThreadBuilder::intrinsic(StringRef name, ValueRange operands, Type type) {
  return LLVM::CallIntrinsicOp::create(*this, type, getStringAttr(name),
                                       operands)
      .getResult(0);
}
Value ThreadBuilder::shuffle(Value value, int64_t lanes) {
  return NVVM::ShflOp::create(*this, value.getType(), i32(-1), value,
                              i32(lanes), i32(31), NVVM::ShflKind::bfly,
                              UnitAttr());
}

Value ThreadBuilder::broadcast(Value value) {
  return NVVM::ShflOp::create(*this, value.getType(), i32(-1), value, i32(0),
                              i32(31), NVVM::ShflKind::idx, UnitAttr());
}

Value ThreadBuilder::addOffset(Value value, int64_t offset) {
  if (offset == 0)
    return value;
  return add(value, offset);
}

Value ThreadBuilder::offsetPointer(Value base, Value offset) {
  return LLVM::GEPOp::create(*this, base.getType(), getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{offset});
}
Value ThreadBuilder::offsetPointer(Value base, int64_t offset) {
  return LLVM::GEPOp::create(
      *this, base.getType(), getI8Type(), base,
      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
}

void ThreadBuilder::ifThen(Value condition, function_ref<void()> body) {
  if (!condition)
    return body();
  auto branch = scf::IfOp::create(*this, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(branch.thenBlock());
  body();
}

SmallVector<Value> ThreadBuilder::asmOp(StringRef text, StringRef constraints,
                                        ValueRange operands,
                                        TypeRange results) {
  Type type = results.size() == 1
                  ? results[0]
                  : Type(LLVM::LLVMStructType::getLiteral(
                        getContext(), SmallVector<Type>(results)));
  if (results.empty())
    type = {};
  auto op = LLVM::InlineAsmOp::create(
      *this, type ? TypeRange(type) : TypeRange(), operands, text, constraints,
      /*has_side_effects=*/true, /*is_align_stack=*/false,
      LLVM::TailCallKind::None,
      LLVM::AsmDialectAttr::get(getContext(), LLVM::AsmDialect::AD_ATT),
      ArrayAttr());
  SmallVector<Value> list;
  if (results.size() == 1)
    list.push_back(op.getResult(0));
  else
    for (size_t number = 0; number < results.size(); ++number)
      list.push_back(
          LLVM::ExtractValueOp::create(*this, op.getResult(0), number));
  return list;
}

Value ThreadBuilder::loadGlobal(Value address, Value condition, unsigned bits) {
  unsigned registerBits = bits == 8 ? 32 : bits;
  StringRef letter = registerBits == 64 ? "l" : registerBits == 32 ? "r" : "h";
  std::string suffix = bits == 8 ? "u8" : ("b" + Twine(bits)).str();
  std::string text = ("{ mov.b" + Twine(registerBits) +
                      " $0, 0; @$2 ld.global.nc." + suffix + " $0, [$1]; }")
                         .str();
  return asmOp(text, ("=&" + letter + ",l,b").str(), {address, condition},
               getIntegerType(registerBits))[0];
}

Value ThreadBuilder::toBool(Value byte) {
  Value value = arith::TruncIOp::create(*this, getI1Type(), byte);
  kernel.facts.bytes[value] = byte;
  return value;
}

Value ThreadBuilder::testBit(Value word, int64_t bit) {
  // LLVM would make it a shift by the constant and a test of bit 0, and the
  // assembler keeps both.
  std::string text = ("{ .reg .b32 t; and.b32 t, $1, " +
                      Twine(uint32_t(1) << bit) + "; setp.ne.b32 $0, t, 0; }")
                         .str();
  return asmOp(text, "=b,r", word, {getI1Type()})[0];
}

Value ThreadBuilder::packPair(Value low, Value high, Type element) {
  StringRef name =
      element.isBF16() ? "llvm.nvvm.ff2bf16x2.rn" : "llvm.nvvm.ff2f16x2.rn";
  Value packed = intrinsic(name, {high, low}, VectorType::get({2}, element));
  return LLVM::BitcastOp::create(*this, getI32Type(), packed);
}

Value ThreadBuilder::getRest(Value value, Type element) {
  Value rounded = arith::TruncFOp::create(*this, element, value);
  return sub(value, arith::ExtFOp::create(*this, getF32Type(), rounded));
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

IndexElement ThreadBuilder::getIndex(Value value) const {
  auto it = kernel.facts.sums.find(value);
  return it == kernel.facts.sums.end() ? IndexElement{value, 0} : it->second;
}

SmallVector<IndexElement> ThreadBuilder::getIndices(ValueRange values) const {
  return llvm::map_to_vector(values,
                             [&](Value value) { return getIndex(value); });
}

std::array<int64_t, 2> ThreadBuilder::getKey(IndexElement index) const {
  APInt constant;
  bool isConstant = index.base &&
                    matchPattern(index.base, m_ConstantInt(&constant)) &&
                    constant.getSignificantBits() <= 64;
  return {isConstant
              ? constant.getSExtValue()
              : reinterpret_cast<intptr_t>(index.base.getAsOpaquePointer()),
          index.offset};
}

FailureOr<SmallVector<IndexElement>>
ThreadBuilder::getCastIndices(ValueRange values) const {
  SmallVector<IndexElement> list;
  for (Value value : values) {
    auto it = kernel.facts.sums.find(value);
    if (it == kernel.facts.sums.end())
      return failure();
    list.push_back(it->second);
  }
  return list;
}

SmallVector<IndexElement>
ThreadBuilder::getPosition(ArrayRef<ValueRange> indices) const {
  return llvm::map_to_vector(
      indices, [&](ValueRange index) { return getIndex(index.front()); });
}

Value ThreadBuilder::toInt(IndexElement index, unsigned bits) {
  if (!index.base)
    return arith::ConstantIntOp::create(*this, index.offset, bits);
  Value value = addOffset(index.base, index.offset);
  unsigned width = value.getType().getIntOrFloatBitWidth();
  if (width < bits)
    return arith::ExtSIOp::create(*this, getIntegerType(bits), value);
  if (width > bits)
    return arith::TruncIOp::create(*this, getIntegerType(bits), value);
  return value;
}

void ThreadBuilder::markRepeated(Value value, Value base) {
  while (value && value != base) {
    Operation *op = value.getDefiningOp();
    kernel.facts.repeated.insert(op);
    value = op->getNumOperands() ? op->getOperand(0) : Value();
  }
}

Value ThreadBuilder::toIndex(IndexElement index) {
  Value value = toInt(index, 64);
  if (value != index.base) {
    kernel.facts.sums[value] = index;
    markRepeated(value, index.base);
  }
  return value;
}

Elements ThreadBuilder::toIndices(ArrayRef<IndexElement> list) {
  return llvm::map_to_vector(
      list, [&](IndexElement index) { return toIndex(index); });
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

BufferParameter ThreadBuilder::getBuffer(Type type, ValueRange values) {
  BufferParameter buffer;
  auto take = [&] {
    Value value = values.front();
    values = values.drop_front();
    return value;
  };
  buffer.pointer = take();
  if (isa<hopper::MapType>(type)) {
    for (int64_t dim = 0; dim < 3; ++dim)
      buffer.strides.push_back(take());
    buffer.extents.push_back({take(), 0});
    return buffer;
  }
  auto memref = cast<MemRefType>(type);
  SmallVector<int64_t> strides;
  int64_t offset;
  (void)memref.getStridesAndOffset(strides, offset);
  for (int64_t dim = 0; dim < memref.getRank(); ++dim) {
    buffer.extents.push_back(memref.isDynamicDim(dim)
                                 ? IndexElement{take(), 0}
                                 : IndexElement{{}, memref.getDimSize(dim)});
    if (ShapedType::isDynamic(strides[dim]))
      buffer.strides.push_back(take());
    else
      buffer.strides.push_back(strides[dim] == 1 ? Value() : i64(strides[dim]));
  }
  return buffer;
}

/// Constant distances are added last, so that elements of one row share all but
/// the offset in the instruction.
Value ThreadBuilder::getAddress(const BufferParameter &buffer,
                                ArrayRef<IndexElement> index, unsigned bytes) {
  Value sum;
  auto addTerm = [&](Value term) { sum = sum ? add(sum, term) : term; };
  int64_t constant = 0;
  for (auto [element, stride] : llvm::zip_equal(index, buffer.strides)) {
    if (element.base) {
      Value term = toInt(IndexElement{element.base, 0}, 64);
      addTerm(stride ? mul(term, stride) : term);
    }
    if (!stride)
      constant += element.offset;
    else if (element.offset != 0)
      addTerm(mul(i64(element.offset), stride));
  }
  Value pointer = buffer.pointer;
  if (sum)
    pointer = offsetPointer(pointer, mul(sum, bytes));
  if (llvm::isInt<31>(constant * bytes))
    return offsetPointer(pointer, constant * bytes);
  return offsetPointer(pointer, i64(constant * bytes));
}
