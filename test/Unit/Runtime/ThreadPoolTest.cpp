//===- ThreadPoolTest.cpp - Tests of launches -----------------------------===//

#include "attn/Runtime/ThreadPool.h"
#include "TestHelpers.h"
#include "attn/Runtime/ABI.h"
#include "attn/Runtime/ThreadCount.h"
#include <algorithm>
#include <cfenv>
#include <chrono>
#include <cmath>
#include <ctime>
#include <functional>
#include <set>
#include <thread>
#include <vector>

using namespace attn;
using Clock = std::chrono::steady_clock;

/// A launch of a C++ function, which returns how many threads took part.
static int launch(ThreadPool &pool, int64_t numTasks, int32_t maxThreads,
                  std::function<void(int64_t)> task) {
  struct Env {
    std::function<void(int64_t)> task;
    std::atomic<int> threads{0};
  } env{std::move(task)};
  auto body = [](void *data, void *tasks) {
    Env &env = *static_cast<Env *>(data);
    ++env.threads;
    for (int64_t t; (t = attn_rt_next_task(tasks)) >= 0;)
      env.task(t);
  };
  Executor executor{&pool, maxThreads};
  attn_rt_parallel(&executor, numTasks, body, &env);
  return env.threads;
}

/// Waits until a condition holds, at most ten seconds.
template <typename Condition> static bool eventually(Condition isTrue) {
  auto end = Clock::now() + std::chrono::seconds(10);
  while (!isTrue()) {
    if (Clock::now() > end)
      return false;
    std::this_thread::yield();
  }
  return true;
}

/// The processor time of the process or a thread, in seconds.
static double getCpuTime(clockid_t clock) {
  timespec time;
  ::clock_gettime(clock, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

TEST(ThreadPoolTest, eachTaskRunsOnce) {
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    for (int64_t numTasks : {1, 2, 3, 7, 64, 1000}) {
      std::vector<std::atomic<int>> counts(numTasks);
      int used = launch(pool, numTasks, 0, [&](int64_t t) { ++counts[t]; });
      for (std::atomic<int> &count : counts)
        EXPECT_EQ(count, 1);
      EXPECT_GE(used, 1);
      EXPECT_LE(used, std::min<int64_t>(threads, numTasks));
    }
  }
}

TEST(ThreadPoolTest, noTasks) {
  ThreadPool pool(2);
  EXPECT_EQ(launch(pool, 0, 0, [](int64_t) { FAIL(); }), 0);
  EXPECT_EQ(launch(pool, -5, 0, [](int64_t) { FAIL(); }), 0);
}

TEST(ThreadPoolTest, threadsRunTogether) {
  // Tasks that wait for each other need that many threads. This is not what
  // tasks may do in general, but here all threads are free.
  ThreadPool pool(4);
  for (int i = 0; i < 20; ++i) {
    std::atomic<int> arrived{0};
    int used = launch(pool, 4, 0, [&](int64_t) {
      ++arrived;
      EXPECT_TRUE(eventually([&] { return arrived == 4; }));
    });
    EXPECT_EQ(used, 4);
    // Once asleep, once awake.
    if (i % 2 == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_EQ(pool.getNumStartedThreads(), 3);
}

TEST(ThreadPoolTest, callerTakesPart) {
  ThreadPool pool(4);
  std::atomic<bool> hasCaller{false};
  std::thread::id caller = std::this_thread::get_id();
  std::atomic<int> arrived{0};
  launch(pool, 4, 0, [&](int64_t) {
    if (std::this_thread::get_id() == caller)
      hasCaller = true;
    ++arrived;
    eventually([&] { return arrived == 4; });
  });
  EXPECT_TRUE(hasCaller);
}

TEST(ThreadPoolTest, limitOfThreads) {
  ThreadPool pool(8);
  for (int32_t limit : {1, 2, 3}) {
    std::atomic<int> now{0}, most{0};
    int used = launch(pool, 200, limit, [&](int64_t) {
      int count = ++now;
      for (int seen = most; count > seen;)
        if (most.compare_exchange_weak(seen, count))
          break;
      std::this_thread::sleep_for(std::chrono::microseconds(50));
      --now;
    });
    EXPECT_LE(used, limit);
    EXPECT_LE(most, limit);
    EXPECT_LE(pool.getNumStartedThreads(), limit - 1);
  }
}

TEST(ThreadPoolTest, threadsStartLazily) {
  ThreadPool pool(8);
  EXPECT_EQ(pool.getNumStartedThreads(), 0);
  launch(pool, 1, 0, [](int64_t) {});
  EXPECT_EQ(pool.getNumStartedThreads(), 0);
  launch(pool, 3, 0, [](int64_t) {});
  EXPECT_LE(pool.getNumStartedThreads(), 2);
}

TEST(ThreadPoolTest, sizesAreClamped) {
  EXPECT_EQ(ThreadPool(0).getNumThreads(), 1);
  EXPECT_EQ(ThreadPool(-3).getNumThreads(), 1);
  EXPECT_EQ(ThreadPool(1 << 30).getNumThreads(), kMaxThreads);
}

TEST(ThreadPoolTest, nestedLaunchesRunInline) {
  ThreadPool pool(4), other(4);
  std::atomic<int> count{0};
  launch(pool, 8, 0, [&](int64_t) {
    std::thread::id outer = std::this_thread::get_id();
    for (ThreadPool *inner : {&pool, &other}) {
      int used = launch(*inner, 10, 0, [&](int64_t) {
        EXPECT_EQ(std::this_thread::get_id(), outer);
        ++count;
        // Two levels down.
        launch(*inner, 2, 0, [&](int64_t) { ++count; });
      });
      EXPECT_EQ(used, 1);
    }
  });
  EXPECT_EQ(count, 8 * 2 * 10 * 3);
  EXPECT_EQ(other.getNumStartedThreads(), 0);
  // Afterwards the thread may again have help.
  std::atomic<int> arrived{0};
  EXPECT_EQ(launch(pool, 2, 0,
                   [&](int64_t) {
                     ++arrived;
                     eventually([&] { return arrived == 2; });
                   }),
            2);
}

TEST(ThreadPoolTest, resultsAreVisible) {
  // The memory that tasks write is plain: the thread sanitizer proves the rest.
  ThreadPool pool(4);
  std::vector<int64_t> input(256), output(256);
  for (int round = 0; round < 500; ++round) {
    for (size_t i = 0; i < input.size(); ++i)
      input[i] = round + int64_t(i);
    launch(pool, int64_t(input.size()), 0,
           [&](int64_t t) { output[t] = 2 * input[t]; });
    for (size_t i = 0; i < input.size(); ++i)
      ASSERT_EQ(output[i], 2 * (round + int64_t(i)));
  }
}

TEST(ThreadPoolTest, manyThreadsLaunchAtATime) {
  ThreadPool pool(4);
  std::vector<std::thread> users;
  std::atomic<int64_t> sum{0};
  for (int user = 0; user < 8; ++user)
    users.emplace_back([&, user] {
      for (int round = 0; round < 500; ++round)
        launch(pool, 1 + (user + round) % 9, (user + round) % 5,
               [&](int64_t t) { sum += t + 1; });
    });
  for (std::thread &user : users)
    user.join();
  int64_t expected = 0;
  for (int user = 0; user < 8; ++user)
    for (int round = 0; round < 500; ++round) {
      int64_t n = 1 + (user + round) % 9;
      expected += n * (n + 1) / 2;
    }
  EXPECT_EQ(sum, expected);
}

TEST(ThreadPoolTest, aBusyPoolDoesNotHoldUpALaunch) {
  ThreadPool pool(2);
  std::atomic<bool> isSecondDone{false};
  std::atomic<int> arrived{0};
  std::thread first([&] {
    // Both threads of the pool wait for the second launch to end.
    launch(pool, 2, 0, [&](int64_t) {
      ++arrived;
      EXPECT_TRUE(eventually([&] { return isSecondDone.load(); }));
    });
  });
  EXPECT_TRUE(eventually([&] { return arrived == 2; }));
  EXPECT_EQ(launch(pool, 10, 0, [](int64_t) {}), 1);
  isSecondDone = true;
  first.join();
}

TEST(ThreadPoolTest, threadsDivideAmongLaunches) {
  // Two launches of many tasks share three helpers: both get some.
  ThreadPool pool(4);
  std::atomic<int> launches{0};
  std::vector<std::thread> users;
  for (int user = 0; user < 2; ++user)
    users.emplace_back([&] {
      std::atomic<int> threads{0};
      ++launches;
      launch(pool, 4, 0, [&](int64_t) {
        eventually([&] { return launches == 2; });
        ++threads;
        auto end = Clock::now() + std::chrono::milliseconds(300);
        while (threads < 2 && Clock::now() < end)
          std::this_thread::yield();
      });
    });
  for (std::thread &user : users)
    user.join();
  EXPECT_LE(pool.getNumStartedThreads(), 3);
}

TEST(ThreadPoolTest, idleThreadsSleep) {
  ThreadPool pool(8);
  std::atomic<int> arrived{0};
  launch(pool, 8, 0, [&](int64_t) {
    ++arrived;
    eventually([&] { return arrived == 8; });
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  double before = getCpuTime(CLOCK_PROCESS_CPUTIME_ID);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  double used = getCpuTime(CLOCK_PROCESS_CPUTIME_ID) - before;
  EXPECT_LT(used, 0.05);
}

TEST(ThreadPoolTest, waitingThreadsSleep) {
  ThreadPool pool(2);
  std::thread::id caller = std::this_thread::get_id();
  double used = 1;
  for (int attempt = 0; attempt < 20 && used > 0.05; ++attempt) {
    std::atomic<int> arrived{0};
    double before = getCpuTime(CLOCK_THREAD_CPUTIME_ID);
    launch(pool, 2, 0, [&](int64_t) {
      ++arrived;
      while (arrived < 2)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (std::this_thread::get_id() != caller)
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
    });
    used = getCpuTime(CLOCK_THREAD_CPUTIME_ID) - before;
  }
  EXPECT_LT(used, 0.05);
}

TEST(ThreadPoolTest, tasksHaveTheCallersFloatModes) {
  ThreadPool pool(4);
  auto check = [&](double expected) {
    std::atomic<int> arrived{0};
    launch(pool, 4, 0, [&](int64_t) {
      volatile double one = 1, tiny = 0x1p-60;
      EXPECT_EQ(one + tiny, expected);
      ++arrived;
      eventually([&] { return arrived == 4; });
    });
  };
  // The threads start while the modes differ from the usual ones.
  std::fesetround(FE_UPWARD);
  check(std::nextafter(1.0, 2.0));
  std::fesetround(FE_TONEAREST);
  check(1.0);
}

TEST(ThreadPoolTest, poolsComeAndGo) {
  for (int i = 0; i < 200; ++i) {
    ThreadPool pool(1 + i % 5);
    std::atomic<int> count{0};
    for (int round = 0; round < i % 4; ++round)
      launch(pool, 5, 0, [&](int64_t) { ++count; });
    EXPECT_EQ(count, 5 * (i % 4));
  }
}

TEST(ThreadPoolTest, defaultPool) {
  ThreadPool &pool = ThreadPool::getDefault();
  EXPECT_EQ(&pool, &ThreadPool::getDefault());
  EXPECT_GE(pool.getNumThreads(), 1);
  // Both a null executor and one without a pool mean it.
  Executor executor;
  for (void *exec :
       {static_cast<void *>(nullptr), static_cast<void *>(&executor)}) {
    std::atomic<int> count{0};
    attn_rt_parallel(
        exec, 10,
        [](void *env, void *tasks) {
          while (attn_rt_next_task(tasks) >= 0)
            ++*static_cast<std::atomic<int> *>(env);
        },
        &count);
    EXPECT_EQ(count, 10);
  }
}

//===----------------------------------------------------------------------===//
// Numbers of threads
//===----------------------------------------------------------------------===//

TEST(ThreadCountTest, parse) {
  EXPECT_EQ(parseThreadCount("1"), 1);
  EXPECT_EQ(parseThreadCount("007"), 7);
  EXPECT_EQ(parseThreadCount("1024"), 1024);
  for (const char *text : {"", "0", "-1", "1025", "99999999999999", "2x", " 2"})
    EXPECT_EQ(parseThreadCount(text), 0) << text;
}

TEST(ThreadCountTest, affinity) {
  EXPECT_EQ(runInChild([] {
              cpu_set_t set;
              CPU_ZERO(&set);
              if (::sched_getaffinity(0, sizeof(set), &set) != 0)
                return false;
              int before = CPU_COUNT(&set);
              if (getNumAvailableCpus() != before)
                return false;
              int first = 0;
              while (!CPU_ISSET(first, &set))
                ++first;
              CPU_ZERO(&set);
              CPU_SET(first, &set);
              return ::sched_setaffinity(0, sizeof(set), &set) == 0 &&
                     getNumAvailableCpus() == 1;
            }),
            0);
}

TEST(ThreadCountTest, environment) {
  ::setenv("ATTN_NUM_THREADS", "5", 1);
  EXPECT_EQ(getDefaultNumThreads(), 5);
  ::setenv("ATTN_NUM_THREADS", "many", 1);
  testing::internal::CaptureStderr();
  int32_t count = getDefaultNumThreads();
  EXPECT_EQ(count, getNumAvailableCpus());
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "warning: ATTN_NUM_THREADS expects an integer from 1 to 1024, but "
            "got 'many'; using " +
                std::to_string(count) + "\n");
  ::unsetenv("ATTN_NUM_THREADS");
  EXPECT_EQ(getDefaultNumThreads(), getNumAvailableCpus());
}

//===----------------------------------------------------------------------===//
// Latency
//===----------------------------------------------------------------------===//

// Prints what the comment in ThreadPool.h tells. On an idle machine, run
//   AttnRuntimeTests --gtest_also_run_disabled_tests --gtest_filter=*Latency*
TEST(ThreadPoolLatency, DISABLED_launch) {
  using Microseconds = std::chrono::duration<double, std::micro>;
  // Tasks that do nothing, which one thread may well run alone, and tasks that
  // wait until each thread has one.
  auto empty = [](void *, void *tasks) {
    while (attn_rt_next_task(tasks) >= 0)
      ;
  };
  auto meeting = [](void *env, void *tasks) {
    auto &missing = *static_cast<std::atomic<int32_t> *>(env);
    while (attn_rt_next_task(tasks) >= 0)
      for (--missing; missing > 0;)
        ;
  };
  int32_t most = getNumAvailableCpus();
  for (int32_t threads : std::set<int32_t>{2, 4, 8, most})
    for (bool isMeeting : {false, true})
      for (int pauseMicroseconds : {0, 10, 1000}) {
        if (threads > most)
          continue;
        ThreadPool pool(threads);
        int count = pauseMicroseconds == 1000 ? 500 : 5000;
        std::vector<double> times;
        for (int i = 0; i < count; ++i) {
          auto resume =
              Clock::now() + std::chrono::microseconds(pauseMicroseconds);
          while (Clock::now() < resume)
            ;
          std::atomic<int32_t> missing{threads};
          auto start = Clock::now();
          if (isMeeting)
            pool.launch(threads, 0, meeting, &missing);
          else
            pool.launch(threads, 0, empty, nullptr);
          times.push_back(Microseconds(Clock::now() - start).count());
        }
        std::sort(times.begin(), times.end());
        std::printf("%2d threads, one %s task each, %4d us between launches: "
                    "median %6.2f us, 95%% %6.2f us\n",
                    int(threads), isMeeting ? "meeting" : "empty  ",
                    pauseMicroseconds, times[count / 2],
                    times[count * 95 / 100]);
      }
}
