//===- Compiler.h - From a program to a kernel package ----------*- C++ -*-===//
//
// The compiler half of the library: MLIR in, a kernel package out. Kernel.h
// has the loader half, and the one call that does both.
//
// All functions may be called from several threads at once.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_JIT_COMPILER_H
#define ATTN_JIT_COMPILER_H

#include "attn/JIT/CompileReport.h"
#include "attn/Runtime/KernelPackage.h"
#include <functional>
#include <optional>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace attn {

/// Whether a kernel takes schedules from databases of what was measured.
enum class Tuning {
  /// What the compiler chooses.
  Off,
  /// What is known to be fastest for extents like those of a call, and
  /// otherwise what the compiler chooses.
  Auto
};

struct CompileOptions {
  /// The function to compile; if empty, the only public one.
  std::string entry;
  /// The name of the program in diagnostics.
  std::string bufferName = "<input>";
  /// Whether reads of captures are checked at run time.
  bool boundsCheck = false;
  /// Effort of LLVM, 0 to 3; for a kernel of a GPU it is at least 1.
  unsigned optLevel = 3;
  /// What the kernel runs on. Compiling for a GPU needs none.
  DeviceKind device = DeviceKind::CPU;
  /// The processor to compile for: empty for the one this runs on, or
  /// "baseline", "avx2" or "avx512". Means nothing for a GPU.
  std::string target;
  /// The GPU to compile for, such as "h200", or its chip, such as "sm_90a"; if
  /// empty, what the program says in `attn.target`, or an H200.
  std::string chip;
  /// A schedule for all attentions, such as "#attn.schedule<tile_m = ...>" or,
  /// for a GPU, "#hopper.schedule<tile_m = ...>"; if empty, the compiler
  /// chooses.
  std::string schedule;
  /// For a GPU, a file with another table of schedules than the compiler's own,
  /// by which it chooses; docs/gpu.md says what is in it.
  std::string schedules;
  /// For a GPU, whether all that a launch may choose from is the schedule that
  /// is tried first: a fraction of the work, for who reads the code.
  bool firstSchedule = false;
  /// Whether gradients have the same bits run after run, or may add in any
  /// order where that is faster; without a value each as the program says.
  std::optional<bool> deterministic;
  /// For kernels that are loaded; a package has what the compiler chooses. With
  /// a schedule or a table of them, tuning is off.
  Tuning tuning = Tuning::Auto;
  /// How sparse structures run: "auto" for what a model of costs says, or
  /// "dense", "blocks", "lists", or "gathered" (see attn-choose-sparsity).
  std::string sparsity = "auto";
  /// For printAfter: the pass whose result is wanted.
  std::string untilAfter;
  /// If set, is given the program after each pass that changed it.
  std::function<void(llvm::StringRef pass, llvm::StringRef ir)> dumpIR;
  /// If set, is given the LLVM IR before and after optimisation, as stages
  /// "llvm" and "llvm-optimized", and the assembly as "asm"; for a GPU, the
  /// kernel's as "llvm" and "ptx", and what ptxas said of it as "ptxas".
  std::function<void(llvm::StringRef stage, llvm::StringRef text)> dumpLLVM;
  /// If set, is told which part of a kernel for a GPU the dumps that follow are
  /// of: "program", what is the same for all schedules, with "program-rows" and
  /// "program-tiles" where it has two forms; and "schedule-0" and so on, in the
  /// order they are tried.
  std::function<void(llvm::StringRef part)> dumpPart;
};

/// Compiles MLIR text or bytecode. The text of an error is that of the
/// diagnostics: "file:line:col: error: ...", with notes.
///
/// Packages are kept on disk (attn/Support/DiskCache.h), and the next call with
/// the same text, options, processor or GPU, and build of the compiler reads
/// the package from there, unless a dump is asked for. ATTN_LOG=cache tells
/// what is found, and what is not and why.
llvm::Expected<KernelPackage>
compileToPackage(llvm::StringRef program, const CompileOptions &options = {},
                 CompileReport *report = nullptr);

/// The same for a module in memory, which is left as it is. Its context is
/// used: no other thread may work in it meanwhile.
llvm::Expected<KernelPackage>
compileToPackage(mlir::ModuleOp module, const CompileOptions &options = {},
                 CompileReport *report = nullptr);

/// A kernel for a GPU, and what it lacks to serve a program.
struct KernelObstacle {
  std::string kernel, text;
};

/// The kernels there are for a program that compileToPackage has none for,
/// which is std::errc::not_supported, and the error of each.
std::vector<KernelObstacle> getKernelObstacles(mlir::ModuleOp module,
                                               const CompileOptions &options);

/// The program after the last run of the pass options.untilAfter; nothing
/// behind that runs. The pass is one of getPipelinePasses().
llvm::Expected<std::string> printAfter(llvm::StringRef program,
                                       const CompileOptions &options);
llvm::Expected<std::string> printAfter(mlir::ModuleOp module,
                                       const CompileOptions &options);

/// The flags of the passes of the pipeline, in order; some occur repeatedly.
std::vector<std::string> getPipelinePasses(DeviceKind device = DeviceKind::CPU);

/// Takes note of what the compiler sets among the options that LLVM registers.
/// A program that calls llvm::cl::ResetCommandLineParser, which forgets them,
/// must call this before. Others need not.
void keepCompilerOptions();

} // namespace attn

#endif // ATTN_JIT_COMPILER_H
