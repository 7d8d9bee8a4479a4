//===- KeyLists.h - Lists of keys against all keys --------------*- C++ -*-===//
//
// For random lists of some density: the time with them and without, in turn in
// one process. If a listed pair took as long as any other, the first would be
// that part of the second.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_BENCHMARKS_KEYLISTS_H
#define ATTN_BENCHMARKS_KEYLISTS_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>

namespace attn::benchmarks {

/// Prints a table in Markdown.
void benchmarkKeyLists(int64_t heads, llvm::ArrayRef<int64_t> lengths,
                       unsigned runs, unsigned threads);

} // namespace attn::benchmarks

#endif // ATTN_BENCHMARKS_KEYLISTS_H
