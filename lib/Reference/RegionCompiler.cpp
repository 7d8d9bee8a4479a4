//===- RegionCompiler.cpp - Compile scalar operations ---------------------===//

#include "RegionCompiler.h"
#include "attn/Dialect/Attn/IR/AttnDropout.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

using namespace attn::reference;
using llvm::Error;
using llvm::Expected;
using mlir::Operation;
using mlir::Type;

//===----------------------------------------------------------------------===//
// Types and errors
//===----------------------------------------------------------------------===//

std::optional<ElementType> attn::reference::convertType(Type type) {
  Type element = mlir::getElementTypeOrSelf(type);
  if (element.isF64())
    return ElementType{ElementType::F64};
  if (element.isF32())
    return ElementType{ElementType::F32};
  if (element.isF16())
    return ElementType{ElementType::F16};
  if (element.isBF16())
    return ElementType{ElementType::BF16};
  if (element.isIndex())
    return ElementType{ElementType::Int, 64};
  if (auto integer = mlir::dyn_cast<mlir::IntegerType>(element))
    if (integer.getWidth() >= 1 && integer.getWidth() <= 64)
      return ElementType{ElementType::Int, uint8_t(integer.getWidth())};
  return std::nullopt;
}

Expected<ElementType> attn::reference::convertType(Type type, Operation *op) {
  if (!mlir::isa<mlir::VectorType>(type))
    if (std::optional<ElementType> converted = convertType(type))
      return *converted;
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return makeError(op, "expects values of f64, f32, f16, bf16, index or "
                       "integers of at most 64 bits, but got " +
                           text);
}

Error attn::reference::makeError(Operation *op, const llvm::Twine &message) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  mlir::Location location = op->getLoc();
  if (auto file = mlir::dyn_cast<mlir::FileLineColLoc>(location))
    stream << file.getFilename().getValue() << ":" << file.getLine() << ":"
           << file.getColumn();
  else
    location.print(stream);
  stream << ": '" << op->getName() << "' " << message;
  return llvm::createStringError(text);
}

Error attn::reference::makeUnsupportedError(Operation *op) {
  return makeError(op, "is not an operation that the reference evaluates");
}

//===----------------------------------------------------------------------===//
// Slots and registers
//===----------------------------------------------------------------------===//

RegionCompiler::SlotId RegionCompiler::addSlot(Slot slot) {
  slots.push_back(slot);
  return slots.size() - 1;
}

RegionCompiler::SlotId RegionCompiler::addFloatConstant(double value) {
  Slot slot{/*isFloat=*/true, /*isConstant=*/true};
  slot.floatValue = value;
  slot.isOfScore = false;
  return addSlot(slot);
}

RegionCompiler::SlotId RegionCompiler::addIntConstant(int64_t value) {
  Slot slot{/*isFloat=*/false, /*isConstant=*/true};
  slot.intValue = value;
  slot.isOfScore = false;
  return addSlot(slot);
}

uint32_t RegionCompiler::addRegister(bool isFloat, bool row) {
  Stage &stage = row ? program.row : program.lane;
  return isFloat ? stage.numFloats++ : stage.numInts++;
}

uint32_t RegionCompiler::getRegister(SlotId id, bool row) {
  Slot &slot = slots[id];
  std::optional<uint32_t> &reg = row ? slot.row : slot.lane;
  if (reg)
    return *reg;
  reg = addRegister(slot.isFloat, row);
  if (slot.isConstant) {
    Stage &stage = row ? program.row : program.lane;
    if (slot.isFloat)
      stage.floatConstants.push_back({*reg, slot.floatValue});
    else
      stage.intConstants.push_back({*reg, slot.intValue});
    return *reg;
  }
  assert(!row && slot.row && "only row values are copied, to lanes");
  (slot.isFloat ? program.floatCopies : program.intCopies)
      .push_back({*slot.row, *reg});
  return *reg;
}

uint32_t RegionCompiler::bindRow(mlir::Value value) {
  Slot slot{/*isFloat=*/convertType(value.getType())->isFloat()};
  slot.row = addRegister(slot.isFloat, /*row=*/true);
  slot.isOfScore = slot.isFloat;
  values[value] = addSlot(slot);
  return *slot.row;
}

uint32_t RegionCompiler::bindLane(mlir::Value value) {
  Slot slot{/*isFloat=*/convertType(value.getType())->isFloat()};
  slot.lane = addRegister(slot.isFloat, /*row=*/false);
  slot.isOfScore = slot.isFloat;
  values[value] = addSlot(slot);
  return *slot.lane;
}

void RegionCompiler::bindArray(mlir::Value value, const Array &array,
                               int64_t capture) {
  if (mlir::isa<mlir::ShapedType>(value.getType()))
    arrays[value] = {&array, capture};
  else
    values[value] = array.type.isFloat() ? addFloatConstant(array.floats[0])
                                         : addIntConstant(array.ints[0]);
}

Expected<RegionCompiler::SlotId> RegionCompiler::getSlot(mlir::Value value,
                                                         Operation *user) {
  auto found = values.find(value);
  if (found != values.end())
    return found->second;
  ArrayPtr array = outer ? outer(value) : nullptr;
  if (!array || !array->shape.empty())
    return makeUnsupportedError(user);
  bindArray(value, *array);
  return values.lookup(value);
}

Expected<RegionCompiler::BoundArray> RegionCompiler::getArray(mlir::Value value,
                                                              Operation *user) {
  auto found = arrays.find(value);
  if (found != arrays.end())
    return found->second;
  ArrayPtr array = outer ? outer(value) : nullptr;
  if (!array)
    return makeUnsupportedError(user);
  kept.push_back(array);
  return arrays[value] = {array.get(), -1};
}

Expected<uint32_t> RegionCompiler::getLane(mlir::Value value, Operation *user) {
  Expected<SlotId> slot = getSlot(value, user);
  if (!slot)
    return slot.takeError();
  return getRegister(*slot, /*row=*/false);
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

RegionCompiler::SlotId RegionCompiler::emit(Opcode opcode, bool isFloat,
                                            llvm::ArrayRef<SlotId> operands,
                                            std::optional<uint32_t> immediate) {
  bool row = llvm::all_of(operands, [&](SlotId id) { return isUniform(id); });
  uint32_t fields[3] = {0, 0, 0};
  for (auto [field, operand] : llvm::zip(fields, operands))
    field = getRegister(operand, row);
  if (immediate)
    fields[2] = *immediate;
  Slot slot{isFloat};
  uint32_t dst = addRegister(isFloat, row);
  (row ? slot.row : slot.lane) = dst;
  Stage &stage = row ? program.row : program.lane;
  stage.code.push_back({opcode, dst, fields[0], fields[1], fields[2]});
  slot.isOfScore =
      llvm::any_of(operands, [&](SlotId id) { return slots[id].isOfScore; });
  return addSlot(slot);
}

/// Reads of an array can fail, so unlike other instructions they must not leave
/// the branch of a condition that differs between lanes.
RegionCompiler::SlotId
RegionCompiler::emitAccess(Opcode opcode, bool isFloat, const BoundArray &array,
                           llvm::ArrayRef<SlotId> indices, Operation *op,
                           uint32_t immediate) {
  bool row = divergence == 0 &&
             llvm::all_of(indices, [&](SlotId id) { return isUniform(id); });
  Access access{array.array->view(), array.capture, {}};
  for (SlotId index : indices)
    access.indices.push_back(getRegister(index, row));
  uint32_t first = access.indices.empty() ? 0 : access.indices[0];
  Slot slot{isFloat};
  uint32_t dst = addRegister(isFloat, row);
  (row ? slot.row : slot.lane) = dst;
  Stage &stage = row ? program.row : program.lane;
  stage.code.push_back(
      {opcode, dst, uint32_t(program.accesses.size()), first, immediate});
  program.accesses.push_back(std::move(access));
  accessOps.push_back(op);
  slot.isOfScore =
      array.capture < 0 ||
      llvm::any_of(indices, [&](SlotId id) { return slots[id].isOfScore; });
  return addSlot(slot);
}

std::string RegionCompiler::describe(const AccessError &error) const {
  const Access &access = program.accesses[error.access];
  Operation *op = accessOps[error.access];
  std::string what = access.capture < 0
                         ? std::string("the tensor")
                         : "capture " + std::to_string(access.capture);
  bool ofDim = error.dim == access.array.shape.size();
  return llvm::toString(makeError(
      op, "expects an index from 0 to " + llvm::Twine(error.extent - 1) +
              (ofDim ? llvm::Twine(" of a dimension")
                     : " in dimension " + llvm::Twine(error.dim)) +
              " of " + what + ", of extent " + llvm::Twine(error.extent) +
              ", but got " + llvm::Twine(error.index)));
}

RegionCompiler::SlotId RegionCompiler::round(SlotId slot, ElementType type) {
  if ((mode == EvalMode::Float64 && slots[slot].isOfScore) ||
      type.kind == ElementType::F64)
    return slot;
  Opcode opcode = type.kind == ElementType::F32   ? Opcode::ToF32
                  : type.kind == ElementType::F16 ? Opcode::ToF16
                                                  : Opcode::ToBF16;
  return emit(opcode, /*isFloat=*/true, slot);
}

RegionCompiler::SlotId RegionCompiler::wrap(SlotId slot, ElementType type) {
  if (type.width == 64)
    return slot;
  return emit(Opcode::Wrap, /*isFloat=*/false, slot, type.width);
}

/// The only integer that is not held sign-extended is i1.
RegionCompiler::SlotId RegionCompiler::asSigned(SlotId slot, ElementType type) {
  if (type.width != 1)
    return slot;
  return emit(Opcode::NegI, /*isFloat=*/false, slot);
}

RegionCompiler::SlotId RegionCompiler::asUnsigned(SlotId slot,
                                                  ElementType type) {
  if (type.width == 1 || type.width == 64)
    return slot;
  return emit(Opcode::ZeroExtend, /*isFloat=*/false, slot, type.width);
}

//===----------------------------------------------------------------------===//
// Operations with arrays and regions
//===----------------------------------------------------------------------===//

Error RegionCompiler::compileConstant(Operation *op) {
  mlir::Attribute value = op->getAttr("value");
  Expected<ElementType> type = convertType(op->getResult(0).getType(), op);
  if (!type)
    return type.takeError();
  if (auto number = mlir::dyn_cast_or_null<mlir::FloatAttr>(value))
    values[op->getResult(0)] = addFloatConstant(number.getValueAsDouble());
  else if (auto number = mlir::dyn_cast_or_null<mlir::IntegerAttr>(value))
    values[op->getResult(0)] = addIntConstant(wrapInteger(
        number.getValue().zextOrTrunc(64).getZExtValue(), type->width));
  else
    return makeUnsupportedError(op);
  return Error::success();
}

Error RegionCompiler::compileExtract(Operation *op) {
  auto extract = mlir::cast<mlir::tensor::ExtractOp>(op);
  Expected<ElementType> type = convertType(extract.getType(), op);
  if (!type)
    return type.takeError();
  Expected<BoundArray> array = getArray(extract.getTensor(), op);
  if (!array)
    return array.takeError();
  Slots indices;
  for (mlir::Value index : extract.getIndices()) {
    Expected<SlotId> slot = getSlot(index, op);
    if (!slot)
      return slot.takeError();
    indices.push_back(*slot);
  }
  values[extract] =
      emitAccess(type->isFloat() ? Opcode::ExtractF : Opcode::ExtractI,
                 type->isFloat(), *array, indices, op);
  return Error::success();
}

Error RegionCompiler::compileRange(Operation *op) {
  auto range = mlir::cast<mlir::attn::RangeOp>(op);
  Expected<ElementType> type = convertType(range.getMin().getType(), op);
  if (!type)
    return type.takeError();
  Expected<BoundArray> array = getArray(range.getSource(), op);
  if (!array)
    return array.takeError();
  Slots indices;
  for (mlir::OperandRange ends : {range.getLows(), range.getHighs()})
    for (mlir::Value index : ends) {
      Expected<SlotId> slot = getSlot(index, op);
      if (!slot)
        return slot.takeError();
      indices.push_back(*slot);
    }
  values[range.getMin()] = emitAccess(Opcode::RangeMin, /*isFloat=*/false,
                                      *array, indices, op, type->width);
  values[range.getMax()] = emitAccess(Opcode::RangeMax, /*isFloat=*/false,
                                      *array, indices, op, type->width);
  return Error::success();
}

/// Loops over the positions in the lane stage, around instructions that update
/// both results in place, in the lanes whose positions are not at the end.
Error RegionCompiler::compileRangeOver(Operation *op) {
  auto range = mlir::cast<mlir::attn::RangeOverOp>(op);
  Expected<ElementType> type = convertType(range.getMin().getType(), op);
  if (!type)
    return type.takeError();
  std::vector<Instruction> &code = program.lane.code;
  auto getConstant = [&](int64_t value) {
    return getRegister(addIntConstant(value), /*row=*/false);
  };
  auto addVariable = [&](int64_t value) {
    uint32_t from = getConstant(value), zero = getConstant(0);
    uint32_t variable = addRegister(/*isFloat=*/false, /*row=*/false);
    code.push_back({Opcode::AddI, variable, from, zero});
    return variable;
  };
  unsigned width = type->width;
  uint32_t min = addVariable(width == 1 ? 1 : INT64_MAX >> (64 - width)),
           max = addVariable(width == 1 ? 0 : INT64_MIN >> (64 - width));
  mlir::Block &body = range.getBody().front();
  llvm::SmallVector<size_t, 2> loops;
  uint32_t inside = getConstant(1);
  ++divergence;
  for (auto [position, low, high] : llvm::zip_equal(
           body.getArguments(), range.getLows(), range.getHighs())) {
    Expected<uint32_t> begin = getLane(low, op), end = getLane(high, op);
    if (!begin || !end)
      return llvm::joinErrors(begin.takeError(), end.takeError());
    uint32_t counter = bindLane(position);
    loops.push_back(code.size());
    code.push_back({Opcode::Loop, counter, *begin, *end});
    uint32_t isBelow = addRegister(/*isFloat=*/false, /*row=*/false),
             both = addRegister(/*isFloat=*/false, /*row=*/false);
    code.push_back({Opcode::CmpSlt, isBelow, counter, *end});
    code.push_back({Opcode::AndI, both, inside, isBelow});
    inside = both;
  }
  if (Error error = compileBlock(body))
    return error;
  Expected<uint32_t> value =
      getLane(body.getTerminator()->getOperand(0), body.getTerminator());
  if (!value)
    return value.takeError();
  for (auto [opcode, variable] :
       {std::pair{Opcode::MinSI, min}, std::pair{Opcode::MaxSI, max}}) {
    uint32_t updated = addRegister(/*isFloat=*/false, /*row=*/false);
    code.push_back({opcode, updated, variable, *value});
    code.push_back({Opcode::SelectI, variable, inside, updated, variable});
  }
  --divergence;
  for (size_t loop : loops)
    code[loop].c = code.size();
  for (auto [result, variable] :
       {std::pair{range.getMin(), min}, std::pair{range.getMax(), max}}) {
    Slot slot{/*isFloat=*/false};
    slot.lane = variable;
    values[result] = addSlot(slot);
  }
  return Error::success();
}

Error RegionCompiler::compileDim(Operation *op) {
  auto dim = mlir::cast<mlir::tensor::DimOp>(op);
  Expected<BoundArray> array = getArray(dim.getSource(), op);
  if (!array)
    return array.takeError();
  Expected<SlotId> index = getSlot(dim.getIndex(), op);
  if (!index)
    return index.takeError();
  values[dim] =
      emitAccess(Opcode::DimOf, /*isFloat=*/false, *array, *index, op);
  return Error::success();
}

Error RegionCompiler::compileDropout(Operation *op) {
  auto dropout = mlir::cast<mlir::attn::DropoutOp>(op);
  Slots operands;
  for (mlir::Value operand : op->getOperands()) {
    Expected<SlotId> slot = getSlot(operand, op);
    if (!slot)
      return slot.takeError();
    operands.push_back(*slot);
  }
  bool row = llvm::all_of(operands, [&](SlotId id) { return isUniform(id); });
  DropoutUse use;
  for (auto [field, operand] : llvm::zip_equal(use.operands, operands))
    field = getRegister(operand, row);
  use.leastKept = dropout.getLeastKept();
  use.scale = dropout.getScale();
  Slot slot{/*isFloat=*/true};
  uint32_t dst = addRegister(/*isFloat=*/true, row);
  (row ? slot.row : slot.lane) = dst;
  (row ? program.row : program.lane)
      .code.push_back(
          {Opcode::Dropout, dst, uint32_t(program.dropouts.size())});
  program.dropouts.push_back(use);
  Expected<ElementType> type = convertType(dropout.getType(), op);
  if (!type)
    return type.takeError();
  values[dropout] = round(addSlot(slot), *type);
  return Error::success();
}

/// A loop becomes all that it runs, of which there are derivatives then.
Error RegionCompiler::compileFor(Operation *op) {
  auto loop = mlir::cast<mlir::scf::ForOp>(op);
  auto getBound = [](mlir::Value bound) {
    return *mlir::getConstantIntValue(bound);
  };
  Slots carried;
  for (mlir::Value init : loop.getInitArgs()) {
    Expected<SlotId> slot = getSlot(init, op);
    if (!slot)
      return slot.takeError();
    carried.push_back(*slot);
  }
  mlir::Block &body = *loop.getBody();
  int64_t lower = getBound(loop.getLowerBound()),
          upper = getBound(loop.getUpperBound()),
          step = getBound(loop.getStep());
  // By number, as what follows the last position may be beyond 64 bits.
  int64_t count =
      lower < upper ? llvm::divideCeilSigned(upper - lower, step) : 0;
  for (int64_t n = 0; n < count; ++n) {
    values[loop.getInductionVar()] = addIntConstant(lower + n * step);
    for (auto [argument, slot] :
         llvm::zip_equal(loop.getRegionIterArgs(), carried))
      values[argument] = slot;
    body.walk([&](Operation *inner) {
      for (mlir::Value result : inner->getResults())
        values.erase(result);
    });
    if (Error error = compileBlock(body))
      return error;
    for (auto [slot, yielded] :
         llvm::zip_equal(carried, loop.getYieldedValues())) {
      Expected<SlotId> next = getSlot(yielded, body.getTerminator());
      if (!next)
        return next.takeError();
      slot = *next;
    }
  }
  for (auto [result, slot] : llvm::zip_equal(loop.getResults(), carried))
    values[result] = slot;
  return Error::success();
}

/// A condition that is the same for all lanes makes an `If` in both stages. One
/// that differs makes an `If` in the lane stage; what depends on no lane is
/// then computed before it, which does no harm: instructions cannot fail.
Error RegionCompiler::compileIf(Operation *op) {
  auto branch = mlir::cast<mlir::scf::IfOp>(op);
  Expected<SlotId> condition = getSlot(branch.getCondition(), op);
  if (!condition)
    return condition.takeError();
  bool uniform = isUniform(*condition);
  std::vector<Instruction> &rowCode = program.row.code;
  std::vector<Instruction> &laneCode = program.lane.code;
  size_t rowIf = rowCode.size(), laneIf = laneCode.size();
  // Registers first: a copy of the condition to the lanes is no instruction.
  uint32_t laneReg = getRegister(*condition, /*row=*/false);
  laneCode.push_back({Opcode::If, 0, laneReg});
  if (uniform)
    rowCode.push_back({Opcode::If, 0, getRegister(*condition, /*row=*/true)});
  else
    ++divergence;

  if (Error error = compileBlock(*branch.thenBlock()))
    return error;
  laneCode[laneIf].b = laneCode.size();
  if (uniform)
    rowCode[rowIf].b = rowCode.size();
  if (mlir::Block *otherwise = branch.elseBlock())
    if (Error error = compileBlock(*otherwise))
      return error;
  laneCode[laneIf].c = laneCode.size();
  if (uniform)
    rowCode[rowIf].c = rowCode.size();
  else
    --divergence;
  if (laneCode.size() == laneIf + 1)
    laneCode.pop_back();
  if (uniform && rowCode.size() == rowIf + 1)
    rowCode.pop_back();

  for (auto [result, onTrue, onFalse] :
       llvm::zip(branch.getResults(),
                 branch.getNumResults() ? branch.thenYield().getOperands()
                                        : mlir::OperandRange(nullptr, 0),
                 branch.getNumResults() ? branch.elseYield().getOperands()
                                        : mlir::OperandRange(nullptr, 0))) {
    Expected<ElementType> type = convertType(result.getType(), op);
    if (!type)
      return type.takeError();
    Expected<SlotId> first = getSlot(onTrue, op);
    if (!first)
      return first.takeError();
    Expected<SlotId> second = getSlot(onFalse, op);
    if (!second)
      return second.takeError();
    values[result] = emit(type->isFloat() ? Opcode::SelectF : Opcode::SelectI,
                          type->isFloat(), {*condition, *first, *second});
  }
  return Error::success();
}

Error RegionCompiler::compileBlock(mlir::Block &block) {
  for (Operation &op : block.without_terminator())
    if (Error error = compileOp(&op))
      return error;
  return Error::success();
}

Error RegionCompiler::compileOp(Operation *op) {
  // Bound by the caller, as the indices of loops are.
  if (op->getNumResults() > 0 && values.contains(op->getResult(0)))
    return Error::success();
  if (mlir::isa<mlir::arith::ConstantOp, mlir::index::ConstantOp,
                mlir::index::BoolConstantOp>(op))
    return compileConstant(op);
  if (mlir::isa<mlir::tensor::ExtractOp>(op))
    return compileExtract(op);
  if (mlir::isa<mlir::attn::RangeOp>(op))
    return compileRange(op);
  if (mlir::isa<mlir::attn::RangeOverOp>(op))
    return compileRangeOver(op);
  if (mlir::isa<mlir::tensor::DimOp>(op))
    return compileDim(op);
  if (mlir::isa<mlir::attn::DropoutOp>(op))
    return compileDropout(op);
  if (mlir::isa<mlir::scf::IfOp>(op))
    return compileIf(op);
  if (mlir::isa<mlir::scf::ForOp>(op))
    return compileFor(op);

  OpInfo info{op, {}, {}, {}};
  for (mlir::Value operand : op->getOperands()) {
    Expected<ElementType> type = convertType(operand.getType(), op);
    if (!type)
      return type.takeError();
    Expected<SlotId> slot = getSlot(operand, op);
    if (!slot)
      return slot.takeError();
    info.operands.push_back(*slot);
    info.operandTypes.push_back(*type);
  }
  for (Type result : op->getResultTypes()) {
    Expected<ElementType> type = convertType(result, op);
    if (!type)
      return type.takeError();
    info.resultTypes.push_back(*type);
  }
  Slots results;
  if (!compileByRule(info, results) && !compileCast(info, results) &&
      !compileOther(info, results))
    return makeUnsupportedError(op);
  for (auto [result, slot] : llvm::zip_equal(op->getResults(), results))
    values[result] = slot;
  return Error::success();
}
