//===- Layout.h - Order of the dimensions of an attention tensor -*- C++
//-*-===//

#ifndef ATTN_DIALECT_ATTN_IR_LAYOUT_H
#define ATTN_DIALECT_ATTN_IR_LAYOUT_H

#include "mlir/IR/AffineMap.h"
#include "mlir/Support/LLVM.h"
#include <string>

namespace mlir::attn {

/// Where the logical dimensions batch, head, sequence and head dimension lie in
/// a rank-4 tensor. Written as a permutation of the letters b, h, s, d.
struct Layout {
  unsigned b = 0, h = 1, s = 2, d = 3;

  /// From a permutation map (b, h, s, d) -> tensor dimensions.
  static Layout get(AffineMap map);
  /// From letters such as "bshd"; fails if they are no permutation of "bhsd".
  static FailureOr<Layout> parse(StringRef letters);
  AffineMap getMap(MLIRContext *context) const;
  std::string str() const;

  /// Arranges four values given in logical order as the tensor's dimensions.
  template <typename T>
  SmallVector<T> arrange(T batch, T head, T seq, T dim) const {
    SmallVector<T> result(4, batch);
    result[h] = head;
    result[s] = seq;
    result[d] = dim;
    return result;
  }
  /// The same without the head dimension: the layout of lse, max and sum.
  template <typename T>
  SmallVector<T> arrangeRows(T batch, T head, T seq) const {
    SmallVector<T> result = arrange(batch, head, seq, batch);
    result.erase(result.begin() + d);
    return result;
  }
  /// Position of a tensor dimension once the head dimension is dropped.
  unsigned rowDim(unsigned dim) const { return dim - (dim > d ? 1 : 0); }

  bool operator==(const Layout &other) const {
    return b == other.b && h == other.h && s == other.s && d == other.d;
  }
};

} // namespace mlir::attn

#endif // ATTN_DIALECT_ATTN_IR_LAYOUT_H
