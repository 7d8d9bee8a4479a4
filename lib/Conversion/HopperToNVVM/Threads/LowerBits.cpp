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

/// ((word >> position) & 1) != 0. The test is written as one instruction of a
/// constant: LLVM would make it a shift by the constant and a test of bit 0,
/// and the assembler keeps both.
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
        known = arith::ShRUIOp::create(
            b, word, b.toInt(IndexElement{amount.base, 0}, 32));
      word = known;
    }
    std::string text =
        ("{ .reg .b32 t; and.b32 t, $1, " +
         Twine(uint32_t(1) << amount.offset) + "; setp.ne.b32 $0, t, 0; }")
            .str();
    list.push_back(b.asmOp(text, "=b,r", word, {b.getI1Type()})[0]);
  }
  return list;
}

void mlir::attn::populateBitPatterns(ThreadPatterns &patterns) {
  patterns.add(lowerBitTest, /*benefit=*/4);
}
