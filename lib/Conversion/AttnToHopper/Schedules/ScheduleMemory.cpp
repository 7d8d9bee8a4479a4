//===- ScheduleMemory.cpp - The shared memory that schedules take ---------===//

#include "attn/Conversion/AttnToHopper/Schedules.h"

using namespace mlir;
using namespace mlir::attn;

/// The shared memory that a CTA may have, in bytes: its part of that
/// of a multiprocessor, but for what the hardware takes for each.
static int64_t getSharedLimit(TargetAttr target,
                              hopper::ScheduleAttr schedule) {
  return std::min(target.getCtaShared(),
                  target.getSmShared() / schedule.getMinCtasPerSm() -
                      target.getReservedShared());
}

/// The bytes of so many columns of a tile's row.
static int64_t getRowBytes(int64_t columns, Type element) {
  return llvm::alignTo(columns, hopper::getChunkColumns(element)) *
         hopper::getElementBytes(element);
}

/// The same of 16 bits.
static int64_t getRowBytes(int64_t columns) {
  return llvm::alignTo(columns, hopper::kChunkColumns) * 2;
}

/// All but the staged results.
static int64_t getChannelBytes(hopper::ScheduleAttr schedule,
                               const SharedUse &use) {
  constexpr int64_t barrierBytes = 1024;
  int64_t keys = getRowBytes(use.queryKeyDim),
          values = getRowBytes(use.valueDim);
  int64_t captureBytes = 0;
  for (Type element : use.captures)
    captureBytes += getRowBytes(schedule.getTileN(), element);
  // Positions of keys in a tile.
  int64_t iotaTile =
      schedule.getBiasInProduct()
          ? schedule.getTileN() * getRowBytes(hopper::kChunkColumns)
          : 0;
  // Of each warpgroup, in f32.
  int64_t diagonals =
      use.numDiagonals * schedule.getTileM() / hopper::kWarpgroupRows *
      static_cast<int64_t>(
          llvm::alignTo(schedule.getTileN() + hopper::kWarpgroupRows,
                        hopper::kWarpgroupThreads)) *
      4;
  return barrierBytes + iotaTile + diagonals + schedule.getTileM() * keys +
         schedule.getStages() * schedule.getTileN() * (keys + values) +
         schedule.getCaptureStages() * schedule.getTileM() * captureBytes;
}

int64_t mlir::attn::getStagingColumns(TargetAttr target,
                                      hopper::ScheduleAttr schedule,
                                      const SharedUse &use) {
  // Results of parts go to memory as they are.
  if (schedule.getSplitKV())
    return 0;
  bool fitsInQueries = use.queryKeyDim == use.valueDim;
  if ((!schedule.getPersistent() || schedule.getReuseQ()) && fitsInQueries)
    return 0;
  int64_t free =
      getSharedLimit(target, schedule) - getChannelBytes(schedule, use);
  int64_t tileM = schedule.getTileM();
  int64_t part = llvm::alignDown(std::max<int64_t>(free / (tileM * 2), 0),
                                 hopper::kChunkColumns);
  if (part < use.valueDim && part > 0 && !schedule.getStrided())
    return part;
  return part < use.valueDim && fitsInQueries ? 0 : use.valueDim;
}

static int64_t getSharedBytes(TargetAttr target, hopper::ScheduleAttr schedule,
                              const SharedUse &use) {
  return getChannelBytes(schedule, use) +
         schedule.getTileM() *
             getRowBytes(getStagingColumns(target, schedule, use));
}

int64_t mlir::attn::getQueryStages(TargetAttr target,
                                   hopper::ScheduleAttr schedule,
                                   const SharedUse &use) {
  // Queries in registers are out of the way of the next ones anyway.
  if (!schedule.getPersistent() || schedule.getQInRegisters() ||
      getStagingColumns(target, schedule, use) !=
          (schedule.getReuseQ() && use.queryKeyDim == use.valueDim
               ? 0
               : use.valueDim))
    return 1;
  int64_t bytes = getSharedBytes(target, schedule, use) +
                  schedule.getTileM() * getRowBytes(use.queryKeyDim);
  return bytes <= getSharedLimit(target, schedule) ? 2 : 1;
}

int64_t mlir::attn::getFreeSharedBytes(TargetAttr target,
                                       hopper::ScheduleAttr schedule,
                                       const SharedUse &use) {
  int64_t more = getQueryStages(target, schedule, use) - 1;
  return getSharedLimit(target, schedule) -
         getSharedBytes(target, schedule, use) -
         more * schedule.getTileM() * getRowBytes(use.queryKeyDim);
}

bool mlir::attn::fitsSharedMemory(TargetAttr target,
                                  hopper::ScheduleAttr schedule,
                                  const SharedUse &use) {
  return getSharedBytes(target, schedule, use) <=
         getSharedLimit(target, schedule);
}
