//===- DType.h - Element types of tensors in memory -------------*- C++ -*-===//
//
// The element types that cross a kernel's boundary, with their names, sizes and
// their spelling in NumPy's .npy format. The numbers are part of the binary
// interface: `TensorView::dtype` and the C API hold them.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_SUPPORT_DTYPE_H
#define ATTN_SUPPORT_DTYPE_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace attn {

enum class DType : int32_t {
  F64 = 0,
  F32 = 1,
  F16 = 2,
  BF16 = 3,
  I64 = 4,
  I32 = 5,
  I16 = 6,
  I8 = 7,
  /// One byte per element, which holds 0 or 1.
  I1 = 8,
};

/// The number of element types; valid codes are 0 to kNumDTypes - 1.
constexpr int32_t kNumDTypes = 9;

/// Whether `code` is a DType. Codes come from outside through views and the C
/// API.
constexpr bool isDTypeCode(int32_t code) {
  return code >= 0 && code < kNumDTypes;
}

constexpr bool isFloat(DType dtype) { return dtype <= DType::BF16; }

/// The size of an element in bytes.
constexpr int64_t getSize(DType dtype) {
  constexpr int64_t sizes[kNumDTypes] = {8, 4, 2, 2, 8, 4, 2, 1, 1};
  return sizes[static_cast<int32_t>(dtype)];
}

/// The smallest and the largest value of an integer type, for I1 0 and 1.
struct IntegerRange {
  int64_t min;
  int64_t max;
};
constexpr IntegerRange getIntegerRange(DType dtype) {
  if (dtype == DType::I1)
    return {0, 1};
  int64_t max = static_cast<int64_t>(~uint64_t(0) >> (65 - 8 * getSize(dtype)));
  return {-max - 1, max};
}

/// The name as MLIR spells the type: "f32", "bf16", "i1".
llvm::StringRef getName(DType dtype);

/// The type's `descr` in a .npy header, such as "<f4".
///
/// NumPy has no bfloat16. By the convention of the ml_dtypes package such an
/// array is written as raw two-byte items, "<V2"; `a.view(ml_dtypes.bfloat16)`
/// or, without that package, `a.view('<u2')` turns it into numbers.
llvm::StringRef getNumpyDescr(DType dtype);

/// How an element type of a .npy file relates to ours.
struct NumpyType {
  enum Kind {
    /// It is `dtype`.
    Known,
    /// It is `dtype` with its bytes in the other order.
    BigEndian,
    /// Two raw bytes: BF16 for a reader who asks for that, otherwise unknown.
    MaybeBF16,
    Unsupported,
  };
  Kind kind = Unsupported;
  DType dtype = DType::F32;
};

/// Interprets the text of a `descr`: an optional byte order, a kind and a size.
NumpyType parseNumpyDescr(llvm::StringRef descr);

} // namespace attn

#endif // ATTN_SUPPORT_DTYPE_H
