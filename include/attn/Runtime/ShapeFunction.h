//===- ShapeFunction.h - Extents of results as data -------------*- C++ -*-===//
//
// What a kernel's results have for extents, and what the extents of its inputs
// must fulfil, as a list of operations on 64-bit integers. The compiler makes
// it of the function that attn-shape-function adds; a launch evaluates it.
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

/// What an instruction computes. Those with a U take their operands as numbers
/// without sign.
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

/// The most numbers that an instruction has.
constexpr size_t kMaxShapeOperands = 3;

/// Makes the value of its own number. Operands are values by their numbers,
/// which are less, except where ShapeOp says otherwise.
struct ShapeInstruction {
  ShapeOp op = ShapeOp::Constant;
  int64_t operands[kMaxShapeOperands] = {0, 0, 0};
};

/// What extents must fulfil.
struct ShapeConstraint {
  /// The value that must not be 0.
  int64_t isMet = 0;
  /// Values that the text names as %0 and %1.
  int64_t numbers[2] = {0, 0};
  std::string text;
};

/// An operation that divides by 0, or whose result 64 bits do not hold, has no
/// value, nor has what depends on it. That is an error where a constraint or an
/// extent of a result needs it; a selection needs what it selects.
struct ShapeFunction {
  std::vector<ShapeInstruction> instructions;
  std::vector<ShapeConstraint> constraints;
  /// Values: the extents of the results, one result behind the other.
  std::vector<int64_t> results;

  /// The values of `results`, or an error with the text of the first constraint
  /// that is not met. Takes any views and any instructions: what is out of
  /// range is an error.
  llvm::Expected<llvm::SmallVector<int64_t, 16>>
  evaluate(llvm::ArrayRef<TensorView> inputs) const;

  /// Checks all that can be known without extents.
  llvm::Error validate(llvm::ArrayRef<TensorInfo> inputs,
                       llvm::ArrayRef<TensorInfo> results) const;

  llvm::json::Value toJSON() const;
  static bool fromJSON(const llvm::json::Value &json, ShapeFunction &function,
                       llvm::json::Path path);

  /// As text for people, a line for each instruction, constraint and result.
  void print(llvm::raw_ostream &os, llvm::ArrayRef<TensorInfo> inputs,
             llvm::ArrayRef<TensorInfo> results) const;
};

/// `text` with %0, %1, ... replaced.
std::string fillInNumbers(llvm::StringRef text,
                          llvm::ArrayRef<int64_t> numbers);

} // namespace attn

#endif // ATTN_RUNTIME_SHAPEFUNCTION_H
