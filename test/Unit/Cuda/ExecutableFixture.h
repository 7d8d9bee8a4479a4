//===- ExecutableFixture.h - Launches without a GPU -------------*- C++ -*-===//
//
// A kernel, its operands, and the fake driver that tells what is launched.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_UNIT_CUDA_EXECUTABLEFIXTURE_H
#define ATTN_TEST_UNIT_CUDA_EXECUTABLEFIXTURE_H

#include "FakeCuda.h"
#include "TestHelpers.h"
#include "attn/Runtime/Cuda/Executable.h"
#include "attn/Support/DType.h"
#include "attn/Support/Tensor.h"
#include <cstring>

namespace attn::cuda {
/// A tensor in memory of the fake GPU.
struct Operand {
  DType dtype = DType::BF16;
  Shape shape, strides;
  DeviceBuffer buffer;
  void *data = nullptr;

  Operand(Device device, Shape sizes, DType type = DType::BF16)
      : dtype(type), shape(std::move(sizes)),
        buffer(get(DeviceBuffer::allocate(device, allocate()))),
        data(buffer.getData()) {}

  TensorView getView() const {
    return {data, static_cast<int32_t>(dtype), int64_t(shape.size()),
            shape.data(), strides.data()};
  }

private:
  /// Makes dense strides. There is room for a little more than the elements.
  size_t allocate() {
    strides.resize(shape.size());
    int64_t count = 1;
    for (size_t dim = shape.size(); dim-- > 0; count *= shape[dim])
      strides[dim] = count;
    return count == 0 ? 0 : count * getSize(dtype) + 256;
  }
};

class ExecutableTest : public ::testing::Test {
protected:
  void SetUp() override {
    useFakeDriver();
    fakeCudaClear();
    get(Driver::get())->cuCtxSetCurrent(nullptr);
    const int sizes[] = {128, 128, 8, 4, 8, 4};
    fakeCudaSetParams(sizes, 6);
  }

  /// q, k, lse and a scalar: two tensor maps, an address, the number of keys,
  /// the stride of heads, the scalar.
  static CudaProgram makeProgram() {
    Variant variant;
    variant.entry = "kernel";
    variant.threads = 384;
    variant.dynamicSharedBytes = 200000;
    variant.tileRows = 128;
    variant.tileCost = 100;
    variant.keyCost = 1;
    variant.cubin = "\177ELF";
    variant.params.resize(6);
    for (int i : {0, 1}) {
      Param &param = variant.params[i];
      param.kind = ParamKind::TensorMap;
      param.operand = i;
      param.map.dims = {3, 2, 1, 0};
      param.map.box = {64, 128, 1, 1};
    }
    variant.params[2].operand = 2;
    variant.params[3].kind = ParamKind::Extent;
    variant.params[3].operand = 1;
    variant.params[3].dim = 2;
    variant.params[3].bits = 32;
    variant.params[4].kind = ParamKind::Stride;
    variant.params[4].operand = 2;
    variant.params[4].dim = 1;
    variant.params[5].kind = ParamKind::Scalar;
    variant.params[5].operand = 3;
    variant.params[5].bits = 32;
    CudaProgram program;
    program.chip = "sm_90a";
    program.dependentLaunch = true;
    program.launches.push_back({GridInfo(), /*lists=*/{}, {variant}});
    return program;
  }

  static Variant &getVariant(CudaProgram &program) {
    return program.launches[0].variants[0];
  }

  /// The operands of makeProgram.
  std::vector<TensorView> getViews() const {
    return {q.getView(),
            k.getView(),
            lse.getView(),
            {const_cast<float *>(&scalar), int32_t(DType::F32), 0, nullptr,
             nullptr}};
  }

  std::string launch(const Executable &executable,
                     const LaunchOptions &options = {}) const {
    return getText(executable.launch(getViews(), options));
  }

  Device device = [] {
    useFakeDriver();
    return get(Device::get(0));
  }();
  Operand q{device, {2, 3, 300, 64}};
  Operand k{device, {2, 1, 500, 64}};
  Operand lse{device, {2, 3, 300}, DType::F32};
  float scalar = 0.5F;
};

/// A parameter of the last launch.
template <typename T> T getValue(int param) {
  T value;
  std::memcpy(&value, fakeCudaGetParam(param), sizeof(value));
  return value;
}

} // namespace attn::cuda

#endif // ATTN_TEST_UNIT_CUDA_EXECUTABLEFIXTURE_H
