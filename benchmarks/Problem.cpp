//===- Problem.cpp - One attention to measure, and how --------------------===//

#include "Problem.h"
#include "attn/Support/DType.h"
#include "attn/Support/Random.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

using namespace attn;
using namespace attn::benchmarks;

Problem::Problem(Sizes sizes) : sizes(sizes) {
  int64_t count = sizes.heads * sizes.length * sizes.dim;
  for (auto [stream, data] :
       llvm::enumerate(std::vector<std::vector<float> *>{&q, &k, &v})) {
    RandomStream random(/*seed=*/0, stream);
    data->resize(count);
    for (int64_t n = 0; n < count; ++n)
      (*data)[n] = static_cast<float>(random.getNormal(n));
  }
  o.assign(count, NAN);
  shape = {1, sizes.heads, sizes.length, sizes.dim};
  strides = {count, sizes.length * sizes.dim, sizes.dim, 1};
}

TensorView Problem::view(std::vector<float> &data) {
  return {data.data(), static_cast<int32_t>(DType::F32), 4, shape.data(),
          strides.data()};
}

llvm::Error Problem::run(const Kernel &kernel, unsigned threads,
                         llvm::ArrayRef<TensorView> captures) {
  std::vector<TensorView> inputs = {view(q), view(k), view(v)};
  inputs.insert(inputs.end(), captures.begin(), captures.end());
  TensorView results[] = {view(o)};
  RunOptions options;
  options.threads = threads;
  return kernel.run(inputs, results, options);
}

void benchmarks::exitOn(llvm::Error error) {
  if (!error)
    return;
  llvm::errs() << "cpu-forward: error: " << llvm::toString(std::move(error))
               << "\n";
  exit(1);
}

double benchmarks::getSeconds(llvm::function_ref<void()> body) {
  using Clock = std::chrono::steady_clock;
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  auto warmUpEnd = Clock::now() + std::chrono::milliseconds(50);
  do
    body();
  while (Clock::now() < warmUpEnd);
  auto start = Clock::now();
  body();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double benchmarks::getMedian(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2,
                   values.end());
  return values[values.size() / 2];
}
