//===- ShapeFunction.h - Extents of results as data -------------*- C++ -*-===//
//
// A list of operations on 64-bit integers that computes the extents of a
// kernel's results and checks those of its inputs. The compiler makes it from
// the function that attn-shape-function adds; a launch evaluates it.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_SHAPEFUNCTION_H
#define ATTN_RUNTIME_SHAPEFUNCTION_H

#include "attn/Runtime/TensorView.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <cstdint>
#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace attn {

struct TensorInfo;

/// The operation of an instruction. Those with a U take unsigned operands.
enum class ShapeOp : int32_t {
  /// The number `operands[0]`.
  Constant,
  /// Extent `operands[1]` of input `operands[0]`.
  Extent,
  Add,
  Sub,
  Mul,
  DivS,
  DivU,
  CeilDivS,
  CeilDivU,
  FloorDivS,
  RemS,
  RemU,
  And,
  Or,
  Xor,
  Shl,
  ShrS,
  ShrU,
  MinS,
  MaxS,
  MinU,
  MaxU,
  /// 1 or 0.
  Eq,
  Ne,
  LtS,
  LeS,
  LtU,
  LeU,
  /// The second operand where the first is not 0, else the third.
  Select,
  /// The lowest `operands[1]` bits, from 1 to 63, of the first operand.
  SignExtend,
  ZeroExtend,
};

/// The most operands that an instruction has.
constexpr size_t kMaxShapeOperands = 3;

/// Instruction n computes value n. Its operands are the numbers of earlier
/// values, except where ShapeOp says otherwise.
struct ShapeInstruction {
  ShapeOp op = ShapeOp::Constant;
  int64_t operands[kMaxShapeOperands] = {0, 0, 0};
};

/// A condition on extents.
struct ShapeConstraint {
  /// The value that must not be 0.
  int64_t isMet = 0;
  /// The numbers of the values that replace %0 and %1 in the text.
  int64_t numbers[2] = {0, 0};
  std::string text;
};

/// An operation that divides by 0, or whose result does not fit 64 bits, has no
/// value, and neither have operations that depend on it. That is an error if a
/// constraint or an extent of a result needs the value. A selection needs only
/// the operand that it selects.
struct ShapeFunction {
  std::vector<ShapeInstruction> instructions;
  std::vector<ShapeConstraint> constraints;
  /// The numbers of the values that are the extents of the results, one result
  /// after the other.
  std::vector<int64_t> results;

  /// The values of `results`, or an error with the text of the first constraint
  /// that is not met. Takes any views and any instructions; numbers that are
  /// out of range are an error.
  llvm::Expected<llvm::SmallVector<int64_t, 16>>
  evaluate(llvm::ArrayRef<TensorView> inputs) const;

  /// Checks all that can be known without extents.
  llvm::Error validate(llvm::ArrayRef<TensorInfo> inputs,
                       llvm::ArrayRef<TensorInfo> results) const;

  llvm::json::Value toJSON() const;
  static bool fromJSON(const llvm::json::Value &json, ShapeFunction &function,
                       llvm::json::Path path);

  /// Prints a line for each instruction, constraint and result.
  void print(llvm::raw_ostream &os, llvm::ArrayRef<TensorInfo> inputs,
             llvm::ArrayRef<TensorInfo> results) const;
};

/// `text` with %0, %1, ... replaced.
std::string fillInNumbers(llvm::StringRef text,
                          llvm::ArrayRef<int64_t> numbers);

} // namespace attn

#endif // ATTN_RUNTIME_SHAPEFUNCTION_H
