//===- KeyLists.cpp - Lists of keys against all keys ----------------------===//

#include "KeyLists.h"
#include "Problem.h"
#include "attn/Support/DType.h"
#include "attn/Support/Random.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace attn;
using namespace attn::benchmarks;
using llvm::outs;

static constexpr int64_t kDim = 64;

static Kernel compile(bool hasLists) {
  const char *lists =
      hasLists ? "sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns "
                 ": tensor<?x?xi32>, tensor<?xi32>)"
               : "";
  const char *arguments =
      hasLists ? ", %rows: tensor<?x?xi32>, %columns: tensor<?xi32>" : "";
  std::string program = llvm::formatv(R"(
!t = tensor<1x?x?x{0}xf32>
func.func @attention(%q: !t, %k: !t, %v: !t{1}) -> !t {{
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %h = tensor.dim %q, %c1 : !t
  %s = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%h, %s) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) {2} outs(%init : !t)
  return %o : !t
}
)",
                                      kDim, arguments, lists);
  llvm::Expected<Kernel> kernel = Kernel::compile(program);
  if (!kernel)
    exitOn(kernel.takeError());
  return std::move(*kernel);
}

namespace {
struct Lists {
  std::vector<int32_t> rows, columns;
};
} // namespace

/// Each pair takes part with a probability of `percent`.
static Lists makeLists(int64_t heads, int64_t length, int64_t percent) {
  Lists lists;
  for (int64_t head = 0; head < heads; ++head) {
    for (int64_t i = 0; i < length; ++i) {
      lists.rows.push_back(static_cast<int32_t>(lists.columns.size()));
      RandomStream random(/*seed=*/0, head * length + i);
      for (int64_t j = 0; j < length; ++j)
        if (100 * random.getUniform(j) < static_cast<double>(percent))
          lists.columns.push_back(static_cast<int32_t>(j));
    }
    lists.rows.push_back(static_cast<int32_t>(lists.columns.size()));
  }
  return lists;
}

void benchmarks::benchmarkKeyLists(int64_t heads,
                                   llvm::ArrayRef<int64_t> lengths,
                                   unsigned runs, unsigned threads) {
  outs() << llvm::formatv("{0} heads, {1} threads, median of {2} runs\n\n",
                          heads, threads, runs);
  outs() << "| sparsity % | S | ms | ms of all pairs | dense / sparse | time / "
            "(part of the pairs * dense time) | ns a pair and thread |\n"
            "|---|---|---|---|---|---|---|\n";
  Kernel dense = compile(/*hasLists=*/false), kernel = compile(true);
  for (int64_t percent : {10, 5, 1})
    for (int64_t length : lengths) {
      Lists lists = makeLists(heads, length, percent);
      int64_t rowShape[] = {heads, length + 1}, rowStrides[] = {length + 1, 1};
      int64_t numPairs = lists.columns.size(), one = 1;
      auto type = static_cast<int32_t>(DType::I32);
      TensorView views[] = {{lists.rows.data(), type, 2, rowShape, rowStrides},
                            {lists.columns.data(), type, 1, &numPairs, &one}};
      Problem problem({heads, length, kDim});
      std::vector<double> times, denseTimes, ratios;
      // One run to warm up.
      for (unsigned run = 0; run <= runs; ++run) {
        double time =
            getSeconds([&] { exitOn(problem.run(kernel, threads, views)); });
        double denseTime =
            getSeconds([&] { exitOn(problem.run(dense, threads)); });
        if (run == 0)
          continue;
        times.push_back(time);
        denseTimes.push_back(denseTime);
        ratios.push_back(denseTime / time);
      }
      double part = static_cast<double>(numPairs) /
                    static_cast<double>(heads * length * length);
      double ratio = getMedian(ratios), time = getMedian(times);
      outs() << llvm::formatv(
          "| {0} | {1} | {2:f2} | {3:f2} | {4:f2} | **{5:f2}** | {6:f1} |\n",
          100 - percent, length, time * 1e3, getMedian(denseTimes) * 1e3, ratio,
          1 / (ratio * part), time * 1e9 * threads / numPairs);
      outs().flush();
    }
}
