//===- Explain.cpp - Which code runs, and why -----------------------------===//

#include "Explain.h"
#include "Table.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace attn;
using namespace attn::cli;
namespace json = llvm::json;

static json::Value describeVariant(const cuda::Variant &variant) {
  json::Object object{{"schedule", json::fixUTF8(variant.schedule)},
                      {"threads", variant.threads},
                      {"shared_bytes", variant.dynamicSharedBytes}};
  if (const auto &resources = variant.resources) {
    object["shared_bytes"] =
        variant.dynamicSharedBytes + resources->sharedBytes;
    object["registers"] = resources->registers;
    object["spill_bytes"] = resources->spillBytes;
    object["ctas_per_sm"] = resources->residentBlocks;
  }
  return object;
}

static std::vector<std::string> formatVariant(const cuda::Variant &variant,
                                              bool isTaken) {
  std::vector<std::string> row = {
      isTaken ? "runs" : "", llvm::formatv("{0} threads", variant.threads)};
  if (const auto &resources = variant.resources) {
    row.push_back(llvm::formatv("{0} registers", resources->registers));
    row.push_back(llvm::formatv("{0} bytes of spills", resources->spillBytes));
    row.push_back(
        llvm::formatv("{0} bytes shared",
                      variant.dynamicSharedBytes + resources->sharedBytes));
    row.push_back(llvm::formatv("{0} CTAs per SM", resources->residentBlocks));
  } else {
    row.insert(row.end(), {"registers not known", "", "", ""});
  }
  row.push_back(variant.schedule);
  return row;
}

llvm::Expected<std::string>
cli::explain(const Kernel &kernel, const Execution &execution, bool asJSON) {
  llvm::Expected<CodeChoice> choice = execution.explain();
  if (!choice)
    return choice.takeError();
  std::vector<std::string> rejected =
      kernel.report().getRemarks("schedule-rejected");
  json::Array kernels, reasons;
  std::vector<std::vector<std::string>> rows;
  if (const auto &program = choice->package->program)
    for (auto [number, launch] : llvm::enumerate(program->launches))
      for (auto [index, variant] : llvm::enumerate(launch.variants)) {
        bool isTaken = number < choice->variants.size() &&
                       choice->variants[number] == index;
        json::Value described = describeVariant(variant);
        described.getAsObject()->insert({"taken", isTaken});
        kernels.push_back(std::move(described));
        rows.push_back(formatVariant(variant, isTaken));
      }
  std::string text;
  llvm::raw_string_ostream os(text);
  if (asJSON) {
    for (const std::string &reason : rejected)
      reasons.push_back(json::fixUTF8(reason));
    json::Object object{{"entry", choice->package->metadata.entry},
                        {"target", kernel.report().target},
                        {"source", choice->source},
                        {"choice", json::fixUTF8(choice->text)},
                        {"kernels", std::move(kernels)},
                        {"rejected", std::move(reasons)}};
    os << llvm::formatv("{0:2}\n", json::Value(std::move(object)));
    return text;
  }
  os << "@" << choice->package->metadata.entry << " on "
     << kernel.report().target << "\nchoice\n  " << choice->text << '\n';
  if (!rows.empty()) {
    os << "kernels\n";
    printTable(os, rows);
  }
  if (!rejected.empty())
    os << "rejected\n";
  for (const std::string &reason : rejected)
    os << "  " << reason << '\n';
  return text;
}
