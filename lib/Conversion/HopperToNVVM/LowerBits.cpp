//===- LowerBits.cpp - Tests of bits of words -----------------------------===//
//
// A mask may be bits in words, of which a position's remainder says which. The
// remainders of a thread's elements are a base and constants, so that a word is
// shifted by the base once, and each element tests a constant bit.
//
//===----------------------------------------------------------------------===//

#include "ThreadProgram.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

/// ((word >> position) & 1) != 0. The test is written as one instruction of a
/// constant: LLVM would make it a shift by the constant and a test of bit 0,
/// and the assembler keeps both.
bool ThreadProgram::emitBitTest(arith::CmpIOp op) {
  auto low = op.getLhs().getDefiningOp<arith::AndIOp>();
  auto shift =
      low ? low.getLhs().getDefiningOp<arith::ShRUIOp>() : arith::ShRUIOp();
  if (op.getPredicate() != arith::CmpIPredicate::ne || !shift ||
      !matchPattern(op.getRhs(), m_Zero()) ||
      !matchPattern(low.getRhs(), m_One()) ||
      !getElementTypeOrSelf(shift.getType()).isInteger(32))
    return false;
  auto amounts = castIndices.find(shift.getRhs());
  if (amounts == castIndices.end())
    return false;
  Elements words = get(shift.getLhs()), list;
  DenseMap<std::pair<Value, Value>, Value> shifted;
  for (auto [e, amount] : llvm::enumerate(amounts->second)) {
    // Bits from the 32nd on are no part of a word.
    if (amount.offset < 0 || amount.offset >= 32)
      return false;
    Value word = words.size() == 1 ? words[0] : words[e];
    if (amount.base) {
      Value &known = shifted[{word, amount.base}];
      if (!known)
        known = arith::ShRUIOp::create(b, word, toInt({amount.base, 0}, 32));
      word = known;
    }
    std::string text =
        ("{ .reg .b32 t; and.b32 t, $1, " +
         Twine(uint32_t(1) << amount.offset) + "; setp.ne.b32 $0, t, 0; }")
            .str();
    list.push_back(emitAsm(text, "=b,r", {word}, {b.getI1Type()})[0]);
  }
  values[op.getResult()] = list;
  return true;
}
