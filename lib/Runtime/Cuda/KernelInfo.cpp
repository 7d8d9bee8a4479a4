//===- KernelInfo.cpp - Checks of kernels ---------------------------------===//

#include "attn/Runtime/Cuda/KernelInfo.h"
#include "attn/Runtime/Cuda/Driver.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>

using namespace attn;
using namespace attn::cuda;

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// "expects WHAT to be at least MIN and at most MAX, but got VALUE".
static llvm::Error checkRange(const llvm::Twine &what, int64_t value,
                              int64_t min, int64_t max) {
  if (value >= min && value <= max)
    return llvm::Error::success();
  return makeArgumentError("expects " + what + " to be from " +
                           llvm::Twine(min) + " to " + llvm::Twine(max) +
                           ", but got " + llvm::Twine(value));
}

/// A rank that no operand exceeds, so that dimensions can be checked.
static constexpr int64_t kMaxOperandRank = 64;
static constexpr int64_t kMaxOperands = 1024;
static constexpr int64_t kMaxTableRank = 8;

static llvm::Error checkMap(const TensorMapInfo &map) {
  if (llvm::Error error = checkRange("the rank of a tensor map",
                                     map.dims.size(), 1, kMaxMapRank))
    return error;
  if (map.box.size() != map.dims.size())
    return makeArgumentError("expects the box of a tensor map to have rank " +
                             llvm::Twine(map.dims.size()) + ", but got " +
                             llvm::Twine(map.box.size()));
  for (size_t i = 0; i < map.dims.size(); ++i) {
    if (llvm::Error error = checkRange("a dimension of a tensor map",
                                       map.dims[i], -1, kMaxOperandRank - 1))
      return error;
    if (map.dims[i] >= 0 && llvm::count(map.dims, map.dims[i]) != 1)
      return makeArgumentError(
          "expects the dimensions of a tensor map to differ, but got " +
          llvm::Twine(map.dims[i]) + " twice");
    // What an entry of the descriptor holds.
    if (llvm::Error error =
            checkRange("an extent of a tensor map's box", map.box[i], 1, 256))
      return error;
  }
  if (map.packed && (map.dims.size() < 3 || map.box[1] != 1))
    return makeArgumentError(
        "expects a tensor map of packed heads to have rank "
        "3 at least, and a box with one head");
  return llvm::Error::success();
}

static llvm::Error checkParam(const Param &param) {
  constexpr int64_t mostBytes = 16;
  if (param.alignment < 1 || !llvm::isPowerOf2_32(param.alignment) ||
      param.alignment > mostBytes)
    return makeArgumentError("expects the alignment of a parameter to be 1, 2, "
                             "4, 8 or 16, but got " +
                             llvm::Twine(param.alignment));
  if (llvm::Error error = checkRange("the operand of a parameter",
                                     param.operand, 0, kMaxOperands - 1))
    return error;
  switch (param.kind) {
  case ParamKind::TensorMap:
    return checkMap(param.map);
  case ParamKind::Pointer:
  case ParamKind::Counter:
  case ParamKind::PackedCount:
    return llvm::Error::success();
  case ParamKind::Extent:
  case ParamKind::Stride:
    if (param.bits != 32 && param.bits != 64)
      return makeArgumentError(
          "expects an extent or a stride to have 32 or 64 bits, but got " +
          llvm::Twine(param.bits));
    return checkRange("the dimension of a parameter", param.dim, 0,
                      kMaxOperandRank - 1);
  case ParamKind::Scalar:
    if (param.bits != 0 && param.bits != 8 && param.bits != 16 &&
        param.bits != 32 && param.bits != 64)
      return makeArgumentError(
          "expects a scalar to have 8, 16, 32 or 64 bits, or 0 for those of "
          "its type, but got " +
          llvm::Twine(param.bits));
    return llvm::Error::success();
  }
  return makeArgumentError("expects a kind of parameter, but got " +
                           llvm::Twine(static_cast<int32_t>(param.kind)));
}

/// Parameters by their bytes, and one by one.
static llvm::Error checkParams(llvm::ArrayRef<Param> params) {
  size_t bytes = 0;
  for (const Param &param : params) {
    if (llvm::Error error = checkParam(param))
      return error;
    bool isMap = param.kind == ParamKind::TensorMap;
    bytes = llvm::alignTo(bytes, isMap ? alignof(TensorMap) : 8) +
            (isMap ? sizeof(TensorMap) : 8);
  }
  if (bytes <= kMaxParamBytes)
    return llvm::Error::success();
  return makeArgumentError(
      "expects parameters of at most " + llvm::Twine(kMaxParamBytes) +
      " bytes, but got " + llvm::Twine(bytes) +
      ": the kernel has too many tensors; let it have fewer, or ask for the "
      "gradients of fewer at a time");
}

/// Of a table that is operand `number`.
static llvm::Error checkExtents(llvm::ArrayRef<TableExtent> extents,
                                int32_t firstTable, int32_t number,
                                bool hasSplits = false) {
  if (llvm::Error error =
          checkRange("the rank of a table", extents.size(), 1, kMaxTableRank))
    return error;
  for (const TableExtent &extent : extents) {
    if (llvm::Error error = checkRange("the operand of a table's extent",
                                       extent.operand, -1, firstTable - 1))
      return error;
    if (llvm::Error error = checkRange("the dimension of a table's extent",
                                       extent.dim, 0, kMaxOperandRank - 1))
      return error;
    if (llvm::Error error = checkRange("the divisor of a table's extent",
                                       extent.divisor, 1, kMaxExtent))
      return error;
    if (llvm::Error error =
            checkRange("an extent of a table", extent.size, 0, kMaxExtent))
      return error;
    if (extent.isNumSplits && !hasSplits)
      return makeArgumentError(
          "expects a combine kernel with tables of parts of the keys");
    if (extent.plusRows >= 0)
      if (llvm::Error error =
              checkRange("the table whose rows an extent has more",
                         extent.plusRows, firstTable, number - 1))
        return error;
  }
  return llvm::Error::success();
}

static llvm::Error checkTable(const TableInfo &table, int32_t firstTable,
                              int32_t number, bool hasSplits) {
  if (!llvm::isPowerOf2_32(table.elementBytes) || table.elementBytes > 8)
    return makeArgumentError("expects elements of a table to have 1, 2, 4 or 8 "
                             "bytes, but got " +
                             llvm::Twine(table.elementBytes));
  return checkExtents(table.extents, firstTable, number, hasSplits);
}

/// A kernel whose warps do the same with different numbers.
static llvm::Error checkWarpKernel(const std::string &entry, int32_t threads,
                                   llvm::ArrayRef<Param> params,
                                   const char *what) {
  if (entry.empty() || entry.find('\0') != std::string::npos)
    return makeArgumentError("expects a kernel to have a name");
  if (llvm::Error error =
          checkRange("the number of threads", threads, kWarpThreads, 1024))
    return error;
  if (llvm::Error error = checkParams(params))
    return error;
  for (const Param &param : params)
    if (param.kind == ParamKind::TensorMap || param.kind == ParamKind::Counter)
      return makeArgumentError(
          llvm::Twine("expects no map and no counter of a kernel that ") +
          what);
  return llvm::Error::success();
}

/// Whether a kernel reads contents by a parameter, and not only an extent.
static bool isContent(const Param &param) {
  return param.kind == ParamKind::Pointer || param.kind == ParamKind::Scalar;
}

/// Kernels fill tables in their order, and preparation reads nothing that is
/// not there when tables are shared.
static llvm::Error checkPreparation(const Variant &variant) {
  ptrdiff_t numFilled = 0;
  for (size_t i = 0; i < variant.prologues.size(); ++i) {
    const PrologueKernel &prologue = variant.prologues[i];
    size_t first = prologue.elements - variant.firstTable,
           end = variant.tables.size();
    if (i + 1 < variant.prologues.size()) {
      end = variant.prologues[i + 1].elements - variant.firstTable;
      if (end <= first)
        return makeArgumentError("expects kernels to fill tables in their "
                                 "order, but got @" +
                                 prologue.entry + " before @" +
                                 variant.prologues[i + 1].entry);
    }
    if (!variant.isPreparation(prologue))
      continue;
    for (const Param &param : prologue.params) {
      size_t table = param.operand - variant.firstTable;
      if (isContent(param) && param.operand >= variant.firstTable &&
          (table >= end || !variant.tables[table].isPrepared))
        return makeArgumentError("expects @" + prologue.entry +
                                 " to read inputs and tables that are prepared "
                                 "before, but got operand " +
                                 llvm::Twine(param.operand));
    }
    for (; first < end && variant.tables[first].isPrepared;
         ++first, ++numFilled)
      if (variant.tables[first].isZero ||
          llvm::any_of(variant.tables[first].extents,
                       [](const TableExtent &e) { return e.isNumSplits; }))
        return makeArgumentError(
            "expects tables of @" + prologue.entry +
            ", which are prepared, to be filled by it, and "
            "for any number of parts");
  }
  if (numFilled != llvm::count_if(variant.tables, [](const TableInfo &table) {
        return table.isPrepared;
      }))
    return makeArgumentError("expects each table that is prepared to be filled "
                             "by preparation");
  return llvm::Error::success();
}

static llvm::Error checkTables(const Variant &variant) {
  if (llvm::Error error = checkRange("the first table", variant.firstTable, 0,
                                     kMaxOperands - 1))
    return error;
  for (auto [number, table] : llvm::enumerate(variant.tables))
    if (llvm::Error error =
            checkTable(table, variant.firstTable,
                       variant.firstTable + static_cast<int32_t>(number),
                       variant.combine.has_value()))
      return error;
  int64_t end = variant.firstTable + int64_t(variant.tables.size());
  for (const PrologueKernel &prologue : variant.prologues) {
    if (llvm::Error error = checkWarpKernel(prologue.entry, prologue.threads,
                                            prologue.params, "fills tables"))
      return error;
    if (llvm::Error error =
            checkRange("the table of a prologue", prologue.elements,
                       variant.firstTable, end - 1))
      return error;
  }
  for (const LoopKernel &loop : variant.loops) {
    if (llvm::Error error = checkWarpKernel(loop.entry, loop.threads,
                                            loop.params, "has a loop"))
      return error;
    // Without tables there is no operand of which they are the first.
    int32_t firstTable =
        variant.tables.empty() ? kMaxOperands : variant.firstTable;
    if (llvm::Error error =
            checkExtents(loop.extents, firstTable, static_cast<int32_t>(end),
                         /*hasSplits=*/false))
      return error;
  }
  if (const std::optional<CombineKernel> &combine = variant.combine) {
    if (llvm::Error error = checkWarpKernel(combine->entry, combine->threads,
                                            combine->params, "combines parts"))
      return error;
    if (llvm::Error error =
            checkRange("the warps of a row", combine->warpsPerRow, 1, 1024))
      return error;
    if (variant.persistent)
      return makeArgumentError(
          "expects a kernel with a combine kernel not to be persistent");
  }
  // Where there are tables, nothing else comes after the operands.
  if (variant.tables.empty())
    return llvm::Error::success();
  auto check = [&](llvm::ArrayRef<Param> params) -> llvm::Error {
    for (const Param &param : params)
      if (llvm::Error error = checkRange("the operand of a parameter",
                                         param.operand, 0, end - 1))
        return error;
    return llvm::Error::success();
  };
  if (llvm::Error error = check(variant.params))
    return error;
  for (const PrologueKernel &prologue : variant.prologues)
    if (llvm::Error error = check(prologue.params))
      return error;
  if (llvm::Error error = checkPreparation(variant))
    return error;
  for (const LoopKernel &loop : variant.loops)
    if (llvm::Error error = check(loop.params))
      return error;
  return variant.combine ? check(variant.combine->params)
                         : llvm::Error::success();
}

static llvm::Error checkChecks(const ListChecks &checks) {
  if (checks.kernels.empty())
    return llvm::Error::success();
  if (checks.ptx.empty())
    return makeArgumentError("expects PTX of kernels that check lists");
  if (llvm::Error error =
          checkRange("the operand of words", checks.words, 0, kMaxOperands - 1))
    return error;
  if (llvm::Error error =
          checkRange("the number of sites", checks.numSites, 1, kMaxOperands))
    return error;
  for (const CheckKernel &kernel : checks.kernels) {
    if (llvm::Error error = checkWarpKernel(kernel.entry, kernel.threads,
                                            kernel.params, "checks lists"))
      return error;
    if (llvm::Error error =
            checkExtents(kernel.extents, checks.words, checks.words))
      return error;
    for (const Param &param : kernel.params)
      if (llvm::Error error = checkRange("the operand of a parameter",
                                         param.operand, 0, checks.words))
        return error;
  }
  return llvm::Error::success();
}

static llvm::Error checkVariant(const Variant &variant) {
  bool isOfLoops = !variant.hasTiles() && !variant.loops.empty() &&
                   variant.params.empty() && variant.prologues.empty() &&
                   !variant.combine;
  if ((!variant.hasTiles() && !isOfLoops) ||
      variant.entry.find('\0') != std::string::npos)
    return makeArgumentError("expects a kernel to have a name");
  if (variant.ptx.empty() && variant.cubin.empty())
    return makeArgumentError("expects PTX or a cubin, but got neither");
  if (llvm::Error error =
          checkRange("the number of threads", variant.threads, 1, 1024))
    return error;
  if (llvm::Error error = checkRange("the bytes of dynamic shared memory",
                                     variant.dynamicSharedBytes, 0, 1 << 20))
    return error;
  if (llvm::Error error =
          checkRange("the rows of a tile", variant.tileRows, 1, 1 << 20))
    return error;
  if (llvm::Error error =
          checkRange("the keys of a tile", variant.tileKeys, 1, 1 << 20))
    return error;
  if (!llvm::isPowerOf2_32(variant.mostPackedHeads) ||
      variant.tileRows % variant.mostPackedHeads != 0)
    return makeArgumentError("expects the most packed heads to be a power of "
                             "two that divides the rows of a tile, but got " +
                             llvm::Twine(variant.mostPackedHeads));
  for (const Param &param : variant.params)
    if (param.kind == ParamKind::TensorMap && param.map.packed &&
        param.map.box.size() > 2 &&
        param.map.box[2] % variant.mostPackedHeads != 0)
      return makeArgumentError(
          "expects the most packed heads to divide the rows of a tensor map, "
          "but got " +
          llvm::Twine(variant.mostPackedHeads) + " and " +
          llvm::Twine(param.map.box[2]));
  if (const std::optional<Resources> &resources = variant.resources)
    for (int32_t number :
         {resources->registers, resources->sharedBytes, resources->spillBytes,
          resources->stackBytes, resources->residentBlocks})
      if (llvm::Error error =
              checkRange("a resource of a kernel", number, 0, 1 << 20))
        return error;
  std::string wrong;
  Costs::forEach(variant, [&](llvm::StringLiteral name, double cost) {
    if (!std::isfinite(cost) || cost < 0)
      wrong = std::to_string(cost) + " for " + name.str();
  });
  if (!wrong.empty())
    return makeArgumentError(
        "expects costs to be finite and not negative, but got " + wrong);
  if (llvm::Error error = checkParams(variant.params))
    return error;
  return checkTables(variant);
}

static llvm::Error checkGrid(const GridInfo &grid) {
  if (llvm::Error error =
          checkRange("the grid's operand", grid.operand, 0, kMaxOperands - 1))
    return error;
  if (llvm::Error error = checkRange("the operand with the keys",
                                     grid.keyOperand, 0, kMaxOperands - 1))
    return error;
  for (int32_t dim :
       {grid.batchDim, grid.headDim, grid.rowDim, grid.keyDim, grid.keyHeadDim})
    if (llvm::Error error =
            checkRange("a dimension of the grid", dim, -1, kMaxOperandRank - 1))
      return error;
  return llvm::Error::success();
}

llvm::Error CudaProgram::validate() const {
  if (chip.empty())
    return makeArgumentError("expects a program to name its chip");
  for (double rate : {productRate, memoryRate})
    if (!std::isfinite(rate) || rate < 0)
      return makeArgumentError(
          "expects rates of a GPU to be finite and not negative, but got " +
          std::to_string(rate));
  for (const LaunchInfo &launch : launches) {
    if (launch.variants.empty())
      return makeArgumentError("expects a launch to have a variant");
    if (llvm::Error error = checkGrid(launch.grid))
      return error;
    for (int32_t operand :
         {launch.lists.rowsOperand, launch.lists.columnsOperand})
      if (llvm::Error error =
              checkRange("the operand of lists", operand, -1, kMaxOperands - 1))
        return error;
    for (const Variant &variant : launch.variants)
      if (llvm::Error error = checkVariant(variant))
        return error;
  }
  if (std::vector<int32_t> read = getPreparedOperands();
      !scratch.empty() && !read.empty() && read.back() >= firstScratch)
    return makeArgumentError("expects preparation to read inputs, but got "
                             "operand " +
                             llvm::Twine(read.back()));
  for (const TableInfo &table : scratch)
    if (llvm::Error error =
            checkTable(table, firstScratch, firstScratch, /*hasSplits=*/false))
      return error;
  return checkChecks(checks);
}

int64_t CudaProgram::getNumOperands() const {
  int64_t last = -1;
  for (const LaunchInfo &launch : launches) {
    for (int64_t operand :
         {launch.grid.operand, launch.grid.keyOperand, launch.lists.rowsOperand,
          launch.lists.columnsOperand})
      if (scratch.empty() || operand < firstScratch)
        last = std::max(last, operand);
    for (const Variant &variant : launch.variants) {
      // Scratch comes before tables.
      if (!variant.tables.empty() && scratch.empty())
        last = std::max<int64_t>(last, variant.firstTable - 1);
      auto add = [&](int64_t operand) {
        if ((variant.tables.empty() || operand < variant.firstTable) &&
            (scratch.empty() || operand < firstScratch))
          last = std::max(last, operand);
      };
      for (const Param &param : variant.params)
        add(param.operand);
      for (const PrologueKernel &prologue : variant.prologues)
        for (const Param &param : prologue.params)
          add(param.operand);
      for (const LoopKernel &loop : variant.loops) {
        for (const Param &param : loop.params)
          add(param.operand);
        for (const TableExtent &extent : loop.extents)
          add(extent.operand);
      }
      if (variant.combine)
        for (const Param &param : variant.combine->params)
          add(param.operand);
      for (const TableInfo &table : variant.tables)
        for (const TableExtent &extent : table.extents)
          add(extent.operand);
    }
  }
  if (!checks.kernels.empty())
    last = std::max<int64_t>(last, checks.words - 1);
  return last + 1;
}

std::vector<int32_t> CudaProgram::getPreparedOperands() const {
  std::vector<int32_t> operands;
  for (const LaunchInfo &launch : launches)
    for (const Variant &variant : launch.variants)
      for (const PrologueKernel &prologue : variant.prologues)
        for (const Param &param : prologue.params)
          if (variant.isPreparation(prologue) && isContent(param) &&
              param.operand < variant.firstTable)
            operands.push_back(param.operand);
  llvm::sort(operands);
  operands.erase(llvm::unique(operands), operands.end());
  return operands;
}
