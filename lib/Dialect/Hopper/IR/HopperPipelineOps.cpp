//===- HopperPipelineOps.cpp - A kernel before it has partitions ----------===//

#include "Verify.h"
#include "attn/Dialect/Hopper/IR/Hopper.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::hopper;

static void printAssignments(OpAsmPrinter &printer, ValueRange arguments,
                             ValueRange inits) {
  if (inits.empty())
    return;
  printer << " iter_args(";
  llvm::interleaveComma(llvm::zip_equal(arguments, inits), printer,
                        [&](auto pair) {
                          printer.printOperand(std::get<0>(pair));
                          printer << " = " << std::get<1>(pair);
                        });
  printer << ")";
}

//===----------------------------------------------------------------------===//
// WorkLoopOp
//===----------------------------------------------------------------------===//

SmallVector<Value> WorkLoopOp::getExtents() {
  SmallVector<Value> extents = {getBatches(), getHeads(), getTiles()};
  if (getNumSplits())
    extents.push_back(getNumSplits());
  return extents;
}

int64_t WorkLoopOp::getRowsOf(Value id) {
  int64_t most = 1;
  for (Operation *user : id.getUsers())
    if (auto rows = dyn_cast<WorkRowsOp>(user); rows && rows.getTile() == id)
      most = std::max<int64_t>(most, rows.getSize());
  return most;
}

ParseResult WorkLoopOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> extents, inits;
  OpAsmParser::UnresolvedOperand counter, group;
  Builder &builder = parser.getBuilder();
  Type index = builder.getIndexType(), i32 = builder.getI32Type();
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren) ||
      parser.parseKeyword("in") ||
      parser.parseOperandList(extents, OpAsmParser::Delimiter::Paren))
    return failure();
  size_t numIds = extents.size();
  if ((numIds != 3 && numIds != 4) || arguments.size() != numIds + 1)
    return parser.emitError(loc, "expects three or four extents, and an "
                                 "argument more than extents");
  if (parser.resolveOperands(extents, index, result.operands))
    return failure();
  int32_t numCounters = 0, numGroups = 0;
  if (succeeded(parser.parseOptionalKeyword("counter"))) {
    Type type;
    if (parser.parseOperand(counter) || parser.parseColonType(type) ||
        parser.resolveOperand(counter, type, result.operands))
      return failure();
    numCounters = 1;
  }
  if (succeeded(parser.parseOptionalKeyword("group"))) {
    if (parser.parseOperand(group) ||
        parser.resolveOperand(group, index, result.operands))
      return failure();
    numGroups = 1;
  }
  SmallVector<Type> types;
  loc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword("iter_args")) &&
      (parser.parseAssignmentList(arguments, inits) ||
       parser.parseColonTypeList(types)))
    return failure();
  if (types.size() != inits.size())
    return parser.emitError(loc, "expects a type of each carried value");
  for (auto [number, argument] : llvm::enumerate(arguments))
    argument.type = number < numIds    ? index
                    : number == numIds ? i32
                                       : types[number - numIds - 1];
  Region *body = result.addRegion();
  if (parser.resolveOperands(inits, types, loc, result.operands) ||
      parser.parseRegion(*body, arguments) ||
      parser.parseOptionalAttrDict(result.attributes))
    return failure();
  ensureTerminator(*body, parser.getBuilder(), result.location);
  result.addTypes(types);
  llvm::copy(ArrayRef<int32_t>{1, 1, 1, static_cast<int32_t>(numIds - 3),
                               numCounters, numGroups,
                               static_cast<int32_t>(inits.size())},
             result.getOrAddProperties<WorkLoopOp::Properties>()
                 .operandSegmentSizes.begin());
  return success();
}

void WorkLoopOp::print(OpAsmPrinter &printer) {
  printer << " (";
  llvm::interleaveComma(getBody().getArguments().take_front(getNumIds() + 1),
                        printer,
                        [&](Value value) { printer.printOperand(value); });
  printer << ") in (";
  llvm::interleaveComma(getExtents(), printer);
  printer << ")";
  if (Value counter = getCounter())
    printer << " counter " << counter << " : " << counter.getType();
  if (Value group = getGroup())
    printer << " group " << group;
  printAssignments(printer, getCarried(), getInits());
  if (!getInits().empty())
    printer << " : " << getInits().getTypes();
  printer << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false,
                      /*printBlockTerminators=*/!getInits().empty());
  printer.printOptionalAttrDict((*this)->getAttrs(), {"operandSegmentSizes"});
}

LogicalResult WorkLoopOp::verifyRegions() {
  if (getBody().getNumArguments() != getNumIds() + 1 + getInits().size() ||
      !llvm::all_of(getIds().getTypes(), llvm::IsaPred<IndexType>) ||
      !getNumber().getType().isInteger(32) ||
      getCarried().getTypes() != getInits().getTypes())
    return emitOpError("expects a body with an index for each extent, an i32 "
                       "and the carried values as arguments");
  if (getEnd().getValues().getTypes() != getInits().getTypes() ||
      getResultTypes() != getInits().getTypes())
    return emitOpError("expects the body to end with the carried values");
  return success();
}

LogicalResult WorkRowsOp::verify() {
  if (getSize() == 0 || getSize() % kWarpgroupRows != 0)
    return emitOpError("expects a size that is a positive multiple of ")
           << kWarpgroupRows << ", but got " << getSize();
  return success();
}

LogicalResult SplitOfRangeOp::verify() {
  for (auto [name, value] : {std::pair<StringRef, int64_t>{"step", getStep()},
                             {"least number of blocks", getLeast()}})
    if (value <= 0)
      return emitOpError("expects a positive ")
             << name << ", but got " << value;
  return success();
}

//===----------------------------------------------------------------------===//
// hopper::StepOp
//===----------------------------------------------------------------------===//

LogicalResult hopper::StepOp::verify() {
  if (getBody().getNumArguments() != 0)
    return emitOpError("expects a region without arguments");
  auto end = dyn_cast<EndOp>(getBlock()->getTerminator());
  if (!end || end.getValues().getTypes() != getResultTypes())
    return emitOpError("expects the region to end with values of the types of "
                       "the results");
  return success();
}

//===----------------------------------------------------------------------===//
// PipelinedForOp
//===----------------------------------------------------------------------===//

ParseResult PipelinedForOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  OpAsmParser::Argument variable;
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> bounds, inits;
  bool isWhile = succeeded(parser.parseOptionalKeyword("while"));
  bool isWithin = false, onlyLast = false;
  variable.type = builder.getIndexType();
  int64_t step = 0;
  SMLoc loc;
  Attribute schedule, exclusive = builder.getArrayAttr({});
  if (!isWhile) {
    arguments.push_back(variable);
    if (parser.parseArgument(arguments.back()))
      return failure();
    arguments.back().type = variable.type;
    if (succeeded(parser.parseOptionalComma())) {
      if (parser.parseArgument(arguments.emplace_back()))
        return failure();
      arguments.back().type = builder.getI1Type();
    }
    if (parser.parseEqual())
      return failure();
  }
  bool isBounded = !isWhile || succeeded(parser.parseOptionalKeyword("from"));
  if (isBounded) {
    bounds.resize(2);
    if (parser.parseOperand(bounds[0]) || parser.parseKeyword("to") ||
        parser.parseOperand(bounds[1]) || parser.parseKeyword("step") ||
        parser.parseInteger(step))
      return failure();
  }
  size_t numVariables = arguments.size();
  if (succeeded(parser.parseOptionalKeyword("within"))) {
    isWithin = true;
    bounds.resize(4);
    if (parser.parseOperand(bounds[2]) || parser.parseKeyword("to") ||
        parser.parseOperand(bounds[3]))
      return failure();
  }
  onlyLast = succeeded(parser.parseOptionalKeyword("only_last_partial"));
  if (parser.resolveOperands(bounds, variable.type, result.operands))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("iter_args")) &&
      parser.parseAssignmentList(arguments, inits))
    return failure();
  if (parser.parseKeyword("schedule") || parser.parseAttribute(schedule))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("exclusive")) &&
      parser.parseAttribute(exclusive))
    return failure();
  SmallVector<Type> types;
  loc = parser.getCurrentLocation();
  if (!inits.empty() && parser.parseColonTypeList(types))
    return failure();
  if (types.size() != inits.size())
    return parser.emitError(loc, "expects a type for each carried value");
  for (auto [argument, type] : llvm::zip_equal(
           MutableArrayRef(arguments).drop_front(numVariables), types))
    argument.type = type;
  auto scheduleArray = dyn_cast<ArrayAttr>(schedule);
  auto exclusiveArray = dyn_cast<ArrayAttr>(exclusive);
  if (!scheduleArray || !exclusiveArray)
    return parser.emitError(loc, "expects lists of places and of names");
  auto &properties = result.getOrAddProperties<PipelinedForOp::Properties>();
  properties.step = builder.getI64IntegerAttr(step);
  properties.schedule = scheduleArray;
  properties.exclusive = exclusiveArray;
  if (onlyLast)
    properties.only_last_partial = builder.getUnitAttr();
  if (isWhile)
    properties.told = builder.getUnitAttr();
  llvm::copy(ArrayRef<int32_t>{isBounded, isBounded, isWithin, isWithin,
                               static_cast<int32_t>(inits.size())},
             properties.operandSegmentSizes.begin());
  Region *body = result.addRegion(), *classes = result.addRegion();
  if (succeeded(parser.parseOptionalKeyword("classes"))) {
    OpAsmParser::Argument first;
    first.type = variable.type;
    if (parser.parseLParen() || parser.parseArgument(first) ||
        parser.parseRParen() || parser.parseRegion(*classes, first))
      return failure();
  }
  if (parser.resolveOperands(inits, types, loc, result.operands) ||
      parser.parseRegion(*body, arguments) ||
      parser.parseOptionalAttrDict(result.attributes))
    return failure();
  if (body->front().empty() ||
      !body->front().back().hasTrait<OpTrait::IsTerminator>()) {
    OpBuilder end(builder.getContext());
    end.setInsertionPointToEnd(&body->front());
    EndOp::create(end, result.location);
  }
  result.addTypes(types);
  return success();
}

void PipelinedForOp::print(OpAsmPrinter &printer) {
  printer << " ";
  if (isWhile()) {
    printer << "while";
  } else {
    llvm::interleaveComma(
        getBody().getArguments().take_front(getNumVariables()), printer,
        [&](Value value) { printer.printOperand(value); });
    printer << " =";
  }
  if (getLower())
    printer << (isWhile() ? " from " : " ") << getLower() << " to "
            << getUpper() << " step " << getStep();
  if (getOuterLower())
    printer << " within " << getOuterLower() << " to " << getOuterUpper();
  if (getOnlyLastPartial())
    printer << " only_last_partial";
  printAssignments(printer, getCarried(), getInits());
  printer.printNewline();
  printer << "    schedule " << getSchedule();
  if (!getExclusive().empty())
    printer << " exclusive " << getExclusive();
  if (!getInits().empty())
    printer << " : " << getInits().getTypes();
  if (hasClasses()) {
    printer.printNewline();
    printer << "    classes(" << getClasses().getArgument(0) << ") ";
    printer.printRegion(getClasses(), /*printEntryBlockArgs=*/false);
  }
  printer << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false,
                      /*printBlockTerminators=*/!getInits().empty());
  printer.printOptionalAttrDict((*this)->getAttrs(),
                                {"step", "schedule", "exclusive",
                                 "only_last_partial", "told",
                                 "operandSegmentSizes"});
}

std::pair<int64_t, int64_t> PipelinedForOp::getPlace(StringRef step) {
  for (auto [number, place] :
       llvm::enumerate(getSchedule().getAsRange<PlaceAttr>()))
    if (place.getName() == step)
      return {number, place.getStage()};
  return {-1, -1};
}

LogicalResult PipelinedForOp::verify() {
  if (!getLower() != !getUpper() || (!isWhile() && !getLower()))
    return emitOpError("expects both bounds, or none of a loop with while");
  if (getLower() && getStep() <= 0)
    return emitOpError("expects a positive step");
  if (!getOuterLower() != !getOuterUpper())
    return emitOpError("expects both bounds after within");
  if (isWhile() &&
      (getInits().empty() || !getInits().front().getType().isInteger(32) ||
       getOuterLower() || hasClasses() || getOnlyLastPartial()))
    return emitOpError("expects an i32 that is carried first, and neither "
                       "within nor classes, of a loop with while");
  if (hasClasses() && (getStep() % kCodeAlignment != 0 || getOuterLower() ||
                       getOnlyLastPartial()))
    return emitOpError("expects a step that is a multiple of ")
           << kCodeAlignment
           << " of a loop with classes, and neither within nor "
              "only_last_partial";
  unsigned numVariables = getNumVariables();
  if (getBody().getNumArguments() != numVariables + getInits().size() ||
      (numVariables > 0 && !getInductionVar().getType().isIndex()) ||
      (numVariables > 1 && !getIsFull().getType().isInteger(1)) ||
      getCarried().getTypes() != getInits().getTypes() ||
      getResultTypes() != getInits().getTypes())
    return emitOpError("expects a body with ")
           << (hasClasses() ? "an index, an i1"
               : isWhile()  ? "no variable"
                            : "an index")
           << " and the carried values as arguments";
  llvm::StringSet<> names;
  for (auto place : getSchedule().getAsRange<PlaceAttr>())
    if (!names.insert(place.getName()).second)
      return emitOpError("expects one place for the step '")
             << place.getName() << "'";
  for (auto name : getExclusive().getAsRange<StringAttr>())
    if (!names.contains(name.getValue())) {
      InFlightDiagnostic diagnostic =
          emitOpError("expects steps that exclude each other to be of the "
                      "schedule, but got '")
          << name.getValue() << "'; its steps are ";
      llvm::interleaveComma(
          getSchedule().getAsRange<PlaceAttr>(), diagnostic,
          [&](PlaceAttr place) { diagnostic << place.getName(); });
      return diagnostic;
    }
  return success();
}

/// An error about the schedule of a loop, which tells what it may name.
static LogicalResult rejectSchedule(PipelinedForOp loop, Location loc,
                                    const Twine &problem) {
  InFlightDiagnostic diagnostic = emitError(loc)
                                  << problem << "; the steps are ";
  llvm::interleaveComma(
      loop.getBlock()->getOps<hopper::StepOp>(), diagnostic,
      [&](hopper::StepOp step) { diagnostic << step.getName(); });
  return diagnostic;
}

/// The step of the loop's body that a value comes from, or null.
static hopper::StepOp getStepOf(PipelinedForOp loop, Value value) {
  auto step = value.getDefiningOp<hopper::StepOp>();
  return step && step->getParentOp() == loop ? step : hopper::StepOp();
}

LogicalResult PipelinedForOp::verifyRegions() {
  auto end = dyn_cast<EndOp>(getBlock()->getTerminator());
  if (!end || end.getValues().getTypes() != getInits().getTypes())
    return emitOpError("expects the body to end with values of the types that "
                       "are carried");
  if (hasClasses()) {
    Type i1 = IntegerType::get(getContext(), 1);
    auto classes = dyn_cast<EndOp>(getClasses().front().getTerminator());
    if (getClasses().getNumArguments() != 1 ||
        !getClasses().getArgument(0).getType().isIndex() || !classes ||
        classes.getValues().getTypes() != TypeRange{i1, i1})
      return emitOpError("expects classes that end with two values of i1, for "
                         "an index");
  }
  llvm::StringMap<hopper::StepOp> steps;
  for (Operation &op : getBlock()->without_terminator()) {
    auto step = dyn_cast<hopper::StepOp>(op);
    if (!step) {
      if (!isPure(&op))
        return op.emitOpError("expects to be in a step of the loop, as it is "
                              "not pure");
      continue;
    }
    if (!steps.try_emplace(step.getName(), step).second)
      return step.emitOpError("expects a name that no other step of the loop "
                              "has, but got '")
             << step.getName() << "'";
  }
  // A name that is not right is both of these errors.
  for (auto place : getSchedule().getAsRange<PlaceAttr>())
    if (!steps.contains(place.getName()))
      return rejectSchedule(*this, getLoc(),
                            "expects a schedule with places for the steps of "
                            "the loop, but got one for '" +
                                place.getName() + "'");
  for (auto step : getBlock()->getOps<hopper::StepOp>())
    if (getPlace(step.getName()).first < 0)
      return rejectSchedule(*this, step.getLoc(),
                            "expects a schedule with a place for each step of "
                            "the loop, but got none for '" +
                                step.getName() + "'");
  hopper::StepOp exclusive;
  for (auto name : getExclusive().getAsRange<StringAttr>()) {
    hopper::StepOp step = steps.lookup(name.getValue());
    if (!exclusive)
      exclusive = step;
    if (step.getPartition() != exclusive.getPartition())
      return step.emitOpError("expects steps that exclude each other to be of "
                              "one partition, but got '")
             << step.getPartition() << "' and '" << exclusive.getPartition()
             << "'";
  }
  // A step runs after those whose results it uses.
  int64_t length = getSchedule().size();
  auto getTime = [&](hopper::StepOp step) {
    auto [order, stage] = getPlace(step.getName());
    return stage * length + order;
  };
  for (auto &entry : steps) {
    hopper::StepOp user = entry.second;
    LogicalResult result = success();
    auto check = [&](Value value, int64_t distance) {
      hopper::StepOp source = getStepOf(*this, value);
      if (!source || getTime(user) + distance * length > getTime(source) ||
          failed(result))
        return;
      InFlightDiagnostic diagnostic =
          user.emitOpError("expects '")
          << user.getName() << "' to come after '" << source.getName()
          << "' in the schedule, as it uses its result"
          << (distance ? " of the block before" : "");
      diagnostic.attachNote(source.getLoc()) << "which is this step";
      result = failure();
    };
    user->walk([&](Operation *op) {
      for (Value operand : op->getOperands()) {
        check(operand, 0);
        auto argument = dyn_cast<BlockArgument>(operand);
        unsigned first = getNumVariables();
        if (argument && argument.getOwner() == getBlock() &&
            argument.getArgNumber() >= first)
          check(end.getValues()[argument.getArgNumber() - first], 1);
      }
    });
    if (failed(result))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Operations of steps
//===----------------------------------------------------------------------===//

static LogicalResult verifyStages(Operation *op, int64_t stages) {
  if (stages != 1 && stages != 2 && stages != 4)
    return op->emitOpError("expects 1, 2 or 4 stages, but got ") << stages;
  return success();
}

LogicalResult PublishOp::verify() {
  auto vector = cast<VectorType>(getVector().getType());
  TileType tile = getResult().getType();
  int64_t along = tile.getRows(), across = tile.getColumns();
  if (getTransposed())
    std::swap(along, across);
  bool isOfPairs = getElementBytes(vector.getElementType()) == 2;
  bool fits =
      tile.isVector()
          ? vector.getDimSize(0) == 1 && !getTransposed() && tile.isWords()
          : vector.getDimSize(0) == across && across % 8 == 0 && isOfPairs;
  if (!fits || vector.getDimSize(1) != kWarpgroupRows ||
      tile.getElementType() != vector.getElementType() ||
      along % kWarpgroupRows != 0 || tile.getParentRows() != tile.getRows() ||
      tile.getChunkColumns() != getChunkColumns(tile.getElementType()))
    return emitOpError("expects a tile with blocks of ")
           << vector << ", but got " << tile;
  return verifyStages(*this, getStages());
}

LogicalResult PublishBF16x3Op::verify() {
  if (failed(verifyStages(*this, getStages())))
    return failure();
  return verifySplit(*this, cast<ShapedType>(getVector().getType()),
                     getTile().getType(), getFactor().convertToFloat(),
                     getLimit().convertToFloat());
}

LogicalResult LoadVectorOp::verify() {
  TileType tile = getResult().getType();
  if (failed(verifyStages(*this, getStages())))
    return failure();
  if (!tile.isVector() || tile.getRows() % 8 != 0 ||
      tile.getParentRows() != tile.getRows())
    return emitOpError("expects a vector of a multiple of 8 elements, but got ")
           << tile;
  return verifyVectorSource(*this, tile.getElementType(),
                            cast<MemRefType>(getSource().getType()),
                            getIndices(), getZeroFill());
}

LogicalResult LoadOp::verify() {
  if (failed(verifyStages(*this, getStages())))
    return failure();
  MapType map = getMap().getType();
  TileType tile = getResult().getType();
  if (tile.getRows() != map.getRows() ||
      tile.getColumns() != map.getColumns() ||
      tile.getElementType() != map.getElementType() ||
      tile.getParentRows() != tile.getRows())
    return emitOpError("expects a tile of the boxes of ")
           << map << ", but got " << tile;
  return verifyList(*this, map, getList(), getPosition());
}

LogicalResult OwnRowsOp::verify() {
  TileType source = getSource().getType(), result = getResult().getType();
  if (source.isVector() && !source.isWords())
    return emitOpError("expects rows of 32-bit elements, but got ") << source;
  if (result.getRows() != kWarpgroupRows ||
      result.getParentRows() != source.getRows() ||
      result.getColumns() != source.getColumns() ||
      result.getChunkColumns() != source.getChunkColumns() ||
      result.getElementType() != source.getElementType())
    return emitOpError("expects ")
           << kWarpgroupRows << " rows of the source, but got " << result;
  return success();
}

LogicalResult OwnColumnsOp::verify() {
  TileType source = getSource().getType(), result = getResult().getType();
  if (source.isVector() || result.getColumns() != source.getChunkColumns() ||
      getElementBytes(source.getElementType()) != 2 ||
      result.getRows() != source.getRows() ||
      result.getChunkColumns() != source.getChunkColumns() ||
      result.getParentRows() != source.getParentRows() ||
      result.getElementType() != source.getElementType())
    return emitOpError("expects ")
           << source.getChunkColumns() << " columns of the source, but got "
           << result;
  return success();
}

LogicalResult MaskOp::verify() {
  if (!llvm::is_contained({"by_block", "always", "never"}, getWhen()))
    return emitOpError("expects by_block, always or never, but got '")
           << getWhen() << "'";
  auto end = dyn_cast<EndOp>(getPredicate().front().getTerminator());
  auto type = cast<VectorType>(getScores().getType())
                  .clone(IntegerType::get(getContext(), 1));
  if (getPredicate().getNumArguments() != 0 || !end ||
      end.getValues().getTypes() != TypeRange(type))
    return emitOpError("expects a region that ends with ") << type;
  return success();
}

LogicalResult SoftmaxStepOp::verify() {
  if (getFactor().convertToDouble() <= 0)
    return emitOpError("expects a positive factor");
  if (!llvm::is_contained({"lazy", "exact", "never"}, getRescale()))
    return emitOpError("expects lazy, exact or never, but got '")
           << getRescale() << "'";
  auto isOfRows = [](Value value, int64_t rows) {
    auto type = cast<VectorType>(value.getType());
    return type.getDimSize(1) == kWarpgroupRows &&
           (rows == 0 || type.getDimSize(0) == rows);
  };
  if (!isOfRows(getScores(), 0) || !isOfRows(getAcc(), 0) ||
      !isOfRows(getNegMax(), 1) || !isOfRows(getSum(), 4))
    return emitOpError("expects vectors of ")
           << kWarpgroupRows << " columns, with 1 row of negMax and 4 of sum";
  return success();
}
