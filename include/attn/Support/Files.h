//===- Files.h - Files of a user --------------------------------*- C++ -*-===//

#ifndef ATTN_SUPPORT_FILES_H
#define ATTN_SUPPORT_FILES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace attn {

/// What an environment variable says of a place for files: a path, or "" for
/// none if it is empty, "0" or "off". Where it is not set, "attn" and `name`
/// below the folder of the XDG Base Directory Specification that the variable
/// `base` names, which is `fallback` in the home unless it is an absolute path;
/// "" without a home.
std::string getUserPath(const char *variable, const char *base,
                        llvm::StringRef fallback, llvm::StringRef name = "");

/// Writes a file, which "-" is standard output for; an error names it.
llvm::Error writeFile(const std::string &path, llvm::StringRef bytes);

} // namespace attn

#endif // ATTN_SUPPORT_FILES_H
