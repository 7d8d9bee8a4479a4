//===- KernelObstacles.cpp - Why no kernel for a GPU serves a program -----===//
//
// Each kernel there is is compiled for the program: what it lacks is what it
// says itself, and no list of conditions beside it.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Attn/IR/AttnGrad.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "attn/JIT/Compiler.h"
#include "mlir/IR/BuiltinOps.h"

using namespace attn;

/// The first error of some, without its place and without the ways out, of
/// which the caller has taken one.
static std::string getFirstLine(llvm::Error error) {
  std::string text = llvm::toString(std::move(error));
  llvm::StringRef line = llvm::StringRef(text).split('\n').first;
  constexpr llvm::StringLiteral mark = "error: ";
  if (size_t at = line.find(mark); at != llvm::StringRef::npos)
    line = line.drop_front(at + mark.size());
  for (llvm::StringRef end : {"; the target cpu ", "; leave the choice "})
    line = line.take_front(line.find(end));
  return line.str();
}

std::vector<KernelObstacle>
attn::getKernelObstacles(mlir::ModuleOp module, const CompileOptions &options) {
  struct Kernel {
    llvm::StringLiteral name, schedule, sparsity;
  };
  constexpr llvm::StringLiteral tile =
      "#hopper.schedule<tile_m = 64, tile_n = 32, stages = 2, registers = 240>";
  constexpr Kernel tiles = {"tiles", tile, "dense"};
  constexpr Kernel gathered = {"gathered tiles", tile, "gathered"};
  constexpr Kernel rows = {
      "rows", "#attn.row_schedule<rows = 4, tile_n = 32, lanes = 8>", "lists"};
  constexpr Kernel gradients = {"gradients", "", "auto"};
  bool hasGradients = false, hasLists = false;
  module.walk([&](mlir::attn::AttentionLikeOpInterface op) {
    hasGradients |= llvm::isa<mlir::attn::AttentionGradOp>(*op);
    hasLists |= mlir::attn::hasKeyLists(op);
  });
  llvm::SmallVector<Kernel> kernels;
  if (hasGradients)
    kernels = {gradients};
  else if (hasLists)
    kernels = {tiles, gathered, rows};
  else
    kernels = {tiles, rows};
  std::vector<KernelObstacle> obstacles;
  for (const Kernel &kernel : kernels) {
    CompileOptions own = options;
    own.schedule = kernel.schedule.str();
    own.sparsity = kernel.sparsity.str();
    own.dumpIR = nullptr;
    own.dumpLLVM = nullptr;
    own.dumpPart = nullptr;
    llvm::Expected<KernelPackage> package = compileToPackage(module, own);
    obstacles.push_back(
        {kernel.name.str(), package
                                ? "nothing, if it is asked for: " + own.schedule
                                : getFirstLine(package.takeError())});
  }
  return obstacles;
}
