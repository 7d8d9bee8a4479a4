//===- ArgFill.cpp - Tensors from described arguments ---------------------===//

#include "attn/Support/ArgSpec.h"
#include "attn/Support/Half.h"
#include "attn/Support/Npy.h"
#include "attn/Support/Random.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace attn;
using llvm::ArrayRef;
using llvm::Error;
using llvm::Expected;

using Kind = ArgSpec::Kind;

/// Whether a finite number becomes an infinity in a floating-point type.
static bool overflows(double value, DType dtype) {
  if (!std::isfinite(value))
    return false;
  switch (dtype) {
  case DType::F32:
    return std::isinf(static_cast<float>(value));
  case DType::F16:
    return std::isinf(fromF16(toF16(value)));
  case DType::BF16:
    return std::isinf(fromBF16(toBF16(value)));
  default:
    return false;
  }
}

/// Checks that the integers from `min` to `max` can be stored.
static Error checkIntegers(int64_t min, int64_t max, DType dtype,
                           const ArgSpec &spec) {
  if (isFloat(dtype)) {
    if (overflows(double(min), dtype) || overflows(double(max), dtype))
      return llvm::createStringError(
          llvm::formatv("expects numbers that {0} can hold, but "
                        "got {1}",
                        getName(dtype), spec.text));
    return Error::success();
  }
  IntegerRange range = getIntegerRange(dtype);
  if (min >= range.min && max <= range.max)
    return Error::success();
  return llvm::createStringError(
      llvm::formatv("expects integers from {0} to {1} for {2}, "
                    "but got {3}, which makes {4}",
                    range.min, range.max, getName(dtype), spec.text,
                    min < range.min ? min : max));
}

/// Checks that real numbers from `min` to `max` can be stored.
static Error checkReals(double min, double max, DType dtype,
                        const ArgSpec &spec) {
  if (!isFloat(dtype))
    return llvm::createStringError(llvm::formatv(
        "expects integers for {0}, but got {1}; randint(lo,hi), arange and "
        "full(n) make integers",
        getName(dtype), spec.text));
  if (overflows(min, dtype) || overflows(max, dtype))
    return llvm::createStringError(
        llvm::formatv("expects numbers that {0} can hold, but got {1}",
                      getName(dtype), spec.text));
  return Error::success();
}

static void fillNormal(Tensor &tensor, const RandomStream &random) {
  int64_t size = tensor.getNumElements();
  for (int64_t index = 0; index < size; index += 2) {
    std::array<double, 2> pair = random.getNormalPair(index / 2);
    tensor.setFromDouble(index, pair[0]);
    if (index + 1 < size)
      tensor.setFromDouble(index + 1, pair[1]);
  }
}

bool attn::hasBlock(const ArgSpec &spec, uint64_t seed, uint64_t stream,
                    uint64_t k) {
  return RandomStream(seed, stream).getUniform(k, 0, 1) < spec.lo;
}

Error attn::fill(Tensor &tensor, const ArgSpec &spec, uint64_t seed,
                 uint64_t stream) {
  DType dtype = tensor.getDType();
  int64_t size = tensor.getNumElements();
  RandomStream random(seed, stream);
  if (spec.shape && ArrayRef<int64_t>(*spec.shape) != tensor.getShape())
    return llvm::createStringError(llvm::formatv(
        "expects {0}, but got {1}", formatTensorType(tensor.getShape(), dtype),
        formatTensorType(*spec.shape, dtype)));
  switch (spec.kind) {
  case Kind::File:
    return llvm::createStringError("expects a generator, but got the file '" +
                                   spec.text + "'");
  case Kind::Randn:
    if (Error error = checkReals(-1, 1, dtype, spec))
      return error;
    fillNormal(tensor, random);
    return Error::success();
  case Kind::Uniform:
    if (Error error = checkReals(spec.lo, spec.hi, dtype, spec))
      return error;
    for (int64_t index = 0; index < size; ++index)
      tensor.setFromDouble(index, random.getUniform(index, spec.lo, spec.hi));
    return Error::success();
  case Kind::RandInt:
    if (Error error = checkIntegers(spec.intLo, spec.intHi - 1, dtype, spec))
      return error;
    for (int64_t index = 0; index < size; ++index)
      tensor.setFromInt(index, random.getInt(index, spec.intLo, spec.intHi));
    return Error::success();
  case Kind::Arange:
    if (Error error =
            checkIntegers(0, std::max<int64_t>(size - 1, 0), dtype, spec))
      return error;
    for (int64_t index = 0; index < size; ++index)
      tensor.setFromInt(index, index);
    return Error::success();
  case Kind::Blocks:
    if (dtype != DType::I1)
      return llvm::createStringError(
          llvm::formatv("expects {0} to be for i1, or for the rows "
                        "of a sparsity, but got {1}",
                        spec.text, getName(dtype)));
    for (int64_t index = 0; index < size; ++index)
      tensor.setFromInt(index, hasBlock(spec, seed, stream, index));
    return Error::success();
  case Kind::Full:
    if (spec.isInteger) {
      if (Error error = checkIntegers(spec.intLo, spec.intLo, dtype, spec))
        return error;
      for (int64_t index = 0; index < size; ++index)
        tensor.setFromInt(index, spec.intLo);
      return Error::success();
    }
    if (Error error = checkReals(spec.lo, spec.lo, dtype, spec))
      return error;
    tensor.fill(spec.lo);
    return Error::success();
  }
  llvm_unreachable("unknown kind of spec");
}

Expected<Tensor> attn::makeTensor(const ArgSpec &spec, DType dtype,
                                  ArrayRef<int64_t> shape, uint64_t seed,
                                  uint64_t stream) {
  if (spec.kind == Kind::File)
    return readNpy(spec.text, {dtype, Shape(shape)});
  auto isOpen = [](int64_t size) { return size < 0; };
  if (!spec.shape && llvm::any_of(shape, isOpen)) {
    Shape example(shape);
    std::replace_if(example.begin(), example.end(), isOpen, 16);
    return llvm::createStringError(llvm::formatv(
        "expects a shape for {0}, as in '{1}:{2}', but got '{1}'",
        formatTensorType(shape, dtype), spec.text, formatShape(example)));
  }
  ArrayRef<int64_t> chosen = spec.shape ? ArrayRef(*spec.shape) : shape;
  if (!matchesShape(chosen, shape))
    return llvm::createStringError(llvm::formatv(
        "expects {0}, but got {1}", formatTensorType(shape, dtype),
        formatTensorType(chosen, dtype)));
  Expected<Tensor> tensor = Tensor::create(dtype, chosen);
  if (!tensor)
    return tensor;
  if (Error error = fill(*tensor, spec, seed, stream))
    return error;
  return tensor;
}
