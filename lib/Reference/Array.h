//===- Array.h - Values of an evaluation ------------------------*- C++ -*-===//
//
// What an SSA value of a function holds: a dense row-major array of doubles or
// of integers. A scalar is an array of rank 0.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_REFERENCE_ARRAY_H
#define ATTN_LIB_REFERENCE_ARRAY_H

#include "ElementType.h"
#include "Program.h"
#include "attn/Reference/Evaluator.h"
#include <limits>
#include <memory>
#include <vector>

namespace attn::reference {

struct Array {
  ElementType type;
  Shape shape;
  /// One of these holds the elements, by `type`.
  std::vector<double> floats;
  std::vector<int64_t> ints;
  /// Set by attention, and of what is computed of such results.
  RoundingNoise noise;
  /// As EvaluatedTensor has it.
  std::vector<uint8_t> evaluated;

  Array() = default;
  /// Floats start as NaN, so that reading what was never written shows.
  Array(ElementType type, llvm::ArrayRef<int64_t> shape)
      : type(type), shape(shape.begin(), shape.end()) {
    if (type.isFloat())
      floats.assign(size(), std::numeric_limits<double>::quiet_NaN());
    else
      ints.assign(size(), 0);
  }
  explicit Array(int64_t index) : ints(1, index) {}
  /// An array without its elements, where nothing reads them.
  static Array ofShape(ElementType type, llvm::ArrayRef<int64_t> shape) {
    Array array;
    array.type = type;
    array.shape = Shape(shape.begin(), shape.end());
    return array;
  }

  int64_t size() const {
    int64_t size = 1;
    for (int64_t extent : shape)
      size *= extent;
    return size;
  }
  Shape strides() const {
    Shape strides(shape.size(), 1);
    for (size_t dim = shape.size(); dim-- > 1;)
      strides[dim - 1] = strides[dim] * shape[dim];
    return strides;
  }
  ArrayView view() const { return {floats.data(), ints.data(), shape}; }

  /// Copies one element of an array of the same type.
  void copyElement(int64_t to, const Array &source, int64_t from) {
    if (type.isFloat())
      floats[to] = source.floats[from];
    else
      ints[to] = source.ints[from];
  }
};

/// Values are shared and never change once they are bound to an SSA value.
using ArrayPtr = std::shared_ptr<const Array>;

/// Calls `body(indices)` for each index of `shape` in row-major order.
template <typename Body>
void forEachIndex(llvm::ArrayRef<int64_t> shape, Body body) {
  for (int64_t extent : shape)
    if (extent <= 0)
      return;
  Shape index(shape.size(), 0);
  while (true) {
    body(llvm::ArrayRef<int64_t>(index));
    size_t dim = shape.size();
    while (dim > 0 && ++index[dim - 1] == shape[dim - 1])
      index[--dim] = 0;
    if (dim == 0)
      return;
  }
}

/// Whether it is known how noisy the elements are.
bool hasNoise(const Array &array);
/// The same array, each element of which is off by the mean noise, up or down.
Array disturb(const Array &array);
/// The noise of a result by that of operands: how far it is off where these
/// are, which is linear in what they are off by as long as that is little.
RoundingNoise measureNoise(const Array &result, const Array &disturbed,
                           llvm::ArrayRef<const Array *> operands);

} // namespace attn::reference

#endif // ATTN_LIB_REFERENCE_ARRAY_H
