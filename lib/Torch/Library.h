//===- Library.h - The functions of libattn ---------------------*- C++ -*-===//

#ifndef ATTN_LIB_TORCH_LIBRARY_H
#define ATTN_LIB_TORCH_LIBRARY_H

#include "attn-c/Attn.h"

namespace attn_torch {

/// What operators call of libattn.so, as pointers of these names: a process
/// finds it at run time, where Python finds it, too.
struct Library {
#define ATTN_TORCH_FUNCTIONS(X)                                                \
  X(attnDifferentiate)                                                         \
  X(attnErrorDestroy)                                                          \
  X(attnErrorMessage)                                                          \
  X(attnKernelCompile)                                                         \
  X(attnKernelInputInfo)                                                       \
  X(attnKernelNumInputs)                                                       \
  X(attnKernelPrepare)                                                         \
  X(attnKernelRelease)                                                         \
  X(attnKernelRun)                                                             \
  X(attnPreparedDestroy)                                                       \
  X(attnStringData)                                                            \
  X(attnStringDestroy)                                                         \
  X(attnStringSize)
#define ATTN_TORCH_POINTER(name) decltype(&::name) name;
  ATTN_TORCH_FUNCTIONS(ATTN_TORCH_POINTER)
#undef ATTN_TORCH_POINTER
};

/// That of this process: the file that attn.torch names, that of the variable
/// ATTN_LIBRARY, or libattn.so next to this library. Throws std::runtime_error
/// if there is none.
const Library &getLibrary();

/// The stream of CUDA that PyTorch works on.
void *getCudaStream(int32_t device);

} // namespace attn_torch

#endif // ATTN_LIB_TORCH_LIBRARY_H
