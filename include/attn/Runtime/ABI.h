//===- ABI.h - What compiled code calls -------------------------*- C++ -*-===//
//
// The functions of the runtime that the compiler emits calls to. Names and
// signatures are a stable C interface; C can include this header.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_ABI_H
#define ATTN_RUNTIME_ABI_H

#include <stdint.h>

// These stay visible in a shared library that hides everything else.
#if defined(__GNUC__)
#define ATTN_RT_API __attribute__((visibility("default")))
#else
#define ATTN_RT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

// Names of C have underscores.
// NOLINTBEGIN(readability-identifier-naming)

/// Runs tasks 0 to numTasks - 1 on several threads and returns when all are
/// done. `body(env, tasks)` is called once on each thread that takes part, the
/// calling one included, and does
///
///   for (int64_t t; (t = attn_rt_next_task(tasks)) >= 0;)
///     ... task t ...
///
/// so that a thread that is done early takes more tasks. Without tasks `body`
/// is not called.
///
/// `exec` is an attn::Executor, which has the pool and a limit of threads, or
/// null for all threads of the default pool. Tasks must not wait for each
/// other: there may be only one thread, and a launch inside a task runs only on
/// the task's thread. Tasks see what the caller wrote before the call, and the
/// caller sees what tasks wrote when the call has returned. Tasks run with the
/// caller's floating-point modes. Any number of threads may launch at the same
/// time.
ATTN_RT_API void attn_rt_parallel(void *exec, int64_t numTasks,
                                  void (*body)(void *env, void *tasks),
                                  void *env);

/// The next task that no thread has taken yet, or -1. `tasks` is the argument
/// of `body`.
ATTN_RT_API int64_t attn_rt_next_task(void *tasks);

/// Returns scratch memory, aligned to 64 bytes and not initialised, or null if
/// there is not enough memory or `bytes` is negative. The memory stays with
/// the thread when it is freed, so that a kernel called again finds its pages
/// in place.
ATTN_RT_API void *attn_rt_alloc(int64_t bytes);

/// Frees memory of attn_rt_alloc, on the thread that allocated it; null is
/// ignored. Memory becomes available again when all memory that was allocated
/// after it is freed too: at once, if the order of frees is the reverse of the
/// order of allocations.
ATTN_RT_API void attn_rt_free(void *memory);

// NOLINTEND(readability-identifier-naming)

#ifdef __cplusplus
}
#endif

#endif // ATTN_RUNTIME_ABI_H
