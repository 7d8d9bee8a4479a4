//===- Program.cpp - The program that attn-run is given -------------------===//

#include "Program.h"
#include "attn/JIT/Differentiate.h"
#include "attn/Pipelines/RegisterDialects.h"
#include "attn/Support/Tensor.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SourceMgr.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace attn;
using namespace attn::cli;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

const cuda::LaunchInfo &
cli::getFirstAttention(const cuda::CudaProgram &program) {
  auto found =
      llvm::find_if(program.launches, [](const cuda::LaunchInfo &launch) {
        return launch.variants.front().hasTiles();
      });
  return found == program.launches.end() ? program.launches.front() : *found;
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

std::string cli::suggestName(StringRef name,
                             llvm::ArrayRef<std::string> names) {
  // A third of the letters may be wrong.
  unsigned best = name.size() / 3 + 1;
  StringRef nearest;
  for (StringRef candidate : names) {
    unsigned distance = name.edit_distance(candidate, true, best);
    if (distance <= best &&
        distance < std::max(name.size(), candidate.size()) &&
        (nearest.empty() || distance < best)) {
      best = distance;
      nearest = candidate;
    }
  }
  if (nearest.empty())
    return "";
  return ("; did you mean '" + nearest + "'?").str();
}

std::string cli::quoteNames(llvm::ArrayRef<std::string> names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i != 0)
      text += i + 1 == names.size() ? " and " : ", ";
    text += "'" + names[i] + "'";
  }
  return text;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Far above any program, and far below what memory holds of a parsed one.
static constexpr size_t kMaxProgramSize = size_t(256) << 20;

static Error makeTooLarge() {
  return llvm::createStringError("expects a program of at most " +
                                 formatByteCount(kMaxProgramSize));
}

/// Reads what is in an open file, which may be a pipe.
static Expected<std::string> readAll(int fd) {
  struct stat status;
  if (::fstat(fd, &status) != 0)
    return llvm::createStringError(llvm::sys::StrError(errno));
  if (S_ISREG(status.st_mode) && size_t(status.st_size) > kMaxProgramSize)
    return makeTooLarge();
  std::string text;
  constexpr size_t chunk = size_t(1) << 20;
  for (size_t size = 0;;) {
    text.resize(size + chunk);
    ssize_t got =
        llvm::sys::RetryAfterSignal(-1, ::read, fd, text.data() + size, chunk);
    if (got < 0)
      return llvm::createStringError(llvm::sys::StrError(errno));
    size += got;
    if (size > kMaxProgramSize)
      return makeTooLarge();
    if (got == 0) {
      text.resize(size);
      return std::move(text);
    }
  }
}

static Expected<std::string> readText(const std::string &path) {
  if (path == "-")
    return readAll(STDIN_FILENO);
  int fd = llvm::sys::RetryAfterSignal(-1, ::open, path.c_str(),
                                       O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return llvm::createStringError(llvm::sys::StrError(errno));
  auto closeFile = llvm::scope_exit([fd] { ::close(fd); });
  return readAll(fd);
}

/// Checks that brackets are not nested so deeply that the parser, which
/// recurses into them, would run out of stack.
static Error checkNesting(StringRef text) {
  constexpr unsigned maxDepth = 256;
  unsigned depth = 0;
  StringRef rest = text;
  while (!rest.empty()) {
    if (rest.starts_with("//")) {
      rest = rest.drop_until([](char c) { return c == '\n'; });
      continue;
    }
    char c = rest.front();
    // An arrow or a comparison is no bracket.
    bool isPair = rest.starts_with("->") || rest.starts_with(">=");
    rest = rest.drop_front(isPair ? 2 : 1);
    if (isPair)
      continue;
    if (c == '"') {
      while (!rest.empty() && rest.front() != '"' && rest.front() != '\n')
        rest = rest.drop_front(rest.front() == '\\' && rest.size() > 1 ? 2 : 1);
      rest = rest.drop_front(rest.empty() ? 0 : 1);
    } else if (StringRef("([{<").contains(c)) {
      if (++depth > maxDepth)
        return llvm::createStringError(llvm::formatv(
            "expects at most {0} nested brackets, but got more in line {1}",
            maxDepth, text.drop_back(rest.size()).count('\n') + 1));
    } else if (StringRef(")]}>").contains(c) && depth != 0) {
      --depth;
    }
  }
  return Error::success();
}

/// Checks that the bytes can be MLIR at all.
static Error checkText(StringRef text) {
  if (mlir::isBytecode(llvm::MemoryBufferRef(text, "")))
    return Error::success();
  size_t zero = text.find('\0');
  if (zero != StringRef::npos)
    return llvm::createStringError(
        llvm::formatv("expects MLIR text or bytecode, but got "
                      "binary data (a zero at byte {0})",
                      zero));
  if (text.trim().empty())
    return llvm::createStringError("expects a program, but the file is empty");
  return checkNesting(text);
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

static Error parse(Program &program) {
  mlir::DialectRegistry registry;
  mlir::attn::registerCompilerDialects(registry);
  program.context = std::make_unique<mlir::MLIRContext>(
      registry, mlir::MLIRContext::Threading::DISABLED);
  auto sourceMgr = std::make_shared<llvm::SourceMgr>();
  sourceMgr->AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBuffer(program.buffer->getMemBufferRef()), {});
  std::string diagnostics;
  llvm::raw_string_ostream os(diagnostics);
  mlir::SourceMgrDiagnosticHandler handler(*sourceMgr, program.context.get(),
                                           os);
  program.module =
      mlir::parseSourceFile<mlir::ModuleOp>(sourceMgr, program.context.get());
  if (program.module)
    return Error::success();
  return llvm::createStringError("cannot read '" + program.name + "'\n" +
                                 StringRef(diagnostics).rtrim());
}

/// Finds the function `name`, or the only public one.
static Expected<mlir::func::FuncOp> findEntry(Program &program,
                                              StringRef name) {
  std::vector<std::string> all, isPublic;
  mlir::func::FuncOp found;
  for (auto function : program.module->getOps<mlir::func::FuncOp>()) {
    if (function.isDeclaration())
      continue;
    all.push_back(function.getSymName().str());
    if (function.isPublic())
      isPublic.push_back(all.back());
    if (name.empty() ? function.isPublic() : function.getSymName() == name)
      found = function;
  }
  if (all.empty())
    return llvm::createStringError("expects a function with a body in '" +
                                   program.name + "', but there is none");
  if (!name.empty() && !found)
    return llvm::createStringError(
        llvm::formatv("unknown function '{0}' in '{1}', which has {2}{3}", name,
                      program.name, quoteNames(all), suggestName(name, all)));
  if (name.empty() && isPublic.size() != 1)
    return llvm::createStringError(llvm::formatv(
        "expects --entry=NAME, because '{0}' has {1}: {2}", program.name,
        isPublic.empty() ? "no public function" : "several public functions",
        quoteNames(isPublic.empty() ? all : isPublic)));
  return found;
}

Expected<Program> cli::loadProgram(const std::string &path, StringRef entry) {
  Program program;
  program.name = path == "-" ? "<stdin>" : path;
  Expected<std::string> text = readText(path);
  if (!text)
    return llvm::createStringError("cannot read '" + program.name +
                                   "': " + llvm::toString(text.takeError()));
  if (Error error = checkText(*text))
    return llvm::createStringError("cannot read '" + program.name +
                                   "': " + llvm::toString(std::move(error)));
  program.buffer = llvm::MemoryBuffer::getMemBufferCopy(*text, program.name);
  if (Error error = parse(program))
    return std::move(error);
  Expected<mlir::func::FuncOp> function = findEntry(program, entry);
  if (!function)
    return function.takeError();
  program.entry = *function;
  return std::move(program);
}

Error cli::addGradients(Program &program, llvm::ArrayRef<std::string> wrt,
                        bool tensorsOnly, bool nondeterministic) {
  DifferentiateOptions options;
  options.entry = program.entry.getSymName().str();
  options.bufferName = program.name;
  options.wrt = wrt;
  options.tensorsOnly = tensorsOnly;
  options.joint = true;
  options.nondeterministic = nondeterministic;
  Expected<std::string> text =
      differentiate(program.buffer->getBuffer(), options);
  if (!text)
    return llvm::createStringError(
        "cannot differentiate '" + program.name + "'\n" +
        StringRef(llvm::toString(text.takeError())).rtrim());
  program.module = nullptr;
  program.buffer = llvm::MemoryBuffer::getMemBufferCopy(*text, program.name);
  if (Error error = parse(program))
    return error;
  Expected<mlir::func::FuncOp> function = findEntry(program, "");
  if (!function)
    return function.takeError();
  program.entry = *function;
  return Error::success();
}

Error cli::makeCompileError(const Program &program, Error error) {
  return llvm::createStringError(
      "cannot compile '" + program.name + "'\n" +
      StringRef(llvm::toString(std::move(error))).rtrim());
}
