//===- VariantChoice.cpp - Which variant a launch takes -------------------===//

#include "attn/Runtime/Cuda/Driver.h"
#include "attn/Runtime/Cuda/KernelInfo.h"
#include "attn/Support/DType.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>
#include <vector>

using namespace attn;
using namespace attn::cuda;

//===----------------------------------------------------------------------===//
// The grid
//===----------------------------------------------------------------------===//

llvm::Expected<LaunchExtents>
cuda::getLaunchExtents(const GridInfo &grid,
                       llvm::ArrayRef<TensorView> operands) {
  LaunchExtents result;
  auto read = [&](int32_t operand, int32_t dim, int64_t &extent) {
    if (dim < 0)
      return true;
    if (static_cast<size_t>(operand) >= operands.size() ||
        dim >= operands[operand].rank)
      return false;
    extent = operands[operand].shape[dim];
    return extent >= 0;
  };
  if (grid.rowDim < 0)
    result.rows = 1;
  if (!read(grid.operand, grid.batchDim, result.batch) ||
      !read(grid.operand, grid.headDim, result.heads) ||
      !read(grid.operand, grid.rowDim, result.rows) ||
      !read(grid.keyOperand, grid.keyDim, result.keys) ||
      !read(grid.keyOperand, grid.keyHeadDim, result.keyHeads))
    return makeArgumentError(
        "expects operands " + llvm::Twine(grid.operand) + " and " +
        llvm::Twine(grid.keyOperand) +
        " to have the dimensions of the grid, with extents of 0 or more");
  for (auto [what, extent] :
       {std::pair<const char *, int64_t>{"batches", result.batch},
        {"heads", result.heads},
        {"queries", result.rows},
        {"keys", result.keys}})
    if (extent > kMaxExtent)
      return makeArgumentError("expects at most " + llvm::Twine(kMaxExtent) +
                               " " + what + " on a GPU, but got " +
                               llvm::Twine(extent) +
                               "; run a part of them at a time, or on the CPU");
  return result;
}

int32_t cuda::countPackedHeads(const LaunchExtents &extents, int32_t most) {
  int64_t group = extents.keyHeads > 0 ? extents.heads / extents.keyHeads : 0;
  return group > 0
             ? static_cast<int32_t>(std::min<int64_t>(group & -group, most))
             : 1;
}

static constexpr int64_t kMaxTiles = (int64_t(1) << 31) - 1;

/// The number of tiles, or nullopt if a kernel cannot count them, or its rows.
static std::optional<int64_t> countTiles(const LaunchExtents &extents,
                                         const Variant &variant) {
  int32_t packed = countPackedHeads(extents, variant.mostPackedHeads);
  int64_t heads = extents.heads / packed, rows;
  if (llvm::MulOverflow<int64_t>(extents.rows, packed, rows) ||
      (packed > 1 && rows > kMaxExtent))
    return std::nullopt;
  int64_t tiles = rows / variant.tileRows + (rows % variant.tileRows != 0);
  if (tiles == 0 || extents.batch == 0 || heads == 0)
    return 0;
  if (llvm::MulOverflow(tiles, heads, tiles) ||
      llvm::MulOverflow(tiles, extents.batch, tiles) || tiles > kMaxTiles)
    return std::nullopt;
  return tiles;
}

llvm::Expected<int64_t> cuda::getNumTiles(const LaunchExtents &extents,
                                          const Variant &variant) {
  if (std::optional<int64_t> tiles = countTiles(extents, variant))
    return *tiles;
  int32_t packed = countPackedHeads(extents, variant.mostPackedHeads);
  if (packed > 1 && extents.rows > kMaxExtent / packed)
    return makeArgumentError(
        "expects at most " + llvm::Twine(kMaxExtent / packed) +
        " queries where tiles have " + llvm::Twine(packed) +
        " heads, but got " + llvm::Twine(extents.rows) +
        "; run a part of them at a time");
  return makeArgumentError(
      "expects at most " + llvm::Twine(kMaxTiles) + " tiles, but got " +
      llvm::Twine(extents.batch) + " x " + llvm::Twine(extents.heads) + " x " +
      llvm::Twine(extents.rows) + " rows in tiles of " +
      llvm::Twine(variant.tileRows) + "; run a part of the batch at a time");
}

ListExtents cuda::getListExtents(const ListsInfo &lists,
                                 const LaunchExtents &extents,
                                 llvm::ArrayRef<TensorView> operands) {
  ListExtents result;
  auto count = static_cast<int64_t>(operands.size());
  if (lists.rowsOperand < 0 || lists.columnsOperand < 0 ||
      lists.rowsOperand >= count || lists.columnsOperand >= count)
    return result;
  const TensorView &rows = operands[lists.rowsOperand],
                   &columns = operands[lists.columnsOperand];
  double heads = double(extents.batch) * double(extents.heads), numLists = 1;
  for (int64_t dim = 0; dim + 1 < rows.rank; ++dim)
    numLists *= double(rows.shape[dim]);
  result.entries = columns.rank == 1 ? double(columns.shape[0]) : 0;
  result.pairs = numLists > 0 ? result.entries * heads / numLists : 0;
  return result;
}

//===----------------------------------------------------------------------===//
// Parts of the keys
//===----------------------------------------------------------------------===//

/// The bytes of all tables of a variant, those of parts for so many of them.
static double countTableBytes(const Variant &variant, int64_t parts,
                              llvm::ArrayRef<TensorView> operands) {
  double total = 0;
  std::vector<double> rows;
  for (const TableInfo &table : variant.tables) {
    double bytes = table.elementBytes, ofRow = bytes;
    for (const TableExtent &extent : table.extents) {
      int64_t size = extent.isNumSplits ? parts : extent.size;
      if (extent.operand >= 0) {
        if (static_cast<size_t>(extent.operand) >= operands.size() ||
            extent.dim >= operands[extent.operand].rank)
          return 0;
        size = llvm::divideCeil(operands[extent.operand].shape[extent.dim],
                                extent.divisor);
      }
      double more =
          extent.plusRows < 0 ? 0 : rows[extent.plusRows - variant.firstTable];
      ofRow = bytes;
      bytes *= double(size) + more;
    }
    rows.push_back(ofRow / table.elementBytes);
    total += bytes;
  }
  return total;
}

/// The keys of a tile as a rule.
static double getTypicalKeys(const Variant &variant, double keys) {
  return variant.typicalKeys > 0 ? std::min(variant.typicalKeys, keys) : keys;
}

int64_t cuda::getNumSplits(const Variant &variant, const LaunchExtents &extents,
                           int32_t numSMs,
                           llvm::ArrayRef<TensorView> operands) {
  std::optional<int64_t> tiles = countTiles(extents, variant);
  if (!variant.combine || !tiles || *tiles == 0 || extents.keys == 0)
    return 1;
  // Beyond what fills the GPU at once, some parts are enough to make the
  // longest tile one among many.
  constexpr int64_t enough = 16;
  numSMs = std::max(numSMs, 1);
  auto keys = double(extents.keys);
  double balanced =
      std::ceil(keys * numSMs / double(*tiles) / getTypicalKeys(variant, keys));
  int64_t parts = numSMs / *tiles;
  if (variant.typicalKeys > 0)
    parts = static_cast<int64_t>(
        std::min(balanced, double(std::max(parts, enough))));
  parts = std::max<int64_t>(parts, 2);
  // What has few KV blocks is not shared out.
  int64_t keyTiles = llvm::divideCeil(extents.keys, variant.tileKeys);
  parts = std::min<int64_t>(parts, llvm::divideCeil(keyTiles, kMinSplitBlocks));
  double bytes = countTableBytes(variant, 1, operands);
  if (bytes * double(parts) > double(kMaxSplitBytes))
    parts = static_cast<int64_t>(double(kMaxSplitBytes) / bytes);
  return std::clamp<int64_t>(parts, 1,
                             std::max<int64_t>(kMaxTiles / *tiles, 1));
}

//===----------------------------------------------------------------------===//
// The variant
//===----------------------------------------------------------------------===//

/// What a launch with a combine kernel costs.
static double getSplitCost(const Variant &variant, const LaunchExtents &extents,
                           int64_t tiles, int64_t parts, int32_t numSMs) {
  // What it takes to find that there are no keys, of tiles beside each other.
  constexpr double emptyTile = 0.25;
  auto keys = double(extents.keys);
  auto getWaves = [&](int64_t blocks) {
    return double(llvm::divideCeil(blocks, std::max(numSMs, 1)));
  };
  double rows = double(extents.batch) * double(extents.heads) *
                double(extents.rows),
         rowsOfSplits = rows * double(parts);
  double longest =
      variant.tileCost + variant.longKeyCost * keys / double(parts);
  double cost = 0;
  if (variant.typicalKeys > 0) {
    cost = getWaves(tiles) * (variant.tileCost +
                              variant.keyCost * getTypicalKeys(variant, keys)) +
           getWaves(tiles * (parts - 1)) * emptyTile * variant.tileCost;
    rowsOfSplits = rows * double(std::min<int64_t>(parts, 2));
  } else {
    cost = getWaves(tiles * parts) *
           (variant.tileCost + variant.keyCost * keys / double(parts));
  }
  return std::max(cost, longest) + variant.combineCost +
         variant.splitRowCost * rowsOfSplits;
}

std::optional<double> cuda::getCost(const LaunchInfo &launch,
                                    const Variant &variant,
                                    const LaunchExtents &extents,
                                    int32_t numSMs,
                                    llvm::ArrayRef<TensorView> operands) {
  std::optional<int64_t> tiles = countTiles(extents, variant);
  if (!tiles)
    return std::nullopt;
  int64_t parts = getNumSplits(variant, extents, numSMs, operands);
  double keys = getTypicalKeys(
      variant, double(llvm::alignTo(extents.keys, variant.tileKeys)));
  double cost = 0;
  if (variant.combine)
    cost = getSplitCost(variant, extents, *tiles, parts, numSMs);
  else
    cost = static_cast<double>(llvm::divideCeil(*tiles, std::max(numSMs, 1))) *
           (variant.tileCost + variant.keyCost * keys);
  ListExtents lists = getListExtents(launch.lists, extents, operands);
  double rows =
      double(extents.batch) * double(extents.heads) * double(extents.rows);
  return cost + variant.rowCost * rows + variant.pairCost * lists.pairs +
         variant.entryCost * lists.entries +
         variant.tableCost * countTableBytes(variant, parts, operands);
}

double cuda::getLeastTime(const CudaProgram &program, const LaunchInfo &launch,
                          const Variant &variant, const LaunchExtents &extents,
                          llvm::ArrayRef<TensorView> operands) {
  double pairs = double(extents.batch) * double(extents.heads) *
                 double(extents.rows) *
                 getTypicalKeys(variant, double(extents.keys));
  if (variant.ofLists)
    pairs = getListExtents(launch.lists, extents, operands).pairs;
  llvm::SmallSet<int32_t, 16> used;
  for (const Param &param : variant.params)
    if (param.kind == ParamKind::TensorMap || param.kind == ParamKind::Pointer)
      used.insert(param.operand);
  double bytes = 0;
  for (auto [number, operand] : llvm::enumerate(operands)) {
    if (!used.contains(static_cast<int32_t>(number)) ||
        llvm::is_contained(variant.partlyRead, static_cast<int32_t>(number)))
      continue;
    double size = double(getSize(static_cast<DType>(operand.dtype)));
    // What is the same for all indices is there once.
    for (int64_t dim = 0; dim < operand.rank; ++dim)
      if (operand.strides[dim] != 0 || operand.shape[dim] == 0)
        size *= double(operand.shape[dim]);
    bytes += size;
  }
  double least = 0;
  if (program.productRate > 0)
    least = pairs * variant.pairOperations / program.productRate;
  if (program.memoryRate > 0)
    least = std::max(least, bytes / program.memoryRate);
  return least;
}

size_t cuda::pickVariant(const LaunchInfo &launch, const LaunchExtents &extents,
                         int32_t numSMs, llvm::ArrayRef<TensorView> operands) {
  struct {
    size_t index = 0;
    double cost = HUGE_VAL;
    int rank = -1;
  } best;
  auto consider = [&](size_t index) {
    const Variant &variant = launch.variants[index];
    std::optional<double> cost =
        getCost(launch, variant, extents, numSMs, operands);
    if (!cost)
      return;
    double tableBytes = countTableBytes(
        variant, getNumSplits(variant, extents, numSMs, operands), operands);
    // Whether it can run, and should have the memory that it needs, in this
    // order.
    int rank =
        2 * canMap(variant, operands) + (tableBytes <= double(kMaxTableBytes));
    if (rank == best.rank ? *cost < best.cost : rank > best.rank)
      best = {index, *cost, rank};
  };
  for (size_t i = 0; i < launch.variants.size(); ++i)
    if (!launch.variants[i].combine)
      consider(i);
  // Against what shares out keys counts the longest tile, too.
  const Variant &whole = launch.variants[best.index];
  bool isLong =
      best.rank >= 0 && (whole.fewAreLong ||
                         2 * countTiles(extents, whole).value_or(0) <= numSMs);
  if (isLong)
    best.cost = std::max(best.cost,
                         whole.longKeyCost * static_cast<double>(extents.keys));
  for (size_t i = 0; i < launch.variants.size(); ++i)
    if (launch.variants[i].combine &&
        (best.rank < 0 ||
         getNumSplits(launch.variants[i], extents, numSMs, operands) > 1))
      consider(i);
  return best.index;
}
