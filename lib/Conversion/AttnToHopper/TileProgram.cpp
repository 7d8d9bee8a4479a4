//===- TileProgram.cpp - The parts of a loop over tiles -------------------===//

#include "TileProgram.h"
#include "attn/Dialect/Attn/IR/OtherTarget.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::attn;

/// The argument of the function that `tensor` is, behind casts and, at most
/// once, packed heads, which `packing` is set to.
static FailureOr<unsigned> getArgument(func::FuncOp function, Value tensor,
                                       Operation *user, StringRef what,
                                       PackHeadsOp &packing) {
  Value source = tensor;
  while (Operation *view = source.getDefiningOp()) {
    auto packed = dyn_cast<PackHeadsOp>(view);
    if (packed && !packing && packed.getCount().getDefiningOp<PackedCountOp>())
      packing = packed;
    else if (!isa<tensor::CastOp>(view))
      break;
    source = view->getOperand(0);
  }
  auto argument = dyn_cast<BlockArgument>(source);
  if (argument && argument.getOwner() == &function.getBody().front())
    return argument.getArgNumber();
  return user->emitError("expects ")
         << what << " to be an argument of '" << function.getName()
         << "', so that a GPU kernel can read or write it in place; compute it "
            "in a function of its own"
         << otherTarget;
}

static Value skipExtension(Value value) {
  if (auto extend = value.getDefiningOp<arith::ExtFOp>())
    return extend.getIn();
  return value;
}

FailureOr<TileAccess> mlir::attn::matchGather(func::FuncOp function,
                                              GatherOp gather, StringRef what) {
  TileAccess access;
  std::optional<int64_t> row, column;
  GatherOp list;
  auto type = cast<RankedTensorType>(gather.getSource().getType());
  for (auto [dim, index] : llvm::enumerate(gather.getIndices())) {
    if (!isa<VectorType>(index.getType())) {
      access.dims.push_back(dim);
      access.position.push_back(index);
      continue;
    }
    Value numbers = matchRowVector(index);
    auto cast = numbers ? numbers.getDefiningOp<arith::IndexCastOp>() : nullptr;
    if (cast)
      list = cast.getIn().getDefiningOp<GatherOp>();
    (cast ? row : column) = dim;
  }
  bool isList = list && row && column && access.dims.size() == 2 &&
                list.getIndices().back().getDefiningOp<vector::StepOp>();
  if (!isList)
    return gather.emitError("expects ")
           << what << " to be gathered by numbers that are a row of a table";
  // With lists, heads are not packed.
  PackHeadsOp packing;
  FailureOr<unsigned> argument =
      getArgument(function, gather.getSource(), gather, what, packing);
  if (failed(argument))
    return failure();
  if (packing)
    return gather.emitError("expects ")
           << what << " that are gathered not to have packed heads";
  OpFoldResult zero = Builder(gather.getContext()).getIndexAttr(0);
  access.argument = *argument;
  llvm::append_values(access.dims, *row, *column);
  access.position.append(2, zero);
  access.columns = type.getDimSize(*column);
  access.elementType = type.getElementType();
  access.gather = gather;
  access.list = list;
  return access;
}

/// The read behind an operand of a product, whose dimension `columnResult` is
/// the column.
static FailureOr<TileAccess> matchRead(func::FuncOp function, Value operand,
                                       unsigned columnResult, Operation *user,
                                       StringRef what) {
  if (auto gather = skipExtension(operand).getDefiningOp<GatherOp>())
    return matchGather(function, gather, what);
  auto read = skipExtension(operand).getDefiningOp<vector::TransferReadOp>();
  if (!read)
    return user->emitError("expects a product of tiles that are read from ")
           << what;
  Type element = getElementTypeOrSelf(read.getBase().getType());
  if (!isa<BFloat16Type, Float16Type>(element))
    return read.emitError("expects ")
           << what << " of bf16 or f16 on a GPU, but got " << element
           << "; convert it" << otherTarget;
  PackHeadsOp packing;
  FailureOr<unsigned> argument =
      getArgument(function, read.getBase(), read, what, packing);
  if (failed(argument))
    return failure();
  TileAccess access;
  if (packing)
    access.packing = packing.getCount().getDefiningOp<PackedCountOp>();
  access.argument = *argument;
  access.elementType = element;
  AffineMap map = read.getPermutationMap();
  auto getDim = [&](unsigned number) -> int64_t {
    return cast<AffineDimExpr>(map.getResult(number)).getPosition();
  };
  int64_t column = getDim(columnResult), row = getDim(1 - columnResult);
  for (int64_t dim = 0; dim < 4; ++dim)
    if (dim != row && dim != column)
      access.dims.push_back(dim);
  // Where heads are packed, it matters which the head is.
  if (packing && access.dims[0] == static_cast<int64_t>(packing.getHeads()))
    std::swap(access.dims[0], access.dims[1]);
  access.dims.push_back(row);
  access.dims.push_back(column);
  for (int64_t dim : access.dims)
    access.position.push_back(read.getIndices()[dim]);
  access.columns =
      cast<ShapedType>(read.getBase().getType()).getDimSize(column);
  return access;
}

/// The only operation of its kind in a step, or null.
template <typename OpTy> static OpTy getOnly(StepOp step) {
  if (!step)
    return {};
  auto ops = step.getBody().getOps<OpTy>();
  return llvm::hasSingleElement(ops) ? *ops.begin() : OpTy();
}

void mlir::attn::mergeBranches(RewriterBase &rewriter, Block &body) {
  DominanceInfo dominance;
  SmallVector<Operation *> branches;
  for (auto branch : body.getOps<scf::IfOp>()) {
    auto isSame = [&](Operation *other) {
      return cast<scf::IfOp>(other).getCondition() == branch.getCondition();
    };
    auto *first = llvm::find_if(branches, isSame);
    if (first == branches.end() || !isMemoryEffectFree(branch)) {
      branches.push_back(branch);
      continue;
    }
    SetVector<Value> used;
    getUsedValuesDefinedAbove(branch->getRegions(), used);
    if (llvm::all_of(used, [&](Value value) {
          return dominance.properlyDominates(value, *first);
        }))
      branches.insert(std::next(first), branch);
    else
      branches.push_back(branch);
  }
  if (branches.empty())
    return;
  // Upstream joins those that follow each other.
  for (auto [first, second] :
       llvm::zip(branches, ArrayRef(branches).drop_front()))
    if (cast<scf::IfOp>(first).getCondition() ==
        cast<scf::IfOp>(second).getCondition())
      rewriter.moveOpAfter(second, first);
  RewritePatternSet patterns(rewriter.getContext());
  scf::IfOp::getCanonicalizationPatterns(patterns, rewriter.getContext());
  (void)applyOpPatternsGreedily(
      branches, std::move(patterns),
      GreedyRewriteConfig().setStrictness(
          GreedyRewriteStrictness::ExistingAndNewOps));
}

/// Puts what classes and steps compute into the body, where each value is
/// computed once: a role computes what it needs of it. Of the values that are
/// asked for by name, those in the body are found in what it yields then.
static void flatten(TileLoopOp loop, ArrayRef<Value> named) {
  IRRewriter rewriter(loop.getContext());
  Block &body = loop.getBody().front();
  SmallVector<Value> yielded(loop.getYielded());
  llvm::append_range(yielded, named);
  body.getTerminator()->setOperands(yielded);
  for (Region *region : {&loop.getNeeded(), &loop.getFull()}) {
    if (region->empty())
      continue;
    rewriter.eraseOp(region->front().getTerminator());
    rewriter.inlineBlockBefore(&region->front(), &body, body.begin(),
                               body.getArgument(0));
  }
  for (StepOp step :
       llvm::make_early_inc_range(loop.getBody().getOps<StepOp>()))
    step.inlineBody(rewriter);
  auto removeCopies = [&] {
    DominanceInfo dominance;
    eliminateCommonSubExpressions(rewriter, dominance, loop);
  };
  removeCopies();
  mergeBranches(rewriter, body);
  removeCopies();
}

static LogicalResult matchLoop(TileProgram &program) {
  TileLoopOp loop = program.keys;
  auto invalid = [&](StringRef what) {
    return loop.emitError("expects a loop over tiles of keys as attn-tile "
                          "makes it, but ")
           << what;
  };
  StepOp softmax = loop.getStep("softmax");
  program.step = getOnly<OnlineStepOp>(softmax);
  program.mask = getOnly<MaskTileOp>(softmax);
  if (!program.step || !program.mask || loop.getNumResults() != 3 ||
      program.step.getScores() != program.mask.getResult())
    return invalid("it has no step 'softmax' of masked scores");
  auto values = getOnly<vector::ContractionOp>(loop.getStep("pv"));
  if (!values)
    return invalid("it has no step 'pv' that is a product");
  auto product = getOnly<vector::ContractionOp>(loop.getStep("qk"));
  if (!product)
    return loop.emitError("expects scores that depend on the product of keys "
                          "and queries on a GPU")
           << otherTarget;
  SmallVector<Value> named = {product.getResult()};
  for (Region *region : {&loop.getNeeded(), &loop.getFull()})
    if (!region->empty())
      named.push_back(loop.getClass(*region));
  bool hasNeeded = loop.hasNeeded(), hasFull = loop.hasFull();
  flatten(loop, named);
  OperandRange yielded = loop.getYielded();
  program.product = yielded[3];
  if (hasNeeded)
    program.isNeeded = yielded[4];
  if (hasFull)
    program.isFull = yielded.back();
  if (yielded[0] != values.getResult() ||
      values.getAcc() != program.step.getNewAcc() ||
      values.getRhs() != program.step.getProbabilities())
    return invalid("it does not add the product of values and probabilities");
  bool isAlone = matchPattern(product.getAcc(), m_AnyZeroFloat());
  loop.walk([&](vector::ContractionOp op) {
    isAlone &= op == product || op == values;
  });
  if (!isAlone)
    return invalid("it adds something to the product of queries and keys");
  FailureOr<TileAccess> query =
      matchRead(program.function, product.getRhs(), 0, product, "queries");
  if (failed(query))
    return failure();
  FailureOr<TileAccess> key =
      matchRead(program.function, product.getLhs(), 1, product, "keys");
  if (failed(key))
    return failure();
  FailureOr<TileAccess> value =
      matchRead(program.function, values.getLhs(), 1, values, "values");
  if (failed(value))
    return failure();
  program.query = *query;
  program.key = *key;
  program.value = *value;
  if (static_cast<bool>(key->list) != static_cast<bool>(value->list))
    return invalid("only one of keys and values is gathered");
  if (key->list && program.schedule.getPersistent())
    return loop.emitError("expects a schedule that is not persistent for "
                          "gathered keys, which a warpgroup copies, but got ")
           << program.schedule << "; leave it out";
  // The state starts as that of no keys.
  if (!matchPattern(loop.getInitArgs()[0], m_AnyZeroFloat()) ||
      !matchPattern(loop.getInitArgs()[1], m_NegInfFloat()) ||
      !matchPattern(loop.getInitArgs()[2], m_AnyZeroFloat()))
    return invalid("it continues a state, which GPU kernels do not");
  return success();
}

static LogicalResult matchResult(TileProgram &program,
                                 tensor::ParallelInsertSliceOp insert) {
  auto write = insert.getSource().getDefiningOp<vector::TransferWriteOp>();
  auto argument = dyn_cast<BlockArgument>(insert.getDest());
  if (!write || !argument)
    return insert.emitError("expects a tile that is written as attn-tile does");
  TileResult result;
  result.vector = write.getValueToStore();
  PackHeadsOp packing;
  FailureOr<unsigned> number = getArgument(
      program.function, program.grid.getTiedOpOperand(argument)->get(), insert,
      "the result", packing);
  if (failed(number))
    return failure();
  result.argument = *number;
  if (packing) {
    result.packing = packing.getCount().getDefiningOp<PackedCountOp>();
    result.headDim = packing.getHeads();
  }
  result.offsets = insert.getMixedOffsets();
  AffineMap map = write.getPermutationMap();
  result.rowDim = cast<AffineDimExpr>(map.getResults().back()).getPosition();
  result.numRows = insert.getMixedSizes()[result.rowDim];
  auto type = cast<VectorType>(result.vector.getType());
  if (result.hasColumns()) {
    int64_t column =
        cast<AffineDimExpr>(map.getResults().front()).getPosition();
    TileAccess &access = result.access;
    access.argument = *number;
    access.elementType = type.getElementType();
    access.columns = type.getDimSize(0);
    for (int64_t dim = 0; dim < 4; ++dim)
      if (dim != result.rowDim && dim != column)
        access.dims.push_back(dim);
    if (access.dims[0] == result.headDim)
      std::swap(access.dims[0], access.dims[1]);
    access.packing = result.packing;
    access.dims.push_back(result.rowDim);
    access.dims.push_back(column);
    for (int64_t dim : access.dims)
      access.position.push_back(result.offsets[dim]);
  }
  program.results.push_back(std::move(result));
  return success();
}

bool mlir::attn::isSummary(scf::ForallOp grid) {
  return !grid->use_empty() &&
         llvm::all_of(grid->getUsers(), [](Operation *op) {
           return isa<tensor::ExtractOp, tensor::DimOp, GatherOp>(op);
         });
}

/// Finds a bias that the schedule has in the product.
static void matchBias(TileProgram &program) {
  if (!program.schedule.getBiasInProduct())
    return;
  KeyForm form(program.product, program.keys.getInductionVar());
  program.bias = form.match(program.getScores());
  if (program.bias && !fitsProduct(*program.bias, program.key.elementType))
    program.bias.reset();
}

LogicalResult mlir::attn::requireNothingAround(func::FuncOp function) {
  for (Operation &op : function.getBody().front()) {
    if (isa<scf::ForallOp, ListUnionsOp, tensor::DimOp, tensor::CastOp,
            tensor::EmptyOp, PackedCountOp, PackHeadsOp, UnpackHeadsOp,
            func::ReturnOp, bufferization::MaterializeInDestinationOp>(op) ||
        isa_and_nonnull<affine::AffineDialect, arith::ArithDialect>(
            op.getDialect()))
      continue;
    return op.emitError("expects nothing but attention in a function for a "
                        "GPU, but got '")
           << op.getName() << "'" << otherTarget;
  }
  return success();
}

LogicalResult mlir::attn::matchGrids(TileProgram &program) {
  func::FuncOp function = program.function;
  for (scf::ForallOp grid : function.getOps<scf::ForallOp>()) {
    if (isSummary(grid)) {
      program.summaries.push_back(grid);
      llvm::append_range(program.tables, grid.getResults());
      continue;
    }
    if (program.grid)
      return grid.emitError("expects one attention in a function for a GPU; "
                            "make it two functions")
             << otherTarget;
    program.grid = grid;
  }
  for (auto unions : function.getOps<ListUnionsOp>()) {
    program.unions = unions;
    llvm::append_range(program.tables, unions.getTables());
  }
  if (!program.grid)
    return function.emitError("expects an attention, but '")
           << function.getName() << "' has none" << otherTarget;
  return success();
}

FailureOr<TileProgram> TileProgram::match(func::FuncOp function) {
  TileProgram program;
  program.function = function;
  if (failed(matchGrids(program)))
    return failure();
  program.schedule = program.grid->getAttrOfType<hopper::ScheduleAttr>(
      attn::kScheduleAttrName);
  Attribute other = program.grid->getAttr(attn::kScheduleAttrName);
  if (!program.schedule && other)
    return program.grid.emitError("expects a #hopper.schedule for a GPU, but "
                                  "got ")
           << other << "; leave it out, and the compiler chooses one";
  if (!program.schedule)
    return program.grid.emitError("expects a schedule for a GPU: run "
                                  "attn-hopper-assign-schedule");
  if (failed(requireNothingAround(function)))
    return failure();
  SmallVector<TileLoopOp> loops(program.grid.getOps<TileLoopOp>());
  if (loops.size() != 1)
    return program.grid.emitError("expects one loop over tiles of keys on a "
                                  "GPU, but got ")
           << loops.size() << otherTarget;
  program.keys = loops[0];
  if (failed(matchLoop(program)))
    return failure();
  matchCaptures(program);
  matchBias(program);
  for (Operation &op : program.grid.getTerminator().getYieldingOps())
    if (failed(matchResult(program, cast<tensor::ParallelInsertSliceOp>(op))))
      return failure();
  program.isOnlyLastPartial = program.keys.getOnlyLastPartial();
  return program;
}
