//===- NpyWriter.cpp - Writing of .npy files ------------------------------===//

#include "NpyHeader.h"
#include "attn/Support/Npy.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Errc.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/Path.h"
#include <atomic>
#include <climits>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace attn;
using llvm::Error;
using llvm::StringRef;

namespace {
/// An open file, closed at the end of the scope.
class File {
public:
  explicit File(int fd) : fd(fd) {}
  File(const File &) = delete;
  File &operator=(const File &) = delete;
  ~File() {
    if (fd >= 0)
      ::close(fd);
  }

  bool isOpen() const { return fd >= 0; }
  int get() const { return fd; }

  /// Writes all bytes.
  Error write(StringRef bytes);

  /// Closes the file. Some file systems report only here that a write failed.
  Error close();

private:
  int fd;
};

/// Removes a file at the end of the scope unless it was renamed.
class TemporaryName {
public:
  explicit TemporaryName(std::string name) : name(std::move(name)) {}
  TemporaryName(const TemporaryName &) = delete;
  TemporaryName &operator=(const TemporaryName &) = delete;
  ~TemporaryName() {
    if (!name.empty())
      ::unlink(name.c_str());
  }

  Error renameTo(const std::string &target) {
    if (::rename(name.c_str(), target.c_str()) != 0)
      return llvm::errorCodeToError(llvm::errnoAsErrorCode());
    name.clear();
    return Error::success();
  }

private:
  std::string name;
};
} // namespace

Error File::write(StringRef bytes) {
  while (!bytes.empty()) {
    ssize_t done = ::write(fd, bytes.data(), bytes.size());
    if (done >= 0) {
      bytes = bytes.drop_front(done);
      continue;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      // Somebody made this pipe or terminal non-blocking.
      pollfd request = {fd, POLLOUT, 0};
      if (::poll(&request, 1, -1) >= 0)
        continue;
    }
    if (errno != EINTR)
      return llvm::errorCodeToError(llvm::errnoAsErrorCode());
  }
  return Error::success();
}

Error File::close() {
  int result = ::close(fd);
  fd = -1;
  // An interrupted close has closed the file.
  return result != 0 && errno != EINTR
             ? llvm::errorCodeToError(llvm::errnoAsErrorCode())
             : Error::success();
}

static Error writeTo(File &file, const Tensor &tensor) {
  if (Error error =
          file.write(formatNpyStart(tensor.getDType(), tensor.getShape())))
    return error;
  if (Error error =
          file.write(StringRef(static_cast<const char *>(tensor.getData()),
                               tensor.getSizeInBytes())))
    return error;
  return file.close();
}

/// The number of the open descriptor that a path stands for. Such a path is not
/// opened again: that would start at the front of a redirected file.
static std::optional<int> getDescriptor(StringRef path) {
  if (path == "/dev/stdout")
    return STDOUT_FILENO;
  if (path == "/dev/stderr")
    return STDERR_FILENO;
  int number;
  if ((path.consume_front("/dev/fd/") ||
       path.consume_front("/proc/self/fd/")) &&
      !path.getAsInteger(10, number) && number >= 0)
    return number;
  return std::nullopt;
}

/// The file that a chain of symbolic links ends at, which need not exist.
static std::string followLinks(std::string path) {
  // The system gives up after 40 links, too; what is left is a link, and using
  // it as a file tells the error.
  for (int i = 0; i < 40; ++i) {
    char buffer[PATH_MAX];
    ssize_t size = ::readlink(path.c_str(), buffer, sizeof(buffer));
    if (size <= 0 || size == ssize_t(sizeof(buffer)))
      break;
    StringRef link(buffer, size);
    if (llvm::sys::path::is_absolute(link)) {
      path = link.str();
      continue;
    }
    llvm::SmallString<256> joined(llvm::sys::path::parent_path(path));
    llvm::sys::path::append(joined, link);
    path = joined.str().str();
  }
  return path;
}

/// Replaces or creates the regular file `target`; `status` describes the old
/// one, if any.
static Error writeRegular(const std::string &target, const struct stat *status,
                          const Tensor &tensor) {
  // Renaming needs only the directory's permission.
  if (status && ::access(target.c_str(), W_OK) != 0)
    return llvm::errorCodeToError(llvm::errnoAsErrorCode());
  StringRef parent = llvm::sys::path::parent_path(target);
  llvm::SmallString<256> directory(parent.empty() ? "." : parent);
  static std::atomic<unsigned> counter{0};
  std::string name;
  int fd;
  do {
    llvm::SmallString<256> path(directory);
    llvm::sys::path::append(path, ".attn-" + llvm::Twine(::getpid()) + "-" +
                                      llvm::Twine(counter++) + ".tmp");
    name = path.str().str();
    fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (fd < 0 && (errno == EEXIST || errno == EINTR));
  if (fd < 0)
    return llvm::createStringError("cannot make a temporary file in '" +
                                   directory +
                                   "': " + llvm::sys::StrError(errno));
  TemporaryName temporary(name);
  File file(fd);
  if (status)
    (void)::fchmod(fd, status->st_mode & 07777);
  if (Error error = writeTo(file, tensor))
    return error;
  return temporary.renameTo(target);
}

static Error write(StringRef path, const Tensor &tensor) {
  if (std::optional<int> descriptor = getDescriptor(path)) {
    File file(::fcntl(*descriptor, F_DUPFD_CLOEXEC, 0));
    return file.isOpen() ? writeTo(file, tensor)
                         : llvm::errorCodeToError(llvm::errnoAsErrorCode());
  }
  std::string target = followLinks(path.str());
  struct stat status;
  if (::stat(target.c_str(), &status) != 0) {
    if (errno != ENOENT || path.empty())
      return llvm::errorCodeToError(llvm::errnoAsErrorCode());
    return writeRegular(target, nullptr, tensor);
  }
  if (S_ISREG(status.st_mode))
    return writeRegular(target, &status, tensor);
  File file(llvm::sys::RetryAfterSignal(-1, ::open, target.c_str(),
                                        O_WRONLY | O_CLOEXEC));
  return file.isOpen() ? writeTo(file, tensor)
                       : llvm::errorCodeToError(llvm::errnoAsErrorCode());
}

Error attn::writeNpy(StringRef path, const Tensor &tensor) {
  if (Error error = write(path, tensor))
    return llvm::createStringError("cannot write '" + path +
                                   "': " + llvm::toString(std::move(error)));
  return Error::success();
}
