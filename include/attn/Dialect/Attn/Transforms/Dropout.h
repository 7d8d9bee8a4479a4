//===- Dropout.h - Dropout as arithmetic ------------------------*- C++ -*-===//
//
// The parts of attn.dropout, for those who compute several pairs by one call of
// Philox. Words are i32, numbers or vectors of one shape.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ATTN_TRANSFORMS_DROPOUT_H
#define ATTN_DIALECT_ATTN_TRANSFORMS_DROPOUT_H

#include "attn/Dialect/Attn/IR/AttnDropout.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <array>

namespace mlir::attn {

/// What a seed and an offset become: the word of the counter, and the key of
/// each round.
struct DropoutKeys {
  Value offset;
  std::array<std::pair<Value, Value>, 10> rounds;
};
DropoutKeys emitDropoutKeys(ImplicitLocOpBuilder &b, Value seed, Value offset);

/// The words of Philox 4x32-10.
std::array<Value, 4> emitPhilox(ImplicitLocOpBuilder &b,
                                std::array<Value, 4> counter,
                                const DropoutKeys &keys);

/// The words of the counter of a batch and a head, and of a position.
Value emitDropoutHead(ImplicitLocOpBuilder &b, Value batch, Value head);
Value emitDropoutGroup(ImplicitLocOpBuilder &b, Value position);

/// The factor of a pair from its word.
Value emitDropoutFactor(ImplicitLocOpBuilder &b, DropoutOp op, Value word);

/// All of it, in place of `op` on `operands`: one call for each pair.
Value emitDropout(ImplicitLocOpBuilder &b, DropoutOp op, ValueRange operands);

} // namespace mlir::attn

#endif // ATTN_DIALECT_ATTN_TRANSFORMS_DROPOUT_H
