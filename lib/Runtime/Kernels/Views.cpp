//===- Views.cpp - Checks of the tensors of a call ------------------------===//

#include "Views.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace attn;

llvm::Error attn::makeArgumentError(const llvm::Twine &text) {
  return llvm::createStringError(
      std::make_error_code(std::errc::invalid_argument), text);
}

static llvm::ArrayRef<int64_t> getShape(const TensorView &view) {
  return {view.shape, static_cast<size_t>(view.rank)};
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

llvm::Error attn::checkTypes(llvm::StringRef what,
                             llvm::ArrayRef<TensorInfo> expected,
                             llvm::ArrayRef<TensorView> views) {
  if (views.size() != expected.size())
    return makeArgumentError("expects " + llvm::Twine(expected.size()) + " " +
                             what + (expected.size() == 1 ? "" : "s") +
                             ", but got " + llvm::Twine(views.size()));
  for (auto [info, view] : llvm::zip_equal(expected, views)) {
    std::string name = (what + " '" + info.name + "'").str();
    if (!isDTypeCode(view.dtype))
      return makeArgumentError("expects " + name +
                               " to have an element type, but got code " +
                               llvm::Twine(view.dtype));
    auto dtype = static_cast<DType>(view.dtype);
    if (dtype != info.dtype)
      return makeArgumentError("expects " + name + " to have element type " +
                               getName(info.dtype) + ", but got " +
                               getName(dtype));
    int64_t rank = info.shape.size();
    if (view.rank != rank)
      return makeArgumentError("expects " + name + " to have rank " +
                               llvm::Twine(rank) + ", but got rank " +
                               llvm::Twine(view.rank));
    if (rank > 0 && !view.shape)
      return makeArgumentError("expects " + name +
                               " to have a shape, but got a null pointer");
    for (int64_t size : getShape(view))
      if (size < 0)
        return makeArgumentError("expects " + name +
                                 " to have no negative extent, but got " +
                                 llvm::Twine(size));
    if (!matchesShape(getShape(view), info.shape))
      return makeArgumentError("expects " + name + " to have shape " +
                               formatShape(info.shape) + ", but got " +
                               formatShape(getShape(view)));
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

std::optional<Span> attn::getSpan(const TensorView &view) {
  if (llvm::is_contained(getShape(view), 0))
    return Span();
  // Distances of the first and the last element from the origin.
  int64_t low = 0, high = 0;
  for (int64_t dim = 0; dim < view.rank; ++dim) {
    int64_t reach;
    if (llvm::MulOverflow(view.shape[dim] - 1, view.strides[dim], reach) ||
        llvm::AddOverflow(reach < 0 ? low : high, reach,
                          reach < 0 ? low : high))
      return std::nullopt;
  }
  int64_t size = getSize(static_cast<DType>(view.dtype));
  int64_t first, last;
  if (llvm::AddOverflow(high, int64_t(1), high) ||
      llvm::MulOverflow(low, size, low) ||
      llvm::MulOverflow(high, size, high) ||
      llvm::AddOverflow(reinterpret_cast<int64_t>(view.data), low, first) ||
      llvm::AddOverflow(reinterpret_cast<int64_t>(view.data), high, last))
    return std::nullopt;
  return Span{static_cast<uintptr_t>(first), static_cast<uintptr_t>(last)};
}

llvm::Error attn::checkMemory(llvm::StringRef what,
                              llvm::ArrayRef<TensorInfo> expected,
                              llvm::ArrayRef<TensorView> views) {
  for (auto [info, view] : llvm::zip_equal(expected, views)) {
    std::string name = (what + " '" + info.name + "'").str();
    if (view.rank > 0 && !view.strides)
      return makeArgumentError("expects " + name +
                               " to have strides, but got a null pointer");
    // Nothing is read or written without elements.
    if (llvm::is_contained(getShape(view), 0))
      continue;
    if (view.rank > 0 && view.shape[view.rank - 1] > 1 &&
        view.strides[view.rank - 1] != 1)
      return makeArgumentError("expects " + name +
                               " to have an innermost stride of 1, but got " +
                               llvm::Twine(view.strides[view.rank - 1]));
    if (!view.data)
      return makeArgumentError("expects " + name +
                               " to have data, but got a null pointer");
    int64_t size = getSize(info.dtype);
    if (reinterpret_cast<uintptr_t>(view.data) % size != 0)
      return makeArgumentError("expects the data of " + name +
                               " to be aligned to " + llvm::Twine(size) +
                               " bytes");
    if (!getSpan(view))
      return makeArgumentError("expects the strides of " + name +
                               " to stay in the address space");
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Overlap
//===----------------------------------------------------------------------===//

namespace {
/// A dimension with more than one element; distances are in bytes, without
/// sign.
struct Dimension {
  uint64_t stride, extent;
};
} // namespace

/// The dimensions of a tensor with elements, the densest first.
static llvm::SmallVector<Dimension> getDimensions(const TensorView &view) {
  llvm::SmallVector<Dimension> dimensions;
  uint64_t size = getSize(static_cast<DType>(view.dtype));
  for (int64_t dim = 0; dim < view.rank; ++dim)
    if (view.shape[dim] > 1)
      dimensions.push_back({llvm::AbsoluteValue(view.strides[dim]) * size,
                            static_cast<uint64_t>(view.shape[dim])});
  llvm::sort(dimensions, [](const Dimension &a, const Dimension &b) {
    return a.stride < b.stride;
  });
  return dimensions;
}

/// Whether each dimension steps over all elements of the denser ones.
static bool hasDistinctElements(const TensorView &view) {
  uint64_t reach = getSize(static_cast<DType>(view.dtype));
  for (const Dimension &dimension : getDimensions(view)) {
    if (dimension.stride < reach)
      return false;
    reach += dimension.stride * (dimension.extent - 1);
  }
  return true;
}

/// Whether two tensors with elements may have a byte in common. Tensors that
/// are interleaved, such as the parts of a packed one, do not.
static bool mayOverlap(const TensorView &a, const TensorView &b) {
  Span spanA = *getSpan(a), spanB = *getSpan(b);
  if (spanA.last <= spanB.first || spanB.last <= spanA.first)
    return false;
  // Both consist of blocks of bytes at distances that are multiples of some
  // number: they are apart if the blocks are, modulo that number.
  uint64_t period = 0;
  auto getBlockLength = [&](const TensorView &view) {
    uint64_t length = getSize(static_cast<DType>(view.dtype));
    for (const Dimension &dimension : getDimensions(view)) {
      if (dimension.stride <= length)
        length += dimension.stride * (dimension.extent - 1);
      else
        period = std::gcd(period, dimension.stride);
    }
    return length;
  };
  uint64_t lengthA = getBlockLength(a), lengthB = getBlockLength(b);
  if (period == 0 || lengthA + lengthB > period)
    return true;
  // From the start of a block of `a` to the next start of a block of `b`.
  uint64_t distance =
      (spanB.first % period + period - spanA.first % period) % period;
  return distance < lengthA || distance > period - lengthB;
}

llvm::Error attn::checkOverlap(llvm::ArrayRef<TensorInfo> inputInfos,
                               llvm::ArrayRef<TensorView> inputs,
                               llvm::ArrayRef<TensorInfo> resultInfos,
                               llvm::ArrayRef<TensorView> results) {
  auto isEmpty = [](const TensorView &view) {
    return llvm::is_contained(getShape(view), 0);
  };
  for (auto [number, result] : llvm::enumerate(results)) {
    if (isEmpty(result))
      continue;
    std::string name = "result '" + resultInfos[number].name + "'";
    if (!hasDistinctElements(result))
      return makeArgumentError("expects the elements of " + name +
                               " not to overlap");
    for (auto [info, input] : llvm::zip_equal(inputInfos, inputs))
      if (!isEmpty(input) && mayOverlap(result, input))
        return makeArgumentError("expects " + name +
                                 " not to overlap with input '" + info.name +
                                 "'");
    for (size_t other = 0; other < number; ++other)
      if (!isEmpty(results[other]) && mayOverlap(result, results[other]))
        return makeArgumentError("expects " + name +
                                 " not to overlap with result '" +
                                 resultInfos[other].name + "'");
  }
  return llvm::Error::success();
}
