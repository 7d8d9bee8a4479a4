//===- Explain.cpp - Which code runs, and why -----------------------------===//

#include "Explain.h"
#include "attn/Tune/Tuner.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace attn;
using namespace attn::cli;
namespace json = llvm::json;

Table cli::makeVariantTable(llvm::ArrayRef<VariantReport> reports) {
  Table table;
  auto format = [](auto number, const llvm::Twine &unit) {
    return (llvm::formatv("{0}", number) + unit).str();
  };
  auto formatTime = [](llvm::StringRef what, std::optional<double> seconds) {
    return seconds ? llvm::formatv("{0} {1:F1} us", what, 1e6 * *seconds).str()
                   : "";
  };
  // A column that nothing is in is left out.
  bool areTimes = llvm::any_of(reports, [](const VariantReport &report) {
    return report.predicted || report.measured || report.least;
  });
  for (const VariantReport &report : reports) {
    const cuda::Variant &variant = *report.variant;
    std::vector<std::string> &row = table.emplace_back();
    if (report.isTaken)
      row.push_back(*report.isTaken ? "runs" : "");
    row.insert(row.end(), {variant.entry, format(variant.threads, " threads")});
    const std::optional<cuda::Resources> &resources = variant.resources;
    if (resources)
      row.insert(row.end(),
                 {format(resources->registers, " registers"),
                  format(resources->spillBytes, " bytes of spills")});
    else
      row.insert(row.end(), {"registers not known", "spills not known"});
    row.push_back(format(report.getSharedBytes(), " bytes of shared memory"));
    row.push_back(resources
                      ? format(resources->residentBlocks,
                               resources->residentBlocks == 1 ? " CTA per SM"
                                                              : " CTAs per SM")
                      : "CTAs not known");
    if (areTimes) {
      std::optional<double> share = report.getRooflineShare();
      row.insert(
          row.end(),
          {formatTime("predicted", report.predicted),
           formatTime("measured", report.measured),
           share ? llvm::formatv("{0:F0} % of the roofline", 100 * *share).str()
                 : ""});
    }
    row.push_back(variant.schedule);
    auto addOther = [&](llvm::StringRef entry, int64_t threads,
                        llvm::StringRef what) {
      size_t first = report.isTaken ? 1 : 0, count = table.back().size();
      std::vector<std::string> other(count);
      other[first] = entry.str();
      other[first + 1] = format(threads, " threads");
      other.back() = what.str();
      table.push_back(std::move(other));
    };
    for (const cuda::PrologueKernel &prologue : variant.prologues)
      addOther(prologue.entry, prologue.threads, "fills tables before");
    for (const cuda::LoopKernel &loop : variant.loops)
      addOther(loop.entry, loop.threads,
               loop.isBehind ? "runs behind" : "runs before");
  }
  return table;
}

/// A member or a section for each obstacle.
static json::Array toJSON(llvm::ArrayRef<KernelObstacle> obstacles) {
  json::Array kernels;
  for (const KernelObstacle &obstacle : obstacles)
    kernels.push_back(json::Object{{"kernel", obstacle.kernel},
                                   {"lacks", json::fixUTF8(obstacle.text)}});
  return kernels;
}

static void print(llvm::raw_ostream &os,
                  llvm::ArrayRef<KernelObstacle> obstacles) {
  if (obstacles.empty())
    return;
  os << "lacking on a GPU\n";
  Table table;
  for (const KernelObstacle &obstacle : obstacles)
    table.push_back({obstacle.kernel, obstacle.text});
  printTable(os, table);
}

/// What is tuned, the one that the call takes first.
static Table makeTunedTable(llvm::ArrayRef<CodeChoice::Tuned> tuned) {
  Table table;
  for (bool isTaken : {true, false})
    for (const CodeChoice::Tuned &entry : tuned) {
      if (entry.isTaken != isTaken)
        continue;
      table.push_back(
          {isTaken ? "runs" : "",
           llvm::formatv("measured {0:F1} us", 1e6 * entry.seconds),
           llvm::formatv("untuned {0:F1} us", 1e6 * entry.untunedSeconds),
           entry.extents, entry.version,
           tune::describeTrial(entry.schedule, entry.threads)});
    }
  return table;
}

llvm::Expected<std::string>
cli::explain(const Kernel &kernel, const Execution &execution,
             llvm::ArrayRef<KernelObstacle> obstacles, bool asJSON) {
  llvm::Expected<CodeChoice> choice = execution.explain();
  if (!choice)
    return choice.takeError();
  const CompileReport &compiled = kernel.report();
  using Remarks = std::vector<CompileReport::Remark>;
  const Remarks chosen = compiled.getRemarks("schedule");
  const std::pair<llvm::StringRef, Remarks> remarks[] = {
      {"masks", compiled.getRemarks("mask-cost")},
      {"ruled_out", compiled.getRemarks("rows-ruled-out")},
      {"rejected", compiled.getRemarks("schedule-rejected")}};
  std::vector<VariantReport> variants;
  if (const auto &program = choice->package->program)
    variants = describeVariants(*program, &*choice);
  // Or the schedule is one that was tuned, and of another package.
  bool isUsual = choice->package == &kernel.package();
  std::string text;
  llvm::raw_string_ostream os(text);
  if (asJSON) {
    json::Array kernels, schedules, tuned;
    for (const VariantReport &report : variants)
      kernels.push_back(report.toJSON());
    for (const CompileReport::Remark &remark : chosen)
      schedules.push_back(
          json::Object{{"schedule", json::fixUTF8(remark.schedule)},
                       {"reason", json::fixUTF8(remark.text)},
                       {"is_taken", isUsual}});
    for (const CodeChoice::Tuned &entry : choice->tuned)
      tuned.push_back(entry.toJSON());
    json::Object object{{"entry", choice->package->metadata.entry},
                        {"target", compiled.target},
                        {"source", choice->source},
                        {"choice", json::fixUTF8(choice->text)},
                        {"kernels", std::move(kernels)},
                        {"schedules", std::move(schedules)},
                        {"tuned", std::move(tuned)},
                        {"lacking", toJSON(obstacles)}};
    for (const auto &[name, those] : remarks) {
      json::Array texts;
      for (const CompileReport::Remark &remark : those)
        texts.push_back(json::fixUTF8(remark.getMessage()));
      object[name] = std::move(texts);
    }
    if (choice->measured)
      object["measured_seconds"] = *choice->measured;
    os << llvm::formatv("{0:2}\n", json::Value(std::move(object)));
    return text;
  }
  os << "@" << choice->package->metadata.entry << " on " << compiled.target
     << "\nchoice\n  " << choice->text << '\n';
  if (!variants.empty()) {
    os << "kernels\n";
    printTable(os, makeVariantTable(variants));
  }
  Table schedules;
  for (const CompileReport::Remark &remark : chosen)
    schedules.push_back({isUsual ? "runs" : "", remark.schedule, remark.text});
  if (!schedules.empty()) {
    os << "schedules\n";
    printTable(os, schedules);
  }
  if (!choice->tuned.empty()) {
    os << "tuned\n";
    printTable(os, makeTunedTable(choice->tuned));
  }
  for (const auto &[name, those] : remarks) {
    if (!those.empty())
      os << (name == "ruled_out" ? "ruled out" : name) << '\n';
    for (const CompileReport::Remark &remark : those)
      os << "  " << remark.getMessage() << '\n';
  }
  print(os, obstacles);
  return text;
}

std::string cli::explainObstacles(llvm::StringRef entry,
                                  llvm::ArrayRef<KernelObstacle> obstacles,
                                  bool asJSON) {
  constexpr llvm::StringLiteral choice =
      "nothing runs: no kernel for a GPU serves this program";
  std::string text;
  llvm::raw_string_ostream os(text);
  if (asJSON) {
    os << llvm::formatv(
        "{0:2}\n", json::Value(json::Object{{"entry", entry},
                                            {"target", "cuda"},
                                            {"source", "none"},
                                            {"choice", choice},
                                            {"lacking", toJSON(obstacles)}}));
    return text;
  }
  os << "@" << entry << " on cuda\nchoice\n  " << choice << '\n';
  print(os, obstacles);
  return text;
}
