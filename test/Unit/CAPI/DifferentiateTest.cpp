//===- DifferentiateTest.cpp - Gradients through the C interface ----------===//

#include "TestHelpers.h"
#include <cmath>

static attnDifferentiateOptions makeGradientOptions() {
  attnDifferentiateOptions options = {};
  options.struct_size = sizeof(options);
  return options;
}

/// The text of the gradient of a program that has one.
static std::string
differentiate(const std::string &program,
              const attnDifferentiateOptions *options = nullptr) {
  attnString *text = nullptr;
  expectSuccess(attnDifferentiate, program.data(), program.size(), options,
                &text);
  Owner<attnString> owner(text);
  return std::string(attnStringData(text), attnStringSize(text));
}

static std::vector<std::string> getNames(const attnKernel *kernel,
                                         bool inputs) {
  std::vector<std::string> names;
  size_t count =
      inputs ? attnKernelNumInputs(kernel) : attnKernelNumResults(kernel);
  for (size_t index = 0; index < count; ++index) {
    attnTensorInfo info = {};
    info.struct_size = sizeof(info);
    expectSuccess(inputs ? attnKernelInputInfo : attnKernelResultInfo, kernel,
                  index, &info);
    names.push_back(info.name);
  }
  return names;
}

/// Causal, of two heads that share keys; the score reads a number of the head,
/// one of the query, one of the key, a table at a distance, and one of all
/// pairs for both heads.
static constexpr char kCausal[] = R"mlir(
!q = tensor<1x2x?x16xf32>
!k = tensor<1x1x?x16xf32>
func.func @causal(%q: !q, %k: !k, %v: !k, %head: tensor<2xf32>, %row: tensor<?xf32>,
    %column: tensor<?xf32>, %distance: tensor<?xf32>, %pair: tensor<?x?xf32>) -> (!q, tensor<1x2x?xf32>) {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%n) : !q
  %linit = tensor.empty(%n) : tensor<1x2x?xf32>
  %o, %lse = attn.attention ins(%q, %k, %v : !q, !k, !k)
      captures(%head, %row, %column, %distance, %pair
          : tensor<2xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?x?xf32>)
      outs(%init, %linit : !q, tensor<1x2x?xf32>)
      score(%s, %b, %h, %i, %j, %a, %r, %c, %t, %p) {
        %c30 = arith.constant 30 : index
        %d = arith.subi %i, %j : index
        %near = arith.minsi %d, %c30 : index
        %0 = tensor.extract %a[%h] : tensor<2xf32>
        %1 = tensor.extract %r[%i] : tensor<?xf32>
        %2 = tensor.extract %c[%j] : tensor<?xf32>
        %3 = tensor.extract %t[%near] : tensor<?xf32>
        %4 = tensor.extract %p[%i, %j] : tensor<?x?xf32>
        %5 = arith.mulf %s, %0 : f32
        %6 = arith.addf %5, %1 : f32
        %7 = arith.mulf %6, %2 : f32
        %8 = arith.addf %7, %3 : f32
        %9 = arith.addf %8, %4 : f32
        attn.yield %9 : f32
      }
      mask(%b, %h, %i, %j, %a, %r, %c, %t, %p) {
        %m = arith.cmpi sle, %j, %i : index
        attn.yield %m : i1
      }
  return %o, %lse : !q, tensor<1x2x?xf32>
}
)mlir";

using Names = std::vector<std::string>;

TEST(Differentiate, GivesAProgramOfInputsResultsAndTheirGradients) {
  Owner<attnKernel> kernel = compile(differentiate(kMean));
  ASSERT_TRUE(kernel);
  EXPECT_STREQ(attnKernelEntry(kernel.get()), "mean_grad");
  EXPECT_EQ(getNames(kernel.get(), true),
            (Names{"query", "k", "v", "o", "lse", "do", "dlse"}));
  EXPECT_EQ(getNames(kernel.get(), false), (Names{"dquery", "dk", "dv"}));

  // The mean of two values: half of the gradient of the result for either.
  Floats q({1, 1, 1, 2}, 1.0f), k({1, 1, 2, 2}, 1.0f);
  Floats v({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  Floats o({1, 1, 1, 4}, {3, 4, 5, 6}), lse({1, 1, 1}, std::log(2.0f));
  Floats outputGrad({1, 1, 1, 4}, {2, 4, 6, 8}), lseGrad({1, 1, 1}, 0.0f);
  Floats dq({1, 1, 1, 2}, -1.0f), dk({1, 1, 2, 2}, -1.0f);
  Floats dv({1, 1, 2, 4}, -1.0f);
  attnTensor inputs[] = {q.view(),   k.view(),          v.view(),      o.view(),
                         lse.view(), outputGrad.view(), lseGrad.view()};
  attnTensor results[] = {dq.view(), dk.view(), dv.view()};
  expectSuccess(attnKernelRun, kernel.get(), inputs, size_t(7), results,
                size_t(3), nullptr);
  EXPECT_EQ(dq.data, (std::vector<float>{0, 0}));
  EXPECT_EQ(dk.data, (std::vector<float>{0, 0, 0, 0}));
  const float half[] = {1, 2, 3, 4, 1, 2, 3, 4};
  for (size_t index = 0; index < dv.data.size(); ++index)
    EXPECT_NEAR(dv.data[index], half[index], 1e-6) << index;
}

TEST(Differentiate, TakesOptions) {
  std::string program = kMean;
  program += kLookup;
  attnDifferentiateOptions options = makeGradientOptions();
  const char *names[] = {"bias", "v"};
  options.entry = "lookup";
  options.wrt = names;
  options.num_wrt = 2;
  Owner<attnKernel> kernel = compile(differentiate(program, &options));
  ASSERT_TRUE(kernel);
  EXPECT_EQ(getNames(kernel.get(), true),
            (Names{"q", "v", "bias", "at", "o", "do"}));
  EXPECT_EQ(getNames(kernel.get(), false), (Names{"dv", "dbias"}));
  options.num_wrt = 1;
  options.joint = 1;
  kernel = compile(differentiate(program, &options));
  ASSERT_TRUE(kernel);
  EXPECT_EQ(getNames(kernel.get(), true),
            (Names{"q", "v", "bias", "at", "do"}));
  EXPECT_EQ(getNames(kernel.get(), false), (Names{"o", "dbias"}));
}

TEST(Differentiate, ReportsWhatIsWrong) {
  attnDifferentiateOptions options = makeGradientOptions();
  options.buffer_name = "model.mlir";
  attnString *text = reinterpret_cast<attnString *>(1);
  auto reject = [&](attnStatus status, const char *message) {
    expectFailure(status, message, attnDifferentiate, kLookup,
                  sizeof(kLookup) - 1, &options, &text);
    EXPECT_EQ(text, nullptr);
  };
  const char *names[] = {"nothing", nullptr};
  options.wrt = names;
  options.num_wrt = 1;
  reject(ATTN_COMPILE_ERROR,
         "expects gradients with respect to its arguments, but got 'nothing', "
         "which is none");
  names[0] = "at";
  reject(ATTN_COMPILE_ERROR,
         "expects gradients with respect to arguments of f64, f32, f16 or "
         "bf16, but got 'at' of 'index'");
  names[0] = "bias";
  options.num_wrt = 2;
  reject(ATTN_INVALID_ARGUMENT, "expects the name of an input, but got NULL");
  options.wrt = nullptr;
  reject(ATTN_INVALID_ARGUMENT, "expects names of inputs, but got NULL");
  options.num_wrt = 0;
  options.entry = "missing";
  reject(ATTN_COMPILE_ERROR, "expects a function of the name 'missing'");
  options.entry = nullptr;
  options.struct_size = 8;
  reject(ATTN_INVALID_ARGUMENT, "struct_size of attnDifferentiateOptions");
  expectFailure(ATTN_COMPILE_ERROR, "<input>:1:1: error:", attnDifferentiate,
                "nonsense", size_t(8), nullptr, &text);
  expectFailure(ATTN_INVALID_ARGUMENT, "expects a program, but got NULL",
                attnDifferentiate, nullptr, size_t(3), nullptr, &text);
  expectFailure(ATTN_INVALID_ARGUMENT,
                "expects a place for the text, but got NULL", attnDifferentiate,
                kLookup, sizeof(kLookup) - 1, nullptr, nullptr);
}

// Batches at one place need no memory of their own, but a number for each
// query.
TEST(Differentiate, ReportsThatMemoryRunsOut) {
  attnDifferentiateOptions options = makeGradientOptions();
  const char *names[] = {"k", "v"};
  options.wrt = names;
  options.num_wrt = 2;
  Owner<attnKernel> kernel = compile(differentiate(kMean, &options));
  ASSERT_TRUE(kernel);
  Floats q({int64_t(1) << 50, 1, 1, 2}, {1, 2}), k({1, 1, 1, 2}, 1.0f);
  Floats o({int64_t(1) << 50, 1, 1, 4}, {1, 2, 3, 4}), v({1, 1, 1, 4}, 1.0f);
  Floats lse({int64_t(1) << 50, 1, 1}, std::vector<float>{0});
  Floats dk({1, 1, 1, 2}, NAN), dv({1, 1, 1, 4}, NAN);
  int64_t strides[] = {0, 0, 0, 1}, lseStrides[] = {0, 0, 1};
  attnTensor inputs[] = {q.view(),   k.view(), v.view(),  o.view(),
                         lse.view(), o.view(), lse.view()};
  for (size_t number : {0, 3, 4, 5, 6})
    inputs[number].strides = inputs[number].rank == 4 ? strides : lseStrides;
  attnTensor results[] = {dk.view(), dv.view()};
  expectFailure(ATTN_OUT_OF_MEMORY,
                "kernel 'mean_grad' expects more memory for intermediate "
                "results than there is",
                attnKernelRun, kernel.get(), inputs, size_t(7), results,
                size_t(2), nullptr);
  for (const Floats *result : {&dk, &dv})
    for (float number : result->data)
      EXPECT_TRUE(std::isnan(number));
}

// Parts, workers and copies that are summed follow from extents alone.
TEST(Differentiate, GivesTheSameBitsWithAnyThreads) {
  // Two parts, of four KV blocks and of one that is ragged.
  const int64_t length = 37;
  attnDifferentiateOptions options = makeGradientOptions();
  options.joint = 1;
  attnCompileOptions compileOptions = makeOptions();
  compileOptions.target = "baseline";
  compileOptions.schedule = "#attn.schedule<tile_m = 8, tile_n = 8, lanes = 4, "
                            "unroll_m = 2, unroll_n = 1>";
  Owner<attnKernel> kernel =
      compile(differentiate(kCausal, &options), &compileOptions);
  ASSERT_TRUE(kernel);
  std::vector<std::vector<int64_t>> shapes = {{1, 2, length, 16},
                                              {1, 1, length, 16},
                                              {1, 1, length, 16},
                                              {2},
                                              {length},
                                              {length},
                                              {31},
                                              {length, length}};
  std::vector<Floats> tensors, gradients;
  uint32_t state = 1;
  for (const std::vector<int64_t> &shape : shapes) {
    tensors.emplace_back(shape, 0.0f);
    for (float &number : tensors.back().data)
      number =
          float(int32_t(state = state * 1664525 + 1013904223)) / (1u << 31);
  }
  // The gradients of the results are numbers as any others.
  tensors.push_back(tensors[0]);
  tensors.emplace_back(std::vector<int64_t>{1, 2, length}, 0.5f);
  std::vector<attnTensor> inputs, results;
  for (Floats &tensor : tensors)
    inputs.push_back(tensor.view());
  gradients.emplace_back(shapes[0], NAN);
  gradients.emplace_back(std::vector<int64_t>{1, 2, length}, NAN);
  for (const std::vector<int64_t> &shape : shapes)
    gradients.emplace_back(shape, NAN);
  for (Floats &tensor : gradients)
    results.push_back(tensor.view());

  std::vector<Owner<attnThreadPool>> pools;
  for (int threads : {1, 2, 5}) {
    attnThreadPool *pool = nullptr;
    expectSuccess(attnThreadPoolCreate, threads, &pool);
    pools.emplace_back(pool);
  }
  std::vector<std::vector<float>> first;
  for (int run = 0; run < 1000; ++run) {
    attnRunOptions how = {};
    how.struct_size = sizeof(how);
    how.pool = pools[run % pools.size()].get();
    for (Floats &tensor : gradients)
      std::fill(tensor.data.begin(), tensor.data.end(), NAN);
    ASSERT_EQ(attnKernelRun(kernel.get(), inputs.data(), inputs.size(),
                            results.data(), results.size(), &how, nullptr),
              ATTN_OK);
    for (size_t number = 0; number < gradients.size(); ++number) {
      const std::vector<float> &data = gradients[number].data;
      if (run == 0) {
        first.push_back(data);
        for (float x : data)
          ASSERT_TRUE(std::isfinite(x)) << number;
      }
      ASSERT_EQ(memcmp(data.data(), first[number].data(),
                       data.size() * sizeof(float)),
                0)
          << "result " << number << " of run " << run;
    }
  }
}
