//===- KernelTest.cpp - Compile and run -----------------------------------===//

#include "attn/JIT/Kernel.h"
#include "TestTensor.h"
#include "gtest/gtest.h"

using namespace attn;

static const char *const kCausal = R"mlir(
func.func @causal(%q: tensor<?x?x?x16xf32>, %k: tensor<?x?x?x16xf32>, %v: tensor<?x?x?x8xf32>)
    -> (tensor<?x?x?x8xf32>, tensor<?x?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : tensor<?x?x?x16xf32>
  %h = tensor.dim %q, %c1 : tensor<?x?x?x16xf32>
  %s = tensor.dim %q, %c2 : tensor<?x?x?x16xf32>
  %init = tensor.empty(%b, %h, %s) : tensor<?x?x?x8xf32>
  %linit = tensor.empty(%b, %h, %s) : tensor<?x?x?xf32>
  %o, %lse = attn.attention
      ins(%q, %k, %v : tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>, tensor<?x?x?x8xf32>)
      outs(%init, %linit : tensor<?x?x?x8xf32>, tensor<?x?x?xf32>)
      mask(%mb, %mh, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %o, %lse : tensor<?x?x?x8xf32>, tensor<?x?x?xf32>
}
)mlir";

TEST(Kernel, Causal) {
  llvm::Expected<Kernel> kernel = Kernel::compile(kCausal);
  ASSERT_TRUE(static_cast<bool>(kernel)) << llvm::toString(kernel.takeError());
  const int64_t B = 2, H = 4, G = 2, Sq = 37, Sk = 37, D = 16, E = 8;
  TestTensor q = TestTensor::random(DType::F32, {B, H, Sq, D}, 1),
             k = TestTensor::random(DType::F32, {B, G, Sk, D}, 2),
             v = TestTensor::random(DType::F32, {B, G, Sk, E}, 3),
             o = TestTensor::poison(DType::F32, {B, H, Sq, E}),
             lse = TestTensor::poison(DType::F32, {B, H, Sq});
  llvm::Error error =
      kernel->run({q.view(), k.view(), v.view()}, {o.view(), lse.view()});
  ASSERT_FALSE(static_cast<bool>(error)) << llvm::toString(std::move(error));
  for (int64_t b = 0; b < B; ++b)
    for (int64_t h = 0; h < H; ++h)
      for (int64_t i = 0; i < Sq; ++i) {
        int64_t g = h * G / H;
        std::vector<double> p;
        double sum = 0;
        for (int64_t j = 0; j < Sk && j <= i; ++j) {
          double s = 0;
          for (int64_t d = 0; d < D; ++d)
            s += q[((b * H + h) * Sq + i) * D + d] *
                 k[((b * G + g) * Sk + j) * D + d];
          p.push_back(std::exp(s / 4));
          sum += p.back();
        }
        EXPECT_NEAR(lse[(b * H + h) * Sq + i], std::log(sum), 1e-5);
        for (int64_t e = 0; e < E; ++e) {
          double want = 0;
          for (size_t j = 0; j < p.size(); ++j)
            want += p[j] / sum * v[((b * G + g) * Sk + j) * E + e];
          ASSERT_NEAR(o[((b * H + h) * Sq + i) * E + e], want, 1e-5)
              << b << " " << h << " " << i << " " << e;
        }
      }
}

// A read of a tensor of rank 0 has no index to check: such code tells nothing,
// but has a place to tell it.
TEST(Kernel, ChecksNoIndex) {
  const char *program = R"mlir(
func.func @constant(%q: tensor<1x1x2x4xf32>, %w: tensor<f32>) -> tensor<1x1x2x4xf32> {
  %init = tensor.empty() : tensor<1x1x2x4xf32>
  %o = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      captures(%w : tensor<f32>)
      outs(%init : tensor<1x1x2x4xf32>)
      score(%s, %b, %h, %i, %j, %c) {
        %x = tensor.extract %c[] : tensor<f32>
        attn.yield %x : f32
      }
  return %o : tensor<1x1x2x4xf32>
}
)mlir";
  CompileOptions options;
  options.boundsCheck = true;
  // Loads without use stay.
  options.optLevel = 0;
  llvm::Expected<Kernel> kernel = Kernel::compile(program, options);
  ASSERT_TRUE(bool(kernel)) << llvm::toString(kernel.takeError());
  TestTensor q(DType::F32, {1, 1, 2, 4}, {1, 1, 1, 1, 3, 3, 3, 3}),
      w(DType::F32, {}, {0.5}),
      o = TestTensor::poison(DType::F32, {1, 1, 2, 4});
  llvm::Error error = kernel->run({q.view(), w.view()}, {o.view()});
  ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
  for (int64_t n = 0; n < 8; ++n)
    EXPECT_NEAR(o[n], 2, 1e-6);
}

// An extent that a call tells, of a tensor that is not a result.
TEST(Kernel, ReportsThatMemoryRunsOut) {
  const char *program = R"mlir(
func.func @large(%q: tensor<1x1x2x4xf32>, %n: index) -> tensor<1x1x2x4xf32> {
  %none = tensor.empty(%n, %n) : tensor<?x?xf32>
  %one = arith.constant 1.0 : f32
  %t = linalg.fill ins(%one : f32) outs(%none : tensor<?x?xf32>) -> tensor<?x?xf32>
  %init = tensor.empty() : tensor<1x1x2x4xf32>
  %o = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      captures(%t : tensor<?x?xf32>)
      outs(%init : tensor<1x1x2x4xf32>)
      score(%s, %b, %h, %i, %j, %c) {
        %x = tensor.extract %c[%i, %j] : tensor<?x?xf32>
        attn.yield %x : f32
      }
  return %o : tensor<1x1x2x4xf32>
}
)mlir";
  llvm::Expected<Kernel> kernel = Kernel::compile(program);
  ASSERT_TRUE(bool(kernel)) << llvm::toString(kernel.takeError());
  TestTensor q(DType::F32, {1, 1, 2, 4}, {1, 1, 1, 1, 3, 3, 3, 3});
  // So many bytes are not had; of those of the second, 64 bits hold none.
  for (int64_t n : {int64_t(1) << 30, int64_t(1) << 32}) {
    TestTensor o = TestTensor::poison(DType::F32, {1, 1, 2, 4});
    TensorView scalar = {&n, int32_t(DType::I64), 0, nullptr, nullptr};
    llvm::Error error = kernel->run({q.view(), scalar}, {o.view()});
    EXPECT_EQ(llvm::errorToErrorCode(std::move(error)),
              std::errc::not_enough_memory);
    EXPECT_EQ(llvm::toString(kernel->run({q.view(), scalar}, {o.view()})),
              "kernel 'large' expects more memory for intermediate results "
              "than there is");
    for (int64_t index = 0; index < 8; ++index)
      EXPECT_TRUE(std::isnan(o[index]));
  }
}
