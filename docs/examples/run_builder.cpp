//===- run_builder.cpp - Build an attention variant from lambdas ----------===//
//
// The variant of the tutorial without a line of MLIR: a sliding window with a
// learned bias for each head and distance. The expressions in the lambdas are
// not evaluated here; they build the regions, which the compiler then sees as
// if they were written as text. The result is compared with the definition.
//
//   add_executable(run_builder run_builder.cpp)
//   target_link_libraries(run_builder PRIVATE AttnBuilder)
//
//===----------------------------------------------------------------------===//

#include "attn/Builder/AttentionSpec.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <vector>

using namespace attn;

static constexpr int64_t kHeads = 2, kLength = 50, kDim = 8, kWindow = 16;

static llvm::Expected<Kernel> compile() {
  AttentionSpec spec;
  spec.queryHeads = spec.keyHeads = kHeads;
  spec.queryKeyDim = spec.valueDim = kDim;
  Capture table = spec.capture("table", DType::F32, {kHeads, kWindow});
  spec.score(
      [&](const ScoreArgs &at) { return at.s + table[{at.h, at.i - at.j}]; });
  spec.mask([](const MaskArgs &at) {
    return at.j <= at.i && at.i - at.j < Expr(kWindow);
  });
  return spec.compile();
}

/// One element of the result, from its definition.
static double expected(const std::vector<float> &q, const std::vector<float> &k,
                       const std::vector<float> &v,
                       const std::vector<float> &table, int64_t head,
                       int64_t query, int64_t column) {
  auto at = [&](int64_t row, int64_t dim) {
    return (head * kLength + row) * kDim + dim;
  };
  double sum = 0, weighted = 0;
  for (int64_t key = 0; key <= query; ++key) {
    if (query - key >= kWindow)
      continue;
    double product = 0;
    for (int64_t dim = 0; dim < kDim; ++dim)
      product += double(q[at(query, dim)]) * k[at(key, dim)];
    double weight = std::exp(product / std::sqrt(double(kDim)) +
                             table[head * kWindow + query - key]);
    sum += weight;
    weighted += weight * v[at(key, column)];
  }
  return weighted / sum;
}

int main() {
  llvm::Expected<Kernel> kernel = compile();
  if (!kernel) {
    llvm::errs() << llvm::toString(kernel.takeError()) << "\n";
    return 1;
  }
  for (const TensorInfo &input : kernel->inputs())
    llvm::outs() << "takes " << input.name << " of "
                 << formatTensorType(input.shape, input.dtype) << "\n";

  auto fill = [](int64_t count, double step) {
    std::vector<float> data(count);
    for (int64_t n = 0; n < count; ++n)
      data[n] = static_cast<float>(std::sin(step * double(n + 1)));
    return data;
  };
  int64_t count = kHeads * kLength * kDim;
  std::vector<float> q = fill(count, 0.7), k = fill(count, 1.3),
                     v = fill(count, 2.1), table = fill(kHeads * kWindow, 0.3),
                     o(count);
  const int64_t shape[] = {1, kHeads, kLength, kDim};
  const int64_t strides[] = {count, kLength * kDim, kDim, 1};
  const int64_t tableShape[] = {kHeads, kWindow}, tableStrides[] = {kWindow, 1};
  auto f32 = static_cast<int32_t>(DType::F32);
  auto view = [&](std::vector<float> &data) {
    return TensorView{data.data(), f32, 4, shape, strides};
  };
  TensorView inputs[] = {view(q),
                         view(k),
                         view(v),
                         {table.data(), f32, 2, tableShape, tableStrides}};
  TensorView results[] = {view(o)};
  if (llvm::Error error = kernel->run(inputs, results)) {
    llvm::errs() << llvm::toString(std::move(error)) << "\n";
    return 1;
  }

  double difference = 0;
  for (int64_t head = 0; head < kHeads; ++head)
    for (int64_t query = 0; query < kLength; ++query)
      for (int64_t column = 0; column < kDim; ++column)
        difference = std::max(
            difference, std::abs(expected(q, k, v, table, head, query, column) -
                                 o[(head * kLength + query) * kDim + column]));
  bool agrees = difference < 1e-5;
  llvm::outs() << "agrees with the definition: " << (agrees ? "yes" : "no")
               << "\n";
  return agrees ? 0 : 1;
}
