//===- Symbols.cpp - The runtime's functions by name ----------------------===//

#include "attn/Runtime/Symbols.h"
#include "attn/Runtime/ABI.h"

using namespace attn;

std::array<RuntimeSymbol, 4> attn::getRuntimeSymbols() {
  return {{
      {"attn_rt_parallel", reinterpret_cast<void *>(attn_rt_parallel)},
      {"attn_rt_next_task", reinterpret_cast<void *>(attn_rt_next_task)},
      {"attn_rt_alloc", reinterpret_cast<void *>(attn_rt_alloc)},
      {"attn_rt_free", reinterpret_cast<void *>(attn_rt_free)},
  }};
}
