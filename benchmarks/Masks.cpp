//===- Masks.cpp - Masks against no mask ----------------------------------===//

#include "Masks.h"
#include "Problem.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "attn/Support/DType.h"
#include "attn/Target/CPU.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>
#include <functional>

using namespace attn;
using namespace attn::benchmarks;
using llvm::outs;

static constexpr int64_t kDim = 64;

namespace {
/// A mask as text and as what it says, with the number of each position's
/// document.
struct Mask {
  const char *name, *body;
  std::function<bool(int64_t, int64_t, const std::vector<int32_t> &)> allows;
  int64_t documentLength = 1;
  /// What positions are divided by; tiles are parts of such blocks.
  int64_t block = 0;
};
} // namespace

static std::vector<Mask> getMasks() {
  using Documents = const std::vector<int32_t> &;
  return {
      {"causal", "%p = arith.cmpi sle, %j, %i : index\n",
       [](int64_t i, int64_t j, Documents) { return j <= i; }},
      {"causal, window 512",
       "%w = arith.constant 512 : index\n"
       "%d = arith.subi %i, %j : index\n"
       "%near = arith.cmpi slt, %d, %w : index\n"
       "%past = arith.cmpi sle, %j, %i : index\n"
       "%p = arith.andi %near, %past : i1\n",
       [](int64_t i, int64_t j, Documents) { return j <= i && i - j < 512; }},
      {"documents of 512",
       "%x = tensor.extract %doc[%i] : tensor<?xi32>\n"
       "%y = tensor.extract %doc[%j] : tensor<?xi32>\n"
       "%p = arith.cmpi eq, %x, %y : i32\n",
       [](int64_t i, int64_t j, Documents doc) { return doc[i] == doc[j]; },
       512},
      {"documents of 512, causal",
       "%x = tensor.extract %doc[%i] : tensor<?xi32>\n"
       "%y = tensor.extract %doc[%j] : tensor<?xi32>\n"
       "%same = arith.cmpi eq, %x, %y : i32\n"
       "%past = arith.cmpi sle, %j, %i : index\n"
       "%p = arith.andi %same, %past : i1\n",
       [](int64_t i, int64_t j, Documents doc) {
         return doc[i] == doc[j] && j <= i;
       },
       512},
      {"first 16, window 256 on both sides",
       "%w = arith.constant 256 : index\n"
       "%g = arith.constant 16 : index\n"
       "%d = arith.subi %i, %j : index\n"
       "%a = math.absi %d : index\n"
       "%near = arith.cmpi sle, %a, %w : index\n"
       "%first = arith.cmpi slt, %j, %g : index\n"
       "%p = arith.ori %near, %first : i1\n",
       [](int64_t i, int64_t j, Documents) {
         return std::abs(i - j) <= 256 || j < 16;
       }},
      {"every fourth block of 64",
       "%n = arith.constant 64 : index\n"
       "%four = arith.constant 4 : index\n"
       "%z = arith.constant 0 : index\n"
       "%x = arith.divui %i, %n : index\n"
       "%y = arith.divui %j, %n : index\n"
       "%d = arith.subi %x, %y : index\n"
       "%r = arith.remsi %d, %four : index\n"
       "%p = arith.cmpi eq, %r, %z : index\n",
       [](int64_t i, int64_t j, Documents) {
         return (i / 64 - j / 64) % 4 == 0;
       },
       1, 64},
      {"neighbours within 4 on rows of 64",
       "%n = arith.constant 64 : index\n"
       "%four = arith.constant 4 : index\n"
       "%xi = arith.remui %i, %n : index\n"
       "%yi = arith.divui %i, %n : index\n"
       "%xj = arith.remui %j, %n : index\n"
       "%yj = arith.divui %j, %n : index\n"
       "%dx = arith.subi %xi, %xj : index\n"
       "%dy = arith.subi %yi, %yj : index\n"
       "%ax = math.absi %dx : index\n"
       "%ay = math.absi %dy : index\n"
       "%px = arith.cmpi sle, %ax, %four : index\n"
       "%py = arith.cmpi sle, %ay, %four : index\n"
       "%p = arith.andi %px, %py : i1\n",
       [](int64_t i, int64_t j, Documents) {
         return std::abs(i / 64 - j / 64) <= 4 &&
                std::abs(i % 64 - j % 64) <= 4;
       },
       1, 64}};
}

static std::string getProgram(const char *mask) {
  std::string region;
  if (mask)
    region = llvm::formatv("mask(%b, %h, %i, %j, %doc) {{\n{0}"
                           "attn.yield %p : i1\n}",
                           mask);
  return llvm::formatv(R"(
!t = tensor<1x?x?x{0}xf32>
func.func @attention(%q: !t, %k: !t, %v: !t, %doc: tensor<?xi32>) -> !t {{
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %h = tensor.dim %q, %c1 : !t
  %s = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%h, %s) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t)
      captures(%doc : tensor<?xi32>) outs(%init : !t) {1}
  return %o : !t
}
)",
                       kDim, region);
}

/// The part of the tiles of the kernel that have an allowed pair.
static double getNeeded(const Mask &mask, int64_t length, int64_t rows,
                        int64_t keys, const std::vector<int32_t> &documents) {
  int64_t needed = 0, tiles = 0;
  for (int64_t i0 = 0; i0 < length; i0 += rows)
    for (int64_t j0 = 0; j0 < length; j0 += keys) {
      bool any = false;
      for (int64_t i = i0; i < std::min(i0 + rows, length) && !any; ++i)
        for (int64_t j = j0; j < std::min(j0 + keys, length) && !any; ++j)
          any = mask.allows(i, j, documents);
      needed += any;
      ++tiles;
    }
  return static_cast<double>(needed) / static_cast<double>(tiles);
}

static Kernel compile(const char *mask) {
  llvm::Expected<Kernel> kernel = Kernel::compile(getProgram(mask));
  if (!kernel)
    exitOn(kernel.takeError());
  return std::move(*kernel);
}

void benchmarks::benchmarkMasks(int64_t heads, llvm::ArrayRef<int64_t> lengths,
                                unsigned runs, unsigned threads) {
  llvm::Expected<CPUTarget> target = getCPUTarget();
  if (!target)
    exitOn(target.takeError());
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<mlir::attn::AttnDialect>();
  outs() << llvm::formatv("{0} heads, {1} threads, median of {2} runs\n\n",
                          heads, threads, runs);
  outs() << "| mask | S | ms | ms without a mask | tiles | tiles needed % | "
            "time / (part needed * time without) |\n"
            "|---|---|---|---|---|---|---|\n";
  Kernel dense = compile(nullptr);
  for (const Mask &mask : getMasks()) {
    Kernel kernel = compile(mask.body);
    mlir::attn::ScheduleAttr schedule = mlir::attn::chooseCPUSchedule(
        mlir::Float32Type::get(&context), kDim, kDim,
        {target->vectorBits,
         target->vectorRegisters,
         target->l1Bytes,
         {mask.block, mask.block}});
    int64_t rows = schedule.getTileM(), keys = schedule.getTileN();
    for (int64_t length : lengths) {
      std::vector<int32_t> documents(length);
      for (int64_t i = 0; i < length; ++i)
        documents[i] = static_cast<int32_t>(i / mask.documentLength);
      int64_t one = 1;
      TensorView capture = {documents.data(), static_cast<int32_t>(DType::I32),
                            1, &length, &one};
      Problem problem({heads, length, kDim});
      std::vector<double> times, denseTimes, ratios;
      // One run to warm up.
      for (unsigned run = 0; run <= runs; ++run) {
        auto measure = [&](const Kernel &of) {
          return getSeconds([&] { exitOn(problem.run(of, threads, capture)); });
        };
        double time = measure(kernel), denseTime = measure(dense);
        if (run == 0)
          continue;
        times.push_back(time);
        denseTimes.push_back(denseTime);
        ratios.push_back(time / denseTime);
      }
      double needed = getNeeded(mask, length, rows, keys, documents);
      outs() << llvm::formatv(
          "| {0} | {1} | {2:f2} | {3:f2} | {4}x{5} | {6:f1} | **{7:f2}** |\n",
          mask.name, length, getMedian(times) * 1e3,
          getMedian(denseTimes) * 1e3, rows, keys, 100 * needed,
          getMedian(ratios) / needed);
      outs().flush();
    }
  }
}
