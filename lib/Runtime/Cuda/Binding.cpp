//===- Binding.cpp - From operands to a kernel's parameters ---------------===//

#include "Binding.h"
#include "attn/Support/DType.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>
#include <memory>

using namespace attn;
using namespace attn::cuda;

//===----------------------------------------------------------------------===//
// What threads remember
//===----------------------------------------------------------------------===//

namespace {
/// An operand that a parameter was bound to before: it has passed the checks,
/// and this is its tensor map. Entries are compared as a whole, so what is
/// hashed decides nothing but speed.
struct BoundOperand {
  /// Of the parameter: never 0 in use, and never used again.
  uint64_t id;
  const void *address;
  int64_t dtype;
  int64_t extents[kMaxMapRank];
  int64_t strides[kMaxMapRank];
  /// Heads of a box.
  int64_t packedHeads;

  bool operator==(const BoundOperand &other) const {
    return std::memcmp(this, &other, sizeof(*this)) == 0;
  }
};
static_assert(sizeof(BoundOperand) == (4 + 2 * kMaxMapRank) * 8,
              "no padding, which would be compared too");

struct CacheEntry {
  TensorMap map;
  BoundOperand operand;
};
} // namespace

// Operands of one launch never take each other's entries, whatever their
// addresses, unless there are more than kCacheSets of them.
static constexpr size_t kCacheSets = 16;
static constexpr size_t kCacheWays = 16;

/// The entry that an operand has, or may take. Each thread has its own, so that
/// no lock is needed: 64 KiB, of which it touches what it uses. They are not
/// part of the thread's storage, which would make each thread larger.
static CacheEntry &findEntry(const BoundOperand &operand) {
  static thread_local std::unique_ptr<CacheEntry[]> cache;
  if (LLVM_UNLIKELY(!cache))
    cache = std::make_unique<CacheEntry[]>(kCacheSets * kCacheWays);
  // A multiple of kMaxParams, and the parameter.
  size_t set = operand.id % kMaxParams % kCacheSets;
  auto address = reinterpret_cast<uintptr_t>(operand.address);
  uint64_t hash = (operand.id + (address >> 4)) * 0x9e3779b97f4a7c15u;
  size_t way = hash >> (64 - llvm::ConstantLog2<kCacheWays>());
  return cache[set * kCacheWays + way];
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

static std::string getName(const BindingTarget &target, int32_t operand) {
  if (static_cast<size_t>(operand) < target.names.size())
    return "'" + target.names[operand] + "'";
  return ("operand " + llvm::Twine(operand)).str();
}

static bool isEmpty(const TensorView &view) {
  for (int64_t dim = 0; dim < view.rank; ++dim)
    if (view.shape[dim] == 0)
      return true;
  return false;
}

/// The kind of memory that an address belongs to, 0 for none that CUDA knows.
static unsigned getMemoryType(const Driver &driver, const void *address) {
  unsigned type = 0;
  Result result = driver.cuPointerGetAttribute(
      &type, kPointerMemoryType, reinterpret_cast<DevicePtr>(address));
  return result == kSuccess ? type : 0;
}

static llvm::Error checkDeviceMemory(const BindingTarget &target,
                                     int32_t operand, const void *address) {
  const Driver &driver = target.device.getDriver();
  if (getMemoryType(driver, address) != kMemoryDevice)
    return makeArgumentError(
        "expects " + getName(target, operand) + " to lie in memory of " +
        target.device.describe() + ", but its address is none; copy it there");
  int ordinal = target.device.getOrdinal();
  Result result = driver.cuPointerGetAttribute(
      &ordinal, kPointerDeviceOrdinal, reinterpret_cast<DevicePtr>(address));
  if (result == kSuccess && ordinal != target.device.getOrdinal())
    return makeArgumentError(
        "expects " + getName(target, operand) + " to lie in memory of " +
        target.device.describe() + ", but it lies in that of device " +
        llvm::Twine(ordinal) + "; copy it there");
  return llvm::Error::success();
}

static llvm::Error checkDim(const BindingTarget &target, int32_t operand,
                            int32_t dim) {
  const TensorView &view = target.operands[operand];
  if (LLVM_LIKELY(dim < view.rank && view.shape && view.strides))
    return llvm::Error::success();
  return makeArgumentError("expects " + getName(target, operand) +
                           " to have dimension " + llvm::Twine(dim) +
                           ", but got rank " + llvm::Twine(view.rank));
}

//===----------------------------------------------------------------------===//
// Tensor maps
//===----------------------------------------------------------------------===//

/// CUtensorMapDataType. Booleans are bytes.
static int getMapType(DType dtype) {
  switch (dtype) {
  case DType::F64:
    return 8;
  case DType::F32:
    return 7;
  case DType::F16:
    return 6;
  case DType::BF16:
    return 9;
  case DType::I64:
    return 5;
  case DType::I32:
    return 3;
  case DType::I16:
    return 1;
  case DType::I8:
  case DType::I1:
    return 0;
  }
  return 0;
}

static bool isMapAddress(const void *address) {
  return reinterpret_cast<uintptr_t>(address) % 16 == 0;
}

/// Whether the hardware takes a distance between elements, in all dimensions
/// but the innermost, where it has to be 1.
static bool isMapStride(int64_t stride, int64_t size) {
  constexpr int64_t kMaxBytes = int64_t(1) << 40;
  return stride >= 0 && stride < kMaxBytes && stride * size < kMaxBytes &&
         stride * size % 16 == 0;
}

static bool canMap(const TensorMapInfo &map, const TensorView &view) {
  int64_t size = getSize(static_cast<DType>(view.dtype));
  bool isMappable = isMapAddress(view.data);
  for (auto [i, dim] : llvm::enumerate(map.dims)) {
    if (dim < 0)
      continue;
    if (dim >= view.rank || view.shape[dim] == 0)
      return true;
    int64_t stride = view.strides[dim];
    if (view.shape[dim] != 1)
      isMappable &= i == 0 ? stride == 1 : isMapStride(stride, size);
  }
  return isMappable;
}

/// Whether an operand is aligned as a parameter asks for.
static bool isAligned(const Param &param, const TensorView &view) {
  if (isEmpty(view))
    return true;
  if (param.kind == ParamKind::Pointer)
    return reinterpret_cast<uintptr_t>(view.data) % param.alignment == 0;
  if (param.kind != ParamKind::Stride || param.dim >= view.rank ||
      view.shape[param.dim] == 1)
    return true;
  return view.strides[param.dim] * getSize(static_cast<DType>(view.dtype)) %
             param.alignment ==
         0;
}

bool cuda::canMap(const Variant &variant, llvm::ArrayRef<TensorView> operands) {
  auto can = [&](const Param &param) {
    if (static_cast<size_t>(param.operand) >= operands.size())
      return true;
    const TensorView &view = operands[param.operand];
    return param.kind == ParamKind::TensorMap ? ::canMap(param.map, view)
                                              : isAligned(param, view);
  };
  return llvm::all_of(variant.params, can) &&
         llvm::all_of(variant.loops, [&](const LoopKernel &loop) {
           return llvm::all_of(loop.params, can);
         });
}

/// Checks what the hardware wants of an operand and fills in `map`. `bound` is
/// the operand as its mapped dimensions show it.
static llvm::Error encodeMap(const BindingTarget &target, const Param &param,
                             const BoundOperand &bound, TensorMap &map) {
  const TensorMapInfo &info = param.map;
  size_t rank = info.dims.size();
  auto dtype = static_cast<DType>(bound.dtype);
  uint64_t size = getSize(dtype);
  auto fail = [&](const llvm::Twine &text) {
    return makeArgumentError("expects " + getName(target, param.operand) + " " +
                             text);
  };

  if (!isMapAddress(bound.address))
    return fail("to start at a multiple of 16 bytes, but got address 0x" +
                llvm::utohexstr(reinterpret_cast<uintptr_t>(bound.address),
                                /*LowerCase=*/true) +
                "; copy it");
  uint64_t innerBytes = info.box[0] * size;
  uint64_t span = info.swizzle == Swizzle::None
                      ? UINT64_MAX
                      : uint64_t(16) << static_cast<int32_t>(info.swizzle);
  if (innerBytes % 16 != 0 || innerBytes > span)
    return fail("to have elements of which " + llvm::Twine(info.box[0]) +
                " fit the map's " + llvm::Twine(span) +
                " bytes in pieces of 16, but got " + getName(dtype));

  uint64_t extents[kMaxMapRank], strides[kMaxMapRank];
  uint32_t elementStrides[kMaxMapRank];
  // The distance that neighbours would have in a dense tensor.
  uint64_t dense = size;
  for (size_t i = 0; i < rank; ++i) {
    int64_t extent = bound.extents[i], stride = bound.strides[i];
    if (extent < 0 || extent > UINT32_MAX)
      return fail("to have extents from 0 to 4294967295, but got " +
                  llvm::Twine(extent));
    extents[i] = extent;
    elementStrides[i] = 1;
    if (i == 0) {
      if (extent != 1 && stride != 1)
        return fail("to have stride 1 in dimension " +
                    llvm::Twine(info.dims[i]) + ", but got " +
                    llvm::Twine(stride) + "; copy it to a dense tensor");
    } else if (extent == 1) {
      // Never used, but checked by the driver.
      strides[i - 1] = llvm::alignTo(dense, 16);
      if (strides[i - 1] == 0 || strides[i - 1] >= uint64_t(1) << 40)
        strides[i - 1] = 16;
    } else {
      if (!isMapStride(stride, size))
        return fail("to have a stride of a multiple of 16 bytes, not negative "
                    "and less than 2^40, in dimension " +
                    llvm::Twine(info.dims[i]) + ", but got " +
                    llvm::Twine(stride) + " elements of " + getName(dtype) +
                    "; copy it to a tensor with aligned rows");
      strides[i - 1] = stride * size;
    }
    dense = i == 0 ? size * extents[0] : strides[i - 1] * extents[i];
  }
  llvm::SmallVector<uint32_t, kMaxMapRank> box(info.box);
  if (info.packed) {
    box[1] = target.packedHeads;
    box[2] /= target.packedHeads;
  }
  const Driver &driver = target.device.getDriver();
  return driver.check(
      driver.cuTensorMapEncodeTiled(
          &map, getMapType(dtype), rank, const_cast<void *>(bound.address),
          extents, strides, box.data(), elementStrides,
          /*interleave=*/0, static_cast<int32_t>(info.swizzle),
          static_cast<int32_t>(info.promotion), /*oobFill=*/0),
      "encoding a tensor map of " + getName(target, param.operand));
}

/// An operand without elements becomes one element of the grid's operand,
/// which has some: there are tiles.
static llvm::Error useStandIn(const BindingTarget &target, const Param &param,
                              BoundOperand &bound) {
  const TensorView &view = target.operands[target.grid.operand];
  if (isEmpty(view) || reinterpret_cast<uintptr_t>(view.data) % 16 != 0)
    return makeArgumentError(
        "expects " + getName(target, param.operand) + " to have elements, or " +
        getName(target, target.grid.operand) +
        " to have some at a multiple of 16 bytes; copy that");
  bound.address = view.data;
  for (size_t i = 0; i < param.map.dims.size(); ++i) {
    bound.extents[i] = 1;
    bound.strides[i] = 0;
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

static llvm::Error bindMap(const BindingTarget &target, const Param &param,
                           uint64_t id, TensorMap &map) {
  const TensorView &view = target.operands[param.operand];
  BoundOperand bound{};
  bound.id = id;
  bound.address = view.data;
  bound.dtype = view.dtype;
  bound.packedHeads = param.map.packed ? target.packedHeads : 1;
  for (size_t i = 0; i < param.map.dims.size(); ++i) {
    int32_t dim = param.map.dims[i];
    if (dim < 0) {
      bound.extents[i] = 1;
      continue;
    }
    if (llvm::Error error = checkDim(target, param.operand, dim))
      return error;
    bound.extents[i] = view.shape[dim];
    // What does not matter should not make two entries.
    bound.strides[i] = view.shape[dim] == 1 ? 0 : view.strides[dim];
  }
  if (LLVM_UNLIKELY(isEmpty(view)))
    if (llvm::Error error = useStandIn(target, param, bound))
      return error;

  CacheEntry &entry = findEntry(bound);
  if (LLVM_UNLIKELY(!(entry.operand == bound))) {
    // Not a match for anything until all is well.
    entry.operand.id = 0;
    if (llvm::Error error =
            checkDeviceMemory(target, param.operand, bound.address))
      return error;
    if (llvm::Error error = encodeMap(target, param, bound, entry.map))
      return error;
    entry.operand = bound;
  }
  map = entry.map;
  return llvm::Error::success();
}

/// Checks an address once; `isScalar` says which memory it should be of.
static llvm::Error checkAddress(const BindingTarget &target, const Param &param,
                                uint64_t id, bool isScalar) {
  const TensorView &view = target.operands[param.operand];
  BoundOperand bound{};
  bound.id = id;
  bound.address = view.data;
  bound.dtype = view.dtype;
  CacheEntry &entry = findEntry(bound);
  if (LLVM_LIKELY(entry.operand == bound))
    return llvm::Error::success();
  if (isScalar) {
    const Driver &driver = target.device.getDriver();
    if (!view.data || getMemoryType(driver, view.data) == kMemoryDevice)
      return makeArgumentError(
          "expects " + getName(target, param.operand) +
          " to lie in host memory, but got " +
          (view.data ? "memory of a GPU; copy it" : "a null pointer"));
  } else {
    if (llvm::Error error = checkDeviceMemory(target, param.operand, view.data))
      return error;
    int64_t size = getSize(static_cast<DType>(view.dtype));
    if (reinterpret_cast<uintptr_t>(view.data) % size != 0)
      return makeArgumentError("expects " + getName(target, param.operand) +
                               " to be aligned to its elements of " +
                               llvm::Twine(size) + " bytes; copy it");
  }
  entry.operand = bound;
  return llvm::Error::success();
}

/// What threads read or write at once has to lie at multiples of its size.
static llvm::Error checkAlignment(const BindingTarget &target,
                                  const Param &param) {
  const TensorView &view = target.operands[param.operand];
  if (LLVM_LIKELY(isAligned(param, view)))
    return llvm::Error::success();
  std::string name = getName(target, param.operand);
  if (param.kind == ParamKind::Pointer)
    return makeArgumentError(
        "expects " + name + " to start at a multiple of " +
        llvm::Twine(param.alignment) + " bytes, but got address 0x" +
        llvm::utohexstr(reinterpret_cast<uintptr_t>(view.data),
                        /*LowerCase=*/true) +
        "; copy it");
  return makeArgumentError(
      "expects " + name + " to have a stride of a multiple of " +
      llvm::Twine(param.alignment) + " bytes in dimension " +
      llvm::Twine(param.dim) + ", but got " +
      llvm::Twine(view.strides[param.dim]) + " elements of " +
      attn::getName(static_cast<DType>(view.dtype)) +
      "; copy it to a tensor with aligned rows");
}

/// Writes an extent or a stride.
static llvm::Error bindNumber(const BindingTarget &target, const Param &param,
                              char *value) {
  if (llvm::Error error = checkDim(target, param.operand, param.dim))
    return error;
  const TensorView &view = target.operands[param.operand];
  bool isExtent = param.kind == ParamKind::Extent;
  int64_t number = isExtent ? view.shape[param.dim] : view.strides[param.dim];
  if (param.bits == 64) {
    std::memcpy(value, &number, sizeof(number));
    return llvm::Error::success();
  }
  // Where there is one element or none the stride does not matter.
  if (!isExtent && view.shape[param.dim] <= 1 && !llvm::isInt<32>(number))
    number = 0;
  if (!llvm::isInt<32>(number))
    return makeArgumentError(
        "expects " + getName(target, param.operand) + " to have " +
        (isExtent ? "an extent" : "a stride") + " of 32 bits in dimension " +
        llvm::Twine(param.dim) + ", but got " + llvm::Twine(number));
  auto narrow = static_cast<int32_t>(number);
  std::memcpy(value, &narrow, sizeof(narrow));
  return llvm::Error::success();
}

static llvm::Error bindScalar(const BindingTarget &target, const Param &param,
                              uint64_t id, char *value) {
  const TensorView &view = target.operands[param.operand];
  int64_t size = getSize(static_cast<DType>(view.dtype));
  if (view.rank != 0)
    return makeArgumentError("expects " + getName(target, param.operand) +
                             " to be a scalar, but got rank " +
                             llvm::Twine(view.rank));
  if (param.bits != 0 && param.bits != 8 * size)
    return makeArgumentError("expects " + getName(target, param.operand) +
                             " to have " + llvm::Twine(param.bits) +
                             " bits, but got " + llvm::Twine(8 * size));
  if (llvm::Error error = checkAddress(target, param, id, /*isScalar=*/true))
    return error;
  std::memcpy(value, view.data, size);
  return llvm::Error::success();
}

llvm::Error cuda::bindParams(const BindingTarget &target,
                             llvm::ArrayRef<Param> params,
                             ParamValues &values) {
  // The program was checked: all parameters fit.
  size_t offset = 0;
  for (size_t i = 0; i < params.size(); ++i) {
    const Param &param = params[i];
    const TensorView &view = target.operands[param.operand];
    bool isMap = param.kind == ParamKind::TensorMap;
    offset = llvm::alignTo(offset, isMap ? alignof(TensorMap) : 8);
    char *value = values.bytes + offset;
    offset += isMap ? sizeof(TensorMap) : 8;
    values.pointers[i] = value;
    uint64_t id = target.id + i;
    if (LLVM_UNLIKELY(param.alignment > 1))
      if (llvm::Error error = checkAlignment(target, param))
        return error;
    switch (param.kind) {
    case ParamKind::TensorMap:
      if (llvm::Error error =
              bindMap(target, param, id, *reinterpret_cast<TensorMap *>(value)))
        return error;
      break;
    case ParamKind::Pointer:
      if (LLVM_LIKELY(!isEmpty(view) && param.operand < target.firstTable))
        if (llvm::Error error =
                checkAddress(target, param, id, /*isScalar=*/false))
          return error;
      std::memcpy(value, &view.data, sizeof(view.data));
      break;
    case ParamKind::Counter:
      std::memcpy(value, &target.counter, sizeof(target.counter));
      break;
    case ParamKind::PackedCount:
      std::memcpy(value, &target.packedHeads, sizeof(target.packedHeads));
      break;
    case ParamKind::Extent:
    case ParamKind::Stride:
      if (llvm::Error error = bindNumber(target, param, value))
        return error;
      break;
    case ParamKind::Scalar:
      if (llvm::Error error = bindScalar(target, param, id, value))
        return error;
      break;
    }
  }
  return llvm::Error::success();
}
