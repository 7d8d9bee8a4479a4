//===- Lookup.cpp - Which entry a call takes ------------------------------===//

#include "attn/Support/Files.h"
#include "attn/Support/JSON.h"
#include "attn/Tune/Database.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"

using namespace attn;
using namespace attn::tune;

std::string tune::getUserDatabasePath() {
  return getUserPath("ATTN_TUNING_DB", "XDG_DATA_HOME", ".local/share",
                     "tuning.db");
}

static constexpr llvm::StringLiteral kShipped =
#include "Tuned.inc"
    ;

static llvm::Expected<std::vector<Entry>> readShipped() {
  const char *named = std::getenv("ATTN_TUNING_TABLE");
  if (named && *named) {
    llvm::Expected<Database> database = Database::read(named);
    return database ? database->getEntries() : database.takeError();
  }
  llvm::Expected<llvm::json::Value> value = parseJSON(kShipped);
  return value ? readEntries(*value) : value.takeError();
}

const Shipped &tune::getShipped() {
  static const Shipped shipped = [] {
    Shipped shipped;
    if (llvm::Expected<std::vector<Entry>> entries = readShipped())
      shipped.entries = std::move(*entries);
    else
      shipped.error = llvm::toString(entries.takeError());
    return shipped;
  }();
  return shipped;
}

std::vector<Entry> tune::findEntries(llvm::StringRef program,
                                     std::string &note) {
  // Each compilation looks here: what it may gain is not worth a long wait.
  constexpr std::chrono::milliseconds patience(200);
  const std::string rest = "; kernels run with what the compiler chooses";
  std::vector<Entry> found;
  std::string file = getUserDatabasePath();
  if (!file.empty() && llvm::sys::fs::exists(file)) {
    auto read = [&]() -> llvm::Expected<std::vector<Entry>> {
      llvm::Expected<Database> database =
          Database::open(file, /*isWritten=*/false, patience);
      if (!database)
        return database.takeError();
      return database->getEntries(program);
    };
    if (llvm::Expected<std::vector<Entry>> entries = read())
      found = std::move(*entries);
    else
      note = llvm::toString(entries.takeError()) + rest;
  }
  const Shipped &shipped = getShipped();
  llvm::copy_if(shipped.entries, std::back_inserter(found),
                [&](const Entry &entry) { return entry.program == program; });
  // No reason not to compile.
  if (note.empty() && !shipped.error.empty())
    note = shipped.error + rest;
  return found;
}

const Entry *tune::chooseEntry(llvm::ArrayRef<Entry> entries,
                               llvm::ArrayRef<int64_t> bucket,
                               llvm::StringRef version, Source &source) {
  // Four times as long is as far as a measurement says something.
  constexpr int64_t mostSteps = 4;
  const Entry *best = nullptr;
  std::pair<int64_t, bool> bestKey;
  for (const Entry &entry : entries) {
    if (entry.bucket.size() != bucket.size())
      continue;
    int64_t steps = 0;
    for (auto [a, b] : llvm::zip_equal(entry.bucket, bucket))
      steps += std::abs(a - b);
    std::pair<int64_t, bool> key(steps, entry.version != version);
    if (steps > mostSteps || (best && key >= bestKey))
      continue;
    best = &entry;
    bestKey = key;
  }
  source = !best                ? Source::Model
           : bestKey.first != 0 ? Source::Nearest
           : bestKey.second     ? Source::OtherVersion
                                : Source::Exact;
  return best;
}
