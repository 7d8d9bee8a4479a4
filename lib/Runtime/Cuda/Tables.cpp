//===- Tables.cpp - Memory that kernels fill for others -------------------===//

#include "Tables.h"
#include "attn/Support/DType.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/MathExtras.h"
#include <mutex>

using namespace attn;
using namespace attn::cuda;

/// What tables start at multiples of, as if each had been allocated alone.
static constexpr int64_t kAlignment = 256;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// A pool of a device's memory that keeps what it has, so that only the first
/// launches wait for memory. It is not the device's own, whose settings are the
/// program's. Made by the first call and never freed, as kernels may run until
/// the process ends.
static llvm::Expected<MemPoolHandle> getPool(const Device &device) {
  static auto &all = *new llvm::DenseMap<ContextHandle, MemPoolHandle>();
  static auto &mutex = *new std::mutex();
  std::lock_guard<std::mutex> lock(mutex);
  MemPoolHandle &pool = all[device.getContext()];
  if (pool)
    return pool;
  const Driver &driver = device.getDriver();
  MemPoolProps properties;
  properties.locationId = device.getOrdinal();
  MemPoolHandle made = nullptr;
  if (llvm::Error error =
          driver.check(driver.cuMemPoolCreate(&made, &properties),
                       "making a pool of memory for tables"))
    return std::move(error);
  uint64_t threshold = UINT64_MAX;
  if (llvm::Error error = driver.check(
          driver.cuMemPoolSetAttribute(made, kPoolReleaseThreshold, &threshold),
          "setting up a pool of memory for tables"))
    return std::move(error);
  return pool = made;
}

Tables::Tables(Tables &&other) noexcept
    : driver(other.driver), stream(other.stream), firstTable(other.firstTable),
      memory(std::exchange(other.memory, 0)), extents(std::move(other.extents)),
      bytes(std::move(other.bytes)), operands(std::move(other.operands)) {}

Tables::~Tables() { llvm::consumeError(release()); }

llvm::Error Tables::release() {
  if (!memory)
    return llvm::Error::success();
  return driver->check(
      driver->cuMemFreeAsync(std::exchange(memory, 0),
                             static_cast<StreamHandle>(stream)),
      "giving back the memory of tables");
}

//===----------------------------------------------------------------------===//
// Extents
//===----------------------------------------------------------------------===//

int64_t Tables::getNumElements(const TensorView &view) {
  int64_t count = 1;
  for (int64_t dim = 0; dim < view.rank; ++dim)
    count *= view.shape[dim];
  return count;
}

/// The bytes of a table with all extents at their most; more is no table.
static constexpr int64_t kMaxBytes = int64_t(1) << 40;

/// `numRows` are those of the tables before.
static llvm::Expected<int64_t> getExtent(const TableExtent &extent,
                                         int32_t firstTable,
                                         llvm::ArrayRef<int64_t> numRows,
                                         int64_t parts,
                                         llvm::ArrayRef<TensorView> operands) {
  if (extent.isNumSplits)
    return parts;
  int64_t more =
      extent.plusRows < 0 ? 0 : numRows[extent.plusRows - firstTable];
  if (extent.operand < 0)
    return extent.size + more;
  const TensorView &view = operands[extent.operand];
  if (extent.dim >= view.rank)
    return makeArgumentError("expects operand " + llvm::Twine(extent.operand) +
                             " to have dimension " + llvm::Twine(extent.dim) +
                             ", but got rank " + llvm::Twine(view.rank));
  return llvm::divideCeil(view.shape[extent.dim], extent.divisor) + more;
}

llvm::Expected<int64_t>
Tables::getProduct(llvm::ArrayRef<TableExtent> extents,
                   llvm::ArrayRef<TensorView> operands) {
  int64_t product = 1;
  for (const TableExtent &extent : extents) {
    llvm::Expected<int64_t> factor = getExtent(
        extent, /*firstTable=*/0, /*numRows=*/{}, /*parts=*/1, operands);
    if (!factor)
      return factor.takeError();
    if (llvm::MulOverflow(product, *factor, product))
      return makeArgumentError("expects less than 2^63 lists; run a part of "
                               "the batch at a time");
  }
  return product;
}

static DType getTableType(int32_t bytes) {
  switch (bytes) {
  case 1:
    return DType::I8;
  case 2:
    return DType::I16;
  case 4:
    return DType::I32;
  default:
    return DType::I64;
  }
}

llvm::Expected<Tables> Tables::layOut(const Device &device, void *stream,
                                      int32_t firstTable,
                                      llvm::ArrayRef<TableInfo> infos,
                                      llvm::ArrayRef<TensorView> operands,
                                      int64_t parts) {
  // Without tables there is no first one.
  if (infos.empty())
    firstTable = static_cast<int32_t>(operands.size());
  Tables tables(device.getDriver(), stream, firstTable);
  tables.operands.assign(operands.begin(), operands.begin() + firstTable);
  std::vector<int64_t> numRows;
  for (const TableInfo &table : infos) {
    size_t first = tables.extents.size(), rank = table.extents.size();
    tables.extents.resize(first + 2 * rank);
    int64_t bytes = table.elementBytes;
    for (size_t dim = rank; dim-- > 0;) {
      llvm::Expected<int64_t> extent =
          getExtent(table.extents[dim], firstTable, numRows, parts, operands);
      if (!extent)
        return extent.takeError();
      tables.extents[first + dim] = *extent;
      tables.extents[first + rank + dim] = bytes / table.elementBytes;
      if (llvm::MulOverflow(bytes, *extent, bytes) || bytes > kMaxBytes)
        return makeArgumentError("expects tables of at most " +
                                 llvm::Twine(kMaxBytes) +
                                 " bytes; run a part of the batch at a time");
    }
    int64_t rows = 1;
    for (size_t dim = 0; dim + 1 < rank; ++dim)
      rows *= tables.extents[first + dim];
    numRows.push_back(rows);
    tables.bytes.push_back(bytes);
  }
  // The numbers stay where they are from here on.
  const int64_t *next = tables.extents.data();
  for (const TableInfo &table : infos) {
    auto rank = static_cast<int64_t>(table.extents.size());
    tables.operands.push_back(
        {nullptr, static_cast<int32_t>(getTableType(table.elementBytes)), rank,
         next, next + rank});
    next += 2 * rank;
  }
  return std::move(tables);
}

int64_t Tables::getRoom(size_t table) const {
  return static_cast<int64_t>(llvm::alignTo(bytes[table], kAlignment));
}

llvm::Error Tables::takeMemory(const Device &device) {
  int64_t total = 0;
  for (size_t table = 0; table < bytes.size(); ++table)
    if (!operands[firstTable + table].data)
      total += getRoom(table);
  if (total == 0)
    return llvm::Error::success();
  llvm::Expected<MemPoolHandle> pool = getPool(device);
  if (!pool)
    return pool.takeError();
  Result result = driver->cuMemAllocFromPoolAsync(
      &memory, total, *pool, static_cast<StreamHandle>(stream));
  if (result == kErrorOutOfMemory)
    return device.makeMemoryError(total, "intermediate results");
  if (llvm::Error error =
          driver->check(result, "taking " + llvm::Twine(total) +
                                    " bytes for tables of a launch"))
    return error;
  DevicePtr next = memory;
  for (size_t table = 0; table < bytes.size(); ++table)
    if (!operands[firstTable + table].data) {
      place(table, next);
      next += getRoom(table);
    }
  return llvm::Error::success();
}

llvm::Error Tables::clear(llvm::ArrayRef<TableInfo> infos) {
  for (auto [table, view] :
       llvm::zip_equal(infos, llvm::ArrayRef(operands).drop_front(firstTable)))
    if (int64_t size = getNumElements(view) * table.elementBytes;
        table.isZero && size != 0)
      if (llvm::Error error = driver->check(
              driver->cuMemsetD8Async(reinterpret_cast<DevicePtr>(view.data), 0,
                                      size, static_cast<StreamHandle>(stream)),
              "clearing a table of a launch"))
        return error;
  return llvm::Error::success();
}

llvm::Expected<Tables> Tables::allocate(const Device &device, void *stream,
                                        int32_t firstTable,
                                        llvm::ArrayRef<TableInfo> infos,
                                        llvm::ArrayRef<TensorView> operands,
                                        int64_t parts) {
  llvm::Expected<Tables> tables =
      layOut(device, stream, firstTable, infos, operands, parts);
  if (!tables)
    return tables;
  if (llvm::Error error = tables->takeMemory(device))
    return error;
  if (llvm::Error error = tables->clear(infos))
    return error;
  return tables;
}
