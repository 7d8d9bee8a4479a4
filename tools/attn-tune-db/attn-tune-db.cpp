//===- attn-tune-db.cpp - Look after tuning databases ---------------------===//

#include "attn/Support/Files.h"
#include "attn/Tune/Database.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>

using namespace attn::tune;
namespace cl = llvm::cl;
using llvm::Error;
using llvm::Expected;

static cl::OptionCategory category("Options of attn-tune-db");
static cl::opt<std::string>
    databasePath("db", cl::value_desc("file"),
                 cl::desc("The database, instead of the user's: "
                          "ATTN_TUNING_DB, or $XDG_DATA_HOME/attn/tuning.db"),
                 cl::cat(category), cl::sub(cl::SubCommand::getAll()));

static cl::SubCommand listCommand("list", "Print the entries");
static cl::opt<std::string>
    listProgram("program", cl::value_desc("name or hash"),
                cl::desc("Only of this function, or of the program whose hash "
                         "begins so"),
                cl::sub(listCommand), cl::cat(category));
static cl::opt<bool> listTrials("trials",
                                cl::desc("With what came of each candidate"),
                                cl::sub(listCommand), cl::cat(category));

static cl::SubCommand pruneCommand("prune", "Remove entries");
static cl::opt<std::string>
    pruneProgram("program", cl::value_desc("name or hash"),
                 cl::desc("Of this function, or of the program whose hash "
                          "begins so"),
                 cl::sub(pruneCommand), cl::cat(category));
static cl::opt<std::string> pruneVersion(
    "other-than", cl::value_desc("version"),
    cl::desc("Of another version of driver and compiler than this"),
    cl::sub(pruneCommand), cl::cat(category));
static cl::opt<unsigned> pruneDays("older-than", cl::value_desc("days"),
                                   cl::desc("That are older"),
                                   cl::sub(pruneCommand), cl::cat(category));
static cl::opt<bool> pruneAll("all", cl::desc("All of them"),
                              cl::sub(pruneCommand), cl::cat(category));

static cl::SubCommand diffCommand("diff",
                                  "Print in what another database differs");
static cl::SubCommand verifyCommand("verify", "Check the file and each entry");
static cl::SubCommand exportCommand("export", "Write the entries as JSON");
static cl::opt<bool> exportTable(
    "table",
    cl::desc("As a table that ships: without what came of each candidate, and "
             "without programs for which nothing beats the compiler's choice"),
    cl::sub(exportCommand), cl::cat(category));
static cl::SubCommand importCommand(
    "import", "Take over the entries of a database or of an export; of two for "
              "the same key the newer one stays");
static cl::opt<std::string> otherFile(cl::Positional, cl::Required,
                                      cl::desc("FILE"), cl::sub(diffCommand),
                                      cl::sub(importCommand),
                                      cl::cat(category));
static cl::opt<std::string> exportFile(cl::Positional, cl::init("-"),
                                       cl::desc("[FILE]"),
                                       cl::sub(exportCommand),
                                       cl::cat(category));

static Expected<Database> openDatabase(bool isWritten) {
  std::string path =
      databasePath.empty() ? getUserDatabasePath() : databasePath;
  if (path.empty())
    return llvm::createStringError(
        "expects a database, but ATTN_TUNING_DB is off; name one with --db");
  if (!llvm::sys::fs::exists(path) && !isWritten)
    return llvm::createStringError("there is no tuning database '" + path +
                                   "'");
  return Database::open(path, isWritten);
}

static std::string describe(const Entry &entry) {
  return llvm::formatv("{0} {1} {2} on {3}, {4}", entry.program.substr(0, 12),
                       entry.name, entry.extents, entry.device, entry.version);
}

static std::string describeResult(const Entry &entry) {
  std::string text =
      entry.schedule.empty() ? "what the compiler chooses" : entry.schedule;
  if (entry.threads != 0)
    text += llvm::formatv(", {0} threads", entry.threads);
  return text +
         llvm::formatv(": {0:F1} us +- {1:F1}, untuned {2:F1}, {3} tried",
                       1e6 * entry.seconds, 1e6 * entry.spread / 2,
                       1e6 * entry.untunedSeconds, entry.tried)
             .str();
}

static bool isOf(const Entry &entry, llvm::StringRef program) {
  return entry.name == program ||
         (program.size() >= 6 &&
          llvm::StringRef(entry.program).starts_with(program));
}

static Error list() {
  Expected<Database> database = openDatabase(/*isWritten=*/false);
  if (!database)
    return database.takeError();
  Expected<std::vector<Entry>> entries = database->getEntries();
  if (!entries)
    return entries.takeError();
  for (const Entry &entry : *entries) {
    if (!listProgram.empty() && !isOf(entry, listProgram))
      continue;
    llvm::outs() << describe(entry) << "\n  " << describeResult(entry) << '\n';
    if (!listTrials)
      continue;
    Expected<std::vector<Trial>> trials = database->getTrials(entry);
    if (!trials)
      return trials.takeError();
    for (const Trial &trial : *trials) {
      llvm::outs() << "    " << trial.schedule << ": ";
      if (trial.seconds > 0)
        llvm::outs() << llvm::formatv("{0:F1} us", 1e6 * trial.seconds);
      llvm::outs() << (trial.seconds > 0 && !trial.verdict.empty() ? ", " : "")
                   << trial.verdict << '\n';
    }
  }
  return Error::success();
}

static Error prune() {
  if (!pruneAll && pruneProgram.empty() && pruneVersion.empty() &&
      !pruneDays.getNumOccurrences())
    return llvm::createStringError("expects --program, --other-than, "
                                   "--older-than or --all to prune by");
  Expected<Database> database = openDatabase(/*isWritten=*/true);
  if (!database)
    return database.takeError();
  Expected<std::vector<Entry>> entries = database->getEntries();
  if (!entries)
    return entries.takeError();
  int64_t now = std::chrono::duration_cast<std::chrono::seconds>(
                    std::chrono::system_clock::now().time_since_epoch())
                    .count();
  size_t count = 0;
  for (const Entry &entry : *entries) {
    bool goes = (pruneProgram.empty() || isOf(entry, pruneProgram)) &&
                (pruneVersion.empty() || entry.version != pruneVersion) &&
                (!pruneDays.getNumOccurrences() ||
                 now - entry.time > int64_t(pruneDays) * 24 * 60 * 60);
    if (!goes)
      continue;
    if (Error error = database->remove(entry))
      return error;
    ++count;
  }
  llvm::outs() << llvm::formatv("removed {0} of {1} entries\n", count,
                                entries->size());
  return Error::success();
}

static Error diff(bool &isSame) {
  Expected<Database> ours = openDatabase(/*isWritten=*/false);
  if (!ours)
    return ours.takeError();
  Expected<Database> theirs = Database::read(otherFile);
  if (!theirs)
    return theirs.takeError();
  Expected<std::vector<Entry>> a = ours->getEntries(), b = theirs->getEntries();
  if (!a || !b)
    return llvm::joinErrors(a.takeError(), b.takeError());
  auto find = [](llvm::ArrayRef<Entry> entries, const Entry &entry) {
    return llvm::find_if(
        entries, [&](const Entry &other) { return other.hasSameKey(entry); });
  };
  for (const Entry &entry : *a) {
    auto other = find(*b, entry);
    bool isGone = other == llvm::ArrayRef<Entry>(*b).end();
    if (!isGone && other->schedule == entry.schedule &&
        other->threads == entry.threads)
      continue;
    isSame = false;
    llvm::outs() << describe(entry) << "\n- " << describeResult(entry) << '\n';
    if (!isGone)
      llvm::outs() << "+ " << describeResult(*other) << '\n';
  }
  for (const Entry &entry : *b)
    if (find(*a, entry) == llvm::ArrayRef<Entry>(*a).end()) {
      isSame = false;
      llvm::outs() << describe(entry) << "\n+ " << describeResult(entry)
                   << '\n';
    }
  return Error::success();
}

static Error verify() {
  Expected<Database> database = openDatabase(/*isWritten=*/false);
  if (!database)
    return database.takeError();
  if (Error error = database->verify())
    return error;
  Expected<std::vector<Entry>> entries = database->getEntries();
  if (!entries)
    return entries.takeError();
  llvm::outs() << llvm::formatv("{0} entries, all right\n", entries->size());
  return Error::success();
}

static Error exportEntries() {
  Expected<Database> database = openDatabase(/*isWritten=*/false);
  if (!database)
    return database.takeError();
  Expected<llvm::json::Value> value = database->toJSON(exportTable);
  if (!value)
    return value.takeError();
  return attn::writeFile(exportFile, llvm::formatv("{0:1}\n", *value).str());
}

static Error importEntries() {
  Expected<Database> theirs = Database::read(otherFile);
  if (!theirs)
    return theirs.takeError();
  if (Error error = theirs->verify())
    return error;
  Expected<Database> ours = openDatabase(/*isWritten=*/true);
  if (!ours)
    return ours.takeError();
  Expected<size_t> count = ours->merge(*theirs);
  if (!count)
    return count.takeError();
  llvm::outs() << llvm::formatv("took over {0} entries\n", *count);
  return Error::success();
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  for (cl::SubCommand *command : cl::getRegisteredSubcommands())
    cl::HideUnrelatedOptions(category, *command);
  cl::ParseCommandLineOptions(argc, argv,
                              "look after the database of tuned schedules\n");
  bool isSame = true;
  auto run = [&]() -> Error {
    if (listCommand)
      return list();
    if (pruneCommand)
      return prune();
    if (diffCommand)
      return diff(isSame);
    if (verifyCommand)
      return verify();
    if (exportCommand)
      return exportEntries();
    if (importCommand)
      return importEntries();
    return llvm::createStringError("expects a command: list, prune, diff, "
                                   "verify, export or import");
  };
  if (Error error = run()) {
    llvm::errs() << "attn-tune-db: error: " << llvm::toString(std::move(error))
                 << '\n';
    return 2;
  }
  return isSame ? 0 : 1;
}
