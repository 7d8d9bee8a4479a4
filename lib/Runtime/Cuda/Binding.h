//===- Binding.h - From operands to a kernel's parameters -------*- C++ -*-===//

#ifndef ATTN_LIB_RUNTIME_CUDA_BINDING_H
#define ATTN_LIB_RUNTIME_CUDA_BINDING_H

#include "attn/Runtime/Cuda/Device.h"
#include "attn/Runtime/Cuda/KernelInfo.h"
#include "llvm/ADT/ArrayRef.h"

namespace attn::cuda {

/// The values of a kernel's parameters, in memory of the caller. They are not
/// initialised, as that would take longer than all of the rest.
struct ParamValues {
  alignas(TensorMap) char bytes[kMaxParamBytes];
  void *pointers[kMaxParams];
};

/// What bindParams binds to.
struct BindingTarget {
  Device device;
  /// A number for the kernel in the device's context that no other kernel ever
  /// gets: kMaxParams more than that of the last one.
  uint64_t id;
  const GridInfo &grid;
  llvm::ArrayRef<TensorView> operands;
  llvm::ArrayRef<std::string> names;
  /// Of the launch; 0 if the kernel has no counter.
  DevicePtr counter = 0;
  /// How many heads a tile has.
  int32_t packedHeads = 1;
  /// Operands from here on are memory of ours, which need no check.
  int32_t firstTable = INT32_MAX;
};

/// Fills in the values, or tells which operand does not fit the kernel. The
/// device's context must be current.
llvm::Error bindParams(const BindingTarget &target,
                       llvm::ArrayRef<Param> params, ParamValues &values);

} // namespace attn::cuda

#endif // ATTN_LIB_RUNTIME_CUDA_BINDING_H
