//===- AttnTileLoop.cpp - The loop over tiles -----------------------------===//

#include "AttnVerify.h"
#include "attn/Dialect/Attn/IR/AttnTile.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Loops over tiles
//===----------------------------------------------------------------------===//

void TileLoopOp::build(OpBuilder &builder, OperationState &state, Value lower,
                       Value upper, int64_t step, ValueRange inits) {
  state.addOperands({lower, upper});
  state.addOperands(inits);
  state.addAttribute(getOperandSegmentSizeAttr(),
                     builder.getDenseI32ArrayAttr(
                         {1, 1, static_cast<int32_t>(inits.size()), 0, 0}));
  state.addAttribute(getStepAttrName(state.name),
                     builder.getI64IntegerAttr(step));
  state.addTypes(inits.getTypes());
  state.addRegion();
  state.addRegion();
  Block &body = state.addRegion()->emplaceBlock();
  body.addArgument(builder.getIndexType(), state.location);
  for (Value init : inits)
    body.addArgument(init.getType(), init.getLoc());
}

SmallVector<Region *> TileLoopOp::getLoopRegions() {
  return {&getNeeded(), &getFull(), &getBody()};
}

std::optional<SmallVector<Value>> TileLoopOp::getLoopInductionVars() {
  return SmallVector<Value>{getInductionVar()};
}

std::optional<SmallVector<OpFoldResult>> TileLoopOp::getLoopLowerBounds() {
  return SmallVector<OpFoldResult>{getLowerBound()};
}

std::optional<SmallVector<OpFoldResult>> TileLoopOp::getLoopUpperBounds() {
  return SmallVector<OpFoldResult>{getUpperBound()};
}

std::optional<SmallVector<OpFoldResult>> TileLoopOp::getLoopSteps() {
  return SmallVector<OpFoldResult>{
      Builder(getContext()).getIndexAttr(getStep())};
}

MutableArrayRef<OpOperand> TileLoopOp::getInitsMutable() {
  return getOperation()->getOpOperands().slice(2, getInitArgs().size());
}

Block::BlockArgListType TileLoopOp::getRegionIterArgs() {
  return getBody().getArguments().drop_front();
}

std::optional<MutableArrayRef<OpOperand>>
TileLoopOp::getYieldedValuesMutable() {
  return getBody().front().getTerminator()->getOpOperands();
}

std::optional<ResultRange> TileLoopOp::getLoopResults() { return getResults(); }

Value TileLoopOp::cloneClass(OpBuilder &builder, Region &region, Value start) {
  IRMapping mapping;
  mapping.map(region.getArgument(0), start);
  for (Operation &op : region.front().without_terminator())
    builder.clone(op, mapping);
  return mapping.lookupOrDefault(getClass(region));
}

Block *TileLoopOp::addClass(Region &region) {
  Block &block = region.emplaceBlock();
  block.addArgument(IndexType::get(getContext()), getLoc());
  return &block;
}

OnlineStepOp TileLoopOp::getOnlineStep() {
  OnlineStepOp found;
  if (getOnline())
    getBody().walk([&](OnlineStepOp step) { found = step; });
  return found;
}

OnlineStartOp TileLoopOp::getOnlineStart() {
  if (!getOnline())
    return {};
  ValueRange state = getInitArgs().take_front(NumStateParts);
  auto start = state[Acc].getDefiningOp<OnlineStartOp>();
  return start && state == start->getResults() ? start : OnlineStartOp();
}

StepOp TileLoopOp::getStep(StringRef name) {
  for (auto step : getBody().getOps<StepOp>())
    if (step.getStepName() == name)
      return step;
  return {};
}

void TileLoopOp::getAsmBlockArgumentNames(Region &region,
                                          OpAsmSetValueNameFn setName) {
  if (region.empty())
    return;
  setName(region.getArgument(0), "j");
  if (!getOnline() || &region != &getBody() ||
      region.getNumArguments() <= NumStateParts)
    return;
  setName(getRegionIterArg(Acc), "acc");
  setName(getRegionIterArg(Max), "max");
  setName(getRegionIterArg(Sum), "sum");
}

/// `needed(%j) { ... }`, if it is there; `parseRest` parses what comes before
/// the region.
static ParseResult parseClass(
    OpAsmParser &parser, OperationState &result, StringRef keyword,
    function_ref<ParseResult()> parseRest = [] { return success(); }) {
  Region *region = result.addRegion();
  if (failed(parser.parseOptionalKeyword(keyword)))
    return success();
  OpAsmParser::Argument start;
  start.type = parser.getBuilder().getIndexType();
  if (parser.parseLParen() || parser.parseArgument(start) ||
      parser.parseRParen() || parseRest())
    return failure();
  return parser.parseRegion(*region, start);
}

ParseResult TileLoopOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  Type index = builder.getIndexType();
  OpAsmParser::Argument start;
  start.type = index;
  OpAsmParser::UnresolvedOperand lower, upper;
  IntegerAttr step;
  SmallVector<OpAsmParser::Argument> arguments = {start};
  SmallVector<OpAsmParser::UnresolvedOperand> inits, bounds;
  if (parser.parseArgument(arguments[0]) || parser.parseEqual() ||
      parser.parseOperand(lower) || parser.parseKeyword("to") ||
      parser.parseOperand(upper) || parser.parseKeyword("step") ||
      parser.parseAttribute(step, builder.getI64Type(),
                            getStepAttrName(result.name), result.attributes))
    return failure();
  arguments[0].type = index;
  llvm::SMLoc initsLoc = parser.getCurrentLocation();
  SmallVector<OpAsmParser::Argument> carried;
  if (succeeded(parser.parseOptionalKeyword("online"))) {
    if (parser.parseAssignmentList(carried, inits))
      return failure();
    if (inits.size() != NumStateParts)
      return parser.emitError(initsLoc, "expects acc, max and sum of an online "
                                        "softmax, but got ")
             << inits.size() << " values";
    result.addAttribute(getOnlineAttrName(result.name), builder.getUnitAttr());
  }
  if (succeeded(parser.parseOptionalKeyword("iter_args")) &&
      failed(parser.parseAssignmentList(carried, inits)))
    return failure();
  llvm::append_range(arguments, carried);
  auto parseWithin = [&]() -> ParseResult {
    if (failed(parser.parseOptionalKeyword("within")))
      return success();
    bounds.resize(2);
    return failure(parser.parseOperand(bounds[0]) ||
                   parser.parseKeyword("to") || parser.parseOperand(bounds[1]));
  };
  if (parseClass(parser, result, "needed") ||
      parseClass(parser, result, "full", parseWithin))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("only_last_partial")))
    result.addAttribute(getOnlyLastPartialAttrName(result.name),
                        builder.getUnitAttr());
  if (parser.parseOptionalColonTypeList(result.types) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  if (inits.size() != result.types.size())
    return parser.emitError(initsLoc, "expects a type for each of ")
           << inits.size() << " carried values, but got "
           << result.types.size();
  for (auto [argument, type] :
       llvm::zip_equal(MutableArrayRef(arguments).drop_front(), result.types))
    argument.type = type;
  auto numInits = static_cast<int32_t>(inits.size());
  int32_t numBounds = bounds.empty() ? 0 : 1;
  result.addAttribute(
      getOperandSegmentSizeAttr(),
      builder.getDenseI32ArrayAttr({1, 1, numInits, numBounds, numBounds}));
  if (parser.resolveOperand(lower, index, result.operands) ||
      parser.resolveOperand(upper, index, result.operands) ||
      parser.resolveOperands(inits, result.types, initsLoc, result.operands) ||
      parser.resolveOperands(bounds, index, result.operands))
    return failure();
  return parser.parseRegion(*result.addRegion(), arguments);
}

void TileLoopOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getInductionVar() << " = " << getLowerBound() << " to "
          << getUpperBound() << " step " << getStep();
  auto printCarried = [&](StringRef keyword, size_t first, size_t end) {
    if (first == end)
      return;
    printer << ' ' << keyword << '(';
    llvm::interleaveComma(llvm::seq(first, end), printer, [&](size_t number) {
      printer << getRegionIterArg(number) << " = " << getInitArgs()[number];
    });
    printer << ')';
  };
  size_t numOnline = getOnline() ? NumStateParts : 0;
  printCarried("online", 0, numOnline);
  printCarried("iter_args", numOnline, getInitArgs().size());
  printer.increaseIndent();
  auto printClass = [&](StringRef keyword, Region &region) {
    if (region.empty())
      return;
    printer.printNewline();
    printer << keyword << "(" << region.getArgument(0) << ") ";
    if (getFullLower() && &region == &getFull())
      printer << "within " << getFullLower() << " to " << getFullUpper() << ' ';
    printer.printRegion(region, /*printEntryBlockArgs=*/false);
  };
  printClass("needed", getNeeded());
  printClass("full", getFull());
  printer.decreaseIndent();
  if (getOnlyLastPartial())
    printer << " only_last_partial";
  if (!getResultTypes().empty())
    printer << " : " << getResultTypes();
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(), {getOperandSegmentSizeAttr(), getStepAttrName(),
                            getOnlyLastPartialAttrName(), getOnlineAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult TileLoopOp::verify() {
  if (getInitArgs().getTypes() != getResultTypes())
    return emitOpError("expects results of the types of what is carried, but "
                       "got ")
           << getResultTypes() << " for " << getInitArgs().getTypes();
  if (static_cast<bool>(getFullLower()) != static_cast<bool>(getFullUpper()))
    return emitOpError("expects both ends of the interval of full tiles, or "
                       "none");
  if (!hasFull() && getFullLower())
    return emitOpError("expects a region 'full' with an interval of full "
                       "tiles");
  if (!hasFull() && getOnlyLastPartial())
    return emitOpError("expects a region 'full' with only_last_partial");
  if (getOnline() && getInitArgs().size() < NumStateParts)
    return emitOpError("expects acc, max and sum of an online softmax, but "
                       "got ")
           << getInitArgs().size() << " values";
  return success();
}

/// Checks that the body updates the state of an online softmax as the loop says
/// it.
static LogicalResult verifyOnline(TileLoopOp loop) {
  SmallVector<OnlineStepOp> steps;
  loop.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto step = dyn_cast<OnlineStepOp>(op))
      steps.push_back(step);
    // What is in another loop updates the state of that.
    return isa<TileLoopOp>(op) ? WalkResult::skip() : WalkResult::advance();
  });
  if (!loop.getOnline())
    return steps.empty() ? success()
                         : steps.front().emitOpError(
                               "expects a state that the loop around carries "
                               "by 'online'");
  if (steps.size() != 1)
    return loop.emitOpError("expects one step of the online softmax whose "
                            "state is carried, but got ")
           << steps.size();
  OnlineStepOp step = steps.front();
  auto getCarried = [&](unsigned part) { return loop.getRegionIterArg(part); };
  if (step.getAcc() != getCarried(TileLoopOp::Acc) ||
      step.getMax() != getCarried(TileLoopOp::Max) ||
      step.getSum() != getCarried(TileLoopOp::Sum))
    return step.emitOpError("expects the state that the loop around carries, "
                            "in its order");
  auto getNext = [&](unsigned part) {
    return StepOp::getSource(loop.getYielded()[part]);
  };
  if (getNext(TileLoopOp::Max) != step.getNewMax() ||
      getNext(TileLoopOp::Sum) != step.getNewSum())
    return loop.emitOpError("expects the body to yield the maximum and the sum "
                            "of its step of the online softmax");
  return success();
}

LogicalResult TileLoopOp::verifyRegions() {
  Type index = IndexType::get(getContext());
  Type boolean = IntegerType::get(getContext(), 1);
  for (auto [name, region] :
       {std::pair<StringRef, Region *>{"'needed'", &getNeeded()},
        {"'full'", &getFull()}}) {
    if (region->empty())
      continue;
    if (region->getArgumentTypes() != TypeRange(index))
      return emitOpError("expects ")
             << name << " to have the start of the tile as its argument, but "
             << "got arguments of " << region->getArgumentTypes();
    if (failed(verifyYielded(*this, *region, name, boolean)))
      return failure();
  }
  SmallVector<Type> types = {index};
  llvm::append_range(types, getResultTypes());
  if (getBody().getArgumentTypes() != TypeRange(types))
    return emitOpError("expects the body to have the arguments ")
           << types << ", but got " << getBody().getArgumentTypes();
  if (failed(verifyYielded(*this, getBody(), "the body", getResultTypes())) ||
      failed(verifyOnline(*this)))
    return failure();
  llvm::StringSet<> names;
  for (auto step : getBody().getOps<StepOp>())
    if (!names.insert(step.getStepName()).second)
      return step.emitOpError("expects a name that no other step of the loop "
                              "has");
  return success();
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

void StepOp::build(OpBuilder &builder, OperationState &state, StringRef name,
                   TypeRange outputs) {
  state.addAttribute(getStepNameAttrName(state.name),
                     builder.getStringAttr(name));
  state.addTypes(outputs);
  state.addRegion()->emplaceBlock();
}

LogicalResult StepOp::verify() {
  if ((*this)->getParentOfType<StepOp>())
    return emitOpError("expects not to be part of another step");
  return success();
}

LogicalResult StepOp::verifyRegions() {
  if (getBody().getNumArguments() != 0)
    return emitOpError("expects a region without arguments");
  return verifyYielded(*this, getBody(), "the region", getResultTypes());
}

Value StepOp::getSource(Value value) {
  auto step = value.getDefiningOp<StepOp>();
  return step ? step.getYielded()[cast<OpResult>(value).getResultNumber()]
              : value;
}

void StepOp::inlineBody(RewriterBase &rewriter) {
  Operation *yield = getBody().front().getTerminator();
  SmallVector<Value> yielded(yield->getOperands());
  rewriter.eraseOp(yield);
  rewriter.inlineBlockBefore(&getBody().front(), *this);
  rewriter.replaceOp(*this, yielded);
}
