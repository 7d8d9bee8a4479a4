//===- CPU.h - Description of a processor -----------------------*- C++ -*-===//
//
// What passes and code generation need to know of the processor that a kernel
// runs on. Passes ask for widths, counts and sizes, never for a name.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TARGET_CPU_H
#define ATTN_TARGET_CPU_H

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace attn {

struct CPUTarget {
  /// How it was asked for: "host", "baseline", "avx2" or "avx512".
  std::string name;
  /// As LLVM knows it.
  std::string triple, cpu;
  /// Features of LLVM beyond those of `cpu`, each with '+' or '-'.
  std::vector<std::string> features;
  /// Features that code for it may use, sorted, without '+': what a processor
  /// has to have to run it.
  std::vector<std::string> required;
  /// Width of a vector register in bits, and the number of registers.
  unsigned vectorBits = 128;
  unsigned vectorRegisters = 16;
  /// Data caches of one core in bytes.
  unsigned l1Bytes = 32 << 10;
  unsigned l2Bytes = 1 << 20;

  /// The features as LLVM's option takes them: "+avx,-sse4a".
  std::string getFeatureString() const;
};

/// The processor this runs on if `name` is empty or "host"; otherwise
/// "baseline", "avx2" or "avx512", with the caches of the one this runs on.
llvm::Expected<CPUTarget> getCPUTarget(llvm::StringRef name = "");

/// The processor that has these features; for x86-64 they decide the vectors.
CPUTarget describeCPU(llvm::StringRef triple, llvm::StringRef cpu,
                      const llvm::StringMap<bool> &features);

/// The features of `required` that the processor this runs on lacks.
std::vector<std::string>
getMissingFeatures(const std::vector<std::string> &required);

} // namespace attn

#endif // ATTN_TARGET_CPU_H
