//===- AttnTile.cpp - Loops over tiles and their steps --------------------===//

#include "attn/Dialect/Attn/IR/AttnTile.h"
#include "AttnVerify.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringSet.h"
#include <cmath>

using namespace mlir;
using namespace mlir::attn;

Value mlir::attn::emitPositions(OpBuilder &builder, Location loc, Value first,
                                int64_t length) {
  auto type = VectorType::get({length}, builder.getIndexType());
  Value step = vector::StepOp::create(builder, loc, type);
  Value start = vector::BroadcastOp::create(builder, loc, type, first);
  return arith::AddIOp::create(builder, loc, start, step);
}

Value mlir::attn::broadcastAlong(OpBuilder &builder, Location loc, Value vector,
                                 ArrayRef<int64_t> shape, unsigned dim) {
  auto type = cast<VectorType>(vector.getType());
  if (shape.size() == 1)
    return vector;
  // All other dimensions behind it become 1.
  SmallVector<int64_t> column(shape.size() - dim, 1);
  column.front() = type.getDimSize(0);
  if (column.size() > 1)
    vector = vector::ShapeCastOp::create(
        builder, loc, VectorType::get(column, type.getElementType()), vector);
  return vector::BroadcastOp::create(
      builder, loc, VectorType::get(shape, type.getElementType()), vector);
}

//===----------------------------------------------------------------------===//
// Reads
//===----------------------------------------------------------------------===//

std::optional<AffineMap> GatherOp::getBox() {
  SmallVector<unsigned> dims;
  for (std::optional<uint64_t> dim : {getRowDim(), getColumnDim()})
    if (dim)
      dims.push_back(*dim);
  if (dims.empty())
    return std::nullopt;
  return AffineMap::getMultiDimMapWithTargets(getIndices().size(), dims,
                                              getContext());
}

LogicalResult GatherOp::verifyBox() {
  auto row = getRowDimAttr(), column = getColumnDimAttr();
  if (!row && !column)
    return success();
  if (llvm::any_of(getIndices().getTypes(), llvm::IsaPred<ShapedType>))
    return emitOpError("expects the indices of a box to be of type index");
  int64_t rank = (row ? 1 : 0) + (column ? 1 : 0);
  auto type = dyn_cast<VectorType>(getType());
  if (!type || type.getRank() != rank)
    return emitOpError("expects a box to be a vector of rank ")
           << rank << ", but got " << getType();
  auto numDims = static_cast<int64_t>(getIndices().size());
  for (IntegerAttr dim : {row, column})
    if (dim && (dim.getInt() < 0 || dim.getInt() >= numDims))
      return emitOpError("expects a box along dimensions of ")
             << getSource().getType() << ", but got " << dim.getInt();
  if (row == column)
    return emitOpError("expects rows and columns along two dimensions, but "
                       "got ")
           << row.getInt() << " for both";
  auto loop = (*this)->getParentOfType<TileLoopOp>();
  if (loop && row && type.getDimSize(0) != static_cast<int64_t>(loop.getStep()))
    return emitOpError("expects a row for each of the ")
           << loop.getStep() << " positions of a tile, but got " << type;
  return success();
}

void GatherOp::expandBox(RewriterBase &rewriter) {
  auto type = cast<VectorType>(getType());
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(*this);
  SmallVector<Value> indices(getIndices());
  for (auto [dim, result] : llvm::enumerate(getBox()->getResults())) {
    Value &index = indices[cast<AffineDimExpr>(result).getPosition()];
    index = broadcastAlong(
        rewriter, getLoc(),
        emitPositions(rewriter, getLoc(), index, type.getDimSize(dim)),
        type.getShape(), dim);
  }
  rewriter.replaceOpWithNewOp<GatherOp>(*this, type, getSource(), indices,
                                        getMask(), getSiteAttr());
}

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

static LogicalResult verifyYielded(Operation *op, Region &region,
                                   StringRef what, TypeRange types) {
  auto yield = dyn_cast<YieldOp>(region.front().back());
  if (!yield)
    return op->emitOpError("expects ") << what << " to end with attn.yield";
  if (yield.getOperandTypes() == types)
    return success();
  InFlightDiagnostic error = op->emitOpError("expects ")
                             << what << " to yield ";
  if (types.empty())
    error << "nothing";
  llvm::interleaveComma(types, error);
  error << ", but got ";
  if (yield.getNumOperands() == 0)
    error << "nothing";
  llvm::interleaveComma(yield.getOperandTypes(), error);
  return error;
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

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

void MaskTileOp::build(OpBuilder &builder, OperationState &state, Value scores,
                       Value first, Value end) {
  int32_t numEnds = end ? 1 : 0;
  state.addOperands(scores);
  if (end)
    state.addOperands({first, end});
  state.addAttribute(getOperandSegmentSizeAttr(),
                     builder.getDenseI32ArrayAttr({1, numEnds, numEnds}));
  state.addTypes(scores.getType());
  state.addRegion()->emplaceBlock();
}

LogicalResult MaskTileOp::verify() {
  if (static_cast<bool>(getFirst()) != static_cast<bool>(getEnd()))
    return emitOpError("expects both the first key and the end, or none");
  if (getEnd() && cast<VectorType>(getScores().getType()).getRank() != 2)
    return emitOpError("expects scores of keys by queries, but got ")
           << getScores().getType();
  return success();
}

LogicalResult MaskTileOp::verifyRegions() {
  if (getAllowed().getNumArguments() != 0)
    return emitOpError("expects a region without arguments");
  Type allowed = cast<VectorType>(getScores().getType())
                     .clone(IntegerType::get(getContext(), 1));
  return verifyYielded(*this, getAllowed(), "the region", allowed);
}

Value MaskTileOp::emitExist(OpBuilder &builder) {
  auto type = cast<VectorType>(getScores().getType());
  Value keys = emitPositions(builder, getLoc(), getFirst(), type.getDimSize(0));
  Value end =
      vector::BroadcastOp::create(builder, getLoc(), keys.getType(), getEnd());
  Value exist = arith::CmpIOp::create(builder, getLoc(),
                                      arith::CmpIPredicate::slt, keys, end);
  return broadcastAlong(builder, getLoc(), exist, type.getShape(), /*dim=*/0);
}

void MaskTileOp::expand(RewriterBase &rewriter) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(*this);
  Value predicate = getPredicate();
  rewriter.eraseOp(getAllowed().front().getTerminator());
  rewriter.inlineBlockBefore(&getAllowed().front(), *this);
  if (getEnd())
    predicate = arith::AndIOp::create(rewriter, getLoc(), emitExist(rewriter),
                                      predicate);
  auto type = cast<VectorType>(getScores().getType());
  auto infinity = rewriter.getFloatAttr(type.getElementType(), -INFINITY);
  Value none = arith::ConstantOp::create(
      rewriter, getLoc(), DenseElementsAttr::get(type, Attribute(infinity)));
  rewriter.replaceOpWithNewOp<arith::SelectOp>(*this, predicate, getScores(),
                                               none);
}

//===----------------------------------------------------------------------===//
// Biases
//===----------------------------------------------------------------------===//

void AffineScoresOp::build(OpBuilder &builder, OperationState &state,
                           Value product, double factor, Value slope,
                           Value offset) {
  state.addOperands({product, slope, offset});
  state.addAttribute(getFactorAttrName(state.name),
                     builder.getF64FloatAttr(factor));
  state.addTypes(product.getType());
  state.addRegion()->emplaceBlock();
}

LogicalResult AffineScoresOp::verify() {
  auto product = cast<VectorType>(getProduct().getType());
  auto slope = cast<VectorType>(getSlope().getType());
  if (slope.getDimSize(0) != product.getDimSize(1))
    return emitOpError("expects one slope for each of ")
           << product.getDimSize(1) << " queries, but got " << slope;
  double factor = getFactor().convertToDouble();
  if (!(factor > 0) || !std::isfinite(factor))
    return emitOpError("expects a factor that is positive and finite, but got ")
           << factor;
  auto loop = (*this)->getParentOfType<TileLoopOp>();
  if (loop && !loop.isDefinedOutsideOfLoop(getSlope()))
    return emitOpError("expects slopes that are computed outside of the loop "
                       "over tiles");
  if (llvm::any_of(getProduct().getUsers(), [&](Operation *user) {
        return user != *this && !(*this)->isProperAncestor(user);
      }))
    return emitOpError("expects a product that nothing else uses");
  return success();
}

LogicalResult AffineScoresOp::verifyRegions() {
  if (getPlain().getNumArguments() != 0)
    return emitOpError("expects a region without arguments");
  return verifyYielded(*this, getPlain(), "the region", getResult().getType());
}

void AffineScoresOp::expand(RewriterBase &rewriter) {
  Value plain = getPlainScores();
  rewriter.eraseOp(getPlain().front().getTerminator());
  rewriter.inlineBlockBefore(&getPlain().front(), *this);
  rewriter.replaceOp(*this, plain);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

void GatherRowsOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  if (isa<MemRefType>(getSource().getType()))
    effects.emplace_back(MemoryEffects::Read::get(), &getSourceMutable(),
                         SideEffects::DefaultResource::get());
}

SmallVector<int64_t> GatherRowsOp::getOtherDims() {
  SmallVector<int64_t> dims;
  int64_t rank = cast<ShapedType>(getSource().getType()).getRank();
  for (int64_t dim = 0; dim < rank; ++dim)
    if (dim != static_cast<int64_t>(getRowDim()) &&
        dim != static_cast<int64_t>(getColumnDim()))
      dims.push_back(dim);
  return dims;
}

SmallVector<Value> GatherRowsOp::getPosition() {
  SmallVector<Value> position(
      cast<ShapedType>(getSource().getType()).getRank());
  for (auto [dim, index] : llvm::zip_equal(getOtherDims(), getIndices()))
    position[dim] = index;
  return position;
}

LogicalResult GatherRowsOp::verify() {
  auto source = cast<ShapedType>(getSource().getType());
  int64_t rank = source.getRank();
  int64_t row = getRowDim(), column = getColumnDim();
  if (row < 0 || column < 0 || row >= rank || column >= rank || row == column)
    return emitOpError("expects two dimensions of ")
           << source << ", but got " << row << " and " << column;
  if (static_cast<int64_t>(getIndices().size()) != rank - 2)
    return emitOpError("expects one index for each of ")
           << rank - 2 << " other dimensions, but got " << getIndices().size();
  auto rows = cast<VectorType>(getRows().getType());
  auto result = cast<VectorType>(getResult().getType());
  if (result.getDimSize(0) != rows.getDimSize(0) ||
      result.getDimSize(1) != source.getDimSize(column) ||
      result.getElementType() != source.getElementType())
    return emitOpError("expects a result with the rows of ")
           << rows << ", and columns and elements of " << source << ", but got "
           << result;
  return success();
}

//===----------------------------------------------------------------------===//
// Accumulation
//===----------------------------------------------------------------------===//

void AccumulateOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  getSumEffects(getIntoMutable(), getResult(), effects);
  for (OpOperand &counters : getCountersMutable()) {
    effects.emplace_back(MemoryEffects::Read::get(), &counters);
    effects.emplace_back(MemoryEffects::Write::get(), &counters);
  }
}

LogicalResult AccumulateOp::verify() {
  auto tile = cast<VectorType>(getVector().getType());
  auto into = cast<ShapedType>(getInto().getType());
  if (failed(verifyElements(*this, tile, into, getIndices())))
    return failure();
  if (tile.getRank() > into.getRank())
    return emitOpError("expects a tile of at most ")
           << into.getRank() << " dimensions, but got " << tile;
  if (AffineMapAttr attribute = getPermutationMapAttr()) {
    AffineMap map = attribute.getValue();
    if (map.getNumSymbols() != 0 || !map.isProjectedPermutation() ||
        map.getNumDims() != into.getRank() ||
        map.getNumResults() != tile.getRank())
      return emitOpError("expects a projected permutation of ")
             << into.getRank() << " dimensions to " << tile.getRank()
             << ", but got " << attribute;
  }
  bool isOrdered = getMode() == AccumulateMode::Ordered;
  if (isOrdered != (getCounters() != nullptr))
    return emitOpError("expects counters with ordered, but got ")
           << (isOrdered ? "none" : "some without it");
  if (isOrdered != (getAfter() != nullptr) ||
      isOrdered != (getOwn() != nullptr) ||
      (!isOrdered && !getCounterIndices().empty()))
    return emitOpError("expects the numbers of two workers, and indices, with "
                       "counters and not without");
  if (isOrdered) {
    auto counters = cast<MemRefType>(getCounters().getType());
    if (!counters.getElementType().isInteger(32))
      return emitOpError("expects counters of i32, but got ") << counters;
    if (static_cast<int64_t>(getCounterIndices().size()) !=
        counters.getRank() - 1)
      return emitOpError("expects ")
             << counters.getRank() - 1 << " indices of the counters, but got "
             << getCounterIndices().size();
  }
  return verifySumResult(*this, into, getResult());
}

#define GET_OP_CLASSES
#include "attn/Dialect/Attn/IR/AttnTileOps.cpp.inc"
