//===- Memory.cpp - Tensors between guards --------------------------------===//

#include "Memory.h"
#include "attn/Support/Random.h"
#include <cstring>
#include <numeric>

using namespace attn;
using namespace attn::property;

/// As two, four or eight bytes this is a NaN of each floating-point type.
static constexpr uint8_t kPattern = 0xFF;

/// More than a vector, so that a read or write of one too many stays inside.
static constexpr int64_t kGuardBytes = 256;

GuardedTensor::GuardedTensor(DType dtype, llvm::ArrayRef<int64_t> shape,
                             uint64_t seed, uint64_t stream)
    : dtype(dtype), shape(shape), strides(shape.size()) {
  RandomStream random(seed, stream);
  uint64_t next = 0;
  auto below = [&](int64_t limit) {
    return seed ? random.getInt(next++, 0, limit) : 0;
  };
  // The innermost dimension comes first and stays where it is.
  llvm::SmallVector<size_t> order(shape.size());
  std::iota(order.rbegin(), order.rend(), 0);
  for (size_t at = order.size(); at > 2; --at)
    if (seed)
      std::swap(order[at - 1], order[1 + below(at - 1)]);
  int64_t stride = 1;
  for (size_t dim : order) {
    strides[dim] = stride;
    stride *= std::max<int64_t>(shape[dim], 1);
    stride += below(4);
  }
  begin = kGuardBytes + below(8) * getSize(dtype);
  bytes.assign(begin + stride * getSize(dtype) + kGuardBytes, kPattern);
}

TensorView GuardedTensor::getView() { return getView(bytes.data()); }

TensorView GuardedTensor::getView(uint8_t *copy) const {
  return {copy + begin, static_cast<int32_t>(dtype),
          static_cast<int64_t>(shape.size()), shape.data(), strides.data()};
}

template <typename Function>
void GuardedTensor::forEach(Function function) const {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  Shape index(shape.size(), 0);
  for (int64_t at = 0; at < count; ++at) {
    int64_t offset = 0;
    for (size_t dim = 0; dim < shape.size(); ++dim)
      offset += index[dim] * strides[dim];
    function(at, begin + offset * getSize(dtype));
    for (size_t dim = shape.size(); dim > 0; --dim) {
      if (++index[dim - 1] < shape[dim - 1])
        break;
      index[dim - 1] = 0;
    }
  }
}

void GuardedTensor::copyFrom(const Tensor &tensor) {
  int64_t size = getSize(dtype);
  auto *from = static_cast<const uint8_t *>(tensor.getData());
  forEach([&](int64_t at, int64_t offset) {
    std::memcpy(&bytes[offset], from + at * size, size);
  });
}

void GuardedTensor::poison() {
  std::fill(bytes.begin(), bytes.end(), kPattern);
}

bool GuardedTensor::isGuardIntact() const {
  std::vector<uint8_t> copy = bytes;
  int64_t size = getSize(dtype);
  forEach([&](int64_t, int64_t offset) {
    std::memset(&copy[offset], kPattern, size);
  });
  return llvm::all_of(copy, [](uint8_t byte) { return byte == kPattern; });
}

llvm::Expected<Tensor> GuardedTensor::copyOut() const {
  llvm::Expected<Tensor> tensor = Tensor::create(dtype, shape);
  if (!tensor)
    return tensor.takeError();
  int64_t size = getSize(dtype);
  auto *to = static_cast<uint8_t *>(tensor->getData());
  forEach([&](int64_t at, int64_t offset) {
    std::memcpy(to + at * size, &bytes[offset], size);
  });
  return tensor;
}

bool property::haveSameBits(const Tensor &lhs, const Tensor &rhs) {
  return lhs.getDType() == rhs.getDType() && lhs.getShape() == rhs.getShape() &&
         std::memcmp(lhs.getData(), rhs.getData(), lhs.getSizeInBytes()) == 0;
}
