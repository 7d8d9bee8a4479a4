//===- KeyBiasValues.h - A bias that is part of the product -----*- C++ -*-===//

#ifndef ATTN_LIB_CONVERSION_ATTNTOHOPPER_KEYBIASVALUES_H
#define ATTN_LIB_CONVERSION_ATTNTOHOPPER_KEYBIASVALUES_H

#include "KeyBias.h"
#include "TileValues.h"

namespace mlir::attn {

/// What is the same for all tiles of keys.
struct HeldSlopes {
  /// vector<8 x 64>, what is multiplied with the numbers of the keys.
  Value slopes;
  /// An i1: the slopes are 0, and the bias is computed for each score.
  Value isPlain;
};

/// Computes the parts of a bias for the 64 rows of a warpgroup.
class KeyBiasValues {
public:
  /// `form` is what has matched the bias.
  KeyBiasValues(OpBuilder &builder, Location loc, TileValues &values,
                KeyForm form, const KeyBias &bias)
      : builder(builder), loc(loc), values(values), form(std::move(form)),
        bias(bias) {}

  /// With the key mapped to 0.
  FailureOr<HeldSlopes> emitSlopes(int64_t tileN, Type element);
  /// What the first key of a tile gets, vector<1 x 64>; 0 if `isPlain`. With
  /// the key mapped to the first of the tile.
  FailureOr<Value> emitOffset(Value isPlain);

private:
  FailureOr<Value> emitStart();
  FailureOr<Value> emitTerms(function_ref<FailureOr<Value>(Value)> emitTerm,
                             double scale);
  FailureOr<Value> emitSlope(Value value, VectorKind kind);
  FailureOr<Value> emitStart(Value value, VectorKind kind);
  Value emitOnRows(OperationName name, Value a, Value b);
  Value toRows(Value value);

  OpBuilder &builder;
  Location loc;
  TileValues &values;
  KeyForm form;
  const KeyBias &bias;
};

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_ATTNTOHOPPER_KEYBIASVALUES_H
