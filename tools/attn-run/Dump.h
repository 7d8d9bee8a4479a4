//===- Dump.h - The program after each pass, as files -----------*- C++ -*-===//

#ifndef ATTN_TOOLS_ATTNRUN_DUMP_H
#define ATTN_TOOLS_ATTNRUN_DUMP_H

#include "attn/JIT/Compiler.h"
#include "llvm/ADT/StringMap.h"

namespace attn::cli {

/// Files of --dump-ir. It must outlive the compilations that it is attached to.
class Dump {
public:
  /// Writes nothing without the name of a folder.
  explicit Dump(std::string folder) : folder(std::move(folder)) {}

  /// Makes the folder.
  llvm::Error create();
  /// Lets a compilation write its program after each pass, numbered, and its
  /// code, in addition to what the options dump already.
  void attach(CompileOptions &options);
  /// Writes the binaries of a package beside the PTX that they are of.
  void writeBinaries(const KernelPackage &package);
  /// What could not be written.
  llvm::Error takeError();

private:
  void write(const llvm::Twine &name, llvm::StringRef bytes);

  std::string folder;
  /// The folder in it that is being written to, "" for itself.
  std::string part;
  unsigned count = 0;
  /// By the PTX, the folder that has it.
  llvm::StringMap<std::string> parts;
  /// The first failure.
  std::string failure;
};

} // namespace attn::cli

#endif // ATTN_TOOLS_ATTNRUN_DUMP_H
