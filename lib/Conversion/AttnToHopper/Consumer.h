//===- Consumer.h - The role that computes ----------------------*- C++ -*-===//

#ifndef ATTN_LIB_CONVERSION_ATTNTOHOPPER_CONSUMER_H
#define ATTN_LIB_CONVERSION_ATTNTOHOPPER_CONSUMER_H

#include "Roles.h"

namespace mlir::attn {

/// acc: vector<Dv x 64>; shift: vector<1 x 64>, what the scores times their
/// factor are shifted by, so that none is much above 0; sum: vector<4 x 64>;
/// probabilities: vector<N x 64>.
struct SoftmaxState {
  Value acc, shift, sum, probabilities;
};

/// The tiles of keys that one warpgroup computes with, [first, end), of those
/// that the thread block visits.
struct TileRange {
  Value first, end;
};

/// Scores of one tile, in base 2 `factor * value + offset`.
struct Scores {
  Value value;
  double factor = 1;
  /// vector<1 x 64>, or null for 0.
  Value offset = {};
};

class Consumer {
public:
  Consumer(OpBuilder &builder, TileProgram &program, KernelArguments &arguments,
           const KernelResources &resources)
      : builder(builder), program(program), arguments(arguments),
        resources(resources), loc(program.step->getLoc()),
        warpgroup(hopper::WarpgroupIdOp::create(builder, loc)),
        cloner(builder, program, arguments, warpgroup) {}

  LogicalResult emit() {
    return emitWork(builder, program, cloner, resources, /*isProducer=*/false,
                    [&](const Work &work) {
                      return program.isNeeded ? emitTileByClass(work)
                                              : emitTile(work);
                    });
  }

private:
  struct OwnRows {
    Value first, count;
    bool areAll = false;
  };
  FailureOr<Value> emitTile(const Work &work);
  FailureOr<Value> emitTileByClass(const Work &work);
  LogicalResult emitNeeded(const Work &work, Value first);
  LogicalResult emitTileResults(const Work &work, ValueRange state,
                                Value hasKeys = {});
  LogicalResult emitPartResults(const Work &work, Value hasKeys, Value acc,
                                Value max, Value sum);
  FailureOr<OwnRows> mapOwnRows();
  FailureOr<TileRange> emitRange(const Work &work);
  void emitSkip(const Work &work, Value from, Value to);
  LogicalResult holdQueries(const Work &work, Value tile);
  FailureOr<SoftmaxState> emitFirst(Value key, Value use, Value product);
  struct Step {
    /// The tile of keys, and its first key; null where `getKey` gives it.
    Value keys, key;
    /// The uses of these keys, and of the values before.
    Value use, valueUse;
    /// Whether no predicate is needed; null if that is to be computed.
    Value isFull;
    llvm::function_ref<Value()> getKey = {};
  };
  FailureOr<SoftmaxState> emitStep(const Step &step, SoftmaxState state);
  FailureOr<SoftmaxState> emitLoop(const Work &work, TileRange range,
                                   SoftmaxState state);
  LogicalResult emitKeys(const Work &work, TileRange range);
  LogicalResult emitResults(Value acc, Value max, Value sum);
  Value round(Value probabilities) {
    return arith::TruncFOp::create(
        builder, loc,
        getVectorType(program.schedule.getTileN(), program.value.elementType),
        probabilities);
  }

  Value startScores(Value keys);
  void emitCaptures(Value number, bool arePacked);
  SmallVector<GatherOp> getReads(Block &block);
  LogicalResult emitReads(Value key);
  LogicalResult emitFirstReads(Value key);
  FailureOr<Scores> emitScores(Value product, Value key, bool isFirst,
                               Value isFull = {});
  FailureOr<Value> getIsFull(Value key);
  FailureOr<Scores> getScores(bool isMasked, Scores biased, Value key);

  LogicalResult holdSlopes();
  LogicalResult emitStarts(Value key);
  FailureOr<Scores> emitBias(Value product);

  SoftmaxState emitFirstSoftmax(Scores scores);
  SoftmaxState emitSoftmax(Scores scores, Value &pendingAcc,
                           SoftmaxState state);
  Value emitProbabilities(Scores scores, Value shift);
  Value emitShift(Scores scores, Value max, Value most);
  Value addOffset(Scores scores, Value shift);

  // Short forms.
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  Value splat(Type type, double value) {
    return hopper::createSplat(builder, loc, type, value);
  }
  Value number(int64_t value) {
    return arith::ConstantIntOp::create(builder, loc, value, 32);
  }
  Value add(Value a, Value b) {
    return a.getType().isIntOrIndex()
               ? arith::AddIOp::create(builder, loc, a, b).getResult()
               : arith::AddFOp::create(builder, loc, a, b).getResult();
  }
  Value mul(Value a, Value b) {
    return arith::MulFOp::create(builder, loc, a, b);
  }
  Value fma(Value a, Value b, Value c) {
    return math::FmaOp::create(builder, loc, a, b, c);
  }
  Value broadcast(Value value, Type type) {
    return vector::BroadcastOp::create(builder, loc, type, value);
  }
  Value get(Value channel, Value number) {
    return getWithNote(channel, number).getTile();
  }
  hopper::GetOp getWithNote(Value channel, Value number) {
    return hopper::GetOp::create(builder, loc, channel, number);
  }
  void release(Value channel, Value number) {
    hopper::ReleaseOp::create(builder, loc, channel, number);
  }
  /// After the last product with them.
  void releaseQueries(const Work &work) {
    if (!resources.stagesInQueries)
      release(resources.queryChannel, work.queryNumber);
  }
  Value wait(Value pending, int64_t inFlight) {
    return hopper::WaitOp::create(builder, loc, pending, inFlight).getResult(0);
  }
  void takeTurn() {
    if (resources.turns)
      hopper::TakeTurnOp::create(builder, loc, resources.turns);
  }
  void passTurn() {
    if (resources.turns)
      hopper::PassTurnOp::create(builder, loc, resources.turns);
  }
  Value getRows(Value tile) {
    auto type = cast<hopper::TileType>(tile.getType());
    auto rows = hopper::TileType::get(builder.getContext(),
                                      hopper::kWarpgroupRows, type.getColumns(),
                                      type.getElementType(), type.getRows());
    return hopper::RowsOp::create(builder, loc, rows, tile, warpgroup);
  }
  VectorType getVectorType(int64_t rows, Type element) {
    return VectorType::get({rows, hopper::kWarpgroupRows}, element);
  }
  Value emitZeroAcc() {
    return splat(getVectorType(program.value.columns, builder.getF32Type()), 0);
  }
  Value startValues(Value probabilities, Value tile, Value acc) {
    auto type = cast<hopper::TileType>(tile.getType());
    auto result = hopper::PendingType::get(
        builder.getContext(),
        getVectorType(type.getColumns(), builder.getF32Type()));
    return hopper::MmaOp::create(builder, loc, result, probabilities, tile, acc,
                                 /*rhs_transposed=*/true);
  }

  OpBuilder &builder;
  TileProgram &program;
  KernelArguments &arguments;
  const KernelResources &resources;
  Location loc;
  Value warpgroup;
  WorkerCloner cloner;
  /// Computes what holds for the queries of the warpgroup alone: as if they
  /// were a tile of their own.
  std::optional<WorkerCloner> own;
  /// The queries of this consumer: a tile, or a vector.
  Value queries;
  /// Of a bias that is in the product: its slope for each of them, and whether
  /// it is computed for each score after all.
  Value slopes, isBiasPlain;
  /// What it is for the first key of the tile that scores are computed of.
  Value starts;
};

/// Whether a value of the tile level depends on another one; `seen` are values
/// that are known not to.
bool dependsOn(Value value, Value other, DenseSet<Value> &seen);

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_ATTNTOHOPPER_CONSUMER_H
