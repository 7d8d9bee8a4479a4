//===- TileSearch.h - Which tiles of keys are needed ------------*- C++ -*-===//
//
// A producer finds the tiles that a tile of queries needs, 32 at a time: each
// thread of its warp computes the class of one. It tells the consumers with the
// tiles which come next, as codes.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_ATTNTOHOPPER_TILESEARCH_H
#define ATTN_LIB_CONVERSION_ATTNTOHOPPER_TILESEARCH_H

#include "IntBuilder.h"
#include "Roles.h"

namespace mlir::attn {

/// A tile as i32: the position of its first key, which is a multiple of 16, and
/// 1 more if it needs the predicate; -1 for none.
struct TileCode {
  Value code;

  Value isTile(IntBuilder &ib) const {
    return arith::CmpIOp::create(ib.builder, ib.loc, arith::CmpIPredicate::sge,
                                 code, ib.constant(0));
  }
  Value getKey(IntBuilder &ib) const {
    return ib.toPosition(
        arith::AndIOp::create(ib.builder, ib.loc, code, ib.constant(-16)));
  }
  Value isFull(IntBuilder &ib) const {
    Value flag =
        arith::AndIOp::create(ib.builder, ib.loc, code, ib.constant(1));
    return arith::CmpIOp::create(ib.builder, ib.loc, arith::CmpIPredicate::eq,
                                 flag, ib.constant(0));
  }
};

class TileSearch {
public:
  /// For the tile of queries whose indices are mapped in `cloner`, where the
  /// builder stands. What does not depend on the keys is computed there.
  TileSearch(OpBuilder &builder, TileProgram &program, WorkerCloner &cloner,
             const Work &work);

  /// Of the 32 tiles from `base`, those that are needed and not yet found, and
  /// those that need no predicate, as bits.
  struct State {
    Value base, needed, full;
    SmallVector<Value> getValues() const { return {base, needed, full}; }
    static State get(ValueRange values) {
      return {values[0], values[1], values[2]};
    }
  };
  FailureOr<State> start();
  /// The next tile.
  FailureOr<TileCode> next(State &state);

private:
  FailureOr<State> refill(Value base);

  OpBuilder &builder;
  TileProgram &program;
  WorkerCloner &cloner;
  const Work &work;
  IntBuilder ib;
  Value lane;
};

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_ATTNTOHOPPER_TILESEARCH_H
