//===- WarpSpecialize.cpp - Partitions of a CTA ---------------------------===//
//
// Which warps and registers the partitions of a CTA have, and which channels
// they meet in.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Attn/IR/AttnTarget.h"
#include "attn/Dialect/Hopper/IR/Hopper.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::hopper;

/// Registers come in such numbers for each thread, and a warpgroup may ask for
/// no fewer and no more.
static constexpr int64_t kRegisterGranularity = 8;
static constexpr int64_t kLeastRegisters = 24, kMostRegisters = 256;

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

int64_t hopper::getNumThreads(int64_t numConsumers) {
  return kWarpgroupThreads * (1 + numConsumers);
}

/// The registers of a thread with which a CTA starts.
static int64_t getStartRegisters(TargetAttr target, int64_t numGroups,
                                 int64_t ctasPerSM) {
  return llvm::alignDown(
      target.getSmRegisters() /
          (numGroups * kWarpgroupWarps * kWarpThreads * ctasPerSM),
      kRegisterGranularity);
}

/// The registers of a thread of each of `numOthers` warpgroups, if those of the
/// rest are `taken` in total.
static int64_t getRegistersLeft(TargetAttr target, int64_t numGroups,
                                int64_t ctasPerSM, int64_t taken,
                                int64_t numOthers) {
  // As many as looking for tiles under a mask takes. It cannot have more than
  // at the start, nor ptxas more than it uses anywhere.
  constexpr int64_t most = 128;
  int64_t left =
      getStartRegisters(target, numGroups, ctasPerSM) * numGroups - taken;
  return std::min(
      left / numOthers / kRegisterGranularity * kRegisterGranularity, most);
}

static LogicalResult
verifyRegisterCount(function_ref<InFlightDiagnostic()> emitError,
                    int64_t registers) {
  if (registers < kLeastRegisters || registers > kMostRegisters ||
      registers % kRegisterGranularity != 0)
    return emitError() << "expects registers to be a multiple of "
                       << kRegisterGranularity << " from " << kLeastRegisters
                       << " to " << kMostRegisters << ", but got " << registers;
  return success();
}

static LogicalResult
verifyCTAsPerSM(function_ref<InFlightDiagnostic()> emitError, StringRef name,
                int64_t ctasPerSM) {
  constexpr int64_t most = 4;
  if (ctasPerSM < 1 || ctasPerSM > most)
    return emitError() << "expects " << name << " to be from 1 to " << most
                       << ", but got " << ctasPerSM;
  return success();
}

LogicalResult
hopper::verifyRegisters(function_ref<InFlightDiagnostic()> emitError,
                        int64_t registers, int64_t minCtasPerSm) {
  if (failed(verifyRegisterCount(emitError, registers)))
    return failure();
  return verifyCTAsPerSM(emitError, "min_ctas_per_sm", minCtasPerSm);
}

/// One for all steps that are not named, and those that are.
static int64_t countPartitions(DictionaryAttr partitions) {
  llvm::SmallDenseSet<Attribute> names;
  if (partitions)
    for (NamedAttribute step : partitions)
      names.insert(step.getValue());
  return 1 + names.size();
}

LogicalResult
hopper::verifyRegisters(function_ref<InFlightDiagnostic()> emitError,
                        TargetAttr target, ScheduleAttr schedule) {
  int64_t numConsumers =
      countPartitions(schedule.getPartitions()) * schedule.getNumConsumers();
  int64_t left =
      getRegistersLeft(target, 1 + numConsumers, schedule.getMinCtasPerSm(),
                       numConsumers * schedule.getRegisters(), /*numOthers=*/1);
  if (left < kLeastRegisters)
    return emitError() << "expects registers to leave at least "
                       << kLeastRegisters
                       << " to each thread of the producer, but got "
                       << schedule.getRegisters() << ", which leave " << left;
  return success();
}

//===----------------------------------------------------------------------===//
// Partitions
//===----------------------------------------------------------------------===//

/// No CTA of any target has more threads, nor so more replicas.
static constexpr int64_t kMostReplicas = 1024;

LogicalResult
PartitionAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                      StringRef name, int64_t replicas, int64_t threads,
                      int64_t registers) {
  if (name.empty())
    return emitError() << "expects a name of a partition";
  if (replicas < 1 || replicas > kMostReplicas)
    return emitError() << "expects 1 to " << kMostReplicas
                       << " replicas, but got " << replicas;
  if (threads != 1 && (threads < 1 || threads % kWarpThreads != 0 ||
                       threads > kWarpgroupThreads))
    return emitError() << "expects one thread or 1 to 4 warps of a replica, "
                          "but got "
                       << threads << " threads";
  return registers == 0 ? success() : verifyRegisterCount(emitError, registers);
}

PartitionLayout::PartitionLayout(WarpSpecializeOp op) {
  int64_t numWarps = 0;
  for (auto partition :
       op.getPartitions().getAsRange<hopper::PartitionAttr>()) {
    if (partition.hasWarpgroups())
      numWarps = llvm::alignTo(numWarps, kWarpgroupWarps);
    firstWarps.push_back(numWarps);
    numWarps += partition.getWarps();
    registers.resize(llvm::divideCeil(numWarps, kWarpgroupWarps));
    for (int64_t warp = firstWarps.back(); warp < numWarps; ++warp)
      if (partition.getRegisters())
        registers[warp / kWarpgroupWarps] = partition.getRegisters();
  }
  int64_t numGroups = registers.size(), taken = 0, others = 0;
  for (int64_t number : registers) {
    taken += number;
    others += number == 0;
  }
  TargetAttr target = getTarget(op);
  int64_t start = getStartRegisters(target, numGroups, op.getCtasPerSm());
  registersLeft = others == 0
                      ? start * numGroups - taken
                      : getRegistersLeft(target, numGroups, op.getCtasPerSm(),
                                         taken, others);
  for (int64_t &number : registers)
    if (number == 0)
      number = registersLeft;
  hasOthers = others != 0;
  // ptxas starts a CTA with no more than some warpgroup has.
  startRegisters = std::min(start, *llvm::max_element(registers));
}

std::optional<unsigned> WarpSpecializeOp::findPartition(Operation *op) {
  for (auto [number, body] : llvm::enumerate(getBodies()))
    if (body.findAncestorOpInRegion(*op))
      return number;
  return std::nullopt;
}

PartitionAttr hopper::getPartition(Operation *op) {
  auto parent = op->getParentOfType<WarpSpecializeOp>();
  if (!parent)
    return {};
  return parent.getPartition(*parent.findPartition(op));
}

void WarpSpecializeOp::build(OpBuilder &builder, OperationState &state,
                             ArrayRef<PartitionAttr> partitions,
                             int64_t ctasPerSM) {
  SmallVector<Attribute> list(partitions.begin(), partitions.end());
  state.getOrAddProperties<Properties>().partitions =
      builder.getArrayAttr(list);
  state.getOrAddProperties<Properties>().ctas_per_sm =
      builder.getI64IntegerAttr(ctasPerSM);
  for (size_t number = 0; number < partitions.size(); ++number)
    ensureTerminator(*state.addRegion(), builder, state.location);
}

LogicalResult WarpSpecializeOp::verify() {
  auto emitError = [&] { return emitOpError(); };
  if (getPartitions().empty())
    return emitOpError("expects a partition");
  if (getPartitions().size() != getBodies().size())
    return emitOpError("expects a body of each partition");
  llvm::StringSet<> names;
  for (auto partition : getPartitions().getAsRange<PartitionAttr>())
    if (!names.insert(partition.getName()).second)
      return emitOpError("expects partitions of different names, but got two "
                         "of '")
             << partition.getName() << "'";
  if (failed(verifyCTAsPerSM(emitError, "ctas_per_sm", getCtasPerSm())))
    return failure();
  PartitionLayout layout(*this);
  int64_t mostThreads = getTarget(getOperation()).getCtaThreads();
  if (layout.getNumThreads() > mostThreads)
    return emitOpError("expects at most ")
           << mostThreads << " threads, but got " << layout.getNumThreads();
  for (auto [number, attribute] : llvm::enumerate(getPartitions())) {
    auto partition = cast<PartitionAttr>(attribute);
    int64_t has = layout.getRegisters(number);
    if (partition.getRegisters() && has != partition.getRegisters())
      return emitOpError("expects partitions that share a warpgroup to have "
                         "its registers, ")
             << has << ", but got " << partition.getRegisters() << " of '"
             << partition.getName() << "'";
  }
  if (layout.hasOthers && layout.registersLeft < kLeastRegisters)
    return emitOpError("expects registers to leave at least ")
           << kLeastRegisters
           << " to each thread of the other warpgroups, but they leave "
           << layout.registersLeft;
  if (layout.registersLeft < 0)
    return emitOpError("expects no more registers than a CTA has, but got ")
           << -layout.registersLeft
           << " more for a thread of each warpgroup together";
  return success();
}

RingUsers WarpSpecializeOp::getUsers(Value ring) {
  RingUsers users;
  for (Operation *op : ring.getUsers()) {
    std::optional<unsigned> number = findPartition(op);
    if (!number)
      continue;
    if (isa<PutOp, PutVectorOp, PutFragmentOp, PutBF16x3Op, PostOp>(op)) {
      users.producer = *number;
      users.puts.push_back(op);
    } else if (isa<GetOp, ReleaseOp, ReceiveOp>(op) &&
               !llvm::is_contained(users.consumers, *number)) {
      users.consumers.push_back(*number);
    }
  }
  // In the order of the program; users are in that of a list.
  llvm::sort(users.consumers);
  std::reverse(users.puts.begin(), users.puts.end());
  return users;
}

/// Whether two operations fill a channel in the same way.
static bool arePutsAlike(Operation *one, Operation *other) {
  if (one->getName() != other->getName())
    return false;
  if (auto vector = dyn_cast<PutVectorOp>(one))
    return vector.getZeroFill() == cast<PutVectorOp>(other).getZeroFill();
  auto put = dyn_cast<PutOp>(one);
  if (!put)
    return true;
  MapType map = put.getMap().getType();
  MapType otherMap = cast<PutOp>(other).getMap().getType();
  return map.getStrided() == otherMap.getStrided() &&
         map.getAligned() == otherMap.getAligned();
}

/// What holds a turn is in one partition, and what takes it in another one,
/// which has as many replicas.
static LogicalResult verifyTurns(WarpSpecializeOp specialize) {
  DenseMap<Value, Operation *> held, taken;
  for (Region &body : specialize.getBodies()) {
    WalkResult walk = body.walk([&](Operation *op) {
      bool holds = isa<HoldTurnOp, PassTurnOp>(op);
      if (!holds && !isa<TakeTurnOp, GiveTurnOp>(op))
        return WalkResult::advance();
      Value turns = op->getOperand(0);
      auto [first, isNew] = (holds ? held : taken).try_emplace(turns, op);
      if (isNew || specialize.findPartition(first->second) ==
                       specialize.findPartition(op))
        return WalkResult::advance();
      InFlightDiagnostic diag =
          op->emitOpError("expects to be in the partition that ")
          << (holds ? "holds" : "takes") << " the turns";
      diag.attachNote(first->second->getLoc()) << "used here";
      return WalkResult::interrupt();
    });
    if (walk.wasInterrupted())
      return failure();
  }
  for (auto [turns, op] : taken) {
    Operation *holder = held.lookup(turns);
    if (!holder)
      return op->emitOpError("expects a partition that holds its turns");
    PartitionAttr one = specialize.getPartition(*specialize.findPartition(op)),
                  other = specialize.getPartition(
                      *specialize.findPartition(holder));
    if (one.getReplicas() == other.getReplicas())
      continue;
    InFlightDiagnostic diag = op->emitOpError("expects turns that as many "
                                              "replicas hold, ")
                              << one.getReplicas() << ", but got "
                              << other.getReplicas();
    diag.attachNote(holder->getLoc()) << "held here";
    return failure();
  }
  return success();
}

/// All uses of a channel or work queue are put by one partition, and arrive in
/// the same way. Turns are those of one partition.
LogicalResult WarpSpecializeOp::verifyRegions() {
  DenseMap<Value, Operation *> puts, pingPong;
  WalkResult result = WalkResult::advance();
  for (Region &body : getBodies()) {
    result = body.walk([&](Operation *op) {
      bool isPut =
          isa<PutOp, PutVectorOp, PutFragmentOp, PutBF16x3Op, PostOp>(op);
      if (!isPut && !isa<PingPongWaitOp, PingPongArriveOp>(op))
        return WalkResult::advance();
      auto [first, isNew] =
          (isPut ? puts : pingPong).try_emplace(op->getOperand(0), op);
      if (isNew)
        return WalkResult::advance();
      if (findPartition(first->second) != findPartition(op)) {
        InFlightDiagnostic diag =
            isPut ? op->emitOpError("expects to be in the partition that the "
                                    "channel is filled by")
                  : op->emitOpError("expects to be in the partition that takes "
                                    "the ping-pong barrier");
        diag.attachNote(first->second->getLoc()) << "used here";
        return WalkResult::interrupt();
      }
      if (!isPut || arePutsAlike(first->second, op))
        return WalkResult::advance();
      InFlightDiagnostic diag =
          op->emitOpError("expects to fill the channel in the way that it is "
                          "filled elsewhere");
      diag.attachNote(first->second->getLoc()) << "filled here";
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      return failure();
  }
  return verifyTurns(*this);
}

void WarpSpecializeOp::getSuccessorRegions(
    RegionBranchPoint point, SmallVectorImpl<RegionSuccessor> &regions) {
  if (point.isParent()) {
    for (Region &body : getBodies())
      regions.push_back(RegionSuccessor(&body));
    return;
  }
  regions.push_back(RegionSuccessor(getOperation(), ResultRange(nullptr, 0)));
}
