//===- ThreadCount.h - How many threads to use ------------------*- C++ -*-===//

#ifndef ATTN_RUNTIME_THREADCOUNT_H
#define ATTN_RUNTIME_THREADCOUNT_H

#include <cstdint>

namespace attn {

/// No pool has more threads than this.
constexpr int32_t kMaxThreads = 1024;

/// The number of processors that the calling thread may run on, at least 1.
int32_t getNumAvailableCpus();

/// The number in a text, or 0 unless the text is an integer from 1 to
/// kMaxThreads.
int32_t parseThreadCount(const char *text);

/// The threads of the default pool: what the environment variable
/// ATTN_NUM_THREADS says, otherwise getNumAvailableCpus(). A variable that is
/// not a count is reported on stderr and otherwise ignored.
int32_t getDefaultNumThreads();

} // namespace attn

#endif // ATTN_RUNTIME_THREADCOUNT_H
