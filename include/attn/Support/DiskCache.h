//===- DiskCache.h - Compiled code on disk ----------------------*- C++ -*-===//
//
// Keeps results of compilations between processes. A cache can only make things
// faster: whatever is wrong with its directory, the disk or an entry, the
// result is that nothing is found or nothing is kept, and never an error.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_SUPPORT_DISKCACHE_H
#define ATTN_SUPPORT_DISKCACHE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/SHA256.h"
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace attn {

using CacheKey = std::array<uint8_t, 32>;

/// Makes a key from everything that a result depends on: the program, the
/// schedule, the versions of all compilers, the chip. Fields are hashed with
/// their lengths, so that ("ab", "c") is not ("a", "bc").
class KeyBuilder {
public:
  KeyBuilder &add(llvm::StringRef field);
  KeyBuilder &add(int64_t field);
  /// The key of what was added; more may be added afterwards.
  CacheKey get();

private:
  llvm::SHA256 hash;
};

class DiskCache {
public:
  struct Options {
    /// Entries that were not used for longest go when there is more.
    uint64_t maxBytes = uint64_t(1) << 30;
  };

  /// The user's cache: in the directory ATTN_CACHE_DIR, otherwise in
  /// $XDG_CACHE_HOME/attn, otherwise in ~/.cache/attn. There is none if
  /// ATTN_CACHE_DIR is empty, "0" or "off", or without a home. ATTN_CACHE_MB
  /// is how many MiB it may hold.
  static DiskCache getDefault();

  /// A cache that keeps nothing.
  DiskCache() = default;

  /// A cache in a directory, which is made when something is kept.
  explicit DiskCache(std::string directory)
      : DiskCache(std::move(directory), Options()) {}
  DiskCache(std::string directory, Options options)
      : directory(std::move(directory)), options(options) {}

  bool isEnabled() const { return !directory.empty(); }
  const std::string &getDirectory() const { return directory; }

  /// What was kept under a key. An entry that is damaged, or that another
  /// version or another user (but root) has written, counts as absent.
  std::optional<std::string> lookup(const CacheKey &key) const;

  /// Keeps bytes under a key. Any number of processes may do so at the same
  /// time; others see the old entry, the new one, or none. Returns whether the
  /// bytes are kept, which only tests need to know.
  bool store(const CacheKey &key, llvm::StringRef bytes) const;

  /// Calls `visit` with what was kept under each key, until it returns false.
  void forEach(llvm::function_ref<bool(llvm::StringRef bytes)> visit) const;

  /// The right to make what belongs under a key, until its end. It is advice:
  /// where it cannot be had, the work is done twice.
  class Turn {
  public:
    Turn() = default;
    Turn(Turn &&other) { *this = std::move(other); }
    Turn &operator=(Turn &&other) {
      std::swap(fd, other.fd);
      std::swap(path, other.path);
      return *this;
    }
    ~Turn();

  private:
    friend class DiskCache;
    int fd = -1;
    std::string path;
  };

  /// Waits until no other thread or process of this machine has the turn for a
  /// key, until they have kept something under it, or for so long; a process
  /// that ends loses its turn.
  Turn takeTurn(const CacheKey &key, std::chrono::milliseconds limit) const;

  /// Removes the entries that were used least recently until there is room for
  /// one more, and files that ended processes have left behind. `store` does
  /// so from time to time.
  void prune() const;

private:
  std::string getPath(const CacheKey &key) const;

  std::string directory;
  Options options;
};

} // namespace attn

#endif // ATTN_SUPPORT_DISKCACHE_H
