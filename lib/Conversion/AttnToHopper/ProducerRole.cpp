//===- ProducerRole.cpp - The order of copies -----------------------------===//
//
// Consumers start the scores of a tile before the values of the one before, and
// keys and values are copied in that order.
//
//===----------------------------------------------------------------------===//

#include "TileSearch.h"

using namespace mlir;
using namespace mlir::attn;

namespace {
class Producer {
public:
  Producer(OpBuilder &builder, TileProgram &program, KernelArguments &arguments,
           const KernelResources &resources)
      : builder(builder), program(program), arguments(arguments),
        resources(resources), loc(program.grid.getLoc()), ib{builder, loc},
        cloner(builder, program, arguments, /*warpgroup=*/nullptr) {}

  LogicalResult emit() {
    return emitWork(builder, program, cloner, resources, /*isProducer=*/true,
                    [&](const Work &work) {
                      return program.isNeeded ? emitTileByClass(work)
                                              : emitTile(work);
                    });
  }

private:
  FailureOr<Value> emitTile(const Work &work);
  FailureOr<Value> emitTileByClass(const Work &work);
  FailureOr<Value> emitNeeded(const Work &work, TileSearch &search,
                              TileCode first, TileSearch::State state);
  Value getKey(const Work &work, Value t) {
    return work.getKey(builder, loc, t, program.schedule.getTileN());
  }
  LogicalResult getPosition(const TileAccess &access, Value key,
                            SmallVectorImpl<Value> &position);
  void put(Value channel, Value number, Value map, ValueRange position,
           Value note = {}, Value list = {}, ValueRange inList = {}) {
    hopper::PutOp::create(builder, loc, channel, number, map, position[0],
                          position[1], position[2],
                          position.size() > 3 ? position[3] : Value(), list,
                          inList, note);
  }
  LogicalResult putListed(Value channel, Value number, Value map,
                          const TileAccess &access, Value key);
  LogicalResult putQueries(const Work &work, Value note = {});
  LogicalResult putTile(Value channel, Value number, Value map,
                        const TileAccess &access, Value key, Value note = {});
  /// The tile from `key`, which comes as use `number`.
  LogicalResult putKeys(Value number, Value key, Value note = {});
  LogicalResult putValues(Value number, Value key) {
    return putTile(resources.valueChannel, number, resources.valueMap,
                   program.value, key);
  }
  /// The tile that is visited as number `t`.
  LogicalResult putKeys(const Work &work, Value t) {
    Value number = ib.add(work.keyNumber, t);
    return putKeys(number, getKey(work, t));
  }
  LogicalResult putValues(const Work &work, Value t) {
    Value number = ib.add(work.keyNumber, t);
    return putValues(number, getKey(work, t));
  }
  LogicalResult putAllButLast(const Work &work);

  OpBuilder &builder;
  TileProgram &program;
  KernelArguments &arguments;
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
  if (!access.packing)
    return success();
  FailureOr<SmallVector<Value>> first =
      cloner.getUnpackedPosition(access.packing, position[1], position[2], loc);
  if (succeeded(first))
    std::tie(position[1], position[2]) = std::pair((*first)[0], (*first)[1]);
  return failure(failed(first));
}

LogicalResult Producer::putQueries(const Work &work, Value note) {
  SmallVector<Value> position;
  if (failed(getPosition(program.query, Value(), position)))
    return failure();
  put(resources.queryChannel, work.queryNumber, resources.queryMap, position,
      note);
  return success();
}

/// The rows that a list names for the tile from `key`.
LogicalResult Producer::putListed(Value channel, Value number, Value map,
                                  const TileAccess &access, Value key) {
  SmallVector<Value> position, inList;
  GatherOp list = access.list;
  if (failed(getPosition(access, Value(), position)))
    return failure();
  std::optional<unsigned> operand = cloner.getOperand(list.getSource());
  if (!operand)
    return program.keys.emitError("expects a list of keys that is a table");
  WorkerCloner::State saved = cloner.save();
  cloner.map(program.keys.getInductionVar(), key);
  for (Value index : list.getIndices().drop_back()) {
    FailureOr<Value> value = cloner.getScalar(index);
    if (failed(value))
      return failure();
    inList.push_back(*value);
  }
  cloner.restore(std::move(saved));
  put(channel, number, map, position, /*note=*/Value(),
      arguments.getMemRef(*operand,
                          cast<RankedTensorType>(list.getSource().getType())),
      inList);
  return success();
}

LogicalResult Producer::putTile(Value channel, Value number, Value map,
                                const TileAccess &access, Value key,
                                Value note) {
  if (access.list)
    return putListed(channel, number, map, access, key);
  SmallVector<Value> position;
  if (failed(getPosition(access, key, position)))
    return failure();
  put(channel, number, map, position, note);
  return success();
}

/// With the captures that belong to them.
LogicalResult Producer::putKeys(Value number, Value key, Value note) {
  if (failed(putTile(resources.keyChannel, number, resources.keyMap,
                     program.key, key, note)))
    return failure();
  for (auto [capture, channel, map] : llvm::zip_equal(
           program.captures, resources.captureChannels, resources.captureMaps))
    if (failed(putTile(channel, number, map, capture.access, key)))
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

FailureOr<Value> Producer::emitTile(const Work &work) {
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
  if (failed(putKeys(work, zero)) || failed(putAllButLast(work)) ||
      failed(putValues(work, work.last)))
    return failure();
  builder.setInsertionPointAfter(branch);
  return ib.add(work.keyNumber, work.count);
}

/// The queries come with the code of the first tile, and each tile of keys with
/// that of the next one.
FailureOr<Value> Producer::emitTileByClass(const Work &work) {
  TileSearch search(builder, program, cloner, work);
  FailureOr<TileSearch::State> state = search.start();
  if (failed(state))
    return failure();
  FailureOr<TileCode> first = search.next(*state);
  if (failed(first) || failed(putQueries(work, first->code)))
    return failure();
  auto branch = scf::IfOp::create(builder, loc, builder.getI32Type(),
                                  first->isTile(ib), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, loc, work.keyNumber);
  builder.setInsertionPointToStart(branch.thenBlock());
  FailureOr<Value> next = emitNeeded(work, search, *first, *state);
  if (failed(next))
    return failure();
  scf::YieldOp::create(builder, loc, *next);
  return branch.getResult(0);
}

/// All tiles that are needed, of which `first` is one.
FailureOr<Value> Producer::emitNeeded(const Work &work, TileSearch &search,
                                      TileCode first, TileSearch::State state) {
  Value one = ib.constant(1);
  FailureOr<TileCode> second = search.next(state);
  if (failed(second) ||
      failed(putKeys(work.keyNumber, first.getKey(ib), second->code)))
    return failure();
  // The next use, its tile, the tile before, and the search.
  SmallVector<Value> inits = {ib.add(work.keyNumber, one), second->code,
                              first.code};
  llvm::append_range(inits, state.getValues());
  SmallVector<Type> types(ValueRange(inits).getTypes());
  SmallVector<Location> locs(types.size(), loc);
  auto loop = scf::WhileOp::create(builder, loc, types, inits);
  {
    OpBuilder::InsertionGuard guard(builder);
    Block *before = builder.createBlock(&loop.getBefore(), {}, types, locs);
    scf::ConditionOp::create(builder, loc,
                             TileCode{before->getArgument(1)}.isTile(ib),
                             before->getArguments());
    Block *after = builder.createBlock(&loop.getAfter(), {}, types, locs);
    Value use = after->getArgument(0);
    TileCode tile = {after->getArgument(1)}, last = {after->getArgument(2)};
    state =
        TileSearch::State::get(ValueRange(after->getArguments()).drop_front(3));
    FailureOr<TileCode> next = search.next(state);
    if (failed(next) || failed(putKeys(use, tile.getKey(ib), next->code)) ||
        failed(putValues(ib.sub(use, one), last.getKey(ib))))
      return failure();
    SmallVector<Value> yielded = {ib.add(use, one), next->code, tile.code};
    llvm::append_range(yielded, state.getValues());
    scf::YieldOp::create(builder, loc, yielded);
  }
  Value use = loop.getResult(0);
  TileCode last = {loop.getResult(2)};
  if (failed(putValues(ib.sub(use, one), last.getKey(ib))))
    return failure();
  return use;
}

LogicalResult mlir::attn::emitProducer(OpBuilder &builder, TileProgram &program,
                                       KernelArguments &arguments,
                                       const KernelResources &resources) {
  return Producer(builder, program, arguments, resources).emit();
}
