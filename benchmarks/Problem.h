//===- Problem.h - One attention to measure, and how ------------*- C++ -*-===//

#ifndef ATTN_BENCHMARKS_PROBLEM_H
#define ATTN_BENCHMARKS_PROBLEM_H

#include "Unfused.h"
#include "attn/JIT/Kernel.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <vector>

namespace attn::benchmarks {

/// Inputs and outputs of one attention.
struct Problem {
  explicit Problem(Sizes sizes);
  TensorView view(std::vector<float> &data);
  /// Runs a kernel of q, k, v and what is in `captures`.
  llvm::Error run(const Kernel &kernel, unsigned threads,
                  llvm::ArrayRef<TensorView> captures = {});

  Sizes sizes;
  std::vector<float> q, k, v, o;
  std::vector<int64_t> shape, strides;
};

/// Ends the program after an error.
void exitOn(llvm::Error error);

/// The time of a call of `body`, with no other work around. Threads of OpenBLAS
/// wait for work in a busy loop for more than 0.1 s, which would take a core
/// from whoever comes next; and after that pause it takes some time until the
/// cores are fast again and the threads are spread over them.
double getSeconds(llvm::function_ref<void()> body);

double getMedian(std::vector<double> values);

} // namespace attn::benchmarks

#endif // ATTN_BENCHMARKS_PROBLEM_H
