//===- DiskCache.cpp - Compiled code on disk ------------------------------===//
//
// An entry is a file "attn-<key>" with a header and the bytes. It is written
// under another name and then renamed, so that no reader sees a part of it; the
// checksum is for crashes of the machine, after which a renamed file may be
// empty. LLVM's helpers for caches are not used: they install signal handlers,
// and end the process when a directory vanishes.
//
//===----------------------------------------------------------------------===//

#include "attn/Support/DiskCache.h"
#include "attn/Support/Files.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Chrono.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace attn;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

/// For what may fail without harm.
static void ignore(std::error_code code) {}

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

KeyBuilder &KeyBuilder::add(llvm::StringRef field) {
  uint8_t size[sizeof(uint64_t)];
  llvm::support::endian::write64le(size, field.size());
  hash.update(llvm::ArrayRef<uint8_t>(size));
  hash.update(field);
  return *this;
}

KeyBuilder &KeyBuilder::add(int64_t field) {
  char bytes[sizeof(field)];
  llvm::support::endian::write64le(bytes, field);
  return add(llvm::StringRef(bytes, sizeof(bytes)));
}

CacheKey KeyBuilder::get() { return hash.result(); }

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

static constexpr llvm::StringLiteral kEntryPrefix = "attn-";
static constexpr llvm::StringLiteral kTemporaryPrefix = "new-";
static constexpr llvm::StringLiteral kLockPrefix = "lock-";

// The magic, the version and the size as 64-bit little-endian numbers, the
// SHA-256 of key and bytes.
static constexpr llvm::StringLiteral kMagic = "attncach";
static constexpr uint64_t kVersion = 1;
static constexpr size_t kChecksumOffset = kMagic.size() + 2 * sizeof(uint64_t);
static constexpr size_t kHeaderSize = kChecksumOffset + sizeof(CacheKey);

static std::array<char, kHeaderSize> makeHeader(const CacheKey &key,
                                                llvm::StringRef bytes) {
  std::array<char, kHeaderSize> header;
  std::memcpy(header.data(), kMagic.data(), kMagic.size());
  llvm::support::endian::write64le(header.data() + kMagic.size(), kVersion);
  llvm::support::endian::write64le(
      header.data() + kMagic.size() + sizeof(uint64_t), bytes.size());
  llvm::SHA256 hash;
  hash.update(key);
  hash.update(bytes);
  CacheKey checksum = hash.result();
  std::memcpy(header.data() + kChecksumOffset, checksum.data(),
              checksum.size());
  return header;
}

/// ATTN_CACHE_MB, or the usual limit where that is no number.
static DiskCache::Options getDefaultOptions() {
  DiskCache::Options options;
  uint64_t megabytes = 0;
  if (const char *value = std::getenv("ATTN_CACHE_MB"))
    if (!llvm::StringRef(value).getAsInteger(10, megabytes))
      options.maxBytes = std::min<uint64_t>(megabytes, uint64_t(1) << 40) << 20;
  return options;
}

DiskCache DiskCache::getDefault() {
  // Without a directory it is one that keeps nothing.
  return DiskCache(getUserPath("ATTN_CACHE_DIR", "XDG_CACHE_HOME", ".cache"),
                   getDefaultOptions());
}

std::string DiskCache::getPath(const CacheKey &key) const {
  llvm::SmallString<128> result(directory);
  path::append(result, kEntryPrefix + llvm::toHex(key, /*LowerCase=*/true));
  return result.str().str();
}

/// Whether we or root have written a file. In a folder that everybody may write
/// to, what others have written would run as our code.
static bool isTrusted(fs::file_t file) {
  struct stat status;
  return ::fstat(file, &status) == 0 &&
         (status.st_uid == 0 || status.st_uid == ::geteuid());
}

/// The bytes of an entry whose owner and header are right.
static std::optional<std::string> readEntry(fs::file_t file,
                                            const CacheKey &key) {
  if (!isTrusted(file))
    return std::nullopt;
  // Read, not mapped: a file that somebody truncates would end the process.
  auto buffer = llvm::MemoryBuffer::getOpenFile(
      file, "cache entry", /*FileSize=*/-1, /*RequiresNullTerminator=*/false,
      /*IsVolatile=*/true);
  if (!buffer)
    return std::nullopt;
  llvm::StringRef bytes = (*buffer)->getBuffer();
  if (bytes.size() < kHeaderSize)
    return std::nullopt;
  llvm::StringRef payload = bytes.drop_front(kHeaderSize);
  std::array<char, kHeaderSize> header = makeHeader(key, payload);
  if (!bytes.starts_with(llvm::StringRef(header.data(), header.size())))
    return std::nullopt;
  return payload.str();
}

std::optional<std::string> DiskCache::lookup(const CacheKey &key) const {
  if (!isEnabled())
    return std::nullopt;
  llvm::Expected<fs::file_t> file = fs::openNativeFileForRead(getPath(key));
  if (!file) {
    llvm::consumeError(file.takeError());
    return std::nullopt;
  }
  std::optional<std::string> result = readEntry(*file, key);
  // Many systems do not note when a file is read. What cannot be noted only
  // makes the entry go earlier.
  if (result)
    ignore(fs::setLastAccessAndModificationTime(
        *file, std::chrono::system_clock::now()));
  ignore(fs::closeFile(*file));
  return result;
}

/// Writes a file that did not exist, or removes it again.
static bool writeNewFile(int fd, llvm::StringRef name, llvm::StringRef header,
                         llvm::StringRef bytes) {
  llvm::raw_fd_ostream stream(fd, /*shouldClose=*/true, /*unbuffered=*/true);
  stream << header << bytes;
  stream.close();
  if (!stream.has_error())
    return true;
  // The stream would end the process otherwise.
  stream.clear_error();
  ignore(fs::remove(name));
  return false;
}

bool DiskCache::store(const CacheKey &key, llvm::StringRef bytes) const {
  if (!isEnabled() || bytes.size() + kHeaderSize > options.maxBytes)
    return false;
  // Others may not write there: what they wrote would run as our code.
  if (fs::create_directories(directory, /*IgnoreExisting=*/true, fs::owner_all))
    return false;
  llvm::SmallString<128> model(directory);
  path::append(model, kTemporaryPrefix + "%%%%%%%%%%%%");
  llvm::SmallString<128> name;
  int fd = -1;
  if (fs::createUniqueFile(model, fd, name, fs::OF_None,
                           fs::owner_read | fs::owner_write))
    return false;
  std::array<char, kHeaderSize> header = makeHeader(key, bytes);
  if (!writeNewFile(fd, name, llvm::StringRef(header.data(), header.size()),
                    bytes))
    return false;
  if (fs::rename(name, getPath(key))) {
    ignore(fs::remove(name));
    return false;
  }
  // Compilations take seconds, and looking at a directory of a thousand files
  // milliseconds, but there may be more of both.
  if (key[0] % 8 == 0 || bytes.size() > options.maxBytes / 64)
    prune();
  return true;
}

void DiskCache::forEach(
    llvm::function_ref<bool(llvm::StringRef bytes)> visit) const {
  if (!isEnabled())
    return;
  std::error_code code;
  for (fs::directory_iterator it(directory, code), end; !code && it != end;
       it.increment(code)) {
    llvm::StringRef name = path::filename(it->path());
    std::string hex;
    CacheKey key;
    if (!name.consume_front(kEntryPrefix) || !llvm::tryGetFromHex(name, hex) ||
        hex.size() != key.size())
      continue;
    std::copy(hex.begin(), hex.end(), key.begin());
    llvm::Expected<fs::file_t> file = fs::openNativeFileForRead(it->path());
    if (!file) {
      llvm::consumeError(file.takeError());
      continue;
    }
    std::optional<std::string> bytes = readEntry(*file, key);
    ignore(fs::closeFile(*file));
    if (bytes && !visit(*bytes))
      return;
  }
}

//===----------------------------------------------------------------------===//
// Turns
//===----------------------------------------------------------------------===//

DiskCache::Turn::~Turn() {
  if (fd < 0)
    return;
  // Who waits for this file gets it, and who comes later makes another one;
  // both look for the entry first.
  ignore(fs::remove(path));
  // A child that was forked meanwhile has the open file too, and with it the
  // lock, which closing ours would leave.
  ::flock(fd, LOCK_UN);
  ::close(fd);
}

DiskCache::Turn DiskCache::takeTurn(const CacheKey &key,
                                    std::chrono::milliseconds limit) const {
  Turn turn;
  if (!isEnabled() ||
      fs::create_directories(directory, /*IgnoreExisting=*/true, fs::owner_all))
    return turn;
  llvm::SmallString<128> name(directory);
  path::append(name, kLockPrefix + llvm::toHex(key, /*LowerCase=*/true));
  turn.path = name.str().str();
  // A lock of the open file: it excludes threads as well as processes, and goes
  // with the process however that ends.
  turn.fd = ::open(turn.path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  auto end = std::chrono::steady_clock::now() + limit;
  unsigned rounds = 0;
  while (turn.fd >= 0 && ::flock(turn.fd, LOCK_EX | LOCK_NB) != 0) {
    // Who has the lock may hold it long after the entry is there, if a child
    // of it was stopped.
    bool isOver = (errno != EWOULDBLOCK && errno != EINTR) ||
                  std::chrono::steady_clock::now() >= end ||
                  (++rounds % 16 == 0 && lookup(key));
    if (isOver) {
      ::close(turn.fd);
      turn.fd = -1;
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
  }
  return turn;
}

//===----------------------------------------------------------------------===//
// Size
//===----------------------------------------------------------------------===//

void DiskCache::prune() const {
  if (!isEnabled())
    return;
  struct Entry {
    std::string path;
    llvm::sys::TimePoint<> used;
    uint64_t bytes;
  };
  std::vector<Entry> entries;
  uint64_t total = 0;
  auto now = std::chrono::system_clock::now();
  std::error_code code;
  for (fs::directory_iterator it(directory, code), end; !code && it != end;
       it.increment(code)) {
    llvm::StringRef name = path::filename(it->path());
    bool isEntry = name.starts_with(kEntryPrefix);
    if (!isEntry && !name.starts_with(kTemporaryPrefix) &&
        !name.starts_with(kLockPrefix))
      continue;
    // Another process may have removed it.
    llvm::ErrorOr<fs::basic_file_status> status = it->status();
    if (!status || status->type() != fs::file_type::regular_file)
      continue;
    if (isEntry) {
      entries.push_back(
          {it->path(), status->getLastModificationTime(), status->getSize()});
      total += status->getSize();
    } else if (now - status->getLastModificationTime() >
               std::chrono::hours(1)) {
      ignore(fs::remove(it->path()));
    }
  }
  if (total <= options.maxBytes)
    return;
  std::sort(entries.begin(), entries.end(),
            [](const Entry &a, const Entry &b) { return a.used < b.used; });
  for (const Entry &entry : entries) {
    // A little more, so that this is not due again at once.
    if (total <= options.maxBytes - options.maxBytes / 16)
      break;
    if (!fs::remove(entry.path))
      total -= entry.bytes;
  }
}
