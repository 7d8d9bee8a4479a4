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
#include <utility>

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
    fs::remove_directories(path);
    ::close(fd);
  }
}

/// Whether a path names the folder of a descriptor.
static bool isAt(int fd, const llvm::Twine &path) {
  struct stat own, named;
  return ::fstat(fd, &own) == 0 && ::stat(path.str().c_str(), &named) == 0 &&
         own.st_ino == named.st_ino && own.st_dev == named.st_dev;
}

llvm::Error Folder::create() {
  llvm::SmallString<128> parent;
  llvm::sys::path::system_temp_directory(/*erasedOnReboot=*/true, parent);
  removeStale(parent);
  // Another tuning may take a folder for a stale one before it is locked: then
  // there is a lock of a folder that is gone, and the next one is tried.
  for (int attempt = 0; attempt < 100; ++attempt) {
    if (std::error_code code =
            fs::createUniqueDirectory(kPrefix.drop_back(), path))
      return llvm::createStringError("cannot make a folder to tune in: " +
                                     code.message());
    fd = openFolder(path);
    if (fd < 0 && errno == ENOENT)
      continue;
    int code = -1;
    while (fd >= 0 && (code = ::flock(fd, LOCK_EX)) != 0 && errno == EINTR)
      ;
    if (code != 0)
      return llvm::createStringError("cannot lock the folder to tune in: " +
                                     llvm::sys::StrError(errno));
    if (isAt(fd, path))
      return llvm::Error::success();
    ::close(std::exchange(fd, -1));
  }
  return llvm::createStringError(
      "cannot lock the folder to tune in: others remove it");
}

Folder::~Folder() {
  if (!path.empty())
    fs::remove_directories(path);
  if (fd >= 0)
    ::close(fd);
}
