//===- ScratchTest.cpp - Tests of scratch memory --------------------------===//

#include "TestHelpers.h"
#include "attn/Runtime/ABI.h"
#include <cstring>
#include <random>
#include <sys/resource.h>
#include <thread>
#include <vector>

using namespace attn;

static bool isAligned(void *memory) {
  return reinterpret_cast<uintptr_t>(memory) % 64 == 0;
}

TEST(ScratchTest, memoryIsAlignedAndDisjoint) {
  std::vector<std::pair<unsigned char *, int64_t>> all;
  unsigned char tag = 0;
  for (int64_t bytes : {0, 1, 63, 64, 65, 1000, 100000, 10, 5000000, 1}) {
    auto *memory = static_cast<unsigned char *>(attn_rt_alloc(bytes));
    ASSERT_TRUE(memory);
    EXPECT_TRUE(isAligned(memory));
    memset(memory, ++tag, bytes);
    all.push_back({memory, bytes});
  }
  tag = 0;
  for (auto [memory, bytes] : all) {
    ++tag;
    for (int64_t i = 0; i < bytes; ++i)
      ASSERT_EQ(memory[i], tag);
  }
  for (size_t i = all.size(); i-- > 0;)
    attn_rt_free(all[i].first);
}

TEST(ScratchTest, memoryIsUsedAgain) {
  void *first = attn_rt_alloc(1000);
  void *second = attn_rt_alloc(2000);
  attn_rt_free(second);
  EXPECT_EQ(attn_rt_alloc(500), second);
  attn_rt_free(second);
  attn_rt_free(first);
  EXPECT_EQ(attn_rt_alloc(3000), first);
  attn_rt_free(first);
}

TEST(ScratchTest, anyOrderOfFrees) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::pair<unsigned char *, size_t>> all;
    for (int step = 0; step < 50; ++step) {
      if (all.empty() || random() % 3 != 0) {
        size_t bytes = random() % 2 ? random() % 300 : random() % 40000;
        auto *memory = static_cast<unsigned char *>(attn_rt_alloc(bytes));
        ASSERT_TRUE(memory);
        memset(memory, int(bytes % 251), bytes);
        all.push_back({memory, bytes});
      } else {
        size_t which = random() % all.size();
        auto [memory, bytes] = all[which];
        for (size_t i = 0; i < bytes; ++i)
          ASSERT_EQ(memory[i], bytes % 251);
        attn_rt_free(memory);
        all.erase(all.begin() + which);
      }
    }
    for (auto [memory, bytes] : all)
      attn_rt_free(memory);
  }
}

TEST(ScratchTest, failures) {
  EXPECT_EQ(attn_rt_alloc(-1), nullptr);
  EXPECT_EQ(attn_rt_alloc(INT64_MIN), nullptr);
  EXPECT_EQ(attn_rt_alloc(INT64_MAX), nullptr);
  EXPECT_EQ(attn_rt_alloc(int64_t(1) << 60), nullptr);
  attn_rt_free(nullptr);
  // A failure inside of other allocations leaves them as they are.
  void *memory = attn_rt_alloc(100);
  memset(memory, 1, 100);
  EXPECT_EQ(attn_rt_alloc(int64_t(1) << 60), nullptr);
  void *more = attn_rt_alloc(100);
  EXPECT_TRUE(more);
  attn_rt_free(more);
  attn_rt_free(memory);
}

static long countPageFaults() {
  rusage usage;
  ::getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_minflt;
}

TEST(ScratchTest, repeatedLaunchesDoNotFault) {
  auto useSome = [] {
    // More than the first block holds, in several pieces, as a kernel does.
    std::vector<void *> all;
    for (int64_t bytes : {100000, 5000, 700000, 3000000}) {
      all.push_back(attn_rt_alloc(bytes));
      memset(all.back(), 1, bytes);
      // An inner loop's allocation, again and again.
      for (int i = 0; i < 3; ++i) {
        void *inner = attn_rt_alloc(900000);
        memset(inner, 2, 900000);
        attn_rt_free(inner);
      }
    }
    while (!all.empty()) {
      attn_rt_free(all.back());
      all.pop_back();
    }
  };
  // The first makes blocks, the second one block for all of them.
  useSome();
  useSome();
  long before = countPageFaults();
  for (int i = 0; i < 20; ++i)
    useSome();
  // One round alone touches about a thousand pages.
  EXPECT_LT(countPageFaults() - before, 50);
}

TEST(ScratchTest, innerLoopsDoNotFault) {
  // The first round, when the overflow block is not part of the first yet.
  std::thread([] {
    void *outer = attn_rt_alloc(1000);
    void *inner = attn_rt_alloc(4000000);
    memset(inner, 1, 4000000);
    attn_rt_free(inner);
    long before = countPageFaults();
    for (int i = 0; i < 20; ++i) {
      inner = attn_rt_alloc(4000000);
      memset(inner, 1, 4000000);
      attn_rt_free(inner);
    }
    EXPECT_LT(countPageFaults() - before, 50);
    attn_rt_free(outer);
  }).join();
}

TEST(ScratchTest, largeMemoryIsGivenBack) {
  if (kHasAsan || kHasTsan)
    GTEST_SKIP() << "a sanitizer keeps freed memory";
  auto getResidentPages = [] {
    long size = 0, resident = 0;
    FILE *file = ::fopen("/proc/self/statm", "r");
    EXPECT_EQ(::fscanf(file, "%ld %ld", &size, &resident), 2);
    ::fclose(file);
    return resident;
  };
  long before = getResidentPages();
  int64_t bytes = int64_t(200) << 20;
  void *memory = attn_rt_alloc(bytes);
  ASSERT_TRUE(memory);
  memset(memory, 1, bytes);
  attn_rt_free(memory);
  EXPECT_LT(getResidentPages() - before, (100 << 20) / 4096);
}

TEST(ScratchTest, threadsHaveTheirOwn) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread)
    threads.emplace_back([thread] {
      for (int i = 0; i < 2000; ++i) {
        auto *a = static_cast<unsigned char *>(attn_rt_alloc(100 + i));
        auto *b = static_cast<unsigned char *>(attn_rt_alloc(50000));
        memset(a, thread, 100 + i);
        memset(b, thread, 50000);
        ASSERT_EQ(a[99], thread);
        ASSERT_EQ(b[49999], thread);
        attn_rt_free(b);
        attn_rt_free(a);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}
