//===- Database.cpp - What was measured to be fastest ---------------------===//

#include "attn/Tune/Database.h"
#include "attn/Support/JSON.h"
#include "attn/Support/JSONFields.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <cmath>
#include <sqlite3.h>

using namespace attn;
using namespace attn::tune;
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// Buckets
//===----------------------------------------------------------------------===//

Bucket tune::getBucket(llvm::ArrayRef<int64_t> extents) {
  Bucket bucket;
  for (int64_t extent : extents)
    bucket.push_back(extent < 1 ? -1
                                : std::llround(2 * std::log2(double(extent))));
  return bucket;
}

std::string tune::formatBucket(llvm::ArrayRef<int64_t> bucket) {
  return llvm::join(
      llvm::map_range(bucket,
                      [](int64_t step) { return std::to_string(step); }),
      ",");
}

std::optional<Bucket> tune::parseBucket(llvm::StringRef text) {
  Bucket bucket;
  llvm::SmallVector<llvm::StringRef> parts;
  if (!text.empty())
    text.split(parts, ',');
  for (llvm::StringRef part : parts)
    if (part.getAsInteger(10, bucket.emplace_back()))
      return std::nullopt;
  return bucket;
}

bool Entry::hasSameKey(const Entry &other) const {
  return program == other.program && device == other.device &&
         version == other.version && bucket == other.bucket;
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

namespace {
/// A statement of SQL with its parameters.
class Statement {
public:
  Statement(sqlite3 *handle, const char *text) {
    sqlite3_prepare_v2(handle, text, -1, &statement, nullptr);
  }
  Statement(const Statement &) = delete;
  Statement &operator=(const Statement &) = delete;
  ~Statement() { sqlite3_finalize(statement); }

  Statement &add(llvm::StringRef text) {
    sqlite3_bind_text(statement, ++numBound, text.data(), int(text.size()),
                      SQLITE_TRANSIENT);
    return *this;
  }
  Statement &add(int64_t number) {
    sqlite3_bind_int64(statement, ++numBound, number);
    return *this;
  }
  Statement &add(double number) {
    sqlite3_bind_double(statement, ++numBound, number);
    return *this;
  }

  /// SQLITE_ROW, SQLITE_DONE, or an error.
  int step() { return statement ? sqlite3_step(statement) : SQLITE_ERROR; }

  /// The next column of the row.
  std::string getText() {
    auto *text =
        reinterpret_cast<const char *>(sqlite3_column_text(statement, numRead));
    int size = sqlite3_column_bytes(statement, numRead++);
    return text ? std::string(text, size) : "";
  }
  int64_t getInteger() { return sqlite3_column_int64(statement, numRead++); }
  double getDouble() { return sqlite3_column_double(statement, numRead++); }
  void rewind() { numRead = 0; }

private:
  sqlite3_stmt *statement = nullptr;
  int numBound = 0, numRead = 0;
};
} // namespace

#define ATTN_KEY "program = ?1 AND device = ?2 AND version = ?3 AND bucket = ?4"

static void addKey(Statement &statement, const Entry &entry) {
  statement.add(entry.program)
      .add(entry.device)
      .add(entry.version)
      .add(formatBucket(entry.bucket));
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

void Database::Closer::operator()(sqlite3 *handle) const {
  sqlite3_close_v2(handle);
}

llvm::Error Database::makeError() const {
  int code = sqlite3_errcode(handle.get());
  std::string text = sqlite3_errmsg(handle.get());
  std::string what = "the tuning database '" + path + "' ";
  if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT)
    return llvm::createStringError(
        what + "is damaged (" + text +
        "); it stays as it is: move it away, or name another one with "
        "ATTN_TUNING_DB");
  if (code == SQLITE_BUSY || code == SQLITE_LOCKED)
    return llvm::createStringError(
        what + "is locked by another process for too long; nothing was "
               "written");
  return llvm::createStringError(what + "cannot be used: " + text);
}

llvm::Error Database::execute(const char *statement) const {
  if (sqlite3_exec(handle.get(), statement, nullptr, nullptr, nullptr) !=
      SQLITE_OK)
    return makeError();
  return llvm::Error::success();
}

// "attn" as a number, by which a file is known as ours.
static constexpr int64_t kApplication = 0x6174746e;

static constexpr char kSchema[] = R"(
CREATE TABLE entries(
  program TEXT NOT NULL, device TEXT NOT NULL, version TEXT NOT NULL,
  bucket TEXT NOT NULL, schedule TEXT NOT NULL, threads INTEGER NOT NULL,
  seconds REAL NOT NULL, spread REAL NOT NULL, untuned REAL NOT NULL,
  tried INTEGER NOT NULL, name TEXT NOT NULL, extents TEXT NOT NULL,
  time INTEGER NOT NULL,
  PRIMARY KEY(program, device, version, bucket)) WITHOUT ROWID;
CREATE TABLE trials(
  program TEXT NOT NULL, device TEXT NOT NULL, version TEXT NOT NULL,
  bucket TEXT NOT NULL, number INTEGER NOT NULL, schedule TEXT NOT NULL,
  seconds REAL NOT NULL, verdict TEXT NOT NULL,
  PRIMARY KEY(program, device, version, bucket, number)) WITHOUT ROWID;
PRAGMA application_id = 1635021934;
PRAGMA user_version = 1;
)";
static_assert(kApplication == 1635021934 && Database::kVersion == 1);

/// Checks that the file is of our kind, and makes the tables of a new one.
llvm::Error Database::prepare(bool isWritten) {
  auto getNumber = [&](const char *text) -> llvm::Expected<int64_t> {
    Statement statement(handle.get(), text);
    if (statement.step() != SQLITE_ROW)
      return makeError();
    return statement.getInteger();
  };
  auto check = [&]() -> llvm::Expected<bool> {
    llvm::Expected<int64_t> tables =
        getNumber("SELECT count(*) FROM sqlite_master");
    if (!tables)
      return tables.takeError();
    if (*tables == 0)
      return false;
    llvm::Expected<int64_t> application = getNumber("PRAGMA application_id");
    llvm::Expected<int64_t> version = getNumber("PRAGMA user_version");
    if (!application || !version)
      return llvm::joinErrors(application.takeError(), version.takeError());
    if (*application != kApplication)
      return llvm::createStringError("'" + path +
                                     "' is a database of another program; name "
                                     "another file with ATTN_TUNING_DB");
    if (*version != kVersion)
      return llvm::createStringError(
          llvm::formatv("the tuning database '{0}' is of version {1}, and this "
                        "is version {2}; it stays as it is: name another one "
                        "with ATTN_TUNING_DB",
                        path, *version, kVersion));
    return true;
  };
  llvm::Expected<bool> isReady = check();
  if (!isReady || *isReady || !isWritten)
    return isReady.takeError();
  return commit([&]() -> llvm::Error {
    // Another process may have made them meanwhile.
    llvm::Expected<bool> isReady = check();
    if (!isReady || *isReady)
      return isReady.takeError();
    return execute(kSchema);
  });
}

llvm::Expected<Database> Database::openFile(const std::string &path,
                                            bool isWritten,
                                            std::chrono::milliseconds wait) {
  Database database(path);
  sqlite3 *handle = nullptr;
  // Who reads after a writer was killed has to take back what that one had
  // begun, for which the file is opened for writing where it can be.
  int code = sqlite3_open_v2(
      path.c_str(), &handle,
      SQLITE_OPEN_READWRITE | (isWritten ? SQLITE_OPEN_CREATE : 0), nullptr);
  database.handle.reset(handle);
  if (code != SQLITE_OK)
    return database.makeError();
  sqlite3_busy_timeout(handle, int(wait.count()));
  if (!isWritten)
    if (llvm::Error error = database.execute("PRAGMA query_only = 1"))
      return std::move(error);
  if (llvm::Error error = database.prepare(isWritten))
    return std::move(error);
  return std::move(database);
}

llvm::Expected<Database> Database::open(const std::string &path, bool isWritten,
                                        std::chrono::milliseconds wait) {
  if (!isWritten)
    return openFile(path, isWritten, wait);
  llvm::StringRef folder = llvm::sys::path::parent_path(path);
  if (!folder.empty())
    if (std::error_code code = llvm::sys::fs::create_directories(folder))
      return llvm::createStringError(
          "cannot make the folder '" + folder +
          "' of the tuning database: " + code.message());
  return openFile(path, isWritten, wait);
}

llvm::Expected<Database> Database::create() {
  return openFile(":memory:", /*isWritten=*/true, kWait);
}

llvm::Error Database::commit(llvm::function_ref<llvm::Error()> work) {
  if (llvm::Error error = execute("BEGIN IMMEDIATE"))
    return error;
  llvm::Error error = work();
  if (!error)
    error = execute("COMMIT");
  if (error)
    llvm::consumeError(execute("ROLLBACK"));
  return error;
}

//===----------------------------------------------------------------------===//
// Content
//===----------------------------------------------------------------------===//

llvm::Error Database::insert(const Entry &entry, llvm::ArrayRef<Trial> trials) {
  Statement put(handle.get(), "INSERT OR REPLACE INTO entries VALUES"
                              "(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13)");
  addKey(put, entry);
  put.add(entry.schedule)
      .add(entry.threads)
      .add(entry.seconds)
      .add(entry.spread)
      .add(entry.untunedSeconds)
      .add(entry.tried)
      .add(entry.name)
      .add(entry.extents)
      .add(entry.time);
  if (put.step() != SQLITE_DONE)
    return makeError();
  Statement remove(handle.get(), "DELETE FROM trials WHERE " ATTN_KEY);
  addKey(remove, entry);
  if (remove.step() != SQLITE_DONE)
    return makeError();
  for (auto [number, trial] : llvm::enumerate(trials)) {
    Statement add(handle.get(),
                  "INSERT INTO trials VALUES(?1,?2,?3,?4,?5,?6,?7,?8)");
    addKey(add, entry);
    add.add(int64_t(number))
        .add(trial.schedule)
        .add(trial.seconds)
        .add(trial.verdict);
    if (add.step() != SQLITE_DONE)
      return makeError();
  }
  return llvm::Error::success();
}

llvm::Error
Database::put(const Entry &entry, llvm::ArrayRef<Trial> trials,
              llvm::function_ref<llvm::Error(const Entry &old)> check) {
  return commit([&]() -> llvm::Error {
    llvm::Expected<std::vector<Entry>> known =
        check ? getEntries(entry.program) : std::vector<Entry>();
    if (!known)
      return known.takeError();
    for (const Entry &old : *known)
      if (old.hasSameKey(entry))
        if (llvm::Error error = check(old))
          return error;
    return insert(entry, trials);
  });
}

llvm::Error Database::remove(const Entry &entry) {
  return commit([&]() -> llvm::Error {
    for (const char *text : {"DELETE FROM entries WHERE " ATTN_KEY,
                             "DELETE FROM trials WHERE " ATTN_KEY}) {
      Statement statement(handle.get(), text);
      addKey(statement, entry);
      if (statement.step() != SQLITE_DONE)
        return makeError();
    }
    return llvm::Error::success();
  });
}

llvm::Expected<std::vector<Entry>>
Database::getEntries(llvm::StringRef program) const {
  std::vector<Entry> entries;
  // A new file that nobody has written to has no tables.
  Statement tables(handle.get(), "SELECT count(*) FROM sqlite_master");
  if (tables.step() == SQLITE_ROW && tables.getInteger() == 0)
    return entries;
  Statement rows(handle.get(),
                 program.empty() ? "SELECT * FROM entries"
                                 : "SELECT * FROM entries WHERE program = ?1");
  if (!program.empty())
    rows.add(program);
  int code;
  while ((code = rows.step()) == SQLITE_ROW) {
    rows.rewind();
    Entry &entry = entries.emplace_back();
    entry.program = rows.getText();
    entry.device = rows.getText();
    entry.version = rows.getText();
    std::optional<Bucket> bucket = parseBucket(rows.getText());
    if (!bucket)
      return llvm::createStringError("the tuning database '" + path +
                                     "' is damaged (an entry has no bucket); "
                                     "it stays as it is");
    entry.bucket = std::move(*bucket);
    entry.schedule = rows.getText();
    entry.threads = rows.getInteger();
    entry.seconds = rows.getDouble();
    entry.spread = rows.getDouble();
    entry.untunedSeconds = rows.getDouble();
    entry.tried = rows.getInteger();
    entry.name = rows.getText();
    entry.extents = rows.getText();
    entry.time = rows.getInteger();
  }
  if (code != SQLITE_DONE)
    return makeError();
  return entries;
}

llvm::Expected<std::vector<Trial>>
Database::getTrials(const Entry &entry) const {
  std::vector<Trial> trials;
  Statement rows(handle.get(),
                 "SELECT schedule, seconds, verdict FROM trials WHERE " ATTN_KEY
                 " ORDER BY number");
  addKey(rows, entry);
  int code;
  while ((code = rows.step()) == SQLITE_ROW) {
    rows.rewind();
    Trial &trial = trials.emplace_back();
    trial.schedule = rows.getText();
    trial.seconds = rows.getDouble();
    trial.verdict = rows.getText();
  }
  if (code != SQLITE_DONE)
    return makeError();
  return trials;
}

llvm::Expected<size_t> Database::merge(const Database &other) {
  llvm::Expected<std::vector<Entry>> theirs = other.getEntries();
  if (!theirs)
    return theirs.takeError();
  size_t count = 0;
  auto work = [&]() -> llvm::Error {
    llvm::Expected<std::vector<Entry>> ours = getEntries();
    if (!ours)
      return ours.takeError();
    for (const Entry &entry : *theirs) {
      auto known = llvm::find_if(
          *ours, [&](const Entry &mine) { return mine.hasSameKey(entry); });
      if (known != ours->end() && known->time >= entry.time)
        continue;
      llvm::Expected<std::vector<Trial>> trials = other.getTrials(entry);
      if (!trials)
        return trials.takeError();
      if (llvm::Error error = insert(entry, *trials))
        return error;
      ++count;
    }
    return llvm::Error::success();
  };
  if (llvm::Error error = commit(work))
    return std::move(error);
  return count;
}

llvm::Error Database::verify() const {
  Statement check(handle.get(), "PRAGMA integrity_check");
  std::string text = check.step() == SQLITE_ROW ? check.getText() : "";
  if (text.empty())
    return makeError();
  if (text != "ok")
    return llvm::createStringError("the tuning database '" + path +
                                   "' is damaged: " + text);
  llvm::Expected<std::vector<Entry>> entries = getEntries();
  if (!entries)
    return entries.takeError();
  for (const Entry &entry : *entries) {
    bool isRight = entry.program.size() == 64 && !entry.device.empty() &&
                   !entry.version.empty() && std::isfinite(entry.seconds) &&
                   entry.seconds > 0 && entry.untunedSeconds > 0 &&
                   entry.spread >= 0 && entry.threads >= 0 && entry.tried >= 0;
    if (!isRight)
      return llvm::createStringError(
          "the tuning database '" + path + "' has a wrong entry, of '" +
          entry.name + "' for bucket " + formatBucket(entry.bucket));
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

namespace attn::tune {

template <typename Archive>
static void describe(Archive &archive, Trial &trial) {
  archive("schedule", trial.schedule);
  archive("seconds", trial.seconds);
  archive("verdict", trial.verdict);
}

// Where their descriptions are, as these are found by the namespace.
struct Row : Entry {
  std::vector<Trial> trials;
};
struct Content {
  std::vector<Row> entries;
};

template <typename Archive> static void describe(Archive &archive, Row &row) {
  archive("program", row.program);
  archive("device", row.device);
  archive("version", row.version);
  archive("bucket", row.bucket);
  archive("schedule", row.schedule);
  archive("threads", row.threads);
  archive("seconds", row.seconds);
  archive("spread", row.spread);
  archive("untuned_seconds", row.untunedSeconds);
  archive("tried", row.tried);
  archive("name", row.name);
  archive("extents", row.extents);
  archive("time", row.time);
  archive("trials", row.trials);
}

template <typename Archive>
static void describe(Archive &archive, Content &content) {
  archive("entries", content.entries);
}

} // namespace attn::tune

llvm::Expected<json::Value> Database::toJSON(bool asTable) const {
  llvm::Expected<std::vector<Entry>> entries = getEntries();
  if (!entries)
    return entries.takeError();
  // Where something else has won for some extents, what has won for others says
  // how far that goes.
  llvm::StringSet<> wanted;
  for (const Entry &entry : *entries)
    if (!asTable || !entry.schedule.empty() || entry.threads != 0)
      wanted.insert(entry.program);
  Content content;
  for (Entry &entry : *entries) {
    if (!wanted.contains(entry.program))
      continue;
    Row row;
    if (!asTable) {
      llvm::Expected<std::vector<Trial>> trials = getTrials(entry);
      if (!trials)
        return trials.takeError();
      row.trials = std::move(*trials);
    }
    static_cast<Entry &>(row) = std::move(entry);
    content.entries.push_back(std::move(row));
  }
  return writeJSON(content, kVersion);
}

static llvm::Expected<Content> readContent(const json::Value &value) {
  Content content;
  if (llvm::Error error = readJSON(value, content, Database::kVersion,
                                   "database", "tuning database"))
    return std::move(error);
  return content;
}

llvm::Expected<std::vector<Entry>> tune::readEntries(const json::Value &value) {
  llvm::Expected<Content> content = readContent(value);
  if (!content)
    return content.takeError();
  return std::vector<Entry>(content->entries.begin(), content->entries.end());
}

llvm::Expected<Database> Database::fromJSON(const json::Value &value) {
  llvm::Expected<Content> content = readContent(value);
  if (!content)
    return content.takeError();
  llvm::Expected<Database> database = create();
  if (!database)
    return database;
  auto work = [&]() -> llvm::Error {
    for (const Row &row : content->entries)
      if (llvm::Error error = database->insert(row, row.trials))
        return error;
    return llvm::Error::success();
  };
  if (llvm::Error error = database->commit(work))
    return std::move(error);
  return database;
}

llvm::Expected<Database> Database::read(const std::string &path) {
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file)
    return llvm::createStringError("cannot read '" + path +
                                   "': " + file.getError().message());
  if (!(*file)->getBuffer().ltrim().starts_with("{"))
    return open(path, /*isWritten=*/false);
  llvm::Expected<json::Value> value = parseJSON((*file)->getBuffer());
  if (!value)
    return llvm::createStringError("cannot read '" + path +
                                   "': " + llvm::toString(value.takeError()));
  llvm::Expected<Database> database = fromJSON(*value);
  if (!database)
    return llvm::createStringError(
        "cannot read '" + path + "': " + llvm::toString(database.takeError()));
  return database;
}
