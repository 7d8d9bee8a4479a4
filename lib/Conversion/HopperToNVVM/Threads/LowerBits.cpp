//===- LowerBits.cpp - Tests of bits of words -----------------------------===//
//
// A mask may be bits in words, of which a position's remainder says which. The
// remainders of a thread's elements are a base and constants, so that a word is
// shifted by the base once, and each element tests a constant bit.
//
//===----------------------------------------------------------------------===//

#include "ThreadPatterns.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

namespace {
/// (word >> amount) & 1
struct Bit {
  Value word;
  IndexElement amount;
};
} // namespace

static FailureOr<Bit> matchBit(ThreadBuilder &b, Value value) {
  auto low = value.getDefiningOp<arith::AndIOp>();
  if (!low || !matchPattern(low.getRhs(), m_One()))
    return failure();
  auto shift = low.getLhs().getDefiningOp<arith::ShRUIOp>();
  if (!shift || !shift.getType().isInteger(32))
    return failure();
  auto amount = b.getCastIndices(shift.getRhs());
  // Bits from the 32nd on are no part of a word.
  if (failed(amount) || amount->front().offset < 0 ||
      amount->front().offset >= 32)
    return failure();
  return Bit{shift.getLhs(), amount->front()};
}

/// ((word >> position) & 1) != 0.
static FailureOr<Elements>
lowerBitTest(arith::CmpIOp op, Operands<arith::CmpIOp> in, ThreadBuilder &b) {
  if (op.getPredicate() != arith::CmpIPredicate::ne ||
      !matchPattern(op.getRhs(), m_Zero()))
    return failure();
  SmallVector<Bit> bits;
  for (Value value : in.getLhs()) {
    FailureOr<Bit> bit = matchBit(b, value);
    if (failed(bit))
      return failure();
    bits.push_back(*bit);
  }
  Elements list;
  DenseMap<std::pair<Value, Value>, Value> shifted;
  for (auto [word, amount] : bits) {
    if (amount.base) {
      Value &known = shifted[{word, amount.base}];
      if (!known)
        known = b.shrU(word, b.toInt(IndexElement{amount.base, 0}, 32));
      word = known;
    }
    list.push_back(b.testBit(word, amount.offset));
  }
  return list;
}

void mlir::attn::populateBitPatterns(ThreadPatterns &patterns) {
  patterns.add(lowerBitTest, /*benefit=*/4);
}
