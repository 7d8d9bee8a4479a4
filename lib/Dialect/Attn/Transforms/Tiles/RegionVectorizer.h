//===- RegionVectorizer.h - Regions on whole tiles --------------*- C++ -*-===//
//
// Turns the scalar body of a score or mask region into operations on a tile of
// keys by queries. Each value keeps the smallest shape it can have, so that
// what depends on the query alone is computed once per tile and not per
// element.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILES_REGIONVECTORIZER_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILES_REGIONVECTORIZER_H

#include "attn/Dialect/Attn/IR/AttnDropout.h"
#include "attn/Dialect/Attn/IR/AttnGrad.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include <functional>

namespace mlir::attn {

/// On which of the tile's two dimensions a value depends.
enum class TileKind {
  Uniform = 0,       ///< scalar
  Query = 1,         ///< vector<M>
  Key = 2,           ///< vector<N>
  Tile = Query | Key ///< vector<N x M>
};

inline TileKind join(TileKind a, TileKind b) {
  return static_cast<TileKind>(static_cast<int>(a) | static_cast<int>(b));
}

inline bool isAlong(TileKind kind, TileKind axis) {
  return join(kind, axis) == kind;
}

/// Of a condition that is `keys < limit`, or `keys <= limit`.
struct KeyLimit {
  /// vector<N> of index; null for another condition.
  Value keys;
  /// The same for all keys.
  Value limit;
  TileKind kind = TileKind::Uniform;
  bool isInclusive = false;
};

/// Of a quotient of key positions by a number that all share.
struct KeyQuotient {
  /// vector<N> of index, which are not negative; null for another value.
  Value keys;
  /// As an unsigned number; a quotient by 0 is 0.
  Value divisor;
};

/// Of the remainder of a difference of two positions, of which none is
/// negative, by a number that all share.
struct Congruence {
  /// vector<M> and vector<N> of index; null for another value.
  Value queries, keys;
  /// Null for the difference itself; a remainder by 0 is 0.
  Value divisor;
};

/// A value with the dimensions it depends on, and what is known of it.
struct TileValue {
  Value value;
  TileKind kind = TileKind::Uniform;
  /// The first of positions that follow each other, along one dimension; null
  /// for other values.
  Value start = {};
  KeyLimit limit = {};
  KeyQuotient quotient = {};
  Congruence congruence = {};
};

/// Numbers the reads of captures whose indices are to be checked at run time.
struct BoundsCheckSites {
  struct Site {
    Location loc;
    /// What the read tensor is called.
    std::string capture;
    unsigned dimension;
  };
  /// What the captures of the attention at hand are called.
  SmallVector<std::string> captureNames;
  SmallVector<Site> sites;
  /// The number of the first of them.
  int64_t first = 0;
};

/// The positive constant that `op` divides by, rounding down where what it
/// divides is not negative; nothing for other operations, or null.
std::optional<int64_t> getDivisor(Operation *op);

class RegionVectorizer {
public:
  /// Tiles have `numKeys` rows and `numQueries` columns. With `sites`, reads of
  /// captures are numbered there and checked.
  RegionVectorizer(OpBuilder &builder, Location loc, int64_t numKeys,
                   int64_t numQueries, BoundsCheckSites *sites)
      : builder(builder), loc(loc), numKeys(numKeys), numQueries(numQueries),
        sites(sites) {}

  /// Emits the body of `region` for the given arguments and returns what it
  /// yields, of several values the one of that number and nothing that it does
  /// not need. `active` says where captures may be read. Fails with a
  /// diagnostic on an operation that has no form on tiles.
  FailureOr<TileValue> run(Region &region, ArrayRef<TileValue> arguments,
                           TileValue active, unsigned result = 0);

  /// What becomes of an attn.contribute where `active` holds, which may ask
  /// for values; without it, nothing does. `into` is what it adds to, and it
  /// gives the sum; both are null where that is memory.
  using Contribute =
      std::function<Value(ContributeOp, TileValue active, Value into)>;
  void setContribute(Contribute function, Value into) {
    contribute = std::move(function);
    contributions = into;
  }
  /// What `into` has become.
  Value getContributions() const { return contributions; }

  /// The same by steps: what an argument is, one operation of a region without
  /// branches after the other, and what a value has become. Captures may be
  /// read everywhere.
  void set(Value argument, TileValue value) { values[argument] = value; }
  LogicalResult emit(Operation &op);
  TileValue get(Value value) { return lookup(value); }
  TileValue getTrue() {
    return {arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true))};
  }

  /// The `extent` values of `argument` start at `start`, a multiple of
  /// `alignment`, and so do those of each part of the tile that is computed by
  /// itself. Quotients by a divisor of that are those of the start and of what
  /// comes on top of it, whose remainder is that of the whole. If no values
  /// reach the next multiple, quotients by a multiple of it are the same for
  /// the tile.
  void setStart(Value argument, Value start, int64_t alignment,
                int64_t extent) {
    starts[argument] = {start, alignment, extent};
  }

  /// The result of `op`, which is not emitted.
  void setResult(Operation *op, TileValue value) {
    values[op->getResult(0)] = value;
    given.insert(op);
  }

  /// Loops become what they run, as in programs that have no loops on tiles.
  void setUnrolled() { unrollsLoops = true; }

  /// No key from `end` on is asked for, whatever a region says of it.
  void setKeyEnd(Value end) { keyEnd = end; }

  /// `value` with the shape of `kind`, which must include its own.
  Value broadcast(TileValue value, TileKind kind);
  TileValue logicalAnd(TileValue a, TileValue b);
  /// `lhs predicate rhs`, of integers.
  TileValue compare(arith::CmpIPredicate predicate, TileValue lhs,
                    TileValue rhs);
  /// The type of a value of element type `type` that depends on `kind`.
  Type getType(Type type, TileKind kind);
  int64_t getNumKeys() const { return numKeys; }
  int64_t getNumQueries() const { return numQueries; }

private:
  struct Start {
    Value value;
    int64_t alignment, extent;
  };
  LogicalResult visitBlock(Block &block, TileValue active);
  LogicalResult visit(Operation &op, TileValue active);
  LogicalResult visitIf(Operation &op, TileValue active);
  LogicalResult visitFor(scf::ForOp loop, TileValue active);
  LogicalResult visitElementwise(Operation &op, TileValue active);
  void visitDropout(DropoutOp op);
  /// A quotient or a remainder of an argument with a start.
  bool visitDivisionOfTile(Operation &op);
  bool visitUniformQuotient(Operation &op, const Start &start);
  void visitExtract(tensor::ExtractOp op, TileValue active);
  /// The dimensions that rows and columns of a box run along.
  struct Box {
    std::optional<int64_t> rows, columns;
  };
  /// The box that these indices are, if it has the shape of `kind`, with where
  /// it starts in place of positions.
  std::optional<Box> emitBox(ValueRange indices, TileKind kind,
                             SmallVectorImpl<Value> &starts);
  /// The first of positions that follow each other, or null.
  Value emitStart(Value index);
  KeyQuotient getQuotient(Operation &op, ArrayRef<TileValue> operands);
  Congruence getCongruence(Operation &op, ArrayRef<TileValue> operands);
  /// The same of the keys, without the division.
  TileValue compareQuotient(arith::CmpIPredicate predicate,
                            const KeyQuotient &quotient, TileValue rhs);
  /// Whether both positions leave the same, each of which a query or a key has
  /// once, or that they do not.
  TileValue compareRemainders(arith::CmpIPredicate predicate,
                              const Congruence &congruence);
  /// Two conditions of the same keys as one comparison; null if they are not.
  TileValue joinLimits(bool isAnd, KeyLimit a, KeyLimit b);
  /// An integer constant in the shape of `kind`.
  Value splat(Type element, const APInt &value, TileKind kind);
  TileValue lookup(Value value);

  OpBuilder &builder;
  Location loc;
  int64_t numKeys, numQueries;
  BoundsCheckSites *sites;
  Contribute contribute;
  Value contributions;
  DenseMap<Value, TileValue> values;
  DenseSet<Operation *> given;
  DenseMap<Value, Start> starts;
  Value keyEnd;
  bool unrollsLoops = false;
};

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILES_REGIONVECTORIZER_H
