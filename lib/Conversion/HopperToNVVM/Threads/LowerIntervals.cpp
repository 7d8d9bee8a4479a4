//===- LowerIntervals.cpp - Elements in an interval of positions ----------===//
//
// Where a condition keeps the elements of a row whose positions are in an
// interval, these follow one another among the row's elements of a thread. They
// make a word with a bit for each element, of few instructions; the assembler
// moves seven bits to predicates at once (R2P), which takes less than
// comparisons of each element.
//
//===----------------------------------------------------------------------===//

#include "ThreadPatterns.h"
#include "llvm/ADT/MapVector.h"
#include <map>

using namespace mlir;
using namespace mlir::attn;

/// With fewer comparisons of a thread's elements, these take less registers.
static constexpr size_t kFewestComparisons = 64;

namespace {
/// The positions of a thread's elements with the same bounds: pairs of
/// neighbours, eight apart. Each is a bit, of one element or more.
struct BoundedPositions {
  Value lower, upper;
  int64_t first = 0, count = 0;
  SmallVector<std::pair<size_t, int64_t>> bits;

  int64_t getPosition(int64_t bit) const {
    return first + 8 * (bit / 2) + bit % 2;
  }
};
} // namespace

/// How many positions there are up to a bound and `more`.
static Value countUpTo(ThreadBuilder &b, const BoundedPositions &positions,
                       Value bound, int64_t more) {
  Value distance = b.addOffset(bound, more - positions.first);
  distance = b.maxS(distance, -1);
  distance = b.minS(distance, 4 * positions.count - 1);
  // Two of each eight positions.
  Value pairs = b.shrS(distance, 3);
  Value rest = b.andI(distance, 7);
  rest = b.minU(rest, 1);
  return b.add(b.addOffset(rest, 1), b.shl(pairs, 1));
}

/// The bits of positions within the bounds, 32 in a word.
static SmallVector<Value> emitBits(ThreadBuilder &b,
                                   const BoundedPositions &positions) {
  Value begin =
      positions.lower ? countUpTo(b, positions, positions.lower, -1) : b.i32(0);
  Value end = positions.upper ? countUpTo(b, positions, positions.upper, 0)
                              : b.i32(positions.count);
  SmallVector<Value> words;
  for (int64_t first = 0; first < positions.count; first += 32) {
    auto get = [&](Value count) -> Value {
      if (first == 0)
        return count;
      return b.maxS(b.addOffset(count, -first), 0);
    };
    Value start = get(begin);
    Value width = b.maxS(b.sub(get(end), start), 0);
    words.push_back(b.asmOp("bmsk.clamp.b32 $0, $1, $2;", "=r,r,r",
                            {start, width}, {b.getI32Type()})[0]);
  }
  return words;
}

/// Elements by the bounds of their conditions, if all have bounds.
static FailureOr<SmallVector<BoundedPositions>>
getBoundedPositions(ThreadBuilder &b, ValueRange conditions) {
  llvm::MapVector<std::pair<Value, Value>, SmallVector<size_t>> groups;
  auto getLimits = [&](size_t e) -> const Limits & {
    return b.kernel.facts.limits.at(conditions[e]);
  };
  for (auto [e, condition] : llvm::enumerate(conditions)) {
    if (!b.kernel.facts.limits.contains(condition))
      return failure();
    groups[{getLimits(e).lower, getLimits(e).upper}].push_back(e);
  }
  SmallVector<BoundedPositions> list;
  size_t numComparisons = 0;
  for (auto &[bounds, elements] : groups) {
    auto [lower, upper] = bounds;
    numComparisons += elements.size() * (bool(lower) + bool(upper));
    // Rows may have the same positions, or some of them.
    std::map<int64_t, int64_t> bits;
    for (size_t e : elements)
      bits[getLimits(e).position] = 0;
    BoundedPositions group{lower, upper, bits.begin()->first,
                           static_cast<int64_t>(bits.size())};
    int64_t next = 0;
    for (auto &[position, bit] : bits) {
      if (position != group.getPosition(next))
        return failure();
      bit = next++;
    }
    for (size_t e : elements)
      group.bits.push_back({e, bits[getLimits(e).position]});
    list.push_back(std::move(group));
  }
  if (numComparisons < kFewestComparisons)
    return failure();
  return list;
}

static FailureOr<Elements> lowerSelect(arith::SelectOp op,
                                       Operands<arith::SelectOp> in,
                                       ThreadBuilder &b) {
  ValueRange conditions = in.getCondition();
  if (conditions.size() != in.getTrueValue().size() ||
      conditions.size() != in.getFalseValue().size())
    return failure();
  FailureOr<SmallVector<BoundedPositions>> groups =
      getBoundedPositions(b, conditions);
  if (failed(groups))
    return failure();
  Elements list(conditions.size());
  for (const BoundedPositions &group : *groups) {
    SmallVector<Value> words = emitBits(b, group);
    for (auto [e, bit] : group.bits) {
      Value condition = b.testBit(words[bit / 32], bit % 32);
      if (Value rest = b.kernel.facts.limits.lookup(conditions[e]).rest)
        condition = b.andI(condition, rest);
      list[e] =
          b.select(condition, in.getTrueValue()[e], in.getFalseValue()[e]);
    }
  }
  return list;
}

void mlir::attn::populateIntervalPatterns(ThreadPatterns &patterns) {
  patterns.add(lowerSelect, /*benefit=*/4);
}
