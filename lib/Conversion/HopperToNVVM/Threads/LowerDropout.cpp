//===- LowerDropout.cpp - Dropout on the pairs of a thread ----------------===//

#include "ThreadPatterns.h"
#include "attn/Dialect/Attn/Transforms/Dropout.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::attn;

namespace {
/// The positions of a thread's elements in one dimension, as a base whose bit 3
/// is 0, to which the offsets of elements are added.
struct Positions {
  Value base;
  SmallVector<int64_t> offsets;

  /// Fails unless all elements have one base.
  static FailureOr<Positions> get(ThreadBuilder &b, ValueRange elements) {
    Positions positions;
    for (auto [number, index] : llvm::enumerate(b.getIndices(elements))) {
      if (number == 0)
        positions.base = index.base;
      if (index.base != positions.base || index.offset < 0)
        return failure();
      positions.offsets.push_back(index.offset);
    }
    return positions;
  }
  int64_t getOffset(int64_t element) const {
    return offsets.size() == 1 ? offsets[0] : offsets[element];
  }
  bool getBit(int64_t element) const {
    return getOffset(element) / kDropoutDistance % 2;
  }
  /// What offsets of one group of positions have in common.
  int64_t getGroup(int64_t element) const {
    return getOffset(element) & ~kDropoutDistance;
  }
  Value emitWord(ThreadBuilder &b, int64_t group) const {
    Value first =
        b.toInt(IndexElement{base, group % kDropoutDistance}, /*bits=*/32);
    return b.addOffset(emitDropoutGroup(b, first),
                       group / kDropoutGroup * kDropoutDistance);
  }
};
} // namespace

/// One call of Philox for the four pairs that it is for, all of which a thread
/// has where tiles start at multiples of their distances.
static FailureOr<Elements>
lowerDropoutOfGroups(DropoutOp op, Operands<DropoutOp> in, ThreadBuilder &b) {
  std::optional<Fragment> fragment = Fragment::get(op.getType());
  if (!op.getAligned() || !fragment ||
      fragment->layout != hopper::FragmentLayout::Accumulator)
    return failure();
  for (ValueRange shared : {in.getSeed(), in.getOffset(), in.getB(), in.getH()})
    if (shared.size() != 1)
      return failure();
  FailureOr<Positions> i = Positions::get(b, in.getI()),
                       j = Positions::get(b, in.getJ());
  if (failed(i) || failed(j))
    return failure();
  DropoutKeys keys =
      emitDropoutKeys(b, in.getSeed().front(), in.getOffset().front(),
                      b.toInt(in.getB(), 32), b.toInt(in.getH(), 32));
  llvm::MapVector<std::pair<int64_t, int64_t>, std::array<Value, 2>> groups;
  Elements list;
  for (int64_t e = 0, count = fragment->getNumRegisters(); e < count; ++e) {
    int64_t query = i->getGroup(e), key = j->getGroup(e);
    auto [it, isNew] = groups.try_emplace({query, key});
    if (isNew)
      it->second =
          emitDropoutWords(b, i->emitWord(b, query), j->emitWord(b, key), keys);
    Value word = it->second[i->getBit(e)];
    if (!j->getBit(e))
      word = arith::ShLIOp::create(
          b, word, arith::ConstantIntOp::create(b, word.getType(), 16));
    list.push_back(emitDropoutFactor(b, op, word));
  }
  return list;
}

/// One call for each pair.
static Elements lowerDropout(DropoutOp op, Operands<DropoutOp> in,
                             ThreadBuilder &b) {
  ValueRange operands[] = {in.getSeed(), in.getOffset(), in.getB(),
                           in.getH(),    in.getI(),      in.getJ()};
  return mapElements(operands,
                     [&](ValueRange own) { return emitDropout(b, op, own); });
}

void mlir::attn::populateDropoutPatterns(ThreadPatterns &patterns) {
  patterns.add(lowerDropout);
  patterns.add(lowerDropoutOfGroups, /*benefit=*/2);
}
