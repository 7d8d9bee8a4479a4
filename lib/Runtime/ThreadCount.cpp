//===- ThreadCount.cpp - How many threads to use --------------------------===//

#include "attn/Runtime/ThreadCount.h"
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <sched.h>
#include <thread>

using namespace attn;

int32_t attn::getNumAvailableCpus() {
  unsigned count = 0;
#ifdef __linux__
  // The kernel refuses a set smaller than its own, whose size it does not tell.
  for (int size = 1024; size <= (1 << 20) && count == 0; size *= 2) {
    cpu_set_t *set = CPU_ALLOC(size);
    if (!set)
      break;
    size_t bytes = CPU_ALLOC_SIZE(size);
    bool done = sched_getaffinity(0, bytes, set) == 0;
    if (done)
      count = CPU_COUNT_S(bytes, set);
    bool retry = !done && errno == EINVAL;
    CPU_FREE(set);
    if (!retry)
      break;
  }
#endif
  if (count == 0)
    count = std::thread::hardware_concurrency();
  return std::clamp<unsigned>(count, 1, kMaxThreads);
}

int32_t attn::parseThreadCount(const char *text) {
  int32_t count = 0;
  if (!*text)
    return 0;
  for (; *text; ++text) {
    if (*text < '0' || *text > '9')
      return 0;
    count = count * 10 + (*text - '0');
    if (count > kMaxThreads)
      return 0;
  }
  return count;
}

int32_t attn::getDefaultNumThreads() {
  const char *text = std::getenv("ATTN_NUM_THREADS");
  if (!text)
    return getNumAvailableCpus();
  if (int32_t count = parseThreadCount(text))
    return count;
  int32_t count = getNumAvailableCpus();
  std::fprintf(stderr,
               "warning: ATTN_NUM_THREADS expects an integer from 1 to %d, but "
               "got '%s'; using %d\n",
               int(kMaxThreads), text, int(count));
  return count;
}
