//===- LowerFragments.cpp - Registers of warpgroups to memory -------------===//
//
// What a warpgroup holds is written to tiles in shared memory, and added to
// global memory.
//
//===----------------------------------------------------------------------===//

#include "ThreadProgram.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

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
static void emitMatrixStore(ImplicitLocOpBuilder &b, Value address,
                            ArrayRef<Value> registers, bool isTransposed) {
  bool isHalf = registers.size() == 2;
  std::string text =
      ("stmatrix.sync.aligned.m8n8." + Twine(isHalf ? "x2" : "x4") +
       (isTransposed ? ".trans" : "") + ".shared.b16 [$0], " +
       (isHalf ? "{$1,$2};" : "{$1,$2,$3,$4};"))
          .str();
  SmallVector<Value> operands = {address};
  llvm::append_range(operands, registers);
  LLVM::InlineAsmOp::create(
      b, TypeRange(), operands, text, isHalf ? "r,r,r" : "r,r,r,r,r",
      /*has_side_effects=*/true, /*is_align_stack=*/false,
      LLVM::TailCallKind::None,
      LLVM::AsmDialectAttr::get(b.getContext(), LLVM::AsmDialect::AD_ATT),
      ArrayAttr());
}

/// Threads write their matrices to 64 rows of a tile.
void ThreadProgram::emitStaging(ArrayRef<Value> elements, const TileView &tile,
                                int64_t chunkBytes) {
  int64_t columns = kRegisterColumns * elements.size();
  Value rows = arith::AddIOp::create(b, arith::AndIOp::create(b, lane, i32(15)),
                                     arith::MulIOp::create(b, warp, i32(16)));
  Value half = arith::ShRUIOp::create(b, lane, i32(4));
  Value swizzle = arith::AndIOp::create(b, lane, i32(kSegmentsInRow - 1));
  Value start =
      arith::AddIOp::create(b, getSharedAddress(tile),
                            arith::MulIOp::create(b, rows, i32(kRowBytes)));
  for (int64_t column = 0; column < columns; column += kColumns) {
    int64_t chunk = column / hopper::kChunkColumns;
    Value segment = arith::XOrIOp::create(
        b, addOffset(half, column % hopper::kChunkColumns / 8), swizzle);
    Value address =
        arith::AddIOp::create(b, addOffset(start, chunk * chunkBytes),
                              arith::ShLIOp::create(b, segment, i32(4)));
    int64_t first = column / kRegisterColumns;
    emitMatrixStore(
        b, address,
        elements.slice(first, std::min<int64_t>(elements.size() - first, 4)),
        /*isTransposed=*/false);
  }
}

/// Threads write their matrices, transposed, to 64 columns of a tile: the
/// matrix of rows 8r of warp w is segment 2w + r of rows of the tile.
void ThreadProgram::emitStagingTransposed(ArrayRef<Value> elements,
                                          const TileView &tile) {
  // Lanes 0 to 7 and 8 to 15 name rows of the two matrices of 8 columns, those
  // from 16 on of the next 8 columns.
  Value inMatrix = arith::AndIOp::create(b, lane, i32(7));
  Value next =
      arith::ShLIOp::create(b, arith::ShRUIOp::create(b, lane, i32(4)), i32(3));
  Value rowOfTile = arith::AddIOp::create(b, inMatrix, next);
  Value matrix =
      arith::AndIOp::create(b, arith::ShRUIOp::create(b, lane, i32(3)), i32(1));
  Value segment = arith::XOrIOp::create(
      b,
      arith::AddIOp::create(b, arith::ShLIOp::create(b, warp, i32(1)), matrix),
      inMatrix);
  Value start = arith::AddIOp::create(
      b, getSharedAddress(tile),
      arith::AddIOp::create(
          b, arith::MulIOp::create(b, rowOfTile, i32(kRowBytes)),
          arith::MulIOp::create(b, segment, i32(kSegmentBytes))));
  for (size_t first = 0; first < elements.size(); first += 4)
    emitMatrixStore(
        b,
        addOffset(start,
                  static_cast<int64_t>(first) * kRegisterColumns * kRowBytes),
        elements.slice(first, std::min<size_t>(elements.size() - first, 4)),
        /*isTransposed=*/true);
}

/// Each warp waits for the tile, writes its part, and arrives.
void ThreadProgram::emitPutFragment(hopper::PutFragmentOp op) {
  hopper::ChannelType type = op.getChannel().getType();
  const SharedTile &tile = shared[op.getChannel()];
  Elements elements = get(op.getVector());
  Value number = get(op.getNumber())[0];
  Value stage = getStage(number, type.getStages());
  Value phase = getFreePhase(number, type.getStages());
  auto emitWrite = [&] {
    Value full = emitWaitFree(tile, stage, phase);
    TileView view = getView(tile, stage);
    int64_t chunkBytes = type.getRows() * kRowBytes;
    if (op.getBlock()) {
      int64_t rowBytes = type.isVector() ? kVectorBytes : kRowBytes;
      view = view.advance(
          getIndexInt(op.getBlock(), 32),
          op.getTransposed() ? chunkBytes : hopper::kWarpgroupRows * rowBytes);
    }
    if (type.isVector()) {
      Value isFirst =
          arith::CmpIOp::create(b, arith::CmpIPredicate::eq, quad, i32(0));
      emitIfThen(isFirst, [&] {
        Value base =
            offsetPointer(b, getSharedPointer(view, 0),
                          arith::MulIOp::create(b, row, i32(kVectorBytes)));
        for (int64_t r : {0, 1})
          LLVM::StoreOp::create(
              b, elements[r],
              offsetPointer(b, base, i32(8 * r * kVectorBytes)));
      });
    } else {
      if (op.getTransposed())
        emitStagingTransposed(elements, view);
      else
        emitStaging(elements, view, chunkBytes);
      emitProxyFence();
    }
    emitWarpSync();
    emitWarpArrive(full);
  };
  if (op.getCondition())
    emitIfThen(get(op.getCondition())[0], emitWrite);
  else
    emitWrite();
}

/// A vector with an element for each row of the warpgroup, or for each column.
void ThreadProgram::emitLoadVector(hopper::LoadFragmentOp op) {
  auto type = cast<VectorType>(op.getResult().getType());
  Value base = getSharedPointer(tiles.at(op.getTile()), 0);
  Elements list;
  if (type.getDimSize(0) == 1) {
    Value own = offsetPointer(b, base,
                              arith::MulIOp::create(b, row, i32(kVectorBytes)));
    for (int64_t r : {0, 1})
      list.push_back(LLVM::LoadOp::create(
          b, b.getF32Type(), offsetPointer(b, own, i32(8 * r * kVectorBytes))));
  } else {
    Value own = offsetPointer(
        b, base, arith::MulIOp::create(b, quad, i32(2 * kVectorBytes)));
    auto pair = VectorType::get({2}, b.getF32Type());
    for (int64_t column = 0; column < type.getDimSize(0); column += 8) {
      Value both = LLVM::LoadOp::create(
          b, pair, offsetPointer(b, own, i32(column * kVectorBytes)),
          /*alignment=*/2 * kVectorBytes);
      for (int64_t p : {0, 1})
        list.push_back(LLVM::ExtractElementOp::create(b, both, i32(p)));
    }
  }
  // All threads of the warp have read it before one of them arrives.
  emitWarpSync();
  values[op.getResult()] = list;
}

//===----------------------------------------------------------------------===//
// Sums in global memory
//===----------------------------------------------------------------------===//

/// Adds floats to as many that follow each other in memory.
static void emitReduction(ImplicitLocOpBuilder &b, Value address,
                          ArrayRef<Value> elements) {
  std::string text = "red.global.add", list, constraints = "l";
  for (size_t number = 1; number <= elements.size(); ++number) {
    list += (number == 1 ? "$" : ",$") + std::to_string(number);
    constraints += ",f";
  }
  if (elements.size() == 1)
    text += ".f32 [$0], " + list + ";";
  else
    text +=
        ".v" + std::to_string(elements.size()) + ".f32 [$0], {" + list + "};";
  SmallVector<Value> operands = {address};
  llvm::append_range(operands, elements);
  LLVM::InlineAsmOp::create(
      b, TypeRange(), operands, text, constraints, /*has_side_effects=*/true,
      /*is_align_stack=*/false, LLVM::TailCallKind::None,
      LLVM::AsmDialectAttr::get(b.getContext(), LLVM::AsmDialect::AD_ATT),
      ArrayAttr());
}

void ThreadProgram::emitReduceAdd(hopper::ReduceAddOp op) {
  // Reductions of several floats are in PTX since 8.1.
  constexpr int64_t version = 81;
  if (op.isFragment() || op.getWidth() > 1)
    function->setAttr(hopper::kPTXVersionAttrName,
                      b.getI64IntegerAttr(version));
  auto emit = [&] {
    if (op.isFragment())
      emitReduceFragment(op);
    else
      emitReduceRows(op);
  };
  if (op.getCondition())
    emitIfThen(get(op.getCondition())[0], emit);
  else
    emit();
}

/// The four elements of 8 columns are neighbours, and those of all threads
/// follow each other.
void ThreadProgram::emitReduceFragment(hopper::ReduceAddOp op) {
  constexpr int64_t numElements = 4, bytes = 4;
  SmallVector<IndexElement> position;
  for (Value index : op.getIndices())
    position.push_back(getIndices(index)[0]);
  position.push_back(
      {arith::MulIOp::create(b, groupThread, i32(numElements)), 0});
  Value base = getAddress(buffers.at(op.getMemref()), position, bytes);
  Elements list = get(op.getVector());
  for (size_t first = 0; first < list.size(); first += numElements)
    emitReduction(b,
                  offsetPointer(b, base,
                                i32(static_cast<int64_t>(first) * bytes * 4 *
                                    hopper::kWarpThreads)),
                  ArrayRef(list).slice(first, numElements));
}

/// A thread has two neighbours in each of two rows for 8 columns at a time. For
/// four at a time, every other thread gives its neighbour what it has of the
/// first row for what that one has of the second.
void ThreadProgram::emitReduceRows(hopper::ReduceAddOp op) {
  const BufferParameter &buffer = buffers.at(op.getMemref());
  unsigned m = *op.getM(), n = *op.getN();
  int64_t width = op.getWidth();
  SmallVector<IndexElement> position;
  for (Value index : op.getIndices())
    position.push_back(getIndices(index)[0]);
  Value firstM = toInt(position[m], 64), firstN = toInt(position[n], 64);
  Value isOdd;
  if (width == 4)
    isOdd =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ne,
                              arith::AndIOp::create(b, quad, i32(1)), i32(0));
  // The element in this place, from the first row and the first column of this
  // thread.
  auto isBelow = [&](Value at, Value end) -> Value {
    if (!end)
      return {};
    return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, at,
                                 getIndexInt(end, 64));
  };
  auto emitIf = [&](Value condition, function_ref<void()> body) {
    if (condition)
      emitIfThen(condition, body);
    else
      body();
  };
  Elements list = get(op.getVector());
  auto emitRow = [&](Value inM, Value inN,
                     ArrayRef<SmallVector<Value>> groups) {
    Value atM = arith::AddIOp::create(b, firstM, zext64(inM));
    emitIf(isBelow(atM, op.getEndM()), [&] {
      Value atN = arith::AddIOp::create(b, firstN, zext64(inN));
      // A group of one element has its neighbour as the next one.
      auto size = static_cast<int64_t>(groups.size());
      for (int64_t number = 0; number < size; ++number) {
        int64_t column = width == 1 ? number / 2 * 8 + number % 2 : number * 8;
        position[m] = {atM, 0};
        position[n] = {atN, column};
        emitIf(isBelow(addOffset(atN, column), op.getEndN()), [&] {
          emitReduction(b, getAddress(buffer, position, /*bytes=*/4),
                        groups[number]);
        });
      }
    });
  };
  Value pair = arith::ShLIOp::create(b, quad, i32(1));
  if (width < 4) {
    for (int64_t r : {0, 1}) {
      SmallVector<SmallVector<Value>> groups;
      for (size_t e = 2 * r; e < list.size(); e += 4) {
        if (width == 2)
          groups.push_back({list[e], list[e + 1]});
        else
          groups.append({{list[e]}, {list[e + 1]}});
      }
      emitRow(addOffset(row, 8 * r), pair, groups);
    }
    return;
  }
  SmallVector<SmallVector<Value>> groups;
  for (size_t e = 0; e < list.size(); e += 4) {
    SmallVector<Value> group(4);
    for (int64_t p : {0, 1}) {
      Value first = list[e + p], second = list[e + 2 + p];
      Value other =
          shuffle(arith::SelectOp::create(b, isOdd, first, second), 1);
      group[p] = arith::SelectOp::create(b, isOdd, other, first);
      group[2 + p] = arith::SelectOp::create(b, isOdd, second, other);
    }
    groups.push_back(group);
  }
  Value ownRow = arith::AddIOp::create(
      b, row, arith::SelectOp::create(b, isOdd, i32(8), i32(0)));
  Value ownColumn =
      arith::ShLIOp::create(b, arith::ShRUIOp::create(b, quad, i32(1)), i32(2));
  emitRow(ownRow, ownColumn, groups);
}
