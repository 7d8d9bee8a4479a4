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

#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::attn;

namespace {
/// Which positions values of a mask depend on.
class Positions {
public:
  explicit Positions(Block &mask) {
    ofQuery.insert(mask.getArgument(kNumMaskArgs - 2));
    ofKey.insert(mask.getArgument(kNumMaskArgs - 1));
    for (Operation &op : mask)
      for (DenseSet<Value> *known : {&ofQuery, &ofKey})
        if (reads(op, *known))
          known->insert_range(op.getResults());
  }
  bool isOfKey(Value value) const { return ofKey.contains(value); }
  bool isOfKeyAlone(Value value) const {
    return ofKey.contains(value) && !ofQuery.contains(value);
  }
  bool isOfQueryAlone(Value value) const {
    return ofQuery.contains(value) && !ofKey.contains(value);
  }

private:
  static bool reads(Operation &op, const DenseSet<Value> &known) {
    return op
        .walk([&](Operation *inner) {
          return WalkResult(
              failure(llvm::any_of(inner->getOperands(), [&](Value operand) {
                return known.contains(operand);
              })));
        })
        .wasInterrupted();
  }

  DenseSet<Value> ofQuery, ofKey;
};

/// A comparison that must hold for a pair to be allowed, of a term of the key
/// with one of the query.
struct Equality {
  Operation *comparison;
  Value ofKey, ofQuery;
};
} // namespace

static SmallVector<Equality> findEqualities(Block &mask,
                                            const Positions &positions) {
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
    if (positions.isOfKeyAlone(y) && positions.isOfQueryAlone(x))
      std::swap(x, y);
    if (positions.isOfKeyAlone(x) && positions.isOfQueryAlone(y))
      found.push_back({comparison, x, y});
  }
  return found;
}

/// An operation that computes the same as `op` does from other operands.
static Operation *findTwin(Operation &op, ArrayRef<Value> operands) {
  for (Operation &other : *op.getBlock())
    if (&other != &op && other.getName() == op.getName() &&
        other.getResultTypes() == op.getResultTypes() &&
        other.getDiscardableAttrDictionary() ==
            op.getDiscardableAttrDictionary() &&
        other.getPropertiesAsAttribute() == op.getPropertiesAsAttribute() &&
        llvm::equal(other.getOperands(), operands))
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
    SmallVector<Value> operands;
    for (Value operand : op.getOperands()) {
      auto it = twins.find(operand);
      operands.push_back(it == twins.end() ? operand : it->second);
    }
    Operation *twin = takesChanged || op.getNumRegions() != 0
                          ? nullptr
                          : findTwin(op, operands);
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
static void replace(Block &mask, const Equality &equality,
                    const Positions &positions) {
  // What depends on the query comes first, so that all may take it.
  Operation *start = nullptr;
  for (Operation &op : llvm::make_early_inc_range(mask.without_terminator())) {
    if (llvm::any_of(op.getResults(),
                     [&](Value value) { return positions.isOfKey(value); })) {
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
    Block &mask = op.getMask().front();
    Positions positions(mask);
    for (const Equality &equality : findEqualities(mask, positions)) {
      if (!canReplace(mask, equality))
        continue;
      rewriter.modifyOpInPlace(op, [&] { replace(mask, equality, positions); });
      return true;
    }
    return false;
  };
  // Each time one term less is read.
  while (replaceOne())
    cleanUpRegions(op);
}
