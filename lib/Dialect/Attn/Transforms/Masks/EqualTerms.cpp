//===- EqualTerms.cpp - What a mask asks to be equal is one term ----------===//
//
// A mask that asks for `document[j] == document[i]` is false wherever these
// differ, whatever its other conditions are. So these may read either of them,
// and take the one that depends on the query: it is there once for a row, and
// with
//
//   document[j] == document[i] and j - begin[document[j]] <= i -
//   begin[document[i]]
//
// what is left of the second condition is `j <= i`. Of other tensors, only what
// the mask reads for the query as well is read in place of what is read for the
// key, as a read may rely on the key's number to be in bounds.
//
//===----------------------------------------------------------------------===//

#include "attn/Analysis/MaskValues.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::attn;

namespace {
/// A comparison that must hold for a pair to be allowed, of a term of the key
/// with one of the query.
struct Equality {
  Operation *comparison;
  Value ofKey, ofQuery;
};
} // namespace

static SmallVector<Equality> findEqualities(const MaskValues &values) {
  auto isOfKey = [&](Value value) {
    return values.dependsOnKey(value) && !values.dependsOnQuery(value);
  };
  auto isOfQuery = [&](Value value) {
    return values.dependsOnQuery(value) && !values.dependsOnKey(value);
  };
  Block &mask = values.getRegion().front();
  SmallVector<Equality> found;
  SmallVector<Value> worklist = {mask.getTerminator()->getOperand(0)};
  DenseSet<Value> visited;
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (!visited.insert(value).second)
      continue;
    if (auto both = value.getDefiningOp<arith::AndIOp>()) {
      llvm::append_range(worklist, both->getOperands());
      continue;
    }
    auto comparison = value.getDefiningOp<arith::CmpIOp>();
    if (!comparison || comparison.getPredicate() != arith::CmpIPredicate::eq)
      continue;
    Value x = comparison.getLhs(), y = comparison.getRhs();
    if (isOfKey(y) && isOfQuery(x))
      std::swap(x, y);
    if (isOfKey(x) && isOfQuery(y))
      found.push_back({comparison, x, y});
  }
  return found;
}

/// An operation that computes what `op` would with `twins` as operands.
static Operation *findTwin(Operation &op, const DenseMap<Value, Value> &twins) {
  auto areEqual = [&](Value operand, Value other) {
    auto it = twins.find(operand);
    return success(other == (it == twins.end() ? operand : it->second));
  };
  for (Operation &other : *op.getBlock())
    if (&other != &op && OperationEquivalence::isEquivalentTo(
                             &op, &other, areEqual, nullptr,
                             OperationEquivalence::IgnoreLocations))
      return &other;
  return nullptr;
}

/// Whether all that is read with the term of the query, in place of that of the
/// key, is read already.
static bool canReplace(Block &mask, const Equality &equality) {
  DenseMap<Value, Value> twins = {{equality.ofKey, equality.ofQuery}};
  /// What has no twin, but takes other operands.
  DenseSet<Value> changed;
  bool isUsed = false;
  for (Operation &op : mask) {
    bool takesTwin = false, takesChanged = false;
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        takesTwin |= twins.contains(operand);
        takesChanged |= changed.contains(operand);
      }
    });
    if (&op == equality.comparison || (!takesTwin && !takesChanged))
      continue;
    isUsed = true;
    Operation *twin =
        takesChanged || op.getNumRegions() != 0 ? nullptr : findTwin(op, twins);
    if (twin) {
      for (auto [result, other] :
           llvm::zip_equal(op.getResults(), twin->getResults()))
        twins[result] = other;
      continue;
    }
    bool isRead = op.walk([](tensor::ExtractOp) {
                      return WalkResult::interrupt();
                    }).wasInterrupted();
    if (isRead)
      return false;
    changed.insert_range(op.getResults());
  }
  return isUsed;
}

/// Has all conditions but the comparison itself read the term of the query.
static void replace(const MaskValues &values, const Equality &equality) {
  // What depends on the query comes first, so that all may take it.
  Operation *start = nullptr;
  Block &mask = values.getRegion().front();
  for (Operation &op : llvm::make_early_inc_range(mask.without_terminator())) {
    if (llvm::any_of(op.getResults(),
                     [&](Value value) { return values.dependsOnKey(value); })) {
      if (!start)
        start = &op;
    } else if (start) {
      op.moveBefore(start);
    }
  }
  Value(equality.ofKey)
      .replaceUsesWithIf(equality.ofQuery, [&](OpOperand &use) {
        return use.getOwner() != equality.comparison;
      });
}

void mlir::attn::substituteEqualTerms(RewriterBase &rewriter,
                                      AttentionLikeOpInterface op) {
  auto replaceOne = [&] {
    if (op.getMask().empty())
      return false;
    MaskValues values(op);
    for (const Equality &equality : findEqualities(values)) {
      if (!canReplace(op.getMask().front(), equality))
        continue;
      rewriter.modifyOpInPlace(op, [&] { replace(values, equality); });
      return true;
    }
    return false;
  };
  // Each time one term less is read.
  while (replaceOne())
    cleanUpRegions(op);
}
