//===- Structs.cpp - Structs that callers fill ----------------------------===//

#include "CAPI.h"

using namespace attn;
using namespace attn::capi;

/// No struct will ever be larger: beyond is a struct_size that was not set.
static constexpr size_t kMaxStructSize = 4096;

attnStatus attn::capi::checkStructSize(size_t size, size_t ourSize,
                                       size_t firstSize, const char *name,
                                       attnError **error) {
  if (size >= firstSize && size <= kMaxStructSize)
    return ATTN_OK;
  return fail(error, ATTN_INVALID_ARGUMENT,
              llvm::Twine("expects struct_size of ") + name +
                  " to be its sizeof, which is " + llvm::Twine(ourSize) +
                  " here, but got " + llvm::Twine(size));
}

attnStatus attn::capi::readStruct(const void *from, void *to, size_t ourSize,
                                  size_t firstSize, const char *name,
                                  attnError **error) {
  size_t size;
  std::memcpy(&size, from, sizeof(size));
  if (attnStatus status =
          checkStructSize(size, ourSize, firstSize, name, error))
    return status;
  std::memcpy(to, from, std::min(size, ourSize));
  for (size_t at = ourSize; at < size; ++at)
    if (static_cast<const char *>(from)[at] != 0)
      return fail(error, ATTN_UNSUPPORTED,
                  llvm::Twine("expects members of ") + name + " that version " +
                      attnVersionString() +
                      " does not know to be 0, but byte " + llvm::Twine(at) +
                      " is not");
  return ATTN_OK;
}

/// Row-major strides. Products of extents that are no tensor's may overflow.
static std::unique_ptr<int64_t[]> makeDenseStrides(const attnTensor &tensor) {
  auto strides = std::make_unique<int64_t[]>(tensor.rank);
  uint64_t stride = 1;
  for (int64_t dim = tensor.rank - 1; dim >= 0; --dim) {
    strides[dim] = stride;
    stride *= tensor.shape[dim];
  }
  return strides;
}

attnStatus TensorViews::read(const attnTensor *tensors, size_t count,
                             const char *kind, attnError **error) {
  if (count == 0)
    return ATTN_OK;
  if (!tensors)
    return fail(error, ATTN_INVALID_ARGUMENT,
                llvm::Twine("expects ") + kind + "s, but got NULL");

  const char *at = reinterpret_cast<const char *>(tensors);
  size_t size = tensors->struct_size;
  for (size_t number = 0; number < count; ++number, at += size) {
    auto *from = reinterpret_cast<const attnTensor *>(at);
    attnTensor tensor;
    if (attnStatus status = readStruct(from, tensor, "attnTensor", error))
      return status;
    auto reject = [&](const llvm::Twine &expected, int64_t got) {
      return fail(error, ATTN_INVALID_ARGUMENT,
                  llvm::Twine("expects ") + kind + " " + llvm::Twine(number) +
                      " to have " + expected + ", but got " + llvm::Twine(got));
    };
    if (from->struct_size != size)
      return reject("the struct_size of the first, " + llvm::Twine(size),
                    from->struct_size);
    if (!isDTypeCode(tensor.dtype))
      return reject("an element type from 0 to " + llvm::Twine(kNumDTypes - 1),
                    tensor.dtype);
    if (tensor.rank < 0 || tensor.rank > int64_t(kMaxRank))
      return reject("a rank from 0 to " + llvm::Twine(kMaxRank), tensor.rank);
    if (tensor.rank > 0 && !tensor.shape)
      return fail(error, ATTN_INVALID_ARGUMENT,
                  llvm::Twine("expects ") + kind + " " + llvm::Twine(number) +
                      " to have a shape, but got NULL");
    for (int64_t dim = 0; dim < tensor.rank; ++dim)
      if (tensor.shape[dim] < 0)
        return reject("no negative extent", tensor.shape[dim]);
    if (!tensor.strides) {
      strides.push_back(makeDenseStrides(tensor));
      tensor.strides = strides.back().get();
    }
    views.push_back(
        {tensor.data, tensor.dtype, tensor.rank, tensor.shape, tensor.strides});
  }
  return ATTN_OK;
}
