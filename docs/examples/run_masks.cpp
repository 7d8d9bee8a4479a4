//===- run_masks.cpp - Combine masks into one -----------------------------===//
//
// Documents that are packed into one sequence, each with a sliding window and
// two first tokens that all later ones see: masks of the library and operators
// between them. The table of documents is given at run time. The result is
// compared with the definition.
//
//   add_executable(run_masks run_masks.cpp)
//   target_link_libraries(run_masks PRIVATE AttnBuilder)
//
//===----------------------------------------------------------------------===//

#include "attn/Builder/Masks.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <vector>

using namespace attn;

static constexpr int64_t kLength = 96, kDim = 8, kWindow = 16;

static llvm::Expected<Kernel> compile() {
  AttentionSpec spec;
  spec.name = "packed";
  spec.queryHeads = spec.keyHeads = 1;
  spec.queryKeyDim = spec.valueDim = kDim;
  Capture ids = spec.capture("ids", DType::I32, {kDynamicExtent});
  Capture starts = spec.capture("starts", DType::I32, {kDynamicExtent});
  Mask local = masks::slidingWindow(kWindow - 1, 0);
  spec.mask(masks::perDocument(ids, starts,
                               local || (masks::causal() && masks::prefix(2))));
  return spec.compile();
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

  std::vector<int32_t> starts = {0, 50, 53, kLength}, ids;
  for (int32_t document = 0; document != 3; ++document)
    ids.resize(starts[document + 1], document);
  auto fill = [](double step) {
    std::vector<float> data(kLength * kDim);
    for (size_t n = 0; n != data.size(); ++n)
      data[n] = static_cast<float>(std::sin(step * double(n + 1)));
    return data;
  };
  std::vector<float> q = fill(0.7), k = fill(1.3), v = fill(2.1),
                     o(kLength * kDim);
  const int64_t shape[] = {1, 1, kLength, kDim};
  const int64_t strides[] = {kLength * kDim, kLength * kDim, kDim, 1};
  const int64_t one[] = {1}, numIds[] = {kLength}, numStarts[] = {4};
  auto f32 = static_cast<int32_t>(DType::F32);
  auto i32 = static_cast<int32_t>(DType::I32);
  auto view = [&](std::vector<float> &data) {
    return TensorView{data.data(), f32, 4, shape, strides};
  };
  TensorView inputs[] = {view(q),
                         view(k),
                         view(v),
                         {ids.data(), i32, 1, numIds, one},
                         {starts.data(), i32, 1, numStarts, one}};
  TensorView results[] = {view(o)};
  if (llvm::Error error = kernel->run(inputs, results)) {
    llvm::errs() << llvm::toString(std::move(error)) << "\n";
    return 1;
  }

  double difference = 0;
  int64_t numAllowed = 0;
  for (int64_t i = 0; i != kLength; ++i) {
    std::vector<double> weighted(kDim);
    double sum = 0;
    for (int64_t j = starts[ids[i]]; j <= i; ++j) {
      if (i - j >= kWindow && j - starts[ids[i]] >= 2)
        continue;
      double product = 0;
      for (int64_t d = 0; d != kDim; ++d)
        product += double(q[i * kDim + d]) * k[j * kDim + d];
      double weight = std::exp(product / std::sqrt(double(kDim)));
      sum += weight;
      for (int64_t d = 0; d != kDim; ++d)
        weighted[d] += weight * v[j * kDim + d];
      ++numAllowed;
    }
    for (int64_t d = 0; d != kDim; ++d)
      difference =
          std::max(difference, std::abs(weighted[d] / sum - o[i * kDim + d]));
  }
  bool agrees = difference < 1e-5;
  llvm::outs() << numAllowed << " of " << kLength * kLength << " pairs\n"
               << "agrees with the definition: " << (agrees ? "yes" : "no")
               << "\n";
  return agrees ? 0 : 1;
}
