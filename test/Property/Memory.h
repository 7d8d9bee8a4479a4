//===- Memory.h - Tensors between guards ------------------------*- C++ -*-===//

#ifndef ATTN_TEST_PROPERTY_MEMORY_H
#define ATTN_TEST_PROPERTY_MEMORY_H

#include "attn/Runtime/TensorView.h"
#include "attn/Support/Tensor.h"

namespace attn::property {

/// A strided tensor whose surroundings are filled with a pattern that is NaN in
/// all floating-point types: reads of it spoil results, writes to it are seen.
class GuardedTensor {
public:
  /// With a seed of 0 the tensor is dense. Otherwise its dimensions but the
  /// innermost are in a random order, with random gaps.
  GuardedTensor(DType dtype, llvm::ArrayRef<int64_t> shape, uint64_t seed,
                uint64_t stream);

  TensorView getView();
  /// The tensor with all that is around it.
  llvm::MutableArrayRef<uint8_t> getBytes() { return bytes; }
  /// A view of a copy of those bytes.
  TensorView getView(uint8_t *copy) const;

  void copyFrom(const Tensor &tensor);
  /// Fills the tensor itself with the pattern too.
  void poison();
  bool isGuardIntact() const;
  llvm::Expected<Tensor> copyOut() const;

private:
  /// Calls `function(row-major position, byte offset)` for each element.
  template <typename Function> void forEach(Function function) const;

  DType dtype;
  Shape shape;
  Shape strides;
  /// Where the tensor begins, in bytes.
  int64_t begin;
  std::vector<uint8_t> bytes;
};

bool haveSameBits(const Tensor &lhs, const Tensor &rhs);

} // namespace attn::property

#endif // ATTN_TEST_PROPERTY_MEMORY_H
