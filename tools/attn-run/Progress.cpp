//===- Progress.cpp - What the tool is doing, on a terminal ---------------===//

#include "Progress.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"
#include <unistd.h>

using namespace attn::cli;

/// To the first column, and erase to the end of the line.
static constexpr char kErase[] = "\r\033[K";

Progress::Progress() : isTerminal(::isatty(STDERR_FILENO)) {}

void Progress::show(const llvm::Twine &step) {
  if (!isTerminal)
    return;
  llvm::errs() << kErase << "attn-run: " << step << " ...";
  isShown = true;
}

void Progress::clear() {
  if (isShown)
    llvm::errs() << kErase;
  isShown = false;
}
