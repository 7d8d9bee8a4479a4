/*===- FaultyDisk.c - A disk that is full at a moment, for tests ----------===//

  Preloaded, it counts what a process changes in ATTN_FAULT_FOLDER. Before the
  change with the number ATTN_FAULT_AT it kills the process, or from there on
  lets what takes room fail, as ATTN_FAULT says: "kill" or "full".

===----------------------------------------------------------------------===*/

#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier): for syscall */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))

/// Counts a change, and tells whether it fails.
static int fails(const char *path, int takesRoom) {
  static int count;
  const char *folder = getenv("ATTN_FAULT_FOLDER");
  const char *at = getenv("ATTN_FAULT_AT");
  const char *kind = getenv("ATTN_FAULT");
  if (!folder || !at || !kind || strncmp(path, folder, strlen(folder)) != 0 ||
      __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED) < atoi(at))
    return 0;
  if (strcmp(kind, "kill") == 0)
    kill(getpid(), SIGKILL);
  if (takesRoom)
    errno = ENOSPC;
  return takesRoom;
}

static int failsAt(int file, int takesRoom) {
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
  ssize_t size = readlink(link, path, sizeof(path) - 1);
  if (size <= 0)
    return 0;
  path[size] = 0;
  return fails(path, takesRoom);
}

static int openFile(const char *path, int flags, mode_t mode) {
  if ((flags & O_CREAT) && fails(path, access(path, F_OK) != 0))
    return -1;
  return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

#define DEFINE_OPEN(name)                                                      \
  PUBLIC int name(const char *path, int flags, ...) {                          \
    va_list list;                                                              \
    va_start(list, flags);                                                     \
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(list, mode_t) : 0;  \
    va_end(list);                                                              \
    return openFile(path, flags, mode);                                        \
  }
DEFINE_OPEN(open)
DEFINE_OPEN(open64)

PUBLIC ssize_t write(int file, const void *data, size_t size) {
  return failsAt(file, 1) ? -1 : syscall(SYS_write, file, data, size);
}

#define DEFINE_PWRITE(name)                                                    \
  PUBLIC ssize_t name(int file, const void *data, size_t size, off_t at) {     \
    return failsAt(file, 1) ? -1                                               \
                            : syscall(SYS_pwrite64, file, data, size, at);     \
  }
DEFINE_PWRITE(pwrite)
DEFINE_PWRITE(pwrite64)

#define DEFINE_TRUNCATE(name)                                                  \
  PUBLIC int name(int file, off_t size) {                                      \
    return failsAt(file, 0) ? -1 : (int)syscall(SYS_ftruncate, file, size);    \
  }
DEFINE_TRUNCATE(ftruncate)
DEFINE_TRUNCATE(ftruncate64)

PUBLIC int fsync(int file) {
  return failsAt(file, 0) ? -1 : (int)syscall(SYS_fsync, file);
}

PUBLIC int fdatasync(int file) {
  return failsAt(file, 0) ? -1 : (int)syscall(SYS_fdatasync, file);
}

PUBLIC int mkdir(const char *path, mode_t mode) {
  return fails(path, access(path, F_OK) != 0)
             ? -1
             : (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}

PUBLIC int rename(const char *from, const char *to) {
  if (fails(to, 0))
    return -1;
  return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

PUBLIC int remove(const char *path) {
  if (fails(path, 0))
    return -1;
  int result = (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
  if (result != 0 && errno == EISDIR)
    result = (int)syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR);
  return result;
}

PUBLIC int unlink(const char *path) {
  return fails(path, 0) ? -1 : (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}
