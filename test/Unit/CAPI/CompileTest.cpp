//===- CompileTest.cpp - Compilation through the C interface --------------===//

#include "TestHelpers.h"
#include <map>

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

TEST(Compile, DescribesInputsAndResults) {
  Owner<attnKernel> kernel = compile(kMean);
  ASSERT_TRUE(kernel);
  EXPECT_STREQ(attnKernelEntry(kernel.get()), "mean");
  ASSERT_EQ(attnKernelNumInputs(kernel.get()), 3u);
  ASSERT_EQ(attnKernelNumResults(kernel.get()), 2u);

  attnTensorInfo info = {};
  info.struct_size = sizeof(info);
  expectSuccess(attnKernelInputInfo, kernel.get(), 0, &info);
  EXPECT_EQ(info.struct_size, sizeof(info));
  EXPECT_STREQ(info.name, "query");
  EXPECT_EQ(info.dtype, ATTN_F32);
  ASSERT_EQ(info.rank, 4);
  EXPECT_LT(info.shape[0], 0);
  EXPECT_LT(info.shape[2], 0);
  EXPECT_EQ(info.shape[3], 2);
  expectSuccess(attnKernelResultInfo, kernel.get(), 1, &info);
  EXPECT_STREQ(info.name, "lse");
  EXPECT_EQ(info.rank, 3);

  expectFailure(ATTN_INVALID_ARGUMENT,
                "expects the index of one of 3 inputs, but got 3",
                attnKernelInputInfo, kernel.get(), 3, &info);
  expectFailure(ATTN_INVALID_ARGUMENT,
                "expects the index of one of 2 results, but got 7",
                attnKernelResultInfo, kernel.get(), 7, &info);
}

TEST(Compile, DescribesScalarsAsRankZero) {
  Owner<attnKernel> kernel = compile(kLookup);
  ASSERT_TRUE(kernel);
  attnTensorInfo info = {};
  info.struct_size = sizeof(info);
  expectSuccess(attnKernelInputInfo, kernel.get(), 3, &info);
  EXPECT_EQ(info.dtype, ATTN_I64);
  EXPECT_EQ(info.rank, 0);
}

TEST(Compile, ReadsNothingBehindTheProgram) {
  std::string text = std::string(kMean) + "this is no program";
  attnKernel *kernel = nullptr;
  expectSuccess(attnKernelCompile, text.data(), sizeof(kMean) - 1, nullptr,
                &kernel);
  attnKernelRelease(kernel);
}

TEST(Compile, ReportsDiagnostics) {
  attnCompileOptions options = makeOptions();
  options.buffer_name = "model.mlir";
  std::string program = "func.func @f(%x: tensor<2xf32>) {\n  nonsense\n}\n";
  attnKernel *kernel = reinterpret_cast<attnKernel *>(1);
  expectFailure(ATTN_COMPILE_ERROR, "model.mlir:2:3: error:", attnKernelCompile,
                program.data(), program.size(), &options, &kernel);
  EXPECT_EQ(kernel, nullptr);
  expectFailure(ATTN_COMPILE_ERROR, "", attnKernelCompile, "", size_t(0),
                nullptr, &kernel);
}

TEST(Compile, ChoosesTheEntry) {
  std::string program = kMean;
  program += kLookup;
  attnCompileOptions options = makeOptions();
  options.entry = "lookup";
  Owner<attnKernel> kernel = compile(program, &options);
  ASSERT_TRUE(kernel);
  EXPECT_STREQ(attnKernelEntry(kernel.get()), "lookup");

  options.entry = "missing";
  attnKernel *none = nullptr;
  Outcome outcome =
      call(attnKernelCompile, program.data(), program.size(), &options, &none);
  EXPECT_NE(outcome.status, ATTN_OK);
  EXPECT_NE(outcome.message.find("missing"), std::string::npos)
      << outcome.message;
}

TEST(Compile, TakesOptions) {
  attnCompileOptions options = makeOptions();
  options.target = "baseline";
  options.schedule = "#attn.schedule<tile_m = 8, tile_n = 8, lanes = 4, "
                     "unroll_m = 1, unroll_n = 1>";
  for (int32_t level : {-1, 0, 1, 2, 3}) {
    options.opt_level = level;
    EXPECT_TRUE(compile(kMean, &options)) << level;
  }

  attnKernel *kernel = nullptr;
  auto reject = [&](attnStatus status, const char *text) {
    expectFailure(status, text, attnKernelCompile, kMean, sizeof(kMean) - 1,
                  &options, &kernel);
  };
  options.opt_level = 4;
  reject(ATTN_INVALID_ARGUMENT,
         "expects opt_level to be from -1 to 3, but got 4");
  options.opt_level = -2;
  reject(ATTN_INVALID_ARGUMENT, "opt_level");
  options.opt_level = 0;
  options.target = "abacus";
  Outcome outcome =
      call(attnKernelCompile, kMean, sizeof(kMean) - 1, &options, &kernel);
  EXPECT_NE(outcome.status, ATTN_OK);
  EXPECT_NE(outcome.message.find("abacus"), std::string::npos);
  options.target = nullptr;
  options.schedule = "#attn.schedule<no>";
  outcome =
      call(attnKernelCompile, kMean, sizeof(kMean) - 1, &options, &kernel);
  EXPECT_NE(outcome.status, ATTN_OK);
}

TEST(Compile, RejectsNull) {
  attnKernel *kernel = nullptr;
  expectFailure(ATTN_INVALID_ARGUMENT, "expects a program, but got NULL",
                attnKernelCompile, nullptr, size_t(5), nullptr, &kernel);
  expectFailure(ATTN_INVALID_ARGUMENT,
                "expects a place for the kernel, but got NULL",
                attnKernelCompile, kMean, sizeof(kMean) - 1, nullptr, nullptr);
  attnTensorInfo info = {};
  info.struct_size = sizeof(info);
  expectFailure(ATTN_INVALID_ARGUMENT, "expects a kernel, but got NULL",
                attnKernelInputInfo, nullptr, size_t(0), &info);
  expectFailure(ATTN_INVALID_ARGUMENT, "expects a kernel, but got NULL",
                attnKernelResultInfo, nullptr, size_t(0), &info);
  Owner<attnKernel> mean = compile(kMean);
  expectFailure(ATTN_INVALID_ARGUMENT,
                "expects an attnTensorInfo, but got NULL", attnKernelInputInfo,
                mean.get(), size_t(0), nullptr);
}

//===----------------------------------------------------------------------===//
// Structs of other versions
//===----------------------------------------------------------------------===//

/// The options as a later header may declare them.
struct LaterOptions {
  attnCompileOptions known;
  int64_t added;
};

TEST(Structs, MayBeLongerWithZeros) {
  LaterOptions options = {};
  options.known.struct_size = sizeof(options);
  EXPECT_TRUE(compile(kMean, &options.known));
  options.added = 1;
  attnKernel *kernel = nullptr;
  expectFailure(
      ATTN_UNSUPPORTED, "expects members of attnCompileOptions that version ",
      attnKernelCompile, kMean, sizeof(kMean) - 1, &options.known, &kernel);
}

TEST(Structs, MustHaveASize) {
  attnCompileOptions options = {};
  attnKernel *kernel = nullptr;
  size_t first = offsetof(attnCompileOptions, device);
  for (size_t size : {size_t(0), first - 8, size_t(4097), SIZE_MAX}) {
    options.struct_size = size;
    expectFailure(ATTN_INVALID_ARGUMENT,
                  "expects struct_size of attnCompileOptions to be its sizeof, "
                  "which is " +
                      std::to_string(sizeof(options)) + " here, but got " +
                      std::to_string(size),
                  attnKernelCompile, kMean, sizeof(kMean) - 1, &options,
                  &kernel);
  }
}

TEST(Structs, MayBeThoseOfTheFirstVersion) {
  attnCompileOptions options = {};
  options.struct_size = offsetof(attnCompileOptions, device);
  // Beyond the end of the struct, whatever is in memory there.
  options.device = -1;
  attnKernel *kernel = nullptr;
  expectSuccess(attnKernelCompile, kMean, sizeof(kMean) - 1, &options, &kernel);
  Owner<attnKernel> owner(kernel);
  EXPECT_EQ(attnKernelDevice(kernel), ATTN_DEVICE_CPU);
  options.struct_size = sizeof(options);
  expectFailure(ATTN_INVALID_ARGUMENT,
                "expects device to be ATTN_DEVICE_CPU or ATTN_DEVICE_CUDA, but "
                "got -1",
                attnKernelCompile, kMean, sizeof(kMean) - 1, &options, &kernel);
  options.device = ATTN_DEVICE_CPU;
  options.tuning = 7;
  expectFailure(ATTN_INVALID_ARGUMENT,
                "expects tuning to be ATTN_TUNING_AUTO or ATTN_TUNING_OFF, but "
                "got 7",
                attnKernelCompile, kMean, sizeof(kMean) - 1, &options, &kernel);
}

TEST(Options, Determinism) {
  const std::string program = R"mlir(
func.func @loss(%q: tensor<1x2x128x64xbf16>) -> tensor<1x2x128x64xbf16> {
  %o = attn.attention
      ins(%q, %q, %q : tensor<1x2x128x64xbf16>, tensor<1x2x128x64xbf16>,
                       tensor<1x2x128x64xbf16>)
      outs(%q : tensor<1x2x128x64xbf16>)
  return %o : tensor<1x2x128x64xbf16>
}
)mlir";
  attnString *out = nullptr;
  expectSuccess(attnDifferentiate, program.data(), program.size(), nullptr,
                &out);
  Owner<attnString> gradient(out);
  const std::string text(attnStringData(out), attnStringSize(out));
  auto print = [&](const std::string &text, attnDeterminism determinism) {
    attnCompileOptions options = {};
    options.struct_size = sizeof(options);
    options.device = ATTN_DEVICE_CUDA;
    options.deterministic = determinism;
    attnString *printed = nullptr;
    expectSuccess(attnPrintAfter, text.data(), text.size(), &options,
                  "attn-shape-function", &printed);
    Owner<attnString> owner(printed);
    return std::string(attnStringData(printed), attnStringSize(printed))
               .find("nondeterministic") != std::string::npos;
  };
  EXPECT_FALSE(print(text, ATTN_DETERMINISM_AS_WRITTEN));
  EXPECT_FALSE(print(text, ATTN_DETERMINISTIC));
  EXPECT_TRUE(print(text, ATTN_NONDETERMINISTIC));
  // Whatever the program says, options win.
  std::string marked = text;
  size_t at = marked.find(
      ')', marked.find("outs(", marked.find("attn.attention_grad")));
  ASSERT_NE(at, std::string::npos);
  marked.insert(at + 1, " attributes {nondeterministic}");
  EXPECT_TRUE(print(marked, ATTN_DETERMINISM_AS_WRITTEN));
  EXPECT_FALSE(print(marked, ATTN_DETERMINISTIC));
  EXPECT_TRUE(print(marked, ATTN_NONDETERMINISTIC));
  attnCompileOptions options = {};
  options.struct_size = sizeof(options);
  options.deterministic = 3;
  attnKernel *kernel = nullptr;
  expectFailure(ATTN_INVALID_ARGUMENT,
                "expects deterministic to be ATTN_DETERMINISM_AS_WRITTEN, "
                "ATTN_DETERMINISTIC or ATTN_NONDETERMINISTIC, but got 3",
                attnKernelCompile, kMean, sizeof(kMean) - 1, &options, &kernel);
  options.deterministic = 0;
  options.reserved = 1;
  expectFailure(ATTN_UNSUPPORTED,
                "expects the reserved member of attnCompileOptions to be 0",
                attnKernelCompile, kMean, sizeof(kMean) - 1, &options, &kernel);
}

TEST(Options, Schedules) {
  attnCompileOptions options = {};
  options.struct_size = sizeof(options);
  options.device = ATTN_DEVICE_CUDA;
  options.schedules = "/nonexistent/schedules.json";
  attnKernel *kernel = nullptr;
  expectFailure(
      ATTN_INVALID_ARGUMENT,
      "cannot read the schedules of '/nonexistent/schedules.json': No such",
      attnKernelCompile, kMean, sizeof(kMean) - 1, &options, &kernel);
  // They mean nothing on a CPU.
  options.device = ATTN_DEVICE_CPU;
  expectSuccess(attnKernelCompile, kMean, sizeof(kMean) - 1, &options, &kernel);
  Owner<attnKernel> owner(kernel);
}

TEST(Options, Names) {
  attnCompileOptions options = {};
  options.struct_size = sizeof(options);
  auto expect = [&](const char *text) {
    attnKernel *kernel = nullptr;
    expectFailure(ATTN_INVALID_ARGUMENT, text, attnKernelCompile, kMean,
                  sizeof(kMean) - 1, &options, &kernel);
  };
  options.target = "z80";
  expect("expects the target to be host, baseline");
  options.target = nullptr;
  options.sparsity = "x";
  expect("expects a form of a sparsity to be auto");
  options.sparsity = nullptr;
  attnString *text = nullptr;
  expectFailure(ATTN_INVALID_ARGUMENT, "expects a pass of the pipeline",
                attnPrintAfter, kMean, sizeof(kMean) - 1, &options, "nope",
                &text);
}

TEST(Device, NeedsNoGPUToCompile) {
  attnCompileOptions options = {};
  options.struct_size = sizeof(options);
  options.device = ATTN_DEVICE_CUDA;
  std::string program = kMean;
  // Not everything runs on one.
  attnKernel *kernel = nullptr;
  for (size_t at; (at = program.find("f32")) != std::string::npos;)
    program.replace(at, 3, "f64");
  expectFailure(ATTN_UNSUPPORTED, "the target cpu can run it",
                attnKernelCompile, program.data(), program.size(), &options,
                &kernel);
  const std::string wide = R"mlir(
func.func @wide(%q: tensor<1x2x?x64xf16>, %k: tensor<1x2x?x64xf16>)
    -> tensor<1x2x?x64xf16> {
  %c2 = arith.constant 2 : index
  %s = tensor.dim %q, %c2 : tensor<1x2x?x64xf16>
  %init = tensor.empty(%s) : tensor<1x2x?x64xf16>
  %o = attn.attention
      ins(%q, %k, %k : tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>,
                       tensor<1x2x?x64xf16>)
      outs(%init : tensor<1x2x?x64xf16>)
  return %o : tensor<1x2x?x64xf16>
}
)mlir";
  expectSuccess(attnKernelCompile, wide.data(), wide.size(), &options, &kernel);
  Owner<attnKernel> owner(kernel);
  EXPECT_EQ(attnKernelDevice(kernel), ATTN_DEVICE_CUDA);
  EXPECT_EQ(attnKernelDevice(nullptr), ATTN_DEVICE_CPU);
  attnString *out = nullptr;
  expectSuccess(attnKernelReport, kernel, &out);
  Owner<attnString> json(out);
  for (const char *part : {"\"kernels\":[{", "\"entry\":", "\"ctasPerSm\":"})
    EXPECT_NE(std::strstr(attnStringData(out), part), nullptr);
  EXPECT_EQ(std::strstr(attnStringData(out), "prologues"), nullptr);
  // Saved and loaded, it gives shapes still.
  expectSuccess(attnKernelSave, kernel, &out);
  Owner<attnString> bytes(out);
  attnKernel *copy = nullptr;
  expectSuccess(attnKernelLoad, attnStringData(out), attnStringSize(out),
                &copy);
  Owner<attnKernel> copyOwner(copy);
  EXPECT_EQ(attnKernelDevice(copy), ATTN_DEVICE_CUDA);
  const int64_t qShape[] = {1, 2, 300, 64}, kShape[] = {1, 2, 500, 64};
  attnTensor inputs[2] = {};
  for (int i = 0; i < 2; ++i) {
    inputs[i].struct_size = sizeof(attnTensor);
    inputs[i].dtype = ATTN_F16;
    inputs[i].rank = 4;
    inputs[i].shape = i == 0 ? qShape : kShape;
  }
  int64_t extents[4] = {};
  expectSuccess(attnKernelResultShapes, copy, inputs, size_t(2), extents,
                size_t(4));
  EXPECT_EQ(extents[2], 300);
  // To run it is another matter.
  expectSuccess(attnDeviceCheck, ATTN_DEVICE_CPU);
  expectFailure(ATTN_UNSUPPORTED, "expects ATTN_DEVICE_CPU or ATTN_DEVICE_CUDA",
                attnDeviceCheck, attnDevice(2));
}

TEST(Structs, AreFilledToTheirOwnSize) {
  struct {
    attnTensorInfo known;
    int64_t added;
  } info = {};
  info.known.struct_size = sizeof(info);
  info.added = -1;
  Owner<attnKernel> kernel = compile(kMean);
  expectSuccess(attnKernelInputInfo, kernel.get(), 1, &info.known);
  EXPECT_EQ(info.known.rank, 4);
  EXPECT_EQ(info.known.struct_size, sizeof(info));
  EXPECT_EQ(info.added, 0);
  info.known.struct_size = 8;
  expectFailure(ATTN_INVALID_ARGUMENT, "struct_size of attnTensorInfo",
                attnKernelInputInfo, kernel.get(), 1, &info.known);
}

//===----------------------------------------------------------------------===//
// Looking into it
//===----------------------------------------------------------------------===//

TEST(Report, IsJSON) {
  Owner<attnKernel> kernel = compile(kMean);
  attnString *out = nullptr;
  expectSuccess(attnKernelReport, kernel.get(), &out);
  Owner<attnString> json(out);
  std::string text = attnStringData(out);
  EXPECT_EQ(text.size(), attnStringSize(out));
  for (const char *key :
       {"\"target\":\"", "\"objectSize\":", "\"milliseconds\":", "\"stages\":[",
        "{\"milliseconds\":", "\"name\":\"parse\"", "\"name\":\"load\"",
        "\"remarks\":[", "\"warnings\":\""})
    EXPECT_NE(text.find(key), std::string::npos) << key << " in " << text;
  EXPECT_EQ(text.front(), '{');
  EXPECT_EQ(text.back(), '}');
  expectFailure(ATTN_INVALID_ARGUMENT, "expects a kernel, but got NULL",
                attnKernelReport, nullptr, &out);
  expectFailure(ATTN_INVALID_ARGUMENT,
                "expects a place for the report, but got NULL",
                attnKernelReport, kernel.get(), nullptr);
}

TEST(Dump, GivesEachStage) {
  using Stages = std::map<std::string, std::string>;
  Stages stages;
  attnCompileOptions options = makeOptions();
  options.dump_ir = [](void *user, const char *stage, const char *text,
                       size_t size) {
    EXPECT_EQ(std::strlen(text), size);
    (*static_cast<Stages *>(user))[stage] = text;
  };
  options.dump_llvm = options.dump_ir;
  options.dump_user = &stages;
  ASSERT_TRUE(compile(kMean, &options));
  EXPECT_NE(stages["attn-online-softmax"].find("attn.online_attention"),
            std::string::npos);
  EXPECT_NE(stages["llvm"].find("define"), std::string::npos);
  EXPECT_NE(stages["llvm-optimized"].find("define"), std::string::npos);
  EXPECT_FALSE(stages["asm"].empty());
}

TEST(PrintAfter, StopsBehindAPass) {
  attnString *out = nullptr;
  expectSuccess(attnPrintAfter, kMean, sizeof(kMean) - 1, nullptr, "attn-tile",
                &out);
  Owner<attnString> text(out);
  EXPECT_NE(std::strstr(attnStringData(out), "attn.online_step"), nullptr);

  Outcome outcome = call(attnPrintAfter, kMean, sizeof(kMean) - 1, nullptr,
                         "attn-missing", &out);
  EXPECT_NE(outcome.status, ATTN_OK);
  EXPECT_NE(outcome.message.find("attn-missing"), std::string::npos);
  EXPECT_EQ(out, nullptr);
  expectFailure(ATTN_INVALID_ARGUMENT, "expects a pass, but got NULL",
                attnPrintAfter, kMean, sizeof(kMean) - 1, nullptr, nullptr,
                &out);
  expectFailure(ATTN_INVALID_ARGUMENT, "expects a program, but got NULL",
                attnPrintAfter, nullptr, size_t(0), nullptr, "attn-tile", &out);
  expectFailure(ATTN_INVALID_ARGUMENT,
                "expects a place for the text, but got NULL", attnPrintAfter,
                kMean, sizeof(kMean) - 1, nullptr, "attn-tile", nullptr);
}

TEST(PipelinePasses, AreNamed) {
  attnString *out = nullptr;
  expectSuccess(attnPipelinePasses, &out);
  Owner<attnString> names(out);
  EXPECT_NE(std::strstr(attnStringData(out), "attn-tile\n"), nullptr);
  expectFailure(ATTN_INVALID_ARGUMENT,
                "expects a place for the names, but got NULL",
                attnPipelinePasses, nullptr);
}

TEST(Tune, SaysWhatIsWrong) {
  attnTuneOptions options = {};
  options.struct_size = sizeof(options);
  const char *worker[] = {"/nonexistent/worker"};
  options.worker = worker;
  options.num_worker = 1;
  attnString *report = nullptr;
  auto expect = [&](attnStatus status, const char *text) {
    expectFailure(status, text, attnTune, kMean, sizeof(kMean) - 1, nullptr,
                  nullptr, 0, &options, &report);
    EXPECT_EQ(report, nullptr);
  };
  for (double seconds : {0.0, -1.0}) {
    options.seconds = seconds;
    expect(ATTN_INVALID_ARGUMENT, "expects more than 0 seconds to tune");
  }
  options.seconds = 1;
  expect(ATTN_INVALID_ARGUMENT, "expects 3 inputs of the types and ranks of "
                                "the program's to tune, but got 0");
  // What is read of inputs is asked before.
  int64_t shape[] = {1, 1, 2, 8}, strides[] = {1, 1, int64_t(1) << 61, 1};
  std::vector<float> values(16);
  attnTensor input = {sizeof(input), nullptr, ATTN_F32, 4, shape, nullptr};
  auto expectOfInput = [&](const char *text) {
    expectFailure(ATTN_INVALID_ARGUMENT, text, attnTune, kMean,
                  sizeof(kMean) - 1, nullptr, &input, 1, &options, &report);
  };
  expectOfInput("expects input 0 to have data, but got a null pointer");
  input.data = values.data();
  input.strides = strides;
  expectOfInput("expects input 0 to have strides that stay in the address");
  options.num_worker = 0;
  expect(ATTN_INVALID_ARGUMENT, "expects the command of a worker");
  options.struct_size = 1;
  expect(ATTN_INVALID_ARGUMENT, "struct_size of attnTuneOptions");
  expectFailure(ATTN_INVALID_ARGUMENT, "expects attnTuneOptions, but got NULL",
                attnTune, kMean, sizeof(kMean) - 1, nullptr, nullptr, 0,
                nullptr, &report);
}

TEST(Explain, TellsWhatRuns) {
  Owner<attnKernel> kernel = compile(kMean);
  attnString *report = nullptr;
  expectFailure(ATTN_INVALID_ARGUMENT, "expects a kernel", attnKernelExplain,
                nullptr, nullptr, 0, &report);
  expectFailure(ATTN_INVALID_ARGUMENT, "input", attnKernelExplain, kernel.get(),
                nullptr, 0, &report);
  std::vector<float> values(4);
  int64_t narrow[] = {1, 1, 1, 2}, wide[] = {1, 1, 1, 4};
  auto view = [&](const int64_t *shape) {
    return attnTensor{
        sizeof(attnTensor), values.data(), ATTN_F32, 4, shape, nullptr};
  };
  attnTensor inputs[] = {view(narrow), view(narrow), view(wide)};
  expectSuccess(attnKernelExplain, kernel.get(), inputs, 3, &report);
  Owner<attnString> owner(report);
  std::string text = attnStringData(report);
  for (const char *part :
       {"\"source\":\"model\"", "\"isTaken\":true,\"reason\":\"",
        "\"schedule\":\"#attn.schedule<", "\"tuned\":[]", "\"ruledOut\":[]"})
    EXPECT_NE(text.find(part), std::string::npos) << part;
}
