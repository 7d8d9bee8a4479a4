//===- AttnTarget.cpp - What a program is compiled for --------------------===//

#include "attn/Dialect/Attn/IR/AttnTarget.h"
#include "attn/Dialect/Attn/IR/Attn.h"
#include "mlir/AsmParser/AsmParser.h"

using namespace mlir;
using namespace mlir::attn;

LogicalResult TargetAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 StringRef chip, int64_t sms, int64_t smShared,
                                 int64_t ctaShared, int64_t reservedShared,
                                 int64_t smRegisters, int64_t threadRegisters,
                                 int64_t smThreads, int64_t ctaThreads,
                                 int64_t smCtas, int64_t ptx, bool wgmma,
                                 bool tma, bool cpAsync, bool dependentLaunch,
                                 int64_t warpThreads, int64_t productTflops,
                                 int64_t memoryGbs) {
  if (chip.empty())
    return emitError() << "expects the name of a chip";
  const std::initializer_list<std::pair<StringRef, int64_t>> positive = {
      {"sms", sms},
      {"sm_shared", smShared},
      {"cta_shared", ctaShared},
      {"sm_registers", smRegisters},
      {"thread_registers", threadRegisters},
      {"sm_threads", smThreads},
      {"cta_threads", ctaThreads},
      {"sm_ctas", smCtas},
      {"ptx", ptx},
      {"warp_threads", warpThreads}};
  const std::initializer_list<std::pair<StringRef, int64_t>> notNegative = {
      {"reserved_shared", reservedShared},
      {"product_tflops", productTflops},
      {"memory_gbs", memoryGbs}};
  for (auto [name, value] : positive)
    if (value <= 0)
      return emitError() << "expects " << name << " to be positive, but got "
                         << value;
  for (auto [name, value] : notNegative)
    if (value < 0)
      return emitError() << "expects " << name
                         << " not to be negative, but got " << value;
  // Sums and products of two of them are computed in 64 bits.
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  for (auto [name, value] :
       llvm::concat<const std::pair<StringRef, int64_t>>(positive, notNegative))
    if (value > most)
      return emitError() << "expects " << name << " to be at most " << most
                         << ", but got " << value;
  auto checkMost = [&](StringRef part, int64_t number, StringRef whole,
                       int64_t most) -> LogicalResult {
    if (number <= most)
      return success();
    return emitError() << "expects " << part << " to be at most " << whole
                       << ", but got " << number << " of " << most;
  };
  if (failed(checkMost("cta_shared and reserved_shared",
                       ctaShared + reservedShared, "sm_shared", smShared)) ||
      failed(checkMost("thread_registers", threadRegisters, "sm_registers",
                       smRegisters)) ||
      failed(checkMost("cta_threads", ctaThreads, "sm_threads", smThreads)))
    return failure();
  if (wgmma && warpThreads != 32)
    return emitError() << "expects warps of 32 threads with wgmma, but got "
                       << warpThreads;
  // Tiles come to the products by copies in the background.
  if (wgmma && !tma)
    return emitError() << "expects tma with wgmma";
  return success();
}

int64_t TargetAttr::getResidentCTAs(int64_t threads, int64_t registers,
                                    int64_t sharedBytes) const {
  // Warps get registers in such numbers (CUDA C++ Programming Guide, "Technical
  // Specifications per Compute Capability": the same of all since 5.0).
  constexpr int64_t registerUnit = 256;
  int64_t warps = llvm::divideCeil(threads, getWarpThreads());
  int64_t all =
      warps * llvm::alignTo(registers * getWarpThreads(), registerUnit);
  return std::min({getSmCtas(), getSmThreads() / (warps * getWarpThreads()),
                   getSmRegisters() / std::max<int64_t>(all, 1),
                   getSmShared() / std::max<int64_t>(
                                       sharedBytes + getReservedShared(), 1)});
}

namespace {
struct NamedTarget {
  StringLiteral name, text;
};
} // namespace

static constexpr NamedTarget kTargets[] = {
#define TARGET(NAME, TEXT) {NAME, TEXT},
#include "Targets.inc"
#undef TARGET
};

SmallVector<StringRef> mlir::attn::getTargetNames() {
  return llvm::map_to_vector(
      kTargets,
      [](const NamedTarget &target) -> StringRef { return target.name; });
}

TargetAttr mlir::attn::getNamedTarget(MLIRContext *context, StringRef name) {
  context->getOrLoadDialect<AttnDialect>();
  for (const NamedTarget &target : kTargets) {
    auto attribute = cast<TargetAttr>(parseAttribute(target.text, context));
    if (target.name == name || attribute.getChip() == name)
      return attribute;
  }
  return nullptr;
}

TargetAttr mlir::attn::getTarget(Operation *op) {
  for (Operation *at = op; at; at = at->getParentOp())
    if (auto target = at->getAttrOfType<TargetAttr>(kTargetAttrName))
      return target;
  return getNamedTarget(op->getContext(), kTargets[0].name);
}
