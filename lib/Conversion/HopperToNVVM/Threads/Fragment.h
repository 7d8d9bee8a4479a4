//===- Fragment.h - The elements of a thread --------------------*- C++ -*-===//
//
// What a thread has of a tensor with a `#hopper.layout`. Of floats of 16 bits
// in an accumulator, two with neighbouring p are one i32.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_HOPPERTONVVM_THREADS_FRAGMENT_H
#define ATTN_LIB_CONVERSION_HOPPERTONVVM_THREADS_FRAGMENT_H

#include "attn/Dialect/Hopper/IR/Hopper.h"

namespace mlir::attn {

/// How a thread has its elements of a fragment.
struct Fragment {
  /// Of a type with a layout.
  explicit Fragment(Type type);
  /// None of a type without a layout.
  static std::optional<Fragment> get(Type type);

  hopper::FragmentLayout layout;
  /// Of all columns; of threads, all elements.
  int64_t numColumns;
  Type elementType;

  bool isPacked() const {
    return layout == hopper::FragmentLayout::Accumulator &&
           isa<BFloat16Type, Float16Type>(elementType);
  }
  /// How many registers a thread has.
  int64_t getNumRegisters() const;
  /// What each of them is; an index is an i64.
  Type getRegisterType() const;
  /// Which of two rows a register belongs to.
  int64_t getRow(int64_t number) const {
    return layout == hopper::FragmentLayout::Accumulator ? number % 4 / 2
                                                         : number;
  }
  /// Which register of a fragment of `columns` has the column of one of these.
  int64_t getColumn(int64_t number) const {
    return layout == hopper::FragmentLayout::Accumulator
               ? 2 * (number / 4) + number % 2
               : number;
  }
};

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_HOPPERTONVVM_THREADS_FRAGMENT_H
