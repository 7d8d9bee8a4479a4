//===- Views.h - Checks of the tensors of a call ----------------*- C++ -*-===//

#ifndef ATTN_LIB_RUNTIME_KERNELS_VIEWS_H
#define ATTN_LIB_RUNTIME_KERNELS_VIEWS_H

#include "attn/Runtime/KernelPackage.h"
#include "attn/Runtime/TensorView.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

namespace attn {

/// An error with the code for tensors that do not fit a kernel.
llvm::Error makeArgumentError(const llvm::Twine &text);

/// Checks the number, element types and shapes of the inputs or results of a
/// kernel; `what` is "input" or "result".
llvm::Error checkTypes(llvm::StringRef what,
                       llvm::ArrayRef<TensorInfo> expected,
                       llvm::ArrayRef<TensorView> views);

/// The bytes from the first of a tensor's elements to behind the last one.
struct Span {
  uintptr_t first = 0, last = 0;
};
/// Both ends are 0 for a tensor without elements. Fails if the bytes do not fit
/// the address space.
std::optional<Span> getSpan(const TensorView &view);

/// Checks addresses and strides. To be called after checkTypes.
llvm::Error checkMemory(llvm::StringRef what,
                        llvm::ArrayRef<TensorInfo> expected,
                        llvm::ArrayRef<TensorView> views);

/// Checks that no element of a result is another, or an element of an input.
/// To be called after checkMemory.
llvm::Error checkOverlap(llvm::ArrayRef<TensorInfo> inputInfos,
                         llvm::ArrayRef<TensorView> inputs,
                         llvm::ArrayRef<TensorInfo> resultInfos,
                         llvm::ArrayRef<TensorView> results);

} // namespace attn

#endif // ATTN_LIB_RUNTIME_KERNELS_VIEWS_H
