//===- Folder.cpp - The files of a tuning ---------------------------------===//

#include "Folder.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace attn::tune;
namespace fs = llvm::sys::fs;

static constexpr llvm::StringLiteral kPrefix = "attn-tune-";

static int openFolder(const llvm::Twine &path) {
  return ::open(path.str().c_str(),
                O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/// A descriptor of a folder of this user that nobody else has locked, or -1.
static int lockOwn(const llvm::Twine &path) {
  int fd = openFolder(path);
  struct stat status;
  if (fd >= 0 && (::fstat(fd, &status) != 0 || status.st_uid != ::geteuid() ||
                  ::flock(fd, LOCK_EX | LOCK_NB) != 0)) {
    ::close(fd);
    return -1;
  }
  return fd;
}

/// Removes the folders of processes of this user that were killed. What cannot
/// be removed stays.
static void removeStale(llvm::StringRef parent) {
  std::error_code code;
  for (fs::directory_iterator at(parent, code), end; !code && at != end;
       at.increment(code)) {
    llvm::StringRef path = at->path();
    if (!llvm::sys::path::filename(path).starts_with(kPrefix))
      continue;
    int fd = lockOwn(path);
    if (fd < 0)
      continue;
    // Between its making and its lock a folder is empty.
    std::error_code inner;
    bool isEmpty =
        fs::directory_iterator(path, inner) == fs::directory_iterator();
    if (!isEmpty)
      fs::remove_directories(path);
    ::close(fd);
  }
}

llvm::Error Folder::create() {
  llvm::SmallString<128> parent;
  llvm::sys::path::system_temp_directory(/*erasedOnReboot=*/true, parent);
  removeStale(parent);
  if (std::error_code code =
          fs::createUniqueDirectory(kPrefix.drop_back(), path))
    return llvm::createStringError("cannot make a folder to tune in: " +
                                   code.message());
  // Another tuning may have locked it for the moment in which it sees that the
  // folder is empty.
  fd = openFolder(path);
  int code = -1;
  while (fd >= 0 && (code = ::flock(fd, LOCK_EX)) != 0 && errno == EINTR)
    ;
  if (code != 0)
    return llvm::createStringError("cannot lock the folder to tune in: " +
                                   llvm::sys::StrError(errno));
  return llvm::Error::success();
}

Folder::~Folder() {
  if (!path.empty())
    fs::remove_directories(path);
  if (fd >= 0)
    ::close(fd);
}
