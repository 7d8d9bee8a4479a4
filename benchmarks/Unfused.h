//===- Unfused.h - Attention as three passes over a matrix ------*- C++ -*-===//
//
// The peer of the CPU benchmark: what one writes on a BLAS. For each head,
// scores = sgemm(q, k^T), softmax of its rows, o = sgemm(scores, v), with the
// whole matrix of scores in memory.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_BENCHMARKS_UNFUSED_H
#define ATTN_BENCHMARKS_UNFUSED_H

#include <cstdint>
#include <string>
#include <vector>

namespace attn::benchmarks {

/// Sizes of one attention: tensors are contiguous [heads, length, dim] of f32.
struct Sizes {
  int64_t heads, length, dim;
};

class Unfused {
public:
  Unfused(Sizes sizes, unsigned threads);

  /// Each sgemm on all threads, one head after the other.
  void runThreadsInside(const float *q, const float *k, const float *v,
                        float *o, bool causal);
  /// One head on each thread, with sgemm on one thread.
  void runThreadsOutside(const float *q, const float *k, const float *v,
                         float *o, bool causal);

  /// The kernels that OpenBLAS chose, and its version.
  static std::string describe();

private:
  void runHead(int64_t head, const float *q, const float *k, const float *v,
               float *o, float *scores, bool causal, unsigned softmaxThreads);

  Sizes sizes;
  unsigned threads;
  /// One matrix of scores for each thread.
  std::vector<std::vector<float>> scores;
};

/// Makes OpenBLAS use kernels for this processor's vectors. Its releases do not
/// know processors newer than themselves and fall back to SSE3; the variable
/// that overrides this is read when the library is loaded, so the program is
/// started again. Does nothing where OPENBLAS_CORETYPE is set.
void ensureFastKernels(char **argv);

} // namespace attn::benchmarks

#endif // ATTN_BENCHMARKS_UNFUSED_H
