//===- CpuForward.cpp - Forward on the CPU against an unfused peer --------===//
//
// For each head dimension, length and mask: the median time of our kernel and
// of the peer, measured in turn in one process on the same threads, the median
// over the rounds of the ratio to the faster form of the peer in that round,
// and the memory that a run of our kernel adds. Prints a table in Markdown.
//
//   cpu-forward [--heads=N] [--runs=N] [--num-threads=N] [--lengths=A,B,...]
//
// With --masks, the time under masks against the time without one and the part
// of the tiles that the mask needs (Masks.h). With --lists, the time with lists
// of keys against that of all pairs (KeyLists.h).
//
//===----------------------------------------------------------------------===//

#include "KeyLists.h"
#include "Masks.h"
#include "Problem.h"
#include "Unfused.h"
#include "attn/JIT/Kernel.h"
#include "attn/Runtime/ThreadCount.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cmath>
#include <fstream>
#include <sys/wait.h>
#include <unistd.h>

using namespace attn;
using namespace attn::benchmarks;
using llvm::outs;

static llvm::cl::OptionCategory category("Options of the benchmark");
static llvm::cl::opt<int64_t> numHeads("heads", llvm::cl::init(4),
                                       llvm::cl::desc("heads (one batch)"),
                                       llvm::cl::cat(category));
static llvm::cl::opt<unsigned> numRuns("runs", llvm::cl::init(7),
                                       llvm::cl::desc("runs of each; odd"),
                                       llvm::cl::cat(category));
static llvm::cl::opt<unsigned> numThreads("num-threads", llvm::cl::init(0),
                                          llvm::cl::desc("0: all cores"),
                                          llvm::cl::cat(category));
static llvm::cl::list<int64_t> lengths("lengths", llvm::cl::CommaSeparated,
                                       llvm::cl::desc("sequence lengths"),
                                       llvm::cl::cat(category));

static llvm::cl::opt<bool> masks(
    "masks",
    llvm::cl::desc("Masks against no mask, at 64 dimensions, and no peer"),
    llvm::cl::cat(category));

static llvm::cl::opt<bool>
    lists("lists",
          llvm::cl::desc("Lists of keys against all keys, at 64 dimensions"),
          llvm::cl::cat(category));

static std::string getProgram(int64_t dim, bool causal) {
  std::string type = llvm::formatv("tensor<1x?x?x{0}xf32>", dim);
  const char *mask = causal ? R"(
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      })"
                            : "";
  return llvm::formatv(R"(
func.func @attention(%q: {0}, %k: {0}, %v: {0}) -> {0} {{
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %h = tensor.dim %q, %c1 : {0}
  %s = tensor.dim %q, %c2 : {0}
  %init = tensor.empty(%h, %s) : {0}
  %o = attn.attention ins(%q, %k, %v : {0}, {0}, {0}) outs(%init : {0}){1}
  return %o : {0}
}
)",
                       type, mask);
}

/// The largest resident set of this process so far, in KiB.
static int64_t getPeakKiB() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.compare(0, 6, "VmHWM:") == 0)
      return std::stoll(line.substr(6));
  return 0;
}

/// What a first run adds to the peak of a process that holds inputs and
/// outputs, in KiB; measured in a child, since a peak never falls.
static int64_t getAddedKiB(const Kernel &kernel, Sizes sizes) {
  int fds[2];
  if (pipe(fds) != 0)
    return -1;
  pid_t child = fork();
  if (child == 0) {
    Problem problem(sizes);
    int64_t before = getPeakKiB();
    exitOn(problem.run(kernel, numThreads));
    int64_t added = getPeakKiB() - before;
    bool written = write(fds[1], &added, sizeof added) == sizeof added;
    _exit(written ? 0 : 1);
  }
  int64_t added = -1;
  if (read(fds[0], &added, sizeof added) != sizeof added)
    added = -1;
  close(fds[0]);
  close(fds[1]);
  waitpid(child, nullptr, 0);
  return added;
}

static double getMaxDifference(const std::vector<float> &a,
                               const std::vector<float> &b) {
  double difference = 0;
  for (auto [x, y] : llvm::zip_equal(a, b)) {
    if (std::isnan(x) || std::isnan(y))
      return NAN;
    difference = std::max(difference, std::abs(double(x) - y));
  }
  return difference;
}

static void benchmark(int64_t dim, int64_t length, bool causal) {
  llvm::Expected<Kernel> kernel = Kernel::compile(getProgram(dim, causal));
  if (!kernel)
    exitOn(kernel.takeError());
  Sizes sizes{numHeads, length, dim};
  int64_t addedKiB = getAddedKiB(*kernel, sizes);

  Problem ours(sizes), peer(sizes);
  Unfused unfused(sizes, numThreads);
  std::vector<double> oursTimes, insideTimes, outsideTimes, ratios;
  // Short runs suffer more from whatever else the machine does.
  unsigned rounds = numRuns * (length <= 2048 ? 3 : 1);
  // One run to warm up.
  for (unsigned run = 0; run <= rounds; ++run) {
    double insideTime = getSeconds([&] {
      unfused.runThreadsInside(peer.q.data(), peer.k.data(), peer.v.data(),
                               peer.o.data(), causal);
    });
    double oursTime =
        getSeconds([&] { exitOn(ours.run(*kernel, numThreads)); });
    double outsideTime = getSeconds([&] {
      unfused.runThreadsOutside(peer.q.data(), peer.k.data(), peer.v.data(),
                                peer.o.data(), causal);
    });
    if (run == 0)
      continue;
    oursTimes.push_back(oursTime);
    insideTimes.push_back(insideTime);
    outsideTimes.push_back(outsideTime);
    ratios.push_back(std::min(insideTime, outsideTime) / oursTime);
  }
  double difference = getMaxDifference(ours.o, peer.o);
  if (!(difference < 1e-4)) {
    llvm::errs() << llvm::formatv("cpu-forward: error: results differ by {0}\n",
                                  difference);
    exit(1);
  }
  double time = getMedian(oursTimes);
  double flops = 4.0 * numHeads * length * length * dim * (causal ? 0.5 : 1.0);
  outs() << llvm::formatv(
      "| {0} | {1} | {2} | {3:f2} | {4:f2} | {5:f2} | {6:f1} | **{7:f2}** | "
      "{8:e1} | {9} |\n",
      dim, length, causal ? "causal" : "full", time * 1e3,
      getMedian(insideTimes) * 1e3, getMedian(outsideTimes) * 1e3,
      flops / time / 1e9, getMedian(ratios), difference, addedKiB);
  outs().flush();
}

int main(int argc, char **argv) {
  ensureFastKernels(argv);
  llvm::InitLLVM init(argc, argv);
  llvm::cl::HideUnrelatedOptions(category);
  llvm::cl::ParseCommandLineOptions(argc, argv,
                                    "Forward on the CPU, ours and unfused\n");
  if (numThreads == 0)
    numThreads = getDefaultNumThreads();
  if (lengths.empty())
    for (int64_t length : {1024, 2048, 4096, 8192})
      lengths.push_back(length);
  if (lists) {
    benchmarkKeyLists(numHeads, lengths, numRuns, numThreads);
    return 0;
  }
  if (masks) {
    benchmarkMasks(numHeads, lengths, numRuns, numThreads);
    return 0;
  }
  outs() << llvm::formatv("{0} heads, {1} threads, median of {2} runs; {3}\n\n",
                          numHeads, numThreads, numRuns, Unfused::describe());
  outs() << "| D | S | mask | ours ms | peer ms, threads in sgemm | peer ms, "
            "one head a thread | ours GFLOP/s | faster peer / ours | largest "
            "difference | memory added KiB |\n"
            "|---|---|---|---|---|---|---|---|---|---|\n";
  for (int64_t dim : {64, 128})
    for (bool causal : {false, true})
      for (int64_t length : lengths)
        benchmark(dim, length, causal);
  return 0;
}
