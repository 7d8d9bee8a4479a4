//===- Ptxas.h - NVIDIA's assembler -----------------------------*- C++ -*-===//
//
// ptxas turns PTX into a binary for one chip, and reports what the driver's own
// compiler keeps to itself: registers, spills, and whether it has serialised
// the matrix instructions.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_CUDA_PTXAS_H
#define ATTN_RUNTIME_CUDA_PTXAS_H

#include "attn/Runtime/Cuda/KernelInfo.h"
#include <string>
#include <vector>

namespace attn::cuda {

/// What ptxas says beyond numbers.
struct PtxasMessage {
  enum Severity { Info, Warning, Error };
  Severity severity = Info;
  /// "C7510", or "".
  std::string code;
  std::string text;
};

/// What ptxas says of the code, with the numbers of one function, or the
/// largest of all.
struct PtxasReport {
  Resources resources;
  int32_t spillStoreBytes = 0, spillLoadBytes = 0;
  /// Without those that tell the numbers.
  std::vector<PtxasMessage> messages;
};

/// Reads the output of ptxas -v, the numbers of function `entry`, or of all if
/// it is empty. Lines that it does not know are messages.
PtxasReport parsePtxasOutput(llvm::StringRef output,
                             llvm::StringRef entry = "");

/// Whether code is worth running: it spills registers with at most `spillBytes`
/// of stores and loads together, and ptxas has neither serialised its matrix
/// instructions nor ignored its register limits (messages C7500 to C7599; C7519
/// is fine, it only tells of an inserted fence). `reason` says why not, or what
/// it spills.
bool isAcceptable(const PtxasReport &report, int64_t spillBytes = 0,
                  std::string *reason = nullptr);

struct PtxasResult {
  std::string cubin;
  /// All that ptxas has said.
  std::string log;
  PtxasReport report;
};

struct PtxasOptions {
  /// As ptxas names it, such as "sm_90a".
  std::string chip;
  /// More arguments, such as "-O1".
  std::vector<std::string> arguments;
  /// The function that the numbers of the report are of, or "" for all.
  std::string entry;
  /// After that it is ended, and the compilation has failed.
  double timeoutSeconds = 120;
};

/// An assembler that is installed here. Any number of threads may use one.
class Ptxas {
public:
  /// The program that the environment variable ATTN_PTXAS names, otherwise
  /// "ptxas" in PATH, in $CUDA_HOME/bin, or in /usr/local/cuda/bin.
  static llvm::Expected<Ptxas> find();

  explicit Ptxas(std::string path) : path(std::move(path)) {}

  const std::string &getPath() const { return path; }

  /// The version as ptxas tells it, for the key of a cache: the last line of
  /// its --version.
  llvm::Expected<std::string> getVersion() const;

  /// Compiles a PTX text. Fails if ptxas rejects it, with its messages.
  llvm::Expected<PtxasResult> compile(llvm::StringRef ptx,
                                      const PtxasOptions &options) const;

private:
  std::string path;
};

} // namespace attn::cuda

#endif // ATTN_RUNTIME_CUDA_PTXAS_H
