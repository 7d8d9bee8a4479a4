//===- KernelInfoTest.cpp - Tests of descriptions of kernels --------------===//

#include "attn/Runtime/Cuda/KernelInfo.h"
#include "KernelHelpers.h"
#include "TestHelpers.h"
#include <functional>

using namespace attn;
using namespace attn::cuda;
namespace json = llvm::json;

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
  variant.resources = Resources{168, 1024, 0, 16, 1};
  Variant other = variant;
  other.entry = "other";
  other.cubin.clear();
  other.resources.reset();
  other.persistent = false;
  CudaProgram program;
  program.chip = "sm_90a";
  program.dependentLaunch = true;
  program.productRate = 9.89e14;
  program.memoryRate = 4.8e12;
  program.launches.push_back({GridInfo(), /*lists=*/{}, {variant, other}});
  return program;
}

TEST(KernelInfoTest, bytesRoundTrip) {
  CudaProgram program = makeProgram();
  EXPECT_EQ(program.getNumOperands(), 5);
  CudaProgram copy = get(CudaProgram::fromBytes(program.toBytes()));
  EXPECT_EQ(copy.toBytes(), program.toBytes());
  EXPECT_EQ(copy.chip, "sm_90a");
  EXPECT_TRUE(copy.dependentLaunch);
  EXPECT_EQ(copy.productRate, 9.89e14);
  EXPECT_EQ(copy.memoryRate, 4.8e12);
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
            "expects a GPU program of version 13, but got version 9");
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
  EXPECT_TRUE(contains(getErrorWith([](CudaProgram &p) { p.memoryRate = -1; }),
                       "expects rates of a GPU to be finite and not negative"));
  EXPECT_EQ(getErrorWithVariant([](Variant &v) { v.entry.clear(); }),
            "expects a kernel to have a name");
  EXPECT_EQ(getErrorWithVariant([](Variant &v) {
              v.ptx.clear();
              v.cubin.clear();
            }),
            "expects PTX or a cubin, but got neither");
  EXPECT_EQ(getErrorWithVariant([](Variant &v) { v.tileRows = 0; }),
            "expects the rows of a tile to be from 1 to 1048576, but got 0");
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
      "expects parameters of at most 4096 bytes, but got 4416: the kernel has "
      "too many tensors; let it have fewer, or ask for the gradients of fewer "
      "at a time");
  EXPECT_EQ(getErrorWithVariant([](Variant &v) {
              v.params.assign(kMaxParams, makeParam(ParamKind::Pointer, 0));
            }),
            "");
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
  PrologueKernel &prologue = variant.prologues.emplace_back();
  prologue.entry = "fill";
  prologue.threads = 64;
  prologue.elements = 5;
  prologue.byBlock = true;
  prologue.warpElements = 128;
  prologue.params.resize(2);
  prologue.params[0].operand = 4;
  prologue.params[0].alignment = 16;
  prologue.params[1].operand = 5;
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
  ASSERT_EQ(variant.prologues.size(), 1u);
  EXPECT_EQ(variant.prologues[0].entry, "fill");
  EXPECT_EQ(variant.prologues[0].threads, 64);
  EXPECT_EQ(variant.prologues[0].elements, 5);
  ASSERT_EQ(variant.prologues[0].params.size(), 2u);
  EXPECT_TRUE(variant.prologues[0].byBlock);
  EXPECT_EQ(variant.prologues[0].warpElements, 128);
  EXPECT_EQ(variant.prologues[0].params[0].alignment, 16);
  EXPECT_EQ(variant.prologues[0].params[1].alignment, 1);
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

TEST(KernelInfoTest, scratchIsNoOperandOfTheCaller) {
  CudaProgram program;
  program.chip = "sm_90a";
  program.firstScratch = 4;
  program.scratch.resize(2);
  Variant &variant =
      program.launches.emplace_back(LaunchInfo{{}, {}, {Variant()}})
          .variants[0];
  // After both.
  variant.firstTable = 6;
  variant.tables.resize(1);
  variant.params.resize(1);
  variant.params[0].operand = 5;
  // Those of the grid.
  EXPECT_EQ(program.getNumOperands(), 2);
}

TEST(KernelInfoTest, validateTables) {
  auto getErrorWith = [](const std::function<void(Variant &)> &edit) {
    CudaProgram program = makeProgramWithTables();
    edit(program.launches[0].variants[0]);
    return getText(program.validate());
  };
  EXPECT_EQ(getErrorWith([](Variant &) {}), "");
  // Loops alone need no kernel of tiles, which all else does.
  EXPECT_EQ(getErrorWith([](Variant &v) { v.entry.clear(); }),
            "expects a kernel to have a name");
  EXPECT_EQ(getErrorWith([](Variant &v) {
              v.entry.clear();
              v.params.clear();
              v.prologues.clear();
            }),
            "");
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
  EXPECT_EQ(getErrorWith([](Variant &v) { v.prologues[0].entry.clear(); }),
            "expects a kernel to have a name");
  EXPECT_EQ(getErrorWith([](Variant &v) { v.prologues[0].threads = 31; }),
            "expects the number of threads to be from 32 to 1024, but got 31");
  EXPECT_EQ(getErrorWith([](Variant &v) { v.prologues[0].elements = 7; }),
            "expects the table of a prologue to be from 5 to 6, but got 7");
  EXPECT_EQ(getErrorWith([](Variant &v) {
              v.prologues[0].params[0].kind = ParamKind::Counter;
            }),
            "expects no map and no counter of a kernel that fills tables");
  EXPECT_EQ(
      getErrorWith([](Variant &v) { v.prologues[0].params[0].operand = 7; }),
      "expects the operand of a parameter to be from 0 to 6, but got 7");
  EXPECT_EQ(getErrorWith([](Variant &v) { v.params[0].operand = 7; }),
            "expects the operand of a parameter to be from 0 to 6, but got 7");
  EXPECT_EQ(
      getErrorWith([](Variant &v) { v.tables[1].extents[0].plusRows = 6; }),
      "expects the table whose rows an extent has more to be from 5 to 5, but "
      "got 6");
  EXPECT_EQ(
      getErrorWith([](Variant &v) { v.prologues[0].params[0].alignment = 3; }),
      "expects the alignment of a parameter to be 1, 2, 4, 8 or 16, but got 3");
}

TEST(KernelInfoTest, validatePreparation) {
  auto getErrorWith = [](const std::function<void(CudaProgram &)> &edit) {
    CudaProgram program = makeProgramWithTables();
    program.scratch.clear();
    Variant &variant = program.launches[0].variants[0];
    variant.tables[0].isPrepared = true;
    edit(program);
    return getText(program.validate());
  };
  auto variantOf = [](CudaProgram &program) -> Variant & {
    return program.launches[0].variants[0];
  };
  EXPECT_EQ(getErrorWith([](CudaProgram &p) {
              EXPECT_EQ(p.getPreparedOperands(), std::vector<int32_t>{4});
              CudaProgram copy = get(CudaProgram::fromBytes(p.toBytes()));
              EXPECT_TRUE(copy.launches[0].variants[0].tables[0].isPrepared);
              EXPECT_FALSE(copy.launches[0].variants[0].tables[1].isPrepared);
            }),
            "");
  // What is not there when tables are shared.
  EXPECT_EQ(getErrorWith([&](CudaProgram &p) {
              variantOf(p).prologues[0].params[0].operand = 6;
            }),
            "expects @fill to read inputs and tables that are prepared before, "
            "but got operand 6");
  EXPECT_EQ(getErrorWith([](CudaProgram &p) {
              p.firstScratch = 4;
              p.scratch.resize(1);
              p.scratch[0].extents.resize(1);
            }),
            "expects preparation to read inputs, but got operand 4");
  // Who fills them.
  EXPECT_EQ(getErrorWith(
                [&](CudaProgram &p) { variantOf(p).tables[0].isZero = true; }),
            "expects tables of @fill, which are prepared, to be filled by it, "
            "and for any number of parts");
  EXPECT_EQ(getErrorWith([&](CudaProgram &p) {
              variantOf(p).prologues[0].elements = 6;
              variantOf(p).prologues[0].params[1].operand = 6;
            }),
            "expects each table that is prepared to be filled by preparation");
  EXPECT_EQ(getErrorWith([&](CudaProgram &p) {
              variantOf(p).prologues.push_back(variantOf(p).prologues[0]);
              variantOf(p).prologues[1].entry = "again";
            }),
            "expects kernels to fill tables in their order, but got @fill "
            "before @again");
}

TEST(KernelInfoTest, partsAsBytes) {
  CudaProgram program;
  program.chip = "sm_90a";
  program.launches.push_back({GridInfo(), /*lists=*/{}, {makeSplitVariant()}});
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
  EXPECT_TRUE(read.tables[0].extents[3].isNumSplits);
  EXPECT_FALSE(read.tables[0].extents[4].isNumSplits);
  ASSERT_TRUE(read.combine.has_value());
  EXPECT_EQ(read.combine->entry, "combine");
  EXPECT_EQ(read.combine->threads, 128);
  EXPECT_EQ(read.combine->warpsPerRow, 3);
  EXPECT_EQ(read.combineCost, 4);
  EXPECT_EQ(read.splitRowCost, 0.001);
  ASSERT_EQ(read.combine->params.size(), 1u);

  auto getErrorWith = [&](const std::function<void(Variant &)> &edit) {
    CudaProgram edited = program;
    edit(edited.launches[0].variants[0]);
    return getText(edited.validate());
  };
  EXPECT_EQ(getErrorWith([](Variant &v) { v.combine.reset(); }),
            "expects a combine kernel with tables of parts of the keys");
  EXPECT_EQ(getErrorWith([](Variant &v) { v.combine->entry.clear(); }),
            "expects a kernel to have a name");
  EXPECT_EQ(getErrorWith([](Variant &v) { v.combine->threads = 2048; }),
            "expects the number of threads to be from 32 to 1024, but got "
            "2048");
  EXPECT_EQ(getErrorWith([](Variant &v) { v.combine->warpsPerRow = 0; }),
            "expects the warps of a row to be from 1 to 1024, but got 0");
  EXPECT_EQ(getErrorWith([](Variant &v) { v.persistent = true; }),
            "expects a kernel with a combine kernel not to be persistent");
  EXPECT_EQ(getErrorWith([](Variant &v) { v.combineCost = -1; }),
            "expects costs to be finite and not negative, but got -1.000000 "
            "for combine_cost");
  EXPECT_EQ(getErrorWith([](Variant &v) {
              v.combine->params[0].kind = ParamKind::TensorMap;
              v.combine->params[0].map.dims = {0};
              v.combine->params[0].map.box = {64};
            }),
            "expects no map and no counter of a kernel that combines parts");
  EXPECT_EQ(getErrorWith([](Variant &v) { v.combine->params[0].operand = 2; }),
            "expects the operand of a parameter to be from 0 to 1, but got 2");
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
