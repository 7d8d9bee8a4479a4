//===- VariantReport.cpp - What is known of variants of a kernel ----------===//

#include "attn/Runtime/LoadedKernel.h"
#include "llvm/ADT/STLExtras.h"

using namespace attn;
namespace json = llvm::json;

std::vector<VariantReport>
attn::describeVariants(const cuda::CudaProgram &program,
                       const CodeChoice *choice) {
  std::vector<VariantReport> reports;
  auto getKnown = [](double seconds) {
    return seconds > 0 ? std::optional(seconds) : std::nullopt;
  };
  for (auto [number, launch] : llvm::enumerate(program.launches))
    for (auto [index, variant] : llvm::enumerate(launch.variants)) {
      VariantReport &report = reports.emplace_back();
      report.variant = &variant;
      if (!choice || number >= choice->launches.size())
        continue;
      const CodeChoice::Launch &of = choice->launches[number];
      report.isTaken = of.taken == index;
      report.predicted = getKnown(of.predicted[index]);
      report.least = getKnown(of.least[index]);
      // What was measured is the time of all launches.
      if (*report.isTaken && choice->launches.size() == 1)
        report.measured = choice->measured;
    }
  return reports;
}

int64_t VariantReport::getSharedBytes() const {
  const auto &resources = variant->resources;
  return variant->dynamicSharedBytes + (resources ? resources->sharedBytes : 0);
}

std::optional<double> VariantReport::getRooflineShare() const {
  std::optional<double> time = measured ? measured : predicted;
  if (!time || !least)
    return std::nullopt;
  return *least / *time;
}

json::Object VariantReport::toJSON() const {
  json::Object object{{"entry", variant->entry},
                      {"schedule", json::fixUTF8(variant->schedule)},
                      {"threads", variant->threads},
                      {"shared_bytes", getSharedBytes()},
                      {"ptx_bytes", int64_t(variant->ptx.size())},
                      {"cubin_bytes", int64_t(variant->cubin.size())}};
  if (const std::optional<cuda::Resources> &resources = variant->resources) {
    object["registers"] = resources->registers;
    object["spill_bytes"] = resources->spillBytes;
    object["stack_bytes"] = resources->stackBytes;
    object["ctas_per_sm"] = resources->residentBlocks;
  }
  if (!variant->prologues.empty()) {
    json::Array prologues;
    for (const cuda::PrologueKernel &prologue : variant->prologues)
      prologues.push_back(prologue.entry);
    object["prologues"] = std::move(prologues);
  }
  if (isTaken)
    object["is_taken"] = *isTaken;
  auto add = [&](llvm::StringRef name, std::optional<double> number) {
    if (number)
      object[name] = *number;
  };
  add("predicted_seconds", predicted);
  add("measured_seconds", measured);
  add("roofline_share", getRooflineShare());
  return object;
}

json::Object CodeChoice::Tuned::toJSON() const {
  return json::Object{{"schedule", json::fixUTF8(schedule)},
                      {"threads", threads},
                      {"extents", json::fixUTF8(extents)},
                      {"version", json::fixUTF8(version)},
                      {"seconds", seconds},
                      {"untuned_seconds", untunedSeconds},
                      {"is_taken", isTaken}};
}
