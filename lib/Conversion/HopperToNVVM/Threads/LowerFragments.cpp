//===- LowerFragments.cpp - Registers of warpgroups and tiles -------------===//
//
// What a warpgroup holds is written to tiles in shared memory, and read from
// them.
//
//===----------------------------------------------------------------------===//

#include "Shared/SharedMemory.h"
#include "ThreadPatterns.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::attn;

/// Columns that one instruction writes: two matrices of 8x8 beside each other.
static constexpr int64_t kColumns = 16;
/// Registers of 16-bit floats that hold 4 columns each.
static constexpr int64_t kRegisterColumns = 4;
static constexpr int64_t kSegmentsInRow = kRowBytes / kSegmentBytes;

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

/// Writes matrices of 8x8, or the last one beside which there is none, in which
/// case addresses from lane 16 on name rows that are not used.
static void emitMatrixStore(ThreadBuilder &b, Value address,
                            ValueRange registers, bool isTransposed) {
  bool isHalf = registers.size() == 2;
  std::string text =
      ("stmatrix.sync.aligned.m8n8." + Twine(isHalf ? "x2" : "x4") +
       (isTransposed ? ".trans" : "") + ".shared.b16 [$0], " +
       (isHalf ? "{$1,$2};" : "{$1,$2,$3,$4};"))
          .str();
  SmallVector<Value> operands = {address};
  llvm::append_range(operands, registers);
  b.asmOp(text, isHalf ? "r,r,r" : "r,r,r,r,r", operands, {});
}

/// Threads write their matrices to 64 rows of a tile.
void mlir::attn::emitStaging(ThreadBuilder &b, ValueRange elements,
                             TileView tile, int64_t chunkBytes) {
  int64_t columns = kRegisterColumns * elements.size();
  Value rows = b.add(b.andI(b.thread.lane, 15), b.mul(b.thread.warp, 16));
  Value half = b.shrU(b.thread.lane, 4);
  Value swizzle = b.andI(b.thread.lane, kSegmentsInRow - 1);
  Value start = b.add(getSharedAddress(b, tile), b.mul(rows, kRowBytes));
  for (int64_t column = 0; column < columns; column += kColumns) {
    int64_t chunk = column / hopper::kChunkColumns;
    Value segment =
        b.xorI(b.addOffset(half, column % hopper::kChunkColumns / 8), swizzle);
    Value address =
        b.add(b.addOffset(start, chunk * chunkBytes), b.shl(segment, 4));
    int64_t first = column / kRegisterColumns;
    emitMatrixStore(
        b, address,
        elements.slice(first, std::min<int64_t>(elements.size() - first, 4)),
        /*isTransposed=*/false);
  }
}

/// Threads write their matrices, transposed, to 64 columns of a tile: the
/// matrix of rows 8r of warp w is segment 2w + r of rows of the tile.
static void emitStagingTransposed(ThreadBuilder &b, ValueRange elements,
                                  TileView tile) {
  // Lanes 0 to 7 and 8 to 15 name rows of the two matrices of 8 columns, those
  // from 16 on of the next 8 columns.
  Value inMatrix = b.andI(b.thread.lane, 7);
  Value next = b.shl(b.shrU(b.thread.lane, 4), 3);
  Value rowOfTile = b.add(inMatrix, next);
  Value matrix = b.andI(b.shrU(b.thread.lane, 3), 1);
  Value segment = b.xorI(b.add(b.shl(b.thread.warp, 1), matrix), inMatrix);
  Value start =
      b.add(getSharedAddress(b, tile),
            b.add(b.mul(rowOfTile, kRowBytes), b.mul(segment, kSegmentBytes)));
  for (size_t first = 0; first < elements.size(); first += 4)
    emitMatrixStore(
        b,
        b.addOffset(start,
                    static_cast<int64_t>(first) * kRegisterColumns * kRowBytes),
        elements.slice(first, std::min<size_t>(elements.size() - first, 4)),
        /*isTransposed=*/true);
}

/// Each warp waits for the tile, writes its part, and arrives.
static void lowerPutFragment(hopper::PutFragmentOp op,
                             Operands<hopper::PutFragmentOp> in,
                             ThreadBuilder &b) {
  hopper::ChannelType type = op.getChannel().getType();
  const SharedTile &tile = b.kernel.shared.get(op.getChannel());
  ValueRange elements = in.getVector();
  Value number = in.getNumber()[0];
  Value stage = getStage(b, number, type.getStages());
  Value phase = getFreePhase(b, number, type.getStages());
  auto emitWrite = [&] {
    Value full = emitWaitFree(b, tile, stage, phase);
    TileView view = getTile(getStageTile(b, tile, stage));
    int64_t chunkBytes = type.getRows() * kRowBytes;
    if (op.getBlock()) {
      int64_t rowBytes = type.isVector() ? kVectorBytes : kRowBytes;
      view = getTile(advanceTile(
          b, view, b.toInt(in.getBlock(), 32),
          op.getTransposed() ? chunkBytes : hopper::kWarpgroupRows * rowBytes));
    }
    if (type.isVector()) {
      Value isFirst = b.eq(b.thread.quad, 0);
      b.ifThen(isFirst, [&] {
        Value base = b.offsetPointer(getSharedPointer(b, view, 0),
                                     b.mul(b.thread.row, kVectorBytes));
        for (int64_t r : {0, 1})
          LLVM::StoreOp::create(
              b, elements[r],
              b.offsetPointer(base, b.i32(8 * r * kVectorBytes)));
      });
    } else {
      if (op.getTransposed())
        emitStagingTransposed(b, elements, view);
      else
        emitStaging(b, elements, view, chunkBytes);
      emitProxyFence(b);
    }
    emitWarpSync(b);
    emitWarpArrive(b, full);
  };
  b.ifThen(getOptional(in.getCondition()), emitWrite);
}

/// Bits of a float as an integer that grows with it, or back.
static Value flipOrder(ThreadBuilder &b, Value bits) {
  Value sign = arith::ShRSIOp::create(b, bits, b.i32(31));
  return b.xorI(bits, b.andI(sign, 0x7FFFFFFF));
}

/// The largest of the numbers of a warp's threads, which all get: NaN, if one
/// of them is. There is a number for each: those of a vector that is shorter
/// count as -inf.
static Value emitLargest(ThreadBuilder &b, ValueRange numbers,
                         int64_t numColumns) {
  Value least = b.f32(-std::numeric_limits<float>::infinity());
  Value most;
  int64_t left = numColumns;
  for (Value number : numbers) {
    Value own = number;
    if (left < hopper::kWarpThreads)
      own = b.select(b.ult(b.thread.lane, left), own, least);
    most = most ? arith::MaximumFOp::create(b, most, own).getResult() : own;
    left -= hopper::kWarpThreads;
  }
  // Of integers, there is an instruction for all threads.
  Value bits = arith::BitcastOp::create(b, b.getI32Type(), most);
  Value all = b.asmOp("redux.sync.max.s32 $0, $1, 0xffffffff;", "=r,r",
                      flipOrder(b, bits), b.getI32Type())
                  .front();
  return arith::BitcastOp::create(b, b.getF32Type(), flipOrder(b, all));
}

/// A thread writes 16 bytes at a time, the first 8 columns of a row; the next 8
/// are 0 from the start of the kernel on. Segments of a row are swizzled.
static void lowerPutBF16x3(hopper::PutBF16x3Op op,
                           Operands<hopper::PutBF16x3Op> in, ThreadBuilder &b) {
  hopper::ChannelType type = op.getChannel().getType();
  const SharedTile &tile = b.kernel.shared.get(op.getChannel());
  Type f32 = b.getF32Type(), element = type.getElementType();
  auto compare = [&](arith::CmpFPredicate predicate, Value x,
                     Value y) -> Value {
    return arith::CmpFOp::create(b, predicate, x, y);
  };
  ValueRange numbers = in.getVector();
  Value most = emitLargest(b, numbers, type.getRows());
  // Of no keys at all, parts are what numbers are.
  Value least = b.f32(-std::numeric_limits<float>::infinity());
  most =
      b.select(compare(arith::CmpFPredicate::OEQ, most, least), b.f32(0), most);
  Value isMore =
      compare(arith::CmpFPredicate::UGT, math::AbsFOp::create(b, most),
              b.f32(op.getLimit().convertToFloat()));
  Value number = in.getNumber()[0];
  Value stage = getStage(b, number, type.getStages());
  Value phase = getFreePhase(b, number, type.getStages());
  Value full = emitWaitFree(b, tile, stage, phase);
  // Of 16 columns, a stage has two segments. Rows that are a multiple of 8
  // apart have one order of segments.
  Value segment = stage ? b.shl(stage, 1) : b.i32(0);
  Value swizzled = b.xorI(segment, b.andI(b.thread.lane, kSegmentsInRow - 1));
  Value own = b.offsetPointer(
      getSharedPointer(b, getTile(getStageTile(b, tile, /*stage=*/{}))),
      b.add(b.mul(b.thread.lane, kRowBytes), b.mul(swizzled, kSegmentBytes)));
  auto words = VectorType::get({kSegmentBytes / 4}, b.getI32Type());
  /// Writes what `getParts` gives of a number and its row.
  auto write = [&](function_ref<SmallVector<Value>(Value, Value)> getParts) {
    int64_t first = 0;
    for (Value one : numbers) {
      auto writeRow = [&] {
        Value all = LLVM::UndefOp::create(b, words);
        SmallVector<Value> parts =
            getParts(one, b.addOffset(b.thread.lane, first));
        for (auto [at, part] : llvm::enumerate(parts))
          all = LLVM::InsertElementOp::create(b, all, part,
                                              b.i32(static_cast<int64_t>(at)));
        LLVM::StoreOp::create(b, all, b.offsetPointer(own, first * kRowBytes),
                              kSegmentBytes);
      };
      int64_t left = type.getRows() - first;
      if (left >= hopper::kWarpThreads)
        writeRow();
      else
        b.ifThen(b.ult(b.thread.lane, left), writeRow);
      first += hopper::kWarpThreads;
    }
  };
  auto branch = scf::IfOp::create(b, isMore, /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    write([&](Value, Value) { return SmallVector<Value>(4, b.i32(0)); });
    b.setInsertionPointToStart(branch.elseBlock());
    write([&](Value one, Value row) -> SmallVector<Value> {
      Value x = arith::MulFOp::create(b, b.sub(one, most),
                                      b.f32(op.getFactor().convertToFloat()));
      // No part is infinite but for -inf, which is one part.
      Value finite = arith::MaxNumFOp::create(b, x, b.f32(-0x1p126));
      Value isNone = compare(arith::CmpFPredicate::OEQ, one, least);
      x = b.select(isNone, least, finite);
      Value rest = b.getRest(finite, element);
      Value last = b.getRest(rest, element);
      Value place = arith::UIToFPOp::create(b, f32, row);
      return {b.packPair(x, rest, element), b.packPair(last, place, element),
              b.packPair(place, place, element), b.i32(0)};
    });
  }
  b.ifThen(b.thread.isLane0, [&] {
    Value payload =
        b.select(isMore, b.f32(std::numeric_limits<float>::quiet_NaN()), most);
    LLVM::StoreOp::create(b, payload, getPayload(b, tile, stage));
  });
  emitProxyFence(b);
  emitWarpSync(b);
  emitWarpArrive(b, full);
}

/// Bits of a thread's columns: the words are shifted by the first one, so that
/// others are constants.
static Elements loadBits(hopper::LoadFragmentOp op, TileView tile,
                         ThreadBuilder &b) {
  Value base = getSharedPointer(b, tile);
  Value first = b.shl(b.thread.quad, 1);
  Elements list;
  int64_t left = op.getTile().getType().getRows();
  for (; left > 0; left -= kVectorBits) {
    Value word = LLVM::LoadOp::create(b, b.getI32Type(), base);
    Value bits = b.shrU(word, first);
    for (int64_t bit = 0; bit < std::min(left, kVectorBits); bit += 8)
      for (int64_t p : {0, 1})
        list.push_back(b.testBit(bits, bit + p));
    base = b.offsetPointer(base, kVectorBytes);
  }
  return list;
}

/// A vector with an element for each row of the warpgroup, or for each column.
static Elements loadVector(hopper::LoadFragmentOp op,
                           Operands<hopper::LoadFragmentOp> in,
                           ThreadBuilder &b) {
  Fragment fragment(op.getResult().getType());
  TileView tile = getTile(in.getTile());
  Elements list;
  if (op.getTile().getType().isBits()) {
    list = loadBits(op, tile, b);
  } else if (fragment.layout == hopper::FragmentLayout::Rows) {
    Value own = b.offsetPointer(getSharedPointer(b, tile),
                                b.mul(b.thread.row, kVectorBytes));
    for (int64_t r : {0, 1})
      list.push_back(LLVM::LoadOp::create(
          b, fragment.elementType,
          b.offsetPointer(own, b.i32(8 * r * kVectorBytes))));
  } else {
    int64_t bytes = hopper::getElementBytes(fragment.elementType);
    Value own = b.offsetPointer(getSharedPointer(b, tile),
                                b.mul(b.thread.quad, 2 * bytes));
    auto pair = VectorType::get({2}, fragment.elementType);
    for (int64_t column = 0; column < fragment.numColumns; column += 8) {
      Value both = LLVM::LoadOp::create(
          b, pair, b.offsetPointer(own, b.i32(column * bytes)),
          /*alignment=*/2 * bytes);
      for (int64_t p : {0, 1})
        list.push_back(LLVM::ExtractElementOp::create(b, both, b.i32(p)));
    }
  }
  // All threads of the warp have read it before one of them arrives.
  emitWarpSync(b);
  return list;
}

/// Loads two neighbours of each of two rows for 8 columns at a time: rows
/// lane / 4 and 8 below, columns lane % 4 * 2 and the next one.
static Elements loadPairs(hopper::LoadFragmentOp op,
                          Operands<hopper::LoadFragmentOp> in,
                          ThreadBuilder &b) {
  hopper::TileType type = op.getTile().getType();
  Type element = type.getElementType();
  int64_t size = hopper::getElementBytes(element);
  int64_t chunkColumns = hopper::getChunkColumns(element);
  // The first columns of a thread; those of other groups of 8 differ in the
  // bits that are the segment of 16 bytes, which are swizzled, and in
  // constants.
  constexpr int64_t segmentBytes = 16, numSegments = 8;
  Value inRow =
      b.add(b.mul(b.thread.row, kRowBytes), b.mul(b.thread.quad, 2 * size));
  Value swizzle = b.mul(b.andI(b.thread.row, numSegments - 1), segmentBytes);
  Value first = b.xorI(inRow, swizzle);
  Value base = getSharedPointer(b, getTile(in.getTile()));
  Type pair =
      size == 4 ? Type(VectorType::get({2}, element)) : Type(b.getI16Type());
  Elements list;
  for (int64_t column = 0; column < type.getColumns(); column += 8) {
    int64_t bytes = column % chunkColumns * size;
    Value offset = b.xorI(first, llvm::alignDown(bytes, segmentBytes));
    Value start = b.offsetPointer(base, offset);
    int64_t chunk = column / chunkColumns * type.getParentRows() * kRowBytes;
    for (int64_t half : {0, 1}) {
      int64_t constant = chunk + bytes % segmentBytes + half * 8 * kRowBytes;
      Value both = LLVM::LoadOp::create(
          b, pair, b.offsetPointer(start, b.i32(constant)));
      for (int64_t e : {0, 1}) {
        if (size == 4) {
          list.push_back(LLVM::ExtractElementOp::create(b, both, b.i32(e)));
          continue;
        }
        Value byte = e == 0 ? both : b.shrU(both, 8);
        byte = arith::TruncIOp::create(b, b.getI8Type(), byte);
        if (element.isInteger(1))
          byte = b.ne(byte, 0);
        list.push_back(byte);
      }
    }
  }
  // All threads of the warp have read it before one of them releases it.
  NVVM::SyncWarpOp::create(b, b.i32(-1));
  return list;
}

/// Lane l reads the row of matrix l / 8: rows 0-7 and 8-15 of the left and the
/// right half of 16 columns.
static Elements lowerLoadFragment(hopper::LoadFragmentOp op,
                                  Operands<hopper::LoadFragmentOp> in,
                                  ThreadBuilder &b) {
  hopper::TileType type = op.getTile().getType();
  if (type.isVector())
    return loadVector(op, in, b);
  if (hopper::getElementBytes(type.getElementType()) != 2)
    return loadPairs(op, in, b);
  Value rows = b.add(b.andI(b.thread.lane, 15), b.mul(b.thread.warp, 16));
  Value half = b.shrU(b.thread.lane, 4);
  Value swizzle = b.andI(b.thread.lane, 7);
  Value start =
      b.add(getSharedAddress(b, getTile(in.getTile())), b.mul(rows, kRowBytes));
  Elements list;
  int64_t numSteps = llvm::divideCeil(type.getColumns(), kColumns);
  int64_t numInChunk = type.getChunkColumns() / kColumns;
  for (int64_t step = 0; step < numSteps; ++step) {
    Value segment = b.xorI(b.addOffset(half, step % numInChunk * 2), swizzle);
    Value address =
        b.add(b.addOffset(start,
                          step / numInChunk * type.getParentRows() * kRowBytes),
              b.shl(segment, 4));
    SmallVector<Type> types(4, b.getI32Type());
    llvm::append_range(
        list, b.asmOp("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {$0,$1,$2,$3}, "
                      "[$4];",
                      "=r,=r,=r,=r,r", address, types));
  }
  // Of the last step there may be the first half alone.
  list.truncate(type.getColumns() / 4);
  return list;
}

/// The four threads of a quad share out the segments of its two rows. Segments
/// of a row are swizzled among each other, which does not matter here; those
/// that a warp changes at a time are in all banks.
static void lowerNegateRows(hopper::NegateRowsOp op,
                            Operands<hopper::NegateRowsOp> in,
                            ThreadBuilder &b) {
  constexpr int64_t numSegments = kRowBytes / kSegmentBytes, numThreads = 4;
  hopper::TileType type = op.getTile().getType();
  int64_t numChunks =
      llvm::divideCeil(type.getColumns(), type.getChunkColumns());
  Value base = getSharedPointer(b, getTile(in.getTile()));
  auto words = VectorType::get({kSegmentBytes / 4}, b.getI32Type());
  Value signs = LLVM::ConstantOp::create(
      b, words, DenseElementsAttr::get(words, llvm::APInt(32, 0x80008000u)));
  Value own = b.offsetPointer(base, b.mul(b.thread.row, kRowBytes));
  Value swizzle = b.andI(b.thread.row, numSegments - 1);
  for (int64_t half : {0, 1}) {
    b.ifThen(in.getWhere()[half], [&] {
      for (int64_t first = 0; first < numSegments; first += numThreads) {
        Value segment = b.xorI(b.addOffset(b.thread.quad, first), swizzle);
        Value start = b.offsetPointer(own, b.mul(segment, kSegmentBytes));
        for (int64_t chunk = 0; chunk < numChunks; ++chunk) {
          Value place = b.offsetPointer(
              start,
              b.i32((chunk * type.getParentRows() + 8 * half) * kRowBytes));
          Value value = LLVM::LoadOp::create(b, words, place,
                                             /*alignment=*/kSegmentBytes);
          LLVM::StoreOp::create(b, LLVM::XOrOp::create(b, value, signs), place,
                                /*alignment=*/kSegmentBytes);
        }
      }
    });
  }
  emitProxyFence(b);
  emitGroupBarrier(b);
}

void mlir::attn::populateFragmentPatterns(ThreadPatterns &patterns) {
  patterns.add(lowerPutFragment);
  patterns.add(lowerPutBF16x3);
  patterns.add(lowerLoadFragment);
  patterns.add(lowerNegateRows);
}
