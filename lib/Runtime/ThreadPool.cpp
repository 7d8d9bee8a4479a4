//===- ThreadPool.cpp - Threads for compiled kernels ----------------------===//
//
// A launch is an object on the launching thread's stack. It is in the pool's
// queue while it wants more helpers; a pool thread joins the first of the queue
// and calls its body. When the launching thread finds no task left it takes the
// launch out of the queue, and waits until the threads that joined have left.
//
// The mutex is held for a few instructions at a time, never in a body.
//
// Why not a pool of a library: medians of a launch that 2 threads meet in, on 2
// cores, some time after the launch before:
//
//                              at once    10 us later    1 ms later
//   this pool                   0.3 us         0.3 us         25 us
//   llvm::DefaultThreadPool      25 us          22 us         36 us
//   oneTBB 2021.8, task_arena   0.9 us         0.8 us         25 us
//
// LLVM's threads sleep as soon as they have no task. With it, attention of 4
// heads of 64 dimensions in f32 takes 61 us instead of 38 at 64 x 64, 186 us
// instead of 127 with 1 query and 256 keys, and 440 us instead of 381 at
// 256 x 256. oneTBB is fast enough, but has no threads in the child of a fork
// (a launch there runs on one), and is a shared library to ship.
//
//===----------------------------------------------------------------------===//

#include "attn/Runtime/ThreadPool.h"
#include "FloatModes.h"
#include "attn/Runtime/ABI.h"
#include "attn/Runtime/ThreadCount.h"
#include <algorithm>
#include <chrono>
#include <csignal>
#include <new>

using namespace attn;

using Lock = std::unique_lock<std::mutex>;

/// How long a thread polls before it sleeps: a few times what waking it costs.
static constexpr std::chrono::microseconds kPollTime(30);

/// How many sleeping threads one thread wakes. Each that wakes does the same
/// while there is work, so many threads wake in few steps.
static constexpr int32_t kWakeFanout = 4;

/// After threads could not be started, this many launches make do without.
static constexpr int32_t kStartDelay = 1000;

/// Whether the thread is in a body of any pool.
static thread_local bool isInsideLaunch = false;

/// Separate cache lines: all threads write `next`, and leaving threads write
/// `numHelpers`.
struct ThreadPool::Launch {
  alignas(64) std::atomic<int64_t> next{0};
  alignas(64) int64_t numTasks;
  Body body;
  void *env;
  uint64_t floatModes;
  uint64_t generation;
  // Under protection of the mutex: the helpers still wanted, which is not 0
  // exactly while the launch is in the queue, and the neighbours there.
  int32_t numWanted = 0;
  Launch *previousLaunch = nullptr;
  Launch *nextLaunch = nullptr;
  /// Pool threads that have joined and not left.
  alignas(64) std::atomic<int32_t> numHelpers{0};
};

//===----------------------------------------------------------------------===//
// Waiting
//===----------------------------------------------------------------------===//

/// Leaves the core to the other hardware thread for a moment.
static void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Calls `isTrue` until it is or the time is over, and returns its result.
template <typename Condition> static bool poll(Condition isTrue) {
  auto end = std::chrono::steady_clock::now() + kPollTime;
  do {
    for (int i = 0; i < 16; ++i) {
      if (isTrue())
        return true;
      relax();
    }
  } while (std::chrono::steady_clock::now() < end);
  return isTrue();
}

/// Takes the mutex. Threads that find work at the same time meet here, each
/// for some nanoseconds, which is not worth a sleep.
Lock ThreadPool::lockSync() {
  Lock lock(sync.mutex, std::defer_lock);
  for (int i = 0; i < 64; ++i) {
    if (lock.try_lock())
      return lock;
    relax();
  }
  lock.lock();
  return lock;
}

//===----------------------------------------------------------------------===//
// Queue of launches, under protection of the mutex
//===----------------------------------------------------------------------===//

void ThreadPool::enqueue(Launch &launch) {
  launch.previousLaunch = lastLaunch;
  launch.nextLaunch = nullptr;
  (lastLaunch ? lastLaunch->nextLaunch : firstLaunch) = &launch;
  lastLaunch = &launch;
}

void ThreadPool::unlink(Launch &launch) {
  Launch *previous = launch.previousLaunch;
  Launch *next = launch.nextLaunch;
  (previous ? previous->nextLaunch : firstLaunch) = next;
  (next ? next->previousLaunch : lastLaunch) = previous;
}

/// Joins a launch that has tasks left, or returns null.
ThreadPool::Launch *ThreadPool::joinLaunch() {
  while (Launch *launch = firstLaunch) {
    unlink(*launch);
    if (launch->next.load(std::memory_order_relaxed) >= launch->numTasks) {
      numWanted -= launch->numWanted;
      launch->numWanted = 0;
      continue;
    }
    --numWanted;
    // At the end of the queue, so that launches get helpers in turn.
    if (--launch->numWanted > 0)
      enqueue(*launch);
    launch->numHelpers.fetch_add(1, std::memory_order_relaxed);
    return launch;
  }
  return nullptr;
}

/// Unlocks, and wakes threads if those awake are too few for what is wanted.
void ThreadPool::wakeSleepers(Lock &lock) {
  int32_t count = std::min(
      {kWakeFanout, numSleeping, numWanted.load() - numPolling.load()});
  lock.unlock();
  for (; count > 0; --count)
    sync.hasWork.notify_one();
}

//===----------------------------------------------------------------------===//
// Launching threads
//===----------------------------------------------------------------------===//

int64_t ThreadPool::nextTask(void *tasks) {
  Launch &launch = *static_cast<Launch *>(tasks);
  // Not to write when there is nothing left saves the others a cache miss.
  if (launch.next.load(std::memory_order_relaxed) >= launch.numTasks)
    return -1;
  int64_t task = launch.next.fetch_add(1, std::memory_order_relaxed);
  return task < launch.numTasks ? task : -1;
}

void ThreadPool::launch(int64_t numTasks, int32_t maxThreads, Body body,
                        void *env) {
  if (numTasks < 1)
    return;
  Launch launch;
  launch.numTasks = numTasks;
  launch.body = body;
  launch.env = env;
  if (maxThreads < 1 || maxThreads > numThreads)
    maxThreads = numThreads;
  int32_t helpers =
      static_cast<int32_t>(std::min<int64_t>(maxThreads, numTasks)) - 1;
  if (helpers == 0 || isInsideLaunch || isStopping) {
    bool wasInside = isInsideLaunch;
    isInsideLaunch = true;
    body(env, &launch);
    isInsideLaunch = wasInside;
    return;
  }

  launch.floatModes = getFloatModes();
  Lock lock = lockSync();
  launch.generation = generation;
  launch.numWanted = helpers;
  // Before threads can join, which would then look as if they were not free.
  int32_t missing = helpers + numWanted - (numStarted - numBusy);
  numWanted += helpers;
  enqueue(launch);
  wakeSleepers(lock);
  if (missing > 0)
    startThreads(missing);

  isInsideLaunch = true;
  body(env, &launch);
  isInsideLaunch = false;

  // In the child of a fork inside the body, there is neither queue nor helper.
  if (launch.generation != generation)
    return;
  lock = lockSync();
  if (launch.numWanted > 0) {
    numWanted -= launch.numWanted;
    unlink(launch);
  }
  lock.unlock();
  waitForHelpers(launch);
}

void ThreadPool::waitForHelpers(Launch &launch) {
  auto isAlone = [&] {
    return launch.numHelpers.load(std::memory_order_acquire) == 0;
  };
  if (isAlone() || poll(isAlone))
    return;
  Lock lock(sync.mutex);
  // Either the last helper sees that somebody waits, or the condition below
  // sees that it has left: both write first and read the other's then.
  ++numWaiting;
  sync.isDone.wait(lock, [&] { return launch.numHelpers.load() == 0; });
  --numWaiting;
}

//===----------------------------------------------------------------------===//
// Pool threads
//===----------------------------------------------------------------------===//

/// After the decrement the launch may be gone. The pool is not: it joins this
/// thread first.
void ThreadPool::leaveLaunch(Launch &launch) {
  if (launch.numHelpers.fetch_sub(1) != 1 || numWaiting == 0)
    return;
  // The launching thread is before its test of the number, or asleep.
  Lock(sync.mutex).unlock();
  sync.isDone.notify_all();
}

void ThreadPool::work() {
  isInsideLaunch = true;
  const uint64_t startGeneration = generation;
  Lock lock = lockSync();
  // Whether something has happened since the thread polled to the end.
  bool isActive = false;
  for (;;) {
    if (Launch *launch = joinLaunch()) {
      ++numBusy;
      wakeSleepers(lock);
      setFloatModes(launch->floatModes);
      launch->body(launch->env, launch);
      // A task has forked, and this is the child's only thread.
      if (generation != startGeneration)
        return;
      // Before the launch returns, so that the next one finds a free thread.
      --numBusy;
      leaveLaunch(*launch);
    } else if (isStopping) {
      return;
    } else if (isActive) {
      lock.unlock();
    } else {
      ++numSleeping;
      sync.hasWork.wait(lock, [&] { return numWanted > 0 || isStopping; });
      --numSleeping;
      isActive = true;
      continue;
    }
    ++numPolling;
    // Those who come too late for a launch need not queue up for the mutex.
    isActive =
        poll([&] { return (numWanted > 0 || isStopping) && lock.try_lock(); });
    --numPolling;
    if (!isActive)
      lock = lockSync();
  }
}

/// Starts some threads, as far as the pool may have more.
void ThreadPool::startThreads(int32_t count) {
  if (numStarted >= numThreads - 1)
    return;
  if (startDelay > 0 && startDelay-- > 1)
    return;
  // Another thread that starts some will do for now.
  Lock lock(sync.startMutex, std::try_to_lock);
  if (!lock || isStopping || !threads)
    return;
  // Signals are for the application's threads.
  sigset_t all, previous;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &previous);
  for (; count > 0 && numStarted < numThreads - 1; --count) {
    auto main = [](void *pool) -> void * {
#ifdef __linux__
      pthread_setname_np(pthread_self(), "attn-worker");
#endif
      static_cast<ThreadPool *>(pool)->work();
      return nullptr;
    };
    if (pthread_create(&threads[numStarted], nullptr, main, this) != 0) {
      startDelay = kStartDelay;
      break;
    }
    ++numStarted;
  }
  pthread_sigmask(SIG_SETMASK, &previous, nullptr);
}

/// Ends the threads. Launches from now on run on the launching thread.
void ThreadPool::stop() {
  std::lock_guard<std::mutex> startLock(sync.startMutex);
  Lock lock(sync.mutex);
  isStopping = true;
  lock.unlock();
  sync.hasWork.notify_all();
  for (int32_t i = 0; i < numStarted; ++i)
    // A task that calls exit() may run on one of them.
    if (!pthread_equal(threads[i], pthread_self()))
      pthread_join(threads[i], nullptr);
  numStarted = 0;
  threads.reset();
}

//===----------------------------------------------------------------------===//
// Pools
//===----------------------------------------------------------------------===//

/// The pools of the process. There is one registry, which needs no code to be
/// initialised: a fork during the initialisation of a static local variable
/// would leave it locked in the child.
struct ThreadPool::Registry {
  /// Guards the members but the last; taken after defaultMutex.
  std::mutex mutex;
  ThreadPool *first = nullptr;

  /// Held while the default pool is made. The pool is never destroyed, since
  /// other destructors at exit, and threads that still run then, may launch.
  std::mutex defaultMutex;
  std::atomic<ThreadPool *> defaultPool{nullptr};
  alignas(ThreadPool) unsigned char defaultMemory[sizeof(ThreadPool)] = {};

  constexpr Registry() = default;

  static Registry instance;
};

ThreadPool::Registry ThreadPool::Registry::instance;

/// What happens when the library is loaded, and at exit or when it is unloaded.
struct ThreadPool::Lifetime {
  Lifetime() {
    pthread_atfork(lock, unlock, [] {
      for (ThreadPool *pool = Registry::instance.first; pool;
           pool = pool->nextPool)
        pool->resetAfterFork();
      unlock();
    });
  }
  ~Lifetime() {
    if (ThreadPool *pool = Registry::instance.defaultPool)
      pool->stop();
  }

  // While the process forks no other thread changes the registry.
  static void lock() {
    Registry::instance.defaultMutex.lock();
    Registry::instance.mutex.lock();
  }
  static void unlock() {
    Registry::instance.mutex.unlock();
    Registry::instance.defaultMutex.unlock();
  }

  static Lifetime instance;
};

ThreadPool::Lifetime ThreadPool::Lifetime::instance;

/// The child has one thread, and whatever state the others had left.
void ThreadPool::resetAfterFork() {
  // Without destructors: a condition variable's would wait for the sleepers.
  new (&sync) Sync();
  firstLaunch = lastLaunch = nullptr;
  numSleeping = 0;
  numWanted = 0;
  numPolling = 0;
  numBusy = 0;
  numWaiting = 0;
  numStarted = 0;
  startDelay = 0;
  ++generation;
}

ThreadPool::ThreadPool(int32_t numThreads)
    : numThreads(std::clamp(numThreads, 1, kMaxThreads)),
      threads(new (std::nothrow) pthread_t[this->numThreads]) {
  Registry &registry = Registry::instance;
  std::lock_guard<std::mutex> lock(registry.mutex);
  nextPool = registry.first;
  if (nextPool)
    nextPool->previousPool = this;
  registry.first = this;
}

ThreadPool::~ThreadPool() {
  stop();
  Registry &registry = Registry::instance;
  std::lock_guard<std::mutex> lock(registry.mutex);
  (previousPool ? previousPool->nextPool : registry.first) = nextPool;
  if (nextPool)
    nextPool->previousPool = previousPool;
}

ThreadPool &ThreadPool::getDefault() {
  Registry &registry = Registry::instance;
  if (ThreadPool *pool = registry.defaultPool)
    return *pool;
  std::lock_guard<std::mutex> lock(registry.defaultMutex);
  if (!registry.defaultPool)
    registry.defaultPool =
        new (registry.defaultMemory) ThreadPool(getDefaultNumThreads());
  return *registry.defaultPool;
}

//===----------------------------------------------------------------------===//
// Interface of compiled code
//===----------------------------------------------------------------------===//

void attn_rt_parallel(void *exec, int64_t numTasks,
                      void (*body)(void *env, void *tasks), void *env) {
  Executor executor;
  if (exec)
    executor = *static_cast<Executor *>(exec);
  ThreadPool &pool = executor.pool ? *executor.pool : ThreadPool::getDefault();
  pool.launch(numTasks, executor.maxThreads, body, env);
}

int64_t attn_rt_next_task(void *tasks) { return ThreadPool::nextTask(tasks); }
