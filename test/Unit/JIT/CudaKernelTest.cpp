//===- CudaKernelTest.cpp - Kernels for a GPU, on a fake driver -----------===//

#include "../Cuda/FakeCuda.h"
#include "../Cuda/TestHelpers.h"
#include "TestTensor.h"
#include "attn/JIT/Differentiate.h"
#include "attn/JIT/Kernel.h"
#include "attn/JIT/TuningSpace.h"
#include "attn/Runtime/Cuda/Device.h"
#include "attn/Tune/Database.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "gtest/gtest.h"
#include <random>
#include <thread>

using namespace attn;
using cuda::get;
using cuda::getText;
using cuda::seal;

// In the layout bshd, with a scalar and a tensor that score and mask read.
static const char *const kProgram = R"mlir(
func.func @attn(%q: tensor<?x?x4x64xbf16>, %k: tensor<?x?x2x64xbf16>, %v: tensor<?x?x2x64xbf16>,
                %window: index, %slopes: tensor<4xf32>)
    -> (tensor<?x?x4x64xbf16> {attn.name = "o"}, tensor<?x?x4xf32> {attn.name = "lse"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tensor.dim %q, %c0 : tensor<?x?x4x64xbf16>
  %s = tensor.dim %q, %c1 : tensor<?x?x4x64xbf16>
  %init = tensor.empty(%b, %s) : tensor<?x?x4x64xbf16>
  %linit = tensor.empty(%b, %s) : tensor<?x?x4xf32>
  %o, %lse = attn.attention layout(bshd)
      ins(%q, %k, %v : tensor<?x?x4x64xbf16>, tensor<?x?x2x64xbf16>, tensor<?x?x2x64xbf16>)
      captures(%window, %slopes : index, tensor<4xf32>)
      outs(%init, %linit : tensor<?x?x4x64xbf16>, tensor<?x?x4xf32>)
      score(%x, %sb, %sh, %i, %j, %w, %t) {
        %slope = tensor.extract %t[%sh] : tensor<4xf32>
        %y = arith.mulf %x, %slope : f32
        attn.yield %y : f32
      }
      mask(%mb, %mh, %i, %j, %w, %t) {
        %d = arith.subi %i, %j : index
        %p = arith.cmpi sle, %d, %w : index
        attn.yield %p : i1
      }
  return %o, %lse : tensor<?x?x4x64xbf16>, tensor<?x?x4xf32>
}
)mlir";

namespace {
/// A tensor in memory of the fake GPU, which is the host's.
struct DeviceTensor {
  DeviceTensor(cuda::Device device, DType dtype, llvm::ArrayRef<int64_t> shape)
      : tensor(dtype, shape), buffer(get(cuda::DeviceBuffer::allocate(
                                  device, tensor.tensor.getSizeInBytes()))) {}

  TensorView view() const {
    TensorView view = tensor.view();
    view.data = buffer.getData();
    return view;
  }

  TestTensor tensor;
  cuda::DeviceBuffer buffer;
};

class CudaKernel : public ::testing::Test {
protected:
  void SetUp() override {
    fakeCudaClear();
    // Of no kernel of another test.
    fakeCudaSetParams(nullptr, 0);
  }

  static CompileOptions getOptions() {
    CompileOptions options;
    options.device = DeviceKind::Cuda;
    return options;
  }

  std::vector<TensorView> getInputs() {
    TensorView scalar = {&window, int32_t(DType::I64), 0, nullptr, nullptr};
    return {q.view(), k.view(), v.view(), scalar, slopes.view()};
  }

  // Before the first use of a driver.
  cuda::ScopedVariable library{"ATTN_LIBCUDA", ATTN_FAKE_CUDA};
  cuda::ScopedVariable ptxas{"ATTN_PTXAS", "off"};
  cuda::Device device = get(cuda::Device::get(0));
  DeviceTensor q{device, DType::BF16, {2, 300, 4, 64}};
  DeviceTensor k{device, DType::BF16, {2, 500, 2, 64}};
  DeviceTensor v{device, DType::BF16, {2, 500, 2, 64}};
  DeviceTensor slopes{device, DType::F32, {4}};
  DeviceTensor o{device, DType::BF16, {2, 300, 4, 64}};
  DeviceTensor lse{device, DType::F32, {2, 300, 4}};
  int64_t window = 17;
};
} // namespace

TEST_F(CudaKernel, Launches) {
  // Other variants would have tiles of several heads, or of parts of the keys.
  CompileOptions options = getOptions();
  options.schedule =
      "#hopper.schedule<tile_m = 192, tile_n = 128, stages = 4, registers = "
      "160, persistent, ping_pong>";
  Kernel kernel = get(Kernel::compile(kProgram, options));
  EXPECT_EQ(kernel.device(), DeviceKind::Cuda);
  for (unsigned input = 0; input < 5; ++input)
    EXPECT_EQ(kernel.isOnHost(input), input == 3) << input;
  // Shapes need no device.
  std::vector<Shape> shapes = get(kernel.resultShapes(getInputs()));
  EXPECT_EQ(shapes, (std::vector<Shape>{{2, 300, 4, 64}, {2, 300, 4}}));
  EXPECT_EQ(fakeCudaGetCount("cuLaunchKernelEx"), 0);

  const cuda::Variant &variant =
      kernel.package().program->launches[0].variants[0];
  std::vector<int> sizes;
  for (const cuda::Param &param : variant.params)
    sizes.push_back(param.kind == cuda::ParamKind::TensorMap ? 128
                    : param.kind == cuda::ParamKind::Extent  ? 4
                                                             : 8);
  fakeCudaSetParams(sizes.data(), sizes.size());
  EXPECT_EQ(getText(kernel.run(getInputs(), {o.view(), lse.view()})), "");
  // 4 multiprocessors, on which one block each has the memory it needs, have
  // 2 * 4 heads of 2 tiles.
  EXPECT_TRUE(llvm::StringRef(fakeCudaGetLog())
                  .contains("launch attn on 0 grid 4,1,1 block 512,1,1"))
      << fakeCudaGetLog();
  size_t numMaps = 0, numScalars = 0;
  for (auto [number, param] : llvm::enumerate(variant.params)) {
    const void *value = fakeCudaGetParam(number);
    const DeviceTensor *tensors[] = {&q, &k, &v, nullptr, &slopes, &o, &lse};
    const DeviceTensor *tensor = tensors[param.operand];
    switch (param.kind) {
    case cuda::ParamKind::TensorMap:
      ++numMaps;
      EXPECT_EQ(*static_cast<const uint64_t *>(value),
                tensor->buffer.getAddress());
      // Column, row, head, batch.
      EXPECT_EQ(param.map.dims, (llvm::SmallVector<int32_t, 5>{3, 1, 2, 0}));
      EXPECT_EQ(param.map.box[0], 64u);
      break;
    case cuda::ParamKind::Pointer:
      EXPECT_EQ(*static_cast<const uint64_t *>(value),
                tensor->buffer.getAddress());
      break;
    case cuda::ParamKind::Counter:
      EXPECT_NE(*static_cast<const uint64_t *>(value), 0u);
      break;
    case cuda::ParamKind::PackedCount:
      ADD_FAILURE() << "a tile of this variant has the queries of one head";
      break;
    case cuda::ParamKind::Extent:
      EXPECT_EQ(*static_cast<const int32_t *>(value),
                tensor->view().shape[param.dim]);
      break;
    case cuda::ParamKind::Stride:
      EXPECT_EQ(*static_cast<const int64_t *>(value),
                tensor->view().strides[param.dim]);
      break;
    case cuda::ParamKind::Scalar:
      ++numScalars;
      EXPECT_EQ(param.operand, 3);
      EXPECT_EQ(*static_cast<const int64_t *>(value), 17);
      break;
    }
  }
  EXPECT_EQ(numMaps, 4u);
  EXPECT_EQ(numScalars, 1u);
}

// Queries with lists of keys, in the layout bshd.
static const char *const kLists = R"mlir(
!q = tensor<?x?x4x64xbf16>
!k = tensor<?x?x2x64xbf16>
!rows = tensor<4x?xi32>
!columns = tensor<?xi32>
func.func @attn(%q: !q, %k: !k, %v: !k, %rows: !rows, %columns: !columns) -> !q {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tensor.dim %q, %c0 : !q
  %s = tensor.dim %q, %c1 : !q
  %init = tensor.empty(%b, %s) : !q
  %o = attn.attention layout(bshd) ins(%q, %k, %v : !q, !k, !k)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : !rows, !columns)
      outs(%init : !q)
  return %o : !q
})mlir";

TEST_F(CudaKernel, LaunchesLists) {
  Kernel kernel = get(Kernel::compile(kLists, getOptions()));
  DeviceTensor rows(device, DType::I32, {4, 301});
  DeviceTensor columns(device, DType::I32, {1000});
  const cuda::Variant &variant =
      kernel.package().program->launches[0].variants[0];
  std::vector<int> sizes(variant.params.size(), 8);
  fakeCudaSetParams(sizes.data(), sizes.size());
  std::vector<TensorView> inputs = {q.view(), k.view(), v.view(), rows.view(),
                                    columns.view()};
  EXPECT_EQ(getText(kernel.run(inputs, {o.view()})), "");
  // 2 * 4 heads of 75 times four queries, each of which has a warp.
  EXPECT_TRUE(llvm::StringRef(fakeCudaGetLog())
                  .contains("launch attn on 0 grid 600,1,1 block 128,1,1"))
      << fakeCudaGetLog();
  const DeviceTensor *tensors[] = {&q, &k, &v, &rows, &columns, &o};
  for (auto [number, param] : llvm::enumerate(variant.params)) {
    int64_t value = *static_cast<const int64_t *>(fakeCudaGetParam(number));
    const DeviceTensor &tensor = *tensors[param.operand];
    EXPECT_EQ(param.kind == cuda::ParamKind::Extent ? param.bits : 64, 64);
    if (param.kind == cuda::ParamKind::Pointer)
      EXPECT_EQ(static_cast<uint64_t>(value), tensor.buffer.getAddress());
    else if (param.kind == cuda::ParamKind::Extent)
      EXPECT_EQ(value, tensor.view().shape[param.dim]);
    else
      EXPECT_EQ(value, tensor.view().strides[param.dim]);
  }
  // Other kernels have fewer.
  fakeCudaSetParams(sizes.data(), 0);
}

TEST_F(CudaKernel, ChecksLists) {
  Kernel kernel = get(Kernel::compile(kLists, getOptions()));
  const cuda::ListChecks &checks = kernel.package().program->checks;
  ASSERT_EQ(checks.kernels.size(), 1u);
  EXPECT_EQ(checks.words, 6);
  EXPECT_EQ(checks.numSites, 4);
  EXPECT_EQ(kernel.package().metadata.sites.size(), 4u);
  DeviceTensor rows(device, DType::I32, {4, 301});
  DeviceTensor columns(device, DType::I32, {1000});
  std::vector<TensorView> inputs = {q.view(), k.view(), v.view(), rows.view(),
                                    columns.view()};
  RunOptions options;
  EXPECT_EQ(getText(kernel.run(inputs, {o.view()}, options)), "");
  EXPECT_FALSE(llvm::StringRef(fakeCudaGetLog()).contains("attn_check0"));
  options.checkLists = true;
  EXPECT_EQ(getText(kernel.run(inputs, {o.view()}, options)), "");
  // A warp for each of the 4 * 300 lists, which batches share.
  EXPECT_TRUE(llvm::StringRef(fakeCudaGetLog())
                  .contains("launch attn_check0 on 0 grid 300,1,1 block 128"))
      << fakeCudaGetLog();

  // The parameter that is the words.
  static int wordsParam;
  wordsParam = llvm::find_if(checks.kernels[0].params,
                             [](const cuda::Param &param) {
                               return param.operand == 6;
                             }) -
               checks.kernels[0].params.begin();
  fakeCudaClear();
  fakeCudaSetKernel("attn_check0", [](void **values) {
    uint64_t *words = *static_cast<uint64_t **>(values[wordsParam]);
    const uint64_t found[] = {17, 500, 499, 20, 3, 3};
    std::copy(std::begin(found), std::end(found), words + 6);
  });
  llvm::Error error = kernel.run(inputs, {o.view()}, options);
  fakeCudaSetKernel("", nullptr);
  llvm::handleAllErrors(std::move(error), [](const llvm::StringError &info) {
    EXPECT_EQ(info.convertToErrorCode(),
              std::make_error_code(std::errc::result_out_of_range));
    EXPECT_EQ(info.getMessage(),
              "<input>:12:8: error: 'attn.attention' op expects columns of the "
              "sparsity to be from 0 to below 499, but got 500\n"
              "<input>:12:8: error: 'attn.attention' op expects the columns of "
              "a row of the sparsity to ascend, but got 3 after one that is "
              "not less");
  });
  EXPECT_FALSE(llvm::StringRef(fakeCudaGetLog()).contains("launch attn on"));
}

// Tokens see those of their document, for which a table is prepared.
static const char *const kDocuments = R"mlir(
!q = tensor<2x?x4x64xbf16>
!k = tensor<2x?x2x64xbf16>
!d = tensor<?xi32>
func.func @attn(%q: !q, %k: !k, %v: !k, %rows: !d, %columns: !d) -> !q {
  %c1 = arith.constant 1 : index
  %s = tensor.dim %q, %c1 : !q
  %init = tensor.empty(%s) : !q
  %o = attn.attention layout(bshd) ins(%q, %k, %v : !q, !k, !k)
      captures(%rows, %columns : !d, !d) outs(%init : !q)
      mask(%b, %h, %i, %j, %r, %c) {
        %x = tensor.extract %r[%i] : !d
        %y = tensor.extract %c[%j] : !d
        %p = arith.cmpi eq, %x, %y : i32
        attn.yield %p : i1
      }
  return %o : !q
})mlir";

/// A kernel that was tuned for inputs, in the database of the environment.
static Kernel makeTuned(const CompileOptions &options,
                        llvm::ArrayRef<TensorView> inputs,
                        const std::string &file) {
  TuningSpace space = get(getTuningSpace(kDocuments, options));
  TuningPlace place = get(getTuningPlace(options));
  KernelPackage package = get(compileToPackage(kDocuments, options));
  tune::Entry entry;
  entry.program = space.program;
  entry.device = place.device;
  entry.version = place.version;
  entry.bucket = tune::getBucket(
      getFreeExtents(package.metadata.inputs, [&](size_t input, size_t dim) {
        return inputs[input].shape[dim];
      }));
  entry.schedule = space.candidates.front().schedule;
  entry.seconds = entry.untunedSeconds = 1e-6;
  tune::Database database = get(tune::Database::open(file, true));
  EXPECT_EQ(getText(database.put(entry, {})), "");
  return get(Kernel::compile(kDocuments, options));
}

TEST_F(CudaKernel, PreparesWhatIsTuned) {
  llvm::SmallString<128> folder;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("attn-tuned", folder));
  llvm::scope_exit remove([&] { llvm::sys::fs::remove_directories(folder); });
  std::string file = (folder + "/tuning.db").str();
  cuda::ScopedVariable database("ATTN_TUNING_DB", file.c_str());
  cuda::ScopedVariable check("ATTN_CHECK_PREPARED", "1");
  DeviceTensor rows(device, DType::I32, {300}),
      columns(device, DType::I32, {500});
  std::memset(rows.buffer.getData(), 0, 300 * 4);
  std::memset(columns.buffer.getData(), 0, 500 * 4);
  std::vector<TensorView> inputs = {q.view(), k.view(), v.view(), rows.view(),
                                    columns.view()};
  Kernel kernel = makeTuned(getOptions(), inputs, file);
  EXPECT_EQ(get(kernel.getLoaded()->explain(inputs)).source, "exact");

  // The host reads no memory of the device, but copies it.
  RunOptions options;
  auto prepared = get(kernel.prepare(inputs, options));
  EXPECT_GT(prepared->getBytes(), 0u);
  options.prepared = prepared.get();
  int before = fakeCudaGetCount("cuMemcpyDtoHAsync_v2");
  EXPECT_EQ(getText(kernel.run(inputs, {o.view()}, options)), "");
  EXPECT_EQ(fakeCudaGetCount("cuMemcpyDtoHAsync_v2"), before + 2);
  static_cast<int32_t *>(columns.buffer.getData())[499] = 1;
  EXPECT_NE(getText(kernel.run(inputs, {o.view()}, options))
                .find("prepare again after a change"),
            std::string::npos);
  static_cast<int32_t *>(columns.buffer.getData())[499] = 0;

  // After a failure the compiler's choice runs, for which nothing is prepared.
  fakeCudaFail("cuLaunchKernelEx", 2);
  EXPECT_NE(getText(kernel.run(inputs, {o.view()}, options)), "");
  fakeCudaClear();
  EXPECT_EQ(get(kernel.getLoaded()->explain(inputs)).source, "model");
  EXPECT_EQ(getText(kernel.run(inputs, {o.view()}, options)), "");
  auto again = get(kernel.prepare(inputs, RunOptions()));
  options.prepared = again.get();
  EXPECT_EQ(getText(kernel.run(inputs, {o.view()}, options)), "");

  // The same where it is prepared.
  kernel = get(Kernel::compile(kDocuments, getOptions()));
  EXPECT_EQ(get(kernel.getLoaded()->explain(inputs)).source, "exact");
  fakeCudaFail("cuLaunchKernelEx", 2);
  EXPECT_NE(getText(kernel.prepare(inputs, RunOptions())), "");
  fakeCudaClear();
  EXPECT_EQ(get(kernel.getLoaded()->explain(inputs)).source, "model");
  again = get(kernel.prepare(inputs, RunOptions()));
  options.prepared = again.get();
  EXPECT_EQ(getText(kernel.run(inputs, {o.view()}, options)), "");
}

TEST_F(CudaKernel, ChecksCalls) {
  Kernel kernel = get(Kernel::compile(kProgram, getOptions()));
  auto run = [&](llvm::ArrayRef<TensorView> inputs) {
    return getText(kernel.run(inputs, {o.view(), lse.view()}));
  };
  std::vector<TensorView> inputs = getInputs();
  TestTensor host(DType::BF16, {2, 300, 4, 64});
  inputs[0] = host.view();
  EXPECT_TRUE(llvm::StringRef(run(inputs)).contains("'q'")) << run(inputs);
  inputs = getInputs();
  DeviceTensor shorter(device, DType::BF16, {2, 499, 2, 64});
  inputs[2] = shorter.view();
  EXPECT_TRUE(llvm::StringRef(run(inputs)).contains("the same length"))
      << run(inputs);
  EXPECT_EQ(fakeCudaGetCount("cuLaunchKernelEx"), 0);
}

// Sums of queries, which are no result, are memory that there may not be: no
// kernel runs before it is known.
TEST_F(CudaKernel, ReportsThatMemoryForGradientsRunsOut) {
  DifferentiateOptions wrt;
  wrt.wrt = {"q"};
  Kernel kernel =
      get(Kernel::compile(get(differentiate(kProgram, wrt)), getOptions()));
  DeviceTensor dq(device, DType::BF16, {2, 300, 4, 64});
  std::vector<TensorView> inputs = getInputs();
  for (const DeviceTensor *more : {&o, &lse, &o, &lse})
    inputs.push_back(more->view());
  auto run = [&] { return kernel.run(inputs, {dq.view()}); };
  EXPECT_EQ(getText(run()), "");
  fakeCudaClear();
  fakeCudaFail("cuMemAllocFromPoolAsync", cuda::kErrorOutOfMemory);
  llvm::Error error = run();
  EXPECT_TRUE(cuda::isOutOfMemory(error));
  std::string text = getText(std::move(error));
  EXPECT_TRUE(llvm::StringRef(text).starts_with("expects ")) << text;
  EXPECT_TRUE(llvm::StringRef(text).ends_with(
      "iB of memory of device 0 (Fake 0) for intermediate results, but got "
      "only 1.0 GiB free"))
      << text;
  EXPECT_EQ(fakeCudaGetCount("cuLaunchKernelEx"), 0);
  // It is tried again.
  fakeCudaClear();
  EXPECT_EQ(getText(run()), "");
}

TEST_F(CudaKernel, RunsOnStreamsOfSeveralThreads) {
  Kernel kernel = get(Kernel::compile(kProgram, getOptions()));
  std::vector<std::thread> threads;
  std::atomic<int> numFailures{0};
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      cuda::Stream stream = get(cuda::Stream::create(device));
      RunOptions options;
      options.stream = stream.getHandle();
      for (int run = 0; run < 10; ++run)
        if (llvm::Error error =
                kernel.run(getInputs(), {o.view(), lse.view()}, options)) {
          llvm::consumeError(std::move(error));
          ++numFailures;
        }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(numFailures, 0);
  EXPECT_EQ(fakeCudaGetCount("cuLaunchKernelEx"), 40);
  EXPECT_TRUE(llvm::StringRef(fakeCudaGetLog()).contains(" stream\n"));
}

// What other functions of the module compute is no launch of the entry's.
TEST_F(CudaKernel, OtherFunctions) {
  std::string other = kProgram;
  other.replace(other.find("@attn("), 5, "@more");
  CompileOptions options = getOptions();
  options.entry = "attn";
  KernelPackage one = get(compileToPackage(kProgram, options)),
                ofTwo = get(compileToPackage(other + kProgram, options));
  ASSERT_EQ(ofTwo.program->launches.size(), 1u);
  EXPECT_EQ(ofTwo.program->launches[0].variants[0].ptx,
            one.program->launches[0].variants[0].ptx);
}

TEST_F(CudaKernel, Packages) {
  KernelPackage package = get(compileToPackage(kProgram, getOptions()));
  ASSERT_TRUE(package.program.has_value());
  std::string bytes = package.toBytes();
  KernelPackage copy = get(KernelPackage::fromBytes(bytes));
  EXPECT_EQ(copy.toBytes(), bytes);
  // The host has nothing to compile or to link.
  EXPECT_EQ(copy.object, "");
  ASSERT_TRUE(copy.program.has_value());
  EXPECT_EQ(copy.program->launches[0].variants[0].ptx,
            package.program->launches[0].variants[0].ptx);
  Kernel kernel = get(Kernel::load(std::move(copy)));
  EXPECT_EQ(kernel.device(), DeviceKind::Cuda);
  EXPECT_EQ(getText(kernel.run(getInputs(), {o.view(), lse.view()})), "");
  EXPECT_EQ(fakeCudaGetCount("cuLaunchKernelEx"), 1);
  // No cut is a package.
  for (size_t size = 0; size < bytes.size(); size += 97)
    EXPECT_NE(getText(KernelPackage::fromBytes(bytes.substr(0, size))), "");
}

/// Packages in which numbers of the descriptions, but not of the code, became
/// others: no launch ends the process.
TEST_F(CudaKernel, LaunchesNothingThatIsNone) {
  DeviceTensor rows(device, DType::I32, {4, 301});
  DeviceTensor columns(device, DType::I32, {1000});
  std::mt19937 random(1);
  int numRead = 0, numLaunched = 0;
  auto change = [&](const char *program, llvm::ArrayRef<TensorView> inputs,
                    llvm::ArrayRef<TensorView> results) {
    std::string bytes = get(compileToPackage(program, getOptions())).toBytes();
    // The metadata and what follows the magic of the GPU program.
    size_t codeSize = get(KernelPackage::fromBytes(bytes)).getCodeSize();
    size_t end = bytes.size() - sizeof(uint64_t) - codeSize;
    for (int run = 0; run < 300; ++run) {
      std::string changed = bytes;
      for (size_t i = 24; i < end; ++i)
        if (llvm::isDigit(changed[i]) && random() % 512 == 0)
          changed[i] = '0' + random() % 10;
      auto package = KernelPackage::fromBytes(seal(changed));
      if (!package) {
        llvm::consumeError(package.takeError());
        continue;
      }
      auto kernel = Kernel::load(std::move(*package));
      if (!kernel) {
        llvm::consumeError(kernel.takeError());
        continue;
      }
      ++numRead;
      RunOptions options;
      options.checkLists = run % 2 == 0;
      if (llvm::Error error = kernel->run(inputs, results, options))
        llvm::consumeError(std::move(error));
      else
        ++numLaunched;
    }
  };
  change(kProgram, getInputs(), {o.view(), lse.view()});
  change(kLists, {q.view(), k.view(), v.view(), rows.view(), columns.view()},
         {o.view()});
  EXPECT_GT(numRead, 50);
  EXPECT_GT(numLaunched, 20);
}

TEST_F(CudaKernel, HasANameThatPTXAllows) {
  for (llvm::StringRef name : {"4 my-kernel", "attn_shared"}) {
    std::string program = kProgram;
    program.replace(program.find("@attn("), 5, "@\"" + name.str() + "\"");
    Kernel kernel = get(Kernel::compile(program, getOptions()));
    EXPECT_EQ(kernel.package().metadata.entry, name);
    const std::string &entry =
        kernel.package().program->launches[0].variants[0].entry;
    EXPECT_EQ(entry,
              name == "attn_shared" ? "attn_shared_attn" : "_4_my_kernel");
    EXPECT_EQ(getText(kernel.run(getInputs(), {o.view(), lse.view()})), "");
  }
}

// At level 0 products would wait for each other.
TEST_F(CudaKernel, IsOptimizedInAnyCase) {
  std::string ptx[2];
  for (unsigned level : {0, 1}) {
    CompileOptions options = getOptions();
    options.optLevel = level;
    KernelPackage package = get(compileToPackage(kProgram, options));
    ptx[level] = package.program->launches[0].variants[0].ptx;
  }
  EXPECT_EQ(ptx[0], ptx[1]);
}

TEST_F(CudaKernel, RejectsWhatGPUsLack) {
  CompileOptions options = getOptions();
  options.boundsCheck = true;
  EXPECT_EQ(getText(Kernel::compile(kProgram, options)),
            "error: expects no check of bounds on a GPU; leave it out, or "
            "compile for the CPU");
  options = getOptions();
  options.schedule = "#attn.schedule<tile_m = 8, tile_n = 8, lanes = 4, "
                     "unroll_m = 2, unroll_n = 1>";
  std::string text = getText(Kernel::compile(kProgram, options));
  EXPECT_TRUE(
      llvm::StringRef(text).contains("expects a #hopper.schedule for a GPU"))
      << text;
}

TEST(Package, OfACPU) {
  // A function with the name that the loader looks for.
  const char *program = R"mlir(
func.func @attn.run(%q: tensor<1x1x?x4xf32>) -> tensor<1x1x?x4xf32> {
  %c2 = arith.constant 2 : index
  %s = tensor.dim %q, %c2 : tensor<1x1x?x4xf32>
  %init = tensor.empty(%s) : tensor<1x1x?x4xf32>
  %o = attn.attention
      ins(%q, %q, %q : tensor<1x1x?x4xf32>, tensor<1x1x?x4xf32>, tensor<1x1x?x4xf32>)
      outs(%init : tensor<1x1x?x4xf32>)
  return %o : tensor<1x1x?x4xf32>
}
)mlir";
  KernelPackage package = get(compileToPackage(program));
  EXPECT_FALSE(package.program.has_value());
  KernelPackage copy = get(KernelPackage::fromBytes(package.toBytes()));
  EXPECT_EQ(copy.object, package.object);
  Kernel kernel = get(Kernel::load(std::move(copy)));
  TestTensor q(DType::F32, {1, 1, 2, 4}), o(DType::F32, {1, 1, 2, 4});
  EXPECT_EQ(formatShape(get(kernel.resultShapes({q.view()}))[0]), "1x1x2x4");
  EXPECT_EQ(getText(kernel.run({q.view()}, {o.view()})), "");
}
