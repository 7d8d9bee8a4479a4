//===- Ptxas.cpp - NVIDIA's assembler -------------------------------------===//

#include "attn/Runtime/Cuda/Ptxas.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

using namespace attn;
using namespace attn::cuda;

//===----------------------------------------------------------------------===//
// The report
//===----------------------------------------------------------------------===//

/// The number before `unit` in a list such as "8 registers, 16 bytes smem".
static int32_t parseAmount(llvm::StringRef list, llvm::StringRef unit) {
  llvm::SmallVector<llvm::StringRef> items;
  list.split(items, ',');
  for (llvm::StringRef item : items) {
    item = item.trim();
    item.consume_front("Used ");
    int32_t amount = 0;
    if (!item.consumeInteger(10, amount) && item.trim() == unit)
      return amount;
  }
  return 0;
}

/// Takes what a line without a prefix tells of a function's stack.
static bool parseStackLine(llvm::StringRef line, PtxasReport &report) {
  if (!line.contains("bytes stack frame"))
    return false;
  auto grow = [&](int32_t &most, llvm::StringRef unit) {
    most = std::max(most, parseAmount(line, unit));
  };
  grow(report.resources.stackBytes, "bytes stack frame");
  grow(report.spillStoreBytes, "bytes spill stores");
  grow(report.spillLoadBytes, "bytes spill loads");
  return true;
}

/// `isOf` says whether numbers are those of a function that counts.
static bool parseInfo(llvm::StringRef text, PtxasReport &report, bool isOf) {
  if (text.starts_with("Used ") && text.contains(" registers")) {
    if (!isOf)
      return true;
    Resources &resources = report.resources;
    resources.registers =
        std::max(resources.registers, parseAmount(text, "registers"));
    resources.sharedBytes =
        std::max(resources.sharedBytes, parseAmount(text, "bytes smem"));
    return true;
  }
  return text.starts_with("Compiling entry function") ||
         text.starts_with("Function properties for") ||
         text.starts_with("Compile time") || text.ends_with("bytes gmem") ||
         text.contains(" bytes gmem, ");
}

/// "(C7510) Potential Performance Loss: ..."
static std::string takeCode(llvm::StringRef &text) {
  llvm::StringRef rest = text;
  if (!rest.consume_front("(C"))
    return "";
  auto [digits, after] = rest.split(')');
  if (digits.empty() || after.empty() || !llvm::all_of(digits, llvm::isDigit))
    return "";
  text = after.trim();
  return ("C" + digits).str();
}

/// Takes "ptxas FILE, line N; SEVERITY : TEXT", with or without the place.
static bool parseMessage(llvm::StringRef line, PtxasReport &report, bool isOf) {
  if (!line.consume_front("ptxas "))
    return false;
  auto [head, text] = line.split(" :");
  head = head.rtrim();
  text = text.trim();
  // The severity is the last word, after the place if there is one.
  auto [place, word] = head.rsplit("; ");
  if (word.empty())
    std::swap(place, word);
  std::optional<PtxasMessage::Severity> severity =
      llvm::StringSwitch<std::optional<PtxasMessage::Severity>>(word)
          .Case("info", PtxasMessage::Info)
          .Case("warning", PtxasMessage::Warning)
          .Cases({"error", "fatal"}, PtxasMessage::Error)
          .Default(std::nullopt);
  if (!severity)
    return false;
  if (*severity == PtxasMessage::Info && parseInfo(text, report, isOf))
    return true;
  std::string code = takeCode(text);
  // The file is a temporary one.
  size_t number = place.rfind(", line ");
  std::string prefix;
  if (number != llvm::StringRef::npos)
    prefix = (place.drop_front(number + 2) + ": ").str();
  report.messages.push_back({*severity, std::move(code), prefix + text.str()});
  return true;
}

PtxasReport cuda::parsePtxasOutput(llvm::StringRef output,
                                   llvm::StringRef entry) {
  PtxasReport report, ignored;
  llvm::SmallVector<llvm::StringRef> lines;
  output.split(lines, '\n');
  bool isOf = true;
  for (llvm::StringRef line : lines) {
    line = line.trim();
    auto [before, function] = line.split("Function properties for ");
    if (!function.empty())
      isOf = entry.empty() || function == entry;
    if (!line.empty() && !parseMessage(line, report, isOf) &&
        !parseStackLine(line, isOf ? report : ignored))
      report.messages.push_back({PtxasMessage::Info, "", line.str()});
  }
  report.resources.spillBytes = report.spillStoreBytes + report.spillLoadBytes;
  return report;
}

bool cuda::isAcceptable(const PtxasReport &report, int64_t spillBytes,
                        std::string *reason) {
  auto explain = [&](const llvm::Twine &text) {
    if (reason)
      *reason = text.str();
  };
  if (report.resources.spillBytes != 0)
    explain("ptxas spills registers: " + llvm::Twine(report.spillStoreBytes) +
            " bytes of stores and " + llvm::Twine(report.spillLoadBytes) +
            " bytes of loads");
  if (report.resources.spillBytes > spillBytes)
    return false;
  for (const PtxasMessage &message : report.messages)
    if (llvm::StringRef(message.code).starts_with("C75") &&
        message.code.size() == 5 && message.code != "C7519") {
      explain("ptxas says " + message.code + ": " + message.text);
      return false;
    }
  return true;
}

//===----------------------------------------------------------------------===//
// Running it
//===----------------------------------------------------------------------===//

/// Makes a temporary file, which `remover` removes at the end.
static llvm::Expected<std::string>
createScratchFile(llvm::StringRef suffix, llvm::FileRemover &remover,
                  llvm::StringRef contents = "") {
  llvm::SmallString<128> path;
  int fd = -1;
  if (std::error_code code =
          llvm::sys::fs::createTemporaryFile("attn-ptxas", suffix, fd, path))
    return llvm::createStringError(
        code, "cannot make a temporary file for ptxas: " + code.message());
  remover.setFile(path);
  llvm::raw_fd_ostream stream(fd, /*shouldClose=*/true);
  stream << contents;
  stream.close();
  if (std::error_code code = stream.error()) {
    // The stream would end the process otherwise.
    stream.clear_error();
    return llvm::createStringError(code, "cannot write " + path.str() + ": " +
                                             code.message());
  }
  return path.str().str();
}

static llvm::Expected<std::string> readFile(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false,
                                            /*IsVolatile=*/true);
  if (!buffer)
    return llvm::createStringError(buffer.getError(),
                                   "cannot read " + path + ": " +
                                       buffer.getError().message());
  return (*buffer)->getBuffer().str();
}

/// Waits for a program. LLVM's own limit of time takes the alarm of the whole
/// process, which may be another thread's or the host program's.
static llvm::Expected<int> wait(llvm::sys::ProcessInfo process,
                                llvm::StringRef path, double timeoutSeconds) {
  using Clock = std::chrono::steady_clock;
  auto start = Clock::now();
  auto pause = std::chrono::microseconds(200);
  std::string text;
  while (true) {
    llvm::sys::ProcessInfo now =
        llvm::sys::Wait(process, /*SecondsToWait=*/0, &text);
    if (now.Pid != 0) {
      if (now.ReturnCode < 0)
        return llvm::createStringError(
            std::make_error_code(std::errc::io_error),
            path + " crashed" + (text.empty() ? "" : ": ") + text);
      return now.ReturnCode;
    }
    std::chrono::duration<double> elapsed = Clock::now() - start;
    if (elapsed.count() > timeoutSeconds)
      break;
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(5000));
  }
  ::kill(process.Pid, SIGKILL);
  llvm::sys::Wait(process, /*SecondsToWait=*/std::nullopt, &text);
  return llvm::createStringError(
      std::make_error_code(std::errc::timed_out),
      path + " did not finish within " +
          llvm::Twine(static_cast<int64_t>(timeoutSeconds)) + " seconds");
}

/// Runs a program with its output in a file.
static llvm::Expected<int> runProgram(llvm::StringRef path,
                                      llvm::ArrayRef<llvm::StringRef> arguments,
                                      llvm::StringRef outputFile,
                                      double timeoutSeconds) {
  std::string text;
  bool failed = false;
  llvm::sys::ProcessInfo process = llvm::sys::ExecuteNoWait(
      path, arguments, /*Env=*/std::nullopt,
      /*Redirects=*/{llvm::StringRef(""), outputFile, outputFile},
      /*MemoryLimit=*/0, &text, &failed);
  if (failed || process.Pid == 0)
    return llvm::createStringError(std::make_error_code(std::errc::io_error),
                                   "cannot run " + path +
                                       (text.empty() ? "" : ": ") + text);
  return wait(process, path, timeoutSeconds);
}

llvm::Expected<Ptxas> Ptxas::find() {
  const char *named = std::getenv("ATTN_PTXAS");
  if (named && *named) {
    llvm::ErrorOr<std::string> path = llvm::sys::findProgramByName(named);
    if (!path || !llvm::sys::fs::can_execute(*path))
      return llvm::createStringError(
          std::make_error_code(std::errc::no_such_file_or_directory),
          llvm::Twine("expects ATTN_PTXAS to name a program, but got '") +
              named + "'");
    return Ptxas(*path);
  }
  if (llvm::ErrorOr<std::string> path = llvm::sys::findProgramByName("ptxas"))
    return Ptxas(*path);
  std::string home;
  if (const char *value = std::getenv("CUDA_HOME"))
    home = value;
  for (const std::string &dir : {home, std::string("/usr/local/cuda")}) {
    if (dir.empty())
      continue;
    llvm::SmallString<128> path(dir);
    llvm::sys::path::append(path, "bin", "ptxas");
    if (llvm::sys::fs::can_execute(path))
      return Ptxas(path.str().str());
  }
  return llvm::createStringError(
      std::make_error_code(std::errc::no_such_file_or_directory),
      "expects ptxas in PATH, $CUDA_HOME/bin or /usr/local/cuda/bin, but found "
      "none; install the CUDA toolkit, or set ATTN_PTXAS");
}

llvm::Expected<std::string> Ptxas::getVersion() const {
  llvm::FileRemover remover;
  llvm::Expected<std::string> log = createScratchFile("log", remover);
  if (!log)
    return log.takeError();
  llvm::Expected<int> status =
      runProgram(path, {path, "--version"}, *log, /*timeoutSeconds=*/60);
  if (!status)
    return status.takeError();
  llvm::Expected<std::string> output = readFile(*log);
  if (!output)
    return output.takeError();
  llvm::StringRef text = llvm::StringRef(*output).trim();
  if (*status != 0 || text.empty())
    return llvm::createStringError(
        std::make_error_code(std::errc::io_error),
        "expects " + path + " to tell its version, but got status " +
            llvm::Twine(*status) + " and '" + text + "'");
  size_t end = text.rfind('\n');
  return (end == llvm::StringRef::npos ? text : text.drop_front(end + 1)).str();
}

/// What went wrong, from the messages: errors if there are any.
static std::string getReason(const PtxasReport &report) {
  std::string all, errors;
  for (const PtxasMessage &message : report.messages) {
    std::string &text = message.severity == PtxasMessage::Error ? errors : all;
    text += "\n  " + message.text;
  }
  return errors.empty() ? all : errors;
}

llvm::Expected<PtxasResult> Ptxas::compile(llvm::StringRef ptx,
                                           const PtxasOptions &options) const {
  llvm::FileRemover removers[3];
  llvm::Expected<std::string> source =
      createScratchFile("ptx", removers[0], ptx);
  if (!source)
    return source.takeError();
  llvm::Expected<std::string> binary = createScratchFile("cubin", removers[1]);
  if (!binary)
    return binary.takeError();
  llvm::Expected<std::string> log = createScratchFile("log", removers[2]);
  if (!log)
    return log.takeError();

  std::string arch = "-arch=" + options.chip;
  llvm::SmallVector<llvm::StringRef> arguments = {path, arch, "-v"};
  arguments.append(options.arguments.begin(), options.arguments.end());
  arguments.append({*source, "-o", *binary});
  llvm::Expected<int> status =
      runProgram(path, arguments, *log, options.timeoutSeconds);
  if (!status)
    return status.takeError();
  llvm::Expected<std::string> output = readFile(*log);
  if (!output)
    return output.takeError();
  PtxasResult result;
  result.report = parsePtxasOutput(*output, options.entry);
  if (*status != 0)
    return llvm::createStringError(
        std::make_error_code(std::errc::invalid_argument),
        path + " rejects the code (status " + llvm::Twine(*status) +
            "):" + getReason(result.report));
  llvm::Expected<std::string> cubin = readFile(*binary);
  if (!cubin)
    return cubin.takeError();
  if (cubin->empty())
    return llvm::createStringError(std::make_error_code(std::errc::io_error),
                                   path + " has written no code");
  result.cubin = std::move(*cubin);
  result.log = std::move(*output);
  return result;
}
