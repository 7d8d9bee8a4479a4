//===- Emit.cpp - Code of a program, without a run ------------------------===//

#include "Emit.h"
#include "attn/Runtime/Cuda/Ptxas.h"
#include "llvm/ADT/STLExtras.h"
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
                                    CompileOptions compile, Dump &dump) {
  bool isCuda = compile.device == DeviceKind::Cuda;
  // What was made, of one schedule after the other: even if what comes behind
  // it fails.
  std::vector<std::string> irs, ptxs;
  compile.dumpLLVM = [&](llvm::StringRef stage, llvm::StringRef text) {
    if (stage == (isCuda ? "llvm" : "llvm-optimized"))
      irs.push_back(text.str());
    else if (stage == "ptx")
      ptxs.push_back(text.str());
  };
  std::vector<std::string> &texts = options.emit == "llvm" ? irs : ptxs;
  dump.attach(compile);
  Expected<KernelPackage> package = compileToPackage(program, compile);
  if (package)
    dump.writeBinaries(*package);
  if (!package) {
    if (options.emit == "cubin" || texts.empty())
      return package.takeError();
    llvm::consumeError(package.takeError());
    return texts.front();
  }
  if (!isCuda)
    return texts.front();
  // The first of the variants, which is that for long sequences.
  const cuda::Variant &variant = package->program->launches[0].variants[0];
  if (options.emit == "cubin")
    return variant.cubin.empty() ? Expected<std::string>(explainNoCubin())
                                 : variant.cubin;
  size_t number = llvm::find(ptxs, variant.ptx) - ptxs.begin();
  return texts[std::min(number, texts.size() - 1)];
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
