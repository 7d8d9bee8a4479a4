//===- LowerDiagonals.cpp - Sums over the diagonals of a tile -------------===//
//
// A warpgroup writes what it holds to shared memory, by rows m, and each thread
// reads a diagonal: from one m to the next, one float more than a row. Threads
// beside each other read floats that are, so that there are no bank conflicts.
//
//===----------------------------------------------------------------------===//

#include "Shared/SharedMemory.h"
#include "ThreadPatterns.h"

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

void mlir::attn::populateDiagonalPatterns(ThreadPatterns &patterns) {
  patterns.add(lowerDiagonalSums);
}
