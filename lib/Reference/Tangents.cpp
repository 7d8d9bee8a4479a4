//===- Tangents.cpp - Derivatives of a compiled region --------------------===//

#include "Tangents.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace attn::reference;

//===----------------------------------------------------------------------===//
// Derivatives
//===----------------------------------------------------------------------===//

/// d y / d x of a function of one float, y at x.
static double derive(Opcode opcode, double x, double y) {
  using llvm::numbers::ln10;
  using llvm::numbers::ln2;
  constexpr double twoOverRootPi = 2 * llvm::numbers::inv_sqrtpi;
  switch (opcode) {
  case Opcode::NegF:
    return -1;
  case Opcode::AbsF:
    return x > 0 ? 1 : x < 0 ? -1 : 0;
  case Opcode::Acos:
    return -1 / std::sqrt((1 - x) * (1 + x));
  case Opcode::Acosh:
    return 1 / std::sqrt((x - 1) * (x + 1));
  case Opcode::Asin:
    return 1 / std::sqrt((1 - x) * (1 + x));
  case Opcode::Asinh:
    return 1 / std::hypot(1, x);
  case Opcode::Atan:
    return 1 / (1 + x * x);
  case Opcode::Atanh:
    return 1 / ((1 - x) * (1 + x));
  case Opcode::Cbrt:
    return y / (3 * x);
  case Opcode::Cos:
    return -std::sin(x);
  case Opcode::Cosh:
    return std::sinh(x);
  case Opcode::Erf:
    return twoOverRootPi * std::exp(-x * x);
  case Opcode::Erfc:
    return -twoOverRootPi * std::exp(-x * x);
  case Opcode::Exp:
  case Opcode::ExpM1:
    return std::exp(x);
  case Opcode::Exp2:
    return ln2 * std::exp2(x);
  case Opcode::Log:
    return 1 / x;
  case Opcode::Log10:
    return 1 / (x * ln10);
  case Opcode::Log1p:
    return 1 / (1 + x);
  case Opcode::Log2:
    return 1 / (x * ln2);
  case Opcode::Rsqrt:
    return -0.5 * y / x;
  case Opcode::Sin:
    return std::cos(x);
  case Opcode::Sinh:
    return std::cosh(x);
  case Opcode::Sqrt:
    // Of a distance of nothing.
    return y == 0 ? 0 : 0.5 / y;
  case Opcode::Tan: {
    double c = std::cos(x);
    return 1 / (c * c);
  }
  case Opcode::Tanh: {
    double c = std::cosh(x);
    return 1 / (c * c);
  }
  case Opcode::ToF32:
  case Opcode::ToF16:
  case Opcode::ToBF16:
    return 1;
  default:
    // Ceil, Floor, Round, RoundEven, Trunc: constant almost everywhere.
    return 0;
  }
}

namespace {
/// The derivatives with respect to two operands.
struct Pair {
  double x, y;
};
} // namespace

/// Which part of the derivative goes to either operand of a maximum of `x` and
/// `y`; one that is no number is chosen, or never is.
static Pair chooseMaximum(double x, double y, bool ignoresNaN) {
  if (x != x || y != y) {
    bool first = (x != x) != ignoresNaN;
    return {first ? 1.0 : 0.0, first ? 0.0 : 1.0};
  }
  return x == y ? Pair{0.5, 0.5} : x > y ? Pair{1, 0} : Pair{0, 1};
}

static Pair derive(Opcode opcode, double x, double y, double result) {
  switch (opcode) {
  case Opcode::AddF:
    return {1, 1};
  case Opcode::SubF:
    return {1, -1};
  case Opcode::MulF:
    return {y, x};
  case Opcode::DivF:
    return {1 / y, -x / (y * y)};
  case Opcode::RemF:
    return {1, -std::trunc(x / y)};
  case Opcode::MaximumF:
    return chooseMaximum(x, y, false);
  case Opcode::MinimumF:
    return chooseMaximum(-x, -y, false);
  case Opcode::MaxNumF:
    return chooseMaximum(x, y, true);
  case Opcode::MinNumF:
    return chooseMaximum(-x, -y, true);
  case Opcode::Atan2: {
    double square = x * x + y * y;
    return {y / square, -x / square};
  }
  case Opcode::CopySign:
    return {std::signbit(x) == std::signbit(y) ? 1.0 : -1.0, 0};
  default:
    // PowF: a zeroth power, and one of 0, are constant.
    return {y == 0 ? 0 : y * std::pow(x, y - 1),
            x == 0 ? 0 : result * std::log(x)};
  }
}

/// A derivative times what flows into it. Where nothing does, it may be no
/// number, as that of what is not chosen later.
static Tangent times(double derivative, const Tangent &tangent) {
  if (tangent.magnitude == 0)
    return {};
  return {tangent.value == 0 ? 0 : derivative * tangent.value,
          std::fabs(derivative) * tangent.magnitude};
}

static Tangent operator+(const Tangent &a, const Tangent &b) {
  return {a.value + b.value, a.magnitude + b.magnitude};
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

namespace {
/// One stage at one lane; the row stage has one lane.
struct StageTangents {
  const Stage &stage;
  const double *floats;
  const int64_t *ints;
  size_t stride, lane;
  const Seed &seed;
  std::vector<Tangent> &tangents;

  double f(uint32_t reg) const { return floats[reg * stride + lane]; }
  int64_t n(uint32_t reg) const { return ints[reg * stride + lane]; }
  const Tangent &t(uint32_t reg) const { return tangents[reg]; }

  void run(size_t begin, size_t end) {
    for (size_t pc = begin; pc < end; ++pc) {
      const Instruction &in = stage.code[pc];
      if (in.opcode == Opcode::If) {
        bool yes = n(in.a) != 0;
        run(yes ? pc + 1 : in.b, yes ? in.b : in.c);
        pc = in.c - 1;
        continue;
      }
      run(in);
    }
  }

  void run(const Instruction &in) {
    switch (in.opcode) {
#define X(name, expression) case Opcode::name:
      ATTN_FLOAT_UNARY(X)
#undef X
      tangents[in.dst] = times(derive(in.opcode, f(in.a), f(in.dst)), t(in.a));
      return;
#define X(name, expression) case Opcode::name:
      ATTN_FLOAT_BINARY(X)
#undef X
      {
        Pair pair = derive(in.opcode, f(in.a), f(in.b), f(in.dst));
        tangents[in.dst] = times(pair.x, t(in.a)) + times(pair.y, t(in.b));
        return;
      }
    case Opcode::Fma:
      tangents[in.dst] =
          times(f(in.b), t(in.a)) + times(f(in.a), t(in.b)) + t(in.c);
      return;
    case Opcode::FPowI: {
      double power = n(in.b);
      tangents[in.dst] =
          power == 0 ? Tangent()
                     : times(power * std::pow(f(in.a), power - 1), t(in.a));
      return;
    }
    case Opcode::SelectF:
      tangents[in.dst] = n(in.a) ? t(in.b) : t(in.c);
      return;
    case Opcode::ExtractF:
      tangents[in.dst] = seed.kind == Seed::Access && seed.number == in.a
                             ? Tangent{1, 1}
                             : Tangent();
      return;
    case Opcode::SIToFP:
    case Opcode::UIToFP:
    case Opcode::FOfBits:
      tangents[in.dst] = {};
      return;
    default:
      // Integers have no derivative.
      return;
    }
  }
};
} // namespace

Tangents::Tangents(const Program &program, Seed seed)
    : program(program), seed(seed), rows(program.row.numFloats),
      lanes(program.lane.numFloats) {
  if (seed.kind == Seed::RowRegister)
    rows[seed.number] = {1, 1};
  if (seed.kind == Seed::LaneRegister)
    lanes[seed.number] = {1, 1};
}

void Tangents::runRow(Frame &frame) {
  if (program.row.numFloats != 0)
    StageTangents{program.row,
                  &frame.rowFloat(0),
                  program.row.numInts ? &frame.rowInt(0) : nullptr,
                  1,
                  0,
                  seed,
                  rows}
        .run(0, program.row.code.size());
  for (const Copy &copy : program.floatCopies)
    lanes[copy.lane] = rows[copy.row];
}

void Tangents::runLane(Frame &frame, unsigned lane) {
  if (program.lane.numFloats != 0)
    StageTangents{program.lane,
                  frame.laneFloats(0),
                  program.lane.numInts ? frame.laneInts(0) : nullptr,
                  kLanes,
                  lane,
                  seed,
                  lanes}
        .run(0, program.lane.code.size());
}

bool attn::reference::isRowAccess(const Program &program, uint32_t number) {
  return llvm::any_of(program.row.code, [&](const Instruction &in) {
    return (in.opcode == Opcode::ExtractF || in.opcode == Opcode::ExtractI) &&
           in.a == number;
  });
}
