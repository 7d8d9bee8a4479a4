//===- VisitBlocks.cpp - A pipelined loop in parts ------------------------===//

#include "VisitBlocks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::hopper;

/// Scalars that do not depend on the loop are computed in front of the branch,
/// so that all parts see them.
static void hoistScalars(RewriterBase &rewriter, scf::IfOp branch) {
  Block *block = branch.thenBlock();
  for (Operation &op : llvm::make_early_inc_range(block->without_terminator()))
    if (op.getNumRegions() == 0 && isPure(&op) &&
        llvm::all_of(op.getOperands(), [&](Value value) {
          return value.getParentBlock() != block;
        }))
      rewriter.moveOpBefore(&op, branch);
}

/// Makes what the operations of a block take from others of `from` arguments of
/// the block, and returns it.
static SmallVector<Value> makeArguments(RewriterBase &rewriter, Block *block,
                                        ArrayRef<Block *> from) {
  llvm::SetVector<Value> taken;
  block->walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (llvm::is_contained(from, operand.getParentBlock()))
        taken.insert(operand);
  });
  for (Value value : taken) {
    Value argument = block->addArgument(value.getType(), value.getLoc());
    rewriter.replaceUsesWithIf(value, argument, [&](OpOperand &use) {
      return block->findAncestorOpInBlock(*use.getOwner()) != nullptr;
    });
  }
  return taken.takeVector();
}

VisitBlocksOp mlir::attn::hopper::createVisitBlocks(RewriterBase &rewriter,
                                                    PipelinedBlocks blocks) {
  scf::IfOp branch = blocks.branch;
  Location loc = branch.getLoc();
  hoistScalars(rewriter, branch);
  rewriter.setInsertionPoint(branch);
  SmallVector<Value> inits(branch.elseYield().getOperands()),
      results(branch.thenYield().getOperands());
  auto visit = VisitBlocksOp::create(
      rewriter, loc, branch.getResultTypes(), blocks.first, blocks.end,
      blocks.after ? blocks.after.getUpperBound() : Value(), inits);
  Block *block = branch.thenBlock();
  auto take = [&](Region &region, Block::iterator end) {
    Block *part = rewriter.createBlock(&region);
    part->getOperations().splice(part->end(), block->getOperations(),
                                 block->begin(), end);
    return part;
  };
  Block *start = take(visit.getStart(), blocks.main->getIterator());
  Block *rest = take(visit.getRest(), std::next(blocks.last->getIterator()));
  Block *finish = take(visit.getFinish(), std::prev(block->end()));
  auto finishPart = [&](Block *part, ValueRange values) {
    rewriter.setInsertionPointToEnd(part);
    EndOp::create(rewriter, loc, values);
  };
  finishPart(finish, results);
  finishPart(rest, makeArguments(rewriter, finish, {start, rest}));
  finishPart(start, makeArguments(rewriter, rest, {start}));
  Block *none = rewriter.createBlock(&visit.getNone());
  Block *otherwise = branch.elseBlock();
  none->getOperations().splice(none->end(), otherwise->getOperations(),
                               otherwise->begin(), std::prev(otherwise->end()));
  finishPart(none, {});
  if (blocks.after) {
    Block *pass = rewriter.createBlock(&visit.getPass());
    Block *body = blocks.after.getBody();
    pass->getOperations().splice(pass->end(), body->getOperations(),
                                 body->begin(), std::prev(body->end()));
    finishPart(pass, {});
    rewriter.eraseOp(blocks.after);
    rewriter.eraseOp(blocks.before);
  }
  rewriter.replaceOp(branch, visit.getResults());
  return visit;
}
