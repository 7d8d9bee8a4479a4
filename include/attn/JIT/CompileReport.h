//===- CompileReport.h - What a compilation did -----------------*- C++ -*-===//

#ifndef ATTN_JIT_COMPILEREPORT_H
#define ATTN_JIT_COMPILEREPORT_H

#include "llvm/ADT/StringExtras.h"
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
  /// The compiler's remarks, one a line: "location: remark: name: text".
  std::string remarks;
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

  /// A schedule for a CPU, and what it is for.
  struct Schedule {
    std::string schedule, reason;
  };
  /// Those of a kernel for a CPU, one for each attention.
  std::vector<Schedule> getSchedules() const {
    std::vector<Schedule> schedules;
    for (llvm::StringRef text : getRemarks("schedule")) {
      // They nest no others.
      size_t end = text.find('>');
      if (end != llvm::StringRef::npos)
        schedules.push_back({text.take_front(end + 1).str(),
                             text.drop_front(end + 1).ltrim(",: ").str()});
    }
    return schedules;
  }

  /// The texts of the remarks of a name, such as "schedule-rejected".
  std::vector<std::string> getRemarks(llvm::StringRef name) const {
    std::vector<std::string> texts;
    std::string mark = (" " + name + ": ").str();
    for (llvm::StringRef line : llvm::split(remarks, '\n'))
      if (size_t at = line.find(mark); at != line.npos)
        texts.push_back(line.drop_front(at + mark.size()).str());
    return texts;
  }
};

} // namespace attn

#endif // ATTN_JIT_COMPILEREPORT_H
