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
class KeyUnionProgram {
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
    Value own = mul(warp, i32(kPlaceWords));
    return getShared(2 * kPartWords, add(own, word));
  }
  Value getScalar(int64_t number) {
    return getShared(2 * kPartWords + numWarps * kPlaceWords, i32(number));
  }

  // Short forms.
  Value i32(int64_t value) {
    return arith::ConstantIntOp::create(b, value, 32);
  }
  Value i64(int64_t value) {
    return arith::ConstantIntOp::create(b, value, 64);
  }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value sub(Value x, Value y) { return arith::SubIOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulIOp::create(b, x, y); }
  Value div(Value x, int64_t by) {
    return arith::DivUIOp::create(b, x, constantLike(x, by));
  }
  Value min(Value x, Value y) { return arith::MinSIOp::create(b, x, y); }
  Value max(Value x, Value y) { return arith::MaxSIOp::create(b, x, y); }
  Value both(Value x, Value y) { return arith::AndIOp::create(b, x, y); }
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, condition, x, y);
  }
  Value less(Value x, Value y) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, x, y);
  }
  Value equal(Value x, Value y) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, x, y);
  }
  Value isSet(Value x) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, x,
                                 constantLike(x, 0));
  }
  Value constantLike(Value x, int64_t value) {
    return arith::ConstantIntOp::create(b, x.getType(), value);
  }
  Value wide(Value x) { return arith::ExtSIOp::create(b, b.getI64Type(), x); }
  Value narrow(Value x) {
    return arith::TruncIOp::create(b, b.getI32Type(), x);
  }
  Value countBits(Value x) {
    return LLVM::CtPopOp::create(b, b.getI32Type(), x);
  }
  Value load(Value pointer) {
    return LLVM::LoadOp::create(b, b.getI32Type(), pointer);
  }
  /// Of what others update at the same time.
  Value loadShared(Value pointer) {
    return LLVM::LoadOp::create(
        b, b.getI32Type(), pointer, /*alignment=*/4, /*isVolatile=*/false,
        /*isNonTemporal=*/false, /*isInvariant=*/false,
        /*isInvariantGroup=*/false, LLVM::AtomicOrdering::monotonic, "block");
  }
  void store(Value value, Value pointer) {
    LLVM::StoreOp::create(b, value, pointer);
  }
  void update(LLVM::AtomicBinOp kind, Value pointer, Value value) {
    LLVM::AtomicRMWOp::create(b, kind, pointer, value,
                              LLVM::AtomicOrdering::monotonic, "block");
  }
  Value at(Value pointer, Value number) {
    return LLVM::GEPOp::create(b, pointer.getType(), b.getI32Type(), pointer,
                               ArrayRef<LLVM::GEPArg>{number});
  }
  void barrier() { NVVM::BarrierOp::create(b); }
  void syncWarp() { NVVM::SyncWarpOp::create(b, i32(-1)); }
  void loop(Value first, Value end, int64_t step,
            function_ref<void(Value)> body) {
    auto result = scf::ForOp::create(b, first, end, constantLike(first, step));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(result.getBody());
    body(result.getInductionVar());
  }
  void ifThen(Value condition, function_ref<void()> body) {
    auto branch = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    body();
  }

  ImplicitLocOpBuilder &b;
  Operands operands;
  int64_t numThreads, numWarps;
  Value memory, thread, warp, lane;
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
    : b(b), operands(operands), numThreads(b.kernel.numThreads),
      thread(b.thread.id) {
  numWarps = numThreads / hopper::kWarpThreads;
  auto module = b.kernel.function->getParentOfType<gpu::GPUModuleOp>();
  if (!module.lookupSymbol(kMemoryName)) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    int64_t numbers =
        2 * kPartWords + numWarps * kPlaceWords + WarpSums + numWarps;
    LLVM::GlobalOp::create(b, LLVM::LLVMArrayType::get(b.getI32Type(), numbers),
                           /*isConstant=*/false, LLVM::Linkage::Internal,
                           kMemoryName, Attribute(), /*alignment=*/16,
                           /*addrSpace=*/3);
  }
  memory = LLVM::AddressOfOp::create(
      b, LLVM::LLVMPointerType::get(b.getContext(), 3), kMemoryName);
}

Value KeyUnionProgram::getShared(int64_t offset, Value number) {
  Value first =
      LLVM::GEPOp::create(b, memory.getType(), b.getI32Type(), memory,
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
  Value offset = wide(row);
  if (rank >= 2)
    offset = add(offset, mul(wide(arith::RemUIOp::create(b, list, numHeads)),
                             rows.strides[rank - 2]));
  if (rank == 3)
    offset = add(offset, mul(wide(arith::DivUIOp::create(b, list, numHeads)),
                             rows.strides[0]));
  Type type = b.getIntegerType(operands.rowBits);
  Value element = LLVM::LoadOp::create(
      b, type,
      LLVM::GEPOp::create(b, rows.pointer.getType(), type, rows.pointer,
                          ArrayRef<LLVM::GEPArg>{offset}));
  if (operands.rowBits < 64)
    element = wide(element);
  return min(max(element, i64(0)), numEntries);
}

KeyUnionProgram::Range KeyUnionProgram::getRange(Value list, Value firstRow,
                                                 Value lastRow) {
  Value begin = readRow(list, firstRow);
  return {begin, max(begin, readRow(list, lastRow))};
}

/// Calls `body` for the queries of the tile that this warp has. Those that
/// there are not have empty lists.
void KeyUnionProgram::forEachRow(function_ref<void(Value row, Range)> body) {
  loop(warp, i32(operands.tileQueries), numWarps, [&](Value row) {
    Value query = min(add(firstRow, row), endRow);
    Value next = min(add(query, i32(1)), endRow);
    body(row, getRange(list, query, next));
  });
}

/// Calls `body` for the entries of a list that are keys from `first` on, of
/// which there are `length`, as words of that part and bits of them. Threads of
/// a warp share them out.
void KeyUnionProgram::forEachKey(
    Range range, Value first, Value length,
    function_ref<void(Value word, Value bit)> body) {
  Type type = b.getIntegerType(operands.columnBits);
  bool isWide = operands.columnBits == 64;
  Value from = isWide ? wide(first) : first,
        most = isWide ? wide(length) : length;
  Value last = sub(range.end, i64(1));
  loop(range.begin, range.end, kReads * hopper::kWarpThreads, [&](Value start) {
    SmallVector<Value> columns, exist;
    Value own = add(start, mul(wide(lane), i64(kReads)));
    for (int64_t read = 0; read < kReads; ++read) {
      Value number = add(own, i64(read));
      exist.push_back(less(number, range.end));
      columns.push_back(LLVM::LoadOp::create(
          b, type,
          LLVM::GEPOp::create(b, operands.columns.pointer.getType(), type,
                              operands.columns.pointer,
                              ArrayRef<LLVM::GEPArg>{min(number, last)})));
    }
    for (auto [column, exists] : llvm::zip_equal(columns, exist)) {
      Value key = sub(column, from);
      Value isInside =
          arith::CmpIOp::create(b, arith::CmpIPredicate::ult, key, most);
      ifThen(both(isInside, exists), [&] {
        Value place = isWide ? narrow(key) : key;
        Value bit =
            arith::ShLIOp::create(b, i32(1), both(place, i32(kWordKeys - 1)));
        body(arith::ShRUIOp::create(b, place, i32(5)), bit);
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
  lane = both(thread, i32(hopper::kWarpThreads - 1));
  warp = arith::ShRUIOp::create(b, thread, i32(5));
  isFirst = equal(thread, i32(0));
  numEntries = wide(getExtent(operands.columns, 0));
  numHeads = getExtent(operands.places, 1);
  numTiles = getExtent(operands.places, 2);
  numLists = mul(getExtent(operands.places, 0), numHeads);
  tile = NVVM::BlockIdXOp::create(b, b.getI32Type());
  list = arith::DivUIOp::create(b, tile, numTiles);
  own = arith::RemUIOp::create(b, tile, numTiles);
  firstRow = mul(own, i32(operands.tileQueries));
  endRow = operands.queries;
  entries = getRange(list, firstRow,
                     min(add(firstRow, i32(operands.tileQueries)), endRow));
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
  Value lastRow = min(add(firstRow, i32(operands.tileQueries)), endRow);
  loop(thread, numLists, numThreads, [&](Value other) {
    Range range = getRange(other, i32(0), endRow);
    ifThen(less(range.begin, all.begin),
           [&] { update(LLVM::AtomicBinOp::add, getScalar(Rank), i32(1)); });
    ifThen(both(less(range.begin, all.end), less(all.begin, range.end)), [&] {
      Range tile = getRange(other, firstRow, lastRow);
      Value isSame = both(
          both(equal(range.begin, all.begin), equal(range.end, all.end)),
          both(equal(tile.begin, entries.begin), equal(tile.end, entries.end)));
      auto branch = scf::IfOp::create(b, isSame, /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      update(LLVM::AtomicBinOp::min, getScalar(Twin), other);
      b.setInsertionPointToStart(branch.elseBlock());
      update(LLVM::AtomicBinOp::_or, getScalar(Conflict), i32(1));
    });
  });
  barrier();
  // All lists that may be the same are compared with the first of them.
  Value twin = load(getScalar(Twin));
  ifThen(less(twin, list), [&] {
    loop(thread, i32(operands.tileQueries), numThreads, [&](Value row) {
      Value query = min(add(firstRow, row), endRow);
      Value isOther =
          arith::CmpIOp::create(b, arith::CmpIPredicate::ne,
                                readRow(twin, query), readRow(list, query));
      ifThen(isOther, [&] {
        update(LLVM::AtomicBinOp::_or, getScalar(Conflict), i32(1));
      });
    });
  });
  barrier();
  Value rank = load(getScalar(Rank));
  isConflict = isSet(load(getScalar(Conflict)));
  firstPage = add(narrow(div(entries.begin, operands.tileKeys)),
                  add(mul(rank, numTiles), own));
  Value most = min(sub(entries.end, entries.begin), wide(operands.keys));
  limit = select(isConflict, i32(0), narrow(most));
}

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

void KeyUnionProgram::setBits(Value first, Value length) {
  loop(thread, i32(kPartWords), numThreads,
       [&](Value word) { store(i32(0), getBits(word)); });
  barrier();
  forEachRow([&](Value, Range range) {
    forEachKey(range, first, length, [&](Value word, Value bit) {
      // Most keys are in more than one list.
      Value pointer = getBits(word);
      Value isNew = equal(both(loadShared(pointer), bit), i32(0));
      ifThen(isNew, [&] { update(LLVM::AtomicBinOp::_or, pointer, bit); });
    });
  });
  barrier();
}

/// Writes how many bits are set before each word, and gives how many there are.
Value KeyUnionProgram::rankBits() {
  int64_t numOwn = kPartWords / numThreads;
  Value first = mul(thread, i32(numOwn));
  SmallVector<Value> before;
  Value sum = i32(0);
  for (int64_t word = 0; word < numOwn; ++word) {
    before.push_back(sum);
    sum = add(sum, countBits(load(getBits(add(first, i32(word))))));
  }
  Value upTo = sum;
  for (int64_t distance = 1; distance < hopper::kWarpThreads; distance *= 2) {
    Value other =
        NVVM::ShflOp::create(b, b.getI32Type(), i32(-1), upTo, i32(distance),
                             i32(0), NVVM::ShflKind::up, UnitAttr());
    upTo = select(less(lane, i32(distance)), upTo, add(upTo, other));
  }
  ifThen(equal(lane, i32(hopper::kWarpThreads - 1)), [&] {
    store(upTo,
          getShared(2 * kPartWords + numWarps * kPlaceWords + WarpSums, warp));
  });
  barrier();
  Value ofWarps = sub(upTo, sum), total = i32(0);
  for (int64_t number = 0; number < numWarps; ++number) {
    Value ofWarp = load(getScalar(WarpSums + number));
    ofWarps = select(less(i32(number), warp), add(ofWarps, ofWarp), ofWarps);
    total = add(total, ofWarp);
  }
  for (auto [word, rank] : llvm::enumerate(before))
    store(add(ofWarps, rank),
          getRank(add(first, i32(static_cast<int64_t>(word)))));
  return total;
}

/// Each thread writes the keys of words of its own.
void KeyUnionProgram::writeNumbers(Value first, Value count) {
  Value page = mul(wide(firstPage), i64(operands.tileKeys));
  loop(thread, i32(kPartWords), numThreads, [&](Value word) {
    Value key = add(first, mul(word, i32(kWordKeys)));
    SmallVector<Value> inits = {load(getBits(word)),
                                add(count, load(getRank(word)))};
    SmallVector<Type> types(2, b.getI32Type());
    SmallVector<Location> locs(2, b.getLoc());
    auto rest = scf::WhileOp::create(b, types, inits);
    OpBuilder::InsertionGuard guard(b);
    Block *before = b.createBlock(&rest.getBefore(), {}, types, locs);
    scf::ConditionOp::create(b, isSet(before->getArgument(0)),
                             before->getArguments());
    Block *after = b.createBlock(&rest.getAfter(), {}, types, locs);
    Value bits = after->getArgument(0), place = after->getArgument(1);
    Value bit = LLVM::CountTrailingZerosOp::create(b, b.getI32Type(), bits,
                                                   /*is_zero_poison=*/true);
    ifThen(less(place, limit), [&] {
      store(add(key, bit),
            at(operands.numbers.pointer, add(page, wide(place))));
    });
    scf::YieldOp::create(
        b, ValueRange{both(bits, sub(bits, i32(1))), add(place, i32(1))});
  });
}

/// A word starts at a multiple of 32 places, so that the first one may have
/// keys of the part before.
void KeyUnionProgram::writeWords(Value first, Value length, Value count,
                                 Value total) {
  Value firstWord = div(count, kWordKeys);
  Value offset = both(count, i32(kWordKeys - 1));
  Value numWords = div(add(add(offset, total), i32(kWordKeys - 1)), kWordKeys);
  Value page = mul(wide(firstPage), i64(operands.tileKeys / kWordKeys));
  forEachRow([&](Value row, Range range) {
    loop(lane, numWords, hopper::kWarpThreads,
         [&](Value word) { store(i32(0), getPlaces(word)); });
    syncWarp();
    forEachKey(range, first, length, [&](Value word, Value bit) {
      Value before = both(load(getBits(word)), sub(bit, i32(1)));
      Value place = add(add(offset, load(getRank(word))), countBits(before));
      Value pointer = getPlaces(div(place, kWordKeys));
      update(LLVM::AtomicBinOp::_or, pointer,
             arith::ShLIOp::create(b, i32(1), both(place, i32(kWordKeys - 1))));
    });
    syncWarp();
    loop(lane, numWords, hopper::kWarpThreads, [&](Value word) {
      Value number = add(firstWord, word);
      ifThen(less(mul(number, i32(kWordKeys)), limit), [&] {
        Value line = mul(add(page, wide(number)), i64(operands.tileQueries));
        Value pointer = at(operands.words.pointer, add(line, wide(row)));
        Value isShared = both(
            equal(word, i32(0)),
            arith::CmpIOp::create(b, arith::CmpIPredicate::ne, offset, i32(0)));
        auto old = scf::IfOp::create(b, b.getI32Type(), isShared,
                                     /*withElseRegion=*/true);
        {
          OpBuilder::InsertionGuard guard(b);
          b.setInsertionPointToStart(old.thenBlock());
          scf::YieldOp::create(b, load(pointer));
          b.setInsertionPointToStart(old.elseBlock());
          scf::YieldOp::create(b, i32(0));
        }
        store(arith::OrIOp::create(b, old.getResult(0), load(getPlaces(word))),
              pointer);
      });
    });
    syncWarp();
  });
}

/// Gives the number of keys after a part.
Value KeyUnionProgram::emitPart(Value first, Value count) {
  Value length = min(sub(operands.keys, first), i32(kPartKeys));
  setBits(first, length);
  Value total = rankBits();
  barrier();
  writeNumbers(first, count);
  writeWords(first, length, count, total);
  barrier();
  return add(count, total);
}

void KeyUnionProgram::emitParts() {
  auto parts = scf::ForOp::create(b, i32(0), operands.keys, i32(kPartKeys),
                                  ValueRange{i32(0)});
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(parts.getBody());
    Value next = emitPart(parts.getInductionVar(), parts.getRegionIterArg(0));
    scf::YieldOp::create(b, next);
  }
  count = min(parts.getResult(0), limit);
}

/// What comes after the last key of the last page.
void KeyUnionProgram::writePadding() {
  Value end =
      mul(div(add(count, i32(operands.tileKeys - 1)), operands.tileKeys),
          i32(operands.tileKeys));
  Value page = mul(wide(firstPage), i64(operands.tileKeys));
  loop(add(count, thread), end, numThreads, [&](Value place) {
    store(operands.keys, at(operands.numbers.pointer, add(page, wide(place))));
  });
  Value firstWord = div(add(count, i32(kWordKeys - 1)), kWordKeys);
  Value firstNumber = mul(firstWord, i32(operands.tileQueries));
  Value lastNumber = mul(div(end, kWordKeys), i32(operands.tileQueries));
  Value line = mul(wide(firstPage),
                   i64(operands.tileKeys / kWordKeys * operands.tileQueries));
  loop(add(firstNumber, thread), lastNumber, numThreads, [&](Value number) {
    store(i32(0), at(operands.words.pointer, add(line, wide(number))));
  });
}

void KeyUnionProgram::emit() {
  placeTile();
  compareLists();
  emitParts();
  writePadding();
  ifThen(isFirst, [&] {
    Value place = mul(wide(tile), i64(2));
    store(firstPage, at(operands.places.pointer, place));
    store(select(isConflict, i32(-1), count),
          at(operands.places.pointer, add(place, i64(1))));
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
