//===- CompileReport.h - What a compilation did -----------------*- C++ -*-===//

#ifndef ATTN_JIT_COMPILEREPORT_H
#define ATTN_JIT_COMPILEREPORT_H

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include <cstddef>
#include <string>
#include <vector>

namespace attn {

/// The report of a compilation.
struct CompileReport {
  struct Stage {
    std::string name;
    double milliseconds = 0;
  };
  /// In the order in which they ran: "parse", the stages of the pipeline,
  /// "translate", "optimize", "codegen", and "load" for a kernel. For a GPU, a
  /// kernel is assembled while the next one is translated, and "assemble" is
  /// the time to wait for that. A package from the disk has only "cache", the
  /// time to find and read it.
  std::vector<Stage> stages;
  /// A remark of the compiler on a decision.
  struct Remark {
    /// "file:line:column", "" if unknown.
    std::string location;
    /// Such as "schedule-rejected".
    std::string name;
    /// The schedule that the remark is about, or "".
    std::string schedule;
    std::string text;

    /// The schedule, if any, and the text.
    std::string getMessage() const {
      return schedule + (schedule.empty() || text.empty() ? "" : ": ") + text;
    }
    /// "location: remark: name: message"
    std::string toString() const {
      return location + (location.empty() ? "" : ": ") + "remark: " + name +
             ": " + getMessage();
    }
  };
  std::vector<Remark> remarks;
  /// Warnings, as they would be printed.
  std::string warnings;
  /// The size of the object file in bytes, and of all code for a GPU.
  size_t objectSize = 0;
  /// The target: the processor and its instruction sets, or the GPU.
  std::string target;
  /// Whether another compilation gives the same kernel: not if the assembler
  /// ran out of time.
  bool isRepeatable = true;

  double getTotalMilliseconds() const {
    double total = 0;
    for (const Stage &stage : stages)
      total += stage.milliseconds;
    return total;
  }

  /// The remarks with a name, such as "schedule", of which a kernel for a CPU
  /// has one for each attention.
  std::vector<Remark> getRemarks(llvm::StringRef name) const {
    std::vector<Remark> found;
    llvm::copy_if(remarks, std::back_inserter(found),
                  [&](const Remark &remark) { return remark.name == name; });
    return found;
  }
};

} // namespace attn

#endif // ATTN_JIT_COMPILEREPORT_H
