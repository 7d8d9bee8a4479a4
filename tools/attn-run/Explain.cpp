//===- Explain.cpp - Which code runs, and why -----------------------------===//

#include "Explain.h"
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

llvm::Expected<std::string>
cli::explain(const Kernel &kernel, const Execution &execution, bool asJSON) {
  llvm::Expected<CodeChoice> choice = execution.explain();
  if (!choice)
    return choice.takeError();
  std::vector<std::string> rejected =
      kernel.report().getRemarks("schedule-rejected");
  std::vector<VariantReport> variants;
  if (const auto &program = choice->package->program)
    variants = describeVariants(*program, &*choice);
  std::string text;
  llvm::raw_string_ostream os(text);
  if (asJSON) {
    json::Array kernels, reasons;
    for (const VariantReport &report : variants)
      kernels.push_back(report.toJSON());
    for (const std::string &reason : rejected)
      reasons.push_back(json::fixUTF8(reason));
    json::Object object{{"entry", choice->package->metadata.entry},
                        {"target", kernel.report().target},
                        {"source", choice->source},
                        {"choice", json::fixUTF8(choice->text)},
                        {"kernels", std::move(kernels)},
                        {"rejected", std::move(reasons)}};
    if (choice->measured)
      object["measured_seconds"] = *choice->measured;
    os << llvm::formatv("{0:2}\n", json::Value(std::move(object)));
    return text;
  }
  os << "@" << choice->package->metadata.entry << " on "
     << kernel.report().target << "\nchoice\n  " << choice->text << '\n';
  if (!variants.empty()) {
    os << "kernels\n";
    printTable(os, makeVariantTable(variants));
  }
  if (!rejected.empty())
    os << "rejected\n";
  for (const std::string &reason : rejected)
    os << "  " << reason << '\n';
  return text;
}
