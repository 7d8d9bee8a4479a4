//===- ProducerRole.cpp - The order of copies -----------------------------===//
//
// Consumers start the scores of a tile before the values of the one before, and
// keys and values are copied in that order.
//
//===----------------------------------------------------------------------===//

#include "IntBuilder.h"
#include "Roles.h"

using namespace mlir;
using namespace mlir::attn;

namespace {
class Producer : public OverlappedTiles {
public:
  Producer(OpBuilder &builder, TileProgram &program, KernelArguments &arguments,
           const KernelResources &resources)
      : builder(builder), program(program), resources(resources),
        loc(program.grid.getLoc()), ib{builder, loc},
        cloner(builder, program, arguments, /*warpgroup=*/nullptr) {}

  LogicalResult emit() {
    if (program.schedule.getOverlapTiles())
      return emitOverlappedWork(builder, program, cloner, resources,
                                /*isProducer=*/true, *this);
    return emitWork(builder, program, cloner, resources, /*isProducer=*/true,
                    [&](const Work &work) { return emitTile(work); });
  }

  SmallVector<Value> start() override { return {}; }
  FailureOr<SmallVector<Value>> proceed(const Work &work, ValueRange) override {
    // Where the last values are is found while the indices are this tile's.
    SmallVector<Value> position;
    cloner.setAnchor(work.last.getDefiningOp());
    if (failed(putAllButLast(work)) ||
        failed(getPosition(program.value, getKey(work, work.last), position)))
      return failure();
    cloner.setAnchor(nullptr);
    return position;
  }
  FailureOr<SmallVector<Value>> end(const Work &work, const Work &next,
                                    ValueRange position) override {
    if (failed(putQueries(next)) || failed(putKeys(next, ib.constant(0))))
      return failure();
    put(resources.valueChannel, ib.add(work.valueNumber, work.last),
        resources.valueMap, position);
    return SmallVector<Value>();
  }
  LogicalResult finish(const Work &, ValueRange, ValueRange) override {
    return success();
  }

private:
  LogicalResult emitTile(const Work &work);
  Value getKey(const Work &work, Value t) {
    return work.getKey(builder, loc, t, program.schedule.getTileN());
  }
  LogicalResult getPosition(const TileAccess &access, Value key,
                            SmallVectorImpl<Value> &position);
  void put(Value channel, Value number, Value map, ValueRange position) {
    hopper::PutOp::create(builder, loc, channel, number, map, position[0],
                          position[1], position[2],
                          position.size() > 3 ? position[3] : Value());
  }
  LogicalResult putQueries(const Work &work);
  LogicalResult putTile(const Work &work, Value channel, Value number,
                        Value map, const TileAccess &access, Value t);
  LogicalResult putKeys(const Work &work, Value t);
  LogicalResult putValues(const Work &work, Value t) {
    return putTile(work, resources.valueChannel, ib.add(work.valueNumber, t),
                   resources.valueMap, program.value, t);
  }
  LogicalResult putAllButLast(const Work &work);

  OpBuilder &builder;
  TileProgram &program;
  const KernelResources &resources;
  Location loc;
  IntBuilder ib;
  WorkerCloner cloner;
};
} // namespace

/// `key` stands for the position that the loop over keys counts.
LogicalResult Producer::getPosition(const TileAccess &access, Value key,
                                    SmallVectorImpl<Value> &position) {
  bool hasColumn = !isConstantIntValue(access.position[3], 0);
  for (OpFoldResult index :
       ArrayRef(access.position).take_front(hasColumn ? 4 : 3)) {
    if (key && index == OpFoldResult(program.keys.getInductionVar())) {
      position.push_back(key);
      continue;
    }
    FailureOr<Value> value = cloner.getScalar(index);
    if (failed(value))
      return failure();
    position.push_back(*value);
  }
  return success();
}

LogicalResult Producer::putQueries(const Work &work) {
  SmallVector<Value> position;
  if (failed(getPosition(program.query, Value(), position)))
    return failure();
  put(resources.queryChannel, work.queryNumber, resources.queryMap, position);
  return success();
}

LogicalResult Producer::putTile(const Work &work, Value channel, Value number,
                                Value map, const TileAccess &access, Value t) {
  SmallVector<Value> position;
  if (failed(getPosition(access, getKey(work, t), position)))
    return failure();
  put(channel, number, map, position);
  return success();
}

/// With the captures that belong to them.
LogicalResult Producer::putKeys(const Work &work, Value t) {
  Value number = ib.add(work.keyNumber, t);
  if (failed(putTile(work, resources.keyChannel, number, resources.keyMap,
                     program.key, t)))
    return failure();
  for (auto [capture, channel, map] : llvm::zip_equal(
           program.captures, resources.captureChannels, resources.captureMaps))
    if (failed(putTile(work, channel, number, map, capture.access, t)))
      return failure();
  return success();
}

/// All keys but the first, and all values but the last.
LogicalResult Producer::putAllButLast(const Work &work) {
  Value one = ib.constant(1);
  auto loop = scf::ForOp::create(builder, loc, one, work.count, one);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value t = loop.getInductionVar();
  return failure(failed(putKeys(work, t)) ||
                 failed(putValues(work, ib.sub(t, one))));
}

LogicalResult Producer::emitTile(const Work &work) {
  if (failed(putQueries(work)))
    return failure();
  Value zero = ib.constant(0);
  auto hasKeys = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sgt,
                                       work.count, zero);
  auto branch = scf::IfOp::create(builder, loc, hasKeys,
                                  /*withElseRegion=*/false);
  cloner.setAnchor(branch);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  return failure(failed(putKeys(work, zero)) || failed(putAllButLast(work)) ||
                 failed(putValues(work, work.last)));
}

LogicalResult mlir::attn::emitProducer(OpBuilder &builder, TileProgram &program,
                                       KernelArguments &arguments,
                                       const KernelResources &resources) {
  return Producer(builder, program, arguments, resources).emit();
}
