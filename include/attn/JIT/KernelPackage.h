//===- KernelPackage.h - What the compiler hands over -----------*- C++ -*-===//
//
// A kernel package is the whole result of a compilation: an object file, a
// description of how to call it, and for a GPU its code. It holds no pointers
// and no MLIR, so it can be kept in memory, in a file, or in a library.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_JIT_KERNELPACKAGE_H
#define ATTN_JIT_KERNELPACKAGE_H

#include "attn/Runtime/Cuda/KernelInfo.h"
#include "attn/Support/Tensor.h"
#include "llvm/Support/JSON.h"
#include <optional>
#include <string>
#include <vector>

namespace attn {

/// Extents that a type leaves open are negative in shapes.
constexpr int64_t kDynamicExtent = -1;

/// One input or result of a kernel. A scalar is a tensor of rank 0.
struct TensorInfo {
  std::string name;
  DType dtype = DType::F32;
  Shape shape;
};

/// The version that packages are written with. Those of version 1, which have
/// no code for a GPU, can be read too.
constexpr int64_t kPackageVersion = 2;

/// How to call the code of a package.
struct KernelMetadata {
  /// The function the kernel was made from.
  std::string entry;
  /// The processor the code was made for, as LLVM names it.
  std::string triple, cpu;
  /// Instruction sets the code may use; the loader requires them of the host.
  std::vector<std::string> features;
  std::vector<TensorInfo> inputs, results;
  /// What the run-time extents must fulfil, each with a location; %0, %1, ...
  /// stand for the offending extents.
  std::vector<std::string> constraints;
  /// The reads of captures that the code checks, by number.
  std::vector<std::string> sites;

  llvm::json::Value toJSON() const;
  static llvm::Expected<KernelMetadata> fromJSON(const llvm::json::Value &json);
};

struct KernelPackage {
  KernelMetadata metadata;
  /// A relocatable object file. For a GPU it has the plan of extents only.
  std::string object;
  /// What a GPU runs; none for a kernel that runs on the CPU.
  std::optional<cuda::CudaProgram> program;

  /// The package as bytes; see fromBytes.
  std::string toBytes() const;
  /// The inverse of toBytes, an error for anything else.
  static llvm::Expected<KernelPackage> fromBytes(llvm::StringRef bytes);
};

} // namespace attn

#endif // ATTN_JIT_KERNELPACKAGE_H
