//===- Worker.h - Kernels that run in a child process -----------*- C++ -*-===//
//
// What is measured may crash, hang or leave a GPU without memory, so that it
// runs in a process of its own. A command is a line, and so is an answer: "ok",
// with what was asked for, or "error" with a text.
//
//   input FILE.npy TYPE   the next input of all kernels
//   load FILE             the kernel package in a file; kernels have the
//                         numbers 0, 1, ..., and all of them the same results
//   drop N                forgets a kernel, whose number stays taken
//   run N T               runs a kernel once on T threads, 0 for all, on
//                         results of its own, of NaNs before
//   free N                forgets the results of a kernel
//   compare N M           whether the results of two kernels that have run are
//                         equal: "ok same", or "ok differ" with the largest
//                         difference and the largest element of each; an error
//                         where one is not finite and the other is
//   save N PREFIX         writes the results to PREFIX0.npy, PREFIX1.npy, ...
//   measure N T COUNT     the seconds of up to COUNT runs on T threads, 0 for
//                         all, on results that all kernels share
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TUNE_WORKER_H
#define ATTN_TUNE_WORKER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace attn::tune {

/// Reads commands from the file `in` until its end, and answers in `out`. What
/// a program that was started as a worker does, and nothing else.
void runWorker(int in, int out);

/// A worker as its parent sees it.
class WorkerProcess {
public:
  using Seconds = std::chrono::duration<double>;

  /// Starts a program that calls runWorker(0, 1): its path and arguments.
  static llvm::Expected<WorkerProcess>
  start(llvm::ArrayRef<std::string> command);

  WorkerProcess(WorkerProcess &&other) { *this = std::move(other); }
  WorkerProcess &operator=(WorkerProcess &&other) {
    std::swap(process, other.process);
    std::swap(toChild, other.toChild);
    std::swap(fromChild, other.fromChild);
    std::swap(rest, other.rest);
    return *this;
  }
  /// Ends the process.
  ~WorkerProcess() { end(); }

  /// What follows "ok " in the answer. An error of the worker, its death or no
  /// answer in time is an error; after the last two it is gone (isRunning).
  llvm::Expected<std::string> ask(const std::string &command, Seconds limit);

  bool isRunning() const { return process > 0; }

private:
  WorkerProcess() = default;
  /// How it ended: "killed by signal 11".
  std::string end();

  int process = -1, toChild = -1, fromChild = -1;
  std::string rest;
};

} // namespace attn::tune

#endif // ATTN_TUNE_WORKER_H
