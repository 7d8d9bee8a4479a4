//===- NormalizeMask.cpp - One spelling for equal masks -------------------===//

#include "MaskNormalForm.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"

using namespace mlir;
using namespace mlir::attn;

/// Larger masks stay as they are; operands are followed by recursion.
static constexpr size_t kMaxOps = 1024;

/// Writes the mask anew from the condition that it yields.
static void rewriteMask(RewriterBase &rewriter, AttentionLikeOpInterface op) {
  Region &region = op.getMask();
  MaskBounds mask(op, MaskReading::Pairs);
  Block &from = region.front();
  OpBuilder::InsertionGuard guard(rewriter);
  Region written;
  SmallVector<Location> locs;
  for (BlockArgument argument : from.getArguments())
    locs.push_back(argument.getLoc());
  // Not through the rewriter, which has to do with the operation alone.
  OpBuilder builder(op.getContext());
  Block *to = builder.createBlock(&written, written.end(),
                                  from.getArgumentTypes(), locs);
  IRMapping mapping;
  mapping.map(from.getArguments(), to->getArguments());
  Value yielded = from.getTerminator()->getOperand(0);
  MaskEmitter emitter(builder, yielded.getLoc(), mask, mapping);
  Value result = emitter.emitMask(yielded);
  YieldOp::create(builder, from.getTerminator()->getLoc(), result);
  rewriter.modifyOpInPlace(op, [&] { region.takeBody(written); });
}

void mlir::attn::normalizeMask(RewriterBase &rewriter,
                               AttentionLikeOpInterface op) {
  if (op.getMask().empty())
    return;
  size_t numOps = 0;
  op.getMask().walk([&](Operation *) { ++numOps; });
  if (numOps > kMaxOps)
    return;
  // What is made equal by the first time, such as a quotient and a shift, is
  // one term the second time.
  for (int times = 0; times < 2; ++times) {
    rewriteMask(rewriter, op);
    cleanUpRegions(op);
  }
}
