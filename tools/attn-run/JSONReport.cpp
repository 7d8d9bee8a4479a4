//===- JSONReport.cpp - A run as JSON -------------------------------------===//

#include "Report.h"
#include "Summary.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace attn;
using namespace attn::cli;
using llvm::json::OStream;

/// JSON has no infinities and no NaN.
static llvm::json::Value toJSON(double value) {
  if (std::isfinite(value))
    return value;
  return formatNumber(value);
}

static llvm::json::Value toJSON(std::optional<double> value) {
  return value ? toJSON(*value) : llvm::json::Value(nullptr);
}

static void printType(OStream &json, const Tensor &tensor) {
  json.attribute("dtype", getName(tensor.getDType()));
  json.attributeArray("shape", [&] {
    for (int64_t size : tensor.getShape())
      json.value(size);
  });
}

static void printArguments(OStream &json, const Execution &execution) {
  json.attributeArray("arguments", [&] {
    for (const Argument &argument : execution.getArguments())
      json.object([&] {
        json.attribute("name", argument.name);
        printType(json, argument.tensor);
        json.attribute("source", argument.source);
      });
  });
}

static void printResults(OStream &json, const Execution &execution) {
  json.attributeArray("results", [&] {
    for (auto [name, tensor] :
         llvm::zip(execution.getResultNames(), execution.getResults())) {
      Summary summary = summarize(tensor);
      json.object([&, &name = name, &tensor = tensor] {
        json.attribute("name", name);
        printType(json, tensor);
        bool hasFinite = summary.numFinite != 0;
        auto finite = [&](double value) -> llvm::json::Value {
          return hasFinite ? toJSON(value) : llvm::json::Value(nullptr);
        };
        json.attribute("min", finite(summary.min));
        json.attribute("max", finite(summary.max));
        json.attribute("mean", finite(summary.mean));
        json.attribute("nan", summary.numNaN);
        json.attribute("inf", summary.numPosInf);
        json.attribute("-inf", summary.numNegInf);
        json.attributeArray("first", [&] {
          for (double value : summary.first)
            json.value(toJSON(value));
        });
      });
    }
  });
}

static void printCheck(OStream &json, const CheckReport &check,
                       llvm::ArrayRef<std::string> names) {
  json.attributeObject("check", [&] {
    json.attribute("pass", check.passed());
    if (check.rows != 0)
      json.attribute("rows", check.rows);
    json.attributeArray("results", [&] {
      for (auto [i, name] : llvm::enumerate(names)) {
        const CheckResult &result = check.results[i];
        bool isRepeated = check.isRepeated[i];
        json.object([&, &name = name] {
          json.attribute("name", name);
          json.attribute("pass", result.pass && isRepeated);
          json.attribute("reason", result.reason);
          json.attribute("repeated", isRepeated);
          json.attribute("max_error", toJSON(result.maxError));
          json.attribute("mean_error", toJSON(result.meanError));
          json.attribute("eager_max_error", toJSON(result.eagerMax));
          json.attribute("eager_mean_error", toJSON(result.eagerMean));
          json.attribute("max_ratio", toJSON(result.maxRatio));
          json.attribute("mean_ratio", toJSON(result.meanRatio));
          json.attribute("max_bound", toJSON(result.maxBound));
          json.attribute("mean_bound", toJSON(result.meanBound));
          json.attribute("compared", result.numCompared);
          json.attribute("mismatches", result.numMismatches);
        });
      }
    });
  });
}

static void printBench(OStream &json, const BenchReport &bench) {
  json.attributeObject("bench", [&] {
    double median = bench.getMedian();
    json.attribute("runs", int64_t(bench.seconds.size()));
    json.attribute("warm_ups", bench.warmUps);
    json.attribute("median_s", median);
    json.attribute("min_s", bench.seconds.front());
    json.attribute("max_s", bench.seconds.back());
    if (const std::optional<BaselineReport> &baseline = bench.baseline)
      json.attributeObject("baseline", [&] {
        json.attribute("program", llvm::json::fixUTF8(baseline->program));
        json.attribute("entry", baseline->entry);
        json.attribute("median_s", getMedian(baseline->seconds));
        json.attribute("min_s", baseline->seconds.front());
        json.attribute("max_s", baseline->seconds.back());
        json.attribute("ratio", toJSON(bench.getRatio()));
      });
    // Both count masked keys.
    if (bench.work) {
      json.attribute("flop", bench.work->operations);
      json.attribute("tflop_per_s",
                     toJSON(bench.getRate(bench.work->operations / 1e12)));
    } else {
      json.attribute("flop", nullptr);
      json.attribute("tflop_per_s", nullptr);
    }
    json.attribute("bytes", bench.bytes);
    json.attribute("gb_per_s",
                   toJSON(bench.getRate(double(bench.bytes) / 1e9)));
  });
}

/// With the remarks of a tuning, if there was one.
static void printCompile(OStream &json, const CompileReport &compile,
                         const std::optional<TuningReport> &tuned) {
  json.attributeObject("compile", [&] {
    json.attribute("total_ms", compile.getTotalMilliseconds());
    json.attributeArray("stages", [&] {
      for (const CompileReport::Stage &stage : compile.stages)
        json.object([&] {
          json.attribute("name", stage.name);
          json.attribute("ms", stage.milliseconds);
        });
    });
    json.attribute("object_bytes", uint64_t(compile.objectSize));
    json.attributeArray("remarks", [&] {
      for (const CompileReport::Remark &remark : compile.remarks)
        json.value(llvm::json::fixUTF8(remark.toString()));
      if (tuned)
        json.value(llvm::json::fixUTF8(tuned->remark.toString()));
    });
  });
}

static void printTuning(OStream &json, const tune::TuneResult &tuned) {
  json.attributeObject("tuning", [&] {
    const tune::Entry &entry = tuned.entry;
    json.attribute("program", entry.program);
    json.attribute("device", entry.device);
    json.attribute("version", entry.version);
    json.attribute("bucket", tune::formatBucket(entry.bucket));
    json.attribute("schedule", entry.schedule);
    json.attribute("threads", entry.threads);
    json.attribute("seconds", entry.seconds);
    json.attribute("spread", entry.spread);
    json.attribute("untuned_seconds", entry.untunedSeconds);
    json.attribute("kept", tuned.isKept);
    if (!tuned.note.empty())
      json.attribute("note", llvm::json::fixUTF8(tuned.note));
    json.attributeArray("trials", [&] {
      for (const tune::Trial &trial : tuned.trials)
        json.object([&] {
          json.attribute("schedule", trial.schedule);
          json.attribute("seconds", trial.seconds);
          json.attribute("verdict", llvm::json::fixUTF8(trial.verdict));
        });
    });
    json.attributeArray("turns", [&] {
      for (const tune::Turn &turn : tuned.turns)
        json.object([&] {
          json.attribute("elapsed", turn.elapsed);
          json.attribute("trial", uint64_t(turn.trial));
          json.attribute("seconds", turn.seconds);
        });
    });
  });
}

std::string cli::formatJSON(const Report &report) {
  std::string text;
  llvm::raw_string_ostream os(text);
  OStream json(os, 2);
  const CompileReport &compile = report.kernel.report();
  json.object([&] {
    json.attribute("program", llvm::json::fixUTF8(report.program));
    json.attribute("entry", report.entry);
    json.attribute("target", compile.target);
    if (const GPU *gpu = report.execution.getGPU())
      json.attribute("gpu", gpu->getName());
    if (const auto &program = report.kernel.package().program)
      json.attributeArray("kernels", [&] {
        for (const VariantReport &variant : describeVariants(*program))
          json.value(variant.toJSON());
      });
    json.attribute("seed", report.options.seed);
    json.attribute("threads", int64_t(report.options.threads));
    printArguments(json, report.execution);
    if (!report.sparsity.empty())
      json.attributeArray("sparsity", [&] {
        for (const SparsityReport &sparsity : report.sparsity)
          json.object([&] {
            json.attribute("form", sparsity.form);
            json.attribute("density", sparsity.density);
          });
      });
    if (report.hasRun)
      printResults(json, report.execution);
    printCompile(json, compile, report.tuned);
    if (report.check)
      printCheck(json, *report.check, report.execution.getResultNames());
    if (report.tuned)
      printTuning(json, report.tuned->result);
    if (report.bench)
      printBench(json, *report.bench);
    if (report.mask)
      printMasks(json, *report.mask);
  });
  os << '\n';
  return text;
}
