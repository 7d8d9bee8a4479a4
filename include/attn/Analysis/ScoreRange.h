//===- ScoreRange.h - What a score may be -----------------------*- C++ -*-===//
//
// The least and the largest value that the score region of an attention can
// yield, whatever the product of query and key is: those of a soft-cap, for
// example, are minus the cap and the cap.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ANALYSIS_SCORERANGE_H
#define ATTN_ANALYSIS_SCORERANGE_H

#include "mlir/IR/Region.h"
#include <limits>

namespace mlir::attn {

/// The numbers from `low` to `high`, which may be infinite. NaN may come on top
/// of them.
struct FloatRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

/// The range of what `score`, a region of an attention that is not empty,
/// yields.
FloatRange getScoreRange(Region &score);

} // namespace mlir::attn

#endif // ATTN_ANALYSIS_SCORERANGE_H
