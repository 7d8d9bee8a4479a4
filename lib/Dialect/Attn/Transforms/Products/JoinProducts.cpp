//===- JoinProducts.cpp - Products of captured rows join that of q and k --===//
//
// The rows become further elements of queries and keys. Elements of bf16 hold
// numbers of more digits as a sum of parts, so that nothing is rounded.
//
//===----------------------------------------------------------------------===//

#include "JoinedRows.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <cmath>

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNJOINPRODUCTSPASS
#include "attn/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// Elements of a query that products still join; more make no tiles.
static constexpr int64_t kMostElements = 256;

//===----------------------------------------------------------------------===//
// What is joined
//===----------------------------------------------------------------------===//

/// How many parts of `type` a number of `from` is the sum of, or 0 where parts
/// do not hold each number. `isScaled` if it is multiplied before.
static unsigned getNumParts(FloatType from, FloatType type, bool isScaled) {
  if (type.isF32() || type.isF64())
    return from.getWidth() <= type.getWidth() ? 1 : 0;
  if (from == type && !isScaled)
    return 1;
  // f16 has not the range.
  return type.isBF16() && !from.isF64() ? 3 : 0;
}

/// The products of parts that matter, in the order of their columns: that of
/// the first parts, then smaller ones.
static SmallVector<std::pair<unsigned, unsigned>>
getPairs(unsigned rowParts, unsigned columnParts) {
  SmallVector<std::pair<unsigned, unsigned>> pairs;
  unsigned most = std::max(rowParts, columnParts);
  for (unsigned row = 0; row < rowParts; ++row)
    for (unsigned column = 0; column < columnParts; ++column)
      if (row + column < most)
        pairs.push_back({row, column});
  return pairs;
}

/// The products of a score that join, as far as queries have room.
static std::vector<JoinedProduct> choose(AttentionLikeOpInterface op,
                                         double scale) {
  std::vector<JoinedProduct> joined;
  auto type = cast<FloatType>(op.getQueryType().getElementType());
  int64_t elements = op.getQueryKeyDim();
  if (!op.getOffsets().empty() || scale == 0)
    return joined;
  auto grad = dyn_cast<AttentionGradOp>(op.getOperation());
  for (RowProduct &product : findRowProducts(op)) {
    FloatType ofRows = product.rows.getElementType();
    FloatType ofColumns = product.columns.getElementType();
    if (!ofRows || !ofColumns)
      continue;
    JoinedProduct next;
    next.factor = product.factor / scale;
    int exponent;
    // Whether multiplying by it leaves all digits as they are.
    bool isExact = std::abs(std::frexp(next.factor, &exponent)) == 0.5 &&
                   std::abs(exponent) < 16 && (!type.isF16() || exponent == 1);
    unsigned rowParts = getNumParts(ofRows, type, !isExact);
    unsigned columnParts = getNumParts(ofColumns, type, false);
    next.pairs = getPairs(rowParts, columnParts);
    int64_t added = next.pairs.size() * product.length;
    if (next.pairs.empty() || elements + added > kMostElements)
      continue;
    if (grad && !isDifferentiable(grad, product))
      continue;
    next.start = elements;
    elements += added;
    next.product = std::move(product);
    joined.push_back(std::move(next));
  }
  return joined;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

static void join(AttentionOp op) {
  std::vector<JoinedProduct> joined = choose(op, op.getEffectiveScale());
  if (joined.empty())
    return;
  OpBuilder builder(op);
  op.setScaleAttr(builder.getF64FloatAttr(op.getEffectiveScale()));
  JoinedRows rows(builder, op, joined);
  Value query = rows.joinQuery(), key = rows.joinKey();
  Value value = rows.spreadValue();
  op.getQueryMutable().assign(query);
  op.getKeyMutable().assign(key);
  op.getValueMutable().assign(value);
  for (const JoinedProduct &one : joined)
    removeRowProduct(one.product);
  cleanUpRegions(op);
}

static LogicalResult join(AttentionGradOp op) {
  std::vector<JoinedProduct> joined = choose(op, op.getEffectiveScale());
  if (joined.empty())
    return success();
  OpBuilder builder(op);
  JoinedRows rows(builder, op, joined);
  FailureOr<SmallVector<Value>> gradients = rows.joinGradient(op);
  if (failed(gradients))
    return failure();
  op->replaceAllUsesWith(*gradients);
  op.erase();
  return success();
}

namespace {
struct AttnJoinProducts
    : public mlir::attn::impl::AttnJoinProductsPassBase<AttnJoinProducts> {
  void runOnOperation() override {
    SmallVector<AttentionOp> forward;
    SmallVector<AttentionGradOp> gradients;
    getOperation().walk([&](Operation *op) {
      if (auto attention = dyn_cast<AttentionOp>(op))
        forward.push_back(attention);
      else if (auto gradient = dyn_cast<AttentionGradOp>(op))
        gradients.push_back(gradient);
    });
    for (AttentionOp op : forward)
      join(op);
    for (AttentionGradOp op : gradients)
      if (failed(join(op)))
        return signalPassFailure();
  }
};
} // namespace
