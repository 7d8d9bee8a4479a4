//===- IntBuilder.h - Arithmetic on i32 -------------------------*- C++ -*-===//

#ifndef ATTN_LIB_CONVERSION_ATTNTOHOPPER_INTBUILDER_H
#define ATTN_LIB_CONVERSION_ATTNTOHOPPER_INTBUILDER_H

#include "attn/Dialect/Hopper/IR/Hopper.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mlir::attn {

/// Arithmetic on i32, for short: a launch has less than 2^31 tiles.
struct IntBuilder {
  OpBuilder &builder;
  Location loc;
  Value constant(int64_t value) {
    return arith::ConstantIntOp::create(builder, loc, value, 32);
  }
  Value fromIndex(Value value) {
    return arith::IndexCastOp::create(builder, loc, builder.getI32Type(),
                                      value);
  }
  /// Of the number of a tile of `tile` positions.
  Value toPosition(Value value, int64_t tile = 1) {
    return hopper::PositionOp::create(builder, loc, value, tile);
  }
  Value add(Value a, Value b) {
    return arith::AddIOp::create(builder, loc, a, b);
  }
  Value sub(Value a, Value b) {
    return arith::SubIOp::create(builder, loc, a, b);
  }
  Value mul(Value a, Value b) {
    return arith::MulIOp::create(builder, loc, a, b);
  }
  Value div(Value a, Value b) {
    return arith::DivUIOp::create(builder, loc, a, b);
  }
  Value rem(Value a, Value b) {
    return arith::RemUIOp::create(builder, loc, a, b);
  }
};

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_ATTNTOHOPPER_INTBUILDER_H
