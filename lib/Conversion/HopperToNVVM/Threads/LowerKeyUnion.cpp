//===- LowerKeyUnion.cpp - The keys that Q blocks have in lists -----------===//
//
// A CTA reads the lists of its Q block twice. First it sets
// a bit in shared memory for each key that some list has: how many bits are set
// before a key is its place among the keys of the tile. Then each warp makes
// the words of one query after another, with a bit at the place of each key of
// its list. Of more keys than there are bits, it does so for one part after
// another.
//
//===----------------------------------------------------------------------===//

#include "ThreadPatterns.h"
#include "attn/Dialect/Attn/IR/Attn.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include <limits>

using namespace mlir;
using namespace mlir::attn;

/// Bits for the keys of a part, in words.
static constexpr int64_t kPartWords = 1024;
static constexpr int64_t kPartKeys = kPartWords * kWordKeys;
/// A part may start within a word of the places.
static constexpr int64_t kPlaceWords = kPartWords + 1;
/// Entries of a list that a thread reads at a time, one after the other: those
/// of a warp that are read together are apart then, and seldom set bits of the
/// same word.
static constexpr int64_t kReads = 8;
static constexpr StringLiteral kMemoryName = "key_union";

namespace {
class KeyUnionProgram : ThreadBuilder {
public:
  /// What the operation has, with numbers of 32 bits.
  struct Operands {
    BufferParameter rows, columns, places, numbers, words;
    unsigned rowBits, columnBits;
    Value queries, keys;
    int64_t tileQueries, tileKeys;
  };

  KeyUnionProgram(ThreadBuilder &b, const Operands &operands);
  void emit();

private:
  /// Where in the columns a list starts and ends.
  struct Range {
    Value begin, end;
  };

  void placeTile();
  void compareLists();
  void emitParts();
  Value emitPart(Value first, Value count);
  void setBits(Value first, Value length);
  Value rankBits();
  void writeNumbers(Value first, Value count);
  void writeWords(Value first, Value length, Value count, Value total);
  void writePadding();

  Value readRow(Value list, Value row);
  Range getRange(Value list, Value firstRow, Value lastRow);
  void forEachRow(function_ref<void(Value row, Range)> body);
  void forEachKey(Range range, Value first, Value length,
                  function_ref<void(Value word, Value bit)> body);

  // Shared memory: bits, the ranks of words, places by warp, and scalars.
  enum Scalar { Rank, Twin, Conflict, WarpSums };
  Value getShared(int64_t offset, Value number);
  Value getBits(Value word) { return getShared(0, word); }
  Value getRank(Value word) { return getShared(kPartWords, word); }
  Value getPlaces(Value word) {
    Value own = mul(warp, kPlaceWords);
    return getShared(2 * kPartWords, add(own, word));
  }
  Value getScalar(int64_t number) {
    return getShared(2 * kPartWords + numWarps * kPlaceWords, i32(number));
  }

  // Short forms.
  Value countBits(Value x) {
    return LLVM::CtPopOp::create(*this, getI32Type(), x);
  }
  Value load(Value pointer) {
    return LLVM::LoadOp::create(*this, getI32Type(), pointer);
  }
  /// Of what others update at the same time.
  Value loadShared(Value pointer) {
    return LLVM::LoadOp::create(
        *this, getI32Type(), pointer, /*alignment=*/4, /*isVolatile=*/false,
        /*isNonTemporal=*/false, /*isInvariant=*/false,
        /*isInvariantGroup=*/false, LLVM::AtomicOrdering::monotonic, "block");
  }
  void store(Value value, Value pointer) {
    LLVM::StoreOp::create(*this, value, pointer);
  }
  void update(LLVM::AtomicBinOp kind, Value pointer, Value value) {
    LLVM::AtomicRMWOp::create(*this, kind, pointer, value,
                              LLVM::AtomicOrdering::monotonic, "block");
  }
  Value at(Value pointer, Value number) {
    return LLVM::GEPOp::create(*this, pointer.getType(), getI32Type(), pointer,
                               ArrayRef<LLVM::GEPArg>{number});
  }
  void barrier() { NVVM::BarrierOp::create(*this); }
  void syncWarp() { NVVM::SyncWarpOp::create(*this, i32(-1)); }
  void loop(Value first, Value end, int64_t step,
            function_ref<void(Value)> body) {
    auto result =
        scf::ForOp::create(*this, first, end, number(first.getType(), step));
    OpBuilder::InsertionGuard guard(*this);
    setInsertionPointToStart(result.getBody());
    body(result.getInductionVar());
  }

  Operands operands;
  int64_t numThreads, numWarps;
  Value memory, id, warp, lane;
  Value numEntries, numTiles, numHeads, numLists;
  /// The tile among all, its list, and its number there.
  Value tile, list, own;
  /// Of the tile.
  Value firstRow, endRow, firstPage;
  Range entries;
  /// No more keys than this have memory.
  Value limit;
  Value isConflict, isFirst;
  /// After all parts.
  Value count;
};
} // namespace

KeyUnionProgram::KeyUnionProgram(ThreadBuilder &b, const Operands &operands)
    : ThreadBuilder(b), operands(operands), numThreads(kernel.numThreads),
      id(thread.id) {
  numWarps = numThreads / hopper::kWarpThreads;
  auto module = kernel.function->getParentOfType<gpu::GPUModuleOp>();
  if (!module.lookupSymbol(kMemoryName)) {
    OpBuilder::InsertionGuard guard(*this);
    setInsertionPointToStart(module.getBody());
    int64_t numbers =
        2 * kPartWords + numWarps * kPlaceWords + WarpSums + numWarps;
    LLVM::GlobalOp::create(*this,
                           LLVM::LLVMArrayType::get(getI32Type(), numbers),
                           /*isConstant=*/false, LLVM::Linkage::Internal,
                           kMemoryName, Attribute(), /*alignment=*/16,
                           /*addrSpace=*/3);
  }
  memory = LLVM::AddressOfOp::create(
      *this, LLVM::LLVMPointerType::get(getContext(), 3), kMemoryName);
}

Value KeyUnionProgram::getShared(int64_t offset, Value number) {
  Value first =
      LLVM::GEPOp::create(*this, memory.getType(), getI32Type(), memory,
                          ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
  return at(first, number);
}

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

/// An element of the rows of a list, brought into the columns.
Value KeyUnionProgram::readRow(Value list, Value row) {
  const BufferParameter &rows = operands.rows;
  size_t rank = rows.strides.size();
  Value offset = sext64(row);
  if (rank >= 2)
    offset =
        add(offset, mul(sext64(remU(list, numHeads)), rows.strides[rank - 2]));
  if (rank == 3)
    offset = add(offset, mul(sext64(divU(list, numHeads)), rows.strides[0]));
  Type type = getIntegerType(operands.rowBits);
  Value element = LLVM::LoadOp::create(
      *this, type,
      LLVM::GEPOp::create(*this, rows.pointer.getType(), type, rows.pointer,
                          ArrayRef<LLVM::GEPArg>{offset}));
  if (operands.rowBits < 64)
    element = sext64(element);
  return minS(maxS(element, 0), numEntries);
}

KeyUnionProgram::Range KeyUnionProgram::getRange(Value list, Value firstRow,
                                                 Value lastRow) {
  Value begin = readRow(list, firstRow);
  return {begin, maxS(begin, readRow(list, lastRow))};
}

/// Calls `body` for the queries of the tile that this warp has. Those that
/// there are not have empty lists.
void KeyUnionProgram::forEachRow(function_ref<void(Value row, Range)> body) {
  loop(warp, i32(operands.tileQueries), numWarps, [&](Value row) {
    Value query = minS(add(firstRow, row), endRow);
    Value next = minS(add(query, 1), endRow);
    body(row, getRange(list, query, next));
  });
}

/// Calls `body` for the entries of a list that are keys from `first` on, of
/// which there are `length`, as words of that part and bits of them. Threads of
/// a warp share them out.
void KeyUnionProgram::forEachKey(
    Range range, Value first, Value length,
    function_ref<void(Value word, Value bit)> body) {
  Type type = getIntegerType(operands.columnBits);
  bool isWide = operands.columnBits == 64;
  Value from = isWide ? sext64(first) : first,
        most = isWide ? sext64(length) : length;
  Value last = sub(range.end, 1);
  loop(range.begin, range.end, kReads * hopper::kWarpThreads, [&](Value start) {
    SmallVector<Value> columns, exist;
    Value own = add(start, mul(sext64(lane), kReads));
    for (int64_t read = 0; read < kReads; ++read) {
      Value number = add(own, read);
      exist.push_back(slt(number, range.end));
      columns.push_back(LLVM::LoadOp::create(
          *this, type,
          LLVM::GEPOp::create(*this, operands.columns.pointer.getType(), type,
                              operands.columns.pointer,
                              ArrayRef<LLVM::GEPArg>{minS(number, last)})));
    }
    for (auto [column, exists] : llvm::zip_equal(columns, exist)) {
      Value key = sub(column, from);
      Value isInside = ult(key, most);
      ifThen(andI(isInside, exists), [&] {
        Value place = isWide ? trunc32(key) : key;
        Value bit = shl(i32(1), andI(place, kWordKeys - 1));
        body(shrU(place, 5), bit);
      });
    }
  });
}

//===----------------------------------------------------------------------===//
// Pages
//===----------------------------------------------------------------------===//

void KeyUnionProgram::placeTile() {
  auto getExtent = [&](const BufferParameter &buffer, size_t dim) -> Value {
    IndexElement extent = buffer.extents[dim];
    return extent.base ? extent.base : i32(extent.offset);
  };
  lane = andI(id, hopper::kWarpThreads - 1);
  warp = shrU(id, 5);
  isFirst = eq(id, 0);
  numEntries = sext64(getExtent(operands.columns, 0));
  numHeads = getExtent(operands.places, 1);
  numTiles = getExtent(operands.places, 2);
  numLists = mul(getExtent(operands.places, 0), numHeads);
  tile = NVVM::BlockIdXOp::create(*this, getI32Type());
  list = divU(tile, numTiles);
  own = remU(tile, numTiles);
  firstRow = mul(own, operands.tileQueries);
  endRow = operands.queries;
  entries = getRange(list, firstRow,
                     minS(add(firstRow, operands.tileQueries), endRow));
}

/// Pages of a list come after those of lists that start before it. One that has
/// columns in common with another one must be the same, and writes the same.
void KeyUnionProgram::compareLists() {
  ifThen(isFirst, [&] {
    store(i32(0), getScalar(Rank));
    store(list, getScalar(Twin));
    store(i32(0), getScalar(Conflict));
  });
  barrier();
  Range all = getRange(list, i32(0), endRow);
  Value lastRow = minS(add(firstRow, operands.tileQueries), endRow);
  loop(id, numLists, numThreads, [&](Value other) {
    Range range = getRange(other, i32(0), endRow);
    ifThen(slt(range.begin, all.begin),
           [&] { update(LLVM::AtomicBinOp::add, getScalar(Rank), i32(1)); });
    ifThen(andI(slt(range.begin, all.end), slt(all.begin, range.end)), [&] {
      Range tile = getRange(other, firstRow, lastRow);
      Value isSame =
          andI(andI(eq(range.begin, all.begin), eq(range.end, all.end)),
               andI(eq(tile.begin, entries.begin), eq(tile.end, entries.end)));
      auto branch = scf::IfOp::create(*this, isSame, /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(*this);
      setInsertionPointToStart(branch.thenBlock());
      update(LLVM::AtomicBinOp::min, getScalar(Twin), other);
      setInsertionPointToStart(branch.elseBlock());
      update(LLVM::AtomicBinOp::_or, getScalar(Conflict), i32(1));
    });
  });
  barrier();
  // All lists that may be the same are compared with the first of them.
  Value twin = load(getScalar(Twin));
  ifThen(slt(twin, list), [&] {
    loop(id, i32(operands.tileQueries), numThreads, [&](Value row) {
      Value query = minS(add(firstRow, row), endRow);
      Value isOther = ne(readRow(twin, query), readRow(list, query));
      ifThen(isOther, [&] {
        update(LLVM::AtomicBinOp::_or, getScalar(Conflict), i32(1));
      });
    });
  });
  barrier();
  Value rank = load(getScalar(Rank));
  isConflict = ne(load(getScalar(Conflict)), 0);
  firstPage = add(trunc32(divU(entries.begin, operands.tileKeys)),
                  add(mul(rank, numTiles), own));
  Value most = minS(sub(entries.end, entries.begin), sext64(operands.keys));
  limit = select(isConflict, i32(0), trunc32(most));
}

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

void KeyUnionProgram::setBits(Value first, Value length) {
  loop(id, i32(kPartWords), numThreads,
       [&](Value word) { store(i32(0), getBits(word)); });
  barrier();
  forEachRow([&](Value, Range range) {
    forEachKey(range, first, length, [&](Value word, Value bit) {
      // Most keys are in more than one list.
      Value pointer = getBits(word);
      Value isNew = eq(andI(loadShared(pointer), bit), 0);
      ifThen(isNew, [&] { update(LLVM::AtomicBinOp::_or, pointer, bit); });
    });
  });
  barrier();
}

/// Writes how many bits are set before each word, and gives how many there are.
Value KeyUnionProgram::rankBits() {
  int64_t numOwn = kPartWords / numThreads;
  Value first = mul(id, numOwn);
  SmallVector<Value> before;
  Value sum = i32(0);
  for (int64_t word = 0; word < numOwn; ++word) {
    before.push_back(sum);
    sum = add(sum, countBits(load(getBits(add(first, word)))));
  }
  Value upTo = sum;
  for (int64_t distance = 1; distance < hopper::kWarpThreads; distance *= 2) {
    Value other =
        NVVM::ShflOp::create(*this, getI32Type(), i32(-1), upTo, i32(distance),
                             i32(0), NVVM::ShflKind::up, UnitAttr());
    upTo = select(slt(lane, distance), upTo, add(upTo, other));
  }
  ifThen(eq(lane, hopper::kWarpThreads - 1), [&] {
    store(upTo,
          getShared(2 * kPartWords + numWarps * kPlaceWords + WarpSums, warp));
  });
  barrier();
  Value ofWarps = sub(upTo, sum), total = i32(0);
  for (int64_t number = 0; number < numWarps; ++number) {
    Value ofWarp = load(getScalar(WarpSums + number));
    ofWarps = select(slt(i32(number), warp), add(ofWarps, ofWarp), ofWarps);
    total = add(total, ofWarp);
  }
  for (auto [word, rank] : llvm::enumerate(before))
    store(add(ofWarps, rank), getRank(add(first, static_cast<int64_t>(word))));
  return total;
}

/// Each thread writes the keys of words of its own.
void KeyUnionProgram::writeNumbers(Value first, Value count) {
  Value page = mul(sext64(firstPage), operands.tileKeys);
  loop(id, i32(kPartWords), numThreads, [&](Value word) {
    Value key = add(first, mul(word, kWordKeys));
    SmallVector<Value> inits = {load(getBits(word)),
                                add(count, load(getRank(word)))};
    SmallVector<Type> types(2, getI32Type());
    SmallVector<Location> locs(2, getLoc());
    auto rest = scf::WhileOp::create(*this, types, inits);
    OpBuilder::InsertionGuard guard(*this);
    Block *before = createBlock(&rest.getBefore(), {}, types, locs);
    scf::ConditionOp::create(*this, ne(before->getArgument(0), 0),
                             before->getArguments());
    Block *after = createBlock(&rest.getAfter(), {}, types, locs);
    Value bits = after->getArgument(0), place = after->getArgument(1);
    Value bit = LLVM::CountTrailingZerosOp::create(*this, getI32Type(), bits,
                                                   /*is_zero_poison=*/true);
    ifThen(slt(place, limit), [&] {
      store(add(key, bit),
            at(operands.numbers.pointer, add(page, sext64(place))));
    });
    scf::YieldOp::create(*this,
                         ValueRange{andI(bits, sub(bits, 1)), add(place, 1)});
  });
}

/// A word starts at a multiple of 32 places, so that the first one may have
/// keys of the part before.
void KeyUnionProgram::writeWords(Value first, Value length, Value count,
                                 Value total) {
  Value firstWord = divU(count, kWordKeys);
  Value offset = andI(count, kWordKeys - 1);
  Value numWords = divU(add(add(offset, total), kWordKeys - 1), kWordKeys);
  Value page = mul(sext64(firstPage), operands.tileKeys / kWordKeys);
  forEachRow([&](Value row, Range range) {
    loop(lane, numWords, hopper::kWarpThreads,
         [&](Value word) { store(i32(0), getPlaces(word)); });
    syncWarp();
    forEachKey(range, first, length, [&](Value word, Value bit) {
      Value before = andI(load(getBits(word)), sub(bit, 1));
      Value place = add(add(offset, load(getRank(word))), countBits(before));
      Value pointer = getPlaces(divU(place, kWordKeys));
      update(LLVM::AtomicBinOp::_or, pointer,
             shl(i32(1), andI(place, kWordKeys - 1)));
    });
    syncWarp();
    loop(lane, numWords, hopper::kWarpThreads, [&](Value word) {
      Value number = add(firstWord, word);
      ifThen(slt(mul(number, kWordKeys), limit), [&] {
        Value line = mul(add(page, sext64(number)), operands.tileQueries);
        Value pointer = at(operands.words.pointer, add(line, sext64(row)));
        Value isShared = andI(eq(word, 0), ne(offset, 0));
        auto old = scf::IfOp::create(*this, getI32Type(), isShared,
                                     /*withElseRegion=*/true);
        {
          OpBuilder::InsertionGuard guard(*this);
          setInsertionPointToStart(old.thenBlock());
          scf::YieldOp::create(*this, load(pointer));
          setInsertionPointToStart(old.elseBlock());
          scf::YieldOp::create(*this, i32(0));
        }
        store(orI(old.getResult(0), load(getPlaces(word))), pointer);
      });
    });
    syncWarp();
  });
}

/// Gives the number of keys after a part.
Value KeyUnionProgram::emitPart(Value first, Value count) {
  Value length = minS(sub(operands.keys, first), kPartKeys);
  setBits(first, length);
  Value total = rankBits();
  barrier();
  writeNumbers(first, count);
  writeWords(first, length, count, total);
  barrier();
  return add(count, total);
}

void KeyUnionProgram::emitParts() {
  auto parts = scf::ForOp::create(*this, i32(0), operands.keys, i32(kPartKeys),
                                  ValueRange{i32(0)});
  {
    OpBuilder::InsertionGuard guard(*this);
    setInsertionPointToStart(parts.getBody());
    Value next = emitPart(parts.getInductionVar(), parts.getRegionIterArg(0));
    scf::YieldOp::create(*this, next);
  }
  count = minS(parts.getResult(0), limit);
}

/// What comes after the last key of the last page.
void KeyUnionProgram::writePadding() {
  Value end = mul(divU(add(count, operands.tileKeys - 1), operands.tileKeys),
                  operands.tileKeys);
  Value page = mul(sext64(firstPage), operands.tileKeys);
  loop(add(count, id), end, numThreads, [&](Value place) {
    store(operands.keys,
          at(operands.numbers.pointer, add(page, sext64(place))));
  });
  Value firstWord = divU(add(count, kWordKeys - 1), kWordKeys);
  Value firstNumber = mul(firstWord, operands.tileQueries);
  Value lastNumber = mul(divU(end, kWordKeys), operands.tileQueries);
  Value line = mul(sext64(firstPage),
                   operands.tileKeys / kWordKeys * operands.tileQueries);
  loop(add(firstNumber, id), lastNumber, numThreads, [&](Value number) {
    store(i32(0), at(operands.words.pointer, add(line, sext64(number))));
  });
}

void KeyUnionProgram::emit() {
  placeTile();
  compareLists();
  emitParts();
  writePadding();
  ifThen(isFirst, [&] {
    Value place = mul(sext64(tile), 2);
    store(firstPage, at(operands.places.pointer, place));
    store(select(isConflict, i32(-1), count),
          at(operands.places.pointer, add(place, 1)));
  });
}

static void lowerKeyUnion(KeyUnionOp op, Operands<KeyUnionOp> in,
                          ThreadBuilder &b) {
  auto getBits = [](Value list) {
    return getElementTypeOrSelf(list.getType()).getIntOrFloatBitWidth();
  };
  auto getTable = [&](unsigned number) {
    return b.getBuffer(op.getTable(number).getType(), in.getInto()[number]);
  };
  KeyUnionProgram(b, {b.getBuffer(op.getRows().getType(), in.getRows()),
                      b.getBuffer(op.getColumns().getType(), in.getColumns()),
                      getTable(0), getTable(1), getTable(2),
                      getBits(op.getRows()), getBits(op.getColumns()),
                      b.toInt(in.getQueries(), 32), b.toInt(in.getKeys(), 32),
                      static_cast<int64_t>(op.getTileQueries()),
                      static_cast<int64_t>(op.getTileKeys())})
      .emit();
}

void mlir::attn::populateKeyUnionPatterns(ThreadPatterns &patterns) {
  patterns.add(lowerKeyUnion);
}
