//===- Tensor.h - Owning dense tensors in host memory -----------*- C++ -*-===//
//
// A Tensor owns a dense row-major array: what a .npy file holds, what a
// reference evaluation reads and writes, and what a caller hands to a kernel.
// Sizes come from users and files, so making one is checked for overflow and
// for memory, and fails with an llvm::Error.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_SUPPORT_TENSOR_H
#define ATTN_SUPPORT_TENSOR_H

#include "attn/Support/DType.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include <cassert>
#include <cstdlib>
#include <memory>
#include <string>

namespace attn {

using Shape = llvm::SmallVector<int64_t, 4>;

/// The largest rank of a Tensor, which is also NumPy's.
constexpr size_t kMaxRank = 64;

/// "2x8x1000x64", with '?' for a negative (unknown) size; "" for rank 0.
std::string formatShape(llvm::ArrayRef<int64_t> shape);

/// "2x8x1000x64xf32"; "f32" for rank 0.
std::string formatTensorType(llvm::ArrayRef<int64_t> shape, DType dtype);

/// "100 bytes", "12.3 GiB".
std::string formatByteCount(uint64_t bytes);

/// Whether a shape has the sizes of `pattern`, where a negative number stands
/// for any size.
bool matchesShape(llvm::ArrayRef<int64_t> shape,
                  llvm::ArrayRef<int64_t> pattern);

/// The number of bytes of a dense tensor, or an error if a size is negative,
/// the rank is above kMaxRank, or the number does not fit int64_t.
llvm::Expected<int64_t> getDenseSize(llvm::ArrayRef<int64_t> shape,
                                     DType dtype);

/// A dense row-major tensor, aligned to 64 bytes. Movable, not copyable. Reads
/// of one tensor from several threads are safe, writes need distinct elements.
class Tensor {
public:
  static constexpr size_t kAlignment = 64;

  /// Makes a tensor of zeros. Its pages are taken from the system when they are
  /// first written.
  static llvm::Expected<Tensor> create(DType dtype,
                                       llvm::ArrayRef<int64_t> shape);

  DType getDType() const { return dtype; }
  llvm::ArrayRef<int64_t> getShape() const { return shape; }
  int64_t getRank() const { return shape.size(); }
  int64_t getNumElements() const { return numElements; }
  int64_t getSizeInBytes() const { return numElements * getSize(dtype); }

  /// Row-major strides in elements.
  Shape getStrides() const;

  /// The first byte. Never null, also where there are no elements.
  void *getData() { return data; }
  const void *getData() const { return data; }

  /// The elements as an array of `T`, whose size must be an element's.
  template <typename T> llvm::MutableArrayRef<T> getElements() {
    assert(int64_t(sizeof(T)) == getSize(dtype) && "wrong element size");
    return {static_cast<T *>(data), static_cast<size_t>(numElements)};
  }
  template <typename T> llvm::ArrayRef<T> getElements() const {
    return const_cast<Tensor *>(this)->getElements<T>();
  }

  /// The element at a row-major position. Exact but for I64 beyond 2^53, which
  /// rounds to nearest.
  double getAsDouble(int64_t index) const;

  /// Stores a number in the element type: rounded once to nearest even, for
  /// integers also saturated, with NaN stored as 0. I1 stores whether the
  /// number differs from 0.
  void setFromDouble(int64_t index, double value);

  /// The same for 64-bit integers, which are not all doubles. Reading a
  /// floating-point element rounds and saturates as setFromDouble does.
  int64_t getAsInt(int64_t index) const;
  void setFromInt(int64_t index, int64_t value);

  /// Stores the number in each element.
  void fill(double value);

private:
  struct Free {
    void operator()(void *memory) const { std::free(memory); }
  };

  Tensor() = default;

  DType dtype = DType::F32;
  Shape shape;
  int64_t numElements = 0;
  std::unique_ptr<void, Free> memory;
  /// The first aligned byte of the memory.
  void *data = nullptr;
};

} // namespace attn

#endif // ATTN_SUPPORT_TENSOR_H
