//===- HopperOutlineTables.cpp - Tables in front of kernels of rows -------===//
//
// A kernel of rows reads its tables as it reads arguments. So they become
// arguments, behind those that the function has, which is what the launch
// calls them: operands from hopper::kTablesAttrName's first one on.
//
//===----------------------------------------------------------------------===//

#include "Kernels/PrologueKernels.h"
#include "attn/Conversion/AttnToHopper/Passes.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNHOPPEROUTLINETABLESPASS
#include "attn/Conversion/AttnToHopper/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

static bool hasRows(func::FuncOp function) {
  return llvm::any_of(function.getOps<scf::ForallOp>(), [](scf::ForallOp loop) {
    return loop->hasAttrOfType<RowScheduleAttr>(mlir::attn::kScheduleAttrName);
  });
}

/// Gives the results of the loops as arguments, and leaves out the loops and
/// what only they use.
static LogicalResult replaceLoops(TileProgram &program) {
  func::FuncOp function = program.function;
  for (scf::ForallOp loop : program.prologues)
    for (Value table : loop.getResults()) {
      unsigned number = function.getNumArguments();
      if (failed(function.insertArgument(
              number, table.getType(),
              DictionaryAttr::get(function.getContext()), loop.getLoc())))
        return failure();
      table.replaceAllUsesWith(function.getArgument(number));
    }
  for (scf::ForallOp loop : llvm::reverse(program.prologues))
    loop.erase();
  SmallVector<Operation *> ops = llvm::map_to_vector(
      function.getBody().front(), [](Operation &op) { return &op; });
  for (Operation *op : llvm::reverse(ops))
    if (isOpTriviallyDead(op))
      op->erase();
  return success();
}

static LogicalResult outlineTables(func::FuncOp function) {
  TileProgram program;
  program.function = function;
  if (failed(matchGrids(program)))
    return failure();
  if (program.prologues.empty())
    return success();
  OpBuilder builder(function);
  auto module = gpu::GPUModuleOp::create(builder, function.getLoc(),
                                         (function.getName() + ".cuda").str());
  builder.setInsertionPointToStart(module.getBody());
  DenseSet<int64_t> prepared;
  if (failed(emitPrologueKernels(builder, program, prepared)))
    return failure();
  FailureOr<DictionaryAttr> tables = describeTables(program, prepared);
  if (failed(tables))
    return failure();
  function->setAttr(hopper::kTablesAttrName, *tables);
  return replaceLoops(program);
}

namespace {
struct AttnHopperOutlineTables
    : public mlir::attn::impl::AttnHopperOutlineTablesPassBase<
          AttnHopperOutlineTables> {
  void runOnOperation() override {
    SmallVector<func::FuncOp> functions;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (hasRows(function))
        functions.push_back(function);
    for (func::FuncOp function : functions)
      if (failed(outlineTables(function)))
        return signalPassFailure();
  }
};
} // namespace
