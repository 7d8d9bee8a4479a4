//===- Emit.h - Code of a program, without a run ----------------*- C++ -*-===//

#ifndef ATTN_TOOLS_ATTNRUN_EMIT_H
#define ATTN_TOOLS_ATTNRUN_EMIT_H

#include "Dump.h"
#include "Options.h"
#include "attn/JIT/Compiler.h"

namespace attn::cli {

/// Code of a program: a text, or bytes.
struct EmittedCode {
  /// Of a file in a folder.
  std::string name;
  /// What it is, in words.
  std::string title;
  std::string bytes;
};

/// Compiles a program as far as --emit asks for, and returns what --variant
/// asks for: one code, or all. Tells on stderr of variants that are left out.
llvm::Expected<std::vector<EmittedCode>> emitCode(llvm::StringRef program,
                                                  const Options &options,
                                                  CompileOptions compile,
                                                  Dump &dump);

/// Writes codes where --emit-to asks for: several texts one after the other,
/// with a comment before each, several binaries to a folder.
llvm::Error writeCode(llvm::ArrayRef<EmittedCode> codes,
                      const Options &options);

/// Writes to standard output, or to a file if there is a name. Unlike
/// llvm::outs it tells errors.
llvm::Error writeOutput(llvm::StringRef bytes, const std::string &file = "");

} // namespace attn::cli

#endif // ATTN_TOOLS_ATTNRUN_EMIT_H
