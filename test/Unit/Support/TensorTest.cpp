//===- TensorTest.cpp - Tests of host tensors -----------------------------===//

#include "attn/Support/Tensor.h"
#include "TestHelpers.h"
#include <cmath>
#include <limits>

using namespace attn;

TEST(TensorTest, text) {
  EXPECT_EQ(formatShape({2, 8, 1000}), "2x8x1000");
  EXPECT_EQ(formatShape({-1, 8}), "?x8");
  EXPECT_EQ(formatShape({}), "");
  EXPECT_EQ(formatTensorType({2, 8}, DType::BF16), "2x8xbf16");
  EXPECT_EQ(formatTensorType({}, DType::I1), "i1");
  EXPECT_EQ(formatByteCount(0), "0 bytes");
  EXPECT_EQ(formatByteCount(1), "1 byte");
  EXPECT_EQ(formatByteCount(1023), "1023 bytes");
  EXPECT_EQ(formatByteCount(1024), "1.0 KiB");
  EXPECT_EQ(formatByteCount(1024 * 1024 - 1), "1.0 MiB");
  EXPECT_EQ(formatByteCount(13206949069), "12.3 GiB");
  EXPECT_EQ(formatByteCount(INT64_MAX), "8.0 EiB");
  EXPECT_EQ(formatByteCount(UINT64_MAX), "16.0 EiB");
}

TEST(TensorTest, matchesShape) {
  EXPECT_TRUE(matchesShape({2, 3}, {2, 3}));
  EXPECT_TRUE(matchesShape({2, 3}, {-1, 3}));
  EXPECT_TRUE(matchesShape({}, {}));
  EXPECT_FALSE(matchesShape({2, 3}, {3, 2}));
  EXPECT_FALSE(matchesShape({2, 3}, {2}));
  EXPECT_FALSE(matchesShape({2}, {2, -1}));
}

TEST(TensorTest, createMakesZeros) {
  Tensor tensor = makeZeros(DType::F32, {2, 3, 4});
  EXPECT_EQ(tensor.getDType(), DType::F32);
  EXPECT_EQ(tensor.getShape(), llvm::ArrayRef<int64_t>({2, 3, 4}));
  EXPECT_EQ(tensor.getRank(), 3);
  EXPECT_EQ(tensor.getNumElements(), 24);
  EXPECT_EQ(tensor.getSizeInBytes(), 96);
  EXPECT_EQ(tensor.getStrides(), Shape({12, 4, 1}));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.getData()) % 64, 0u);
  for (float value : tensor.getElements<float>())
    EXPECT_EQ(value, 0);
}

TEST(TensorTest, scalarsAndEmptyTensors) {
  Tensor scalar = makeZeros(DType::F64, {});
  EXPECT_EQ(scalar.getNumElements(), 1);
  EXPECT_EQ(scalar.getSizeInBytes(), 8);
  EXPECT_TRUE(scalar.getStrides().empty());
  Tensor empty = makeZeros(DType::F64, {int64_t(1) << 62, 0, 1 << 30});
  EXPECT_EQ(empty.getNumElements(), 0);
  EXPECT_EQ(empty.getSizeInBytes(), 0);
  EXPECT_NE(empty.getData(), nullptr);
  EXPECT_EQ(empty.getStrides().size(), 3u);
  empty.fill(1);
}

TEST(TensorTest, creationErrors) {
  EXPECT_EQ(messageOf(Tensor::create(DType::F32, {2, -3})),
            "expects sizes of at least 0, but got -3");
  EXPECT_EQ(messageOf(Tensor::create(DType::F32, Shape(65, 1))),
            "expects a rank of at most 64, but got 65");
  EXPECT_EQ(messageOf(Tensor::create(DType::F32,
                                     {int64_t(1) << 32, int64_t(1) << 29})),
            "expects a tensor of fewer than 2^63 bytes, but got "
            "4294967296x536870912xf32");
  EXPECT_EQ(messageOf(Tensor::create(DType::F64, {1 << 20, 1 << 20, 1 << 19})),
            "cannot allocate 4.0 EiB for tensor 1048576x1048576x524288xf64");
}

TEST(TensorTest, sizeAtTheLimit) {
  EXPECT_EQ(llvm::cantFail(getDenseSize({INT64_MAX}, DType::I8)), INT64_MAX);
  EXPECT_NE(messageOf(getDenseSize({INT64_MAX}, DType::I16)), "");
  // No machine has this much, and the sum with the alignment does not wrap.
  EXPECT_NE(messageOf(Tensor::create(DType::I8, {INT64_MAX})), "");
}

TEST(TensorTest, setAndGetDoubles) {
  struct {
    DType dtype;
    double value;
    double stored;
  } cases[] = {
      {DType::F64, 0.1, 0.1},
      {DType::F32, 0.1, double(0.1f)},
      {DType::F16, 0.1, 0.0999755859375},
      {DType::BF16, 0.1, 0.10009765625},
      {DType::I32, 2.5, 2},
      {DType::I32, 3.5, 4},
      {DType::I32, -2.5, -2},
      {DType::I32, -0.7, -1},
      {DType::I32, 1e300, INT32_MAX},
      {DType::I64, HUGE_VAL, double(INT64_MAX)},
      {DType::I64, -HUGE_VAL, double(INT64_MIN)},
      {DType::I8, -1000, -128},
      {DType::I16, 1000, 1000},
      {DType::I16, NAN, 0},
      {DType::I1, 0.25, 1},
      {DType::I1, 0, 0},
      {DType::I1, NAN, 0},
  };
  for (auto &c : cases) {
    Tensor tensor = makeZeros(c.dtype, {2});
    tensor.setFromDouble(1, c.value);
    EXPECT_EQ(tensor.getAsDouble(1), c.stored)
        << getName(c.dtype).str() << " " << c.value;
    EXPECT_EQ(tensor.getAsDouble(0), 0);
  }
}

TEST(TensorTest, setAndGetIntegers) {
  Tensor tensor = makeZeros(DType::I64, {1});
  tensor.setFromInt(0, INT64_MAX);
  EXPECT_EQ(tensor.getAsInt(0), INT64_MAX);
  Tensor narrow = makeZeros(DType::I8, {1});
  narrow.setFromInt(0, 300);
  EXPECT_EQ(narrow.getAsInt(0), 127);
  Tensor boolean = makeZeros(DType::I1, {1});
  boolean.setFromInt(0, -7);
  EXPECT_EQ(boolean.getAsInt(0), 1);
  Tensor real = makeZeros(DType::F32, {1});
  real.setFromDouble(0, 2.5);
  EXPECT_EQ(real.getAsInt(0), 2);
}

TEST(TensorTest, integersRoundOnce) {
  // Just above the tie between two neighbours; as a double it is the tie.
  int64_t value = (int64_t(1) << 62) + (int64_t(1) << 54) + 1;
  double above = 0x1p62 + 0x1p55;
  Tensor bf16 = makeZeros(DType::BF16, {2});
  bf16.setFromInt(0, value);
  EXPECT_EQ(bf16.getAsDouble(0), above);
  bf16.setFromInt(1, -value);
  EXPECT_EQ(bf16.getAsDouble(1), -above);
  Tensor f32 = makeZeros(DType::F32, {1});
  f32.setFromInt(0, (int64_t(1) << 62) + (int64_t(1) << 38) + 1);
  EXPECT_EQ(f32.getAsDouble(0), 0x1p62 + 0x1p39);
}

TEST(TensorTest, fill) {
  for (int code = 0; code < kNumDTypes; ++code)
    for (int64_t size : {1, 2, 7, 1000}) {
      Tensor tensor = makeZeros(static_cast<DType>(code), {size});
      tensor.fill(1);
      for (int64_t i = 0; i < size; ++i)
        ASSERT_EQ(tensor.getAsDouble(i), 1);
    }
  Tensor poisoned = makeZeros(DType::BF16, {3});
  poisoned.fill(NAN);
  EXPECT_TRUE(std::isnan(poisoned.getAsDouble(2)));
}

TEST(TensorTest, move) {
  Tensor tensor = makeZeros(DType::F32, {4});
  const void *data = tensor.getData();
  Tensor moved = std::move(tensor);
  EXPECT_EQ(moved.getData(), data);
  EXPECT_EQ(moved.getNumElements(), 4);
}
