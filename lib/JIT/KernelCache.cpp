//===- KernelCache.cpp - Whole kernels on disk ----------------------------===//
//
// The program is part of the key as it is written, and not in a canonical form:
// a package holds the places in the text that its errors name.
//
//===----------------------------------------------------------------------===//

#include "KernelCache.h"
#include "attn/Runtime/Cuda/Ptxas.h"
#include "attn/Support/JSON.h"
#include "attn/Support/Log.h"
#include "attn/Target/CPU.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include <chrono>
#include <cstdlib>
#include <link.h>

using namespace attn;
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// The compiler
//===----------------------------------------------------------------------===//

/// The build ID that the linker has put into a loaded file, or nothing.
static llvm::StringRef getBuildID(const dl_phdr_info &info) {
  for (unsigned i = 0; i != info.dlpi_phnum; ++i) {
    const ElfW(Phdr) &header = info.dlpi_phdr[i];
    if (header.p_type != PT_NOTE)
      continue;
    llvm::StringRef notes(
        reinterpret_cast<const char *>(info.dlpi_addr + header.p_vaddr),
        header.p_memsz);
    while (notes.size() >= sizeof(ElfW(Nhdr))) {
      ElfW(Nhdr) note;
      std::memcpy(&note, notes.data(), sizeof(note));
      notes = notes.drop_front(sizeof(note));
      size_t nameSize = llvm::alignTo(note.n_namesz, 4);
      size_t size = llvm::alignTo(note.n_descsz, 4);
      if (nameSize + size > notes.size())
        break;
      if (note.n_type == NT_GNU_BUILD_ID)
        return notes.substr(nameSize, note.n_descsz);
      notes = notes.drop_front(nameSize + size);
    }
  }
  return "";
}

/// What tells this build of the compiler from others, as a version alone does
/// not while one is being written; "" if that is not known.
static const std::string &getCompilerVersion() {
  static const std::string version = [] {
    struct Builds {
      std::string own, llvm;
    } builds;
    auto visit = [](dl_phdr_info *info, size_t, void *data) {
      auto &builds = *static_cast<Builds *>(data);
      llvm::StringRef name = info->dlpi_name;
      if (name.contains("libLLVM") || name.contains("libMLIR"))
        builds.llvm += llvm::toHex(getBuildID(*info).take_front(6), true);
      auto self = reinterpret_cast<uintptr_t>(&getCompilerVersion);
      for (unsigned i = 0; i != info->dlpi_phnum; ++i) {
        const ElfW(Phdr) &header = info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + header.p_vaddr;
        if (header.p_type == PT_LOAD && self >= start &&
            self - start < header.p_memsz)
          builds.own = llvm::toHex(getBuildID(*info), true);
      }
      return 0;
    };
    ::dl_iterate_phdr(visit, &builds);
    if (builds.own.empty())
      return std::string();
    return "build " + builds.own + ", LLVM " LLVM_VERSION_STRING +
           (builds.llvm.empty() ? "" : " " + builds.llvm);
  }();
  return version;
}

/// The assembler of GPU code as far as looking at its file tells: asking it
/// takes longer than to load a kernel.
static std::string describePtxas() {
  const char *named = std::getenv("ATTN_PTXAS");
  if (named && llvm::StringRef(named) == "off")
    return "off";
  llvm::Expected<cuda::Ptxas> ptxas = cuda::Ptxas::find();
  if (!ptxas) {
    llvm::consumeError(ptxas.takeError());
    return "none";
  }
  llvm::sys::fs::file_status status;
  if (llvm::sys::fs::status(ptxas->getPath(), status))
    return "none";
  return llvm::formatv(
      "{0}, {1} bytes of {2}", ptxas->getPath(), status.getSize(),
      status.getLastModificationTime().time_since_epoch().count());
}

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

CacheKey KernelKey::getHash() const {
  KeyBuilder builder;
  builder.add("attn kernel 1").add(kPackageVersion);
  for (const Part &part : parts)
    builder.add(part.name).add(part.value);
  return builder.get();
}

std::optional<KernelKey> attn::getKernelKey(llvm::StringRef program,
                                            const CompileOptions &options) {
  if (options.dumpIR || options.dumpLLVM || options.dumpPart ||
      getCompilerVersion().empty())
    return std::nullopt;
  KernelKey key;
  auto add = [&](llvm::StringRef name, const llvm::Twine &value) {
    key.parts.push_back({name.str(), value.str()});
  };
  auto hash = [](llvm::StringRef text) {
    return llvm::toHex(KeyBuilder().add(text).get(), /*LowerCase=*/true);
  };
  add("program", hash(program));
  add("entry", options.entry);
  add("name", hash(options.bufferName));
  add("bounds check", llvm::Twine(options.boundsCheck));
  add("optimisation", llvm::Twine(options.optLevel));
  add("schedule", options.schedule);
  add("sparsity", options.sparsity);
  add("determinism", !options.deterministic   ? "as written"
                     : *options.deterministic ? "1"
                                              : "0");
  if (options.device == DeviceKind::Cuda) {
    add("target", "cuda " + options.chip);
    add("assembler", describePtxas());
    const char *seconds = std::getenv("ATTN_PTXAS_SECONDS");
    add("time for the assembler", seconds ? seconds : "");
    std::string table;
    if (!options.schedules.empty()) {
      auto file = llvm::MemoryBuffer::getFile(options.schedules);
      if (!file)
        return std::nullopt;
      table = hash((*file)->getBuffer());
    }
    add("table of schedules", table);
    add("first schedule", llvm::Twine(options.firstSchedule));
  } else {
    // Of a device that is none there is only an error.
    if (options.device != DeviceKind::CPU)
      return std::nullopt;
    llvm::Expected<CPUTarget> target = getCPUTarget(options.target);
    if (!target) {
      llvm::consumeError(target.takeError());
      return std::nullopt;
    }
    add("target",
        llvm::formatv("{0} {1} {2} {3}, {4} registers of {5} bits, caches of "
                      "{6} and {7}",
                      target->name, target->triple, target->cpu,
                      target->getFeatureString(), target->vectorRegisters,
                      target->vectorBits, target->l1Bytes, target->l2Bytes)
            .str());
  }
  add("compiler", getCompilerVersion());
  return key;
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

// "attnwhol", the size of the JSON, the JSON, the package: the parts of the key
// and what the report says of the compilation.
static constexpr llvm::StringLiteral kMagic = "attnwhol";

/// What JSON and people can read; other values have other texts.
static std::string toText(llvm::StringRef value) {
  return json::isUTF8(value)
             ? value.str()
             : "bytes " + llvm::toHex(value, /*LowerCase=*/true);
}

static std::string toBytes(const KernelKey &key, const CompileReport &report,
                           const KernelPackage &package) {
  json::Array parts;
  for (const KernelKey::Part &part : key.parts)
    parts.push_back(json::Array{part.name, toText(part.value)});
  json::Array remarks;
  for (const CompileReport::Remark &remark : report.remarks) {
    json::Array members;
    for (llvm::StringRef member :
         {remark.location, remark.name, remark.schedule, remark.text})
      members.push_back(json::fixUTF8(member));
    remarks.push_back(std::move(members));
  }
  std::string text;
  llvm::raw_string_ostream(text)
      << json::Value(json::Object{{"key", std::move(parts)},
                                  {"remarks", std::move(remarks)},
                                  {"warnings", json::fixUTF8(report.warnings)},
                                  {"target", report.target}});
  char size[sizeof(uint64_t)];
  llvm::support::endian::write64le(size, text.size());
  std::string bytes = kMagic.str();
  bytes.append(size, sizeof(size));
  return bytes + text + package.toBytes();
}

namespace {
struct Entry {
  json::Value description = nullptr;
  llvm::StringRef package;
};
} // namespace

/// Splits an entry; nothing for one of another kind.
static std::optional<Entry> readEntry(llvm::StringRef bytes) {
  if (!bytes.consume_front(kMagic) || bytes.size() < sizeof(uint64_t))
    return std::nullopt;
  uint64_t size = llvm::support::endian::read64le(bytes.data());
  bytes = bytes.drop_front(sizeof(uint64_t));
  if (size > bytes.size())
    return std::nullopt;
  llvm::Expected<json::Value> value = parseJSON(bytes.take_front(size));
  if (!value || !value->getAsObject()) {
    if (!value)
      llvm::consumeError(value.takeError());
    return std::nullopt;
  }
  return Entry{std::move(*value), bytes.drop_front(size)};
}

static std::vector<CompileReport::Remark> readRemarks(const json::Array *kept) {
  std::vector<CompileReport::Remark> remarks;
  for (const json::Value &value : kept ? *kept : json::Array()) {
    const json::Array *members = value.getAsArray();
    auto get = [&](size_t number) {
      bool is = members && number < members->size();
      return is ? (*members)[number].getAsString().value_or("").str() : "";
    };
    remarks.push_back({get(0), get(1), get(2), get(3)});
  }
  return remarks;
}

static std::optional<KernelPackage>
lookup(const DiskCache &cache, const CacheKey &hash, CompileReport &report) {
  std::optional<std::string> bytes = cache.lookup(hash);
  std::optional<Entry> entry = bytes ? readEntry(*bytes) : std::nullopt;
  if (!entry)
    return std::nullopt;
  llvm::Expected<KernelPackage> package =
      KernelPackage::fromBytes(entry->package);
  if (!package) {
    llvm::consumeError(package.takeError());
    return std::nullopt;
  }
  const json::Object &description = *entry->description.getAsObject();
  auto get = [&](llvm::StringRef name) {
    return description.getString(name).value_or("").str();
  };
  report.remarks = readRemarks(description.getArray("remarks"));
  report.warnings = get("warnings");
  report.target = get("target");
  report.objectSize = package->getCodeSize();
  return std::move(*package);
}

/// The parts in which a key differs from the kept one that is most like it.
static std::string explainMiss(const DiskCache &cache, const KernelKey &key) {
  std::string best;
  size_t fewest = key.parts.size();
  cache.forEach([&](llvm::StringRef bytes) {
    std::optional<Entry> entry = readEntry(bytes);
    const json::Array *parts =
        entry ? entry->description.getAsObject()->getArray("key") : nullptr;
    if (!parts)
      return true;
    llvm::StringMap<llvm::StringRef> kept;
    for (const json::Value &part : *parts)
      if (const json::Array *pair = part.getAsArray();
          pair && pair->size() == 2)
        if (auto name = (*pair)[0].getAsString(),
            value = (*pair)[1].getAsString();
            name && value)
          kept[*name] = *value;
    std::vector<std::string> differing;
    bool isOfProgram = true;
    for (const KernelKey::Part &part : key.parts) {
      auto found = kept.find(part.name);
      std::string value = toText(part.value);
      if (found != kept.end() && found->second == value)
        continue;
      isOfProgram &= part.name != "program";
      differing.push_back(
          part.name == "program" || part.name == "name"
              ? part.name
              : llvm::formatv("{0} ('{1}', kept is '{2}')", part.name, value,
                              found == kept.end() ? "" : found->second)
                    .str());
    }
    if (isOfProgram && differing.size() < fewest) {
      fewest = differing.size();
      best = llvm::join(differing, ", ");
    }
    return true;
  });
  if (fewest == 0)
    return "the entry is damaged";
  return best.empty() ? "nothing is kept of this program"
                      : "another kernel of it differs in " + best;
}

llvm::Expected<KernelPackage> attn::getCachedPackage(
    const KernelKey &key, CompileReport &report,
    llvm::function_ref<llvm::Expected<KernelPackage>()> compile) {
  DiskCache cache = DiskCache::getDefault();
  bool isLogged = isLogEnabled("cache");
  if (!cache.isEnabled()) {
    if (isLogged)
      log("cache", "off");
    return compile();
  }
  CacheKey hash = key.getHash();
  std::string name = llvm::toHex(llvm::ArrayRef(hash).take_front(6), true);
  auto start = std::chrono::steady_clock::now();
  auto tryLookup = [&] {
    std::optional<KernelPackage> package = lookup(cache, hash, report);
    if (!package)
      return package;
    std::chrono::duration<double, std::milli> time =
        std::chrono::steady_clock::now() - start;
    report.stages.push_back({"cache", time.count()});
    if (isLogged)
      log("cache", llvm::formatv("hit {0}, in {1:F1} ms", name, time.count()));
    return package;
  };
  if (std::optional<KernelPackage> package = tryLookup())
    return std::move(*package);
  // Longer than any compilation takes, in case that the other one hangs.
  constexpr std::chrono::minutes limit(5);
  DiskCache::Turn turn = cache.takeTurn(hash, limit);
  // Another one may also have finished since the first look.
  if (std::optional<KernelPackage> package = tryLookup())
    return std::move(*package);
  if (isLogged)
    log("cache", "miss " + name + ": " + explainMiss(cache, key));
  llvm::Expected<KernelPackage> package = compile();
  if (!package)
    return package;
  // What an assembler had no time for, it may have the next time.
  bool isKept =
      report.isRepeatable && cache.store(hash, toBytes(key, report, *package));
  if (isLogged)
    log("cache", (isKept ? "kept " : "could not keep ") + name + " in '" +
                     cache.getDirectory() + "'");
  return package;
}
