//===- run_variant.cpp - Compile an attention variant and run it ----------===//
//
// The variant is a soft-cap under a causal mask, with grouped heads. Queries,
// keys and values lie in one packed buffer, as a projection leaves them, and
// are handed over as strided views: nothing is copied. One kernel then runs in
// two threads at once.
//
// To build it against an installed or built tree, link AttnJIT:
//
//   add_executable(run_variant run_variant.cpp)
//   target_link_libraries(run_variant PRIVATE AttnJIT)
//
//===----------------------------------------------------------------------===//

#include "attn/JIT/Kernel.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <thread>
#include <vector>

static constexpr char program[] = R"mlir(
!q = tensor<?x?x4x16xf32>
!kv = tensor<?x?x2x16xf32>
!lse = tensor<?x?x4xf32>

func.func @softcap(%q: !q, %k: !kv, %v: !kv, %cap: f32) -> (!q, !lse) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %batch = tensor.dim %q, %c0 : !q
  %length = tensor.dim %q, %c1 : !q
  %o_init = tensor.empty(%batch, %length) : !q
  %lse_init = tensor.empty(%batch, %length) : !lse
  %o, %lse = attn.attention layout(bshd) ins(%q, %k, %v : !q, !kv, !kv)
      captures(%cap : f32) outs(%o_init, %lse_init : !q, !lse)
      score(%s, %b, %h, %i, %j, %c) {
        %x = arith.divf %s, %c : f32
        %t = math.tanh %x : f32
        %y = arith.mulf %t, %c : f32
        attn.yield %y : f32
      }
      mask(%b, %h, %i, %j, %c) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %o, %lse : !q, !lse
}
)mlir";

/// One sequence, in a buffer of rows [4 query heads | 2 key heads | 2 value
/// heads], each of 16 numbers.
static constexpr int64_t kLength = 100, kHeads = 4, kKvHeads = 2, kDim = 16;
static constexpr int64_t kRow = (kHeads + 2 * kKvHeads) * kDim;

/// A view of `heads` heads of the packed buffer that begin at `data`.
struct HeadsView {
  HeadsView(float *data, int64_t heads, int64_t row)
      : shape{1, kLength, heads, kDim}, strides{kLength * row, row, kDim, 1},
        view{data, static_cast<int32_t>(attn::DType::F32), 4, shape, strides} {}
  HeadsView(const HeadsView &) = delete;

  int64_t shape[4], strides[4];
  attn::TensorView view;
};

/// Runs the kernel on a packed buffer; returns the output, or nothing after an
/// error.
static std::vector<float> run(const attn::Kernel &kernel,
                              std::vector<float> &packed) {
  std::vector<float> o(kLength * kHeads * kDim), lse(kLength * kHeads);
  float cap = 20;
  HeadsView q(packed.data(), kHeads, kRow);
  HeadsView k(packed.data() + kHeads * kDim, kKvHeads, kRow);
  HeadsView v(packed.data() + (kHeads + kKvHeads) * kDim, kKvHeads, kRow);
  HeadsView oView(o.data(), kHeads, kHeads * kDim);
  const int64_t lseShape[] = {1, kLength, kHeads};
  const int64_t lseStrides[] = {kLength * kHeads, kHeads, 1};
  auto f32 = static_cast<int32_t>(attn::DType::F32);
  attn::TensorView scalar{&cap, f32, 0, nullptr, nullptr};
  attn::TensorView lseView{lse.data(), f32, 3, lseShape, lseStrides};

  if (llvm::Error error =
          kernel.run({q.view, k.view, v.view, scalar}, {oView.view, lseView})) {
    llvm::errs() << llvm::toString(std::move(error)) << "\n";
    return {};
  }
  return o;
}

/// The same by the definition, one query of one head.
static std::vector<double> evaluate(const std::vector<float> &packed,
                                    int64_t head, int64_t query) {
  auto at = [&](int64_t row, int64_t slot, int64_t d) {
    return double(packed[row * kRow + slot * kDim + d]);
  };
  int64_t kvHead = head * kKvHeads / kHeads;
  std::vector<double> o(kDim, 0);
  double sum = 0;
  for (int64_t j = 0; j <= query; ++j) {
    double s = 0;
    for (int64_t d = 0; d < kDim; ++d)
      s += at(query, head, d) * at(j, kHeads + kvHead, d);
    double p = std::exp(20 * std::tanh(s / std::sqrt(double(kDim)) / 20));
    sum += p;
    for (int64_t d = 0; d < kDim; ++d)
      o[d] += p * at(j, kHeads + kKvHeads + kvHead, d);
  }
  for (double &x : o)
    x /= sum;
  return o;
}

int main() {
  llvm::Expected<attn::Kernel> kernel = attn::Kernel::compile(program);
  if (!kernel) {
    llvm::errs() << llvm::toString(kernel.takeError()) << "\n";
    return 1;
  }
  for (const attn::TensorInfo &input : kernel->inputs())
    llvm::outs() << "input " << input.name << ": "
                 << attn::formatTensorType(input.shape, input.dtype) << "\n";

  std::vector<float> packed[2], outputs[2];
  for (int n = 0; n < 2; ++n) {
    packed[n].resize(kLength * kRow);
    for (size_t at = 0; at < packed[n].size(); ++at)
      packed[n][at] = std::sin(double(at) * (n + 1) * 0.7);
  }
  std::thread other([&] { outputs[1] = run(*kernel, packed[1]); });
  outputs[0] = run(*kernel, packed[0]);
  other.join();

  double error = 0;
  for (int n = 0; n < 2; ++n) {
    if (outputs[n].empty())
      return 1;
    for (int64_t query = 0; query < kLength; ++query)
      for (int64_t head = 0; head < kHeads; ++head) {
        std::vector<double> expected = evaluate(packed[n], head, query);
        for (int64_t d = 0; d < kDim; ++d)
          error = std::fmax(
              error, std::fabs(outputs[n][(query * kHeads + head) * kDim + d] -
                               expected[d]));
      }
  }
  llvm::outs() << "two runs at once agree with the definition: "
               << (error < 1e-5 ? "yes" : "no") << "\n";
  return error < 1e-5 ? 0 : 1;
}
