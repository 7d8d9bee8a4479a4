//===- TestHelpers.h - What the tests of AttnCudaRuntime share --*- C++ -*-===//

#ifndef ATTN_TEST_UNIT_CUDA_TESTHELPERS_H
#define ATTN_TEST_UNIT_CUDA_TESTHELPERS_H

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"
#include "gtest/gtest.h"
#include <cstdlib>
#include <optional>
#include <string>

namespace attn::cuda {

/// The error's text, or "" for success.
inline std::string getText(llvm::Error error) {
  return llvm::toString(std::move(error));
}
template <typename T> std::string getText(llvm::Expected<T> value) {
  return llvm::toString(value.takeError());
}

/// The value of a result that a test cannot go on without.
template <typename T> T get(llvm::Expected<T> value) {
  if (!value) {
    ADD_FAILURE() << llvm::toString(value.takeError());
    std::exit(1);
  }
  return std::move(*value);
}

inline void expectSuccess(llvm::Error error) {
  EXPECT_EQ(getText(std::move(error)), "");
}

/// Changed bytes of a package with their own checksum, so that they are read.
inline std::string seal(std::string bytes) {
  size_t size = bytes.size() - sizeof(uint64_t);
  llvm::support::endian::write64le(
      &bytes[size], llvm::xxh3_64bits(llvm::StringRef(bytes).take_front(size)));
  return bytes;
}

inline bool contains(llvm::StringRef text, llvm::StringRef part) {
  return text.contains(part);
}

#ifdef ATTN_FAKE_CUDA
/// Opens the fake driver in place of the real one.
inline void useFakeDriver() { ::setenv("ATTN_LIBCUDA", ATTN_FAKE_CUDA, 1); }
#endif

/// Sets an environment variable, or removes it, until the end of the test.
class ScopedVariable {
public:
  ScopedVariable(const char *name, const char *value) : name(name) {
    if (const char *old = std::getenv(name))
      previous = old;
    set(value);
  }
  ScopedVariable(const ScopedVariable &) = delete;
  ScopedVariable &operator=(const ScopedVariable &) = delete;
  ~ScopedVariable() { set(previous ? previous->c_str() : nullptr); }

private:
  void set(const char *value) {
    if (value)
      ::setenv(name, value, 1);
    else
      ::unsetenv(name);
  }

  const char *name;
  std::optional<std::string> previous;
};

/// A directory that is removed with what is in it.
class ScopedDirectory {
public:
  ScopedDirectory() {
    EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory("attn-test", path));
  }
  ScopedDirectory(const ScopedDirectory &) = delete;
  ScopedDirectory &operator=(const ScopedDirectory &) = delete;
  ~ScopedDirectory() { llvm::sys::fs::remove_directories(path); }

  std::string get(llvm::StringRef name = "") const {
    return name.empty() ? path.str().str() : (path + "/" + name).str();
  }

private:
  llvm::SmallString<128> path;
};

inline void writeFile(const std::string &path, llvm::StringRef contents) {
  std::error_code code;
  llvm::raw_fd_ostream stream(path, code);
  EXPECT_FALSE(code);
  stream << contents;
}

} // namespace attn::cuda

#endif // ATTN_TEST_UNIT_CUDA_TESTHELPERS_H
