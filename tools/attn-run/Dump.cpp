//===- Dump.cpp - The program after each pass, as files -------------------===//

#include "Dump.h"
#include "Emit.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace attn;
using namespace attn::cli;
using llvm::Error;
using llvm::StringRef;

static std::string join(StringRef folder, const llvm::Twine &name) {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, name);
  return path.str().str();
}

Error Dump::create() {
  if (folder.empty())
    return Error::success();
  if (std::error_code error = llvm::sys::fs::create_directories(folder))
    return llvm::createStringError("cannot make the folder '" + folder +
                                   "' of --dump-ir: " + error.message());
  return Error::success();
}

void Dump::write(const llvm::Twine &name, StringRef bytes) {
  if (!failure.empty())
    return;
  std::string path = join(folder, part);
  if (std::error_code error = llvm::sys::fs::create_directories(path)) {
    failure = "cannot make the folder '" + path + "': " + error.message();
    return;
  }
  if (Error error = writeOutput(bytes, join(path, name)))
    failure = llvm::toString(std::move(error));
}

void Dump::attach(CompileOptions &options) {
  if (folder.empty())
    return;
  part.clear();
  count = 0;
  options.dumpPart = [this](StringRef name) {
    if (part != name)
      count = 0;
    part = name.str();
  };
  options.dumpIR = [this](StringRef pass, StringRef ir) {
    write(llvm::formatv("{0:03}-{1}.mlir", count++, pass).str(),
          (ir.rtrim() + "\n").str());
  };
  options.dumpLLVM = [this, others = std::move(options.dumpLLVM)](
                         StringRef stage, StringRef text) {
    if (others)
      others(stage, text);
    if (stage == "ptx")
      parts[text] = part;
    std::string name = llvm::StringSwitch<std::string>(stage)
                           .Case("asm", "kernel.s")
                           .Case("ptx", "kernel.ptx")
                           .Case("ptxas", "ptxas.log")
                           .Default((stage + ".ll").str());
    write(name, text);
  };
}

void Dump::writeBinaries(const KernelPackage &package) {
  if (folder.empty() || !package.program)
    return;
  for (const cuda::LaunchInfo &launch : package.program->launches)
    for (const cuda::Variant &variant : launch.variants) {
      part = parts.lookup(variant.ptx);
      if (!variant.cubin.empty())
        write("kernel.cubin", variant.cubin);
    }
}

Error Dump::takeError() {
  if (failure.empty())
    return Error::success();
  return llvm::createStringError("--dump-ir: " + failure);
}
