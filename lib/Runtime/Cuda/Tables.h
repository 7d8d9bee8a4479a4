//===- Tables.h - Memory that kernels fill for others -----------*- C++ -*-===//
//
// A launch with tables takes memory for them in the order of its stream, and
// gives it back so: the host waits for nothing, launches may run at the same
// time, and a graph captures the memory with the kernels.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_RUNTIME_CUDA_TABLES_H
#define ATTN_LIB_RUNTIME_CUDA_TABLES_H

#include "attn/Runtime/Cuda/Device.h"
#include "attn/Runtime/Cuda/KernelInfo.h"

namespace attn::cuda {

/// The tables of one launch, as operands after those of the caller. The context
/// of the device is current while it lives.
class Tables {
public:
  /// `operands` are those of the caller, in host memory, and the first table is
  /// operand `firstTable`. The keys of a tile have so many parts.
  static llvm::Expected<Tables> allocate(const Device &device, void *stream,
                                         int32_t firstTable,
                                         llvm::ArrayRef<TableInfo> infos,
                                         llvm::ArrayRef<TensorView> operands,
                                         int64_t parts = 1);
  Tables(Tables &&other) noexcept;
  Tables &operator=(Tables &&) = delete;
  /// Gives the memory back, unless release() has.
  ~Tables();

  /// Those of the caller, then the tables.
  llvm::ArrayRef<TensorView> getOperands() const { return operands; }
  /// How many elements an operand has.
  static int64_t getNumElements(const TensorView &view);
  /// The product of extents.
  static llvm::Expected<int64_t>
  getProduct(llvm::ArrayRef<TableExtent> extents,
             llvm::ArrayRef<TensorView> operands);
  /// Gives the memory back once what the stream has so far is done.
  llvm::Error release();

private:
  Tables(const Driver &driver, void *stream)
      : driver(&driver), stream(stream) {}

  const Driver *driver;
  void *stream;
  DevicePtr memory = 0;
  /// Shapes and strides of the tables.
  std::vector<int64_t> extents;
  llvm::SmallVector<TensorView, 12> operands;
};

} // namespace attn::cuda

#endif // ATTN_LIB_RUNTIME_CUDA_TABLES_H
