//===- MaskCost.h - What a mask computes for each pair ----------*- C++ -*-===//

#ifndef ATTN_ANALYSIS_MASKCOST_H
#define ATTN_ANALYSIS_MASKCOST_H

#include "attn/Dialect/Attn/IR/Attn.h"

namespace mlir::attn {

/// What the predicate of a mask costs where a tile needs it, in instructions of
/// a thread of a GPU: an estimate, from the operations of the region.
/// Comparisons, sums and products are one; what is read from memory, divisions
/// and functions are several.
struct MaskCost {
  /// For each pair of a tile, each query and each key: what depends on both
  /// positions, or on that one alone.
  int64_t pair = 0, query = 0, key = 0;
  /// For each query and 32 keys, whose conditions are bits of a word.
  int64_t word = 0;

  /// Operations of pairs that are more than one instruction, dearest first.
  struct Part {
    Operation *op;
    int64_t cost;
    /// What it is, and what would be cheaper.
    std::string what, instead;
  };
  SmallVector<Part> parts;

  /// One line: the costs, and of parts those that matter, with their lines.
  std::string describe() const;
};

/// Of a region that has the arguments of a mask, and a block.
MaskCost getMaskCost(Region &mask);

} // namespace mlir::attn

#endif // ATTN_ANALYSIS_MASKCOST_H
