//===- KernelInfoJSON.cpp - Kernels as JSON and as bytes ------------------===//

#include "attn/Runtime/Cuda/Driver.h"
#include "attn/Runtime/Cuda/KernelInfo.h"
#include "attn/Support/JSON.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/raw_ostream.h"
#include <limits>

using namespace attn;
using namespace attn::cuda;
namespace json = llvm::json;

static constexpr llvm::StringLiteral kKindNames[] = {
    "tensor_map", "pointer", "extent",      "stride",
    "scalar",     "counter", "packed_count"};

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// JSON holds nothing but UTF-8.
static std::string toUTF8(const std::string &text) {
  return json::isUTF8(text) ? text : json::fixUTF8(text);
}

template <typename Array> static json::Array toJSONArray(const Array &values) {
  json::Array array;
  for (auto value : values)
    array.push_back(static_cast<int64_t>(value));
  return array;
}

static json::Value toJSON(const Param &param) {
  json::Object object{{"kind", kKindNames[static_cast<int32_t>(param.kind)]},
                      {"operand", param.operand}};
  switch (param.kind) {
  case ParamKind::TensorMap:
    object["dims"] = toJSONArray(param.map.dims);
    object["box"] = toJSONArray(param.map.box);
    object["swizzle"] = static_cast<int32_t>(param.map.swizzle);
    object["promotion"] = static_cast<int32_t>(param.map.promotion);
    object["packed"] = param.map.packed;
    break;
  case ParamKind::Pointer:
  case ParamKind::Counter:
    object["alignment"] = param.alignment;
    break;
  case ParamKind::PackedCount:
    break;
  case ParamKind::Extent:
  case ParamKind::Stride:
    object["dim"] = param.dim;
    object["bits"] = param.bits;
    object["alignment"] = param.alignment;
    break;
  case ParamKind::Scalar:
    object["bits"] = param.bits;
    break;
  }
  return object;
}

static json::Array toJSON(llvm::ArrayRef<TableExtent> extents) {
  json::Array array;
  for (const TableExtent &extent : extents)
    array.push_back(json::Object{{"operand", extent.operand},
                                 {"dim", extent.dim},
                                 {"divisor", extent.divisor},
                                 {"size", extent.size},
                                 {"is_parts", extent.isParts},
                                 {"plus_rows", extent.plusRows}});
  return array;
}

static json::Value toJSON(const TableInfo &table) {
  return json::Object{{"element_bytes", table.elementBytes},
                      {"extents", ::toJSON(llvm::ArrayRef(table.extents))},
                      {"is_zero", table.isZero}};
}

static json::Array toJSON(llvm::ArrayRef<Param> params) {
  json::Array array;
  for (const Param &param : params)
    array.push_back(::toJSON(param));
  return array;
}

static json::Value toJSON(const SummaryKernel &summary) {
  return json::Object{{"entry", toUTF8(summary.entry)},
                      {"threads", summary.threads},
                      {"elements", summary.elements},
                      {"by_row", summary.byRow},
                      {"by_block", summary.byBlock},
                      {"params", ::toJSON(llvm::ArrayRef(summary.params))}};
}

static json::Value toJSON(const LoopKernel &loop) {
  return json::Object{{"entry", toUTF8(loop.entry)},
                      {"threads", loop.threads},
                      {"is_behind", loop.isBehind},
                      {"extents", ::toJSON(llvm::ArrayRef(loop.extents))},
                      {"params", ::toJSON(llvm::ArrayRef(loop.params))}};
}

static json::Value toJSON(const ListChecks &checks) {
  json::Array kernels;
  for (const CheckKernel &kernel : checks.kernels)
    kernels.push_back(
        json::Object{{"entry", toUTF8(kernel.entry)},
                     {"threads", kernel.threads},
                     {"extents", ::toJSON(llvm::ArrayRef(kernel.extents))},
                     {"params", ::toJSON(llvm::ArrayRef(kernel.params))}});
  return json::Object{{"words", checks.words},
                      {"sites", checks.numSites},
                      {"kernels", std::move(kernels)},
                      {"ptx_bytes", static_cast<int64_t>(checks.ptx.size())}};
}

static json::Value toJSON(const MergeKernel &merge) {
  return json::Object{{"entry", toUTF8(merge.entry)},
                      {"threads", merge.threads},
                      {"warps_per_row", merge.warpsPerRow},
                      {"params", ::toJSON(llvm::ArrayRef(merge.params))}};
}

static json::Value toJSON(const Variant &variant) {
  json::Array tables, summaries, loops;
  for (const TableInfo &table : variant.tables)
    tables.push_back(::toJSON(table));
  for (const SummaryKernel &summary : variant.summaries)
    summaries.push_back(::toJSON(summary));
  for (const LoopKernel &loop : variant.loops)
    loops.push_back(::toJSON(loop));
  json::Object object{
      {"schedule", toUTF8(variant.schedule)},
      {"entry", toUTF8(variant.entry)},
      {"threads", variant.threads},
      {"dynamic_shared_bytes", variant.dynamicSharedBytes},
      {"tile_rows", variant.tileRows},
      {"tile_keys", variant.tileKeys},
      {"most_packed_heads", variant.mostPackedHeads},
      {"cluster_size", variant.clusterSize},
      {"persistent", variant.persistent},
      {"of_lists", variant.ofLists},
      {"params", ::toJSON(llvm::ArrayRef(variant.params))},
      {"first_table", variant.firstTable},
      {"tables", std::move(tables)},
      {"summaries", std::move(summaries)},
      {"loops", std::move(loops)},
      {"ptx_bytes", static_cast<int64_t>(variant.ptx.size())},
      {"cubin_bytes", static_cast<int64_t>(variant.cubin.size())}};
  Costs::forEach(variant, [&](llvm::StringLiteral name, auto cost) {
    object[name] = cost;
  });
  if (const std::optional<Resources> &resources = variant.resources)
    object["resources"] = json::Object{{"registers", resources->registers},
                                       {"shared_bytes", resources->sharedBytes},
                                       {"spill_bytes", resources->spillBytes},
                                       {"stack_bytes", resources->stackBytes}};
  if (variant.merge)
    object["merge"] = ::toJSON(*variant.merge);
  return object;
}

json::Value CudaProgram::toJSON() const {
  json::Array array;
  for (const LaunchInfo &launch : launches) {
    const GridInfo &grid = launch.grid;
    json::Array variants;
    for (const Variant &variant : launch.variants)
      variants.push_back(::toJSON(variant));
    array.push_back(json::Object{
        {"grid", json::Object{{"operand", grid.operand},
                              {"batch_dim", grid.batchDim},
                              {"head_dim", grid.headDim},
                              {"row_dim", grid.rowDim},
                              {"key_operand", grid.keyOperand},
                              {"key_dim", grid.keyDim},
                              {"key_head_dim", grid.keyHeadDim}}},
        {"lists", json::Object{{"rows", launch.lists.rowsOperand},
                               {"columns", launch.lists.columnsOperand},
                               {"max_density", launch.lists.maxDensity}}},
        {"variants", std::move(variants)}});
  }
  json::Array shared;
  for (const TableInfo &table : scratch)
    shared.push_back(::toJSON(table));
  return json::Object{
      {"version", kProgramVersion},    {"chip", toUTF8(chip)},
      {"first_scratch", firstScratch}, {"scratch", std::move(shared)},
      {"launches", std::move(array)},  {"checks", ::toJSON(checks)}};
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {
/// Reads the fields of an object. Unlike json::ObjectMapper it does not cut
/// integers to the width of the field.
class Reader {
public:
  Reader(const json::Value &value, json::Path path)
      : mapper(value, path), path(path), isOk(mapper) {}

  template <typename T> Reader &map(llvm::StringLiteral name, T &field) {
    isOk = isOk && mapper.map(name, field);
    return *this;
  }

  template <typename T> Reader &mapInteger(llvm::StringLiteral name, T &field) {
    int64_t value = 0;
    if (map(name, value).isOk)
      store(name, value, field);
    return *this;
  }

  template <typename T>
  Reader &mapIntegers(llvm::StringLiteral name,
                      llvm::SmallVectorImpl<T> &field) {
    std::vector<int64_t> values;
    map(name, values);
    for (size_t i = 0; isOk && i < values.size(); ++i)
      store(name, values[i], field.emplace_back());
    return *this;
  }

  /// An enumeration by its number, which is less than `end`.
  template <typename T>
  Reader &mapEnum(llvm::StringLiteral name, int32_t end, T &field) {
    int32_t value = 0;
    mapInteger(name, value);
    if (isOk && (value < 0 || value >= end)) {
      path.field(name).report("expected a number in range");
      isOk = false;
    }
    field = static_cast<T>(value);
    return *this;
  }

  bool ok() const { return isOk; }

private:
  template <typename T>
  void store(llvm::StringLiteral name, int64_t value, T &field) {
    field = static_cast<T>(value);
    bool isNegative = value < 0 && !std::numeric_limits<T>::is_signed;
    if (static_cast<int64_t>(field) == value && !isNegative)
      return;
    path.field(name).report("expected a number in range");
    isOk = false;
  }

  json::ObjectMapper mapper;
  json::Path path;
  bool isOk;
};
} // namespace

namespace attn::cuda {

static bool fromJSON(const json::Value &value, Param &param, json::Path path) {
  Reader reader(value, path);
  std::string kind;
  if (!reader.map("kind", kind).mapInteger("operand", param.operand).ok())
    return false;
  const auto *name = llvm::find(kKindNames, kind);
  if (name == std::end(kKindNames)) {
    path.field("kind").report("expected a kind of parameter");
    return false;
  }
  param.kind = static_cast<ParamKind>(name - std::begin(kKindNames));
  switch (param.kind) {
  case ParamKind::TensorMap:
    reader.mapIntegers("dims", param.map.dims)
        .mapIntegers("box", param.map.box)
        .mapEnum("swizzle", 4, param.map.swizzle)
        .mapEnum("promotion", 4, param.map.promotion)
        .map("packed", param.map.packed);
    break;
  case ParamKind::Pointer:
  case ParamKind::Counter:
    reader.mapInteger("alignment", param.alignment);
    break;
  case ParamKind::PackedCount:
    break;
  case ParamKind::Extent:
  case ParamKind::Stride:
    reader.mapInteger("dim", param.dim)
        .mapInteger("alignment", param.alignment);
    [[fallthrough]];
  case ParamKind::Scalar:
    reader.mapInteger("bits", param.bits);
    break;
  }
  return reader.ok();
}

static bool fromJSON(const json::Value &value, TableExtent &extent,
                     json::Path path) {
  return Reader(value, path)
      .mapInteger("operand", extent.operand)
      .mapInteger("dim", extent.dim)
      .mapInteger("divisor", extent.divisor)
      .mapInteger("size", extent.size)
      .map("is_parts", extent.isParts)
      .mapInteger("plus_rows", extent.plusRows)
      .ok();
}

static bool fromJSON(const json::Value &value, TableInfo &table,
                     json::Path path) {
  std::vector<TableExtent> extents;
  bool isOk = Reader(value, path)
                  .mapInteger("element_bytes", table.elementBytes)
                  .map("extents", extents)
                  .map("is_zero", table.isZero)
                  .ok();
  table.extents.assign(extents.begin(), extents.end());
  return isOk;
}

static bool fromJSON(const json::Value &value, SummaryKernel &summary,
                     json::Path path) {
  return Reader(value, path)
      .map("entry", summary.entry)
      .mapInteger("threads", summary.threads)
      .mapInteger("elements", summary.elements)
      .map("by_row", summary.byRow)
      .map("by_block", summary.byBlock)
      .map("params", summary.params)
      .ok();
}

static bool fromJSON(const json::Value &value, CheckKernel &kernel,
                     json::Path path) {
  std::vector<TableExtent> extents;
  bool isOk = Reader(value, path)
                  .map("entry", kernel.entry)
                  .mapInteger("threads", kernel.threads)
                  .map("extents", extents)
                  .map("params", kernel.params)
                  .ok();
  kernel.extents.assign(extents.begin(), extents.end());
  return isOk;
}

static bool fromJSON(const json::Value &value, LoopKernel &loop,
                     json::Path path) {
  std::vector<TableExtent> extents;
  bool isOk = Reader(value, path)
                  .map("entry", loop.entry)
                  .mapInteger("threads", loop.threads)
                  .map("is_behind", loop.isBehind)
                  .map("extents", extents)
                  .map("params", loop.params)
                  .ok();
  loop.extents.assign(extents.begin(), extents.end());
  return isOk;
}

static bool fromJSON(const json::Value &value, MergeKernel &merge,
                     json::Path path) {
  return Reader(value, path)
      .map("entry", merge.entry)
      .mapInteger("threads", merge.threads)
      .mapInteger("warps_per_row", merge.warpsPerRow)
      .map("params", merge.params)
      .ok();
}

static bool fromJSON(const json::Value &value, Resources &resources,
                     json::Path path) {
  return Reader(value, path)
      .mapInteger("registers", resources.registers)
      .mapInteger("shared_bytes", resources.sharedBytes)
      .mapInteger("spill_bytes", resources.spillBytes)
      .mapInteger("stack_bytes", resources.stackBytes)
      .ok();
}

static bool fromJSON(const json::Value &value, GridInfo &grid,
                     json::Path path) {
  return Reader(value, path)
      .mapInteger("operand", grid.operand)
      .mapInteger("batch_dim", grid.batchDim)
      .mapInteger("head_dim", grid.headDim)
      .mapInteger("row_dim", grid.rowDim)
      .mapInteger("key_operand", grid.keyOperand)
      .mapInteger("key_dim", grid.keyDim)
      .mapInteger("key_head_dim", grid.keyHeadDim)
      .ok();
}

static bool fromJSON(const json::Value &value, ListsInfo &lists,
                     json::Path path) {
  return Reader(value, path)
      .mapInteger("rows", lists.rowsOperand)
      .mapInteger("columns", lists.columnsOperand)
      .map("max_density", lists.maxDensity)
      .ok();
}

/// A variant as JSON has it: the code elsewhere.
struct StoredVariant {
  Variant variant;
  uint64_t ptxBytes = 0, cubinBytes = 0;
};
struct StoredLaunch {
  GridInfo grid;
  ListsInfo lists;
  std::vector<StoredVariant> variants;
};
struct StoredChecks {
  ListChecks checks;
  uint64_t ptxBytes = 0;
};

static bool fromJSON(const json::Value &value, StoredVariant &stored,
                     json::Path path) {
  Variant &variant = stored.variant;
  Reader reader(value, path);
  reader.map("schedule", variant.schedule)
      .map("entry", variant.entry)
      .mapInteger("threads", variant.threads)
      .mapInteger("dynamic_shared_bytes", variant.dynamicSharedBytes)
      .mapInteger("tile_rows", variant.tileRows)
      .mapInteger("tile_keys", variant.tileKeys)
      .mapInteger("most_packed_heads", variant.mostPackedHeads)
      .mapInteger("cluster_size", variant.clusterSize)
      .map("persistent", variant.persistent)
      .map("of_lists", variant.ofLists)
      .map("params", variant.params)
      .mapInteger("first_table", variant.firstTable)
      .map("tables", variant.tables)
      .map("summaries", variant.summaries)
      .map("loops", variant.loops)
      .mapInteger("ptx_bytes", stored.ptxBytes)
      .mapInteger("cubin_bytes", stored.cubinBytes)
      // An optional may be absent.
      .map("resources", variant.resources)
      .map("merge", variant.merge);
  Costs::forEach(variant, [&](llvm::StringLiteral name, auto &cost) {
    reader.map(name, cost);
  });
  return reader.ok();
}

static bool fromJSON(const json::Value &value, StoredChecks &stored,
                     json::Path path) {
  return Reader(value, path)
      .mapInteger("words", stored.checks.words)
      .mapInteger("sites", stored.checks.numSites)
      .map("kernels", stored.checks.kernels)
      .mapInteger("ptx_bytes", stored.ptxBytes)
      .ok();
}

static bool fromJSON(const json::Value &value, StoredLaunch &launch,
                     json::Path path) {
  return Reader(value, path)
      .map("grid", launch.grid)
      .map("lists", launch.lists)
      .map("variants", launch.variants)
      .ok();
}

} // namespace attn::cuda

/// Takes the first `size` bytes from `code`.
static bool takeBytes(llvm::StringRef &code, uint64_t size,
                      std::string &bytes) {
  if (size > code.size())
    return false;
  bytes = code.take_front(size).str();
  code = code.drop_front(size);
  return true;
}

llvm::Expected<CudaProgram> CudaProgram::fromJSON(const json::Value &value,
                                                  llvm::StringRef code) {
  json::Path::Root root("program");
  Reader reader(value, json::Path(root));
  CudaProgram program;
  int64_t version = 0;
  if (!reader.map("version", version).ok())
    return root.getError();
  if (version != kProgramVersion)
    return llvm::createStringError("expects a GPU program of version " +
                                   llvm::Twine(kProgramVersion) +
                                   ", but got version " + llvm::Twine(version));
  std::vector<StoredLaunch> launches;
  StoredChecks checks;
  if (!reader.map("chip", program.chip)
           .mapInteger("first_scratch", program.firstScratch)
           .map("scratch", program.scratch)
           .map("launches", launches)
           .map("checks", checks)
           .ok())
    return root.getError();
  program.checks = std::move(checks.checks);
  llvm::StringRef rest = code;
  auto makeError = [&] {
    return llvm::createStringError("expects the code of all variants, but got "
                                   "only " +
                                   llvm::Twine(code.size()) + " bytes");
  };
  for (StoredLaunch &stored : launches) {
    LaunchInfo &launch = program.launches.emplace_back();
    launch.grid = stored.grid;
    launch.lists = stored.lists;
    for (StoredVariant &item : stored.variants) {
      Variant &variant = launch.variants.emplace_back(std::move(item.variant));
      if (!takeBytes(rest, item.ptxBytes, variant.ptx) ||
          !takeBytes(rest, item.cubinBytes, variant.cubin))
        return makeError();
    }
  }
  if (!takeBytes(rest, checks.ptxBytes, program.checks.ptx))
    return makeError();
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
  std::string text;
  llvm::raw_string_ostream(text) << toJSON();
  char size[sizeof(uint64_t)];
  llvm::support::endian::write64le(size, text.size());
  std::string bytes = kMagic.str();
  bytes.append(size, sizeof(size));
  bytes += text;
  for (const LaunchInfo &launch : launches)
    for (const Variant &variant : launch.variants) {
      bytes += variant.ptx;
      bytes += variant.cubin;
    }
  return bytes + checks.ptx;
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
