//===- Emit.cpp - Code of a program, without a run ------------------------===//

#include "Emit.h"
#include "Program.h"
#include "attn/Runtime/Cuda/Ptxas.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

using namespace attn;
using namespace attn::cli;
using llvm::Error;
using llvm::Expected;

/// Why there is no cubin.
static Error explainNoCubin() {
  const char *named = std::getenv("ATTN_PTXAS");
  if (named && llvm::StringRef(named) == "off")
    return llvm::createStringError(
        "error: expects ptxas for --emit=cubin, but ATTN_PTXAS is "
        "off; --emit=ptx needs none");
  return llvm::createStringError(
      "error: " + llvm::toString(cuda::Ptxas::find().takeError()) +
      "; --emit=ptx needs none");
}

static constexpr llvm::StringLiteral kNote = "attn-run: note: ";

namespace {
/// What a compilation for a GPU has made, of one schedule after the other: even
/// if what comes behind it fails.
struct Texts {
  std::vector<std::string> irs, ptxs;
};

/// The codes that --variant asks for.
class Selection {
public:
  Selection(const cuda::CudaProgram &program, const Texts &texts,
            const Options &options)
      : variants(getFirstAttention(program).variants), checks(program.checks),
        texts(texts), options(options) {}

  Expected<std::vector<EmittedCode>> get();

private:
  Expected<EmittedCode> getVariant(size_t number);
  EmittedCode getChecks();
  /// The text of a kernel in the form that is asked for.
  std::string getText(const std::string &ptx);
  /// "variant-0.ptx"
  std::string getName(const llvm::Twine &stem) {
    return (stem + "." + (options.emit == "llvm" ? "ll" : options.emit)).str();
  }

  const std::vector<cuda::Variant> &variants;
  const cuda::ListChecks &checks;
  const Texts &texts;
  const Options &options;
};
} // namespace

std::string Selection::getText(const std::string &ptx) {
  if (options.emit == "ptx")
    return ptx;
  size_t number = llvm::find(texts.ptxs, ptx) - texts.ptxs.begin();
  return texts.irs[std::min(number, texts.irs.size() - 1)];
}

Expected<EmittedCode> Selection::getVariant(size_t number) {
  const cuda::Variant &variant = variants[number];
  std::string title = ("variant " + llvm::Twine(number) + " of " +
                       llvm::Twine(variants.size()) + ": " + variant.schedule)
                          .str();
  std::string name = getName("variant-" + llvm::Twine(number));
  if (options.emit != "cubin")
    return EmittedCode{name, title, getText(variant.ptx)};
  if (!variant.cubin.empty())
    return EmittedCode{name, title, variant.cubin};
  // ptxas makes all of them or none, but for what the driver compiles.
  if (llvm::all_of(variants, [](const cuda::Variant &other) {
        return other.cubin.empty();
      }))
    return explainNoCubin();
  return llvm::createStringError(
      "error: expects a variant that ptxas compiles for "
      "--emit=cubin, but the driver compiles variant " +
      llvm::Twine(number) +
      " when it is first needed; --emit=ptx prints its code");
}

EmittedCode Selection::getChecks() {
  return {getName("checks"), "checks of lists", getText(checks.ptx)};
}

Expected<std::vector<EmittedCode>> Selection::get() {
  std::vector<EmittedCode> codes;
  auto add = [&](Expected<EmittedCode> code) {
    if (code)
      codes.push_back(std::move(*code));
    return code.takeError();
  };
  bool isBinary = options.emit == "cubin", hasChecks = !checks.kernels.empty();
  if (options.variant == "all") {
    for (auto [number, variant] : llvm::enumerate(variants)) {
      if (isBinary && variant.cubin.empty() && !codes.empty()) {
        llvm::errs() << kNote << "variant " << number
                     << " has no cubin, as the driver compiles it when it is "
                        "first needed\n";
        continue;
      }
      if (Error error = add(getVariant(number)))
        return std::move(error);
    }
    if (hasChecks && !isBinary)
      codes.push_back(getChecks());
    return codes;
  }
  if (options.variant == "checks") {
    if (!hasChecks)
      return llvm::createStringError("error: expects a program with lists for "
                                     "--variant=checks, but this one has none");
    if (isBinary)
      return llvm::createStringError(
          "error: expects --emit=ptx or --emit=llvm with "
          "--variant=checks, as the driver compiles checks when "
          "they are first needed");
    codes.push_back(getChecks());
    return codes;
  }
  size_t number = 0;
  if (options.variant.empty()) {
    if (variants.size() > 1)
      llvm::errs() << kNote << "this is variant 0 of " << variants.size()
                   << "; --variant=all is for all of them\n";
  } else if (llvm::StringRef(options.variant).getAsInteger(10, number) ||
             number >= variants.size()) {
    return llvm::createStringError("error: expects a variant from 0 to " +
                                   llvm::Twine(variants.size() - 1) +
                                   " for --variant, but got " +
                                   options.variant);
  }
  if (Error error = add(getVariant(number)))
    return std::move(error);
  return codes;
}

static std::string printShapeFunction(const KernelMetadata &metadata) {
  std::string text;
  llvm::raw_string_ostream os(text);
  metadata.shapes.print(os, metadata.inputs, metadata.results);
  return text;
}

Expected<std::vector<EmittedCode>> cli::emitCode(llvm::StringRef program,
                                                 const Options &options,
                                                 CompileOptions compile,
                                                 Dump &dump) {
  bool isCuda = compile.device == DeviceKind::Cuda;
  bool isWhole = options.emit == "shape-function" || options.emit == "package";
  Texts texts;
  auto takeText = [&](llvm::StringRef stage, llvm::StringRef text) {
    if (stage == (isCuda ? "llvm" : "llvm-optimized"))
      texts.irs.push_back(text.str());
    else if (stage == "ptx")
      texts.ptxs.push_back(text.str());
  };
  // What has no text may come from the cache.
  if (!isWhole)
    compile.dumpLLVM = takeText;
  dump.attach(compile);
  Expected<KernelPackage> package = compileToPackage(program, compile);
  if (package)
    dump.writeBinaries(*package);
  if (isWhole) {
    if (!package)
      return package.takeError();
    return std::vector<EmittedCode>{{"", "",
                                     options.emit == "shape-function"
                                         ? printShapeFunction(package->metadata)
                                         : package->toBytes()}};
  }
  auto getFirst = [&] {
    const std::vector<std::string> &all =
        options.emit == "llvm" ? texts.irs : texts.ptxs;
    return std::vector<EmittedCode>{{"", "", all.front()}};
  };
  if (!package) {
    bool isAny = options.variant.empty() && options.emit != "cubin";
    if (!isAny || (options.emit == "llvm" ? texts.irs : texts.ptxs).empty())
      return package.takeError();
    llvm::errs() << kNote << "this is code from before an error: "
                 << llvm::StringRef(llvm::toString(package.takeError())).rtrim()
                 << "\n";
    return getFirst();
  }
  if (!isCuda)
    return getFirst();
  return Selection(*package->program, texts, options).get();
}

Error cli::writeCode(llvm::ArrayRef<EmittedCode> codes,
                     const Options &options) {
  bool isAll = options.variant == "all";
  if (isAll && options.emit == "cubin") {
    if (std::error_code error =
            llvm::sys::fs::create_directories(options.emitTo))
      return llvm::createStringError("cannot make the folder '" +
                                     options.emitTo + "': " + error.message());
    for (const EmittedCode &code : codes) {
      llvm::SmallString<128> path(options.emitTo);
      llvm::sys::path::append(path, code.name);
      if (Error error = writeOutput(code.bytes, path.str().str()))
        return error;
    }
    return Error::success();
  }
  std::string text;
  for (const EmittedCode &code : codes) {
    if (isAll)
      text += (options.emit == "llvm" ? "; " : "// ") + code.title + "\n";
    text += code.bytes;
  }
  return writeOutput(text, options.emitTo);
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
      return llvm::createStringError("cannot write " + what + ": " +
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
      return llvm::createStringError("cannot write " + what + ": " +
                                     llvm::sys::StrError(errno));
    bytes = bytes.drop_front(done);
  }
  return Error::success();
}
