//===- Fragment.h - The elements of a thread --------------------*- C++ -*-===//
//
// What a warpgroup holds is distributed over its threads as the accumulator of
// a matrix instruction is. With row = 16 * warp + lane / 4, a thread has
//
//   Matrix   4j + 2r + p: column 8j + 2 (lane mod 4) + p of row + 8r
//   Columns  2j + p: column 8j + 2 (lane mod 4) + p
//   Rows     r: row + 8r
//   Partial  r: the sum in this thread for row + 8r
//
// Of floats of 16 bits in a matrix, two with neighbouring p are one i32.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_HOPPERTONVVM_FRAGMENT_H
#define ATTN_LIB_CONVERSION_HOPPERTONVVM_FRAGMENT_H

#include "attn/Dialect/Hopper/IR/Hopper.h"

namespace mlir::attn {

enum class FragmentLayout { Matrix, Columns, Rows, Partial };

/// How a thread has its elements of a vector.
struct Fragment {
  /// Of a vector of rank 2.
  explicit Fragment(VectorType type);
  /// Of a vector, one that a product writes, or none of anything else.
  static std::optional<Fragment> get(Type type);

  FragmentLayout layout;
  /// Of all columns.
  int64_t numColumns;
  Type elementType;

  bool isPacked() const {
    return layout == FragmentLayout::Matrix &&
           isa<BFloat16Type, Float16Type>(elementType);
  }
  /// How many registers a thread has.
  int64_t getNumRegisters() const;
  /// What each of them is; an index is an i64.
  Type getRegisterType() const;
  /// Which of two rows a register belongs to.
  int64_t getRow(int64_t number) const {
    return layout == FragmentLayout::Matrix ? number % 4 / 2 : number;
  }
  /// Which register of a fragment of `columns` has the column of one of these.
  int64_t getColumn(int64_t number) const {
    return layout == FragmentLayout::Matrix ? 2 * (number / 4) + number % 2
                                            : number;
  }
};

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_HOPPERTONVVM_FRAGMENT_H
