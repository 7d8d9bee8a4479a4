//===- CudaCandidates.h - The schedules to try for a program ----*- C++ -*-===//

#ifndef ATTN_LIB_JIT_CUDACANDIDATES_H
#define ATTN_LIB_JIT_CUDACANDIDATES_H

#include "attn/Conversion/AttnToHopper/ScheduleTable.h"
#include "attn/JIT/Compiler.h"
#include "attn/Runtime/Cuda/KernelInfo.h"
#include "mlir/IR/BuiltinOps.h"

namespace attn {

/// A form of a program's sparse structures. All that is before a schedule is
/// compiled once for it.
struct CudaForm {
  /// For attn-choose-sparsity.
  std::string sparsity;
  /// Queries with lists of keys, for which there is one schedule.
  bool areRows = false;
  /// Whether schedules are chosen here, and not by a pass or by the user.
  bool isChosen = false;
  /// Whether there is another form that serves any tensors.
  bool isOneOfSeveral = false;
  /// What is the same for all schedules.
  cuda::Costs costs;
  /// The program at the online level.
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// How many launches a program has behind the stage "program".
unsigned getNumLaunches(mlir::ModuleOp module);

/// The forms that kernels are made of for a program at the tensor level, which
/// is marked where it is to be dense. Of several launches, that of one.
std::vector<CudaForm> getCudaForms(mlir::ModuleOp module,
                                   const CompileOptions &options,
                                   const mlir::attn::ScheduleTable &table,
                                   unsigned launch);

/// A schedule to try for a form.
struct Candidate : cuda::Costs {
  enum class Kind {
    /// One of several, of which a launch takes one by its extents.
    Usual,
    /// As a usual one, to try where some of these cannot be assembled well.
    Fallback,
    /// To try where none of the others can be.
    LastResort,
    /// Shares out keys: of use beside others alone.
    SplitKV,
    /// For tensors that the others cannot copy.
    AnyStrides
  };
  Kind kind = Kind::Usual;
  const CudaForm *form = nullptr;
  /// Null for the one that a pass chooses, or that the program has.
  mlir::Attribute schedule;
  /// The greater, the longer the assembler takes.
  int64_t assemblyCost = 0;
  /// Bytes that ptxas may spill, see `cuda::isAcceptable`.
  int64_t spillBytes = 0;
  /// As of a variant, for the arguments of the function.
  std::vector<int32_t> partlyRead;

  /// The form with this schedule.
  mlir::OwningOpRef<mlir::ModuleOp> makeModule() const;
};

/// The schedules to try, in the order of the table. Fails with an error of the
/// attention that the table has none for.
mlir::FailureOr<std::vector<Candidate>>
getCandidates(llvm::ArrayRef<CudaForm> forms,
              const mlir::attn::ScheduleTable &table);

/// Where a launch finds the lists of the one attention, if its operands are
/// arguments of the function.
cuda::ListsInfo describeLists(mlir::ModuleOp module);

/// Says which forms a kernel for lists of single keys has, and why.
void explainForms(llvm::ArrayRef<Candidate> candidates, mlir::Location loc,
                  llvm::StringRef entry);
/// Says whether tiles of a variant have heads that share their keys, or why
/// not.
void explainPacking(llvm::ArrayRef<CudaForm> forms, mlir::Location loc,
                    llvm::StringRef entry);

} // namespace attn

#endif // ATTN_LIB_JIT_CUDACANDIDATES_H
