//===- Emit.cpp - Code of a program, without a run ------------------------===//

#include "Emit.h"
#include "attn/Runtime/Cuda/Ptxas.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/Errno.h"
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

using namespace attn;
using namespace attn::cli;
using llvm::Error;
using llvm::Expected;

static Error makeError(const llvm::Twine &message) {
  return llvm::createStringError(message);
}

/// Why there is no cubin.
static Error explainNoCubin() {
  const char *named = std::getenv("ATTN_PTXAS");
  if (named && llvm::StringRef(named) == "off")
    return makeError("error: expects ptxas for --emit=cubin, but ATTN_PTXAS is "
                     "off; --emit=ptx needs none");
  return makeError("error: " + llvm::toString(cuda::Ptxas::find().takeError()) +
                   "; --emit=ptx needs none");
}

Expected<std::string> cli::emitCode(llvm::StringRef program,
                                    const Options &options,
                                    CompileOptions compile) {
  bool isCuda = compile.device == DeviceKind::Cuda;
  std::string wanted = options.emit;
  if (wanted == "llvm" && !isCuda)
    wanted = "llvm-optimized";
  // Texts are there even if what comes behind them fails.
  std::string text;
  compile.dumpLLVM = [&](llvm::StringRef stage, llvm::StringRef dump) {
    if (stage == wanted)
      text = dump.str();
  };
  Expected<KernelPackage> package = compileToPackage(program, compile);
  if (options.emit == "cubin") {
    if (!package)
      return package.takeError();
    const std::string &cubin =
        package->program->launches.front().variants.front().cubin;
    return cubin.empty() ? Expected<std::string>(explainNoCubin()) : cubin;
  }
  if (!package) {
    if (text.empty())
      return package.takeError();
    llvm::consumeError(package.takeError());
  }
  return text;
}

Error cli::writeOutput(llvm::StringRef bytes, const std::string &file) {
  int fd = STDOUT_FILENO;
  std::string what = "the output";
  if (!file.empty()) {
    what = "'" + file + "'";
    fd = llvm::sys::RetryAfterSignal(-1, ::open, file.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                                     0666);
    if (fd < 0)
      return makeError("cannot write " + what + ": " +
                       llvm::sys::StrError(errno));
  }
  auto close = llvm::scope_exit([&] {
    if (!file.empty())
      ::close(fd);
  });
  while (!bytes.empty()) {
    ssize_t done = llvm::sys::RetryAfterSignal(-1, ::write, fd, bytes.data(),
                                               bytes.size());
    if (done < 0)
      return makeError("cannot write " + what + ": " +
                       llvm::sys::StrError(errno));
    bytes = bytes.drop_front(done);
  }
  return Error::success();
}
