//===- Kernels.h - Kernels of programs that are text ------------*- C++ -*-===//

#ifndef ATTN_LIB_TORCH_KERNELS_H
#define ATTN_LIB_TORCH_KERNELS_H

#include "attn-c/Attn.h"
#include <memory>
#include <string>
#include <vector>

namespace attn_torch {

/// A compiled kernel, and what it takes.
struct Kernel {
  explicit Kernel(attnKernel *handle);
  Kernel(const Kernel &) = delete;
  ~Kernel();

  attnKernel *handle;
  std::vector<std::string> names;
  std::vector<attnDType> types;
};

/// What operators are given to compile.
struct Program {
  const std::string &text;
  /// As attn.torch._options.encode has it: lines of name=value, where a value
  /// is JSON. A schedule is one of forward kernels.
  const std::string &options;
  attnDevice device;
};

/// The kernel of a program, or that of its gradients with respect to inputs of
/// these names. It is compiled once. Throws std::runtime_error.
std::shared_ptr<const Kernel> getForward(const Program &program);
std::shared_ptr<const Kernel> getGradient(const Program &program,
                                          const std::vector<std::string> &wrt);

/// Runs a kernel. `mask` is the number of what calls with one mask share, or 0;
/// nothing is shared where the process does not know it. Throws
/// std::runtime_error.
void run(const Kernel &kernel, const std::vector<attnTensor> &inputs,
         const std::vector<attnTensor> &results, void *stream, int32_t device,
         int64_t mask);

} // namespace attn_torch

#endif // ATTN_LIB_TORCH_KERNELS_H
