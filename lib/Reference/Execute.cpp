//===- Execute.cpp - Run a compiled region --------------------------------===//

#include "Program.h"
#include "attn/Support/Half.h"
#include "attn/Support/Random.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace attn::reference;

//===----------------------------------------------------------------------===//
// Scalar functions
//===----------------------------------------------------------------------===//

/// NaN if either is, and +0 above -0.
static inline double maximumF(double x, double y) {
  if (x != x || y != y)
    return x + y;
  if (x == y)
    return std::signbit(x) ? y : x;
  return x > y ? x : y;
}

/// The other one if one is NaN, and +0 above -0.
static inline double maxNumF(double x, double y) {
  if (x != x)
    return y;
  if (y != y)
    return x;
  return maximumF(x, y);
}

static inline int64_t wrapping(uint64_t value) {
  return static_cast<int64_t>(value);
}

/// Division by zero gives 0, here and below; the smallest number divided by -1
/// wraps to itself.
static inline int64_t divS(int64_t x, int64_t y) {
  if (y == 0)
    return 0;
  return y == -1 ? wrapping(0 - uint64_t(x)) : x / y;
}
static inline int64_t floorDivS(int64_t x, int64_t y) {
  int64_t quotient = divS(x, y);
  bool inexact = y != 0 && y != -1 && x % y != 0;
  return quotient - (inexact && (x < 0) != (y < 0));
}
static inline int64_t ceilDivS(int64_t x, int64_t y) {
  int64_t quotient = divS(x, y);
  bool inexact = y != 0 && y != -1 && x % y != 0;
  return quotient + (inexact && (x < 0) == (y < 0));
}
static inline int64_t ceilDivU(int64_t x, int64_t y) {
  uint64_t a = x, b = y;
  return b == 0 ? 0 : wrapping(a / b + (a % b != 0));
}

/// The zeroth power is 1. A negative power is the reciprocal rounded towards
/// zero, and 0 for a base of 0.
static int64_t powI(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 1)
      return 1;
    if (base == -1)
      return exponent & 1 ? -1 : 1;
    return 0;
  }
  uint64_t result = 1, square = base;
  for (; exponent; exponent >>= 1, square *= square)
    if (exponent & 1)
      result *= square;
  return wrapping(result);
}

/// `value` is zero-extended from `width` bits.
static inline int64_t countLeadingZeros(int64_t value, unsigned width) {
  return value == 0 ? width : __builtin_clzll(value) - (64 - int64_t(width));
}
static inline int64_t countTrailingZeros(int64_t value, unsigned width) {
  return value == 0 ? width : __builtin_ctzll(value);
}

static int64_t floatToSigned(double value, unsigned width) {
  double limit = std::ldexp(1.0, width - 1);
  if (value != value)
    return 0;
  uint64_t smallest = ~uint64_t(0) << (width - 1);
  if (value >= limit)
    return wrapping(~smallest);
  if (value <= -limit)
    return wrapping(smallest);
  return static_cast<int64_t>(value);
}
static int64_t floatToUnsigned(double value, unsigned width) {
  if (!(value > 0))
    return 0;
  if (value >= std::ldexp(1.0, width))
    return wrapping(~uint64_t(0) >> (64 - width));
  return wrapping(static_cast<uint64_t>(value));
}

static bool isNormal(double value, ElementType::Kind kind) {
  double smallest = kind == ElementType::F64   ? 0x1p-1022
                    : kind == ElementType::F16 ? 0x1p-14
                                               : 0x1p-126;
  return std::isfinite(value) && std::fabs(value) >= smallest;
}

static int64_t bitsOf(double value, ElementType::Kind kind) {
  switch (kind) {
  case ElementType::F16:
    return static_cast<int16_t>(attn::toF16(value));
  case ElementType::BF16:
    return static_cast<int16_t>(attn::toBF16(value));
  case ElementType::F32: {
    float narrow = static_cast<float>(value);
    int32_t bits;
    std::memcpy(&bits, &narrow, sizeof(bits));
    return bits;
  }
  default:
    return wrapping(doubleToBits(value));
  }
}
static double floatOf(int64_t bits, ElementType::Kind kind) {
  switch (kind) {
  case ElementType::F16:
    return attn::fromF16(bits);
  case ElementType::BF16:
    return attn::fromBF16(bits);
  case ElementType::F32: {
    int32_t narrow = bits;
    float value;
    std::memcpy(&value, &narrow, sizeof(value));
    return value;
  }
  default:
    return bitsToDouble(bits);
  }
}

//===----------------------------------------------------------------------===//
// Interpreter
//===----------------------------------------------------------------------===//

namespace {
/// Runs one stage. Registers lie `stride` apart.
class Interpreter {
public:
  Interpreter(const Program &program, const Stage &stage, double *floats,
              int64_t *ints, unsigned stride, unsigned lanes,
              AccessError &error)
      : stage(stage), accesses(program.accesses), dropouts(program.dropouts),
        floats(floats), ints(ints), stride(stride), lanes(lanes), error(error) {
  }

  bool run() { return run(0, stage.code.size(), nullptr); }

private:
  double *f(uint32_t reg) { return floats + size_t(reg) * stride; }
  int64_t *n(uint32_t reg) { return ints + size_t(reg) * stride; }

  /// Lanes whose `active` is 0 may compute anything, but read no array.
  bool run(size_t begin, size_t end, const uint8_t *active);
  bool runIf(const Instruction &instruction, size_t next,
             const uint8_t *active);
  bool runLoop(const Instruction &instruction, size_t next,
               const uint8_t *active);
  bool runExtract(const Instruction &instruction, const uint8_t *active);
  bool runDim(const Instruction &instruction, const uint8_t *active);
  void runRange(const Instruction &instruction);
  void compareFloats(const Instruction &instruction);
  void runDropout(const Instruction &instruction);

  const Stage &stage;
  const std::vector<Access> &accesses;
  const std::vector<DropoutUse> &dropouts;
  double *floats;
  int64_t *ints;
  unsigned stride;
  unsigned lanes;
  AccessError &error;
};
} // namespace

void Interpreter::compareFloats(const Instruction &instruction) {
  const double *a = f(instruction.a), *b = f(instruction.b);
  int64_t *dst = n(instruction.dst);
  for (unsigned l = 0; l < lanes; ++l) {
    unsigned order =
        (a[l] < b[l] ? 1 : 0) | (a[l] == b[l] ? 2 : 0) | (a[l] > b[l] ? 4 : 0);
    order = order == 0 ? 8 : order;
    dst[l] = (order & instruction.c) != 0;
  }
}

void Interpreter::runDropout(const Instruction &instruction) {
  const DropoutUse &use = dropouts[instruction.a];
  for (unsigned l = 0; l < lanes; ++l) {
    auto get = [&](unsigned operand) {
      return uint64_t(n(use.operands[operand])[l]);
    };
    uint64_t seed = get(0), offset = get(1), i = get(4), j = get(5);
    auto group = [](uint64_t position) {
      return uint32_t(position / 16 * 8 + position % 8);
    };
    std::array<uint32_t, 4> head =
        attn::philox4x32({uint32_t(offset), uint32_t(offset >> 32),
                          uint32_t(get(3)), uint32_t(get(2))},
                         {uint32_t(seed), uint32_t(seed >> 32)});
    std::array<uint32_t, 2> words =
        attn::philox2x32({group(i) ^ head[1], group(j) ^ head[2]}, head[0]);
    uint32_t bits = words[i / 8 % 2] >> (j / 8 % 2 * 16) & 0xFFFF;
    f(instruction.dst)[l] = bits < use.leastKept ? 0 : use.scale;
  }
}

bool Interpreter::runIf(const Instruction &instruction, size_t next,
                        const uint8_t *active) {
  const int64_t *condition = n(instruction.a);
  uint8_t masks[2][kLanes];
  bool any[2] = {false, false};
  for (unsigned l = 0; l < lanes; ++l) {
    bool on = !active || active[l];
    masks[0][l] = on && condition[l] != 0;
    masks[1][l] = on && condition[l] == 0;
    any[0] |= masks[0][l] != 0;
    any[1] |= masks[1][l] != 0;
  }
  return (!any[0] || run(next, instruction.b, masks[0])) &&
         (!any[1] || run(instruction.b, instruction.c, masks[1]));
}

bool Interpreter::runLoop(const Instruction &instruction, size_t next,
                          const uint8_t *active) {
  int64_t *counter = n(instruction.dst);
  const int64_t *low = n(instruction.a), *high = n(instruction.b);
  std::copy_n(low, lanes, counter);
  while (true) {
    uint8_t mask[kLanes];
    bool any = false;
    for (unsigned l = 0; l < lanes; ++l) {
      mask[l] = (!active || active[l]) && counter[l] < high[l];
      any |= mask[l] != 0;
    }
    if (!any)
      return true;
    if (!run(next, instruction.c, mask))
      return false;
    for (unsigned l = 0; l < lanes; ++l)
      ++counter[l];
  }
}

bool Interpreter::runExtract(const Instruction &instruction,
                             const uint8_t *active) {
  const Access &access = accesses[instruction.a];
  llvm::ArrayRef<int64_t> shape = access.array.shape;
  int64_t offsets[kLanes] = {};
  for (unsigned dim = 0; dim < shape.size(); ++dim) {
    const int64_t *index = n(access.indices[dim]);
    int64_t extent = shape[dim];
    bool outside = false;
    for (unsigned l = 0; l < lanes; ++l) {
      outside |= uint64_t(index[l]) >= uint64_t(extent);
      offsets[l] = wrapping(uint64_t(offsets[l]) * uint64_t(extent) +
                            uint64_t(index[l]));
    }
    if (!outside)
      continue;
    for (unsigned l = 0; l < lanes; ++l)
      if ((!active || active[l]) && uint64_t(index[l]) >= uint64_t(extent)) {
        error = {instruction.a, l, dim, index[l], extent};
        return false;
      }
  }
  auto gather = [&](auto *dst, const auto *data) {
    if (active)
      for (unsigned l = 0; l < lanes; ++l)
        dst[l] = active[l] ? data[offsets[l]] : 0;
    else
      for (unsigned l = 0; l < lanes; ++l)
        dst[l] = data[offsets[l]];
  };
  if (instruction.opcode == Opcode::ExtractF)
    gather(f(instruction.dst), access.array.floats);
  else
    gather(n(instruction.dst), access.array.ints);
  return true;
}

bool Interpreter::runDim(const Instruction &instruction,
                         const uint8_t *active) {
  llvm::ArrayRef<int64_t> shape = accesses[instruction.a].array.shape;
  const int64_t *index = n(instruction.b);
  int64_t *dst = n(instruction.dst);
  for (unsigned l = 0; l < lanes; ++l) {
    bool inside = uint64_t(index[l]) < shape.size();
    if (!inside && (!active || active[l])) {
      error = {instruction.a, l, unsigned(shape.size()), index[l],
               int64_t(shape.size())};
      return false;
    }
    dst[l] = inside ? shape[index[l]] : 0;
  }
  return true;
}

void Interpreter::runRange(const Instruction &instruction) {
  const Access &access = accesses[instruction.a];
  llvm::ArrayRef<int64_t> shape = access.array.shape;
  size_t rank = shape.size();
  bool isMin = instruction.opcode == Opcode::RangeMin;
  // Booleans are 0 and 1.
  unsigned width = instruction.c;
  int64_t least = width == 1 ? 0 : INT64_MIN >> (64 - width);
  int64_t most = width == 1 ? 1 : INT64_MAX >> (64 - width);
  for (unsigned l = 0; l < lanes; ++l) {
    int64_t &result = n(instruction.dst)[l];
    result = isMin ? least : most;
    auto low = [&](size_t dim) { return n(access.indices[dim])[l]; };
    auto high = [&](size_t dim) { return n(access.indices[rank + dim])[l]; };
    bool isInside = true;
    llvm::SmallVector<int64_t, 4> at;
    for (size_t dim = 0; dim < rank; ++dim) {
      isInside &=
          low(dim) >= 0 && low(dim) < high(dim) && high(dim) <= shape[dim];
      at.push_back(low(dim));
    }
    if (!isInside)
      continue;
    result = isMin ? most : least;
    while (true) {
      int64_t offset = 0;
      for (size_t dim = 0; dim < rank; ++dim)
        offset = offset * shape[dim] + at[dim];
      int64_t element = access.array.ints[offset];
      result = isMin ? std::min(result, element) : std::max(result, element);
      size_t dim = rank;
      while (dim > 0 && ++at[dim - 1] == high(dim - 1)) {
        at[dim - 1] = low(dim - 1);
        --dim;
      }
      if (dim == 0)
        break;
    }
  }
}

bool Interpreter::run(size_t begin, size_t end, const uint8_t *active) {
  size_t pc = begin;
  while (pc < end) {
    const Instruction &in = stage.code[pc++];
    const uint32_t c = in.c;
    switch (in.opcode) {
#define FOR_LANES(...)                                                         \
  {                                                                            \
    for (unsigned l = 0; l < lanes; ++l)                                       \
      __VA_ARGS__;                                                             \
    break;                                                                     \
  }
#define X(name, expression)                                                    \
  case Opcode::name: {                                                         \
    const double *a = f(in.a);                                                 \
    double *dst = f(in.dst);                                                   \
    FOR_LANES({                                                                \
      double x = a[l];                                                         \
      dst[l] = expression;                                                     \
    })                                                                         \
  }
      ATTN_FLOAT_UNARY(X)
#undef X
#define X(name, expression)                                                    \
  case Opcode::name: {                                                         \
    const double *a = f(in.a), *b = f(in.b);                                   \
    double *dst = f(in.dst);                                                   \
    FOR_LANES({                                                                \
      double x = a[l], y = b[l];                                               \
      dst[l] = expression;                                                     \
    })                                                                         \
  }
      ATTN_FLOAT_BINARY(X)
#undef X
#define X(name, expression)                                                    \
  case Opcode::name: {                                                         \
    const int64_t *a = n(in.a), *b = n(in.b);                                  \
    int64_t *dst = n(in.dst);                                                  \
    FOR_LANES({                                                                \
      int64_t x = a[l], y = b[l];                                              \
      dst[l] = expression;                                                     \
    })                                                                         \
  }
      ATTN_INT_BINARY(X)
#undef X
#define X(name, expression)                                                    \
  case Opcode::name: {                                                         \
    const int64_t *a = n(in.a);                                                \
    int64_t *dst = n(in.dst);                                                  \
    FOR_LANES({                                                                \
      int64_t x = a[l];                                                        \
      dst[l] = expression;                                                     \
    })                                                                         \
  }
      ATTN_INT_UNARY(X)
#undef X
    case Opcode::Fma:
      FOR_LANES(f(in.dst)[l] = std::fma(f(in.a)[l], f(in.b)[l], f(c)[l]))
    case Opcode::FPowI:
      FOR_LANES(f(in.dst)[l] = std::pow(f(in.a)[l], double(n(in.b)[l])))
    case Opcode::CmpF:
      compareFloats(in);
      break;
    case Opcode::IsFinite:
      FOR_LANES(n(in.dst)[l] = std::isfinite(f(in.a)[l]))
    case Opcode::IsInf:
      FOR_LANES(n(in.dst)[l] = std::isinf(f(in.a)[l]))
    case Opcode::IsNaN:
      FOR_LANES(n(in.dst)[l] = std::isnan(f(in.a)[l]))
    case Opcode::IsNormal:
      FOR_LANES(n(in.dst)[l] = isNormal(f(in.a)[l], ElementType::Kind(c)))
    case Opcode::SelectF: {
      const int64_t *condition = n(in.a);
      const double *onTrue = f(in.b), *onFalse = f(c);
      double *dst = f(in.dst);
      FOR_LANES(dst[l] = condition[l] ? onTrue[l] : onFalse[l])
    }
    case Opcode::SelectI: {
      const int64_t *condition = n(in.a), *onTrue = n(in.b), *onFalse = n(c);
      int64_t *dst = n(in.dst);
      FOR_LANES(dst[l] = condition[l] ? onTrue[l] : onFalse[l])
    }
    case Opcode::MulHighS:
      FOR_LANES(n(in.dst)[l] =
                    int64_t((__int128(n(in.a)[l]) * n(in.b)[l]) >> c))
    case Opcode::MulHighU:
      FOR_LANES(n(in.dst)[l] =
                    int64_t(((unsigned __int128)(uint64_t(n(in.a)[l])) *
                             uint64_t(n(in.b)[l])) >>
                            c))
    case Opcode::SIToFP: {
      const int64_t *a = n(in.a);
      double *dst = f(in.dst);
      FOR_LANES(dst[l] = double(a[l]))
    }
    case Opcode::UIToFP:
      FOR_LANES(f(in.dst)[l] = double(uint64_t(n(in.a)[l])))
    case Opcode::FPToSI:
      FOR_LANES(n(in.dst)[l] = floatToSigned(f(in.a)[l], c))
    case Opcode::FPToUI:
      FOR_LANES(n(in.dst)[l] = floatToUnsigned(f(in.a)[l], c))
    case Opcode::BitsOfF:
      FOR_LANES(n(in.dst)[l] = bitsOf(f(in.a)[l], ElementType::Kind(c)))
    case Opcode::FOfBits:
      FOR_LANES(f(in.dst)[l] = floatOf(n(in.a)[l], ElementType::Kind(c)))
    case Opcode::ExtractF:
    case Opcode::ExtractI:
      if (!runExtract(in, active))
        return false;
      break;
    case Opcode::RangeMin:
    case Opcode::RangeMax:
      runRange(in);
      break;
    case Opcode::DimOf:
      if (!runDim(in, active))
        return false;
      break;
    case Opcode::Dropout:
      runDropout(in);
      break;
    case Opcode::If:
      if (!runIf(in, pc, active))
        return false;
      pc = in.c;
      break;
    case Opcode::Loop:
      if (!runLoop(in, pc, active))
        return false;
      pc = in.c;
      break;
    }
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Frame
//===----------------------------------------------------------------------===//

Frame::Frame(const Program &program)
    : program(program), rowFloats(program.row.numFloats),
      floats(program.lane.numFloats * size_t(kLanes)),
      rowInts(program.row.numInts),
      ints(program.lane.numInts * size_t(kLanes)) {
  for (const Constant<double> &constant : program.row.floatConstants)
    rowFloats[constant.reg] = constant.value;
  for (const Constant<int64_t> &constant : program.row.intConstants)
    rowInts[constant.reg] = constant.value;
  for (const Constant<double> &constant : program.lane.floatConstants)
    std::fill_n(laneFloats(constant.reg), kLanes, constant.value);
  for (const Constant<int64_t> &constant : program.lane.intConstants)
    std::fill_n(laneInts(constant.reg), kLanes, constant.value);
}

bool Frame::runRow() {
  if (!Interpreter(program, program.row, rowFloats.data(), rowInts.data(), 1, 1,
                   error)
           .run())
    return false;
  for (const Copy &copy : program.floatCopies)
    std::fill_n(laneFloats(copy.lane), kLanes, rowFloats[copy.row]);
  for (const Copy &copy : program.intCopies)
    std::fill_n(laneInts(copy.lane), kLanes, rowInts[copy.row]);
  return true;
}

bool Frame::runLanes(unsigned lanes) {
  return Interpreter(program, program.lane, floats.data(), ints.data(), kLanes,
                     lanes, error)
      .run();
}
