//===- Generator.h - Random programs ----------------------------*- C++ -*-===//

#ifndef ATTN_TEST_PROPERTY_GENERATOR_H
#define ATTN_TEST_PROPERTY_GENERATOR_H

#include "Program.h"
#include "attn/Support/Random.h"

namespace attn::property {

/// Random choices, the same on each platform.
class Random {
public:
  explicit Random(uint64_t seed) : stream(seed, /*stream=*/977) {}

  /// In [0, limit), which must not be empty.
  int64_t below(int64_t limit) { return stream.getInt(next++, 0, limit); }
  /// In [lo, hi].
  int64_t range(int64_t lo, int64_t hi) { return lo + below(hi - lo + 1); }
  bool chance(int64_t percent) { return below(100) < percent; }

  template <typename T> T pick(std::initializer_list<T> from) {
    return from.begin()[below(from.size())];
  }
  template <typename T> T pick(llvm::ArrayRef<T> from) {
    return from[below(from.size())];
  }
  template <typename T> T pick(const std::vector<T> &from) {
    return pick(llvm::ArrayRef<T>(from));
  }

private:
  RandomStream stream;
  uint64_t next = 0;
};

class Generator {
public:
  Generator(uint64_t seed, DeviceKind device) : random(seed) {
    program.device = device;
  }

  Program make();

private:
  /// A float with a bound of its magnitude. It is a smooth function of the
  /// score: a jump would turn the smallest rounding into another result.
  struct Bounded {
    ExprRef expr;
    double bound;
    /// Made of captures and constants without rounding, so that it may be
    /// compared.
    bool isExact = false;
  };

  void makeShapes();
  void fitShapesToGPU();
  bool isForGPU() const { return program.device == DeviceKind::Cuda; }
  Lengths makeLengths();
  void addCapture();
  /// Bits or lists of random blocks, in captures of their own.
  Sparsity makeSparsity();
  void pickSparsityForm();

  ExprRef makeCapture(size_t number, Type type, unsigned depth);
  std::optional<size_t> pickCapture(Type type);
  ExprRef makeIntegerLeaf();
  ExprRef makeInteger(unsigned depth);
  ExprRef makeRareInteger(ExprRef a, unsigned depth);
  ExprRef makeComparison(ExprRef lhs, ExprRef rhs);
  ExprRef makeCondition(unsigned depth);
  ExprRef makeUsualMask();
  ExprRef makeMask();

  Bounded makeFloatLeaf(double scoreBound);
  Bounded makeExactFloat();
  /// A condition on exact floats, some of them infinite or not a number.
  ExprRef makeExactCondition();
  Bounded makeFloat(unsigned depth, double scoreBound);
  Bounded makeUnary(Bounded arg);
  Bounded makePower(Bounded arg);
  Bounded makeRounded(Bounded arg);
  Bounded makeBinary(Bounded lhs, Bounded rhs);
  Bounded limit(Bounded value, double bound);
  /// The name of a loop, or nothing if there are enough around it.
  std::optional<std::string> openLoop();
  int64_t pickCount() { return random.pick({0, 1, 2, 3, 7, 20, 40}); }
  ExprRef makeIntegerLoop();
  Bounded makeFloatLoop(double scoreBound);
  ExprRef makeDistance();
  Bounded makeUsualScore(double scoreBound);
  ExprRef makeScore(const Attention &attention, bool wide);

  Random random;
  Program program;
  /// The loops around what is made, and how many there are in all.
  std::vector<std::string> loops;
  int numLoops = 0;
};

} // namespace attn::property

#endif // ATTN_TEST_PROPERTY_GENERATOR_H
