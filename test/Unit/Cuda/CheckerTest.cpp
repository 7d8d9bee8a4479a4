//===- CheckerTest.cpp - Tests of checks of lists before a launch ---------===//

#include "ExecutableFixture.h"

using namespace attn;
using namespace attn::cuda;

namespace {
constexpr uint64_t kNoPlace = UINT64_MAX;
constexpr int64_t kNoNumber = -7;

/// What the kernel of a test finds, and how often it ran.
struct Finder {
  bool finds = false;
  int runs = 0;
  bool isClean = false;
};
Finder finder;

/// As if a later error was told after the first one, by who had come before:
/// the numbers are right only after the second run.
void look(void **values) {
  uint64_t *words = *static_cast<uint64_t **>(values[0]);
  if (finder.runs++ == 0)
    finder.isClean =
        std::all_of(words, words + 6, [](uint64_t w) { return w == kNoPlace; });
  if (!finder.finds)
    return;
  words[3] = 5;
  words[4] = finder.runs == 1 ? 99 : 31;
  words[5] = 64;
}

/// A program of two sites, checked by a warp for each of 2 heads of 300 lists.
class CheckerTest : public ExecutableTest {
protected:
  void SetUp() override {
    ExecutableTest::SetUp();
    fakeCudaSetParams(nullptr, 0);
    finder = Finder();
    fakeCudaSetKernel("check", look);
  }
  void TearDown() override { fakeCudaSetKernel("", nullptr); }

  static CudaProgram makeProgram() {
    CudaProgram program = ExecutableTest::makeProgram();
    ListChecks &checks = program.checks;
    checks.words = 4;
    checks.numSites = 2;
    checks.ptx = "ptx";
    CheckKernel &kernel = checks.kernels.emplace_back();
    kernel.entry = "check";
    kernel.threads = 128;
    kernel.extents.resize(3);
    kernel.extents[1].operand = 0;
    kernel.extents[1].dim = 0;
    kernel.extents[2].operand = 0;
    kernel.extents[2].dim = 2;
    kernel.params.push_back({ParamKind::Pointer, 4});
    kernel.params.push_back({ParamKind::Extent, 1, 2, {}, 32});
    return program;
  }

  /// Runs the checks; `numbers` gets what they tell.
  std::string check(const Executable &executable,
                    const LaunchOptions &options = {}) {
    numbers.assign(4, kNoNumber);
    return getText(executable.checkLists(getViews(), numbers, options));
  }

  std::vector<int64_t> numbers;
};
} // namespace

TEST_F(CheckerTest, FindsNothing) {
  Executable executable = get(Executable::load(makeProgram()));
  EXPECT_EQ(check(executable), "");
  EXPECT_TRUE(finder.isClean);
  EXPECT_EQ(finder.runs, 1);
  EXPECT_EQ(numbers, std::vector<int64_t>(4, kNoNumber));
  // 600 warps, four in a block; what is loaded is the checks alone.
  EXPECT_STREQ(fakeCudaGetLog(),
               "load ptx on 0\n"
               "take 256 on 0\n"
               "launch check on 0 grid 150,1,1 block 128,1,1 shared 0\n"
               "give back\n");
  EXPECT_EQ(fakeCudaGetCount("cuStreamSynchronize"), 1);
  // The second time the code is there.
  fakeCudaClear();
  EXPECT_EQ(check(executable), "");
  EXPECT_FALSE(contains(fakeCudaGetLog(), "load"));
  // A launch has nothing of it.
  fakeCudaClear();
  EXPECT_EQ(launch(executable), "");
  EXPECT_FALSE(contains(fakeCudaGetLog(), "launch check"));
  EXPECT_EQ(fakeCudaGetCount("cuStreamSynchronize"), 0);
}

TEST_F(CheckerTest, TellsTheFirstError) {
  Executable executable = get(Executable::load(makeProgram()));
  finder.finds = true;
  EXPECT_EQ(check(executable), "");
  EXPECT_EQ(finder.runs, 2);
  EXPECT_EQ(numbers, (std::vector<int64_t>{kNoNumber, kNoNumber, 31, 64}));
}

TEST_F(CheckerTest, OnStreams) {
  Executable executable = get(Executable::load(makeProgram()));
  Stream stream = get(Stream::create(device));
  LaunchOptions options;
  options.stream = stream.getHandle();
  EXPECT_EQ(check(executable, options), "");
  EXPECT_TRUE(contains(fakeCudaGetLog(), "take 256 on 0 stream\n"));
  // Nobody could wait for a stream that is captured.
  fakeCudaClear();
  fakeCudaSetCapturing(1);
  EXPECT_EQ(check(executable, options),
            "expects a stream that is not being captured to check lists, as "
            "the host waits for what is found; check them in a call before the "
            "capture");
  fakeCudaSetCapturing(0);
  EXPECT_STREQ(fakeCudaGetLog(), "");
}

TEST_F(CheckerTest, StartsEarlyWhatWaits) {
  for (bool areDependent : {false, true}) {
    CudaProgram program = makeProgram();
    program.dependentLaunch = areDependent;
    program.checks.kernels.push_back(program.checks.kernels.front());
    Executable executable = get(Executable::load(std::move(program)));
    fakeCudaClear();
    EXPECT_EQ(check(executable), "");
    EXPECT_EQ(fakeCudaGetCount("cuLaunchKernelEx"), 2);
    EXPECT_EQ(contains(fakeCudaGetLog(), "dependent"), areDependent);
  }
}

TEST_F(CheckerTest, OfNoLists) {
  // None that there could be.
  Executable plain = get(Executable::load(ExecutableTest::makeProgram()));
  EXPECT_EQ(check(plain), "");
  EXPECT_STREQ(fakeCudaGetLog(), "");
  // None in these operands.
  Executable executable = get(Executable::load(makeProgram()));
  Operand none{device, {2, 3, 0, 64}};
  std::vector<TensorView> views = getViews();
  views[0] = none.getView();
  numbers.assign(4, kNoNumber);
  EXPECT_EQ(getText(executable.checkLists(views, numbers)), "");
  EXPECT_FALSE(contains(fakeCudaGetLog(), "launch"));
}

TEST_F(CheckerTest, Failures) {
  Executable executable = get(Executable::load(makeProgram()));
  numbers.assign(3, 0);
  EXPECT_EQ(getText(executable.checkLists(getViews(), numbers)),
            "expects room for the two numbers of 2 sites, but got room for 3");
  const std::pair<const char *, const char *> failures[] = {
      {"cuModuleLoadDataEx", "compiling @check in the CUDA driver"},
      {"cuModuleGetFunction", "looking for @check in its code"},
      {"cuMemsetD8Async", "preparing checks of lists"},
      {"cuLaunchKernelEx", "launching @check"},
      {"cuMemcpyDtoHAsync_v2", "reading what checks of lists have found"},
      {"cuStreamSynchronize", "checking lists on the GPU"}};
  for (auto [function, text] : failures) {
    fakeCudaClear();
    fakeCudaFail(function, 2);
    EXPECT_TRUE(contains(check(executable), text)) << function;
    llvm::StringRef log = fakeCudaGetLog();
    EXPECT_EQ(log.count("take"), log.count("give back")) << function;
  }
  fakeCudaClear();
  EXPECT_EQ(check(executable), "");
}

TEST_F(CheckerTest, AreChecked) {
  auto getError = [](void (*change)(ListChecks &)) {
    CudaProgram program = makeProgram();
    change(program.checks);
    return getText(program.validate());
  };
  EXPECT_EQ(getError([](ListChecks &checks) {}), "");
  EXPECT_EQ(getError([](ListChecks &checks) { checks.ptx.clear(); }),
            "expects PTX of kernels that check lists");
  EXPECT_EQ(getError([](ListChecks &checks) { checks.words = -1; }),
            "expects the operand of words to be from 0 to 1023, but got -1");
  EXPECT_EQ(getError([](ListChecks &checks) { checks.numSites = 0; }),
            "expects the number of sites to be from 1 to 1024, but got 0");
  EXPECT_EQ(getError([](ListChecks &checks) { checks.kernels[0].entry = ""; }),
            "expects a kernel to have a name");
  EXPECT_EQ(getError([](ListChecks &checks) {
              checks.kernels[0].extents[1].operand = 4;
            }),
            "expects the operand of a table's extent to be from -1 to 3, but "
            "got 4");
  EXPECT_EQ(getError([](ListChecks &checks) {
              checks.kernels[0].params[0].operand = 5;
            }),
            "expects the operand of a parameter to be from 0 to 4, but got 5");
  EXPECT_EQ(getError([](ListChecks &checks) {
              checks.kernels[0].params[0].kind = ParamKind::Counter;
            }),
            "expects no map and no counter of a kernel that checks lists");
}

TEST_F(CheckerTest, ArePartOfAProgram) {
  CudaProgram program = makeProgram();
  EXPECT_EQ(program.getNumOperands(), 4);
  CudaProgram copy = get(CudaProgram::fromBytes(program.toBytes()));
  EXPECT_EQ(copy.toBytes(), program.toBytes());
  EXPECT_EQ(copy.checks.ptx, "ptx");
  ASSERT_EQ(copy.checks.kernels.size(), 1u);
  EXPECT_EQ(copy.checks.kernels[0].extents[2].dim, 2);
  EXPECT_NE(getText(CudaProgram::fromBytes(
                llvm::StringRef(program.toBytes()).drop_back(1))),
            "");
}
