//===- KernelInfoJSON.cpp - Kernels as JSON and as bytes ------------------===//

#include "attn/Runtime/Cuda/KernelInfo.h"
#include "attn/Support/JSON.h"
#include "attn/Support/JSONFields.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/raw_ostream.h"

using namespace attn;
using namespace attn::cuda;
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// Members
//===----------------------------------------------------------------------===//

static constexpr llvm::StringRef kKindNames[] = {
    "tensor_map", "pointer", "extent",      "stride",
    "scalar",     "counter", "packed_count"};

namespace attn::cuda {

template <typename Archive>
static void describe(Archive &archive, Param &param) {
  archive.choice("kind", param.kind, kKindNames);
  archive("operand", param.operand);
  switch (param.kind) {
  case ParamKind::TensorMap:
    archive("dims", param.map.dims);
    archive("box", param.map.box);
    archive.number("swizzle", param.map.swizzle, 4);
    archive.number("promotion", param.map.promotion, 4);
    archive("packed", param.map.packed);
    break;
  case ParamKind::Pointer:
  case ParamKind::Counter:
    archive("alignment", param.alignment);
    break;
  case ParamKind::PackedCount:
    break;
  case ParamKind::Extent:
  case ParamKind::Stride:
    archive("dim", param.dim);
    archive("alignment", param.alignment);
    [[fallthrough]];
  case ParamKind::Scalar:
    archive("bits", param.bits);
    break;
  }
}

template <typename Archive>
static void describe(Archive &archive, TableExtent &extent) {
  archive("operand", extent.operand);
  archive("dim", extent.dim);
  archive("divisor", extent.divisor);
  archive("size", extent.size);
  archive("is_num_splits", extent.isNumSplits);
  archive("plus_rows", extent.plusRows);
}

template <typename Archive>
static void describe(Archive &archive, TableInfo &table) {
  archive("element_bytes", table.elementBytes);
  archive("extents", table.extents);
  archive("is_zero", table.isZero);
  archive("is_prepared", table.isPrepared);
}

template <typename Archive>
static void describe(Archive &archive, PrologueKernel &kernel) {
  archive("entry", kernel.entry);
  archive("threads", kernel.threads);
  archive("elements", kernel.elements);
  archive("by_row", kernel.byRow);
  archive("by_block", kernel.byBlock);
  archive("warp_elements", kernel.warpElements);
  archive("params", kernel.params);
}

template <typename Archive>
static void describe(Archive &archive, LoopKernel &kernel) {
  archive("entry", kernel.entry);
  archive("threads", kernel.threads);
  archive("is_behind", kernel.isBehind);
  archive("extents", kernel.extents);
  archive("params", kernel.params);
}

template <typename Archive>
static void describe(Archive &archive, CombineKernel &kernel) {
  archive("entry", kernel.entry);
  archive("threads", kernel.threads);
  archive("warps_per_row", kernel.warpsPerRow);
  archive("params", kernel.params);
}

template <typename Archive>
static void describe(Archive &archive, CheckKernel &kernel) {
  archive("entry", kernel.entry);
  archive("threads", kernel.threads);
  archive("extents", kernel.extents);
  archive("params", kernel.params);
}

template <typename Archive>
static void describe(Archive &archive, ListChecks &checks) {
  archive("words", checks.words);
  archive("sites", checks.numSites);
  archive("kernels", checks.kernels);
  archive.blob("ptx_bytes", checks.ptx);
}

template <typename Archive>
static void describe(Archive &archive, Resources &resources) {
  archive("registers", resources.registers);
  archive("shared_bytes", resources.sharedBytes);
  archive("spill_bytes", resources.spillBytes);
  archive("stack_bytes", resources.stackBytes);
  archive("resident_blocks", resources.residentBlocks);
}

template <typename Archive>
static void describe(Archive &archive, Variant &variant) {
  archive("schedule", variant.schedule);
  archive("entry", variant.entry);
  archive("threads", variant.threads);
  archive("dynamic_shared_bytes", variant.dynamicSharedBytes);
  archive("tile_rows", variant.tileRows);
  archive("tile_keys", variant.tileKeys);
  archive("most_packed_heads", variant.mostPackedHeads);
  archive("persistent", variant.persistent);
  archive("of_lists", variant.ofLists);
  archive("partly_read", variant.partlyRead);
  archive("params", variant.params);
  archive("first_table", variant.firstTable);
  archive("tables", variant.tables);
  archive("prologues", variant.prologues);
  archive("loops", variant.loops);
  archive("combine", variant.combine);
  archive("resources", variant.resources);
  Costs::forEach(variant, [&](llvm::StringLiteral name, auto &cost) {
    archive(name, cost);
  });
  archive.blob("ptx_bytes", variant.ptx);
  archive.blob("cubin_bytes", variant.cubin);
}

template <typename Archive>
static void describe(Archive &archive, GridInfo &grid) {
  archive("operand", grid.operand);
  archive("batch_dim", grid.batchDim);
  archive("head_dim", grid.headDim);
  archive("row_dim", grid.rowDim);
  archive("key_operand", grid.keyOperand);
  archive("key_dim", grid.keyDim);
  archive("key_head_dim", grid.keyHeadDim);
}

template <typename Archive>
static void describe(Archive &archive, ListsInfo &lists) {
  archive("rows", lists.rowsOperand);
  archive("columns", lists.columnsOperand);
}

template <typename Archive>
static void describe(Archive &archive, LaunchInfo &launch) {
  archive("grid", launch.grid);
  archive("lists", launch.lists);
  archive("variants", launch.variants);
}

template <typename Archive>
static void describe(Archive &archive, CudaProgram &program) {
  archive("chip", program.chip);
  archive("dependent_launch", program.dependentLaunch);
  archive("product_rate", program.productRate);
  archive("memory_rate", program.memoryRate);
  archive("first_scratch", program.firstScratch);
  archive("scratch", program.scratch);
  archive("launches", program.launches);
  archive("checks", program.checks);
}

} // namespace attn::cuda

json::Value CudaProgram::toJSON() const {
  return writeJSON(*this, kProgramVersion);
}

llvm::Expected<CudaProgram> CudaProgram::fromJSON(const json::Value &value,
                                                  llvm::StringRef code) {
  CudaProgram program;
  llvm::StringRef rest = code;
  if (llvm::Error error = readJSON(value, program, kProgramVersion, "program",
                                   "GPU program", &rest))
    return error;
  if (!rest.empty())
    return llvm::createStringError(
        "expects code of " + llvm::Twine(code.size() - rest.size()) +
        " bytes, but got " + llvm::Twine(code.size()));
  if (llvm::Error error = program.validate())
    return error;
  return program;
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

// "attncuda", the size of the JSON as a 64-bit little-endian number, the JSON,
// the code.
static constexpr llvm::StringLiteral kMagic = "attncuda";
static constexpr size_t kHeaderSize = kMagic.size() + sizeof(uint64_t);

std::string CudaProgram::toBytes() const {
  std::string text, code;
  llvm::raw_string_ostream(text) << writeJSON(*this, kProgramVersion, &code);
  char size[sizeof(uint64_t)];
  llvm::support::endian::write64le(size, text.size());
  return kMagic.str() + std::string(size, sizeof(size)) + text + code;
}

llvm::Expected<CudaProgram> CudaProgram::fromBytes(llvm::StringRef bytes) {
  if (bytes.size() < kHeaderSize || !bytes.starts_with(kMagic))
    return llvm::createStringError("expects a GPU program, but got " +
                                   llvm::Twine(bytes.size()) +
                                   " bytes of something else");
  uint64_t size = llvm::support::endian::read64le(bytes.data() + kMagic.size());
  llvm::StringRef rest = bytes.drop_front(kHeaderSize);
  if (size > rest.size())
    return llvm::createStringError(
        "expects a GPU program with a description of " + llvm::Twine(size) +
        " bytes, but got " + llvm::Twine(rest.size()));
  llvm::Expected<json::Value> value = parseJSON(rest.take_front(size));
  if (!value)
    return value.takeError();
  return fromJSON(*value, rest.drop_front(size));
}
