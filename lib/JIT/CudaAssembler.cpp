//===- CudaAssembler.cpp - From PTX to a binary ---------------------------===//

#include "CudaCodeGen.h"
#include "attn/JIT/Diagnostics.h"
#include "attn/Runtime/Cuda/Ptxas.h"
#include "attn/Support/DiskCache.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/JSON.h"
#include <cstdlib>
#include <limits>
#include <mutex>

using namespace attn;
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// Entries of the cache
//===----------------------------------------------------------------------===//

// What is kept is the verdict too, so that a schedule which is rejected once is
// not compiled again. An entry is the size of the JSON, the JSON, the cubin.
static constexpr llvm::StringLiteral kCacheFormat = "attn ptxas 3";

namespace {
struct Assembled {
  CudaVerdict verdict;
  cuda::Resources resources;
  std::string cubin;
};
} // namespace

static std::string toBytes(const Assembled &assembled) {
  const cuda::Resources &resources = assembled.resources;
  std::string text;
  llvm::raw_string_ostream(text) << json::Value(
      json::Object{{"accepted", assembled.verdict.isAccepted},
                   {"reason", json::fixUTF8(assembled.verdict.reason)},
                   {"log", json::fixUTF8(assembled.verdict.log)},
                   {"registers", resources.registers},
                   {"shared_bytes", resources.sharedBytes},
                   {"spill_bytes", resources.spillBytes},
                   {"stack_bytes", resources.stackBytes}});
  char size[sizeof(uint64_t)];
  llvm::support::endian::write64le(size, text.size());
  return std::string(size, sizeof(size)) + text + assembled.cubin;
}

static std::optional<Assembled> fromBytes(llvm::StringRef bytes) {
  if (bytes.size() < sizeof(uint64_t))
    return std::nullopt;
  uint64_t size = llvm::support::endian::read64le(bytes.data());
  llvm::StringRef rest = bytes.drop_front(sizeof(uint64_t));
  if (size > rest.size())
    return std::nullopt;
  llvm::Expected<json::Value> value = json::parse(rest.take_front(size));
  if (!value) {
    llvm::consumeError(value.takeError());
    return std::nullopt;
  }
  json::Path::Root root;
  json::ObjectMapper mapper(*value, json::Path(root));
  Assembled result;
  cuda::Resources &resources = result.resources;
  if (!mapper || !mapper.map("accepted", result.verdict.isAccepted) ||
      !mapper.map("reason", result.verdict.reason) ||
      !mapper.map("log", result.verdict.log) ||
      !mapper.map("registers", resources.registers) ||
      !mapper.map("shared_bytes", resources.sharedBytes) ||
      !mapper.map("spill_bytes", resources.spillBytes) ||
      !mapper.map("stack_bytes", resources.stackBytes) || rest.size() == size)
    return std::nullopt;
  result.cubin = rest.drop_front(size).str();
  return result;
}

//===----------------------------------------------------------------------===//
// ptxas
//===----------------------------------------------------------------------===//

/// The version of an assembler, which each process asks for once.
static llvm::Expected<std::string> getVersion(const cuda::Ptxas &ptxas) {
  static std::mutex mutex;
  static llvm::StringMap<std::string> versions;
  std::lock_guard<std::mutex> lock(mutex);
  auto found = versions.find(ptxas.getPath());
  if (found != versions.end())
    return found->second;
  llvm::Expected<std::string> version = ptxas.getVersion();
  if (version)
    versions[ptxas.getPath()] = *version;
  return version;
}

/// The verdict is that of a kernel that may spill anything, which is `entry`:
/// the kernels around it are the same for all schedules, and run for a short
/// time.
static llvm::Expected<Assembled> assemble(const cuda::Ptxas &ptxas,
                                          llvm::StringRef chip,
                                          llvm::StringRef ptx,
                                          llvm::StringRef entry) {
  llvm::Expected<std::string> version = getVersion(ptxas);
  if (!version)
    return version.takeError();
  DiskCache cache = DiskCache::getDefault();
  CacheKey key = KeyBuilder()
                     .add(kCacheFormat)
                     .add(ptx)
                     .add(*version)
                     .add(chip)
                     .add(entry)
                     .get();
  if (std::optional<std::string> bytes = cache.lookup(key))
    if (std::optional<Assembled> assembled = fromBytes(*bytes))
      return std::move(*assembled);
  cuda::PtxasOptions options;
  options.chip = chip.str();
  options.entry = entry.str();
  if (const char *seconds = std::getenv("ATTN_PTXAS_SECONDS"))
    if (llvm::StringRef(seconds).getAsDouble(options.timeoutSeconds))
      return llvm::createStringError("expects ATTN_PTXAS_SECONDS to be a "
                                     "number, but got '" +
                                     llvm::Twine(seconds) + "'");
  llvm::Expected<cuda::PtxasResult> result = ptxas.compile(ptx, options);
  if (!result)
    return result.takeError();
  Assembled assembled;
  assembled.verdict.isAccepted =
      isAcceptable(result->report, std::numeric_limits<int64_t>::max(),
                   &assembled.verdict.reason);
  assembled.verdict.log = std::move(result->log);
  assembled.resources = result->report.resources;
  assembled.cubin = std::move(result->cubin);
  cache.store(key, toBytes(assembled));
  return assembled;
}

llvm::Expected<CudaVerdict> attn::assembleKernel(mlir::attn::TargetAttr target,
                                                 cuda::Variant &variant,
                                                 int64_t spillBytes,
                                                 std::string &note) {
  const char *named = std::getenv("ATTN_PTXAS");
  if (named && llvm::StringRef(named) == "off") {
    note = "ATTN_PTXAS is off";
    return CudaVerdict();
  }
  llvm::Expected<cuda::Ptxas> ptxas = cuda::Ptxas::find();
  if (!ptxas) {
    // Who names a program wants that one.
    if (named && *named)
      return makeCompileError("error: " + llvm::toString(ptxas.takeError()));
    note = llvm::toString(ptxas.takeError());
    return CudaVerdict();
  }
  llvm::Expected<Assembled> assembled =
      assemble(*ptxas, target.getChip(), variant.ptx, variant.entry);
  if (!assembled) {
    // That it takes too long is a verdict: there may be a smaller kernel.
    CudaVerdict verdict;
    llvm::Error rest = llvm::handleErrors(
        assembled.takeError(),
        [&](std::unique_ptr<llvm::StringError> error) -> llvm::Error {
          if (error->convertToErrorCode() != std::errc::timed_out)
            return llvm::Error(std::move(error));
          verdict.isAccepted = false;
          verdict.isTimeout = true;
          verdict.reason = error->getMessage();
          return llvm::Error::success();
        });
    if (rest)
      return makeCompileError("error: " + llvm::toString(std::move(rest)));
    return verdict;
  }
  cuda::Resources &resources = variant.resources.emplace(assembled->resources);
  resources.residentBlocks = target.getResidentCTAs(
      variant.threads, resources.registers,
      variant.dynamicSharedBytes + resources.sharedBytes);
  variant.cubin = std::move(assembled->cubin);
  assembled->verdict.isAccepted &= resources.spillBytes <= spillBytes;
  return std::move(assembled->verdict);
}
