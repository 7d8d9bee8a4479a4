//===- Program.h - A compiled region of scalar operations -------*- C++ -*-===//
//
// Regions are evaluated millions of times, so they are compiled once, to a flat
// list of instructions on registers of doubles and 64-bit integers. A register
// of the lane stage holds kLanes values, one for each of as many keys (or
// elements): an instruction is one loop over them. What does not depend on the
// lane is computed in the row stage, whose registers hold one value, once for
// each row, and copied.
//
// No MLIR here.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_REFERENCE_PROGRAM_H
#define ATTN_LIB_REFERENCE_PROGRAM_H

#include "ElementType.h"
#include "attn/Support/Tensor.h"
#include <array>
#include <vector>

namespace attn::reference {

constexpr unsigned kLanes = 64;

// Float instructions that are functions of doubles: FUNCTION(name, expression
// of x, y, z). The expressions are those of the executor.
#define ATTN_FLOAT_UNARY(X)                                                    \
  X(NegF, -x)                                                                  \
  X(AbsF, std::fabs(x))                                                        \
  X(Acos, std::acos(x))                                                        \
  X(Acosh, std::acosh(x))                                                      \
  X(Asin, std::asin(x))                                                        \
  X(Asinh, std::asinh(x))                                                      \
  X(Atan, std::atan(x))                                                        \
  X(Atanh, std::atanh(x))                                                      \
  X(Cbrt, std::cbrt(x))                                                        \
  X(Ceil, std::ceil(x))                                                        \
  X(Cos, std::cos(x))                                                          \
  X(Cosh, std::cosh(x))                                                        \
  X(Erf, std::erf(x))                                                          \
  X(Erfc, std::erfc(x))                                                        \
  X(Exp, std::exp(x))                                                          \
  X(Exp2, std::exp2(x))                                                        \
  X(ExpM1, std::expm1(x))                                                      \
  X(Floor, std::floor(x))                                                      \
  X(Log, std::log(x))                                                          \
  X(Log10, std::log10(x))                                                      \
  X(Log1p, std::log1p(x))                                                      \
  X(Log2, std::log2(x))                                                        \
  X(Round, std::round(x))                                                      \
  X(RoundEven, std::nearbyint(x))                                              \
  X(Rsqrt, 1.0 / std::sqrt(x))                                                 \
  X(Sin, std::sin(x))                                                          \
  X(Sinh, std::sinh(x))                                                        \
  X(Sqrt, std::sqrt(x))                                                        \
  X(Tan, std::tan(x))                                                          \
  X(Tanh, std::tanh(x))                                                        \
  X(Trunc, std::trunc(x))                                                      \
  X(ToF32, roundToF32(x))                                                      \
  X(ToF16, roundToF16(x))                                                      \
  X(ToBF16, roundToBF16(x))

#define ATTN_FLOAT_BINARY(X)                                                   \
  X(AddF, x + y)                                                               \
  X(SubF, x - y)                                                               \
  X(MulF, x *y)                                                                \
  X(DivF, x / y)                                                               \
  X(RemF, std::fmod(x, y))                                                     \
  X(MaximumF, maximumF(x, y))                                                  \
  X(MinimumF, -maximumF(-x, -y))                                               \
  X(MaxNumF, maxNumF(x, y))                                                    \
  X(MinNumF, -maxNumF(-x, -y))                                                 \
  X(Atan2, std::atan2(x, y))                                                   \
  X(CopySign, std::copysign(x, y))                                             \
  X(PowF, std::pow(x, y))

/// Integer instructions of two integers, x and y, and an immediate `c`.
#define ATTN_INT_BINARY(X)                                                     \
  X(AddI, wrapping(uint64_t(x) + uint64_t(y)))                                 \
  X(SubI, wrapping(uint64_t(x) - uint64_t(y)))                                 \
  X(MulI, wrapping(uint64_t(x) * uint64_t(y)))                                 \
  X(DivSI, divS(x, y))                                                         \
  X(DivUI, y == 0 ? 0 : wrapping(uint64_t(x) / uint64_t(y)))                   \
  X(CeilDivSI, ceilDivS(x, y))                                                 \
  X(CeilDivUI, ceilDivU(x, y))                                                 \
  X(FloorDivSI, floorDivS(x, y))                                               \
  X(RemSI, y == 0 || y == -1 ? 0 : x % y)                                      \
  X(RemUI, y == 0 ? 0 : wrapping(uint64_t(x) % uint64_t(y)))                   \
  X(AndI, x &y)                                                                \
  X(OrI, x | y)                                                                \
  X(XOrI, x ^ y)                                                               \
  X(ShLI, uint64_t(y) > 63 ? 0 : wrapping(uint64_t(x) << y))                   \
  X(ShRSI, x >> (uint64_t(y) > 63 ? 63 : y))                                   \
  X(ShRUI, uint64_t(y) > 63 ? 0 : wrapping(uint64_t(x) >> y))                  \
  X(MaxSI, x > y ? x : y)                                                      \
  X(MinSI, x < y ? x : y)                                                      \
  X(MaxUI, uint64_t(x) > uint64_t(y) ? x : y)                                  \
  X(MinUI, uint64_t(x) < uint64_t(y) ? x : y)                                  \
  X(IPowI, powI(x, y))                                                         \
  X(CmpEq, x == y)                                                             \
  X(CmpNe, x != y)                                                             \
  X(CmpSlt, x < y)                                                             \
  X(CmpSle, x <= y)                                                            \
  X(CmpUlt, uint64_t(x) < uint64_t(y))                                         \
  X(CmpUle, uint64_t(x) <= uint64_t(y))

/// Integer instructions of one integer x and an immediate width `c`.
#define ATTN_INT_UNARY(X)                                                      \
  X(Wrap, wrapInteger(x, c))                                                   \
  X(ZeroExtend, wrapping(uint64_t(x) & (~uint64_t(0) >> (64 - c))))            \
  X(NegI, wrapping(0 - uint64_t(x)))                                           \
  X(AbsI, wrapping(x < 0 ? 0 - uint64_t(x) : uint64_t(x)))                     \
  X(CountLeadingZeros, countLeadingZeros(x, c))                                \
  X(CountTrailingZeros, countTrailingZeros(x, c))                              \
  X(PopCount, __builtin_popcountll(x))

enum class Opcode : uint8_t {
#define X(name, expression) name,
  ATTN_FLOAT_UNARY(X) ATTN_FLOAT_BINARY(X) ATTN_INT_BINARY(X) ATTN_INT_UNARY(X)
#undef X
  /// float dst = fma(a, b, c).
  Fma,
  /// float dst = a to the power of the integer b.
  FPowI,
  /// int dst = whether the order of floats a and b is in the set `c`, of 1 for
  /// less, 2 for equal, 4 for greater, 8 for unordered.
  CmpF,
  IsFinite,
  IsInf,
  IsNaN,
  /// `c` is the ElementType::Kind whose normal numbers are meant.
  IsNormal,
  /// dst = int a ? b : c.
  SelectF,
  SelectI,
  /// High half of a product of two integers of `c` bits.
  MulHighS,
  MulHighU,
  SIToFP,
  UIToFP,
  /// Towards zero, saturated to `c` bits, NaN to 0.
  FPToSI,
  FPToUI,
  /// The bits of a float of ElementType::Kind `c`, sign-extended; and back.
  BitsOfF,
  FOfBits,
  /// dst = element of the array of access `a`.
  ExtractF,
  ExtractI,
  /// int dst = the least, or the largest, element of the array of access `a` in
  /// a box, whose lower ends and then upper ends are the indices; the end of
  /// the integers of `c` bits where the box is empty or partly outside.
  RangeMin,
  RangeMax,
  /// int dst = size of a dimension, by access `a` and int dimension `b`.
  DimOf,
  /// float dst = what dropout `a` of the program multiplies a probability by.
  Dropout,
  /// Instructions to `b` run where int `a` is true, then those to `c` where it
  /// is false.
  If,
  /// Instructions to `c` run for each int dst from int `a` to below int `b`.
  Loop,
};

struct Instruction {
  Opcode opcode;
  uint32_t dst = 0;
  uint32_t a = 0;
  uint32_t b = 0;
  uint32_t c = 0;
};

/// Elements of an array as the executor reads them.
struct ArrayView {
  const double *floats = nullptr;
  const int64_t *ints = nullptr;
  llvm::ArrayRef<int64_t> shape;
};

/// One use of an array in a region.
struct Access {
  ArrayView array;
  /// Number of the array among the captures, or -1.
  int64_t capture = -1;
  /// Registers of the indices, of the stage of the instruction.
  llvm::SmallVector<uint32_t, 4> indices;
};

/// One use of dropout (attn.dropout).
struct DropoutUse {
  /// Registers of seed, offset, b, h, i, j, of the stage of the instruction.
  std::array<uint32_t, 6> operands;
  /// The least random word that is kept, and what is kept is multiplied by.
  uint32_t leastKept;
  double scale;
};

template <typename T> struct Constant {
  uint32_t reg;
  T value;
};
struct Copy {
  uint32_t row;
  uint32_t lane;
};

struct Stage {
  std::vector<Instruction> code;
  uint32_t numFloats = 0;
  uint32_t numInts = 0;
  std::vector<Constant<double>> floatConstants;
  std::vector<Constant<int64_t>> intConstants;
};

struct Program {
  Stage row;
  Stage lane;
  std::vector<Access> accesses;
  std::vector<DropoutUse> dropouts;
  std::vector<Copy> floatCopies;
  std::vector<Copy> intCopies;
};

/// Where an index left its array.
struct AccessError {
  uint32_t access = 0;
  unsigned lane = 0;
  unsigned dim = 0;
  int64_t index = 0;
  int64_t extent = 0;
};

/// The registers of one thread that runs one program.
class Frame {
public:
  explicit Frame(const Program &program);

  double &rowFloat(uint32_t reg) { return rowFloats[reg]; }
  int64_t &rowInt(uint32_t reg) { return rowInts[reg]; }
  double *laneFloats(uint32_t reg) { return &floats[reg * size_t(kLanes)]; }
  int64_t *laneInts(uint32_t reg) { return &ints[reg * size_t(kLanes)]; }

  /// Runs the row stage and copies its results to the lanes.
  bool runRow();
  /// Runs the lane stage for the first `lanes` lanes.
  bool runLanes(unsigned lanes);

  /// What made the last run return false.
  const AccessError &getError() const { return error; }

private:
  const Program &program;
  std::vector<double> rowFloats, floats;
  std::vector<int64_t> rowInts, ints;
  AccessError error;
};

} // namespace attn::reference

#endif // ATTN_LIB_REFERENCE_PROGRAM_H
