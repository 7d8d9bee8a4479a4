//===- Diagonals.h - What pairs of a diagonal share -------------*- C++ -*-===//
//
// Where something depends on the distance `i - j` of query and key, as buckets
// of distances do, functions of it and tables by it, all pairs of a diagonal
// have one value: a tile of M queries and N keys has N + M of them at most.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ANALYSIS_DIAGONALS_H
#define ATTN_ANALYSIS_DIAGONALS_H

#include "attn/Dialect/Attn/IR/Attn.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::attn {

/// By how much values of a region grow from (i, j) to (i + 1, j + 1), where
/// that is a constant. Sums and products wrap as the values themselves do.
class PairGrowth {
public:
  /// Arguments of the region from number `firstPosition` on are the same for
  /// all pairs, but for the query, which has the number `query`, and the key,
  /// which is the next one. Nothing is known of those before.
  PairGrowth(Region &region, unsigned firstPosition, unsigned query)
      : region(region), firstPosition(firstPosition), query(query) {}

  std::optional<int64_t> get(Value value);

private:
  std::optional<int64_t> compute(Value value);

  Region &region;
  unsigned firstPosition, query;
  DenseMap<Value, std::optional<int64_t>> known;
};

/// What a score region computes for each diagonal.
struct Diagonals {
  explicit Diagonals(AttentionLikeOpInterface op);

  /// Of type f32, each the result of an operation that others use which have
  /// something for each pair. What it is computed of takes more operations than
  /// to read it from shared memory.
  SmallVector<Value> values;
  /// What computes them, in order.
  llvm::SetVector<Operation *> ops;
};

} // namespace mlir::attn

#endif // ATTN_ANALYSIS_DIAGONALS_H
