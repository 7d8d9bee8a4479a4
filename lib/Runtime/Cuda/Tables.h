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
  /// operand `firstTable`. The keys of a tile have so many parts. Tables have
  /// no memory yet.
  static llvm::Expected<Tables> layOut(const Device &device, void *stream,
                                       int32_t firstTable,
                                       llvm::ArrayRef<TableInfo> infos,
                                       llvm::ArrayRef<TensorView> operands,
                                       int64_t parts = 1);
  /// Takes memory for those that have none.
  llvm::Error takeMemory(const Device &device);
  /// Both, with zeros where tables are to have them.
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
  /// The bytes of a table, and those up to the next one.
  int64_t getBytes(size_t table) const { return bytes[table]; }
  int64_t getRoom(size_t table) const;
  /// Tells where a table lies that somebody else has memory for.
  void place(size_t table, DevicePtr address) {
    operands[firstTable + table].data = reinterpret_cast<void *>(address);
  }
  /// Sets those to zero that `infos` says start with zeros.
  llvm::Error clear(llvm::ArrayRef<TableInfo> infos);
  /// Gives the memory back once what the stream has so far is done.
  llvm::Error release();

private:
  Tables(const Driver &driver, void *stream, int32_t firstTable)
      : driver(&driver), stream(stream), firstTable(firstTable) {}

  const Driver *driver;
  void *stream;
  int32_t firstTable;
  DevicePtr memory = 0;
  /// Shapes and strides of the tables, and their bytes.
  std::vector<int64_t> extents, bytes;
  llvm::SmallVector<TensorView, 12> operands;
};

} // namespace attn::cuda

#endif // ATTN_LIB_RUNTIME_CUDA_TABLES_H
