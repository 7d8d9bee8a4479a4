//===- RegionCompiler.h - Compile scalar operations -------------*- C++ -*-===//
//
// Turns operations on scalars into a Program. Also used for operations on
// tensors that work element by element, which are the same operations with a
// lane for each element.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_REFERENCE_REGIONCOMPILER_H
#define ATTN_LIB_REFERENCE_REGIONCOMPILER_H

#include "Array.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include <functional>
#include <optional>

namespace attn::reference {

/// The element type of a type or of its elements, unless it is none that the
/// evaluator computes with.
std::optional<ElementType> convertType(mlir::Type type);
/// The same, or an error that names `op`.
llvm::Expected<ElementType> convertType(mlir::Type type, mlir::Operation *op);

/// An error with the location of `op`.
llvm::Error makeError(mlir::Operation *op, const llvm::Twine &message);
llvm::Error makeUnsupportedError(mlir::Operation *op);

class RegionCompiler {
public:
  /// Gives the value of what is defined outside of the region, or null.
  using OuterValues = std::function<ArrayPtr(mlir::Value)>;

  RegionCompiler(EvalMode mode, Program &program, OuterValues outer = {})
      : mode(mode), program(program), outer(std::move(outer)) {}

  /// Give a scalar value a register that the caller fills in, for each row or
  /// for each lane.
  uint32_t bindRow(mlir::Value value);
  uint32_t bindLane(mlir::Value value);
  /// Bind a value to an array, which must live as long as the program. An array
  /// of rank 0 for a scalar is a constant.
  void bindArray(mlir::Value value, const Array &array, int64_t capture = -1);

  /// Compiles all operations of a block but its terminator.
  llvm::Error compileBlock(mlir::Block &block);
  llvm::Error compileOp(mlir::Operation *op);

  /// The register that holds a compiled scalar in the lane stage.
  llvm::Expected<uint32_t> getLane(mlir::Value value, mlir::Operation *user);

  /// Describes where an access failed, without the position in the loops.
  std::string describe(const AccessError &error) const;

private:
  /// A value: a register of a stage, or a constant.
  using SlotId = uint32_t;
  struct Slot {
    bool isFloat;
    bool isConstant = false;
    double floatValue = 0;
    int64_t intValue = 0;
    /// Whether it may depend on a score, or on what a tensor holds. What
    /// depends on positions, constants and captures alone is rounded in each
    /// mode: otherwise another key may be on the other side of a limit.
    bool isOfScore = true;
    /// Registers that hold it, if any do.
    std::optional<uint32_t> row = std::nullopt;
    std::optional<uint32_t> lane = std::nullopt;
  };
  struct BoundArray {
    const Array *array;
    int64_t capture;
  };
  struct Rule;
  static const llvm::StringMap<Rule> &getRules();

  bool isUniform(SlotId slot) const {
    return slots[slot].isConstant || slots[slot].row;
  }
  SlotId addSlot(Slot slot);
  SlotId addFloatConstant(double value);
  SlotId addIntConstant(int64_t value);
  uint32_t addRegister(bool isFloat, bool row);
  uint32_t getRegister(SlotId slot, bool row);

  /// Adds an instruction, to the row stage if all operands allow it. The
  /// immediate is the instruction's `c`.
  SlotId emit(Opcode opcode, bool isFloat, llvm::ArrayRef<SlotId> operands,
              std::optional<uint32_t> immediate = std::nullopt);
  SlotId emitAccess(Opcode opcode, bool isFloat, const BoundArray &array,
                    llvm::ArrayRef<SlotId> indices, mlir::Operation *op,
                    uint32_t immediate = 0);
  SlotId round(SlotId slot, ElementType type);
  SlotId wrap(SlotId slot, ElementType type);
  SlotId asSigned(SlotId slot, ElementType type);
  SlotId asUnsigned(SlotId slot, ElementType type);

  llvm::Expected<SlotId> getSlot(mlir::Value value, mlir::Operation *user);
  llvm::Expected<BoundArray> getArray(mlir::Value value, mlir::Operation *user);

  using Slots = llvm::SmallVector<SlotId, 4>;
  using Types = llvm::SmallVector<ElementType, 4>;
  struct OpInfo {
    mlir::Operation *op;
    Slots operands;
    Types operandTypes;
    Types resultTypes;
  };
  llvm::Error compileIf(mlir::Operation *op);
  llvm::Error compileConstant(mlir::Operation *op);
  llvm::Error compileExtract(mlir::Operation *op);
  llvm::Error compileRange(mlir::Operation *op);
  llvm::Error compileRangeOver(mlir::Operation *op);
  llvm::Error compileDim(mlir::Operation *op);
  llvm::Error compileDropout(mlir::Operation *op);
  llvm::Error compileFor(mlir::Operation *op);
  /// Each compiles `info.op` and gives its results, or returns false if it is
  /// none of theirs.
  bool compileByRule(const OpInfo &info, Slots &results);
  bool compileCast(const OpInfo &info, Slots &results);
  bool compileOther(const OpInfo &info, Slots &results);

  EvalMode mode;
  Program &program;
  OuterValues outer;
  std::vector<Slot> slots;
  llvm::DenseMap<mlir::Value, SlotId> values;
  llvm::DenseMap<mlir::Value, BoundArray> arrays;
  /// Operations of the accesses.
  std::vector<mlir::Operation *> accessOps;
  /// Keeps what `outer` gave alive.
  std::vector<ArrayPtr> kept;
  /// How many enclosing conditions differ between lanes.
  unsigned divergence = 0;
};

} // namespace attn::reference

#endif // ATTN_LIB_REFERENCE_REGIONCOMPILER_H
