//===- ClassifyBlocks.cpp - Derive the keys that tiles need ---------------===//

#include "BlockBounds.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace mlir::attn;

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNCLASSIFYBLOCKSPASS
#include "attn/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace mlir::attn

/// Tells that every tile evaluates the mask on every key, and why.
static void remarkPartial(OnlineAttentionOp op, Location loc,
                          const std::string &reason) {
  remark::missed(loc, remark::RemarkOpts::name("partial-everywhere")
                          .category(kRemarkCategory)
                          .function(getFunctionName(op)))
      << remark::reason("{0}", reason);
}

void mlir::attn::classifyBlocks(RewriterBase &rewriter, OnlineAttentionOp op) {
  if (op.getMask().empty() || !op.getBlocks().empty())
    return;
  if (!op.getOffsets().empty())
    return remarkPartial(op, op.getLoc(), "the attention has offsets");

  MaskBounds mask(op);
  OpBuilder::InsertionGuard guard(rewriter);
  bool isBounded = false;
  rewriter.modifyOpInPlace(op, [&] {
    Region &blocks = op.getBlocks();
    SmallVector<Type> types(kNumBlocksArgs, rewriter.getIndexType());
    llvm::append_range(types, op.getCaptures().getTypes());
    SmallVector<Location> locs(types.size(), op.getLoc());
    // Not through the rewriter, so that a block that is given up leaves no
    // trace with listeners.
    OpBuilder builder(op.getContext());
    builder.createBlock(&blocks, blocks.end(), types, locs);
    auto bounds = BlockBoundsBuilder(builder, op.getLoc(), mask).build();
    isBounded = bounds.has_value();
    if (isBounded)
      YieldOp::create(builder, op.getLoc(), ValueRange(*bounds));
    else
      blocks.getBlocks().clear();
  });
  if (isBounded) {
    cleanUpRegions(op);
    remark::passed(op.getLoc(), remark::RemarkOpts::name("classified")
                                    .category(kRemarkCategory)
                                    .function(getFunctionName(op)))
        << remark::add("the mask bounds the keys of each tile");
    return;
  }
  Operation *obstacle = mask.getObstacle();
  remarkPartial(op, obstacle ? obstacle->getLoc() : op.getLoc(),
                obstacle ? ("'" + obstacle->getName().getStringRef() +
                            "': " + mask.getObstacleReason())
                               .str()
                         : mask.getObstacleReason().str());
}

namespace {
struct ClassifyBlocks
    : public attn::impl::AttnClassifyBlocksPassBase<ClassifyBlocks> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation()->walk(
        [&](OnlineAttentionOp op) { classifyBlocks(rewriter, op); });
  }
};
} // namespace
