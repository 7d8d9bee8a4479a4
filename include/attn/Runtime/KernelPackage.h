//===- KernelPackage.h - What the compiler hands over -----------*- C++ -*-===//
//
// A kernel package is the whole result of a compilation: an object file for a
// CPU or a program for a GPU, and a description of how to call it. It holds no
// pointers and no MLIR, so it can be kept in memory, in a file, or in a
// library.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_KERNELPACKAGE_H
#define ATTN_RUNTIME_KERNELPACKAGE_H

#include "attn/Runtime/Cuda/KernelInfo.h"
#include "attn/Runtime/ShapeFunction.h"
#include "attn/Support/Tensor.h"
#include "llvm/Support/JSON.h"
#include <optional>
#include <string>
#include <vector>

namespace attn {

/// A dynamic extent in shapes. Readers take any negative number as one.
constexpr int64_t kDynamicExtent = -1;

/// One input or result of a kernel. A scalar is a tensor of rank 0.
struct TensorInfo {
  std::string name;
  DType dtype = DType::F32;
  Shape shape;
};

/// The version of packages. Only the same version reads them.
constexpr int64_t kPackageVersion = 6;

/// Where kernels run.
enum class DeviceKind : int32_t { CPU = 0, Cuda = 1 };

/// How to call the code of a package.
struct KernelMetadata {
  /// The function the kernel was made from.
  std::string entry;
  /// The processor the object was made for, as LLVM names it, and the
  /// instruction sets that it may use; the loader requires them of the host.
  /// Empty for a GPU.
  std::string triple, cpu;
  std::vector<std::string> features;
  std::vector<TensorInfo> inputs, results;
  /// Computes the extents of the results, and checks those of the inputs; each
  /// check has a location.
  ShapeFunction shapes;
  /// The reads of captures that the code checks, by number; %0, %1, ... stand
  /// for the offending indices.
  std::vector<std::string> sites;

  llvm::json::Value toJSON() const;
  static llvm::Expected<KernelMetadata> fromJSON(const llvm::json::Value &json);
};

struct KernelPackage {
  KernelMetadata metadata;
  /// A relocatable object file for a CPU; empty for a GPU.
  std::string object;
  /// The program for a GPU; none for a kernel that runs on the CPU.
  std::optional<cuda::CudaProgram> program;

  DeviceKind getDevice() const {
    return program ? DeviceKind::Cuda : DeviceKind::CPU;
  }

  /// The bytes of the object file, or of all code for a GPU.
  size_t getCodeSize() const;

  /// The package as bytes; see fromBytes.
  std::string toBytes() const;
  /// The inverse of toBytes, an error for anything else.
  static llvm::Expected<KernelPackage> fromBytes(llvm::StringRef bytes);
};

} // namespace attn

#endif // ATTN_RUNTIME_KERNELPACKAGE_H
