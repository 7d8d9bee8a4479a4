//===- KernelInfoTest.cpp - Tests of descriptions of kernels --------------===//

#include "attn/Runtime/Cuda/KernelInfo.h"
#include "TestHelpers.h"
#include "attn/Support/DType.h"
#include <functional>

using namespace attn;
using namespace attn::cuda;
namespace json = llvm::json;

static Param makeParam(ParamKind kind, int32_t operand, int32_t dim = 0,
                       int32_t bits = 64) {
  Param param;
  param.kind = kind;
  param.operand = operand;
  param.dim = dim;
  param.bits = bits;
  return param;
}

static CudaProgram makeProgram() {
  Variant variant;
  variant.schedule = "tile_m = 128";
  variant.entry = "kernel";
  variant.threads = 384;
  variant.dynamicSharedBytes = 200000;
  variant.tileRows = 128;
  variant.persistent = true;
  variant.tileCost = 1000.5;
  variant.keyCost = 0.1;
  Param map = makeParam(ParamKind::TensorMap, 0);
  map.map.dims = {3, 2, 1, 0};
  map.map.box = {64, 128, 1, 1};
  map.map.promotion = L2Promotion::B256;
  variant.params = {map,
                    makeParam(ParamKind::Pointer, 3),
                    makeParam(ParamKind::Extent, 1, 2, 32),
                    makeParam(ParamKind::Stride, 2, 1),
                    makeParam(ParamKind::Scalar, 4, 0, 0),
                    makeParam(ParamKind::Counter, 0),
                    makeParam(ParamKind::PackedCount, 0)};
  variant.mostPackedHeads = 16;
  variant.ptx = "ptx text";
  variant.cubin = std::string("\177ELF\0binary", 11);
  variant.resources = Resources{168, 1024, 0, 16};
  Variant other = variant;
  other.entry = "other";
  other.cubin.clear();
  other.resources.reset();
  other.persistent = false;
  CudaProgram program;
  program.chip = "sm_90a";
  program.launches.push_back({GridInfo(), /*lists=*/{}, {variant, other}});
  return program;
}

TEST(KernelInfoTest, bytesRoundTrip) {
  CudaProgram program = makeProgram();
  EXPECT_EQ(program.getNumOperands(), 5);
  CudaProgram copy = get(CudaProgram::fromBytes(program.toBytes()));
  EXPECT_EQ(copy.toBytes(), program.toBytes());
  EXPECT_EQ(copy.chip, "sm_90a");
  ASSERT_EQ(copy.launches.size(), 1u);
  ASSERT_EQ(copy.launches[0].variants.size(), 2u);
  const Variant &variant = copy.launches[0].variants[0];
  const Variant &original = program.launches[0].variants[0];
  EXPECT_EQ(variant.cubin, original.cubin);
  EXPECT_EQ(variant.ptx, original.ptx);
  EXPECT_EQ(variant.keyCost, 0.1);
  EXPECT_EQ(variant.params[0].map.dims, original.params[0].map.dims);
  EXPECT_EQ(variant.params[0].map.box, original.params[0].map.box);
  EXPECT_EQ(variant.params[0].map.swizzle, Swizzle::B128);
  EXPECT_EQ(variant.params[0].map.promotion, L2Promotion::B256);
  EXPECT_EQ(variant.params[2].bits, 32);
  EXPECT_EQ(variant.params[4].kind, ParamKind::Scalar);
  EXPECT_EQ(variant.params[5].kind, ParamKind::Counter);
  EXPECT_EQ(variant.params[6].kind, ParamKind::PackedCount);
  EXPECT_EQ(variant.mostPackedHeads, 16);
  EXPECT_EQ(variant.resources->stackBytes, 16);
  EXPECT_TRUE(variant.persistent);
  EXPECT_FALSE(copy.launches[0].variants[1].resources);
  EXPECT_EQ(copy.launches[0].variants[1].cubin, "");
}

TEST(KernelInfoTest, bytesOfSomethingElse) {
  std::string bytes = makeProgram().toBytes();
  EXPECT_EQ(getText(CudaProgram::fromBytes("abc")),
            "expects a GPU program, but got 3 bytes of something else");
  EXPECT_TRUE(contains(
      getText(CudaProgram::fromBytes(llvm::StringRef(bytes).take_front(100))),
      "expects a GPU program with a description of"));
  EXPECT_TRUE(contains(
      getText(CudaProgram::fromBytes(llvm::StringRef(bytes).drop_back(1))),
      "expected no more bytes than there are"));
  EXPECT_TRUE(contains(getText(CudaProgram::fromBytes(bytes + "x")),
                       "expects code of"));
  // No byte of it, changed, ends the process.
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] ^= 0x11;
    llvm::consumeError(CudaProgram::fromBytes(changed).takeError());
  }
}

/// The text of the error for a program whose JSON was changed.
static std::string getErrorOf(const std::function<void(json::Object &)> &edit) {
  json::Value value = makeProgram().toJSON();
  edit(*value.getAsObject());
  CudaProgram program = makeProgram();
  std::string code;
  for (const Variant &variant : program.launches[0].variants)
    code += variant.ptx + variant.cubin;
  return getText(CudaProgram::fromJSON(value, code));
}

static json::Object &getFirst(json::Object &object, llvm::StringRef field) {
  return *object.getArray(field)->front().getAsObject();
}

TEST(KernelInfoTest, otherJSON) {
  EXPECT_EQ(getErrorOf([](json::Object &) {}), "");
  EXPECT_EQ(getErrorOf([](json::Object &program) { program["version"] = 9; }),
            "expects a GPU program of version 8, but got version 9");
  EXPECT_TRUE(
      contains(getErrorOf([](json::Object &program) { program.erase("chip"); }),
               "chip"));
  auto editVariant = [](const std::function<void(json::Object &)> &edit) {
    return getErrorOf([&](json::Object &program) {
      edit(getFirst(getFirst(program, "launches"), "variants"));
    });
  };
  EXPECT_TRUE(contains(editVariant([](json::Object &variant) {
                         variant["threads"] = int64_t(1) << 32;
                       }),
                       "expected a number in range"));
  EXPECT_TRUE(contains(
      editVariant([](json::Object &variant) { variant["ptx_bytes"] = -1; }),
      "expected a number in range"));
  EXPECT_TRUE(contains(editVariant([](json::Object &variant) {
                         getFirst(variant, "params")["kind"] = "gift";
                       }),
                       "expected one of a few names"));
  EXPECT_TRUE(contains(editVariant([](json::Object &variant) {
                         getFirst(variant, "params")["swizzle"] = 9;
                       }),
                       "expected a number in range"));
  EXPECT_EQ(editVariant([](json::Object &variant) { variant["threads"] = 0; }),
            "expects the number of threads to be from 1 to 1024, but got 0");
}

TEST(KernelInfoTest, validate) {
  auto getErrorWith = [](const std::function<void(CudaProgram &)> &edit) {
    CudaProgram program = makeProgram();
    edit(program);
    return getText(program.validate());
  };
  auto getErrorWithVariant = [&](const std::function<void(Variant &)> &edit) {
    return getErrorWith(
        [&](CudaProgram &program) { edit(program.launches[0].variants[0]); });
  };
  EXPECT_EQ(getErrorWith([](CudaProgram &) {}), "");
  EXPECT_EQ(getErrorWith([](CudaProgram &p) { p.chip.clear(); }),
            "expects a program to name its chip");
  EXPECT_EQ(
      getErrorWith([](CudaProgram &p) { p.launches[0].variants.clear(); }),
      "expects a launch to have a variant");
  EXPECT_EQ(
      getErrorWith([](CudaProgram &p) { p.launches[0].grid.rowDim = -2; }),
      "expects a dimension of the grid to be from -1 to 63, but got -2");
  EXPECT_EQ(getErrorWithVariant([](Variant &v) { v.entry.clear(); }),
            "expects a kernel to have a name");
  EXPECT_EQ(getErrorWithVariant([](Variant &v) {
              v.ptx.clear();
              v.cubin.clear();
            }),
            "expects PTX or a cubin, but got neither");
  EXPECT_EQ(getErrorWithVariant([](Variant &v) { v.tileRows = 0; }),
            "expects the rows of a tile to be from 1 to 1048576, but got 0");
  EXPECT_EQ(getErrorWithVariant([](Variant &v) { v.clusterSize = 9; }),
            "expects the blocks of a cluster to be from 1 to 8, but got 9");
  EXPECT_TRUE(contains(getErrorWithVariant([](Variant &v) { v.keyCost = -1; }),
                       "expects costs to be finite and not negative"));
  EXPECT_EQ(
      getErrorWithVariant([](Variant &v) { v.params[0].map.box.pop_back(); }),
      "expects the box of a tensor map to have rank 4, but got 3");
  EXPECT_EQ(
      getErrorWithVariant([](Variant &v) { v.params[0].map.box[1] = 257; }),
      "expects an extent of a tensor map's box to be from 1 to 256, but got "
      "257");
  EXPECT_EQ(
      getErrorWithVariant([](Variant &v) { v.params[0].map.dims[1] = 3; }),
      "expects the dimensions of a tensor map to differ, but got 3 twice");
  EXPECT_EQ(getErrorWithVariant([](Variant &v) { v.params[2].bits = 16; }),
            "expects an extent or a stride to have 32 or 64 bits, but got 16");
  EXPECT_EQ(
      getErrorWithVariant([](Variant &v) { v.params.resize(40, v.params[0]); }),
      "expects the bytes of all parameters to be from 0 to 4096, but got "
      "4416");
}

/// With a table of two dimensions and a kernel that fills it.
static CudaProgram makeProgramWithTables() {
  CudaProgram program = makeProgram();
  Variant &variant = program.launches[0].variants[0];
  variant.firstTable = 5;
  TableInfo &table = variant.tables.emplace_back();
  table.elementBytes = 8;
  table.extents.resize(2);
  table.extents[0].operand = 1;
  table.extents[0].dim = 2;
  table.extents[0].divisor = 96;
  table.extents[1].size = 7;
  TableInfo &other = variant.tables.emplace_back();
  other.extents.resize(1);
  other.extents[0].plusRows = 5;
  SummaryKernel &summary = variant.summaries.emplace_back();
  summary.entry = "fill";
  summary.threads = 64;
  summary.elements = 5;
  summary.byBlock = true;
  summary.params.resize(2);
  summary.params[0].operand = 4;
  summary.params[0].alignment = 16;
  summary.params[1].operand = 5;
  other.isZero = true;
  LoopKernel &loop = variant.loops.emplace_back();
  loop.entry = "round";
  loop.threads = 96;
  loop.isBehind = true;
  loop.extents = variant.tables[0].extents;
  loop.params.resize(1);
  loop.params[0].operand = 4;
  program.firstScratch = 5;
  program.scratch.push_back(variant.tables[0]);
  return program;
}

TEST(KernelInfoTest, tablesAsBytes) {
  CudaProgram program = makeProgramWithTables();
  CudaProgram copy = get(CudaProgram::fromBytes(program.toBytes()));
  EXPECT_EQ(copy.toBytes(), program.toBytes());
  const Variant &variant = copy.launches[0].variants[0];
  EXPECT_EQ(variant.firstTable, 5);
  ASSERT_EQ(variant.tables.size(), 2u);
  EXPECT_EQ(variant.tables[0].extents[0].plusRows, -1);
  EXPECT_EQ(variant.tables[1].extents[0].plusRows, 5);
  EXPECT_EQ(variant.tables[0].elementBytes, 8);
  ASSERT_EQ(variant.tables[0].extents.size(), 2u);
  EXPECT_EQ(variant.tables[0].extents[0].operand, 1);
  EXPECT_EQ(variant.tables[0].extents[0].dim, 2);
  EXPECT_EQ(variant.tables[0].extents[0].divisor, 96);
  EXPECT_EQ(variant.tables[0].extents[1].operand, -1);
  EXPECT_EQ(variant.tables[0].extents[1].size, 7);
  ASSERT_EQ(variant.summaries.size(), 1u);
  EXPECT_EQ(variant.summaries[0].entry, "fill");
  EXPECT_EQ(variant.summaries[0].threads, 64);
  EXPECT_EQ(variant.summaries[0].elements, 5);
  ASSERT_EQ(variant.summaries[0].params.size(), 2u);
  EXPECT_TRUE(variant.summaries[0].byBlock);
  EXPECT_EQ(variant.summaries[0].params[0].alignment, 16);
  EXPECT_EQ(variant.summaries[0].params[1].alignment, 1);
  EXPECT_FALSE(variant.tables[0].isZero);
  EXPECT_TRUE(variant.tables[1].isZero);
  ASSERT_EQ(variant.loops.size(), 1u);
  EXPECT_EQ(variant.loops[0].entry, "round");
  EXPECT_EQ(variant.loops[0].threads, 96);
  EXPECT_TRUE(variant.loops[0].isBehind);
  EXPECT_EQ(variant.loops[0].extents.size(), 2u);
  EXPECT_EQ(variant.loops[0].params.size(), 1u);
  EXPECT_EQ(copy.firstScratch, 5);
  ASSERT_EQ(copy.scratch.size(), 1u);
  EXPECT_EQ(copy.scratch[0].elementBytes, 8);
  // Tables are no operands of the caller.
  EXPECT_EQ(copy.getNumOperands(), 5);
}

TEST(KernelInfoTest, validateTables) {
  auto getErrorWith = [](const std::function<void(Variant &)> &edit) {
    CudaProgram program = makeProgramWithTables();
    edit(program.launches[0].variants[0]);
    return getText(program.validate());
  };
  EXPECT_EQ(getErrorWith([](Variant &) {}), "");
  EXPECT_EQ(getErrorWith([](Variant &v) { v.tables[0].elementBytes = 3; }),
            "expects elements of a table to have 1, 2, 4 or 8 bytes, but got "
            "3");
  EXPECT_EQ(getErrorWith([](Variant &v) { v.tables[0].extents.clear(); }),
            "expects the rank of a table to be from 1 to 8, but got 0");
  EXPECT_EQ(
      getErrorWith([](Variant &v) { v.tables[0].extents[0].operand = 5; }),
      "expects the operand of a table's extent to be from -1 to 4, but got 5");
  EXPECT_EQ(
      getErrorWith([](Variant &v) { v.tables[0].extents[0].dim = -1; }),
      "expects the dimension of a table's extent to be from 0 to 63, but got "
      "-1");
  EXPECT_EQ(
      getErrorWith([](Variant &v) { v.tables[0].extents[0].divisor = 0; }),
      "expects the divisor of a table's extent to be from 1 to 1073741824, but "
      "got 0");
  EXPECT_EQ(getErrorWith([](Variant &v) { v.tables[0].extents[1].size = -1; }),
            "expects an extent of a table to be from 0 to 1073741824, but got "
            "-1");
  EXPECT_EQ(getErrorWith([](Variant &v) { v.firstTable = -1; }),
            "expects the first table to be from 0 to 1023, but got -1");
  EXPECT_EQ(getErrorWith([](Variant &v) { v.summaries[0].entry.clear(); }),
            "expects a kernel to have a name");
  EXPECT_EQ(getErrorWith([](Variant &v) { v.summaries[0].threads = 31; }),
            "expects the number of threads to be from 32 to 1024, but got 31");
  EXPECT_EQ(getErrorWith([](Variant &v) { v.summaries[0].elements = 7; }),
            "expects the table of a summary to be from 5 to 6, but got 7");
  EXPECT_EQ(getErrorWith([](Variant &v) {
              v.summaries[0].params[0].kind = ParamKind::Counter;
            }),
            "expects no map and no counter of a kernel that fills tables");
  EXPECT_EQ(
      getErrorWith([](Variant &v) { v.summaries[0].params[0].operand = 7; }),
      "expects the operand of a parameter to be from 0 to 6, but got 7");
  EXPECT_EQ(getErrorWith([](Variant &v) { v.params[0].operand = 7; }),
            "expects the operand of a parameter to be from 0 to 6, but got 7");
  EXPECT_EQ(
      getErrorWith([](Variant &v) { v.tables[1].extents[0].plusRows = 6; }),
      "expects the table whose rows an extent has more to be from 5 to 5, but "
      "got 6");
  EXPECT_EQ(
      getErrorWith([](Variant &v) { v.summaries[0].params[0].alignment = 3; }),
      "expects the alignment of a parameter to be 1, 2, 4, 8 or 16, but got 3");
}

/// A variant that shares out keys: of rows of 64 columns, in tiles of 64 by 64.
static Variant makeVariantOfParts() {
  Variant variant;
  variant.entry = "kernel";
  variant.threads = 256;
  variant.tileRows = 64;
  variant.tileKeys = 64;
  variant.tileCost = 2;
  variant.keyCost = 0.01;
  variant.ptx = "ptx";
  variant.firstTable = 1;
  TableInfo &table = variant.tables.emplace_back();
  table.extents.resize(5);
  for (int32_t dim : {0, 1, 2})
    table.extents[dim] = {0, dim};
  table.extents[3].isParts = true;
  table.extents[4].size = 64;
  MergeKernel &merge = variant.merge.emplace();
  merge.entry = "merge";
  merge.threads = 128;
  merge.warpsPerRow = 3;
  variant.mergeCost = 4;
  variant.partRowCost = 0.001;
  merge.params = {makeParam(ParamKind::Pointer, 1)};
  return variant;
}

TEST(KernelInfoTest, partsAsBytes) {
  CudaProgram program;
  program.chip = "sm_90a";
  program.launches.push_back(
      {GridInfo(), /*lists=*/{}, {makeVariantOfParts()}});
  Variant &variant = program.launches[0].variants[0];
  variant.typicalKeys = 1024;
  variant.longKeyCost = 0.5;
  variant.fewAreLong = true;
  CudaProgram copy = get(CudaProgram::fromBytes(program.toBytes()));
  EXPECT_EQ(copy.toBytes(), program.toBytes());
  const Variant &read = copy.launches[0].variants[0];
  EXPECT_EQ(read.typicalKeys, 1024);
  EXPECT_EQ(read.longKeyCost, 0.5);
  EXPECT_TRUE(read.fewAreLong);
  EXPECT_TRUE(read.tables[0].extents[3].isParts);
  EXPECT_FALSE(read.tables[0].extents[4].isParts);
  ASSERT_TRUE(read.merge.has_value());
  EXPECT_EQ(read.merge->entry, "merge");
  EXPECT_EQ(read.merge->threads, 128);
  EXPECT_EQ(read.merge->warpsPerRow, 3);
  EXPECT_EQ(read.mergeCost, 4);
  EXPECT_EQ(read.partRowCost, 0.001);
  ASSERT_EQ(read.merge->params.size(), 1u);

  auto getErrorWith = [&](const std::function<void(Variant &)> &edit) {
    CudaProgram edited = program;
    edit(edited.launches[0].variants[0]);
    return getText(edited.validate());
  };
  EXPECT_EQ(getErrorWith([](Variant &v) { v.merge.reset(); }),
            "expects a merge kernel with tables of parts of the keys");
  EXPECT_EQ(getErrorWith([](Variant &v) { v.merge->entry.clear(); }),
            "expects a kernel to have a name");
  EXPECT_EQ(getErrorWith([](Variant &v) { v.merge->threads = 2048; }),
            "expects the number of threads to be from 32 to 1024, but got "
            "2048");
  EXPECT_EQ(getErrorWith([](Variant &v) { v.merge->warpsPerRow = 0; }),
            "expects the warps of a row to be from 1 to 1024, but got 0");
  EXPECT_EQ(getErrorWith([](Variant &v) { v.persistent = true; }),
            "expects a kernel with a merge kernel not to be persistent");
  EXPECT_EQ(getErrorWith([](Variant &v) { v.mergeCost = -1; }),
            "expects costs to be finite and not negative, but got -1.000000 "
            "for merge_cost");
  EXPECT_EQ(getErrorWith([](Variant &v) {
              v.merge->params[0].kind = ParamKind::TensorMap;
              v.merge->params[0].map.dims = {0};
              v.merge->params[0].map.box = {64};
            }),
            "expects no map and no counter of a kernel that merges parts");
  EXPECT_EQ(getErrorWith([](Variant &v) { v.merge->params[0].operand = 2; }),
            "expects the operand of a parameter to be from 0 to 1, but got 2");
}

TEST(KernelInfoTest, getNumParts) {
  Variant variant = makeVariantOfParts();
  auto get = [&](const LaunchExtents &extents) {
    return getNumParts(variant, extents, 132);
  };
  // One wave of all parts.
  EXPECT_EQ(get({1, 1, 1, 1 << 20}), 132);
  EXPECT_EQ(get({1, 8, 64, 1 << 20}), 16);
  EXPECT_EQ(get({1, 8, 65, 1 << 20}), 8);
  // No fewer than two, and none of less than 4 tiles of 64 keys.
  EXPECT_EQ(get({4, 32, 64, 1 << 20}), 2);
  EXPECT_EQ(get({1, 1, 1, 1024}), 4);
  EXPECT_EQ(get({1, 1, 1, 1025}), 5);
  EXPECT_EQ(get({1, 1, 1, 256}), 1);
  EXPECT_EQ(get({1, 1, 1, 0}), 1);
  EXPECT_EQ(get({1, 1, 0, 1000}), 1);
  // Where tiles have 1024 keys as a rule: as many parts as all have work of a
  // multiprocessor, but some are enough.
  variant.typicalKeys = 1024;
  EXPECT_EQ(get({1, 1, 1 << 17, 1 << 17}), 9);
  EXPECT_EQ(get({1, 4, 1 << 17, 1 << 17}), 3);
  EXPECT_EQ(get({1, 16, 1 << 17, 1 << 17}), 2);
  EXPECT_EQ(get({1, 1, 1, 1 << 20}), 132);
  EXPECT_EQ(get({1, 1, 1 << 13, 1 << 17}), 16);
  // Their memory is limited: rows of 256 bytes.
  int64_t shape[] = {1, 1, 1 << 20, 64};
  TensorView view{nullptr, static_cast<int32_t>(DType::BF16), 4, shape, shape};
  EXPECT_EQ(getNumParts(variant, {1, 1, 1 << 20, 1 << 24}, 132, view), 4);
  // Others have no parts.
  variant.merge.reset();
  EXPECT_EQ(get({1, 1, 1, 1 << 20}), 1);
}

TEST(KernelInfoTest, pickVariantOfParts) {
  LaunchInfo launch;
  Variant whole;
  whole.tileRows = 128;
  whole.tileKeys = 128;
  whole.tileCost = 2;
  whole.keyCost = 0.01;
  launch.variants = {whole, makeVariantOfParts()};
  auto pick = [&](const LaunchExtents &extents) {
    return pickVariant(launch, extents, 132);
  };
  // Few tiles of many keys, but not of few keys or many tiles.
  EXPECT_EQ(pick({1, 1, 1, 1 << 16}), 1u);
  EXPECT_EQ(pick({1, 16, 128, 1 << 14}), 1u);
  EXPECT_EQ(pick({1, 1, 1, 256}), 0u);
  EXPECT_EQ(pick({1, 1, 1, 512}), 0u);
  EXPECT_EQ(pick({1, 132, 128, 1 << 14}), 0u);
  EXPECT_EQ(pick({4, 64, 4096, 4096}), 0u);
  // Where a merge costs more than it saves.
  launch.variants[1].mergeCost = 1000;
  EXPECT_EQ(pick({1, 1, 1, 1 << 16}), 0u);
  launch.variants[1].mergeCost = 4;
  launch.variants[1].partRowCost = 1;
  EXPECT_EQ(pick({1, 16, 128, 1 << 14}), 0u);
  launch.variants[1].partRowCost = 0.001;

  // Tiles of 1024 keys as a rule, of which some may need all keys.
  launch.variants[0].tileCost += 1024 * whole.keyCost;
  launch.variants[0].keyCost = 0;
  for (Variant &variant : launch.variants)
    variant.typicalKeys = 1024;
  EXPECT_EQ(pick({1, 1, 1 << 17, 1 << 17}), 0u);
  for (Variant &variant : launch.variants)
    variant.longKeyCost = 0.01;
  // Where these are not known to be few, only if all tiles are.
  EXPECT_EQ(pick({1, 1, 1 << 17, 1 << 17}), 0u);
  EXPECT_EQ(pick({1, 1, 8192, 1 << 17}), 1u);
  for (Variant &variant : launch.variants)
    variant.fewAreLong = true;
  EXPECT_EQ(pick({1, 1, 1 << 17, 1 << 17}), 1u);
  EXPECT_EQ(pick({1, 32, 1 << 17, 1 << 17}), 0u);
  EXPECT_EQ(pick({1, 1, 4096, 4096}), 1u);
  EXPECT_EQ(pick({1, 16, 4096, 4096}), 0u);
  // What cannot be mapped is not taken, but if there is nothing else, it is.
  launch.variants.erase(launch.variants.begin());
  EXPECT_EQ(pick({1, 32, 1 << 17, 1 << 17}), 0u);
}

/// A variant whose tiles have so many rows, of so many heads at most.
static Variant makeTiles(int32_t rows, int32_t mostPackedHeads = 1) {
  Variant variant;
  variant.tileRows = rows;
  variant.mostPackedHeads = mostPackedHeads;
  return variant;
}

TEST(KernelInfoTest, packedHeads) {
  auto count = [](int64_t heads, int64_t keyHeads, int32_t most = 64) {
    LaunchExtents extents;
    extents.heads = heads;
    extents.keyHeads = keyHeads;
    return countPackedHeads(extents, most);
  };
  // The largest power of two that divides the heads of a group.
  EXPECT_EQ(count(8, 8), 1);
  EXPECT_EQ(count(8, 2), 4);
  EXPECT_EQ(count(6, 2), 1);
  EXPECT_EQ(count(12, 1), 4);
  EXPECT_EQ(count(32, 1), 32);
  EXPECT_EQ(count(128, 1), 64);
  EXPECT_EQ(count(32, 1, 8), 8);
  EXPECT_EQ(count(32, 1, 1), 1);
  // No heads, or none known of the keys.
  EXPECT_EQ(count(0, 4), 1);
  EXPECT_EQ(count(8, 0), 1);

  LaunchExtents extents{2, 12, 17, 1000, 1};
  EXPECT_EQ(get(getNumTiles(extents, makeTiles(64))), 2 * 12);
  // 4 heads of 17 queries are 68 rows.
  EXPECT_EQ(get(getNumTiles(extents, makeTiles(64, 64))), 2 * 3 * 2);
  extents.rows = kMaxExtent / 4 + 1;
  EXPECT_EQ(getText(getNumTiles(extents, makeTiles(64, 64))),
            "expects at most 268435456 queries where tiles have 4 heads, but "
            "got 268435457; run a part of them at a time");
}

TEST(KernelInfoTest, validatePackedHeads) {
  auto getErrorWith = [](const std::function<void(Variant &)> &edit) {
    CudaProgram program = makeProgram();
    Variant &variant = program.launches[0].variants[0];
    variant.mostPackedHeads = 64;
    variant.params[0].map.box = {64, 1, 128, 1};
    variant.params[0].map.packed = true;
    variant.params.push_back(makeParam(ParamKind::PackedCount, 0, 0, 32));
    edit(variant);
    return getText(program.validate());
  };
  EXPECT_EQ(getErrorWith([](Variant &) {}), "");
  for (int32_t most : {0, 48, 256})
    EXPECT_EQ(getErrorWith([&](Variant &v) { v.mostPackedHeads = most; }),
              "expects the most packed heads to be a power of two that divides "
              "the rows of a tile, but got " +
                  std::to_string(most));
  EXPECT_EQ(getErrorWith([](Variant &v) { v.params[0].map.box[2] = 32; }),
            "expects the most packed heads to divide the rows of a tensor map, "
            "but got 64 and 32");
  EXPECT_EQ(getErrorWith([](Variant &v) { v.params[0].map.box[1] = 2; }),
            "expects a tensor map of packed heads to have rank 3 at least, and "
            "a box with one head");
  EXPECT_EQ(getErrorWith([](Variant &v) {
              v.params[0].map.box.resize(2);
              v.params[0].map.dims.resize(2);
            }),
            "expects a tensor map of packed heads to have rank 3 at least, and "
            "a box with one head");
}

TEST(KernelInfoTest, pickVariantOfPackedHeads) {
  LaunchInfo launch;
  launch.variants = {makeTiles(128), makeTiles(64, 64)};
  launch.variants[0].keyCost = 11;
  launch.variants[1].keyCost = 7.5;
  auto pick = [&](int64_t batch, int64_t heads, int64_t keyHeads,
                  int64_t rows) {
    return pickVariant(launch, {batch, heads, rows, 8192, keyHeads}, 132);
  };
  // 512 tiles of one head, 64 of 8 heads: four waves and one.
  EXPECT_EQ(pick(16, 32, 4, 1), 1u);
  EXPECT_EQ(pick(16, 32, 4, 8), 1u);
  // 64 rows of 8 heads are 8 tiles for a group, as 8 tiles of one head.
  EXPECT_EQ(pick(16, 32, 4, 64), 1u);
  EXPECT_EQ(pick(16, 32, 4, 128), 0u);
  // Without a group, small tiles of one head.
  EXPECT_EQ(pick(16, 32, 32, 128), 0u);
  // Too many rows to pack.
  launch.variants[0].keyCost = 1000;
  EXPECT_EQ(pick(1, 2, 1, kMaxExtent / 2), 1u);
  EXPECT_EQ(pick(1, 2, 1, kMaxExtent / 2 + 1), 0u);
}

TEST(KernelInfoTest, extentsOfOperands) {
  int64_t shape[] = {2, 8, 1000, 64}, keyShape[] = {2, 2, 500, 64};
  TensorView views[] = {{nullptr, 3, 4, shape, shape},
                        {nullptr, 3, 4, keyShape, keyShape}};
  LaunchExtents extents = get(getLaunchExtents(GridInfo(), views));
  EXPECT_EQ(extents.batch, 2);
  EXPECT_EQ(extents.heads, 8);
  EXPECT_EQ(extents.rows, 1000);
  EXPECT_EQ(extents.keys, 500);
  EXPECT_EQ(extents.keyHeads, 0);
  GridInfo grouped;
  grouped.keyHeadDim = 1;
  EXPECT_EQ(get(getLaunchExtents(grouped, views)).keyHeads, 2);
  EXPECT_EQ(get(getNumTiles(extents, makeTiles(128))), 2 * 8 * 8);
  EXPECT_EQ(get(getNumTiles(extents, makeTiles(1000))), 2 * 8);

  GridInfo flat;
  flat.batchDim = flat.headDim = flat.keyDim = -1;
  flat.rowDim = 0;
  extents = get(getLaunchExtents(flat, views));
  EXPECT_EQ(extents.batch, 1);
  EXPECT_EQ(extents.rows, 2);
  EXPECT_EQ(extents.keys, 0);
  flat.rowDim = 4;
  EXPECT_TRUE(contains(getText(getLaunchExtents(flat, views)),
                       "expects operands 0 and 1 to have the dimensions"));
  keyShape[2] = int64_t(1) << 30;
  EXPECT_EQ(get(getLaunchExtents(GridInfo(), views)).keys, keyShape[2]);
  ++keyShape[2];
  EXPECT_EQ(getText(getLaunchExtents(GridInfo(), views)),
            "expects at most 1073741824 keys on a GPU, but got 1073741825; run "
            "a part of them at a time, or on the CPU");
  EXPECT_EQ(get(getNumTiles({0, 5, 5, 5}, makeTiles(1))), 0);
  EXPECT_EQ(get(getNumTiles({5, 5, 0, 5}, makeTiles(1))), 0);
  EXPECT_TRUE(
      contains(getText(getNumTiles({1 << 20, 1 << 20, 1, 1}, makeTiles(1))),
               "expects at most 2147483647 tiles, but got"));
  EXPECT_TRUE(contains(
      getText(getNumTiles({INT64_MAX, INT64_MAX, INT64_MAX, 1}, makeTiles(1))),
      "run a part of the batch at a time"));
}

TEST(KernelInfoTest, getBlocksPerSM) {
  Variant variant;
  variant.threads = 384;
  variant.dynamicSharedBytes = 115712;
  EXPECT_EQ(getBlocksPerSM(variant), std::nullopt);
  variant.resources.emplace();
  // Of 168 registers, of 2 blocks there are too many; then of memory.
  variant.resources->registers = 168;
  EXPECT_EQ(getBlocksPerSM(variant), 1);
  variant.resources->registers = 80;
  EXPECT_EQ(getBlocksPerSM(variant), 2);
  variant.dynamicSharedBytes = 115713;
  EXPECT_EQ(getBlocksPerSM(variant), 2 - 1);
  variant.resources->sharedBytes = 200 << 10;
  EXPECT_EQ(getBlocksPerSM(variant), 0);
  // Threads and blocks are limited, too; registers are given to whole warps.
  variant.dynamicSharedBytes = variant.resources->sharedBytes = 0;
  variant.resources->registers = 8;
  EXPECT_EQ(getBlocksPerSM(variant), 5);
  variant.threads = 1;
  EXPECT_EQ(getBlocksPerSM(variant), 32);
  variant.resources->registers = 249;
  EXPECT_EQ(getBlocksPerSM(variant), 8);
}

TEST(KernelInfoTest, pickVariant) {
  LaunchInfo launch;
  auto add = [&](int32_t rows, double tileCost, double keyCost) {
    Variant variant;
    variant.tileRows = rows;
    variant.tileCost = tileCost;
    variant.keyCost = keyCost;
    launch.variants.push_back(variant);
  };
  add(128, 100, 2);
  add(64, 60, 1.5);
  add(64, 60, 1.5);
  // 8 tiles of 128 or 16 of 64 on 16 processors: one wave of either.
  EXPECT_EQ(pickVariant(launch, {1, 1, 1024, 1000}, 16), 1u);
  // Two waves of 64 cost more than one of 128.
  EXPECT_EQ(pickVariant(launch, {2, 1, 1024, 1000}, 16), 0u);
  // Without keys too: 100 or 2 * 60.
  EXPECT_EQ(pickVariant(launch, {2, 1, 1024, 0}, 16), 0u);
  // Nothing to do: the first.
  EXPECT_EQ(pickVariant(launch, {1, 1, 0, 1000}, 16), 0u);
  // More tiles than fit with either, and with one.
  EXPECT_EQ(pickVariant(launch, {1 << 30, 1 << 30, 64, 1}, 16), 0u);
  EXPECT_EQ(pickVariant(launch, {1, 1, int64_t(1) << 37, 1}, 16), 0u);
  // All keys of a step are computed: 2 * 1024 and 2 * 600.
  launch.variants[0].tileKeys = 1024;
  EXPECT_EQ(pickVariant(launch, {2, 1, 1024, 600}, 16), 1u);
  launch.variants[0].tileKeys = 100;
  EXPECT_EQ(pickVariant(launch, {2, 1, 1024, 600}, 16), 0u);
}

TEST(KernelInfoTest, pickVariantOfLists) {
  LaunchInfo launch;
  launch.lists.rowsOperand = 0;
  launch.lists.columnsOperand = 1;
  launch.variants.resize(2);
  // A pair of lists costs 50 times what one of all does.
  launch.variants[0].tileRows = 4;
  launch.variants[0].pairCost = 50;
  launch.variants[0].ofLists = true;
  launch.variants[1].tileRows = 64;
  launch.variants[1].keyCost = 64 * 16;
  TableInfo words;
  words.extents.push_back({2, 0, 1, 1});
  words.extents.push_back({2, 1, 32, 1});
  launch.variants[1].tables.push_back(words);
  int64_t rows[] = {2, 1025}, columns[] = {0}, all[] = {1024, 1000},
          strides[] = {1025, 1}, one[] = {1};
  auto i32 = static_cast<int32_t>(DType::I32);
  TensorView views[] = {{nullptr, i32, 2, rows, strides},
                        {nullptr, i32, 1, columns, one},
                        {nullptr, i32, 2, all, strides}};
  // Two heads with lists of their own, in each of 4 batches.
  LaunchExtents extents{4, 2, 1024, 1000};
  auto pick = [&](int64_t perCent) {
    columns[0] = 2 * 1024 * 1000 * perCent / 100;
    return pickVariant(launch, extents, 16, views);
  };
  EXPECT_EQ(pick(1), 0u);
  EXPECT_EQ(getListExtents(launch.lists, extents, views).density, 0.01);
  EXPECT_EQ(getListExtents(launch.lists, extents, views).pairs, 81920);
  EXPECT_EQ(pick(3), 1u);
  // Entries that become words cost, and so do words.
  launch.variants[1].entryCost = 1000;
  EXPECT_EQ(pick(3), 0u);
  launch.variants[1].entryCost = 0;
  launch.variants[1].tableCost = 1000;
  EXPECT_EQ(pick(3), 0u);
  launch.variants[1].tableCost = 0;
  // More bytes than are taken.
  all[1] = int64_t(1) << 40;
  EXPECT_EQ(pick(3), 0u);
  all[1] = 1000;
  // A rule by the density alone.
  launch.lists.maxDensity = 0.3;
  EXPECT_EQ(pick(29), 0u);
  EXPECT_EQ(pick(30), 1u);
}

TEST(KernelInfoTest, pickVariantThatIsAligned) {
  LaunchInfo launch;
  launch.variants.resize(2);
  launch.variants[0].tileRows = launch.variants[1].tileRows = 64;
  launch.variants[1].tileCost = 1e9;
  for (ParamKind kind : {ParamKind::Pointer, ParamKind::Stride}) {
    Param &param = launch.variants[0].params.emplace_back();
    param.kind = kind;
    param.alignment = 16;
  }
  alignas(16) char data[64] = {};
  int64_t shape[] = {3, 64}, strides[] = {64, 1};
  TensorView view{data, static_cast<int32_t>(DType::BF16), 2, shape, strides};
  LaunchExtents extents{1, 1, 64, 64};
  auto pick = [&] { return pickVariant(launch, extents, 16, view); };
  EXPECT_EQ(pick(), 0u);
  strides[0] = -72;
  EXPECT_EQ(pick(), 0u);
  strides[0] = 65;
  EXPECT_EQ(pick(), 1u);
  // Where there is one row the distance does not matter.
  shape[0] = 1;
  EXPECT_EQ(pick(), 0u);
  view.data = data + 8;
  EXPECT_EQ(pick(), 1u);
  shape[0] = 0;
  EXPECT_EQ(pick(), 0u);
}

TEST(KernelInfoTest, pickVariantThatMaps) {
  LaunchInfo launch;
  launch.variants.resize(2);
  launch.variants[0].tileRows = launch.variants[1].tileRows = 64;
  launch.variants[1].tileCost = 1e9;
  Param map;
  map.kind = ParamKind::TensorMap;
  map.operand = 0;
  map.map.dims = {2, 1, 0, -1};
  map.map.box = {64, 64, 1, 1};
  launch.variants[0].params.push_back(map);
  alignas(16) char data[64] = {};
  int64_t shape[] = {2, 3, 64}, strides[] = {192, 64, 1};
  TensorView view{data, static_cast<int32_t>(DType::BF16), 3, shape, strides};
  LaunchExtents extents{1, 1, 64, 64};
  auto pick = [&] { return pickVariant(launch, extents, 16, view); };
  EXPECT_TRUE(canMap(launch.variants[0], view));
  EXPECT_TRUE(canMap(launch.variants[1], view));
  EXPECT_EQ(pick(), 0u);
  // Rows that are no multiple of 16 bytes apart, unless there is one.
  strides[1] = 65;
  EXPECT_FALSE(canMap(launch.variants[0], view));
  EXPECT_EQ(pick(), 1u);
  shape[1] = 1;
  EXPECT_EQ(pick(), 0u);
  shape[1] = 0;
  strides[0] = 1;
  EXPECT_EQ(pick(), 0u);
  shape[1] = 3;
  strides[0] = 192;
  strides[1] = -64;
  EXPECT_EQ(pick(), 1u);
  strides[1] = int64_t(1) << 40;
  EXPECT_EQ(pick(), 1u);
  // In bytes, too.
  strides[1] = int64_t(1) << 39;
  EXPECT_EQ(pick(), 1u);
  strides[1] = 0;
  EXPECT_EQ(pick(), 0u);
  strides[1] = 64;
  strides[2] = 2;
  EXPECT_EQ(pick(), 1u);
  strides[2] = 1;
  view.data = data + 8;
  EXPECT_EQ(pick(), 1u);
  // What is not known is left to the launch.
  EXPECT_EQ(pickVariant(launch, extents, 16), 0u);
  // None can: the one that would be best.
  launch.variants[1].params.push_back(map);
  EXPECT_EQ(pick(), 0u);
}
