//===- VariantChoiceTest.cpp - Tests of what a launch takes ---------------===//

#include "KernelHelpers.h"
#include "TestHelpers.h"
#include "attn/Runtime/Cuda/KernelInfo.h"
#include "attn/Support/DType.h"

using namespace attn;
using namespace attn::cuda;

/// A variant whose tiles have so many rows, and cost so much.
static Variant makeVariant(int32_t rows, double tileCost, double keyCost) {
  Variant variant;
  variant.tileRows = rows;
  variant.tileCost = tileCost;
  variant.keyCost = keyCost;
  return variant;
}

TEST(VariantChoiceTest, getNumSplits) {
  Variant variant = makeSplitVariant();
  auto get = [&](const LaunchExtents &extents) {
    return getNumSplits(variant, extents, 132);
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
  EXPECT_EQ(getNumSplits(variant, {1, 1, 1 << 20, 1 << 24}, 132, view), 4);
  // Others have no parts.
  variant.combine.reset();
  EXPECT_EQ(get({1, 1, 1, 1 << 20}), 1);
}

TEST(VariantChoiceTest, pickSplitVariant) {
  LaunchInfo launch;
  Variant whole = makeVariant(128, 2, 0.01);
  whole.tileKeys = 128;
  launch.variants = {whole, makeSplitVariant()};
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
  // Where a combine costs more than it saves.
  launch.variants[1].combineCost = 1000;
  EXPECT_EQ(pick({1, 1, 1, 1 << 16}), 0u);
  launch.variants[1].combineCost = 4;
  launch.variants[1].splitRowCost = 1;
  EXPECT_EQ(pick({1, 16, 128, 1 << 14}), 0u);
  launch.variants[1].splitRowCost = 0.001;

  // Tiles of 1024 keys as a rule, of which some may need all keys.
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

TEST(VariantChoiceTest, pickVariantOfTypicalKeys) {
  LaunchInfo launch;
  launch.variants = {makeVariant(128, 10, 1), makeVariant(128, 100, 0.5)};
  auto pick = [&](int64_t keys) {
    return pickVariant(launch, {1, 1, 1024, keys}, 16);
  };
  EXPECT_EQ(pick(100), 0u);
  EXPECT_EQ(pick(1000), 1u);
  // However many keys there are, a tile has 150.
  for (Variant &each : launch.variants)
    each.typicalKeys = 150;
  EXPECT_EQ(pick(1000), 0u);
  // And not more than there are.
  for (Variant &each : launch.variants)
    each.typicalKeys = 1000;
  EXPECT_EQ(pick(100), 0u);
  EXPECT_EQ(pick(1000), 1u);
}

/// A variant whose tiles have so many rows, of so many heads at most.
static Variant makeTiles(int32_t rows, int32_t mostPackedHeads = 1) {
  Variant variant;
  variant.tileRows = rows;
  variant.mostPackedHeads = mostPackedHeads;
  return variant;
}

TEST(VariantChoiceTest, packedHeads) {
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

TEST(VariantChoiceTest, pickVariantOfPackedHeads) {
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

TEST(VariantChoiceTest, extentsOfOperands) {
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

TEST(VariantChoiceTest, pickVariant) {
  LaunchInfo launch;
  launch.variants = {makeVariant(128, 100, 2), makeVariant(64, 60, 1.5),
                     makeVariant(64, 60, 1.5)};
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

TEST(VariantChoiceTest, getCost) {
  LaunchInfo launch;
  Variant variant = makeVariant(64, 60, 1.5);
  variant.rowCost = 0.25;
  auto get = [&](const LaunchExtents &extents) {
    return getCost(launch, variant, extents, 16);
  };
  // One wave and two, and a part of each row.
  EXPECT_EQ(get({1, 1, 1024, 1000}), 60 + 1500 + 256);
  EXPECT_EQ(get({2, 1, 1024, 1000}), 2 * (60 + 1500 + 256));
  EXPECT_EQ(get({1, 1, 0, 1000}), 0);
  EXPECT_EQ(get({1 << 30, 1 << 30, 64, 1}), std::nullopt);
}

TEST(VariantChoiceTest, getLeastTime) {
  CudaProgram program;
  LaunchInfo launch;
  Variant variant;
  variant.tileRows = 64;
  variant.pairOperations = 256;
  Param param;
  param.kind = ParamKind::TensorMap;
  variant.params.push_back(param);
  int64_t shape[] = {2, 4, 1024, 64}, strides[] = {262144, 65536, 64, 1};
  TensorView view{nullptr, static_cast<int32_t>(DType::BF16), 4, shape,
                  strides};
  auto get = [&] {
    return getLeastTime(program, launch, variant, {2, 4, 1024, 512}, {view});
  };
  EXPECT_EQ(get(), 0);
  // Products of all pairs take longer than the megabyte.
  program.memoryRate = 1048576;
  EXPECT_EQ(get(), 1);
  program.productRate = 256.0 * 8 * 1024 * 64;
  EXPECT_EQ(get(), 8);
  variant.typicalKeys = 128;
  EXPECT_EQ(get(), 2);
  // What all batches share is read once, and scalars are no memory.
  variant.typicalKeys = 1;
  strides[0] = 0;
  EXPECT_EQ(get(), 0.5);
  // Nor is what a mask may leave unread.
  variant.partlyRead = {0};
  EXPECT_EQ(get(), 1.0 / 64);
  variant.partlyRead = {};
  EXPECT_EQ(get(), 0.5);
  variant.params[0].kind = ParamKind::Scalar;
  EXPECT_EQ(get(), 1.0 / 64);
}

TEST(VariantChoiceTest, pickVariantOfLists) {
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
}

TEST(VariantChoiceTest, pickVariantThatIsAligned) {
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

TEST(VariantChoiceTest, pickVariantThatMaps) {
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
