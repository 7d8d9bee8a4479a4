//===- CompileReport.h - What a compilation did -----------------*- C++ -*-===//

#ifndef ATTN_JIT_COMPILEREPORT_H
#define ATTN_JIT_COMPILEREPORT_H

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include <cstddef>
#include <string>
#include <vector>

namespace attn {

/// What a compilation did.
struct CompileReport {
  struct Stage {
    std::string name;
    double milliseconds = 0;
  };
  /// In the order they ran: "parse", the stages of the pipeline, "translate",
  /// "optimize", "codegen", and "load" for a kernel. For a GPU, code is made of
  /// a kernel while the next one is translated, and "assemble" is the time to
  /// wait for that. A package that was kept on disk has "cache" alone, the time
  /// to find and read it.
  std::vector<Stage> stages;
  /// What the compiler tells of a decision.
  struct Remark {
    /// "file:line:column", "" where it is not known.
    std::string location;
    /// Such as "schedule-rejected".
    std::string name;
    /// The schedule that it is about, "" if it is about none.
    std::string schedule;
    std::string text;

    /// The schedule, if any, and what is told of it.
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
  /// The processor and the instruction sets, or the GPU, it was compiled for.
  std::string target;
  /// Whether the next compilation will give the same: not if an assembler ran
  /// out of time.
  bool isRepeatable = true;

  double getTotalMilliseconds() const {
    double total = 0;
    for (const Stage &stage : stages)
      total += stage.milliseconds;
    return total;
  }

  /// The remarks of a name: "schedule" for those of a kernel for a CPU, one for
  /// each attention.
  std::vector<Remark> getRemarks(llvm::StringRef name) const {
    std::vector<Remark> found;
    llvm::copy_if(remarks, std::back_inserter(found),
                  [&](const Remark &remark) { return remark.name == name; });
    return found;
  }
};

} // namespace attn

#endif // ATTN_JIT_COMPILEREPORT_H
