//===- ExpandDivisions.cpp - Divisions outside of attentions --------------===//

#include "TotalDivision.h"
#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNEXPANDDIVISIONSPASS
#include "attn/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {
struct ExpandDivisions
    : public attn::impl::AttnExpandDivisionsPassBase<ExpandDivisions> {
  void runOnOperation() override {
    SmallVector<Operation *> divisions;
    getOperation()->walk<WalkOrder::PreOrder>([&](Operation *op) {
      // Tiles of their regions ask a divisor once for all that it divides.
      if (isa<AttentionLikeOpInterface>(op))
        return WalkResult::skip();
      if (isIntegerDivision(op) && !isa<ShapedType>(op->getResultTypes()[0]))
        divisions.push_back(op);
      return WalkResult::advance();
    });
    for (Operation *division : divisions)
      makeDivisionsTotal(division);
  }
};
} // namespace
