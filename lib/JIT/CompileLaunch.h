//===- CompileLaunch.h - The kernels of a launch ----------------*- C++ -*-===//

#ifndef ATTN_LIB_JIT_COMPILELAUNCH_H
#define ATTN_LIB_JIT_COMPILELAUNCH_H

#include "Compilation.h"
#include "Program.h"
#include <deque>
#include <thread>

namespace attn {

/// A kernel with one schedule, and what the assembler says of it.
struct Attempt {
  explicit Attempt(const Candidate &candidate) : candidate(candidate) {}
  ~Attempt() { wait(); }

  /// Starts LLVM's code generator and the assembler. What is for any strides is
  /// assembled by the driver if it is needed.
  void start();
  void wait();
  void emit();
  void assemble();
  /// The most that there are where the assembler has not told.
  int64_t getSpillBytes() const;

  const Candidate &candidate;
  CudaKernel kernel;
  CudaVerdict verdict;
  std::string note;
  /// Why there is no verdict, if there is none.
  std::string failure;
  std::thread thread;
};

/// The compilation of one launch of a module that has gone through the stages
/// of the program, as the only one of a program.
class LaunchCompilation {
public:
  /// `module` is a copy of its own.
  LaunchCompilation(Compilation &compilation, unsigned launch,
                    mlir::OwningOpRef<mlir::ModuleOp> module,
                    const cuda::ListsInfo &lists,
                    DiagnosticCollector &diagnostics, PassTracker &tracker)
      : compilation(compilation), launch(launch), module(std::move(module)),
        lists(lists), diagnostics(diagnostics), tracker(tracker) {}

  /// Makes the kernels that are tried first, and starts to assemble them.
  llvm::Error start();
  /// Waits for that, and tries others while none is compiled well.
  llvm::Expected<KernelPackage> finish();

private:
  void dumpPart(llvm::StringRef name);
  llvm::Error findCandidates();
  llvm::Error startRound();
  llvm::Error startAttempt(size_t number);
  llvm::Error addChecks();
  llvm::Error finishRound(bool takesAll);
  void addVerdict(Attempt &attempt);
  void addVariant(Attempt &attempt);

  Compilation &compilation;
  unsigned launch;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  const cuda::ListsInfo &lists;
  DiagnosticCollector &diagnostics;
  PassTracker &tracker;

  std::vector<CudaForm> forms;
  std::vector<Candidate> candidates;
  std::vector<std::string> parts;
  /// By the numbers of candidates.
  std::deque<Attempt> attempts;
  /// Which are assembled now, which are only if one of these is not compiled
  /// well, and which if no other is.
  llvm::SmallVector<size_t> round, fallbacks, rest;

  KernelMetadata described;
  cuda::CudaProgram program;
  std::optional<cuda::Variant> strided, split;
  /// What runs if no schedule is compiled well: the one that spills least, of
  /// equals the last one that was tried.
  Attempt *leastRejected = nullptr;
};

} // namespace attn

#endif // ATTN_LIB_JIT_COMPILELAUNCH_H
