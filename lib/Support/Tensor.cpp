//===- Tensor.cpp - Owning dense tensors in host memory -------------------===//

#include "attn/Support/Tensor.h"
#include "attn/Support/Half.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Alignment.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <cstring>

using namespace attn;
using llvm::ArrayRef;
using llvm::Error;
using llvm::Expected;

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

std::string attn::formatShape(ArrayRef<int64_t> shape) {
  std::string text;
  for (int64_t size : shape) {
    if (!text.empty())
      text += 'x';
    text += size < 0 ? "?" : std::to_string(size);
  }
  return text;
}

std::string attn::formatTensorType(ArrayRef<int64_t> shape, DType dtype) {
  std::string text = formatShape(shape);
  if (!text.empty())
    text += 'x';
  return text + getName(dtype).str();
}

std::string attn::formatByteCount(uint64_t bytes) {
  if (bytes < 1024)
    return llvm::formatv("{0} byte{1}", bytes, bytes == 1 ? "" : "s");
  static constexpr const char *units[] = {"KiB", "MiB", "GiB",
                                          "TiB", "PiB", "EiB"};
  double value = double(bytes) / 1024;
  size_t unit = 0;
  // 1023.95 would print as 1024.0.
  for (; value >= 1023.95; ++unit)
    value /= 1024;
  return llvm::formatv("{0:f1} {1}", value, units[unit]);
}

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

bool attn::matchesShape(ArrayRef<int64_t> shape, ArrayRef<int64_t> pattern) {
  return llvm::equal(shape, pattern, [](int64_t size, int64_t expected) {
    return expected < 0 || size == expected;
  });
}

Expected<int64_t> attn::getDenseSize(ArrayRef<int64_t> shape, DType dtype) {
  if (shape.size() > kMaxRank)
    return llvm::createStringError(llvm::formatv(
        "expects a rank of at most {0}, but got {1}", kMaxRank, shape.size()));
  if (const int64_t *bad =
          llvm::find_if(shape, [](int64_t s) { return s < 0; });
      bad != shape.end())
    return llvm::createStringError(
        llvm::formatv("expects sizes of at least 0, but got {0}", *bad));
  // Sizes beside a zero may be anything.
  if (llvm::is_contained(shape, 0))
    return 0;
  int64_t bytes = getSize(dtype);
  for (int64_t size : shape)
    if (llvm::MulOverflow(bytes, size, bytes))
      return llvm::createStringError(llvm::formatv(
          "expects a tensor of fewer than 2^63 bytes, but got {0}",
          formatTensorType(shape, dtype)));
  return bytes;
}

Expected<Tensor> Tensor::create(DType dtype, ArrayRef<int64_t> shape) {
  Expected<int64_t> bytes = getDenseSize(shape, dtype);
  if (!bytes)
    return bytes.takeError();
  // There is no aligned calloc, and only calloc leaves fresh pages untouched.
  void *memory = std::calloc(1, size_t(*bytes) + kAlignment);
  if (!memory)
    return llvm::createStringError(
        llvm::formatv("cannot allocate {0} for tensor {1}",
                      formatByteCount(*bytes), formatTensorType(shape, dtype)));
  Tensor tensor;
  tensor.dtype = dtype;
  tensor.shape.assign(shape.begin(), shape.end());
  tensor.numElements = *bytes / getSize(dtype);
  tensor.memory.reset(memory);
  tensor.data = reinterpret_cast<void *>(
      llvm::alignAddr(memory, llvm::Align(kAlignment)));
  return tensor;
}

Shape Tensor::getStrides() const {
  Shape strides(shape.size());
  int64_t stride = 1;
  for (size_t dim = shape.size(); dim-- > 0;) {
    strides[dim] = stride;
    // Sizes beside a zero may overflow; such strides are never used.
    if (llvm::MulOverflow(stride, shape[dim], stride))
      stride = 0;
  }
  return strides;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// Rounds to nearest even and saturates.
static int64_t toInteger(double value, IntegerRange range) {
  if (std::isnan(value))
    return 0;
  // Not std::nearbyint: that follows the rounding mode.
  double floor = std::floor(value);
  double rest = value - floor;
  bool isOdd = std::fmod(floor, 2.0) != 0;
  double rounded = rest > 0.5 || (rest == 0.5 && isOdd) ? floor + 1 : floor;
  // As a double the maximum may round up to the first number out of range.
  if (rounded >= double(range.max))
    return range.max;
  if (rounded <= double(range.min))
    return range.min;
  return static_cast<int64_t>(rounded);
}

template <typename T> static T load(const void *data, int64_t index) {
  return static_cast<const T *>(data)[index];
}

template <typename T> static void store(void *data, int64_t index, T value) {
  static_cast<T *>(data)[index] = value;
}

double Tensor::getAsDouble(int64_t index) const {
  assert(index >= 0 && index < numElements && "index out of range");
  switch (dtype) {
  case DType::F64:
    return load<double>(data, index);
  case DType::F32:
    return load<float>(data, index);
  case DType::F16:
    return fromF16(load<uint16_t>(data, index));
  case DType::BF16:
    return fromBF16(load<uint16_t>(data, index));
  default:
    return double(getAsInt(index));
  }
}

int64_t Tensor::getAsInt(int64_t index) const {
  assert(index >= 0 && index < numElements && "index out of range");
  switch (dtype) {
  case DType::I64:
    return load<int64_t>(data, index);
  case DType::I32:
    return load<int32_t>(data, index);
  case DType::I16:
    return load<int16_t>(data, index);
  case DType::I8:
    return load<int8_t>(data, index);
  case DType::I1:
    return load<uint8_t>(data, index) != 0;
  default:
    return toInteger(getAsDouble(index), getIntegerRange(DType::I64));
  }
}

void Tensor::setFromDouble(int64_t index, double value) {
  assert(index >= 0 && index < numElements && "index out of range");
  switch (dtype) {
  case DType::F64:
    return store<double>(data, index, value);
  case DType::F32:
    return store<float>(data, index, static_cast<float>(value));
  case DType::F16:
    return store<uint16_t>(data, index, toF16(value));
  case DType::BF16:
    return store<uint16_t>(data, index, toBF16(value));
  case DType::I1:
    return store<uint8_t>(data, index, value != 0 && !std::isnan(value));
  default:
    return setFromInt(index, toInteger(value, getIntegerRange(dtype)));
  }
}

void Tensor::setFromInt(int64_t index, int64_t value) {
  assert(index >= 0 && index < numElements && "index out of range");
  IntegerRange range =
      isFloat(dtype) ? IntegerRange{0, 0} : getIntegerRange(dtype);
  int64_t saturated = std::min(std::max(value, range.min), range.max);
  switch (dtype) {
  case DType::I64:
    return store<int64_t>(data, index, value);
  case DType::I32:
    return store<int32_t>(data, index, static_cast<int32_t>(saturated));
  case DType::I16:
    return store<int16_t>(data, index, static_cast<int16_t>(saturated));
  case DType::I8:
    return store<int8_t>(data, index, static_cast<int8_t>(saturated));
  case DType::I1:
    return store<uint8_t>(data, index, value != 0);
  case DType::F64:
    return store<double>(data, index, static_cast<double>(value));
  case DType::F32:
    // Through double it would round twice.
    return store<float>(data, index, static_cast<float>(value));
  default:
    // A double of an integer beyond 2^53 may already be rounded, and the second
    // rounding could then see a tie that is none. So let the bits that do not
    // fit leave a trace far below those that count.
    if (std::abs(double(value)) > 0x1p53 && (value & 0x3ff) != 0)
      value = (value & ~int64_t(0x3ff)) | 0x400;
    return setFromDouble(index, static_cast<double>(value));
  }
}

void Tensor::fill(double value) {
  if (numElements == 0)
    return;
  setFromDouble(0, value);
  // Copy what is there already, twice as much each time.
  char *bytes = static_cast<char *>(data);
  size_t size = getSizeInBytes();
  for (size_t done = getSize(dtype); done < size; done *= 2)
    std::memcpy(bytes + done, bytes, std::min(done, size - done));
}
