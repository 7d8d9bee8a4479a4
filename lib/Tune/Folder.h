//===- Folder.h - The files of a tuning -------------------------*- C++ -*-===//

#ifndef ATTN_LIB_TUNE_FOLDER_H
#define ATTN_LIB_TUNE_FOLDER_H

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include <string>

namespace attn::tune {

/// A folder among the temporary files that goes with what is in it. One whose
/// process was killed goes when the next one is made.
class Folder {
public:
  Folder() = default;
  Folder(const Folder &) = delete;
  Folder &operator=(const Folder &) = delete;
  ~Folder();

  llvm::Error create();
  std::string get(const llvm::Twine &name) const {
    return (path + "/" + name).str();
  }

private:
  llvm::SmallString<128> path;
  /// Of the folder, which is locked as long as its process lives.
  int fd = -1;
};

} // namespace attn::tune

#endif // ATTN_LIB_TUNE_FOLDER_H
