//===- TileProgram.cpp - The parts of a loop over tiles -------------------===//

#include "TileProgram.h"
#include "ElementLoops.h"
#include "attn/Dialect/Attn/IR/OtherTarget.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
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
                                       PackGQAOp &packing) {
  Value source = tensor;
  while (Operation *view = source.getDefiningOp()) {
    auto packed = dyn_cast<PackGQAOp>(view);
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

FailureOr<TileAccess> mlir::attn::getGatherAccess(func::FuncOp function,
                                                  GatherRowsOp gather) {
  // The tensor engine of a GPU does not gather: a warpgroup copies the rows
  // that a row of a table names, and reads their numbers there itself.
  auto cast = gather.getRows().getDefiningOp<arith::IndexCastOp>();
  auto list = cast ? cast.getIn().getDefiningOp<GatherOp>() : GatherOp();
  if (!list || gather.getIndices().size() != 2 ||
      !list.getIndices().back().getDefiningOp<vector::StepOp>() ||
      !matchPattern(gather.getMask(), m_One()))
    return gather.emitError("expects rows to be gathered by numbers that are a "
                            "row of a table");
  // With lists, heads are not packed.
  PackGQAOp packing;
  FailureOr<unsigned> argument =
      getArgument(function, gather.getSource(), gather, "rows", packing);
  if (failed(argument))
    return failure();
  if (packing)
    return gather.emitError("expects rows that are gathered not to have packed "
                            "heads");
  auto type = llvm::cast<VectorType>(gather.getType());
  OpFoldResult zero = Builder(gather.getContext()).getIndexAttr(0);
  TileAccess access;
  access.argument = *argument;
  llvm::append_range(access.dims, gather.getOtherDims());
  llvm::append_values(access.dims, static_cast<int64_t>(gather.getRowDim()),
                      static_cast<int64_t>(gather.getColumnDim()));
  llvm::append_range(access.position, gather.getIndices());
  access.position.append(2, zero);
  access.columns = type.getDimSize(1);
  access.elementType = type.getElementType();
  access.list = list;
  return access;
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

bool mlir::attn::isPrologue(scf::ForallOp grid) {
  return !grid->use_empty() &&
         llvm::all_of(grid->getUsers(), [](Operation *op) {
           return isa<tensor::ExtractOp, tensor::DimOp, GatherOp>(op);
         });
}

LogicalResult mlir::attn::requireNothingAround(func::FuncOp function) {
  for (Operation &op : function.getBody().front()) {
    if (isa<scf::ForallOp, KeyUnionOp, tensor::DimOp, tensor::CastOp,
            tensor::EmptyOp, memref::AllocOp, PackedCountOp, PackGQAOp,
            UnpackHeadsOp, func::ReturnOp,
            bufferization::MaterializeInDestinationOp,
            bufferization::ToBufferOp, bufferization::ToTensorOp>(op) ||
        (isa<linalg::FillOp>(op) && op.getNumResults() == 0) ||
        (isa_and_nonnull<affine::AffineDialect, arith::ArithDialect>(
             op.getDialect()) &&
         llvm::none_of(op.getResultTypes(), llvm::IsaPred<TensorType>)))
      continue;
    // What computes a scalar result stores it into a tensor of no dimensions.
    for (auto [number, type] : llvm::enumerate(function.getResultTypes()))
      if (auto tensor = dyn_cast<RankedTensorType>(type);
          tensor && tensor.getRank() == 0)
        return function.emitError("expects a function for a GPU to return "
                                  "tensors, but its result ")
               << number << " is a scalar of type " << tensor.getElementType()
               << "; of gradients, name those that are wanted without those of "
                  "numbers, or make the number a tensor of rank 0"
               << otherTarget;
    return op.emitError("expects nothing but attention in a function for a "
                        "GPU, but got '")
           << op.getName() << "'" << otherTarget;
  }
  return success();
}

LogicalResult mlir::attn::matchGrids(TileProgram &program) {
  func::FuncOp function = program.function;
  for (scf::ForallOp grid : function.getOps<scf::ForallOp>()) {
    if (isPrologue(grid)) {
      program.prologues.push_back(grid);
      llvm::append_range(program.tables, grid.getResults());
      continue;
    }
    if (!grid.getMapping() || isElementLoop(grid)) {
      (program.grid ? program.behind : program.before).push_back(grid);
      continue;
    }
    if (program.grid)
      return grid.emitError("expects one attention in a function for a GPU; "
                            "make it two functions")
             << otherTarget;
    program.grid = grid;
  }
  for (auto unions : function.getOps<KeyUnionOp>()) {
    program.unions = unions;
    llvm::append_range(program.tables, unions.getTables());
  }
  for (auto alloc : function.getOps<memref::AllocOp>()) {
    program.workspaces.push_back(alloc);
    program.tables.push_back(alloc);
  }
  for (auto fill : function.getOps<linalg::FillOp>()) {
    Value filled = fill.getOutputs()[0];
    if (fill.getNumResults() != 0)
      continue;
    if (!llvm::is_contained(program.tables, filled) ||
        !(matchPattern(fill.getInputs()[0], m_AnyZeroFloat()) ||
          matchPattern(fill.getInputs()[0], m_Zero())))
      return fill.emitError("expects zeros in a buffer that the function "
                            "allocates")
             << otherTarget;
    program.zeroed.insert(filled);
  }
  // A launch is one that always is.
  WalkResult nested = function.walk([&](scf::ForallOp grid) {
    Operation *parent = grid->getParentOp();
    if (parent == function || isa<scf::ForallOp>(parent))
      return WalkResult::advance();
    parent->emitError(
        "expects the attention of a function for a GPU outside of "
        "loops and branches, but it is in '")
        << parent->getName()
        << "'; compile it as a function of its own, and call that there"
        << otherTarget;
    return WalkResult::interrupt();
  });
  if (nested.wasInterrupted())
    return failure();
  if (!program.grid && program.before.empty())
    return function.emitError("expects an attention, but '")
           << function.getName() << "' has none" << otherTarget;
  return success();
}
