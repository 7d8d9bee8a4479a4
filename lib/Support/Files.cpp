//===- Files.cpp - Files of a user ----------------------------------------===//

#include "attn/Support/Files.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>

namespace path = llvm::sys::path;

std::string attn::getUserPath(const char *variable, const char *base,
                              llvm::StringRef fallback, llvm::StringRef name) {
  if (const char *value = std::getenv(variable)) {
    llvm::StringRef text = value;
    return text.empty() || text == "0" || text == "off" ? "" : text.str();
  }
  llvm::SmallString<128> result;
  const char *folder = std::getenv(base);
  // The standard says to ignore a relative one.
  if (folder && path::is_absolute(folder)) {
    result = folder;
  } else {
    if (!path::home_directory(result) || !path::is_absolute(result))
      return "";
    path::append(result, fallback);
  }
  path::append(result, "attn");
  if (!name.empty())
    path::append(result, name);
  return result.str().str();
}

llvm::Error attn::writeFile(const std::string &path, llvm::StringRef bytes) {
  std::error_code code;
  llvm::raw_fd_ostream os(path, code);
  if (!code) {
    os << bytes;
    os.close();
    code = os.error();
    os.clear_error();
  }
  if (code)
    return llvm::createStringError("cannot write '" + path +
                                   "': " + code.message());
  return llvm::Error::success();
}
