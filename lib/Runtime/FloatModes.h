//===- FloatModes.h - The processor's floating-point modes ------*- C++ -*-===//
//
// Rounding and flushing of denormals are modes of each thread. A thread gets
// its creator's when it starts, which may be any thread that ever launched; so
// the modes travel with each launch, and the same inputs give the same bits on
// whatever thread a task runs.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_RUNTIME_FLOATMODES_H
#define ATTN_LIB_RUNTIME_FLOATMODES_H

#include <cstdint>

#ifdef __x86_64__
#include <xmmintrin.h>
#endif

namespace attn {

inline uint64_t getFloatModes() {
#if defined(__x86_64__)
  // The low six bits are flags of what happened, not modes.
  return _mm_getcsr() & ~0x3fu;
#elif defined(__aarch64__)
  uint64_t modes;
  asm volatile("mrs %0, fpcr" : "=r"(modes));
  return modes;
#else
  return 0;
#endif
}

inline void setFloatModes(uint64_t modes) {
#if defined(__x86_64__)
  _mm_setcsr(static_cast<unsigned>(modes));
#elif defined(__aarch64__)
  asm volatile("msr fpcr, %0" : : "r"(modes));
#else
  (void)modes;
#endif
}

} // namespace attn

#endif // ATTN_LIB_RUNTIME_FLOATMODES_H
