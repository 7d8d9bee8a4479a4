//===- RunTest.cpp - Running kernels through the C interface --------------===//

#include "TestHelpers.h"
#include <cmath>
#include <thread>

namespace {
/// The tensors of kMean for 1 batch, 2 heads, 3 queries and 2 keys.
struct MeanTensors {
  Floats q{{1, 2, 3, 2}, 1.0f};
  Floats k{{1, 2, 2, 2}, 1.0f};
  Floats v{{1, 2, 2, 4},
           {1, 2, 3, 4, 3, 4, 5, 6, 10, 20, 30, 40, 30, 40, 50, 60}};
  Floats o{{1, 2, 3, 4}, NAN};
  Floats lse{{1, 2, 3}, NAN};
  attnTensor inputs[3] = {q.view(), k.view(), v.view()};
  attnTensor results[2] = {o.view(), lse.view()};

  void expectMeans() {
    for (int64_t n = 0; n < 24; ++n) {
      float first[] = {2, 3, 4, 5};
      float expected = n < 12 ? first[n % 4] : 10 * first[n % 4];
      EXPECT_FLOAT_EQ(o.data[n], expected) << n;
    }
    for (float x : lse.data)
      EXPECT_FLOAT_EQ(x, std::log(2.0f));
  }
};
} // namespace

static Outcome run(const Owner<attnKernel> &kernel, MeanTensors &tensors,
                   const attnRunOptions *options = nullptr) {
  return call(attnKernelRun, kernel.get(), tensors.inputs, size_t(3),
              tensors.results, size_t(2), options);
}

TEST(Run, WritesTheResults) {
  Owner<attnKernel> kernel = compile(kMean);
  MeanTensors tensors;
  EXPECT_EQ(run(kernel, tensors).status, ATTN_OK);
  tensors.expectMeans();
}

TEST(Run, TakesStrides) {
  Owner<attnKernel> kernel = compile(kMean);
  MeanTensors tensors;
  // Values in rows of 5, with the heads innermost but one, and an output whose
  // rows have a gap.
  std::vector<float> v(20, NAN);
  for (int64_t h = 0; h < 2; ++h)
    for (int64_t j = 0; j < 2; ++j)
      for (int64_t e = 0; e < 4; ++e)
        v[5 * (2 * j + h) + e] = tensors.v.data[(h * 2 + j) * 4 + e];
  int64_t vStrides[] = {20, 5, 10, 1};
  tensors.inputs[2].data = v.data();
  tensors.inputs[2].strides = vStrides;
  std::vector<float> o(6 * 7, -1);
  int64_t oStrides[] = {42, 21, 7, 1};
  tensors.results[0].data = o.data();
  tensors.results[0].strides = oStrides;
  EXPECT_EQ(run(kernel, tensors).status, ATTN_OK);
  for (int64_t row = 0; row < 6; ++row)
    for (int64_t e = 0; e < 7; ++e) {
      if (e < 4)
        tensors.o.data[row * 4 + e] = o[row * 7 + e];
      else
        EXPECT_EQ(o[row * 7 + e], -1) << "a gap was written to";
    }
  tensors.expectMeans();
}

TEST(Run, TakesTensorsOfALaterVersion) {
  struct LaterTensor {
    attnTensor known;
    void *added;
  };
  Owner<attnKernel> kernel = compile(kMean);
  MeanTensors tensors;
  LaterTensor inputs[3] = {}, results[2] = {};
  for (int n = 0; n < 3; ++n)
    inputs[n].known = tensors.inputs[n];
  for (int n = 0; n < 2; ++n)
    results[n].known = tensors.results[n];
  for (LaterTensor *tensor :
       {&inputs[0], &inputs[1], &inputs[2], &results[0], &results[1]})
    tensor->known.struct_size = sizeof(LaterTensor);
  expectSuccess(attnKernelRun, kernel.get(), &inputs[0].known, size_t(3),
                &results[0].known, size_t(2), nullptr);
  tensors.expectMeans();

  inputs[1].added = &inputs;
  expectFailure(ATTN_UNSUPPORTED, "expects members of attnTensor",
                attnKernelRun, kernel.get(), &inputs[0].known, size_t(3),
                &results[0].known, size_t(2), nullptr);
  inputs[1].added = nullptr;
  inputs[1].known.struct_size = sizeof(attnTensor);
  expectFailure(ATTN_INVALID_ARGUMENT,
                "expects input 1 to have the struct_size of the first, 56, but "
                "got 48",
                attnKernelRun, kernel.get(), &inputs[0].known, size_t(3),
                &results[0].known, size_t(2), nullptr);
}

TEST(Run, RejectsTensorsThatAreNone) {
  Owner<attnKernel> kernel = compile(kMean);
  auto reject = [&](auto change, const std::string &text,
                    attnStatus status = ATTN_INVALID_ARGUMENT) {
    MeanTensors tensors;
    change(tensors);
    Outcome outcome = run(kernel, tensors);
    EXPECT_EQ(outcome.status, status) << outcome.message;
    EXPECT_NE(outcome.message.find(text), std::string::npos) << outcome.message;
  };
  using T = MeanTensors;
  const int64_t negative[] = {1, 2, -2, 2};
  reject([](T &t) { t.inputs[0].struct_size = 0; },
         "expects struct_size of attnTensor to be its sizeof");
  reject([](T &t) { t.inputs[1].dtype = 9; },
         "expects input 1 to have an element type from 0 to 8, but got 9");
  reject([](T &t) { t.results[1].dtype = -1; },
         "expects result 1 to have an element type from 0 to 8, but got -1");
  reject([](T &t) { t.inputs[2].rank = -1; },
         "expects input 2 to have a rank from 0 to 64, but got -1");
  reject([](T &t) { t.inputs[2].rank = 65; }, "a rank from 0 to 64");
  reject([](T &t) { t.inputs[0].shape = nullptr; },
         "expects input 0 to have a shape, but got NULL");
  reject([&](T &t) { t.inputs[1].shape = negative; },
         "expects input 1 to have no negative extent, but got -2");
  // What follows is found by the kernel itself.
  reject([](T &t) { t.inputs[0].data = nullptr; }, "");
  reject([](T &t) { t.results[0].data = nullptr; }, "");
  reject([](T &t) { t.inputs[0].dtype = ATTN_F16; }, "");
  reject([](T &t) { t.inputs[0].rank = 3; }, "");
  reject([](T &t) { t.k.shape[3] = 3; }, "");
  reject([](T &t) { t.v.shape[1] = 1; }, "");
  reject([](T &t) { t.o.shape[2] = 2; }, "");
  reject([](T &t) { t.results[0].data = t.inputs[2].data; }, "");
}

TEST(Run, RejectsOtherNumbersOfTensors) {
  Owner<attnKernel> kernel = compile(kMean);
  MeanTensors t;
  auto reject = [&](const char *text, const attnTensor *inputs,
                    size_t numInputs, const attnTensor *results,
                    size_t numResults) {
    expectFailure(ATTN_INVALID_ARGUMENT, text, attnKernelRun, kernel.get(),
                  inputs, numInputs, results, numResults, nullptr);
  };
  reject("", t.inputs, 2, t.results, 2);
  reject("", t.inputs, 3, t.results, 1);
  reject("", nullptr, 0, nullptr, 0);
  reject("expects inputs, but got NULL", nullptr, 3, t.results, 2);
  reject("expects results, but got NULL", t.inputs, 3, nullptr, 2);
  expectFailure(ATTN_INVALID_ARGUMENT, "expects a kernel, but got NULL",
                attnKernelRun, nullptr, t.inputs, size_t(3), t.results,
                size_t(2), nullptr);
}

TEST(Run, TakesThreadsAndPools) {
  Owner<attnKernel> kernel = compile(kMean);
  attnThreadPool *out = nullptr;
  expectSuccess(attnThreadPoolCreate, 2, &out);
  Owner<attnThreadPool> pool(out);
  attnRunOptions options = {};
  options.struct_size = sizeof(options);
  for (int32_t threads : {0, 1, 2, 1000}) {
    options.threads = threads;
    for (attnThreadPool *one : {static_cast<attnThreadPool *>(nullptr), out}) {
      options.pool = one;
      MeanTensors tensors;
      EXPECT_EQ(run(kernel, tensors, &options).status, ATTN_OK);
      tensors.expectMeans();
    }
  }
  MeanTensors tensors;
  options.threads = -1;
  Outcome outcome = run(kernel, tensors, &options);
  EXPECT_EQ(outcome.status, ATTN_INVALID_ARGUMENT);
  EXPECT_EQ(outcome.message, "expects 0 or more threads, but got -1");
  options.threads = 0;
  // A CPU checks lists in any case, and where there are none too.
  options.check_lists = 1;
  EXPECT_EQ(run(kernel, tensors, &options).status, ATTN_OK);
  options.reserved = 1;
  outcome = run(kernel, tensors, &options);
  EXPECT_EQ(outcome.status, ATTN_UNSUPPORTED);
  EXPECT_NE(outcome.message.find("reserved member of attnRunOptions"),
            std::string::npos);
  // As it was when it ended with the stream.
  options.struct_size = offsetof(attnRunOptions, check_lists);
  EXPECT_EQ(run(kernel, tensors, &options).status, ATTN_OK);
  options.reserved = 0;
  options.struct_size = 4;
  outcome = run(kernel, tensors, &options);
  EXPECT_EQ(outcome.status, ATTN_INVALID_ARGUMENT);
  EXPECT_NE(outcome.message.find("struct_size of attnRunOptions"),
            std::string::npos);
}

TEST(Run, TakesWhatWasPrepared) {
  Owner<attnKernel> kernel = compile(kMean), other = compile(kMean);
  MeanTensors tensors;
  attnPrepared *prepared = nullptr;
  expectSuccess(attnKernelPrepare, kernel.get(), tensors.inputs, size_t(3),
                static_cast<const attnRunOptions *>(nullptr), &prepared);
  ASSERT_NE(prepared, nullptr);
  // There are no tables on a CPU.
  EXPECT_EQ(attnPreparedSize(prepared), 0u);
  attnRunOptions options = {};
  options.struct_size = sizeof(options);
  options.prepared = prepared;
  EXPECT_EQ(run(kernel, tensors, &options).status, ATTN_OK);
  tensors.expectMeans();
  // Of another kernel, and for other extents.
  Outcome outcome = run(other, tensors, &options);
  EXPECT_EQ(outcome.status, ATTN_INVALID_ARGUMENT);
  EXPECT_NE(outcome.message.find("itself has prepared"), std::string::npos);
  Floats longer{{1, 2, 5, 2}, 1.0f}, o{{1, 2, 5, 4}, 0}, lse{{1, 2, 5}, 0};
  tensors.inputs[0] = longer.view();
  tensors.results[0] = o.view();
  tensors.results[1] = lse.view();
  outcome = run(kernel, tensors, &options);
  EXPECT_EQ(outcome.status, ATTN_INVALID_ARGUMENT);
  EXPECT_NE(outcome.message.find("which it was prepared for, but got 1x2x5x2"),
            std::string::npos);
  // It keeps the kernel.
  kernel.reset();
  attnPreparedDestroy(prepared);
  attnPreparedDestroy(nullptr);
  EXPECT_EQ(attnPreparedSize(nullptr), 0u);
}

TEST(Run, PreparesNothingOfNothing) {
  Owner<attnKernel> kernel = compile(kMean);
  MeanTensors tensors;
  const attnRunOptions *none = nullptr;
  attnPrepared *prepared = nullptr;
  auto prepare = [&](const attnKernel *of, size_t count,
                     const attnRunOptions *options, attnPrepared **out) {
    return call(attnKernelPrepare, of, tensors.inputs, count, options, out);
  };
  EXPECT_EQ(prepare(nullptr, 3, none, &prepared).status, ATTN_INVALID_ARGUMENT);
  EXPECT_EQ(prepare(kernel.get(), 3, none, nullptr).status,
            ATTN_INVALID_ARGUMENT);
  EXPECT_EQ(prepare(kernel.get(), 2, none, &prepared).message,
            "expects 3 inputs, but got 2");
  attnRunOptions options = {};
  options.struct_size = sizeof(options);
  options.threads = -1;
  EXPECT_EQ(prepare(kernel.get(), 3, &options, &prepared).message,
            "expects 0 or more threads, but got -1");
  EXPECT_EQ(prepared, nullptr);
  options.threads = 0;
  ASSERT_EQ(prepare(kernel.get(), 3, &options, &prepared).status, ATTN_OK);
  options.prepared = prepared;
  attnPrepared *again = nullptr;
  const char *const text =
      "expects no check_lists and no prepared to prepare, which are for runs";
  Outcome outcome = prepare(kernel.get(), 3, &options, &again);
  EXPECT_EQ(outcome.status, ATTN_INVALID_ARGUMENT);
  EXPECT_EQ(outcome.message, text);
  options.prepared = nullptr;
  options.check_lists = 1;
  outcome = prepare(kernel.get(), 3, &options, &again);
  EXPECT_EQ(outcome.status, ATTN_INVALID_ARGUMENT);
  EXPECT_EQ(outcome.message, text);
  EXPECT_EQ(again, nullptr);
  attnPreparedDestroy(prepared);
}

TEST(Run, WorksInSeveralThreads) {
  Owner<attnKernel> kernel = compile(kMean);
  std::vector<std::thread> threads;
  for (int n = 0; n < 4; ++n)
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        MeanTensors tensors;
        EXPECT_EQ(run(kernel, tensors).status, ATTN_OK);
        tensors.expectMeans();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(Run, ChecksBounds) {
  attnCompileOptions options = makeOptions();
  options.bounds_check = 1;
  Owner<attnKernel> kernel = compile(kLookup, &options);
  ASSERT_TRUE(kernel);
  Floats q({1, 1, 1, 1}, 0.0f), v({1, 1, 3, 1}, {1, 2, 3}),
      o({1, 1, 1, 1}, NAN);
  Floats bias({4}, 0.0f);
  int64_t at = 1;
  attnTensor inputs[] = {q.view(), v.view(), bias.view(), makeIndex(at)};
  attnTensor result = o.view();
  expectSuccess(attnKernelRun, kernel.get(), inputs, size_t(4), &result,
                size_t(1), nullptr);
  EXPECT_FLOAT_EQ(o.data[0], 2);
  for (int64_t outside : {int64_t(2), int64_t(-1), INT64_MAX, INT64_MIN}) {
    at = outside;
    expectFailure(ATTN_OUT_OF_RANGE, "", attnKernelRun, kernel.get(), inputs,
                  size_t(4), &result, size_t(1), nullptr);
  }
}

TEST(Run, NeedsADriver) {
  // Where there is one, another test runs kernels on it.
  if (attnDeviceCheck(ATTN_DEVICE_CUDA, nullptr) == ATTN_OK)
    GTEST_SKIP() << "there is a GPU";
  attnCompileOptions options = makeOptions();
  options.device = ATTN_DEVICE_CUDA;
  Owner<attnKernel> kernel = compile(kMean, &options);
  ASSERT_TRUE(kernel);
  MeanTensors tensors;
  expectFailure(ATTN_UNSUPPORTED, "no CUDA driver", attnKernelRun, kernel.get(),
                tensors.inputs, size_t(3), tensors.results, size_t(2), nullptr);
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

TEST(ResultShapes, FollowTheInputs) {
  Owner<attnKernel> kernel = compile(kMean);
  MeanTensors tensors;
  for (attnTensor &input : tensors.inputs)
    input.data = nullptr;
  std::vector<int64_t> extents(7, -1);
  expectSuccess(attnKernelResultShapes, kernel.get(), tensors.inputs, size_t(3),
                extents.data(), extents.size());
  EXPECT_EQ(extents, (std::vector<int64_t>{1, 2, 3, 4, 1, 2, 3}));

  expectFailure(ATTN_INVALID_ARGUMENT, "expects room for 7 extents, but got 6",
                attnKernelResultShapes, kernel.get(), tensors.inputs, size_t(3),
                extents.data(), size_t(6));
  expectFailure(ATTN_INVALID_ARGUMENT,
                "expects a place for the extents, but got NULL",
                attnKernelResultShapes, kernel.get(), tensors.inputs, size_t(3),
                nullptr, size_t(7));
  expectFailure(ATTN_INVALID_ARGUMENT, "", attnKernelResultShapes, kernel.get(),
                tensors.inputs, size_t(2), extents.data(), extents.size());
  expectFailure(ATTN_INVALID_ARGUMENT, "expects a kernel, but got NULL",
                attnKernelResultShapes, nullptr, tensors.inputs, size_t(3),
                extents.data(), extents.size());
  expectFailure(ATTN_INVALID_ARGUMENT, "expects inputs, but got NULL",
                attnKernelResultShapes, kernel.get(), nullptr, size_t(3),
                extents.data(), extents.size());
}

//===----------------------------------------------------------------------===//
// Lifetime
//===----------------------------------------------------------------------===//

TEST(Kernel, LivesUntilTheLastRelease) {
  Owner<attnKernel> kernel = compile(kMean);
  attnKernelRetain(kernel.get());
  attnKernelRelease(kernel.get());
  MeanTensors tensors;
  EXPECT_EQ(run(kernel, tensors).status, ATTN_OK);
}

TEST(Kernel, IsSavedAndLoaded) {
  Owner<attnKernel> kernel = compile(kMean);
  attnString *out = nullptr;
  expectSuccess(attnKernelSave, kernel.get(), &out);
  Owner<attnString> bytes(out);
  kernel.reset();
  attnKernel *loaded = nullptr;
  expectSuccess(attnKernelLoad, attnStringData(out), attnStringSize(out),
                &loaded);
  kernel.reset(loaded);
  MeanTensors tensors;
  EXPECT_EQ(run(kernel, tensors).status, ATTN_OK);
  tensors.expectMeans();
  EXPECT_STREQ(attnKernelEntry(loaded), "mean");

  attnKernel *none = nullptr;
  expectFailure(ATTN_UNSUPPORTED, "", attnKernelLoad, attnStringData(out),
                attnStringSize(out) / 2, &none);
  expectFailure(ATTN_UNSUPPORTED, "", attnKernelLoad, "", size_t(0), &none);
  expectFailure(ATTN_INVALID_ARGUMENT,
                "expects the bytes of a kernel, but got NULL", attnKernelLoad,
                nullptr, size_t(0), &none);
  expectFailure(ATTN_INVALID_ARGUMENT,
                "expects a place for the kernel, but got NULL", attnKernelLoad,
                "", size_t(0), nullptr);
  EXPECT_EQ(none, nullptr);
  attnString *text = nullptr;
  expectFailure(ATTN_INVALID_ARGUMENT, "expects a kernel, but got NULL",
                attnKernelSave, nullptr, &text);
  expectFailure(ATTN_INVALID_ARGUMENT,
                "expects a place for the bytes, but got NULL", attnKernelSave,
                loaded, nullptr);
}
