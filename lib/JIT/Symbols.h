//===- Symbols.h - Functions that compiled code calls -----------*- C++ -*-===//

#ifndef ATTN_LIB_JIT_SYMBOLS_H
#define ATTN_LIB_JIT_SYMBOLS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace attn {

struct HostSymbol {
  llvm::StringLiteral name;
  void *address;
};

/// What code may call, besides the runtime (attn/Runtime/Symbols.h): the
/// functions on numbers and memory of the C library, and those that the code
/// generator calls where the processor lacks an instruction.
llvm::ArrayRef<HostSymbol> getHostSymbols();

/// Whether `name` is one of these or of the runtime.
bool isHostSymbol(llvm::StringRef name);

} // namespace attn

#endif // ATTN_LIB_JIT_SYMBOLS_H
