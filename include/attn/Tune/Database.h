//===- Database.h - What was measured to be fastest -------------*- C++ -*-===//
//
// Schedules that a tuner has found, by program, device and extents. A database
// is a file of SQLite: any number of processes read and write it at a time, and
// one that is killed while it writes leaves what was there before. What we ship
// is read-only and part of the library.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TUNE_DATABASE_H
#define ATTN_TUNE_DATABASE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

struct sqlite3;

namespace attn::tune {

/// Extents that are about as large: of each, twice its binary logarithm,
/// rounded, so that a step is some 40 %; -1 for 0.
using Bucket = std::vector<int64_t>;
Bucket getBucket(llvm::ArrayRef<int64_t> extents);
/// "0,20,24"; empty for no extents.
std::string formatBucket(llvm::ArrayRef<int64_t> bucket);
std::optional<Bucket> parseBucket(llvm::StringRef text);

/// What is known of one program on one device for one bucket.
struct Entry {
  /// The hash of the program at the online level (attn/JIT/TuningSpace.h).
  std::string program;
  /// "cuda: NVIDIA H200, 132 SMs".
  std::string device;
  /// The driver, if any, and the compiler with a hash of its sources:
  /// "driver 13.0, attn 0.1.0 (0123456789ab)".
  std::string version;
  Bucket bucket;
  /// "" for what the compiler chooses.
  std::string schedule;
  /// The threads of a CPU, 0 for all.
  int64_t threads = 0;
  /// The median time of a run, the spread of the runs between their quartiles,
  /// and the median without tuning, measured in turn.
  double seconds = 0, spread = 0, untunedSeconds = 0;
  /// How many candidates were measured beside the compiler's choice.
  int64_t tried = 0;
  /// For people: the function, and the extents that were measured.
  std::string name, extents;
  /// In seconds since 1970.
  int64_t time = 0;

  bool hasSameKey(const Entry &other) const;
};

/// What came of one candidate.
struct Trial {
  std::string schedule;
  /// 0 if it did not run.
  double seconds = 0;
  /// Why it counts no more, "" if it does.
  std::string verdict;
};

class Database {
public:
  /// The version of files. One of another version is an error to open.
  static constexpr int64_t kVersion = 1;
  static constexpr std::chrono::milliseconds kWait{60000};

  /// Opens a file for reading, or for writing too, which makes it. An error for
  /// a file that is none of ours, is of another version, or is damaged. `wait`
  /// is how long each use waits for other processes: of 64 that write one entry
  /// each, the last one waits for long.
  static llvm::Expected<Database> open(const std::string &path, bool isWritten,
                                       std::chrono::milliseconds wait = kWait);
  /// A database in memory.
  static llvm::Expected<Database> create();
  /// Reads a file that is a database, or the text that toJSON has made of one.
  static llvm::Expected<Database> read(const std::string &path);

  /// Adds an entry, or replaces that of the same key, with the trials that have
  /// led to it: all or nothing. An error of `check`, which is given the one
  /// that would be replaced and sees what other processes have written before,
  /// leaves that as it is.
  llvm::Error
  put(const Entry &entry, llvm::ArrayRef<Trial> trials,
      llvm::function_ref<llvm::Error(const Entry &old)> check = nullptr);
  llvm::Error remove(const Entry &entry);

  /// All entries in the order of their keys, or those of a program.
  llvm::Expected<std::vector<Entry>>
  getEntries(llvm::StringRef program = "") const;
  llvm::Expected<std::vector<Trial>> getTrials(const Entry &entry) const;

  /// Takes over entries with their trials, those of known keys if they are
  /// newer, and tells how many: all or nothing.
  llvm::Expected<size_t> merge(const Database &other);

  /// The whole content, and the inverse. `asTable` leaves out what a table that
  /// ships has no use for: trials, and programs for which the compiler's choice
  /// has won everywhere.
  llvm::Expected<llvm::json::Value> toJSON(bool asTable = false) const;
  static llvm::Expected<Database> fromJSON(const llvm::json::Value &value);

  /// Checks the file and each entry.
  llvm::Error verify() const;

  const std::string &getPath() const { return path; }

private:
  struct Closer {
    void operator()(sqlite3 *handle) const;
  };
  explicit Database(std::string path) : path(std::move(path)) {}
  static llvm::Expected<Database> openFile(const std::string &path,
                                           bool isWritten,
                                           std::chrono::milliseconds wait);
  llvm::Error makeError() const;
  llvm::Error execute(const char *statement) const;
  llvm::Error prepare(bool isWritten);
  llvm::Error insert(const Entry &entry, llvm::ArrayRef<Trial> trials);
  llvm::Error commit(llvm::function_ref<llvm::Error()> work);

  std::string path;
  std::unique_ptr<sqlite3, Closer> handle;
};

/// The entries of what Database::toJSON has made, without their trials.
llvm::Expected<std::vector<Entry>> readEntries(const llvm::json::Value &value);

/// The file of the user: ATTN_TUNING_DB, otherwise
/// $XDG_DATA_HOME/attn/tuning.db, otherwise ~/.local/share/attn/tuning.db. ""
/// if ATTN_TUNING_DB is empty, "0" or "off", or without a home.
std::string getUserDatabasePath();

/// The table that ships with us, or what ATTN_TUNING_TABLE names in its place,
/// a database or an export of one. It may be empty, and is if it cannot be
/// read.
struct Shipped {
  std::vector<Entry> entries;
  /// Why it cannot be read, or "".
  std::string error;
};
const Shipped &getShipped();

/// What decides on a schedule: an entry for the same extents, of this version
/// or of another one, an entry for extents near by, or the model of costs.
enum class Source { Exact, OtherVersion, Nearest, Model };

/// The entries of a program on any device, the user's before the shipped ones.
/// What is wrong with a file is no error: `note` tells what, and the rest goes
/// on without it.
std::vector<Entry> findEntries(llvm::StringRef program, std::string &note);

/// The one of these entries for a bucket: that of the same bucket, otherwise
/// that of the nearest, up to 4 steps away in all; null if there is none. Of
/// several, that of the same version.
const Entry *chooseEntry(llvm::ArrayRef<Entry> entries,
                         llvm::ArrayRef<int64_t> bucket,
                         llvm::StringRef version, Source &source);

} // namespace attn::tune

#endif // ATTN_TUNE_DATABASE_H
