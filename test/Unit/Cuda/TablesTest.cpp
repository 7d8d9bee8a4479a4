//===- TablesTest.cpp - Tests of tables that are filled before a kernel ---===//

#include "ExecutableFixture.h"

using namespace attn;
using namespace attn::cuda;

namespace {
/// A kernel that reads a table of batches and KV blocks, and one that fills
/// it.
class TablesTest : public ExecutableTest {
protected:
  void SetUp() override {
    ExecutableTest::SetUp();
    const int sizes[] = {128, 128, 8, 4, 8};
    fakeCudaSetParams(sizes, 5);
  }

  static CudaProgram makeProgram() {
    CudaProgram program = ExecutableTest::makeProgram();
    Variant &variant = getVariant(program);
    variant.firstTable = 4;
    TableInfo &table = variant.tables.emplace_back();
    table.elementBytes = 8;
    table.extents.resize(3);
    table.extents[0].operand = 0;
    table.extents[0].dim = 0;
    table.extents[1].size = 1;
    table.extents[2].operand = 1;
    table.extents[2].dim = 2;
    table.extents[2].divisor = 128;
    variant.params.resize(2);
    variant.params.push_back({ParamKind::Pointer, 4});
    variant.params.push_back({ParamKind::Extent, 4, 2, {}, 32});
    variant.params.push_back({ParamKind::Stride, 4, 0, {}, 64});
    PrologueKernel &prologue = variant.prologues.emplace_back();
    prologue.entry = "fill";
    prologue.threads = 128;
    prologue.elements = 4;
    // As many as the kernel has, as the fake keeps so many.
    prologue.params.resize(5, {ParamKind::Pointer, 4});
    return program;
  }
};
} // namespace

TEST_F(TablesTest, areFilledBeforeTheKernel) {
  Executable executable = get(Executable::load(makeProgram()));
  EXPECT_EQ(launch(executable), "");
  // 2 batches of 4 tiles, a warp for each, and 4 warps in a block.
  EXPECT_STREQ(
      fakeCudaGetLog(),
      "capture mode 2\n"
      "load cubin on 0\n"
      "shared kernel 200000\n"
      "capture mode 0\n"
      "take 256 on 0\n"
      "launch fill on 0 grid 2,1,1 block 128,1,1 shared 0\n"
      "launch kernel on 0 grid 18,1,1 block 384,1,1 shared 200000 dependent\n"
      "give back\n");
  EXPECT_NE(getValue<DevicePtr>(2), 0u);
  EXPECT_EQ(getValue<int32_t>(3), 4);
  EXPECT_EQ(getValue<int64_t>(4), 4);
  // What the caller gives is checked as before, and its number is.
  EXPECT_EQ(executable.getProgram().getNumOperands(), 4);
  EXPECT_EQ(
      getText(executable.launch(llvm::ArrayRef(getViews()).take_front(1))),
      "expects 4 operands, but got 1");
  // The memory of tables needs no question to the driver.
  fakeCudaClear();
  EXPECT_EQ(launch(executable), "");
  EXPECT_EQ(fakeCudaGetCount("cuPointerGetAttribute"), 0);
  EXPECT_EQ(fakeCudaGetCount("cuMemPoolCreate"), 0);
}

TEST_F(TablesTest, kernelsThatDoNotWait) {
  CudaProgram program = makeProgram();
  program.dependentLaunch = false;
  Executable executable = get(Executable::load(std::move(program)));
  EXPECT_EQ(launch(executable), "");
  // The driver waits for the end of the first one.
  EXPECT_TRUE(contains(fakeCudaGetLog(), "launch fill"));
  EXPECT_TRUE(contains(fakeCudaGetLog(), "launch kernel"));
  EXPECT_FALSE(contains(fakeCudaGetLog(), "dependent"));
}

TEST_F(TablesTest, kernelsInGraphsOfOldDrivers) {
  Executable executable = get(Executable::load(makeProgram()));
  Stream stream = get(Stream::create(device));
  LaunchOptions options;
  options.stream = stream.getHandle();
  auto &driver = const_cast<Driver &>(*get(Driver::get()));
  int version = driver.version;
  auto startsEarly = [&](int ofVersion, bool isCapturing) {
    fakeCudaClear();
    driver.version = ofVersion;
    fakeCudaSetCapturing(isCapturing);
    EXPECT_EQ(launch(executable, options), "");
    fakeCudaSetCapturing(0);
    driver.version = version;
    EXPECT_TRUE(contains(fakeCudaGetLog(), "launch kernel"));
    return contains(fakeCudaGetLog(), "dependent");
  };
  EXPECT_TRUE(startsEarly(12020, false));
  EXPECT_FALSE(startsEarly(12020, true));
  EXPECT_TRUE(startsEarly(12030, true));
}

TEST_F(TablesTest, withMoreForEachRow) {
  // As many pages as rows of the first table besides 3, and a block for each
  // row of the first one.
  CudaProgram program = makeProgram();
  Variant &variant = getVariant(program);
  TableInfo &pages = variant.tables.emplace_back();
  pages.elementBytes = 8;
  pages.extents.resize(2);
  pages.extents[0].size = 3;
  pages.extents[0].plusRows = 4;
  pages.extents[1].size = 100;
  variant.prologues[0].byRow = true;
  variant.prologues[0].byBlock = true;
  Executable executable = get(Executable::load(std::move(program)));
  EXPECT_EQ(launch(executable), "");
  // Two rows, and five pages of 800 bytes.
  EXPECT_TRUE(contains(fakeCudaGetLog(), "take 4352 on 0"));
  EXPECT_TRUE(contains(fakeCudaGetLog(), "launch fill on 0 grid 2,1,1"));
}

TEST_F(TablesTest, withThreadsForElements) {
  // Warps of three elements: two for the four tiles of each of 2 batches.
  CudaProgram program = makeProgram();
  getVariant(program).prologues[0].warpElements = 3;
  Executable executable = get(Executable::load(std::move(program)));
  EXPECT_EQ(launch(executable), "");
  EXPECT_TRUE(contains(fakeCudaGetLog(), "launch fill on 0 grid 1,1,1"));
}

TEST_F(TablesTest, andLoopsBeforeAndBehind) {
  // Zeros first, then a loop of 2 batches and 4 tiles on each side.
  CudaProgram program = makeProgram();
  Variant &variant = getVariant(program);
  variant.prologues.clear();
  variant.tables[0].isZero = true;
  for (bool isBehind : {true, false}) {
    LoopKernel &loop = variant.loops.emplace_back();
    loop.entry = "fill";
    loop.threads = 128;
    loop.isBehind = isBehind;
    loop.extents = variant.tables[0].extents;
    loop.params.resize(5, {ParamKind::Pointer, 4});
  }
  Executable executable = get(Executable::load(std::move(program)));
  EXPECT_EQ(launch(executable), "");
  llvm::StringRef log = fakeCudaGetLog();
  auto [before, rest] = log.split("launch kernel");
  EXPECT_TRUE(before.contains("launch fill on 0 grid 2,1,1"));
  EXPECT_TRUE(rest.contains("launch fill on 0 grid 2,1,1"));
  EXPECT_EQ(fakeCudaGetCount("cuMemsetD8Async"), 1);
  fakeCudaClear();
  fakeCudaFail("cuMemsetD8Async", 2);
  EXPECT_TRUE(contains(launch(executable), "clearing a table of a launch"));
  // They run even where there is no tile.
  Operand none{device, {2, 3, 0, 64}};
  std::vector<TensorView> views = getViews();
  views[0] = none.getView();
  fakeCudaClear();
  EXPECT_EQ(getText(executable.launch(views)), "");
  EXPECT_TRUE(contains(fakeCudaGetLog(), "launch fill"));
  EXPECT_FALSE(contains(fakeCudaGetLog(), "launch kernel"));
}

TEST_F(TablesTest, areNotNeededByLoopsAlone) {
  // Two elements for each batch, as a launch without a kernel of tiles.
  CudaProgram program = makeProgram();
  Variant &variant = getVariant(program);
  LoopKernel &loop = variant.loops.emplace_back();
  loop.entry = "fill";
  loop.threads = 128;
  loop.extents = {{0, 0}, {-1, 0, 1, 2}};
  loop.params.resize(1, {ParamKind::Pointer, 1});
  variant.entry.clear();
  variant.firstTable = 0;
  variant.tables.clear();
  variant.prologues.clear();
  variant.params.clear();
  program.launches[0].grid = {0, -1, -1, -1, 0, -1, -1};
  EXPECT_EQ(program.getNumOperands(), 2);
  Executable executable = get(Executable::load(std::move(program)));
  // Whatever variant others take.
  LaunchOptions options;
  options.variant = 3;
  const int size = 8;
  fakeCudaSetParams(&size, 1);
  EXPECT_EQ(launch(executable, options), "");
  EXPECT_TRUE(contains(fakeCudaGetLog(), "launch fill on 0 grid 1,1,1"));
  EXPECT_EQ(getValue<void *>(0), k.data);
  EXPECT_FALSE(contains(fakeCudaGetLog(), "launch kernel"));
}

TEST_F(TablesTest, areSharedByLaunches) {
  // A second launch that takes what the first one has filled.
  CudaProgram program = makeProgram();
  Variant &variant = getVariant(program);
  program.firstScratch = 4;
  program.scratch = std::move(variant.tables);
  variant.tables.clear();
  variant.prologues.clear();
  program.launches.push_back(program.launches.front());
  // One of its tiles, too.
  program.launches.back().grid.operand = 4;
  Executable executable = get(Executable::load(std::move(program)));
  EXPECT_EQ(launch(executable), "");
  llvm::StringRef log = fakeCudaGetLog();
  EXPECT_EQ(log.count("take 256 on 0"), 1u);
  EXPECT_EQ(log.count("launch kernel"), 2u);
  EXPECT_EQ(log.count("give back"), 1u);
  EXPECT_NE(getValue<DevicePtr>(2), 0u);
  EXPECT_EQ(executable.getProgram().getNumOperands(), 2);
}

//===----------------------------------------------------------------------===//
// Tables that launches share
//===----------------------------------------------------------------------===//

/// The table is prepared, from an input in device memory.
static CudaProgram prepare(CudaProgram program) {
  Variant &variant = program.launches[0].variants[0];
  variant.tables[0].isPrepared = true;
  variant.prologues[0].params[0].operand = 2;
  return program;
}

TEST_F(TablesTest, areFilledOnceForManyLaunches) {
  Executable executable = get(Executable::load(prepare(makeProgram())));
  EXPECT_EQ(executable.getProgram().getPreparedOperands(),
            std::vector<int32_t>{2});
  auto preparation = get(executable.prepareTables(getViews()));
  EXPECT_EQ(preparation->getBytes(), 256u);
  EXPECT_TRUE(contains(fakeCudaGetLog(), "launch fill on 0 grid 2,1,1"));
  EXPECT_FALSE(contains(fakeCudaGetLog(), "launch kernel"));
  LaunchOptions options;
  options.preparation = preparation.get();
  for (int i = 0; i < 2; ++i) {
    fakeCudaClear();
    EXPECT_EQ(launch(executable, options), "");
    EXPECT_STREQ(
        fakeCudaGetLog(),
        i == 0 ? "capture mode 2\n"
                 "capture mode 0\n"
                 "launch kernel on 0 grid 18,1,1 block 384,1,1 shared 200000\n"
               : "launch kernel on 0 grid 18,1,1 block 384,1,1 shared "
                 "200000\n");
    EXPECT_NE(getValue<DevicePtr>(2), 0u);
  }
  // Without it they are filled each time.
  fakeCudaClear();
  EXPECT_EQ(launch(executable), "");
  EXPECT_TRUE(contains(fakeCudaGetLog(), "launch fill"));
}

TEST_F(TablesTest, ofWhichSomeAreShared) {
  // A second table, of parts of q, k or v, which each launch fills.
  CudaProgram program = prepare(makeProgram());
  Variant &variant = getVariant(program);
  variant.tables.push_back(variant.tables[0]);
  variant.tables[1].isPrepared = false;
  variant.prologues.push_back(variant.prologues[0]);
  variant.prologues[1].entry = "own";
  variant.prologues[1].elements = 5;
  Executable executable = get(Executable::load(std::move(program)));
  auto preparation = get(executable.prepareTables(getViews()));
  EXPECT_EQ(preparation->getBytes(), 256u);
  EXPECT_FALSE(contains(fakeCudaGetLog(), "launch own"));
  LaunchOptions options;
  options.preparation = preparation.get();
  fakeCudaClear();
  EXPECT_EQ(launch(executable, options), "");
  EXPECT_TRUE(contains(fakeCudaGetLog(), "take 256 on 0\nlaunch own"));
  EXPECT_FALSE(contains(fakeCudaGetLog(), "launch fill"));
}

TEST_F(TablesTest, sharedOnStreamsAndInGraphs) {
  Executable executable = get(Executable::load(prepare(makeProgram())));
  Stream stream = get(Stream::create(device));
  auto preparation = get(executable.prepareTables(getViews()));
  LaunchOptions options;
  options.stream = stream.getHandle();
  options.preparation = preparation.get();
  // Not yet filled: the stream waits, or for a graph the host.
  fakeCudaClear();
  fakeCudaFail("cuEventQuery", 600);
  EXPECT_EQ(launch(executable, options), "");
  EXPECT_TRUE(contains(fakeCudaGetLog(), "wait for event stream\n"));
  fakeCudaClear();
  fakeCudaFail("cuEventQuery", 600);
  fakeCudaSetCapturing(true);
  EXPECT_EQ(launch(executable, options), "");
  EXPECT_TRUE(contains(fakeCudaGetLog(), "reach event\n"));
  EXPECT_EQ(getText(executable.prepareTables(getViews(), options)),
            "expects a stream that is not captured: prepare before the graph");
  fakeCudaSetCapturing(false);
  // It is known from then on.
  fakeCudaClear();
  EXPECT_EQ(launch(executable, options), "");
  EXPECT_EQ(fakeCudaGetCount("cuEventQuery"), 0);
}

TEST_F(TablesTest, thatAreOfAnotherLaunch) {
  Executable executable = get(Executable::load(prepare(makeProgram())));
  Executable other = get(Executable::load(prepare(makeProgram())));
  auto preparation = get(executable.prepareTables(getViews()));
  LaunchOptions options;
  options.preparation = preparation.get();
  EXPECT_EQ(launch(other, options),
            "expects tables that the same kernel has prepared, but got those "
            "of another one");
  Operand longer{device, {2, 1, 5000, 64}};
  std::vector<TensorView> views = getViews();
  views[1] = longer.getView();
  EXPECT_EQ(getText(executable.launch(views, options)),
            "expects tensors with the extents that tables were prepared for");
  // Memory that cannot be had, and a kernel that cannot be started.
  fakeCudaFail("cuMemAlloc_v2", 2);
  EXPECT_TRUE(
      contains(getText(executable.prepareTables(getViews())), "memory"));
  fakeCudaClear();
  fakeCudaFail("cuLaunchKernelEx", 2);
  EXPECT_TRUE(contains(getText(executable.prepareTables(getViews())),
                       "launching @fill"));
  fakeCudaClear();
  // A variant with other tiles.
  CudaProgram program = prepare(makeProgram());
  program.launches[0].variants.push_back(getVariant(program));
  Executable two = get(Executable::load(std::move(program)));
  preparation = get(two.prepareTables(getViews()));
  options.preparation = preparation.get();
  options.variant = 1;
  EXPECT_TRUE(contains(launch(two, options), "laid out like those"));
  // There is only one device of this kind of code that is current.
  Device second = get(Device::get(2));
  options.variant = -1;
  options.device = &second;
  EXPECT_TRUE(contains(launch(two, options), "prepared on device 2"));
}

TEST_F(TablesTest, ofAProgramWithNothingToPrepare) {
  Executable executable = get(Executable::load(makeProgram()));
  auto preparation = get(executable.prepareTables(getViews()));
  EXPECT_EQ(preparation->getBytes(), 0u);
  LaunchOptions options;
  options.preparation = preparation.get();
  fakeCudaClear();
  EXPECT_EQ(launch(executable, options), "");
  EXPECT_TRUE(contains(fakeCudaGetLog(), "launch fill"));
}

TEST_F(TablesTest, ofNothing) {
  Executable executable = get(Executable::load(makeProgram()));
  Operand none{device, {2, 1, 0, 64}};
  std::vector<TensorView> views = getViews();
  views[1] = none.getView();
  EXPECT_EQ(getText(executable.launch(views)), "");
  EXPECT_FALSE(contains(fakeCudaGetLog(), "launch fill"));
  EXPECT_FALSE(contains(fakeCudaGetLog(), "take"));
  EXPECT_TRUE(contains(fakeCudaGetLog(), "launch kernel"));
}

TEST_F(TablesTest, areGivenBackAfterAFailure) {
  Executable executable = get(Executable::load(makeProgram()));
  EXPECT_EQ(launch(executable), "");
  fakeCudaClear();
  fakeCudaFail("cuLaunchKernelEx", 2);
  EXPECT_TRUE(contains(launch(executable), "launching @fill"));
  EXPECT_STREQ(fakeCudaGetLog(), "take 256 on 0\ngive back\n");
  fakeCudaClear();
  fakeCudaFail("cuMemAllocFromPoolAsync", kErrorInvalidValue);
  EXPECT_EQ(launch(executable), "taking 256 bytes for tables of a launch "
                                "failed: CUDA_ERROR_INVALID_VALUE: said the "
                                "fake");
  fakeCudaClear();
  fakeCudaFail("cuMemAllocFromPoolAsync", kErrorOutOfMemory);
  EXPECT_EQ(launch(executable),
            "expects 256 bytes of memory of device 0 (Fake 0) for intermediate "
            "results, but got only 1.0 GiB free");
  fakeCudaClear();
  fakeCudaFail("cuMemFreeAsync", 2);
  EXPECT_TRUE(contains(launch(executable), "giving back the memory of tables"));
}

TEST_F(TablesTest, onStreamsAndDevices) {
  Executable executable = get(Executable::load(makeProgram()));
  Stream stream = get(Stream::create(device));
  LaunchOptions options;
  options.stream = stream.getHandle();
  EXPECT_EQ(launch(executable, options), "");
  EXPECT_TRUE(contains(fakeCudaGetLog(), "take 256 on 0 stream\n"));
  EXPECT_TRUE(contains(fakeCudaGetLog(), "give back stream\n"));
}

TEST_F(TablesTest, thatCannotBe) {
  CudaProgram program = makeProgram();
  getVariant(program).tables[0].extents[2].dim = 9;
  Executable executable = get(Executable::load(std::move(program)));
  EXPECT_EQ(launch(executable),
            "expects operand 1 to have dimension 9, but got rank 4");
  program = makeProgram();
  for (TableExtent &extent : getVariant(program).tables[0].extents) {
    extent.operand = -1;
    extent.size = 1 << 20;
  }
  Executable large = get(Executable::load(std::move(program)));
  EXPECT_EQ(launch(large), "expects tables of at most 1099511627776 bytes; run "
                           "a part of the batch at a time");
  program = makeProgram();
  getVariant(program).prologues[0].entry = "missing";
  Executable missing = get(Executable::load(std::move(program)));
  EXPECT_TRUE(contains(launch(missing), "looking for @missing in its code"));
}

//===----------------------------------------------------------------------===//
// Parts of the keys
//===----------------------------------------------------------------------===//

namespace {
/// A kernel that shares out keys, whose results of parts are a table.
class SplitKVTest : public ExecutableTest {
protected:
  void SetUp() override {
    ExecutableTest::SetUp();
    const int sizes[] = {128, 128, 8, 4};
    fakeCudaSetParams(sizes, 4);
  }

  static CudaProgram makeProgram() {
    CudaProgram program = ExecutableTest::makeProgram();
    Variant &variant = getVariant(program);
    variant.tileKeys = 16;
    variant.firstTable = 4;
    TableInfo &table = variant.tables.emplace_back();
    table.extents.resize(4);
    for (int dim : {0, 1, 2}) {
      table.extents[dim].operand = 0;
      table.extents[dim].dim = dim;
    }
    table.extents[3].isNumSplits = true;
    variant.params.resize(2);
    variant.params.push_back({ParamKind::Pointer, 4});
    variant.params.push_back({ParamKind::Extent, 4, 3, {}, 32});
    CombineKernel &combine = variant.combine.emplace();
    combine.entry = "combine";
    combine.threads = 128;
    combine.warpsPerRow = 2;
    // As many as the kernel has, as the fake keeps so many.
    combine.params.resize(4, {ParamKind::Pointer, 4});
    combine.params[3] = {ParamKind::Extent, 4, 3, {}, 32};
    return program;
  }
};
} // namespace

TEST_F(SplitKVTest, areCombinedBehindTheKernel) {
  Executable executable = get(Executable::load(makeProgram()));
  EXPECT_EQ(launch(executable), "");
  // 18 tiles are more than there are multiprocessors, so that there are two
  // parts. Two warps for each of 1800 rows, 4 in a block.
  EXPECT_STREQ(
      fakeCudaGetLog(),
      "capture mode 2\n"
      "load cubin on 0\n"
      "shared kernel 200000\n"
      "capture mode 0\n"
      "take 14592 on 0\n"
      "launch kernel on 0 grid 36,1,1 block 384,1,1 shared 200000\n"
      "launch combine on 0 grid 900,1,1 block 128,1,1 shared 0 dependent\n"
      "give back\n");
  EXPECT_EQ(getValue<int32_t>(3), 2);
  EXPECT_EQ(executable.getProgram().getNumOperands(), 4);
}

TEST_F(SplitKVTest, areGivenBackAfterAFailure) {
  CudaProgram program = makeProgram();
  getVariant(program).combine->params[0].operand = 2;
  Executable executable = get(Executable::load(std::move(program)));
  std::vector<TensorView> views = getViews();
  views[2].data = nullptr;
  EXPECT_TRUE(contains(getText(executable.launch(views)), "operand 2"));
  EXPECT_TRUE(contains(fakeCudaGetLog(), "launch kernel"));
  EXPECT_FALSE(contains(fakeCudaGetLog(), "launch combine"));
  EXPECT_TRUE(contains(fakeCudaGetLog(), "give back\n"));
}

TEST_F(SplitKVTest, thatCannotBe) {
  CudaProgram program = makeProgram();
  getVariant(program).combine->entry = "missing";
  Executable missing = get(Executable::load(std::move(program)));
  EXPECT_TRUE(contains(launch(missing), "looking for @missing in its code"));
  program = makeProgram();
  getVariant(program).combine->warpsPerRow = 1024;
  Executable large = get(Executable::load(std::move(program)));
  std::vector<TensorView> views = getViews();
  int64_t shape[] = {1, 1, int64_t(1) << 22, 64}, strides[] = {64, 64, 64, 1};
  views[0].shape = shape;
  views[0].strides = strides;
  EXPECT_EQ(getText(large.launch(views)),
            "expects @combine to need at most 2147483647 warps, but got "
            "4294967296; run a part of the batch at a time");
}
