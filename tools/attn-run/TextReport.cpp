//===- TextReport.cpp - A run as text -------------------------------------===//

#include "Explain.h"
#include "Report.h"
#include "Summary.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace attn;
using namespace attn::cli;
using llvm::formatv;
using llvm::raw_ostream;

static void printArguments(raw_ostream &os, const Execution &execution) {
  std::vector<std::vector<std::string>> rows;
  for (const Argument &argument : execution.getArguments()) {
    const Tensor &tensor = argument.tensor;
    rows.push_back({argument.name,
                    formatTensorType(tensor.getShape(), tensor.getDType()),
                    argument.source});
  }
  os << "arguments\n";
  printTable(os, rows);
}

static void printResults(raw_ostream &os, const Execution &execution) {
  std::vector<std::vector<std::string>> rows;
  for (auto [name, tensor] :
       llvm::zip(execution.getResultNames(), execution.getResults())) {
    Summary summary = summarize(tensor);
    std::vector<std::string> row = {
        name, formatTensorType(tensor.getShape(), tensor.getDType())};
    if (summary.numFinite != 0) {
      row.push_back("min " + formatNumber(summary.min));
      row.push_back("max " + formatNumber(summary.max));
      row.push_back("mean " + formatNumber(summary.mean));
    } else {
      row.insert(row.end(), {"min none", "max none", "mean none"});
    }
    row.push_back(formatv("nan {0}", summary.numNaN));
    row.push_back(formatv("inf {0}", summary.numPosInf + summary.numNegInf));
    std::string first = "first";
    for (double value : summary.first)
      first += ' ' + formatNumber(value);
    row.push_back(first);
    rows.push_back(row);
  }
  os << "results\n";
  printTable(os, rows);
}

static void printCheck(raw_ostream &os, const CheckReport &check,
                       llvm::ArrayRef<std::string> names) {
  os << "check against the reference in float64";
  if (check.rows != 0)
    os << ", of up to " << check.rows << " rows of each head";
  os << '\n';
  std::vector<std::vector<std::string>> rows = {
      {"", "", "error", "eager", "ratio", "bound", ""}};
  for (auto [i, name] : llvm::enumerate(names)) {
    const CheckResult &result = check.results[i];
    auto add = [&](llvm::StringRef label, llvm::StringRef what, double error,
                   double eager, double ratio, double bound,
                   llvm::StringRef verdict) {
      rows.push_back({label.str(), what.str(), formatNumber(error, 3),
                      formatNumber(eager, 3), formatNumber(ratio, 3),
                      formatNumber(bound, 3), verdict.str()});
    };
    bool isSame = check.isRepeated[i];
    add(name, "max", result.maxError, result.eagerMax, result.maxRatio,
        result.maxBound, result.pass && isSame ? "pass" : "FAIL");
    add("", "mean", result.meanError, result.eagerMean, result.meanRatio,
        result.meanBound, "");
  }
  printTable(os, rows);
  for (auto [i, name] : llvm::enumerate(names)) {
    if (!check.results[i].pass)
      os << "  '" << name << "': " << check.results[i].reason << '\n';
    if (!check.isRepeated[i])
      os << "  '" << name << "': a second run gave other bits\n";
  }
  if (llvm::all_of(check.isRepeated, [](bool isSame) { return isSame; }))
    os << "  a second run gave the same bits\n";
  os << (check.passed() ? "PASS" : "FAIL") << '\n';
}

/// A time with a unit that suits it.
static std::string formatSeconds(double seconds) {
  if (seconds < 1e-3)
    return formatNumber(seconds * 1e6, 4) + " us";
  if (seconds < 1)
    return formatNumber(seconds * 1e3, 4) + " ms";
  return formatNumber(seconds, 4) + " s";
}

/// A rate, or "-" where it is not known.
static std::string formatRate(std::optional<double> rate) {
  return rate ? formatNumber(*rate, 4) : "-";
}

static void printBench(raw_ostream &os, const BenchReport &bench,
                       const CompileReport &compile) {
  double median = bench.getMedian();
  os << formatv("bench of {0} runs after {1} to warm up\n",
                bench.seconds.size(), bench.warmUps);
  std::vector<std::vector<std::string>> rows = {
      {"time", formatv("median {0}, min {1}, max {2}", formatSeconds(median),
                       formatSeconds(bench.seconds.front()),
                       formatSeconds(bench.seconds.back()))}};
  if (const std::optional<BaselineReport> &baseline = bench.baseline) {
    const std::vector<double> &seconds = baseline->seconds;
    rows.push_back({"baseline", formatv("median {0}, min {1}, max {2}: @{3} of "
                                        "{4}",
                                        formatSeconds(getMedian(seconds)),
                                        formatSeconds(seconds.front()),
                                        formatSeconds(seconds.back()),
                                        baseline->entry, baseline->program)});
    rows.push_back({"ratio", formatRate(bench.getRatio()) +
                                 ": median of the baseline / median"});
  }
  if (bench.work)
    rows.push_back(
        {"work",
         formatv("{0} TFLOP/s: {1} GFLOP, which count masked keys",
                 formatRate(bench.getRate(bench.work->operations / 1e12)),
                 formatNumber(bench.work->operations / 1e9, 4))});
  else
    rows.push_back({"work", "not known: attention is called, or in a loop, or "
                            "its sizes are computed"});
  rows.push_back(
      {"memory", formatv("{0} GB/s: {1} of arguments and results",
                         formatRate(bench.getRate(double(bench.bytes) / 1e9)),
                         formatByteCount(bench.bytes))});
  std::string stages;
  for (const CompileReport::Stage &stage : compile.stages)
    stages += formatv("{0}{1} {2} ms", stages.empty() ? "" : ", ", stage.name,
                      formatNumber(stage.milliseconds, 3));
  rows.push_back(
      {"compile",
       formatv("{0} ms: {1}", formatNumber(compile.getTotalMilliseconds(), 4),
               stages)});
  printTable(os, rows);
}

static void printTuning(raw_ostream &os, const tune::TuneResult &tuned) {
  os << "tuning\n  " << tuned.describe() << '\n';
  if (!tuned.isKept)
    os << "  not kept: " << tuned.note << '\n';
}

std::string cli::formatText(const Report &report) {
  std::string text;
  llvm::raw_string_ostream os(text);
  const CompileReport &compile = report.kernel.report();
  os << report.program << ": @" << report.entry << " on " << compile.target;
  if (const GPU *gpu = report.execution.getGPU())
    os << ", " << gpu->getName();
  os << '\n';
  if (const auto &program = report.kernel.package().program) {
    os << "kernels\n";
    printTable(os, makeVariantTable(describeVariants(*program)));
  }
  if (!report.execution.getArguments().empty())
    printArguments(os, report.execution);
  for (const SparsityReport &sparsity : report.sparsity)
    os << "sparsity\n  "
       << formatv("{0}: {1:F2} % of all pairs are in lists\n", sparsity.form,
                  100 * sparsity.density);
  if (report.hasRun && !report.execution.getResults().empty())
    printResults(os, report.execution);
  if (report.tuned)
    printTuning(os, report.tuned->result);
  if (report.check)
    printCheck(os, *report.check, report.execution.getResultNames());
  if (report.bench)
    printBench(os, *report.bench, compile);
  if (report.mask)
    printMasks(os, *report.mask);
  return text;
}
