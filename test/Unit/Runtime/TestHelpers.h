//===- TestHelpers.h - What the tests of AttnRuntime share ------*- C++ -*-===//

#ifndef ATTN_TEST_UNIT_RUNTIME_TESTHELPERS_H
#define ATTN_TEST_UNIT_RUNTIME_TESTHELPERS_H

#include "gtest/gtest.h"
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ATTN_TEST_TSAN 1
#endif
#if __has_feature(address_sanitizer)
#define ATTN_TEST_ASAN 1
#endif
#endif
#ifdef __SANITIZE_THREAD__
#define ATTN_TEST_TSAN 1
#endif
#ifdef __SANITIZE_ADDRESS__
#define ATTN_TEST_ASAN 1
#endif

namespace attn {

#ifdef ATTN_TEST_TSAN
constexpr bool kHasTsan = true;
#else
constexpr bool kHasTsan = false;
#endif
#ifdef ATTN_TEST_ASAN
constexpr bool kHasAsan = true;
#else
constexpr bool kHasAsan = false;
#endif

/// Set in children of the test: the leak sanitizer, which looks at the stacks
/// of all threads, finds leaks in a child because those of its parent are gone.
inline bool isChildProcess = false;

/// Runs `body` in a child process, which then exits like a program that
/// returned from main. Returns the exit status, or -1 for any other end. A
/// child that hangs is ended after a minute.
template <typename Body> int runInChild(Body body) {
  pid_t child = ::fork();
  if (child == 0) {
    isChildProcess = true;
    ::alarm(60);
    std::exit(body() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

} // namespace attn

#endif // ATTN_TEST_UNIT_RUNTIME_TESTHELPERS_H
