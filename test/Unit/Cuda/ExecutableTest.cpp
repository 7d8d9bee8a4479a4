//===- ExecutableTest.cpp - Tests of launches -----------------------------===//

#include "ExecutableFixture.h"
#include <thread>

using namespace attn;
using namespace attn::cuda;

/// A word of the map in the last launch; see cuTensorMapEncodeTiled in
/// FakeCuda.c.
static uint64_t getMapWord(int param, int word) {
  uint64_t words[16];
  std::memcpy(words, fakeCudaGetParam(param), sizeof(words));
  return words[word];
}

TEST_F(ExecutableTest, launches) {
  {
    Executable executable = get(Executable::load(makeProgram()));
    EXPECT_EQ(executable.getProgram().chip, "sm_90a");
    // Nothing is loaded before it is needed.
    EXPECT_STREQ(fakeCudaGetLog(), "");
    EXPECT_EQ(launch(executable), "");
    EXPECT_STREQ(
        fakeCudaGetLog(),
        "capture mode 2\n"
        "load cubin on 0\n"
        "shared kernel 200000\n"
        "capture mode 0\n"
        "launch kernel on 0 grid 18,1,1 block 384,1,1 shared 200000\n");
    EXPECT_EQ(getMapWord(0, 0), q.buffer.getAddress());
    EXPECT_EQ(getMapWord(0, 1), 9u | 4 << 8 | 3 << 16 | 2 << 24);
    const uint64_t extents[] = {64, 300, 3, 2}, box[] = {64, 128, 1, 1};
    const uint64_t strides[] = {128, 300 * 128, 3 * 300 * 128};
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(getMapWord(0, 2 + i), extents[i]);
      EXPECT_EQ(getMapWord(0, 11 + i), box[i]);
    }
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(getMapWord(0, 7 + i), strides[i]);
    EXPECT_EQ(getMapWord(1, 0), k.buffer.getAddress());
    EXPECT_EQ(getMapWord(1, 3), 500u);
    EXPECT_EQ(getValue<DevicePtr>(2), lse.buffer.getAddress());
    EXPECT_EQ(getValue<int32_t>(3), 500);
    EXPECT_EQ(getValue<int64_t>(4), 300);
    EXPECT_EQ(getValue<float>(5), 0.5F);
  }
  EXPECT_TRUE(contains(fakeCudaGetLog(), "unload\n"));
}

/// Launches that may run at the same time have counters of their own, which are
/// 0, and a graph's are never those of other launches.
TEST_F(ExecutableTest, counters) {
  CudaProgram program = makeProgram();
  getVariant(program).params[5].kind = ParamKind::Counter;
  Executable executable = get(Executable::load(std::move(program)));
  Stream stream = get(Stream::create(device));
  LaunchOptions options;
  options.stream = stream.getHandle();
  const int sizes[] = {128, 128, 8, 4, 8, 8};
  fakeCudaSetParams(sizes, 6);
  auto getCounter = [&]() -> uint64_t {
    EXPECT_EQ(launch(executable, options), "");
    return getValue<uint64_t>(5);
  };
  uint64_t first = getCounter(), second = getCounter();
  EXPECT_EQ(second, first + 8);
  for (uint64_t address : {first, second}) {
    uint64_t value = 1;
    std::memcpy(&value, reinterpret_cast<void *>(address), sizeof(value));
    EXPECT_EQ(value, 0u);
  }
  fakeCudaSetCapturing(1);
  uint64_t captured = getCounter();
  fakeCudaSetCapturing(0);
  EXPECT_EQ(getCounter(), second + 8);
  constexpr uint64_t numPairs = 1 << 15;
  EXPECT_EQ(captured, first + 8 * numPairs);
  for (uint64_t i = 3; i < numPairs; ++i)
    (void)getCounter();
  EXPECT_EQ(getCounter(), first);
}

TEST_F(ExecutableTest, laterLaunchesAskLittle) {
  Executable executable = get(Executable::load(makeProgram()));
  EXPECT_EQ(launch(executable), "");
  fakeCudaClear();
  for (int i = 0; i < 10; ++i) {
    scalar = float(i);
    EXPECT_EQ(launch(executable), "");
    EXPECT_EQ(getValue<float>(5), float(i));
  }
  EXPECT_EQ(fakeCudaGetCount("cuLaunchKernelEx"), 10);
  EXPECT_EQ(fakeCudaGetCount("cuTensorMapEncodeTiled"), 0);
  EXPECT_EQ(fakeCudaGetCount("cuPointerGetAttribute"), 0);
  EXPECT_EQ(fakeCudaGetCount("cuModuleLoadData"), 0);
  EXPECT_EQ(fakeCudaGetCount("cuThreadExchangeStreamCaptureMode"), 0);
  // Another shape and another stride are another map.
  k.shape[2] = 400;
  EXPECT_EQ(launch(executable), "");
  EXPECT_EQ(fakeCudaGetCount("cuTensorMapEncodeTiled"), 1);
  EXPECT_EQ(getMapWord(1, 3), 400u);
  EXPECT_EQ(getValue<int32_t>(3), 400);
  q.strides[0] = 0;
  EXPECT_EQ(launch(executable), "");
  EXPECT_EQ(fakeCudaGetCount("cuTensorMapEncodeTiled"), 2);
  EXPECT_EQ(getMapWord(0, 9), 0u);
  // So is another executable.
  Executable other = get(Executable::load(makeProgram()));
  EXPECT_EQ(launch(other), "");
  EXPECT_EQ(fakeCudaGetCount("cuTensorMapEncodeTiled"), 4);
}

TEST_F(ExecutableTest, grids) {
  auto getGrid = [&](const std::function<void(Variant &)> &edit) {
    CudaProgram program = makeProgram();
    edit(getVariant(program));
    Executable executable = get(Executable::load(program));
    EXPECT_EQ(launch(executable), "");
    llvm::StringRef log = fakeCudaGetLog();
    return log.drop_front(log.rfind("grid ") + 5).split(',').first.str();
  };
  EXPECT_EQ(getGrid([](Variant &v) { v.tileRows = 300; }), "6");
  // 4 processors with one block each, and with two.
  EXPECT_EQ(getGrid([](Variant &v) { v.persistent = true; }), "4");
  EXPECT_EQ(getGrid([](Variant &v) {
              v.persistent = true;
              v.dynamicSharedBytes = 1000;
            }),
            "8");
  EXPECT_EQ(getGrid([](Variant &v) {
              v.persistent = true;
              v.tileRows = 300;
              v.dynamicSharedBytes = 1000;
            }),
            "6");
}

TEST_F(ExecutableTest, variants) {
  CudaProgram program = makeProgram();
  Variant small = getVariant(program);
  small.entry = "small";
  small.tileRows = 1024;
  small.tileCost = 0;
  small.keyCost = 0;
  program.launches[0].variants.push_back(small);
  program.launches.push_back(program.launches[0]);
  Executable executable = get(Executable::load(program));
  EXPECT_EQ(launch(executable), "");
  EXPECT_TRUE(contains(fakeCudaGetLog(), "launch small on 0 grid 6,"));
  EXPECT_FALSE(contains(fakeCudaGetLog(), "launch kernel"));
  // Both launches, and only what they need.
  EXPECT_EQ(fakeCudaGetCount("cuLaunchKernelEx"), 2);
  EXPECT_EQ(fakeCudaGetCount("cuModuleLoadData"), 2);
  LaunchOptions options;
  options.variant = 0;
  EXPECT_EQ(launch(executable, options), "");
  EXPECT_TRUE(contains(fakeCudaGetLog(), "launch kernel on 0 grid 18,"));
  options.variant = 2;
  EXPECT_EQ(launch(executable, options),
            "expects a variant from 0 to 1, but got 2");
}

TEST_F(ExecutableTest, packedHeads) {
  CudaProgram program = makeProgram();
  program.launches[0].grid.keyHeadDim = 1;
  Variant &variant = getVariant(program);
  variant.tileRows = 64;
  variant.mostPackedHeads = 64;
  TensorMapInfo &map = variant.params[0].map;
  map.dims = {3, 1, 2, 0};
  map.box = {64, 1, 64, 1};
  map.packed = true;
  // In place of the number of keys.
  variant.params[3].kind = ParamKind::PackedCount;
  Executable executable = get(Executable::load(program));
  auto launchWith = [&](const Operand &queries, const Operand &results) {
    std::vector<TensorView> views = getViews();
    views[0] = queries.getView();
    views[2] = results.getView();
    EXPECT_EQ(getText(executable.launch(views)), "");
  };
  struct Map {
    uint64_t words[16];
  };
  // 12 heads on 1: tiles of 16 queries of 4 heads.
  Operand twelve{device, {2, 12, 300, 64}};
  Operand ofTwelve{device, {2, 12, 300}, DType::F32};
  launchWith(twelve, ofTwelve);
  EXPECT_TRUE(contains(fakeCudaGetLog(), "launch kernel on 0 grid 114,"));
  EXPECT_EQ(getValue<int32_t>(3), 4);
  Map box = getValue<Map>(0);
  EXPECT_EQ(box.words[12], 4u);
  EXPECT_EQ(box.words[13], 16u);
  // 3 heads on 1: of one head, by another map.
  fakeCudaClear();
  launchWith(q, lse);
  EXPECT_TRUE(contains(fakeCudaGetLog(), "launch kernel on 0 grid 30,"));
  EXPECT_EQ(getValue<int32_t>(3), 1);
  EXPECT_EQ(getValue<Map>(0).words[13], 64u);
  // The same queries with another number of heads of keys are another map, too.
  fakeCudaClear();
  Operand sixKeys{device, {2, 6, 500, 64}};
  std::vector<TensorView> views = getViews();
  views[0] = twelve.getView();
  views[1] = sixKeys.getView();
  views[2] = ofTwelve.getView();
  EXPECT_EQ(getText(executable.launch(views)), "");
  EXPECT_TRUE(contains(fakeCudaGetLog(), "launch kernel on 0 grid 120,"));
  EXPECT_EQ(getValue<int32_t>(3), 2);
  EXPECT_EQ(getValue<Map>(0).words[12], 2u);
  EXPECT_EQ(getValue<Map>(0).words[13], 32u);
}

TEST_F(ExecutableTest, leavesTheThreadAsItWas) {
  Executable executable = get(Executable::load(makeProgram()));
  EXPECT_EQ(launch(executable), "");
  ContextHandle context = nullptr;
  device.getDriver().cuCtxGetCurrent(&context);
  EXPECT_EQ(context, nullptr);
}

TEST_F(ExecutableTest, emptyTensors) {
  Executable executable = get(Executable::load(makeProgram()));
  // No keys, and no memory for them.
  k.shape[2] = 0;
  k.data = nullptr;
  EXPECT_EQ(launch(executable), "");
  EXPECT_EQ(getValue<int32_t>(3), 0);
  EXPECT_EQ(getMapWord(1, 0), q.buffer.getAddress());
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(getMapWord(1, 2 + i), 1u);
  // No queries: no launch, and nobody looks at addresses.
  fakeCudaClear();
  q.shape[2] = 0;
  q.data = nullptr;
  EXPECT_EQ(launch(executable), "");
  q.shape[2] = 300;
  q.shape[0] = 0;
  EXPECT_EQ(launch(executable), "");
  EXPECT_EQ(fakeCudaGetCount("cuLaunchKernelEx"), 0);
}

TEST_F(ExecutableTest, extentsOfOneHaveAnyStride) {
  Executable executable = get(Executable::load(makeProgram()));
  k.strides[1] = 7;
  EXPECT_EQ(launch(executable), "");
  EXPECT_EQ(getMapWord(1, 4), 1u);
  EXPECT_EQ(getMapWord(1, 8) % 16, 0u);
  fakeCudaClear();
  k.strides[1] = -123456789;
  EXPECT_EQ(launch(executable), "");
  EXPECT_EQ(fakeCudaGetCount("cuTensorMapEncodeTiled"), 0);
}

TEST_F(ExecutableTest, operandsWithoutTheirAlignment) {
  CudaProgram program = makeProgram();
  for (Param &param : program.launches.front().variants.front().params)
    if (param.operand == 2 &&
        (param.kind == ParamKind::Pointer || param.kind == ParamKind::Stride))
      param.alignment = 16;
  Executable executable = get(Executable::load(std::move(program)));
  EXPECT_EQ(launch(executable), "");
  lse.data = static_cast<char *>(lse.data) + 4;
  EXPECT_TRUE(contains(launch(executable),
                       "expects operand 2 to start at a multiple of 16 bytes, "
                       "but got address 0x"));
  lse.data = static_cast<char *>(lse.data) - 4;
  ++lse.strides[1];
  EXPECT_EQ(launch(executable),
            "expects operand 2 to have a stride of a multiple of 16 bytes in "
            "dimension 1, but got " +
                std::to_string(lse.strides[1]) +
                " elements of f32; copy it to a tensor with aligned rows");
}

TEST_F(ExecutableTest, operandsThatDoNotFit) {
  Executable executable = get(Executable::load(makeProgram()));
  auto getErrorOf = [&](Operand &operand, const std::function<void()> &edit) {
    Shape shape = operand.shape, strides = operand.strides;
    DType dtype = operand.dtype;
    void *data = operand.data;
    edit();
    std::string text = launch(executable);
    // A failed operand is not remembered as a good one.
    EXPECT_EQ(launch(executable), text);
    operand.shape = shape;
    operand.strides = strides;
    operand.dtype = dtype;
    operand.data = data;
    EXPECT_EQ(launch(executable), "");
    return text;
  };
  EXPECT_TRUE(contains(
      getErrorOf(q, [&] { q.data = static_cast<char *>(q.data) + 8; }),
      "expects operand 0 to start at a multiple of 16 bytes, but got address "
      "0x"));
  EXPECT_EQ(getErrorOf(q, [&] { q.strides[3] = 2; }),
            "expects operand 0 to have stride 1 in dimension 3, but got 2; "
            "copy it to a dense tensor");
  for (int64_t stride : {int64_t(63), int64_t(-64), int64_t(1) << 39,
                         int64_t(1) << 62, INT64_MIN})
    EXPECT_EQ(getErrorOf(k, [&] { k.strides[2] = stride; }),
              "expects operand 1 to have a stride of a multiple of 16 bytes, "
              "not negative and less than 2^40, in dimension 2, but got " +
                  std::to_string(stride) +
                  " elements of bf16; copy it to a tensor with aligned rows");
  EXPECT_EQ(getErrorOf(k, [&] { k.shape[1] = int64_t(1) << 32; }),
            "expects operand 1 to have extents from 0 to 4294967295, but got "
            "4294967296");
  EXPECT_EQ(getErrorOf(q, [&] { q.dtype = DType::F32; }),
            "expects operand 0 to have elements of which 64 fit the map's 128 "
            "bytes in pieces of 16, but got f32");
  alignas(16) static char host[1024];
  EXPECT_EQ(getErrorOf(k, [&] { k.data = host; }),
            "expects operand 1 to lie in memory of device 0 (Fake 0), but its "
            "address is none; copy it there");
  EXPECT_EQ(getErrorOf(lse, [&] { lse.data = host; }),
            "expects operand 2 to lie in memory of device 0 (Fake 0), but its "
            "address is none; copy it there");
  EXPECT_EQ(getErrorOf(lse, [&] { lse.data = nullptr; }),
            "expects operand 2 to lie in memory of device 0 (Fake 0), but its "
            "address is none; copy it there");
  EXPECT_EQ(
      getErrorOf(lse, [&] { lse.data = static_cast<char *>(lse.data) + 2; }),
      "expects operand 2 to be aligned to its elements of 4 bytes; copy it");
  Operand elsewhere(get(Device::get(2)), {2, 1, 500, 64});
  EXPECT_EQ(getErrorOf(k, [&] { k.data = elsewhere.data; }),
            "expects operand 1 to lie in memory of device 0 (Fake 0), but it "
            "lies in that of device 2; copy it there");
  EXPECT_EQ(getErrorOf(lse,
                       [&] {
                         lse.shape.pop_back();
                         lse.shape.pop_back();
                       }),
            "expects operand 2 to have dimension 1, but got rank 1");
  EXPECT_TRUE(contains(getErrorOf(q, [&] { q.shape.pop_back(); }),
                       "expects operand 0 to have dimension 3"));
  EXPECT_EQ(getErrorOf(k, [&] { k.shape[2] = int64_t(1) << 31; }),
            "expects at most 1073741824 keys on a GPU, but got 2147483648; run "
            "a part of them at a time, or on the CPU");
  // An extent that a map could have, but not the kernel's parameter.
  CudaProgram program = makeProgram();
  getVariant(program).params[3].dim = 1;
  Executable other = get(Executable::load(std::move(program)));
  k.shape[1] = int64_t(1) << 31;
  EXPECT_EQ(launch(other),
            "expects operand 1 to have an extent of 32 bits in dimension 1, "
            "but got 2147483648");
}

TEST_F(ExecutableTest, namesInErrors) {
  Executable executable = get(Executable::load(makeProgram()));
  q.strides[3] = 2;
  std::vector<std::string> names = {"query"};
  LaunchOptions options;
  options.names = names;
  EXPECT_TRUE(contains(launch(executable, options),
                       "expects 'query' to have stride 1"));
}

TEST_F(ExecutableTest, viewsThatAreNone) {
  Executable executable = get(Executable::load(makeProgram()));
  std::vector<TensorView> views = getViews();
  views.pop_back();
  EXPECT_EQ(getText(executable.launch(views)), "expects 4 operands, but got 3");
  views = getViews();
  views[1].dtype = 99;
  EXPECT_EQ(getText(executable.launch(views)),
            "expects operand 1 to have an element type, but got code 99");
  views = getViews();
  views[1].shape = nullptr;
  EXPECT_EQ(getText(executable.launch(views)),
            "expects operand 1 to have a shape and strides, but got null");
  views = getViews();
  views[3].dtype = int32_t(DType::F64);
  EXPECT_EQ(getText(executable.launch(views)),
            "expects operand 3 to have 32 bits, but got 64");
  views = getViews();
  views[3].data = lse.data;
  EXPECT_EQ(getText(executable.launch(views)),
            "expects operand 3 to lie in host memory, but got memory of a GPU; "
            "copy it");
  views[3].data = nullptr;
  EXPECT_EQ(getText(executable.launch(views)),
            "expects operand 3 to lie in host memory, but got a null pointer");
}

TEST_F(ExecutableTest, streamsAndDevices) {
  Executable executable = get(Executable::load(makeProgram()));
  Device second = get(Device::get(2));
  Stream stream = get(Stream::create(device));
  Stream otherStream = get(Stream::create(second));
  LaunchOptions options;
  options.stream = stream.getHandle();
  EXPECT_EQ(launch(executable, options), "");
  EXPECT_TRUE(contains(fakeCudaGetLog(), "shared 200000 stream\n"));
  options.stream = otherStream.getHandle();
  EXPECT_EQ(launch(executable, options),
            "expects a stream of device 0 (Fake 0), but got one of another "
            "context; make its device current");
  // On the other device, code is loaded again and operands are wrong.
  options.device = &second;
  EXPECT_TRUE(
      contains(launch(executable, options), "but it lies in that of device 0"));
  EXPECT_TRUE(contains(fakeCudaGetLog(), "load cubin on 2\n"));
  // As is the case when it is current.
  options.device = nullptr;
  second.getDriver().cuCtxSetCurrent(second.getContext());
  EXPECT_TRUE(
      contains(launch(executable, options), "but it lies in that of device 0"));
  EXPECT_EQ(fakeCudaGetCount("cuModuleLoadData"), 2);
  second.getDriver().cuCtxSetCurrent(nullptr);
}

TEST_F(ExecutableTest, codeThatDoesNotLoad) {
  auto getErrorWith = [&](const std::function<void(Variant &)> &edit) {
    CudaProgram program = makeProgram();
    edit(getVariant(program));
    llvm::Expected<Executable> executable = Executable::load(program);
    return executable ? launch(*executable) : getText(std::move(executable));
  };
  EXPECT_EQ(getErrorWith([](Variant &v) { v.cubin = "text"; }),
            "loading the code of @kernel failed: CUDA_ERROR_INVALID_IMAGE: "
            "said the fake");
  // PTX helps.
  EXPECT_EQ(getErrorWith([](Variant &v) {
              v.cubin = "text";
              v.ptx = "good";
            }),
            "");
  EXPECT_EQ(getErrorWith([](Variant &v) {
              v.cubin.clear();
              v.ptx = "bad";
            }),
            "compiling @kernel in the CUDA driver (ptxas says it is bad) "
            "failed: CUDA_ERROR_INVALID_PTX: said the fake");
  EXPECT_EQ(getErrorWith([](Variant &v) { v.entry = "missing"; }),
            "looking for @missing in its code failed: CUDA_ERROR_NOT_FOUND: "
            "said the fake");
  EXPECT_EQ(getErrorWith([](Variant &v) { v.dynamicSharedBytes = 232448; }),
            "expects @kernel to use at most 232448 bytes of shared memory, but "
            "got 233472");
  EXPECT_EQ(getErrorWith([](Variant &v) { v.threads = 1024; }),
            "expects a block of @kernel to fit a multiprocessor, but its 1024 "
            "threads and 201024 bytes of shared memory do not");
  CudaProgram other = makeProgram();
  other.chip = "sm_80";
  EXPECT_EQ(launch(get(Executable::load(other))),
            "expects code for compute capability 9.0, but got code for sm_80");
  // Code of an architecture is for nothing later.
  other.chip = "sm_100a";
  EXPECT_EQ(launch(get(Executable::load(other))),
            "expects code for compute capability 9.0, but got code for "
            "sm_100a");
  other.chip = "a GPU";
  EXPECT_EQ(launch(get(Executable::load(other))),
            "expects code for compute capability 9.0, but got code for a GPU");
  other.chip = "sm_90";
  EXPECT_EQ(launch(get(Executable::load(other))), "");
}

TEST_F(ExecutableTest, failuresOfTheDriver) {
  Executable executable = get(Executable::load(makeProgram()));
  fakeCudaFail("cuModuleLoadData", kErrorOutOfMemory);
  llvm::Error error = executable.launch(getViews());
  EXPECT_TRUE(isOutOfMemory(error));
  EXPECT_TRUE(contains(getText(std::move(error)), "loading the code"));
  // It is tried again.
  fakeCudaClear();
  EXPECT_EQ(launch(executable), "");
  fakeCudaFail("cuLaunchKernelEx", kErrorInvalidValue);
  EXPECT_EQ(launch(executable), "launching @kernel failed: "
                                "CUDA_ERROR_INVALID_VALUE: said the fake");
  k.shape[2] = 333;
  fakeCudaFail("cuTensorMapEncodeTiled", kErrorInvalidValue);
  EXPECT_TRUE(contains(launch(executable),
                       "encoding a tensor map of operand 1 failed"));
}

// It may be dropped while some stream is being captured, which waiting for the
// context, or unloading code in the usual mode, would end.
TEST_F(ExecutableTest, unloading) {
  Executable executable = get(Executable::load(makeProgram()));
  EXPECT_EQ(launch(executable), "");
  int modes = fakeCudaGetCount("cuThreadExchangeStreamCaptureMode");
  {
    Executable gone = std::move(executable);
  }
  EXPECT_EQ(fakeCudaGetCount("cuModuleUnload"), 1);
  EXPECT_EQ(fakeCudaGetCount("cuCtxSynchronize"), 0);
  EXPECT_EQ(fakeCudaGetCount("cuThreadExchangeStreamCaptureMode"), modes + 2);
}

TEST_F(ExecutableTest, threads) {
  Executable executable = get(Executable::load(makeProgram()));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int j = 0; j < 50; ++j)
        EXPECT_EQ(launch(executable), "");
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(fakeCudaGetCount("cuLaunchKernelEx"), 200);
  EXPECT_EQ(fakeCudaGetCount("cuModuleLoadData"), 1);
}
