//===- TuningCandidates.cpp - Schedules around the chosen ones ------------===//

#include "TuningCandidates.h"
#include "attn/Conversion/AttnToHopper/Schedules.h"
#include "attn/Dialect/Hopper/IR/Hopper.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace attn;
using mlir::attn::AttentionLikeOpInterface;
namespace hopper = mlir::attn::hopper;

static std::string print(mlir::Attribute schedule) {
  std::string text;
  llvm::raw_string_ostream(text) << schedule;
  return text;
}

static void sortByCost(std::vector<TuningCandidate> &candidates) {
  llvm::sort(
      candidates, [](const TuningCandidate &a, const TuningCandidate &b) {
        return std::tie(a.cost, a.schedule) < std::tie(b.cost, b.schedule);
      });
}

//===----------------------------------------------------------------------===//
// CPU
//===----------------------------------------------------------------------===//

/// The time of a product of vectors with a schedule, for an order alone.
static double getCost(mlir::attn::ScheduleAttr schedule, int64_t dim,
                      int64_t elementBytes, const CPUTarget &target) {
  double m = double(schedule.getUnrollM()), n = double(schedule.getUnrollN());
  // Two products and two loads start in a cycle.
  double cost = std::max(1.0, (m + n) / (m * n));
  // Sums, a row of vectors, and what is broadcast.
  double excess = m * n + m + 1 - target.vectorRegisters;
  if (excess > 0)
    cost += 2 * excess / (m * n);
  // The accumulator is rescaled once for the keys of a tile.
  cost += 2.0 / double(schedule.getTileN());
  // Dependent sums: fewer than eight wait for each other.
  cost *= std::max(1.0, 8 / (m * n));
  int64_t bytes = (schedule.getTileM() * (dim + schedule.getTileN()) +
                   schedule.getTileN() * dim) *
                  elementBytes;
  if (bytes > int64_t(target.l1Bytes))
    cost *= 1.05;
  if (bytes > int64_t(target.l2Bytes))
    cost *= 1.5;
  return cost;
}

std::vector<TuningCandidate>
attn::getCPUCandidates(AttentionLikeOpInterface op,
                       mlir::attn::ScheduleAttr chosen,
                       const CPUTarget &target) {
  int64_t lanes = chosen.getLanes();
  int64_t elementBytes = op.getAccumulatorType().getWidth() / 8;
  int64_t dim = std::max(op.getQueryKeyDim(), op.getValueDim());
  std::vector<TuningCandidate> candidates;
  auto add = [&](int64_t tileM, int64_t tileN, int64_t unrollM,
                 int64_t unrollN) {
    auto schedule = mlir::attn::ScheduleAttr::get(op.getContext(), tileM, tileN,
                                                  lanes, unrollM, unrollN);
    if (schedule != chosen)
      candidates.push_back(
          {print(schedule), getCost(schedule, dim, elementBytes, target)});
  };
  if (chosen.hasFewQueries()) {
    int64_t tileM = chosen.getTileM();
    for (int64_t unrollM : {1, 2, 4, 8})
      for (int64_t unrollN : {1, 2, 4, 8})
        for (int64_t tileN : {64, 128, 256, 512})
          if (tileM % unrollM == 0 && tileN % lanes == 0 &&
              unrollM * unrollN < int64_t(target.vectorRegisters))
            add(tileM, tileN, unrollM, unrollN);
    sortByCost(candidates);
    return candidates;
  }
  for (int64_t unrollM : {1, 2, 3, 4, 6})
    for (int64_t unrollN : {2, 4, 6, 8, 12})
      for (int64_t vectors : {1, 2, 4})
        for (int64_t tileN : {32, 64, 128}) {
          int64_t tileM = lanes * unrollM * vectors;
          // More of both is but more code, and longer tiles leave processors
          // without work.
          if (unrollM * unrollN > 2 * int64_t(target.vectorRegisters) ||
              tileM > 12 * lanes)
            continue;
          add(tileM, tileN, unrollM, unrollN);
        }
  sortByCost(candidates);
  return candidates;
}

//===----------------------------------------------------------------------===//
// Hopper
//===----------------------------------------------------------------------===//

namespace {
/// The members of a schedule that neighbours differ in.
struct Members {
  explicit Members(hopper::ScheduleAttr from)
      : from(from), tileN(from.getTileN()), stages(from.getStages()),
        headSwizzle(from.getHeadSwizzle()), persistent(from.getPersistent()),
        pingPong(from.getPingPong()), qInRegisters(from.getQInRegisters()) {}

  /// Null if no verifier of the attribute lets it pass.
  hopper::ScheduleAttr get() const {
    mlir::MLIRContext *context = from.getContext();
    // What is wrong with a neighbour is nobody's business.
    mlir::ScopedDiagnosticHandler silence(
        context, [](mlir::Diagnostic &) { return mlir::success(); });
    return hopper::ScheduleAttr::getChecked(
        [&] { return mlir::emitError(mlir::UnknownLoc::get(context)); },
        context, from.getTileM(), tileN, stages, from.getRegisters(),
        headSwizzle, from.getHeadSwizzleKeys(), from.getHeadSwizzleLeastKeys(),
        from.getLongestFirstRows(), from.getLongestFirstLeastTiles(),
        from.getCaptureStages(), from.getMinCtasPerSm(), from.getInFlight(),
        from.getLongestFirst(), from.getZigzag(), from.getShortFirst(),
        persistent, pingPong, qInRegisters, from.getBiasInProduct(),
        from.getStrided(), from.getSplitKV(), from.getPackGQA(),
        from.getReuseQ(), from.getWriteDq(), from.getOrder(),
        from.getExclusive(), from.getPartitions());
  }

  hopper::ScheduleAttr from;
  int64_t tileN, stages, headSwizzle;
  bool persistent, pingPong, qInRegisters;
};
} // namespace

std::vector<TuningCandidate>
attn::getHopperCandidates(const CudaForm &form,
                          llvm::ArrayRef<Candidate> candidates) {
  AttentionLikeOpInterface op;
  form.module.get()->walk([&](AttentionLikeOpInterface found) { op = found; });
  bool isGradient = llvm::isa<mlir::attn::AttentionGradOp>(*op);
  mlir::attn::TargetAttr target = mlir::attn::getTarget(op);
  auto isLegal = [&](hopper::ScheduleAttr schedule) {
    if (!schedule)
      return false;
    mlir::ScopedDiagnosticHandler silence(
        op.getContext(), [](mlir::Diagnostic &) { return mlir::success(); });
    return mlir::succeeded(hopper::verifyRegisters(
               [&] { return mlir::emitError(op.getLoc()); }, target,
               schedule)) &&
           mlir::succeeded(
               mlir::attn::verifyTileRegisters(op, target, schedule)) &&
           mlir::attn::fitsSharedMemory(
               target, schedule, {op.getQueryKeyDim(), op.getValueDim()});
  };
  // All rows come first, as each is the best for some extents.
  std::vector<TuningCandidate> rows, neighbours;
  llvm::SmallDenseSet<mlir::Attribute> known;
  auto add = [&](std::vector<TuningCandidate> &to,
                 hopper::ScheduleAttr schedule, double cost) {
    if (known.insert(schedule).second)
      to.push_back({print(schedule), cost});
  };
  for (const Candidate &candidate : candidates) {
    auto row = llvm::dyn_cast_or_null<hopper::ScheduleAttr>(candidate.schedule);
    // Threads that copy element by element are for tensors that nothing else
    // can copy.
    if (!row || candidate.kind == Candidate::Kind::AnyStrides)
      continue;
    double pairCost = (candidate.keyCost + candidate.tileCost / 1024) /
                      double(row.getTileM());
    add(rows, row, pairCost);
    // Gradients have schedules of their own, of which the model knows less.
    if (isGradient)
      continue;
    auto addNeighbour = [&](auto change, double factor) {
      Members members(row);
      change(members);
      if (hopper::ScheduleAttr schedule = members.get(); isLegal(schedule))
        add(neighbours, schedule, pairCost * factor);
    };
    for (int64_t step : {-16, 16, -32, 32})
      addNeighbour([&](Members &m) { m.tileN += step; },
                   1.02 + 0.01 * double(std::abs(step)) / 16);
    for (int64_t stages : {1, 2, 4})
      addNeighbour([&](Members &m) { m.stages = stages; }, 1.04);
    for (int64_t heads : {1, 8, 16, 64})
      addNeighbour([&](Members &m) { m.headSwizzle = heads; }, 1.05);
    addNeighbour([](Members &m) { m.pingPong = !m.pingPong; }, 1.06);
    addNeighbour([](Members &m) { m.qInRegisters = !m.qInRegisters; }, 1.07);
    addNeighbour([](Members &m) { m.persistent = !m.persistent; }, 1.08);
  }
  sortByCost(rows);
  sortByCost(neighbours);
  llvm::append_range(rows, neighbours);
  return rows;
}
