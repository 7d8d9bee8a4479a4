//===- TestTensor.h - Tensors of unit tests ---------------------*- C++ -*-===//

#ifndef ATTN_TEST_UNIT_JIT_TESTTENSOR_H
#define ATTN_TEST_UNIT_JIT_TESTTENSOR_H

#include "attn/Runtime/TensorView.h"
#include "attn/Support/Random.h"
#include "attn/Support/Tensor.h"
#include "llvm/Support/Error.h"
#include <cmath>

namespace attn {

/// A dense tensor with a view of it.
struct TestTensor {
  TestTensor(DType dtype, llvm::ArrayRef<int64_t> shape)
      : tensor(llvm::cantFail(Tensor::create(dtype, shape))),
        strides(tensor.getStrides()) {}
  TestTensor(DType dtype, llvm::ArrayRef<int64_t> shape,
             llvm::ArrayRef<double> numbers)
      : TestTensor(dtype, shape) {
    for (auto [index, number] : llvm::enumerate(numbers))
      tensor.setFromDouble(index, number);
  }

  /// Numbers that look random, in [-1, 1].
  static TestTensor random(DType dtype, llvm::ArrayRef<int64_t> shape,
                           unsigned seed) {
    TestTensor result(dtype, shape);
    uint64_t state = seed * 0x9e3779b97f4a7c15ull + 1;
    for (int64_t i = 0; i < result.tensor.getNumElements(); ++i) {
      state = state * 6364136223846793005ull + 1442695040888963407ull;
      result.tensor.setFromDouble(i, double(int64_t(state)) / 0x1p63);
    }
    return result;
  }
  /// NaN everywhere, so that what is not written shows.
  static TestTensor poison(DType dtype, llvm::ArrayRef<int64_t> shape) {
    TestTensor result(dtype, shape);
    result.tensor.fill(NAN);
    return result;
  }

  TensorView view() const {
    return {const_cast<void *>(tensor.getData()),
            static_cast<int32_t>(tensor.getDType()), tensor.getRank(),
            tensor.getShape().data(), strides.data()};
  }
  double operator[](int64_t index) const { return tensor.getAsDouble(index); }

  Tensor tensor;
  Shape strides;
};

} // namespace attn

#endif // ATTN_TEST_UNIT_JIT_TESTTENSOR_H
