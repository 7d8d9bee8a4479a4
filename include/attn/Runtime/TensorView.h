//===- TensorView.h - A tensor that somebody else owns ----------*- C++ -*-===//
//
// How a caller hands a tensor to a compiled kernel. The layout of the struct is
// part of the binary interface.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_TENSORVIEW_H
#define ATTN_RUNTIME_TENSORVIEW_H

#include <cstddef>
#include <cstdint>

namespace attn {

/// A strided tensor in memory. The view owns nothing: the elements and both
/// arrays must live as long as the view is used. Threads may share a view if
/// they may share the data that it points to.
///
/// A scalar is a view of rank 0; `shape` and `strides` may then be null.
struct TensorView {
  /// The address of the element whose indices are all 0. May be null if there
  /// are no elements.
  void *data;
  /// The element type, a code of attn::DType (attn/Support/DType.h).
  int32_t dtype;
  int64_t rank;
  /// `rank` sizes.
  const int64_t *shape;
  /// `rank` distances between neighbours, in elements (not bytes). Kernels take
  /// any, also 0 and negative ones for inputs, but for the innermost, which is
  /// 1 unless its extent is 0 or 1.
  const int64_t *strides;
};

static_assert(sizeof(void *) != 8 || (sizeof(TensorView) == 40 &&
                                      offsetof(TensorView, dtype) == 8 &&
                                      offsetof(TensorView, rank) == 16 &&
                                      offsetof(TensorView, shape) == 24 &&
                                      offsetof(TensorView, strides) == 32),
              "the layout of TensorView is part of the binary interface");

} // namespace attn

#endif // ATTN_RUNTIME_TENSORVIEW_H
