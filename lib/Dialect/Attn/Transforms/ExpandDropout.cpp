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
                                        Value offset) {
  Words w{b};
  DropoutKeys keys;
  keys.offset = w.low(offset);
  Value first = w.low(seed),
        second = w.make<arith::XOrIOp>(w.high(seed), w.high(offset));
  for (unsigned round = 0; round < 10; ++round) {
    keys.rounds[round] = {
        w.makeWith<arith::AddIOp>(first, uint32_t(round * 0x9E3779B9u)),
        w.makeWith<arith::AddIOp>(second, uint32_t(round * 0xBB67AE85u))};
  }
  return keys;
}

std::array<Value, 4> mlir::attn::emitPhilox(ImplicitLocOpBuilder &b,
                                            std::array<Value, 4> counter,
                                            const DropoutKeys &keys) {
  Words w{b};
  for (auto [key0, key1] : keys.rounds) {
    Value product0 = w.multiply(counter[0], 0xD2511F53),
          product1 = w.multiply(counter[2], 0xCD9E8D57);
    auto mix = [&](Value product, Value word, Value key) {
      return w.make<arith::XOrIOp>(w.make<arith::XOrIOp>(w.high(product), word),
                                   key);
    };
    counter = {mix(product1, counter[1], key0), w.low(product1),
               mix(product0, counter[3], key1), w.low(product0)};
  }
  return counter;
}

Value mlir::attn::emitDropoutHead(ImplicitLocOpBuilder &b, Value batch,
                                  Value head) {
  Words w{b};
  // Reversed: halves, quarters and so on change places.
  for (unsigned bits = 16; bits != 0; bits /= 2) {
    uint32_t lower = ~uint32_t(0) / ((uint32_t(1) << bits) + 1);
    Value up = w.makeWith<arith::ShLIOp>(
        w.makeWith<arith::AndIOp>(batch, lower), bits);
    Value down = w.makeWith<arith::AndIOp>(
        w.makeWith<arith::ShRUIOp>(batch, bits), lower);
    batch = w.make<arith::OrIOp>(up, down);
  }
  return w.make<arith::XOrIOp>(batch, head);
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
  Value isKept = arith::CmpIOp::create(b, arith::CmpIPredicate::uge, word,
                                       w.constant(word, op.getLeastKept()));
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
  DropoutKeys keys = emitDropoutKeys(b, in.getSeed(), in.getOffset());
  Value i = w.toWord(in.getI()), j = w.toWord(in.getJ());
  Value head = emitDropoutHead(b, w.toWord(in.getB()), w.toWord(in.getH()));
  std::array<Value, 4> words = emitPhilox(
      b, {emitDropoutGroup(b, j), emitDropoutGroup(b, i), keys.offset, head},
      keys);
  auto select = [&](Value position, Value odd, Value even) -> Value {
    Value bit = w.makeWith<arith::AndIOp>(position, kDropoutDistance);
    Value isOdd = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, bit,
                                        w.constant(bit, 0));
    if (isa<VectorType>(odd.getType()) && !isa<VectorType>(isOdd.getType()))
      isOdd = vector::BroadcastOp::create(b, w.likeShape(odd, b.getI1Type()),
                                          isOdd);
    if (isa<VectorType>(isOdd.getType()) && !isa<VectorType>(odd.getType())) {
      odd = vector::BroadcastOp::create(b, w.likeShape(isOdd, b.getI32Type()),
                                        odd);
      even = vector::BroadcastOp::create(b, w.likeShape(isOdd, b.getI32Type()),
                                         even);
    }
    return arith::SelectOp::create(b, isOdd, odd, even);
  };
  Value word =
      select(i, select(j, words[3], words[2]), select(j, words[1], words[0]));
  return emitDropoutFactor(b, op, word);
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
