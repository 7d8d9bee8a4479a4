//===- DatabaseTest.cpp - Tests of the tuning database --------------------===//

#include "attn/Tune/Database.h"
#include "../Cuda/TestHelpers.h"
#include "llvm/Support/MemoryBuffer.h"
#include <chrono>
#include <csignal>
#include <linux/capability.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace attn::tune;
using attn::cuda::get, attn::cuda::getText, attn::cuda::expectSuccess;
using attn::cuda::ScopedDirectory, attn::cuda::ScopedVariable;
using attn::cuda::writeFile;

static Entry makeEntry(Bucket bucket, std::string schedule = "#s",
                       int64_t time = 1) {
  Entry entry;
  entry.program = std::string(64, 'a');
  entry.device = "cpu";
  entry.version = "attn 1";
  entry.bucket = std::move(bucket);
  entry.schedule = std::move(schedule);
  entry.seconds = 1e-3;
  entry.untunedSeconds = 2e-3;
  entry.spread = 1e-5;
  entry.tried = 7;
  entry.name = "f";
  entry.extents = "8x16";
  entry.time = time;
  return entry;
}

TEST(TuningDatabaseTest, buckets) {
  EXPECT_EQ(getBucket({1, 2, 3, 4, 1024, 1400, 0}),
            (Bucket{0, 2, 3, 4, 20, 21, -1}));
  EXPECT_EQ(formatBucket({0, -1, 20}), "0,-1,20");
  EXPECT_EQ(formatBucket({}), "");
  EXPECT_EQ(parseBucket("0,-1,20"), (Bucket{0, -1, 20}));
  EXPECT_EQ(parseBucket(""), Bucket());
  EXPECT_EQ(parseBucket("1,"), std::nullopt);
  EXPECT_EQ(parseBucket("x"), std::nullopt);
}

TEST(TuningDatabaseTest, keeps) {
  ScopedDirectory directory;
  std::string path = directory.get("deep/er/tuning.db");
  {
    Database database = get(Database::open(path, true));
    expectSuccess(database.put(makeEntry({4, 20}),
                               {{"#a", 1e-3, ""}, {"#b", 0, "spills"}}));
    expectSuccess(database.put(makeEntry({6, 20}, "#t"), {}));
  }
  Database database = get(Database::open(path, false));
  std::vector<Entry> entries = get(database.getEntries());
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_TRUE(entries[0].hasSameKey(makeEntry({4, 20})));
  EXPECT_EQ(entries[0].schedule, "#s");
  EXPECT_EQ(entries[0].untunedSeconds, 2e-3);
  EXPECT_EQ(entries[0].tried, 7);
  EXPECT_EQ(entries[0].extents, "8x16");
  std::vector<Trial> trials = get(database.getTrials(entries[0]));
  ASSERT_EQ(trials.size(), 2u);
  EXPECT_EQ(trials[1].verdict, "spills");
  EXPECT_EQ(get(database.getEntries(std::string(64, 'b'))).size(), 0u);
  expectSuccess(database.verify());
  // What is read cannot be written.
  EXPECT_NE(getText(database.put(makeEntry({1}), {})), "");
  // A key has one entry, with the trials of the last time.
  Database writer = get(Database::open(path, true));
  expectSuccess(writer.put(makeEntry({4, 20}, "#new"), {}));
  EXPECT_EQ(get(writer.getEntries()).size(), 2u);
  EXPECT_EQ(get(writer.getEntries())[0].schedule, "#new");
  EXPECT_EQ(get(writer.getTrials(makeEntry({4, 20}))).size(), 0u);
  expectSuccess(writer.remove(makeEntry({4, 20})));
  EXPECT_EQ(get(writer.getEntries()).size(), 1u);
}

// Of two that add to an entry at a time, each sees what the other has written.
TEST(TuningDatabaseTest, checksWhatIsReplaced) {
  ScopedDirectory directory;
  std::string path = directory.get("tuning.db");
  Entry first = makeEntry({4});
  first.tried = 0;
  expectSuccess(get(Database::open(path, true)).put(first, {}));
  constexpr int64_t kTimes = 40;
  auto addOften = [&] {
    Database database = get(Database::open(path, true));
    for (int64_t n = 0; n < kTimes;) {
      int64_t tried = get(database.getEntries())[0].tried;
      Entry next = makeEntry({4});
      next.tried = tried + 1;
      llvm::Error error = database.put(next, {}, [&](const Entry &old) {
        return old.tried == tried
                   ? llvm::Error::success()
                   : llvm::createStringError("somebody was faster");
      });
      if (!error)
        ++n;
      else
        EXPECT_EQ(llvm::toString(std::move(error)), "somebody was faster");
    }
  };
  std::thread other(addOften);
  addOften();
  other.join();
  std::vector<Entry> entries =
      get(get(Database::open(path, false)).getEntries());
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].tried, 2 * kTimes);
}

TEST(TuningDatabaseTest, mergesAndExports) {
  Database a = get(Database::create()), b = get(Database::create());
  expectSuccess(a.put(makeEntry({1}, "#old", 10), {}));
  expectSuccess(a.put(makeEntry({2}, "#new", 10), {}));
  expectSuccess(b.put(makeEntry({1}, "#newer", 20), {{"#x", 1, ""}}));
  expectSuccess(b.put(makeEntry({2}, "#older", 5), {}));
  expectSuccess(b.put(makeEntry({3}, "#other", 5), {}));
  EXPECT_EQ(get(a.merge(b)), 2u);
  std::vector<Entry> entries = get(a.getEntries());
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].schedule, "#newer");
  EXPECT_EQ(entries[1].schedule, "#new");
  EXPECT_EQ(get(a.getTrials(entries[0])).size(), 1u);
  Database copy = get(Database::fromJSON(get(a.toJSON())));
  EXPECT_EQ(get(copy.getEntries()).size(), 3u);
  EXPECT_EQ(get(copy.getTrials(entries[0])).size(), 1u);
  EXPECT_NE(getText(Database::fromJSON(llvm::json::Object{{"version", 9}})),
            "");
  EXPECT_NE(getText(Database::fromJSON("text")), "");
}

TEST(TuningDatabaseTest, badFiles) {
  ScopedDirectory directory;
  std::string path = directory.get("tuning.db");
  expectSuccess(get(Database::open(path, true)).put(makeEntry({1}), {}));
  std::string good = (*llvm::MemoryBuffer::getFile(path))->getBuffer().str();
  for (bool isWritten : {false, true}) {
    writeFile(path, "this is no database, and long enough to be read as one");
    EXPECT_TRUE(llvm::StringRef(getText(Database::open(path, isWritten)))
                    .contains("is damaged"));
    // Cut short: found when it is opened or when it is read.
    writeFile(path, llvm::StringRef(good).take_front(good.size() / 2));
    auto cut = Database::open(path, isWritten);
    EXPECT_NE(cut ? getText(cut->getEntries()) : getText(cut.takeError()), "");
    // What cannot be used stays.
    EXPECT_EQ((*llvm::MemoryBuffer::getFile(path))->getBufferSize(),
              good.size() / 2);
    EXPECT_NE(getText(Database::open(directory.get(), isWritten)), "");
  }
  auto run = [](const std::string &path, const char *text) {
    sqlite3 *handle;
    ASSERT_EQ(sqlite3_open(path.c_str(), &handle), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(handle, text, nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(handle);
  };
  writeFile(path, good);
  run(path, "PRAGMA user_version = 2");
  EXPECT_TRUE(llvm::StringRef(getText(Database::open(path, true)))
                  .contains("is of version 2, and this is version 1"));
  std::string other = directory.get("other.db");
  run(other, "CREATE TABLE theirs(x)");
  EXPECT_TRUE(llvm::StringRef(getText(Database::open(other, true)))
                  .contains("of another program"));
  // A wrong entry is found by a check.
  writeFile(path, good);
  run(path, "UPDATE entries SET seconds = -1");
  EXPECT_TRUE(
      llvm::StringRef(getText(get(Database::open(path, false)).verify()))
          .contains("wrong entry"));
  EXPECT_NE(getText(Database::open("/proc/attn/tuning.db", true)), "");
}

template <typename Body> static pid_t startChild(Body body) {
  pid_t child = ::fork();
  if (child == 0)
    ::_exit(body() ? 0 : 1);
  return child;
}

static int waitFor(pid_t child) {
  int status = -1;
  ::waitpid(child, &status, 0);
  return status;
}

TEST(TuningDatabaseTest, lockedFile) {
  ScopedDirectory directory;
  std::string path = directory.get("tuning.db");
  ScopedVariable named("ATTN_TUNING_DB", path.c_str());
  expectSuccess(get(Database::open(path, true)).put(makeEntry({1}), {}));
  sqlite3 *handle;
  ASSERT_EQ(sqlite3_open(path.c_str(), &handle), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(handle, "BEGIN EXCLUSIVE", nullptr, nullptr, nullptr),
            SQLITE_OK);
  // Kernels do without rather than wait.
  auto start = std::chrono::steady_clock::now();
  std::string note;
  EXPECT_TRUE(findEntries(std::string(64, 'a'), note).empty());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  EXPECT_TRUE(llvm::StringRef(note).contains("is locked by another process"));
  sqlite3_close(handle);
  note.clear();
  EXPECT_EQ(findEntries(std::string(64, 'a'), note).size(), 1u);
  EXPECT_EQ(note, "");
}

TEST(TuningDatabaseTest, readOnlyFile) {
  ScopedDirectory directory;
  std::string path = directory.get("tuning.db");
  ScopedVariable named("ATTN_TUNING_DB", path.c_str());
  expectSuccess(get(Database::open(path, true)).put(makeEntry({1}), {}));
  ASSERT_EQ(::chmod(path.c_str(), 0444), 0);
  ASSERT_EQ(::chmod(directory.get().c_str(), 0555), 0);
  EXPECT_EQ(
      waitFor(startChild([&] {
        // The superuser may write whatever a file says, unless he gives
        // his capabilities up.
        __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
        __user_cap_data_struct none[2] = {};
        if (::syscall(SYS_capset, &header, none) != 0)
          return false;
        std::string note;
        if (findEntries(std::string(64, 'a'), note).size() != 1 ||
            !note.empty())
          return false;
        llvm::Expected<Database> database = Database::open(path, true);
        return database ? !getText(database->put(makeEntry({2}), {})).empty()
                        : !getText(database.takeError()).empty();
      })),
      0);
  ASSERT_EQ(::chmod(directory.get().c_str(), 0755), 0);
  EXPECT_EQ(get(get(Database::open(path, false)).getEntries()).size(), 1u);
}

TEST(TuningDatabaseTest, fullDisk) {
  ScopedDirectory directory;
  std::string path = directory.get("tuning.db");
  expectSuccess(get(Database::open(path, true)).put(makeEntry({1}), {}));
  EXPECT_EQ(waitFor(startChild([&] {
              ::signal(SIGXFSZ, SIG_IGN);
              rlimit limit = {40000, 40000};
              ::setrlimit(RLIMIT_FSIZE, &limit);
              Database database = get(Database::open(path, true));
              Entry large = makeEntry({2}, std::string(100000, 'x'));
              return !getText(database.put(large, {})).empty() &&
                     getText(database.put(makeEntry({3}), {})).empty();
            })),
            0);
  Database database = get(Database::open(path, false));
  expectSuccess(database.verify());
  EXPECT_EQ(get(database.getEntries()).size(), 2u);
}

TEST(TuningDatabaseTest, manyProcesses) {
  ScopedDirectory directory;
  std::string path = directory.get("tuning.db");
  std::vector<pid_t> children;
  for (int64_t i = 0; i < 64; ++i)
    children.push_back(startChild([&] {
      auto database = Database::open(path, true);
      return database && getText(database->put(makeEntry({i}), {})).empty() &&
             getText(database->put(makeEntry({100}), {})).empty();
    }));
  for (pid_t child : children)
    EXPECT_EQ(waitFor(child), 0);
  Database database = get(Database::open(path, false));
  EXPECT_EQ(get(database.getEntries()).size(), 65u);
  expectSuccess(database.verify());
}

TEST(TuningDatabaseTest, killedWriters) {
  ScopedDirectory directory;
  std::string path = directory.get("tuning.db");
  expectSuccess(get(Database::open(path, true)).put(makeEntry({1}), {}));
  for (int i = 0; i < 20; ++i) {
    pid_t child = startChild([&] {
      Database database = get(Database::open(path, true));
      std::vector<Trial> trials(500, {"#schedule", 1, "text"});
      for (int64_t number = 0;; ++number)
        if (database.put(makeEntry({1, number % 3}), trials))
          return false;
      return true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(3 * i));
    ::kill(child, SIGKILL);
    waitFor(child);
    // Who reads first takes back what the writer has left.
    Database database = get(Database::open(path, false));
    expectSuccess(database.verify());
    for (const Entry &entry : get(database.getEntries()))
      if (entry.bucket.size() == 2) {
        EXPECT_EQ(get(database.getTrials(entry)).size(), 500u);
      }
  }
}

TEST(TuningDatabaseTest, chooses) {
  std::vector<Entry> entries = {makeEntry({4, 20}, "#exact"),
                                makeEntry({4, 24}, "#longer"),
                                makeEntry({4}, "#other rank")};
  Source source;
  auto choose = [&](Bucket bucket, llvm::StringRef version = "attn 1") {
    const Entry *entry = chooseEntry(entries, bucket, version, source);
    return entry ? entry->schedule : "";
  };
  EXPECT_EQ(choose({4, 20}), "#exact");
  EXPECT_EQ(source, Source::Exact);
  EXPECT_EQ(choose({5, 20}), "#exact");
  EXPECT_EQ(source, Source::Nearest);
  EXPECT_EQ(choose({4, 26}), "#longer");
  EXPECT_EQ(choose({4, 29}), "");
  EXPECT_EQ(source, Source::Model);
  // Of two for a bucket the first one, and that of this version before.
  entries.push_back(makeEntry({4, 20}, "#second"));
  EXPECT_EQ(choose({4, 20}), "#exact");
  entries.back().version = "attn 2";
  EXPECT_EQ(choose({4, 20}, "attn 2"), "#second");
  EXPECT_EQ(source, Source::Exact);
  // What another version has measured says something, but not all.
  EXPECT_EQ(choose({4, 20}, "attn 3"), "#exact");
  EXPECT_EQ(source, Source::OtherVersion);
  EXPECT_EQ(choose({4, 21}, "attn 3"), "#exact");
  EXPECT_EQ(source, Source::Nearest);
}

TEST(TuningDatabaseTest, findsTheUsersFile) {
  ScopedDirectory directory;
  ScopedVariable home("HOME", directory.get().c_str());
  ScopedVariable data("XDG_DATA_HOME", nullptr);
  {
    ScopedVariable named("ATTN_TUNING_DB", nullptr);
    EXPECT_EQ(getUserDatabasePath(),
              directory.get(".local/share/attn/tuning.db"));
    ScopedVariable xdg("XDG_DATA_HOME", "/xdg");
    EXPECT_EQ(getUserDatabasePath(), "/xdg/attn/tuning.db");
  }
  for (const char *off : {"", "0", "off"}) {
    ScopedVariable none("ATTN_TUNING_DB", off);
    EXPECT_EQ(getUserDatabasePath(), "");
  }
  std::string path = directory.get("mine.db");
  ScopedVariable named("ATTN_TUNING_DB", path.c_str());
  std::string program(64, 'a'), note;
  EXPECT_TRUE(findEntries(program, note).empty());
  EXPECT_EQ(note, "");
  Database database = get(Database::open(path, true));
  expectSuccess(database.put(makeEntry({1}), {}));
  EXPECT_EQ(findEntries(program, note).size(), 1u);
  EXPECT_EQ(findEntries(std::string(64, 'b'), note).size(), 0u);
  EXPECT_EQ(note, "");
  writeFile(path, "something else that is no database at all");
  EXPECT_TRUE(findEntries(program, note).empty());
  EXPECT_TRUE(llvm::StringRef(note).contains(
      "kernels run with what the compiler chooses"));
}
