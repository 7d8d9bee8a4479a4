//===- CPU.cpp - Description of a processor -------------------------------===//

#include "attn/Target/CPU.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include <unistd.h>

using namespace attn;

//===----------------------------------------------------------------------===//
// Caches
//===----------------------------------------------------------------------===//

/// A size that the system tells, or `fallback` where it does not.
static unsigned getSystemSize(int name, unsigned fallback) {
  long size = name < 0 ? 0 : sysconf(name);
  return size > 0 ? static_cast<unsigned>(size) : fallback;
}

static void setCaches(CPUTarget &target) {
#ifdef _SC_LEVEL1_DCACHE_SIZE
  target.l1Bytes = getSystemSize(_SC_LEVEL1_DCACHE_SIZE, target.l1Bytes);
  target.l2Bytes = getSystemSize(_SC_LEVEL2_CACHE_SIZE, target.l2Bytes);
#endif
}

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

/// What the 512-bit code that LLVM makes takes for granted.
static constexpr llvm::StringLiteral kAVX512[] = {
    "avx512f", "avx512dq", "avx512vl", "avx512bw", "avx512cd"};
static constexpr llvm::StringLiteral kAVX2[] = {"avx2", "fma", "f16c"};

static void setVectors(CPUTarget &target,
                       const llvm::StringMap<bool> &features) {
  auto hasAll = [&](llvm::ArrayRef<llvm::StringLiteral> names) {
    return llvm::all_of(
        names, [&](llvm::StringRef name) { return features.lookup(name); });
  };
  if (hasAll(kAVX512) && hasAll(kAVX2)) {
    target.vectorBits = 512;
    target.vectorRegisters = 32;
  } else if (hasAll(kAVX2)) {
    target.vectorBits = 256;
    target.vectorRegisters = 16;
  } else {
    target.vectorBits = 128;
    target.vectorRegisters = llvm::Triple(target.triple).isAArch64() ? 32 : 16;
  }
}

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

std::string CPUTarget::getFeatureString() const {
  return llvm::join(features, ",");
}

CPUTarget attn::describeCPU(llvm::StringRef triple, llvm::StringRef cpu,
                            const llvm::StringMap<bool> &features) {
  CPUTarget target;
  target.triple = triple.str();
  target.cpu = cpu.str();
  for (const llvm::StringMapEntry<bool> &feature : features) {
    target.features.push_back((feature.second ? "+" : "-") +
                              feature.first().str());
    if (feature.second)
      target.required.push_back(feature.first().str());
  }
  llvm::sort(target.features);
  llvm::sort(target.required);
  setVectors(target, features);
  return target;
}

/// The features of the x86-64 levels beyond what every such processor has.
static constexpr llvm::StringLiteral kLevel3[] = {
    "avx",   "avx2",   "bmi",  "bmi2", "cx16",   "f16c",   "fma",   "lzcnt",
    "movbe", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3", "xsave"};

llvm::Expected<CPUTarget> attn::getCPUTarget(llvm::StringRef name) {
  std::string hostTriple = llvm::sys::getProcessTriple();
  llvm::StringMap<bool> features;
  CPUTarget target;
  if (name.empty() || name == "host") {
    target = describeCPU(hostTriple, llvm::sys::getHostCPUName(),
                         llvm::sys::getHostCPUFeatures());
    target.name = "host";
    setCaches(target);
    return target;
  }
  bool isX86 = llvm::Triple(hostTriple).getArch() == llvm::Triple::x86_64;
  llvm::StringRef cpu;
  if (name == "baseline") {
    cpu = isX86 ? "x86-64" : "generic";
  } else if (isX86 && (name == "avx2" || name == "avx512")) {
    cpu = name == "avx2" ? "x86-64-v3" : "x86-64-v4";
    for (llvm::StringRef feature : kLevel3)
      features[feature] = true;
    if (name == "avx512")
      for (llvm::StringRef feature : kAVX512)
        features[feature] = true;
  } else {
    return llvm::createStringError(
        "expects the target to be host, baseline" +
        llvm::Twine(isX86 ? ", avx2 or avx512" : "") + ", but got '" + name +
        "'");
  }
  target = describeCPU(hostTriple, cpu, features);
  target.name = name.str();
  setCaches(target);
  return target;
}

std::vector<std::string>
attn::getMissingFeatures(const std::vector<std::string> &required) {
  llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
  std::vector<std::string> missing;
  for (const std::string &feature : required)
    if (!host.lookup(feature))
      missing.push_back(feature);
  return missing;
}
