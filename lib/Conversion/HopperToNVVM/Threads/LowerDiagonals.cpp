//===- LowerDiagonals.cpp - The diagonals of a tile -----------------------===//
//
// For sums, a warpgroup writes what it holds to shared memory, by rows m, and
// each thread reads a diagonal: from one m to the next, one float more than a
// row. Threads beside each other read floats that are, so that there are no
// bank conflicts. The other way round, threads write diagonals one behind the
// other, and read those of their elements, of which a warp has 14 at a time.
//
//===----------------------------------------------------------------------===//

#include "Shared/SharedMemory.h"
#include "ThreadPatterns.h"
#include <map>

using namespace mlir;
using namespace mlir::attn;

static Elements lowerDiagonalSums(hopper::DiagonalSumsOp op,
                                  Operands<hopper::DiagonalSumsOp> in,
                                  ThreadBuilder &b) {
  constexpr int64_t rows = hopper::kWarpgroupRows, bytes = kVectorBytes;
  Value base = getSharedPointer(b, getTile(in.getTile()));
  auto at = [&](Value number) {
    return b.offsetPointer(base, b.mul(number, bytes));
  };
  // Who has read the last sums has come here.
  emitGroupBarrier(b);
  Value own = at(b.add(b.mul(b.thread.row, hopper::kDiagonalStride),
                       b.mul(b.thread.quad, 2)));
  // Registers 4j + 2r + p, with two neighbours p.
  ValueRange elements = in.getVector();
  auto pair = VectorType::get({2}, b.getF32Type());
  for (int64_t e = 0, count = elements.size(); e < count; e += 2) {
    int64_t j = e / 4, r = e % 4 / 2;
    Value both = LLVM::UndefOp::create(b, pair);
    for (int64_t p : {0, 1})
      both = LLVM::InsertElementOp::create(b, both, elements[e + p], b.i32(p));
    LLVM::StoreOp::create(
        b, both,
        b.offsetPointer(own, (8 * r * hopper::kDiagonalStride + 8 * j) * bytes),
        /*alignment=*/2 * bytes);
  }
  emitGroupBarrier(b);
  // Beyond the last n a diagonal goes on with the one 64 before it, whose
  // floats are not counted. Four sums do not wait for each other; a loop keeps
  // few floats in registers at a time.
  constexpr int64_t step = 16;
  Value first = b.sub(b.thread.inGroup, rows);
  auto loop = scf::ForOp::create(b, b.i32(0), b.i32(rows), b.i32(step),
                                 Elements(4, b.f32(0)));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Elements sums(loop.getRegionIterArgs());
    Value m = loop.getInductionVar();
    Value start = b.add(first, m);
    Value row = at(b.mul(m, hopper::kDiagonalStride));
    for (int64_t number = 0; number < step; ++number) {
      Value n = b.addOffset(start, number);
      Value within = b.andI(n, rows - 1);
      Value isThere = b.eq(n, within);
      Value element = LLVM::LoadOp::create(
          b, b.getF32Type(),
          b.offsetPointer(b.offsetPointer(row, b.mul(within, bytes)),
                          number * hopper::kDiagonalStride * bytes));
      Value &sum = sums[number % 4];
      sum = b.add(sum, b.select(isThere, element, b.f32(0)));
    }
    scf::YieldOp::create(b, sums);
  }
  ValueRange sums = loop.getResults();
  auto add = [&](Value x, Value y) -> Value { return b.add(x, y); };
  return {add(add(sums[0], sums[1]), add(sums[2], sums[3]))};
}

static Elements lowerPutDiagonals(hopper::PutDiagonalsOp op,
                                  Operands<hopper::PutDiagonalsOp> in,
                                  ThreadBuilder &b) {
  constexpr int64_t bytes = kVectorBytes;
  // Who has read the last diagonals has come here.
  emitGroupBarrier(b);
  Value own = b.offsetPointer(getSharedPointer(b, getTile(in.getTile())),
                              b.mul(b.thread.inGroup, bytes));
  for (auto [e, diagonal] : llvm::enumerate(in.getDiagonals()))
    LLVM::StoreOp::create(
        b, diagonal,
        b.offsetPointer(own, e * hopper::kWarpgroupThreads * bytes));
  emitGroupBarrier(b);
  return {};
}

static Elements lowerSpreadDiagonals(hopper::SpreadDiagonalsOp op,
                                     Operands<hopper::SpreadDiagonalsOp> in,
                                     ThreadBuilder &b) {
  constexpr int64_t bytes = kVectorBytes;
  // Registers 4j + 2r + p are of n = 8j + 2q + p and m = row + 8r.
  Value number = b.addOffset(b.sub(b.mul(b.thread.quad, 2), b.thread.row),
                             hopper::kWarpgroupRows);
  Value first = b.offsetPointer(getSharedPointer(b, getTile(in.getTile())),
                                b.mul(number, bytes));
  std::map<int64_t, Value> known;
  Elements list;
  int64_t count = Fragment(op.getVector().getType()).getNumRegisters();
  for (int64_t e = 0; e < count; ++e) {
    int64_t offset = 8 * (e / 4) + e % 2 - 8 * (e % 4 / 2);
    Value &element = known[offset];
    if (!element)
      element = LLVM::LoadOp::create(b, b.getF32Type(),
                                     b.offsetPointer(first, offset * bytes));
    list.push_back(element);
  }
  return list;
}

void mlir::attn::populateDiagonalPatterns(ThreadPatterns &patterns) {
  patterns.add(lowerDiagonalSums);
  patterns.add(lowerPutDiagonals);
  patterns.add(lowerSpreadDiagonals);
}
