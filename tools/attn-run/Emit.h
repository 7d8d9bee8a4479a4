//===- Emit.h - Code of a program, without a run ----------------*- C++ -*-===//

#ifndef ATTN_TOOLS_ATTNRUN_EMIT_H
#define ATTN_TOOLS_ATTNRUN_EMIT_H

#include "Dump.h"
#include "Options.h"
#include "attn/JIT/Compiler.h"

namespace attn::cli {

/// Compiles a program as far as --emit asks for, and returns the text or the
/// bytes.
llvm::Expected<std::string> emitCode(llvm::StringRef program,
                                     const Options &options,
                                     CompileOptions compile, Dump &dump);

/// Writes to standard output, or to a file if there is a name. Unlike
/// llvm::outs it tells errors.
llvm::Error writeOutput(llvm::StringRef bytes, const std::string &file = "");

} // namespace attn::cli

#endif // ATTN_TOOLS_ATTNRUN_EMIT_H
