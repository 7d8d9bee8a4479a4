//===- Progress.h - What the tool is doing, on a terminal -------*- C++ -*-===//

#ifndef ATTN_TOOLS_ATTNRUN_PROGRESS_H
#define ATTN_TOOLS_ATTNRUN_PROGRESS_H

#include "llvm/ADT/StringRef.h"

namespace attn::cli {

/// One line on stderr that tells the current step. Prints nothing unless stderr
/// is a terminal.
class Progress {
public:
  Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;
  ~Progress() { clear(); }

  /// Replaces the line.
  void show(const llvm::Twine &step);
  /// Removes the line.
  void clear();

private:
  bool isTerminal;
  bool isShown = false;
};

} // namespace attn::cli

#endif // ATTN_TOOLS_ATTNRUN_PROGRESS_H
