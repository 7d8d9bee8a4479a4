/*===- CoarseClock.c - A clock that ticks every 10 ms, for tests ----------===*/

#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier): for syscall */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock,
                                                         struct timespec *time);

int clock_gettime(clockid_t clock, struct timespec *time) {
  const long tick = 10 * 1000 * 1000;
  long result = syscall(SYS_clock_gettime, clock, time);
  time->tv_nsec -= time->tv_nsec % tick;
  return (int)result;
}
