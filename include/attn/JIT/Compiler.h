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

/// Whether a kernel takes schedules from tuning databases.
enum class Tuning {
  /// The compiler's choice.
  Off,
  /// The schedule that was measured to be fastest for similar extents, and
  /// otherwise the compiler's choice.
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
  /// The device of the kernel. Compiling for a GPU needs no GPU.
  DeviceKind device = DeviceKind::CPU;
  /// The processor to compile for: empty for the one this runs on, or
  /// "baseline", "avx2" or "avx512". Ignored for a GPU.
  std::string target;
  /// The GPU to compile for, such as "h200", or its chip, such as "sm_90a"; if
  /// empty, the `attn.target` of the program, or an H200.
  std::string chip;
  /// A schedule for all attentions, such as "#attn.schedule<tile_m = ...>" or,
  /// for a GPU, "#hopper.schedule<tile_m = ...>"; if empty, the compiler
  /// chooses.
  std::string schedule;
  /// For a GPU, a file with a table of schedules that replaces the compiler's
  /// own; docs/gpu.md documents its format.
  std::string schedules;
  /// For a GPU, whether only the schedule that is tried first is compiled, as
  /// the only variant. This takes a fraction of the time, for reading the code.
  bool firstSchedule = false;
  /// Whether gradients have the same bits run after run, or may add in any
  /// order where that is faster; without a value, each as the program says.
  std::optional<bool> deterministic;
  /// For kernels that are loaded; a package always has the compiler's choice.
  /// If `schedule` or `schedules` is set, tuning is off.
  Tuning tuning = Tuning::Auto;
  /// How sparse structures run: "auto" (by a cost model), "dense", "blocks",
  /// "lists", or "gathered" (see attn-choose-sparsity).
  std::string sparsity = "auto";
  /// For printAfter: the pass after which the program is printed.
  std::string untilAfter;
  /// If set, is called with the program after each pass that changed it.
  std::function<void(llvm::StringRef pass, llvm::StringRef ir)> dumpIR;
  /// If set, is called with the LLVM IR before and after optimisation, as
  /// stages "llvm" and "llvm-optimized", and the assembly as "asm"; for a GPU,
  /// with the kernel as "llvm" and "ptx", and the output of ptxas as "ptxas".
  std::function<void(llvm::StringRef stage, llvm::StringRef text)> dumpLLVM;
  /// If set, is called with the part of a kernel for a GPU to which the dumps
  /// that follow belong: "program" for passes that run once for all schedules,
  /// with "program-rows" and "program-tiles" if there are two forms; and
  /// "schedule-0" and so on, in the order in which schedules are tried.
  std::function<void(llvm::StringRef part)> dumpPart;
};

/// Compiles MLIR text or bytecode. The text of an error is that of the
/// diagnostics: "file:line:col: error: ...", with notes.
///
/// Packages are kept on disk (attn/Support/DiskCache.h). The next call with the
/// same text, options, processor or GPU, and build of the compiler reads the
/// package from there, unless a dump is asked for. ATTN_LOG=cache prints hits
/// and misses, with the reason of a miss.
llvm::Expected<KernelPackage>
compileToPackage(llvm::StringRef program, const CompileOptions &options = {},
                 CompileReport *report = nullptr);

/// The same for a module in memory, which is not changed. Uses its context: no
/// other thread may use that context meanwhile.
llvm::Expected<KernelPackage>
compileToPackage(mlir::ModuleOp module, const CompileOptions &options = {},
                 CompileReport *report = nullptr);

/// A kind of kernel for a GPU, and why it cannot run a program.
struct KernelObstacle {
  std::string kernel, text;
};

/// For a program for which compileToPackage fails with
/// std::errc::not_supported: the kinds of kernels, and the error of each.
std::vector<KernelObstacle> getKernelObstacles(mlir::ModuleOp module,
                                               const CompileOptions &options);

/// The program after the last run of the pass options.untilAfter; later passes
/// do not run. The pass is one of getPipelinePasses().
llvm::Expected<std::string> printAfter(llvm::StringRef program,
                                       const CompileOptions &options);
llvm::Expected<std::string> printAfter(mlir::ModuleOp module,
                                       const CompileOptions &options);

/// The flags of the passes of the pipeline, in order; some occur repeatedly.
std::vector<std::string> getPipelinePasses(DeviceKind device = DeviceKind::CPU);

/// Records the options of LLVM that the compiler sets. A program that calls
/// llvm::cl::ResetCommandLineParser, which removes these options, must call
/// this function first. Other programs need not call it.
void keepCompilerOptions();

} // namespace attn

#endif // ATTN_JIT_COMPILER_H
