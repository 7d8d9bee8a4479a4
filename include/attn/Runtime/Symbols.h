//===- Symbols.h - The runtime's functions by name --------------*- C++ -*-===//

#ifndef ATTN_RUNTIME_SYMBOLS_H
#define ATTN_RUNTIME_SYMBOLS_H

#include <array>

namespace attn {

/// A function that compiled code calls.
struct RuntimeSymbol {
  const char *name;
  void *address;
};

/// All functions of attn/Runtime/ABI.h, for a loader of code that resolves
/// names itself.
std::array<RuntimeSymbol, 4> getRuntimeSymbols();

} // namespace attn

#endif // ATTN_RUNTIME_SYMBOLS_H
