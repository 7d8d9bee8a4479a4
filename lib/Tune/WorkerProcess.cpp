//===- WorkerProcess.cpp - A worker as its parent sees it -----------------===//

#include "attn/Tune/Worker.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FormatVariadic.h"
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace attn::tune;

extern char **environ;

llvm::Expected<WorkerProcess>
WorkerProcess::start(llvm::ArrayRef<std::string> command) {
  if (command.empty())
    return llvm::createStringError("expects a program for a worker");
  // A socket, as a write to one that is closed can be kept from raising a
  // signal.
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return llvm::createStringError("cannot start a worker: " +
                                   llvm::sys::StrError(errno));
  std::vector<char *> arguments;
  for (const std::string &argument : command)
    arguments.push_back(const_cast<char *>(argument.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], 0);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  pid_t process = -1;
  int code = ::posix_spawnp(&process, arguments[0], &actions, nullptr,
                            arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  WorkerProcess worker;
  worker.toChild = worker.fromChild = ends[0];
  if (code != 0)
    return llvm::createStringError(
        std::make_error_code(std::errc::invalid_argument),
        "cannot start '" + command[0] +
            "' as a worker: " + llvm::sys::StrError(code));
  worker.process = process;
  return std::move(worker);
}

std::string WorkerProcess::end() {
  if (fromChild >= 0)
    ::close(fromChild);
  toChild = fromChild = -1;
  if (process <= 0)
    return "";
  int status = 0;
  // It may have ended by itself, which its status then tells.
  if (::waitpid(process, &status, WNOHANG) == 0) {
    // A moment, for one that is about to.
    ::usleep(20000);
    if (::waitpid(process, &status, WNOHANG) == 0) {
      ::kill(process, SIGKILL);
      while (::waitpid(process, &status, 0) < 0 && errno == EINTR)
        ;
    }
  }
  process = -1;
  return WIFSIGNALED(status)
             ? "signal " + std::to_string(WTERMSIG(status))
             : "exit code " + std::to_string(WEXITSTATUS(status));
}

llvm::Expected<std::string> WorkerProcess::ask(const std::string &command,
                                               Seconds limit) {
  auto fail = [&]() {
    return llvm::createStringError("the process ended with " + end());
  };
  if (!isRunning())
    return llvm::createStringError("the process has ended");
  std::string line = command + "\n";
  for (size_t sent = 0; sent < line.size();) {
    ssize_t count =
        ::send(toChild, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return fail();
    sent += count;
  }
  auto deadline = std::chrono::steady_clock::now() + limit;
  size_t newline;
  while ((newline = rest.find('\n')) == std::string::npos) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd readable = {fromChild, POLLIN, 0};
    int ready = left.count() <= 0
                    ? 0
                    : ::poll(&readable, 1,
                             int(std::min<int64_t>(left.count() + 1, 1 << 30)));
    if (ready < 0 && errno == EINTR)
      continue;
    if (ready == 0) {
      end();
      return llvm::createStringError(
          llvm::formatv("it took longer than {0:F1} s", limit.count()).str());
    }
    char buffer[4096];
    ssize_t count = ::read(fromChild, buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return fail();
    rest.append(buffer, count);
  }
  std::string answer = rest.substr(0, newline);
  rest.erase(0, newline + 1);
  llvm::StringRef text = answer;
  if (text.consume_front("ok"))
    return text.ltrim().str();
  if (text.consume_front("error "))
    return llvm::createStringError(text);
  return llvm::createStringError(
      std::make_error_code(std::errc::invalid_argument),
      "expects the command of a worker to run attnTuneWorker, but it wrote '" +
          text + "'");
}
