//===- KernelCache.h - Whole kernels on disk --------------------*- C++ -*-===//

#ifndef ATTN_LIB_JIT_KERNELCACHE_H
#define ATTN_LIB_JIT_KERNELCACHE_H

#include "attn/JIT/Compiler.h"
#include "attn/Support/DiskCache.h"

namespace attn {

/// Everything that a kernel package depends on, by name, so that a miss can be
/// explained.
struct KernelKey {
  struct Part {
    /// The value may be any bytes: names in programs are.
    std::string name, value;
  };
  std::vector<Part> parts;

  CacheKey getHash() const;
};

/// The key of a program, as text or bytecode. None where a compilation is not
/// to be kept: its dumps are wanted, or the build of this compiler is not
/// known.
std::optional<KernelKey> getKernelKey(llvm::StringRef program,
                                      const CompileOptions &options);

/// Looks for a package, or makes it with `compile` and keeps it. Of several
/// processes that want the same package one compiles, and the others wait.
llvm::Expected<KernelPackage>
getCachedPackage(const KernelKey &key, CompileReport &report,
                 llvm::function_ref<llvm::Expected<KernelPackage>()> compile);

} // namespace attn

#endif // ATTN_LIB_JIT_KERNELCACHE_H
