//===- CheckSlices.cpp - Slices that may leave their tensor ---------------===//

#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNCHECKSLICESPASS
#include "attn/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;
using Predicate = arith::CmpIPredicate;

namespace {
struct CheckSlices : public attn::impl::AttnCheckSlicesPassBase<CheckSlices> {
  void runOnOperation() override;

private:
  void addReport(ImplicitLocOpBuilder &b, Operation *op, const Twine &text,
                 Value first, Value second, Value condition);
  template <typename OpTy> void checkOffsets(OpTy op, Value whole);
  Value checkElement(ImplicitLocOpBuilder &b, Operation *op, Value tensor,
                     ValueRange indices);

  SmallVector<Attribute> sites;
};
} // namespace

void CheckSlices::addReport(ImplicitLocOpBuilder &b, Operation *op,
                            const Twine &text, Value first, Value second,
                            Value condition) {
  ReportOp::create(b, sites.size(), first, second, condition);
  sites.push_back(b.getStringAttr(getErrorText(op, text)));
}

/// Moves a slice inside where it begins at numbers that the shape function may
/// not know.
template <typename OpTy> void CheckSlices::checkOffsets(OpTy op, Value whole) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  Value zero, one;
  SmallVector<OpFoldResult> offsets = op.getMixedOffsets();
  for (auto [dim, offset] : llvm::enumerate(offsets)) {
    auto at = dyn_cast<Value>(offset);
    if (!at)
      continue;
    if (!zero) {
      zero = arith::ConstantIndexOp::create(b, 0);
      one = arith::ConstantIndexOp::create(b, 1);
    }
    auto get = [&](OpFoldResult value) {
      return getValueOrCreateConstantIndexOp(b, op.getLoc(), value);
    };
    Value size = get(op.getMixedSizes()[dim]);
    Value steps = arith::SubIOp::create(b, size, one);
    Value span = arith::AddIOp::create(
        b, arith::MulIOp::create(b, steps, get(op.getMixedStrides()[dim])),
        one);
    // Nothing is nowhere.
    Value isEmpty = arith::CmpIOp::create(b, Predicate::eq, size, zero);
    span = arith::SelectOp::create(b, isEmpty, zero, span);
    Value extent = tensor::DimOp::create(b, whole, dim);
    Value most = arith::SubIOp::create(b, extent, span);
    Value inside =
        arith::MinSIOp::create(b, arith::MaxSIOp::create(b, at, zero), most);
    addReport(b, op,
              "expects an offset of dimension " + Twine(dim) +
                  " such that the slice is within extent %1, but got %0",
              at, extent, arith::CmpIOp::create(b, Predicate::ne, inside, at));
    offset = inside;
  }
  if (!zero)
    return;
  SmallVector<Value> values;
  for (OpFoldResult offset : offsets)
    if (auto value = dyn_cast<Value>(offset))
      values.push_back(value);
  op.getOffsetsMutable().assign(values);
}

/// Whether an element is in its tensor, after a report where it is not.
Value CheckSlices::checkElement(ImplicitLocOpBuilder &b, Operation *op,
                                Value tensor, ValueRange indices) {
  Value isInside;
  for (auto [dim, index] : llvm::enumerate(indices)) {
    Value extent = b.createOrFold<tensor::DimOp>(tensor, dim);
    Value isIn = b.createOrFold<arith::CmpIOp>(Predicate::ult, index, extent);
    if (matchPattern(isIn, m_One()))
      continue;
    Value isOut = arith::CmpIOp::create(b, Predicate::uge, index, extent);
    addReport(b, op,
              "expects an index of dimension " + Twine(dim) +
                  " within extent %1, but got %0",
              index, extent, isOut);
    isInside =
        isInside ? arith::AndIOp::create(b, isInside, isIn).getResult() : isIn;
  }
  return isInside;
}

void CheckSlices::runOnOperation() {
  sites = getSites(getOperation());
  SmallVector<Operation *> ops;
  getOperation()->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<AttentionLikeOpInterface, linalg::LinalgOp>(op))
      return WalkResult::skip();
    if (isa<tensor::ExtractSliceOp, tensor::InsertSliceOp, tensor::ExtractOp,
            tensor::InsertOp>(op))
      ops.push_back(op);
    return WalkResult::advance();
  });
  for (Operation *op : ops) {
    if (auto extract = dyn_cast<tensor::ExtractSliceOp>(op)) {
      checkOffsets(extract, extract.getSource());
      continue;
    }
    if (auto insert = dyn_cast<tensor::InsertSliceOp>(op)) {
      checkOffsets(insert, insert.getDest());
      continue;
    }
    ImplicitLocOpBuilder b(op->getLoc(), op);
    auto insert = dyn_cast<tensor::InsertOp>(op);
    auto extract = dyn_cast<tensor::ExtractOp>(op);
    Value isInside =
        insert ? checkElement(b, op, insert.getDest(), insert.getIndices())
               : checkElement(b, op, extract.getTensor(), extract.getIndices());
    if (!isInside)
      continue;
    Type type = op->getResult(0).getType();
    auto branch = scf::IfOp::create(b, type, isInside, /*withElseRegion=*/true);
    op->getResult(0).replaceAllUsesWith(branch.getResult(0));
    b.setInsertionPointToEnd(branch.thenBlock());
    Operation *yield = scf::YieldOp::create(b, op->getResult(0));
    op->moveBefore(yield);
    b.setInsertionPointToEnd(branch.elseBlock());
    Value other =
        insert ? insert.getDest()
               : arith::ConstantOp::create(b, b.getZeroAttr(type)).getResult();
    scf::YieldOp::create(b, other);
  }
  setSites(getOperation(), sites);
}
