//===- TestHelpers.h - What the tests of AttnSupport share ------*- C++ -*-===//

#ifndef ATTN_TEST_UNIT_SUPPORT_TESTHELPERS_H
#define ATTN_TEST_UNIT_SUPPORT_TESTHELPERS_H

#include "attn/Support/Tensor.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"
#include <string>
#include <vector>

namespace attn {

/// The text of an error, "" for success.
inline std::string messageOf(llvm::Error error) {
  return llvm::toString(std::move(error));
}

template <typename T> std::string messageOf(llvm::Expected<T> value) {
  return messageOf(value.takeError());
}

inline Tensor makeZeros(DType dtype, llvm::ArrayRef<int64_t> shape) {
  return llvm::cantFail(Tensor::create(dtype, shape));
}

/// A directory that is there during one test.
class TemporaryDirectory {
public:
  TemporaryDirectory() {
    EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory("attn-test", path));
  }
  ~TemporaryDirectory() { llvm::sys::fs::remove_directories(path); }

  /// The path of a file in the directory.
  std::string operator/(llvm::StringRef name) const {
    llvm::SmallString<128> result(path);
    llvm::sys::path::append(result, name);
    return result.str().str();
  }

  /// Writes a file and returns its path.
  std::string write(llvm::StringRef name, llvm::StringRef content) const {
    std::string file = *this / name;
    std::error_code code;
    llvm::raw_fd_ostream os(file, code);
    EXPECT_FALSE(code);
    os << content;
    return file;
  }

  /// The names in the directory.
  std::vector<std::string> list() const {
    std::vector<std::string> names;
    std::error_code code;
    for (llvm::sys::fs::directory_iterator it(path, code), end; it != end;
         it.increment(code))
      names.push_back(llvm::sys::path::filename(it->path()).str());
    return names;
  }

private:
  llvm::SmallString<128> path;
};

inline std::string readFile(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  return buffer ? (*buffer)->getBuffer().str() : "";
}

} // namespace attn

#endif // ATTN_TEST_UNIT_SUPPORT_TESTHELPERS_H
