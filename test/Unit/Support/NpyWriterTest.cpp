//===- NpyWriterTest.cpp - Tests of writing .npy files --------------------===//

#include "TestHelpers.h"
#include "attn/Support/Npy.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/Threading.h"
#include <csignal>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace attn;
using llvm::StringRef;

namespace {
class NpyWriterTest : public testing::Test {
protected:
  TemporaryDirectory directory;
};
} // namespace

static Tensor makeRange(DType dtype, llvm::ArrayRef<int64_t> shape) {
  Tensor tensor = makeZeros(dtype, shape);
  for (int64_t i = 0; i < tensor.getNumElements(); ++i)
    tensor.setFromDouble(i, double(i));
  return tensor;
}

/// The permissions that a new file has.
static mode_t getMode(const std::string &path) {
  struct stat status;
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return status.st_mode & 07777;
}

TEST_F(NpyWriterTest, theseBytes) {
  std::string path = directory / "a.npy";
  ASSERT_EQ(messageOf(writeNpy(path, makeRange(DType::I16, {3}))), "");
  // What np.save writes, which leaves more room for the header to grow.
  std::string header = "{'descr': '<i2', 'fortran_order': False, "
                       "'shape': (3,), }";
  header.append(117 - header.size(), ' ');
  EXPECT_EQ(readFile(path), std::string("\x93NUMPY\x01\x00v\x00", 10) + header +
                                "\n" +
                                std::string("\x00\x00\x01\x00\x02\x00", 6));
}

TEST_F(NpyWriterTest, roundTrips) {
  for (int code = 0; code < kNumDTypes; ++code)
    for (Shape shape : {Shape(), Shape({0}), Shape({5}), Shape({2, 0, 3}),
                        Shape({2, 3, 4}), Shape(64, 1)}) {
      DType dtype = static_cast<DType>(code);
      Tensor tensor = makeRange(dtype, shape);
      std::string path = directory / "a.npy";
      ASSERT_EQ(messageOf(writeNpy(path, tensor)), "");
      Tensor read = llvm::cantFail(readNpy(path, {dtype, shape}));
      EXPECT_EQ(read.getDType(), dtype);
      EXPECT_EQ(read.getShape(), tensor.getShape());
      EXPECT_EQ(
          memcmp(read.getData(), tensor.getData(), tensor.getSizeInBytes()), 0);
      EXPECT_EQ((readFile(path).size() - tensor.getSizeInBytes()) % 64, 0u);
    }
}

TEST_F(NpyWriterTest, replacesAFileAndKeepsItsPermissions) {
  std::string path = directory.write("a.npy", "old");
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  ASSERT_EQ(messageOf(writeNpy(path, makeRange(DType::F32, {3}))), "");
  EXPECT_EQ(llvm::cantFail(readNpy(path)).getNumElements(), 3);
  EXPECT_EQ(getMode(path), 0640u);
  EXPECT_EQ(directory.list().size(), 1u);
}

TEST_F(NpyWriterTest, newFilesHaveTheUsualPermissions) {
  std::string usual = directory.write("usual", "");
  std::string path = directory / "a.npy";
  ASSERT_EQ(messageOf(writeNpy(path, makeRange(DType::F32, {3}))), "");
  EXPECT_EQ(getMode(path), getMode(usual));
}

TEST_F(NpyWriterTest, followsLinks) {
  // A chain of relative links, first to a file that is not there yet.
  ASSERT_EQ(::mkdir((directory / "sub").c_str(), 0700), 0);
  std::string path = directory / "link.npy";
  ASSERT_EQ(::symlink("sub/second.npy", path.c_str()), 0);
  ASSERT_EQ(::symlink("../target.npy", (directory / "sub/second.npy").c_str()),
            0);
  for (int64_t size : {3, 4}) {
    ASSERT_EQ(messageOf(writeNpy(path, makeRange(DType::F32, {size}))), "");
    Tensor read = llvm::cantFail(readNpy(directory / "target.npy"));
    EXPECT_EQ(read.getNumElements(), size);
    EXPECT_TRUE(llvm::sys::fs::is_symlink_file(path));
  }
  ASSERT_EQ(::symlink("loop", (directory / "loop").c_str()), 0);
  EXPECT_EQ(messageOf(writeNpy(directory / "loop", makeRange(DType::F32, {3}))),
            "cannot write '" + (directory / "loop") +
                "': Too many levels of symbolic links");
}

TEST_F(NpyWriterTest, relativePath) {
  llvm::SmallString<128> previous;
  ASSERT_FALSE(llvm::sys::fs::current_path(previous));
  ASSERT_FALSE(llvm::sys::fs::set_current_path(directory / ""));
  auto restore =
      llvm::scope_exit([&] { llvm::sys::fs::set_current_path(previous); });
  ASSERT_EQ(messageOf(writeNpy("a.npy", makeRange(DType::F32, {3}))), "");
  EXPECT_EQ(llvm::cantFail(readNpy("a.npy")).getNumElements(), 3);
}

TEST_F(NpyWriterTest, threadsWriteToOneFile) {
  std::string path = directory / "a.npy";
  std::vector<std::thread> threads;
  for (int64_t size : {1000, 2000, 3000, 4000})
    threads.emplace_back([size, path] {
      for (int i = 0; i < 50; ++i)
        EXPECT_EQ(messageOf(writeNpy(path, makeRange(DType::F32, {size}))), "");
    });
  for (std::thread &thread : threads)
    thread.join();
  // One of them is there, and whole.
  EXPECT_EQ(llvm::cantFail(readNpy(path)).getNumElements() % 1000, 0);
  EXPECT_EQ(directory.list().size(), 1u);
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

TEST_F(NpyWriterTest, placesThatCannotBeWritten) {
  Tensor tensor = makeRange(DType::F32, {3});
  std::string path = directory / "none/a.npy";
  EXPECT_EQ(messageOf(writeNpy(path, tensor)),
            "cannot write '" + path + "': cannot make a temporary file in '" +
                (directory / "none") + "': No such file or directory");
  EXPECT_EQ(messageOf(writeNpy("", tensor)),
            "cannot write '': No such file or directory");
  EXPECT_EQ(messageOf(writeNpy("/", tensor)),
            "cannot write '/': Is a directory");
  std::string file = directory.write("file", "");
  EXPECT_EQ(messageOf(writeNpy(file + "/a.npy", tensor)),
            "cannot write '" + file + "/a.npy': Not a directory");
  EXPECT_EQ(messageOf(writeNpy("/dev/fd/999", tensor)),
            "cannot write '/dev/fd/999': Bad file descriptor");
}

TEST_F(NpyWriterTest, readOnlyFiles) {
  // In a directory that everybody may write, as a user who is not root: for
  // root nothing is read-only.
  std::string path = directory.write("a.npy", "old");
  ASSERT_EQ(::chmod(path.c_str(), 0444), 0);
  ASSERT_EQ(::chmod((directory / "").c_str(), 0777), 0);
  Tensor tensor = makeRange(DType::F32, {3});
  pid_t child = ::fork();
  if (child == 0) {
    bool isUser = ::getuid() != 0 || ::setuid(65534) == 0;
    ::_exit(isUser && messageOf(writeNpy(path, tensor)) ==
                          "cannot write '" + path + "': Permission denied"
                ? 0
                : 1);
  }
  int status = 1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(readFile(path), "old");
  EXPECT_EQ(directory.list().size(), 1u);
}

/// Runs `body` in a child process, with files limited to `bytes`, and returns
/// whether it returned true.
template <typename Body> static bool runWithFileLimit(size_t bytes, Body body) {
  pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit limit = {bytes, bytes};
    ::_exit(::setrlimit(RLIMIT_FSIZE, &limit) == 0 && body() ? 0 : 1);
  }
  int status = 1;
  ::waitpid(child, &status, 0);
  return status == 0;
}

TEST_F(NpyWriterTest, noRoom) {
  // A limit on the size of files stands for a full disk: write() stores a part
  // of the bytes first, and fails then.
  Tensor tensor = makeRange(DType::F32, {100000});
  std::string path = directory.write("a.npy", "old");
  EXPECT_TRUE(runWithFileLimit(100000, [&] {
    return messageOf(writeNpy(path, tensor)) ==
           "cannot write '" + path + "': File too large";
  }));
  EXPECT_EQ(readFile(path), "old");
  EXPECT_EQ(directory.list(), std::vector<std::string>({"a.npy"}));
  EXPECT_TRUE(runWithFileLimit(
      500000, [&] { return messageOf(writeNpy(path, tensor)).empty(); }));
  EXPECT_EQ(llvm::cantFail(readNpy(path)).getNumElements(), 100000);
}

//===----------------------------------------------------------------------===//
// What is not a regular file
//===----------------------------------------------------------------------===//

TEST_F(NpyWriterTest, devices) {
  Tensor tensor = makeRange(DType::F32, {3});
  EXPECT_EQ(messageOf(writeNpy("/dev/null", tensor)), "");
  EXPECT_EQ(messageOf(writeNpy("/dev/full", tensor)),
            "cannot write '/dev/full': No space left on device");
  std::string link = directory / "full.npy";
  ASSERT_EQ(::symlink("/dev/full", link.c_str()), 0);
  EXPECT_EQ(messageOf(writeNpy(link, tensor)),
            "cannot write '" + link + "': No space left on device");
}

TEST_F(NpyWriterTest, pipes) {
  std::string path = directory / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  // More than a pipe holds.
  Tensor tensor = makeRange(DType::F32, {100000});
  std::string received;
  std::thread reader([&] {
    int fd = ::open(path.c_str(), O_RDONLY);
    char buffer[4096];
    for (ssize_t got; (got = ::read(fd, buffer, sizeof(buffer))) > 0;)
      received.append(buffer, got);
    ::close(fd);
  });
  EXPECT_EQ(messageOf(writeNpy(path, tensor)), "");
  reader.join();
  std::string copy = directory.write("copy.npy", received);
  EXPECT_EQ(llvm::cantFail(readNpy(copy)).getAsDouble(99999), 99999);
}

TEST_F(NpyWriterTest, nonBlockingPipes) {
  int fds[2];
  ASSERT_EQ(::pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
  Tensor tensor = makeRange(DType::F32, {100000});
  size_t received = 0;
  std::thread reader([&] {
    char buffer[4096];
    for (;;) {
      ssize_t got = ::read(fds[0], buffer, sizeof(buffer));
      if (got == 0)
        break;
      if (got > 0)
        received += got;
      else
        ::usleep(100);
    }
  });
  EXPECT_EQ(messageOf(writeNpy("/dev/fd/" + std::to_string(fds[1]), tensor)),
            "");
  ::close(fds[1]);
  reader.join();
  ::close(fds[0]);
  EXPECT_EQ(received, 400128u);
}

TEST_F(NpyWriterTest, descriptorsGoOnWhereTheyAre) {
  // As with `tool > file`, where the tool has printed something before.
  std::string path = directory.write("out", "text\n");
  int fd = ::open(path.c_str(), O_WRONLY | O_APPEND);
  ASSERT_GE(fd, 0);
  Tensor tensor = makeRange(DType::F32, {3});
  for (const char *form : {"/dev/fd/", "/proc/self/fd/"})
    EXPECT_EQ(messageOf(writeNpy(form + std::to_string(fd), tensor)), "");
  ::close(fd);
  std::string content = readFile(path);
  EXPECT_EQ(content.size(), 5u + 2 * 140u);
  EXPECT_TRUE(StringRef(content).starts_with("text\n\x93NUMPY"));
}

TEST_F(NpyWriterTest, standardOutput) {
  std::string path = directory.write("out", "");
  ::fflush(stdout);
  int saved = ::dup(STDOUT_FILENO);
  int fd = ::open(path.c_str(), O_WRONLY);
  ::dup2(fd, STDOUT_FILENO);
  std::string message =
      messageOf(writeNpy("/dev/stdout", makeRange(DType::F32, {3})));
  ::dup2(saved, STDOUT_FILENO);
  ::close(saved);
  ::close(fd);
  EXPECT_EQ(message, "");
  EXPECT_EQ(llvm::cantFail(readNpy(path)).getNumElements(), 3);
  EXPECT_EQ(directory.list(), std::vector<std::string>({"out"}));
}
