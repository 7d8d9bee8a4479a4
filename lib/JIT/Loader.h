//===- Loader.h - Make compiled code ready to run ---------------*- C++ -*-===//

#ifndef ATTN_LIB_JIT_LOADER_H
#define ATTN_LIB_JIT_LOADER_H

#include "attn/Runtime/KernelPackage.h"
#include "llvm/Support/Error.h"
#include <memory>

namespace llvm::orc {
class ExecutionSession;
class ObjectLinkingLayer;
} // namespace llvm::orc

namespace attn {

/// The code of a package in executable memory, as long as it lives.
class LoadedCode {
public:
  /// See CodeGen.h for what it takes.
  using Function = int64_t (*)(void *const *descriptors, void *exec);

  static llvm::Expected<std::unique_ptr<LoadedCode>>
  load(const KernelPackage &package);
  ~LoadedCode();

  Function getRun() const { return run; }

private:
  explicit LoadedCode(std::unique_ptr<llvm::orc::ExecutionSession> session);
  llvm::Error link(const KernelPackage &package);

  std::unique_ptr<llvm::orc::ExecutionSession> session;
  std::unique_ptr<llvm::orc::ObjectLinkingLayer> layer;
  Function run = nullptr;
};

} // namespace attn

#endif // ATTN_LIB_JIT_LOADER_H
