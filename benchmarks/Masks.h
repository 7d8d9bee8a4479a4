//===- Masks.h - Masks against no mask --------------------------*- C++ -*-===//
//
// For each mask: the time under it and without a mask, in turn in one process,
// and the part of the tiles that have an allowed pair. If no tile is wasted,
// the first is that part of the second.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_BENCHMARKS_MASKS_H
#define ATTN_BENCHMARKS_MASKS_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>

namespace attn::benchmarks {

/// Prints a table in Markdown.
void benchmarkMasks(int64_t heads, llvm::ArrayRef<int64_t> lengths,
                    unsigned runs, unsigned threads);

} // namespace attn::benchmarks

#endif // ATTN_BENCHMARKS_MASKS_H
