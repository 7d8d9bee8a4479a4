//===- ThreadPool.h - Threads for compiled kernels --------------*- C++ -*-===//
//
// A pool runs launches (see attn_rt_parallel in ABI.h). The thread that
// launches always takes part, and free pool threads help, so that a launch
// makes progress whatever else the pool does.
//
// A pool thread polls until 30 us after the last launch and then sleeps; a
// launching thread that waits for the last tasks of others does the same.
//
// Latencies, as medians on a virtual machine of 16 Xeon cores (the test
// ThreadPoolLatency measures them):
//
// * A launch of two empty tasks takes 0.6 us if launches follow each other
//   closely.
// * A launch in which all threads meet takes 0.7 us with 2 threads, 2.3 us with
//   4, 5 us with 8 and 11 us with 16 if the threads poll.
// * If the threads sleep, it takes some 30 us with 2 threads and 150 to 300 us
//   with more. Most of this is the time until the system runs them, in which
//   the launching thread works.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_THREADPOOL_H
#define ATTN_RUNTIME_THREADPOOL_H

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <pthread.h>

namespace attn {

/// A set of threads that start when they are first needed. If the system
/// refuses to start a thread, launches run on the threads that have started.
///
/// All functions may be called from any thread at any time, except that a pool
/// must not be destroyed during its launches.
///
/// After a fork the child has a pool without threads, which starts its own. A
/// child that is forked inside a task cannot finish the launch it is part of
/// and should only call exec or _exit.
class ThreadPool {
public:
  /// `tasks` is for nextTask only.
  using Body = void (*)(void *env, void *tasks);

  /// Makes a pool for launches on up to `numThreads` threads, including the
  /// launching one; the number is clamped to 1 to kMaxThreads.
  explicit ThreadPool(int32_t numThreads);
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  /// Ends and joins the threads.
  ~ThreadPool();

  /// The pool of the process, of getDefaultNumThreads(). Its threads end when
  /// the process exits or the library is unloaded; launches after that run on
  /// the launching thread.
  static ThreadPool &getDefault();

  int32_t getNumThreads() const { return numThreads; }

  /// The number of pool threads that run now, at most getNumThreads() - 1.
  int32_t getNumStartedThreads() const { return numStarted; }

  /// Runs tasks 0 to numTasks - 1 on up to `maxThreads` threads, or up to
  /// getNumThreads() if that is 0; see attn_rt_parallel.
  void launch(int64_t numTasks, int32_t maxThreads, Body body, void *env);

  /// The next task of a launch, or -1.
  static int64_t nextTask(void *tasks);

private:
  struct Launch;
  /// What a fork leaves in an unknown state and the child makes anew.
  struct Sync {
    /// Guards the queue and what is said to be under its protection.
    std::mutex mutex;
    /// Signals a sleeping pool thread that there is a launch, or the end.
    std::condition_variable hasWork;
    /// Signals launching threads that some launch has no thread left.
    std::condition_variable isDone;
    /// Held while threads start or end.
    std::mutex startMutex;
  };
  struct Registry;
  struct Lifetime;

  std::unique_lock<std::mutex> lockSync();
  void enqueue(Launch &launch);
  void unlink(Launch &launch);
  Launch *joinLaunch();
  void leaveLaunch(Launch &launch);
  void wakeSleepers(std::unique_lock<std::mutex> &lock);
  void waitForHelpers(Launch &launch);
  void startThreads(int32_t count);
  void work();
  void stop();
  void resetAfterFork();

  const int32_t numThreads;
  Sync sync;

  // The launches that want more helpers, oldest first, in a doubly linked list.
  Launch *firstLaunch = nullptr;
  Launch *lastLaunch = nullptr;
  int32_t numSleeping = 0;

  // Polled without the mutex; the first is written under its protection.
  alignas(64) std::atomic<int32_t> numWanted{0};
  std::atomic<bool> isStopping{false};
  alignas(64) std::atomic<int32_t> numPolling{0};
  std::atomic<int32_t> numBusy{0};
  std::atomic<int32_t> numWaiting{0};

  // Written under protection of startMutex.
  std::atomic<int32_t> numStarted{0};
  std::unique_ptr<pthread_t[]> threads;
  /// Launches that are left before another try to start threads, after one has
  /// failed.
  std::atomic<int32_t> startDelay{0};

  /// Changes in the child of a fork, so that a launch of before is known.
  uint64_t generation = 0;

  ThreadPool *previousPool = nullptr;
  ThreadPool *nextPool = nullptr;
};

/// The argument `exec` of attn_rt_parallel.
struct Executor {
  /// The pool, or null for the default one.
  ThreadPool *pool = nullptr;
  /// The most threads for one launch, including the launching one; 0 for all
  /// threads of the pool.
  int32_t maxThreads = 0;
};

} // namespace attn

#endif // ATTN_RUNTIME_THREADPOOL_H
