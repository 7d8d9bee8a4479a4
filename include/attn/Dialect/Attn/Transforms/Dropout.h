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
/// What a head of a batch becomes: words that those of a query and of a key are
/// mixed with, and the key of each round.
struct DropoutKeys {
  Value query, key;
  std::array<Value, 7> rounds;
};
/// By Philox 4x32-10. Of each operand numbers of 32 or 64 bits, or indices.
DropoutKeys emitDropoutKeys(ImplicitLocOpBuilder &b, Value seed, Value offset,
                            Value batch, Value head);

/// The words of Philox 2x32-7 for groups of queries and of keys.
std::array<Value, 2> emitDropoutWords(ImplicitLocOpBuilder &b, Value query,
                                      Value key, const DropoutKeys &keys);

/// The group of a position, both words.
Value emitDropoutGroup(ImplicitLocOpBuilder &b, Value position);

/// The factor of a pair from a word whose upper half is of the pair.
Value emitDropoutFactor(ImplicitLocOpBuilder &b, DropoutOp op, Value word);

/// All of it, in place of `op` on `operands`: one call for each pair.
Value emitDropout(ImplicitLocOpBuilder &b, DropoutOp op, ValueRange operands);

} // namespace mlir::attn

#endif // ATTN_DIALECT_ATTN_TRANSFORMS_DROPOUT_H
