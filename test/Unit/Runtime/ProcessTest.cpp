//===- ProcessTest.cpp - Tests of fork, exit and unloading ----------------===//

#include "TestHelpers.h"
#include "attn/Runtime/ABI.h"
#include "attn/Runtime/Symbols.h"
#include "attn/Runtime/ThreadPool.h"
#include <atomic>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <vector>

using namespace attn;

/// Counts the tasks of a launch, and stays until `numThreads` threads have
/// come.
struct Meeting {
  int numThreads = 1;
  std::atomic<int> arrived{0};
  std::atomic<int> tasks{0};

  static void body(void *env, void *tasks) {
    Meeting &meeting = *static_cast<Meeting *>(env);
    ++meeting.arrived;
    while (meeting.arrived < meeting.numThreads)
      std::this_thread::yield();
    while (attn_rt_next_task(tasks) >= 0)
      ++meeting.tasks;
  }
};

/// Launches on all threads of the pool at the same time.
static bool meet(ThreadPool &pool) {
  Meeting meeting;
  meeting.numThreads = pool.getNumThreads();
  pool.launch(meeting.numThreads, 0, Meeting::body, &meeting);
  return meeting.tasks == meeting.numThreads;
}

// The leak sanitizer's question. Other builds ignore it.
extern "C" int __lsan_is_turned_off() { return isChildProcess; }

#define SKIP_UNDER_TSAN()                                                      \
  if (kHasTsan)                                                                \
  GTEST_SKIP() << "the thread sanitizer does not go on after a fork"

TEST(ForkTest, childHasItsOwnThreads) {
  SKIP_UNDER_TSAN();
  ThreadPool pool(4);
  ASSERT_TRUE(meet(pool));
  ASSERT_EQ(pool.getNumStartedThreads(), 3);
  // The parent's threads poll in some of the rounds, and sleep in others.
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(runInChild([&] {
                return pool.getNumStartedThreads() == 0 && meet(pool) &&
                       meet(pool) && pool.getNumStartedThreads() == 3;
              }),
              0);
    EXPECT_TRUE(meet(pool));
  }
}

TEST(ForkTest, forkDuringLaunchesOfOtherThreads) {
  SKIP_UNDER_TSAN();
  ThreadPool pool(3);
  std::atomic<bool> isOver{false};
  std::vector<std::thread> users;
  for (int user = 0; user < 3; ++user)
    users.emplace_back([&] {
      while (!isOver) {
        Meeting meeting;
        pool.launch(20, 0, Meeting::body, &meeting);
        void *scratch = attn_rt_alloc(1000);
        attn_rt_free(scratch);
      }
    });
  for (int i = 0; i < 50; ++i)
    EXPECT_EQ(runInChild([&] {
                ThreadPool own(2);
                void *scratch = attn_rt_alloc(1000);
                attn_rt_free(scratch);
                return scratch && meet(pool) && meet(own);
              }),
              0);
  isOver = true;
  for (std::thread &user : users)
    user.join();
}

TEST(ForkTest, forkInsideATask) {
  SKIP_UNDER_TSAN();
  ThreadPool pool(2);
  std::atomic<int> failures{0};
  auto body = [](void *env, void *tasks) {
    while (attn_rt_next_task(tasks) >= 0) {
      pid_t child = ::fork();
      if (child == 0) {
        // Not what a child should do, yet it comes to an end on both threads.
        isChildProcess = true;
        ::alarm(60);
        continue;
      }
      int status = 0;
      ::waitpid(child, &status, 0);
      if (!WIFEXITED(status))
        ++*static_cast<std::atomic<int> *>(env);
    }
  };
  pid_t parent = ::getpid();
  for (int i = 0; i < 5; ++i) {
    pool.launch(4, 0, body, &failures);
    if (::getpid() != parent)
      ::_exit(0);
  }
  EXPECT_EQ(failures, 0);
}

TEST(ExitTest, threadsEndWithTheProcess) {
  SKIP_UNDER_TSAN();
  EXPECT_EQ(runInChild([] {
              ::setenv("ATTN_NUM_THREADS", "4", 1);
              return meet(ThreadPool::getDefault());
            }),
            0);
}

namespace {
/// Launches after the default pool has ended: what is initialised first is
/// destroyed last.
struct LastDestructor {
  bool isEnabled = false;
  ~LastDestructor() {
    if (!isEnabled)
      return;
    Meeting meeting;
    ThreadPool::getDefault().launch(5, 0, Meeting::body, &meeting);
    void *scratch = attn_rt_alloc(100000);
    attn_rt_free(scratch);
    bool hasEnded = ThreadPool::getDefault().getNumStartedThreads() == 0;
    ::_exit(hasEnded && meeting.tasks == 5 && scratch ? 7 : 8);
  }
};
} // namespace

__attribute__((init_priority(101))) static LastDestructor lastDestructor;

TEST(ExitTest, launchesAfterTheEndOfThePool) {
  SKIP_UNDER_TSAN();
  EXPECT_EQ(runInChild([] {
              lastDestructor.isEnabled = true;
              attn_rt_free(attn_rt_alloc(1000));
              return meet(ThreadPool::getDefault());
            }),
            7);
}

TEST(ExitTest, exitDuringLaunchesOfOtherThreads) {
  SKIP_UNDER_TSAN();
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(runInChild([] {
                ::setenv("ATTN_NUM_THREADS", "4", 1);
                for (int user = 0; user < 3; ++user)
                  std::thread([] {
                    for (;;) {
                      Meeting meeting;
                      ThreadPool::getDefault().launch(20, 0, Meeting::body,
                                                      &meeting);
                      attn_rt_free(attn_rt_alloc(1 << 20));
                    }
                  }).detach();
                std::this_thread::sleep_for(std::chrono::milliseconds(5));
                return true;
              }),
              0);
}

TEST(ExitTest, exitInsideATask) {
  SKIP_UNDER_TSAN();
  EXPECT_EQ(runInChild([] {
              ::setenv("ATTN_NUM_THREADS", "4", 1);
              auto body = [](void *, void *tasks) {
                static std::atomic<bool> isFirst{true};
                while (attn_rt_next_task(tasks) >= 0)
                  if (isFirst.exchange(false))
                    std::exit(0);
              };
              ThreadPool::getDefault().launch(4, 0, body, nullptr);
              // Another thread exits the process now.
              for (;;)
                ::pause();
              return false;
            }),
            0);
}

TEST(ThreadStartTest, failureLeavesFewerThreads) {
  SKIP_UNDER_TSAN();
  if (kHasAsan)
    GTEST_SKIP() << "the address sanitizer needs address space";
  EXPECT_EQ(runInChild([] {
              // Leave no room for another stack, neither in the address space
              // nor among the stacks that the C library keeps.
              rlimit limit;
              ::getrlimit(RLIMIT_AS, &limit);
              std::ifstream statm("/proc/self/statm");
              size_t pages = 0;
              statm >> pages;
              limit.rlim_cur = (pages + 256) * ::sysconf(_SC_PAGESIZE);
              ::setrlimit(RLIMIT_AS, &limit);
              static std::atomic<bool> isOver{false};
              auto sleep = [](void *) -> void * {
                while (!isOver)
                  ::usleep(1000);
                return nullptr;
              };
              std::vector<pthread_t> sleepers;
              pthread_t thread;
              while (pthread_create(&thread, nullptr, sleep, nullptr) == 0)
                sleepers.push_back(thread);

              ThreadPool pool(8);
              for (int round = 0; round < 10; ++round) {
                Meeting meeting;
                pool.launch(100, 0, Meeting::body, &meeting);
                if (meeting.tasks != 100 || pool.getNumStartedThreads() != 0)
                  return false;
              }

              // Later there is room again, and after a while it is used.
              limit.rlim_cur = limit.rlim_max;
              ::setrlimit(RLIMIT_AS, &limit);
              isOver = true;
              for (pthread_t sleeper : sleepers)
                pthread_join(sleeper, nullptr);
              for (int round = 0; round < 1000; ++round) {
                Meeting meeting;
                pool.launch(100, 0, Meeting::body, &meeting);
              }
              return pool.getNumStartedThreads() == 7 && meet(pool);
            }),
            0);
}

//===----------------------------------------------------------------------===//
// The runtime in a shared library
//===----------------------------------------------------------------------===//

static int countThreads() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line))
    if (line.rfind("Threads:", 0) == 0)
      return std::stoi(line.substr(8));
  return -1;
}

TEST(UnloadTest, threadsAndMemoryGoWithTheLibrary) {
  // The thread sanitizer has a thread of its own, since the first one starts.
  std::thread([] {}).join();
  int before = countThreads();
  ::setenv("ATTN_NUM_THREADS", "4", 1);
  for (int round = 0; round < 3; ++round) {
    void *library = ::dlopen(ATTN_SHARED_RUNTIME, RTLD_NOW | RTLD_LOCAL);
    ASSERT_TRUE(library) << ::dlerror();
    auto lookUp = reinterpret_cast<void *(*)(const char *)>(
        ::dlsym(library, "attnTestRuntimeSymbol"));
    ASSERT_TRUE(lookUp) << ::dlerror();
    auto parallel = reinterpret_cast<decltype(&attn_rt_parallel)>(
        lookUp("attn_rt_parallel"));
    auto alloc =
        reinterpret_cast<decltype(&attn_rt_alloc)>(lookUp("attn_rt_alloc"));
    auto release =
        reinterpret_cast<decltype(&attn_rt_free)>(lookUp("attn_rt_free"));
    auto nextTask = reinterpret_cast<decltype(&attn_rt_next_task)>(
        lookUp("attn_rt_next_task"));
    ASSERT_TRUE(parallel && alloc && release && nextTask);
    // The library has its own copies, not the test's.
    EXPECT_NE(parallel, &attn_rt_parallel);
    struct Env {
      decltype(nextTask) next;
      decltype(alloc) allocate;
      decltype(release) free;
      std::atomic<int> arrived{0};
    } env{nextTask, alloc, release};
    parallel(
        nullptr, 4,
        [](void *data, void *tasks) {
          Env &env = *static_cast<Env *>(data);
          void *scratch = env.allocate(100000);
          while (env.next(tasks) >= 0) {
            ++env.arrived;
            while (env.arrived < 4)
              std::this_thread::yield();
          }
          env.free(scratch);
        },
        &env);
    EXPECT_GE(countThreads(), before + 3);
    EXPECT_EQ(::dlclose(library), 0);
    EXPECT_EQ(::dlopen(ATTN_SHARED_RUNTIME, RTLD_NOW | RTLD_NOLOAD), nullptr);
    EXPECT_EQ(countThreads(), before);
  }
  ::unsetenv("ATTN_NUM_THREADS");
}

TEST(SymbolsTest, allFunctionsOfTheInterface) {
  std::vector<std::string> names;
  for (RuntimeSymbol symbol : getRuntimeSymbols())
    names.push_back(symbol.name);
  EXPECT_EQ(names,
            std::vector<std::string>({"attn_rt_parallel", "attn_rt_next_task",
                                      "attn_rt_alloc", "attn_rt_free"}));
  EXPECT_EQ(getRuntimeSymbols()[2].address,
            reinterpret_cast<void *>(attn_rt_alloc));
}
