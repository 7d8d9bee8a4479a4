//===- SharedRuntime.cpp - The runtime as a shared library, for a test ----===//

#include "attn/Runtime/Symbols.h"
#include <cstring>

/// A function of the runtime in this library. The static build hides them all,
/// so that the test cannot look them up itself.
extern "C" __attribute__((visibility("default"))) void *
attnTestRuntimeSymbol(const char *name) {
  for (attn::RuntimeSymbol symbol : attn::getRuntimeSymbols())
    if (std::strcmp(symbol.name, name) == 0)
      return symbol.address;
  return nullptr;
}
