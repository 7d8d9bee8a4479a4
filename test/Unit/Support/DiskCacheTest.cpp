//===- DiskCacheTest.cpp - Tests of the cache on disk ---------------------===//

#include "attn/Support/DiskCache.h"
#include "../Cuda/TestHelpers.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <atomic>
#include <csignal>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace attn;
using namespace attn::cuda;
namespace fs = llvm::sys::fs;

static CacheKey makeKey(int64_t number) {
  return KeyBuilder().add("test").add(number).get();
}

static std::vector<std::string> listFiles(const std::string &directory) {
  std::vector<std::string> result;
  std::error_code code;
  for (fs::directory_iterator it(directory, code), end; !code && it != end;
       it.increment(code))
    result.push_back(it->path());
  return result;
}

static std::string readFile(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : "";
}

TEST(DiskCacheTest, keys) {
  EXPECT_EQ(KeyBuilder().add("ab").add("c").get(),
            KeyBuilder().add("ab").add("c").get());
  EXPECT_NE(KeyBuilder().add("ab").add("c").get(),
            KeyBuilder().add("a").add("bc").get());
  EXPECT_NE(KeyBuilder().add("").get(), KeyBuilder().get());
  KeyBuilder builder;
  builder.add("ab");
  EXPECT_EQ(builder.get(), KeyBuilder().add("ab").get());
  EXPECT_EQ(builder.add(1).get(), KeyBuilder().add("ab").add(1).get());
}

TEST(DiskCacheTest, keeps) {
  ScopedDirectory directory;
  DiskCache cache(directory.get("deep/er"));
  EXPECT_TRUE(cache.isEnabled());
  EXPECT_EQ(cache.lookup(makeKey(1)), std::nullopt);
  std::string bytes("some\0bytes", 10);
  EXPECT_TRUE(cache.store(makeKey(1), bytes));
  EXPECT_TRUE(cache.store(makeKey(2), ""));
  EXPECT_EQ(cache.lookup(makeKey(1)), bytes);
  EXPECT_EQ(cache.lookup(makeKey(2)), "");
  EXPECT_EQ(cache.lookup(makeKey(3)), std::nullopt);
  EXPECT_TRUE(cache.store(makeKey(1), "other"));
  EXPECT_EQ(cache.lookup(makeKey(1)), "other");
  EXPECT_EQ(listFiles(directory.get("deep/er")).size(), 2u);
}

TEST(DiskCacheTest, directories) {
  ScopedVariable home("HOME", "/home/of/nobody");
  ScopedVariable xdg("XDG_CACHE_HOME", nullptr);
  ScopedVariable variable("ATTN_CACHE_DIR", nullptr);
  EXPECT_EQ(DiskCache::getDefault().getDirectory(),
            "/home/of/nobody/.cache/attn");
  {
    ScopedVariable relative("XDG_CACHE_HOME", "relative");
    EXPECT_EQ(DiskCache::getDefault().getDirectory(),
              "/home/of/nobody/.cache/attn");
  }
  ScopedVariable absolute("XDG_CACHE_HOME", "/xdg");
  EXPECT_EQ(DiskCache::getDefault().getDirectory(), "/xdg/attn");
  for (const char *off : {"", "0", "off"}) {
    ScopedVariable none("ATTN_CACHE_DIR", off);
    DiskCache cache = DiskCache::getDefault();
    EXPECT_FALSE(cache.isEnabled());
    EXPECT_FALSE(cache.store(makeKey(1), "bytes"));
    EXPECT_EQ(cache.lookup(makeKey(1)), std::nullopt);
    cache.prune();
  }
  ScopedVariable named("ATTN_CACHE_DIR", "/named");
  EXPECT_EQ(DiskCache::getDefault().getDirectory(), "/named");
}

TEST(DiskCacheTest, damagedEntries) {
  ScopedDirectory directory;
  DiskCache cache(directory.get());
  ASSERT_TRUE(cache.store(makeKey(1), "the bytes"));
  std::string path = listFiles(directory.get()).at(0);
  std::string good = readFile(path);
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] ^= 1;
    writeFile(path, bad);
    EXPECT_EQ(cache.lookup(makeKey(1)), std::nullopt) << i;
    writeFile(path, llvm::StringRef(good).take_front(i));
    EXPECT_EQ(cache.lookup(makeKey(1)), std::nullopt) << i;
  }
  writeFile(path, good + "x");
  EXPECT_EQ(cache.lookup(makeKey(1)), std::nullopt);
  // The entry of another key.
  ASSERT_TRUE(cache.store(makeKey(2), "other bytes"));
  for (const std::string &other : listFiles(directory.get()))
    if (other != path)
      writeFile(path, readFile(other));
  EXPECT_EQ(cache.lookup(makeKey(1)), std::nullopt);
  // It is replaced.
  EXPECT_TRUE(cache.store(makeKey(1), "the bytes"));
  EXPECT_EQ(cache.lookup(makeKey(1)), "the bytes");
}

TEST(DiskCacheTest, directoryThatCannotBe) {
  ScopedDirectory directory;
  writeFile(directory.get("file"), "");
  DiskCache cache(directory.get("file/cache"));
  EXPECT_FALSE(cache.store(makeKey(1), "bytes"));
  EXPECT_EQ(cache.lookup(makeKey(1)), std::nullopt);
  cache.prune();
  EXPECT_FALSE(DiskCache("/proc/attn").store(makeKey(1), "bytes"));
  // An entry whose place is taken by a directory.
  DiskCache taken(directory.get());
  ASSERT_TRUE(taken.store(makeKey(1), "bytes"));
  for (const std::string &path : listFiles(directory.get()))
    if (path != directory.get("file")) {
      ASSERT_FALSE(fs::remove(path));
      ASSERT_FALSE(fs::create_directories(path + "/x"));
    }
  EXPECT_FALSE(taken.store(makeKey(1), "bytes"));
  EXPECT_EQ(taken.lookup(makeKey(1)), std::nullopt);
  EXPECT_EQ(listFiles(directory.get()).size(), 2u);
}

/// Runs `body` in a child process, and tells whether it returned true.
template <typename Body> static bool runInChild(Body body) {
  pid_t child = ::fork();
  if (child == 0)
    ::_exit(body() ? 0 : 1);
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(DiskCacheTest, fullDisk) {
  ScopedDirectory directory;
  DiskCache cache(directory.get());
  // Writes end at a limit, as on a disk without room.
  EXPECT_TRUE(runInChild([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    rlimit limit = {1000, 1000};
    return ::setrlimit(RLIMIT_FSIZE, &limit) == 0 &&
           !cache.store(makeKey(1), std::string(100000, 'x')) &&
           cache.store(makeKey(2), "small");
  }));
  EXPECT_EQ(cache.lookup(makeKey(1)), std::nullopt);
  EXPECT_EQ(cache.lookup(makeKey(2)), "small");
  EXPECT_EQ(listFiles(directory.get()).size(), 1u);
}

/// Stores and looks up the same keys as others; all bytes of an entry are
/// equal, so that a mixture would be seen.
static bool hammer(const DiskCache &cache, char letter) {
  bool isGood = true;
  for (int i = 0; i < 100; ++i) {
    CacheKey key = makeKey(i % 4);
    isGood &= cache.store(key, std::string(2000 + letter, letter));
    std::optional<std::string> bytes = cache.lookup(key);
    isGood &= bytes.has_value() &&
              bytes->size() == size_t(2000 + (*bytes)[0]) &&
              bytes->find_first_not_of((*bytes)[0]) == std::string::npos;
  }
  return isGood;
}

TEST(DiskCacheTest, manyProcesses) {
  ScopedDirectory directory;
  DiskCache cache(directory.get());
  std::vector<pid_t> children;
  for (char letter : {'a', 'b', 'c'}) {
    pid_t child = ::fork();
    if (child == 0)
      ::_exit(hammer(cache, letter) ? 0 : 1);
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(listFiles(directory.get()).size(), 4u);
}

TEST(DiskCacheTest, manyThreads) {
  ScopedDirectory directory;
  DiskCache cache(directory.get());
  std::vector<std::thread> threads;
  for (char letter : {'a', 'b', 'c', 'd'})
    threads.emplace_back([&, letter] { EXPECT_TRUE(hammer(cache, letter)); });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(listFiles(directory.get()).size(), 4u);
}

/// Pretends that a file was used some time ago.
static void makeOld(const std::string &path, std::chrono::hours age) {
  int fd = -1;
  ASSERT_FALSE(fs::openFileForWrite(path, fd, fs::CD_OpenExisting));
  EXPECT_FALSE(fs::setLastAccessAndModificationTime(
      fd, std::chrono::system_clock::now() - age));
  ::close(fd);
}

TEST(DiskCacheTest, prunes) {
  ScopedDirectory directory;
  DiskCache::Options options;
  options.maxBytes = 10500;
  DiskCache cache(directory.get(), options);
  for (int i = 0; i < 10; ++i)
    ASSERT_TRUE(
        DiskCache(directory.get()).store(makeKey(i), std::string(1000, 'x')));
  for (const std::string &path : listFiles(directory.get()))
    makeOld(path, std::chrono::hours(2));
  // Two are used again.
  EXPECT_TRUE(cache.lookup(makeKey(3)));
  EXPECT_TRUE(cache.lookup(makeKey(7)));
  // Leftovers of a process that ended, of one at work, and somebody's file.
  for (const char *name : {"new-old", "new-young", "mine"})
    writeFile(directory.get(name), "x");
  makeOld(directory.get("new-old"), std::chrono::hours(2));
  cache.prune();
  EXPECT_EQ(listFiles(directory.get()).size(), 9u + 2);
  EXPECT_TRUE(cache.lookup(makeKey(3)));
  EXPECT_TRUE(cache.lookup(makeKey(7)));
  EXPECT_FALSE(fs::exists(directory.get("new-old")));
  EXPECT_TRUE(fs::exists(directory.get("new-young")));
  EXPECT_TRUE(fs::exists(directory.get("mine")));
  // What can never fit is not kept, and a store prunes by itself.
  EXPECT_FALSE(cache.store(makeKey(20), std::string(20000, 'x')));
  EXPECT_TRUE(cache.store(makeKey(21), std::string(5000, 'x')));
  EXPECT_TRUE(cache.lookup(makeKey(21)));
  uint64_t total = 0;
  for (const std::string &path : listFiles(directory.get()))
    total += readFile(path).size();
  EXPECT_LE(total, options.maxBytes);
  EXPECT_TRUE(cache.lookup(makeKey(3)));
}

TEST(DiskCacheTest, visitsEntries) {
  ScopedDirectory directory;
  DiskCache cache(directory.get());
  ASSERT_TRUE(cache.store(makeKey(1), "one"));
  ASSERT_TRUE(cache.store(makeKey(2), "two"));
  writeFile(directory.get("attn-00"), "not an entry");
  writeFile(directory.get("mine"), "neither");
  std::vector<std::string> found;
  cache.forEach([&](llvm::StringRef bytes) {
    found.push_back(bytes.str());
    return true;
  });
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, (std::vector<std::string>{"one", "two"}));
  unsigned visited = 0;
  cache.forEach([&](llvm::StringRef) { return ++visited, false; });
  EXPECT_EQ(visited, 1u);
}

TEST(DiskCacheTest, entriesOfOthers) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "only root can give files away";
  ScopedDirectory directory;
  DiskCache cache(directory.get());
  ASSERT_TRUE(cache.store(makeKey(1), "bytes"));
  std::string path = listFiles(directory.get()).front();
  constexpr uid_t other = 65534;
  ASSERT_EQ(::chown(path.c_str(), other, -1), 0);
  EXPECT_EQ(cache.lookup(makeKey(1)), std::nullopt);
  cache.forEach([](llvm::StringRef bytes) {
    ADD_FAILURE() << "visits " << bytes.str();
    return true;
  });
  // What is kept then is ours.
  EXPECT_TRUE(cache.store(makeKey(1), "ours"));
  EXPECT_EQ(cache.lookup(makeKey(1)), "ours");
}

static constexpr std::chrono::milliseconds kBrief(50);
static constexpr std::chrono::milliseconds kLonger(20000);

/// Whether nobody else has a turn, or the wait for it ends early.
static bool isFree(const DiskCache &cache, int64_t number) {
  auto start = std::chrono::steady_clock::now();
  DiskCache::Turn turn = cache.takeTurn(makeKey(number), kLonger);
  return std::chrono::steady_clock::now() - start < kLonger / 2;
}

/// Whether waiting for a turn takes as long as it may.
static bool isTaken(const DiskCache &cache, int64_t number) {
  auto start = std::chrono::steady_clock::now();
  DiskCache::Turn turn = cache.takeTurn(makeKey(number), kBrief);
  return std::chrono::steady_clock::now() - start >= kBrief;
}

TEST(DiskCacheTest, turns) {
  ScopedDirectory directory;
  DiskCache cache(directory.get());
  std::optional<DiskCache::Turn> first = cache.takeTurn(makeKey(1), kLonger);
  // Another key is free, and this one is not.
  EXPECT_TRUE(isFree(cache, 2));
  EXPECT_TRUE(isTaken(cache, 1));
  EXPECT_TRUE(runInChild([&] { return isTaken(cache, 1); }));
  first.reset();
  EXPECT_TRUE(isFree(cache, 1));
  EXPECT_EQ(listFiles(directory.get()).size(), 0u);
  // A process that is killed loses its turn.
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  pid_t child = ::fork();
  if (child == 0) {
    DiskCache::Turn turn = cache.takeTurn(makeKey(1), kLonger);
    ssize_t written = ::write(ready[1], "x", 1);
    ::pause();
    ::_exit(written != 1);
  }
  char byte;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_TRUE(isTaken(cache, 1));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(isFree(cache, 1));
  // Without a place for them, nobody waits.
  EXPECT_TRUE(isFree(DiskCache("/proc/attn"), 1));
  EXPECT_TRUE(isFree(DiskCache(), 1));
}

TEST(DiskCacheTest, turnsAndForks) {
  ScopedDirectory directory;
  DiskCache cache(directory.get());
  std::optional<DiskCache::Turn> turn = cache.takeTurn(makeKey(1), kLonger);
  pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  // Somebody who waits already has the file that the child has, too.
  std::atomic<bool> wasFree{false};
  std::thread waiting([&] { wasFree = isFree(cache, 1); });
  std::this_thread::sleep_for(kBrief);
  turn.reset();
  waiting.join();
  EXPECT_TRUE(wasFree);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST(DiskCacheTest, turnsEndWithTheEntry) {
  ScopedDirectory directory;
  DiskCache cache(directory.get());
  DiskCache::Turn turn = cache.takeTurn(makeKey(1), kLonger);
  EXPECT_TRUE(isTaken(cache, 1));
  ASSERT_TRUE(cache.store(makeKey(1), "bytes"));
  EXPECT_TRUE(isFree(cache, 1));
}

TEST(DiskCacheTest, sizeFromEnvironment) {
  ScopedDirectory directory;
  ScopedVariable place("ATTN_CACHE_DIR", directory.get().c_str());
  ScopedVariable none("ATTN_CACHE_MB", "0");
  EXPECT_FALSE(DiskCache::getDefault().store(makeKey(1), "bytes"));
  ScopedVariable some("ATTN_CACHE_MB", "1");
  EXPECT_TRUE(DiskCache::getDefault().store(makeKey(1), "bytes"));
  EXPECT_FALSE(
      DiskCache::getDefault().store(makeKey(2), std::string(2 << 20, 'x')));
  ScopedVariable bad("ATTN_CACHE_MB", "many");
  EXPECT_TRUE(
      DiskCache::getDefault().store(makeKey(2), std::string(2 << 20, 'x')));
}
