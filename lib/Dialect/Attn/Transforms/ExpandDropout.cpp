//===- ExpandDropout.cpp - Dropout as arithmetic --------------------------===//

#include "attn/Dialect/Attn/Transforms/Dropout.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNEXPANDDROPOUTPASS
#include "attn/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {
/// Arithmetic on integers of 32 bits, numbers or vectors. Where a vector meets
/// a number, that becomes a vector.
struct Words {
  ImplicitLocOpBuilder &b;

  Type likeShape(Value value, Type element) {
    auto vector = dyn_cast<VectorType>(value.getType());
    return vector ? Type(vector.clone(element)) : element;
  }
  Value constant(Value like, TypedAttr number) {
    if (auto vector = dyn_cast<VectorType>(likeShape(like, number.getType())))
      number = DenseElementsAttr::get(vector, Attribute(number));
    return arith::ConstantOp::create(b, number);
  }
  Value constant(Value like, uint64_t value, unsigned bits = 32) {
    return constant(
        like, b.getIntegerAttr(b.getIntegerType(bits), APInt(bits, value)));
  }
  template <typename OpTy> Value make(Value x, Value y) {
    for (auto [one, other] : {std::pair{&x, y}, {&y, x}})
      if (isa<VectorType>(other.getType()) && !isa<VectorType>(one->getType()))
        *one = vector::BroadcastOp::create(b, likeShape(other, one->getType()),
                                           *one);
    return OpTy::create(b, x, y);
  }
  template <typename OpTy> Value makeWith(Value x, uint64_t y) {
    return make<OpTy>(
        x, constant(x, y, getElementTypeOrSelf(x).getIntOrFloatBitWidth()));
  }
  Value low(Value wide) {
    return arith::TruncIOp::create(b, likeShape(wide, b.getI32Type()), wide);
  }
  Value high(Value wide) { return low(makeWith<arith::ShRUIOp>(wide, 32)); }
  /// Of an index, or of an integer of 32 or 64 bits.
  Value toWord(Value index) {
    Type element = getElementTypeOrSelf(index), word = b.getI32Type();
    if (element.isIndex())
      return arith::IndexCastOp::create(b, likeShape(index, word), index);
    return element == word ? index : low(index);
  }
  /// The product of a word and a constant, in 64 bits.
  Value multiply(Value word, uint32_t by) {
    Value wide =
        arith::ExtUIOp::create(b, likeShape(word, b.getI64Type()), word);
    return makeWith<arith::MulIOp>(wide, by);
  }
};
} // namespace

DropoutKeys mlir::attn::emitDropoutKeys(ImplicitLocOpBuilder &b, Value seed,
                                        Value offset, Value batch, Value head) {
  Words w{b};
  std::array<Value, 4> counter{w.low(offset), w.high(offset), w.toWord(head),
                               w.toWord(batch)};
  Value first = w.low(seed), second = w.high(seed);
  for (unsigned round = 0; round < 10; ++round) {
    Value product0 = w.multiply(counter[0], 0xD2511F53),
          product1 = w.multiply(counter[2], 0xCD9E8D57);
    auto mix = [&](Value product, Value word, Value key, uint32_t step) {
      key = w.makeWith<arith::AddIOp>(key, uint32_t(round * step));
      return w.make<arith::XOrIOp>(w.make<arith::XOrIOp>(w.high(product), word),
                                   key);
    };
    counter = {mix(product1, counter[1], first, 0x9E3779B9), w.low(product1),
               mix(product0, counter[3], second, 0xBB67AE85), w.low(product0)};
  }
  DropoutKeys keys{counter[1], counter[2], {}};
  for (auto [round, key] : llvm::enumerate(keys.rounds))
    key = w.makeWith<arith::AddIOp>(counter[0], uint32_t(round * 0x9E3779B9));
  return keys;
}

std::array<Value, 2> mlir::attn::emitDropoutWords(ImplicitLocOpBuilder &b,
                                                  Value query, Value key,
                                                  const DropoutKeys &keys) {
  Words w{b};
  Value first = w.make<arith::XOrIOp>(query, keys.query),
        second = w.make<arith::XOrIOp>(key, keys.key);
  for (Value round : keys.rounds) {
    Value product = w.multiply(first, 0xD256D193);
    first = w.make<arith::XOrIOp>(w.make<arith::XOrIOp>(w.high(product), round),
                                  second);
    second = w.low(product);
  }
  return {first, second};
}

Value mlir::attn::emitDropoutGroup(ImplicitLocOpBuilder &b, Value position) {
  Words w{b};
  constexpr uint32_t within = kDropoutDistance - 1;
  Value upper = w.makeWith<arith::AndIOp>(
      w.makeWith<arith::ShRUIOp>(position, 1), uint32_t(~within));
  return w.make<arith::OrIOp>(upper,
                              w.makeWith<arith::AndIOp>(position, within));
}

Value mlir::attn::emitDropoutFactor(ImplicitLocOpBuilder &b, DropoutOp op,
                                    Value word) {
  Words w{b};
  Value isKept =
      arith::CmpIOp::create(b, arith::CmpIPredicate::uge, word,
                            w.constant(word, op.getLeastKept() << 16));
  auto element = cast<FloatType>(getElementTypeOrSelf(op.getType()));
  auto splat = [&](double value) {
    return w.constant(word, b.getFloatAttr(element, value));
  };
  return arith::SelectOp::create(b, isKept, splat(op.getScale()), splat(0));
}

Value mlir::attn::emitDropout(ImplicitLocOpBuilder &b, DropoutOp op,
                              ValueRange operands) {
  Words w{b};
  DropoutOp::Adaptor in(operands);
  DropoutKeys keys =
      emitDropoutKeys(b, in.getSeed(), in.getOffset(), in.getB(), in.getH());
  Value i = w.toWord(in.getI()), j = w.toWord(in.getJ());
  auto [even, odd] =
      emitDropoutWords(b, emitDropoutGroup(b, i), emitDropoutGroup(b, j), keys);
  Value isOdd = arith::CmpIOp::create(
      b, arith::CmpIPredicate::ne,
      w.makeWith<arith::AndIOp>(i, kDropoutDistance), w.constant(i, 0));
  if (isa<VectorType>(odd.getType()) && !isa<VectorType>(isOdd.getType()))
    isOdd =
        vector::BroadcastOp::create(b, w.likeShape(odd, b.getI1Type()), isOdd);
  Value word = arith::SelectOp::create(b, isOdd, odd, even);
  // 0 where the upper half is that of the key, and 16 elsewhere.
  Value shift = w.makeWith<arith::XOrIOp>(
      w.makeWith<arith::ShLIOp>(w.makeWith<arith::AndIOp>(j, kDropoutDistance),
                                1),
      16);
  return emitDropoutFactor(b, op, w.make<arith::ShLIOp>(word, shift));
}

static LogicalResult expandDropout(DropoutOp op, PatternRewriter &rewriter) {
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  rewriter.replaceOp(op, emitDropout(b, op, op->getOperands()));
  return success();
}

namespace {
struct AttnExpandDropout
    : public mlir::attn::impl::AttnExpandDropoutPassBase<AttnExpandDropout> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add(expandDropout);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};
} // namespace
