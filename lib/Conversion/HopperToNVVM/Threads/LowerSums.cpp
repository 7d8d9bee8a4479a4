//===- LowerSums.cpp - Sums in global memory ------------------------------===//

#include "Shared/SharedMemory.h"
#include "ThreadPatterns.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::attn;

namespace {
/// Adds to memory, or stores where that is the first of all additions.
struct Reduction {
  ThreadBuilder &b;
  /// Null where there is no first one.
  Value isFirst;

  /// For floats that follow each other.
  void emit(Value address, ArrayRef<Value> elements) const;
};
} // namespace

void Reduction::emit(Value address, ArrayRef<Value> elements) const {
  std::string list, constraints = "l";
  for (size_t number = 1; number <= elements.size(); ++number) {
    list += (number == 1 ? "$" : ",$") + std::to_string(number);
    constraints += ",f";
  }
  std::string type = ".f32";
  if (elements.size() > 1) {
    type = ".v" + std::to_string(elements.size()) + type;
    list = "{" + list + "}";
  }
  std::string to = type + " [$0], " + list + ";";
  SmallVector<Value> operands = {address};
  llvm::append_range(operands, elements);
  std::string text = "red.global.add" + to;
  if (isFirst) {
    std::string first = "$" + std::to_string(operands.size());
    text = "@" + first + " st.global" + to + " @!" + first + " " + text;
    constraints += ",b";
    operands.push_back(isFirst);
  }
  b.asmOp(text, constraints, operands, {});
}

/// The four elements of 8 columns are neighbours, and those of all threads
/// follow each other.
static void emitReduceFragment(hopper::ReduceAddOp op,
                               Operands<hopper::ReduceAddOp> in,
                               const Reduction &reduction) {
  ThreadBuilder &b = reduction.b;
  constexpr int64_t numElements = 4, bytes = 4;
  SmallVector<IndexElement> position = b.getPosition(in.getIndices());
  position.push_back({b.mul(b.thread.inGroup, numElements), 0});
  Value base = b.getAddress(
      b.getBuffer(op.getMemref().getType(), in.getMemref()), position, bytes);
  Elements list(in.getVector());
  for (size_t first = 0; first < list.size(); first += numElements)
    reduction.emit(
        b.offsetPointer(base, b.i32(static_cast<int64_t>(first) * bytes * 4 *
                                    hopper::kWarpThreads)),
        ArrayRef(list).slice(first, numElements));
}

/// A thread has two neighbours in each of two rows for 8 columns at a time. For
/// four at a time, every other thread gives its neighbour what it has of the
/// first row for what that one has of the second.
static void emitReduceRows(hopper::ReduceAddOp op,
                           Operands<hopper::ReduceAddOp> in,
                           const Reduction &reduction) {
  ThreadBuilder &b = reduction.b;
  BufferParameter buffer =
      b.getBuffer(op.getMemref().getType(), in.getMemref());
  unsigned m = *op.getM(), n = *op.getN();
  int64_t width = op.getWidth();
  SmallVector<IndexElement> position = b.getPosition(in.getIndices());
  Value firstM = b.toInt(position[m], 64), firstN = b.toInt(position[n], 64);
  Value isOdd;
  if (width == 4)
    isOdd = b.ne(b.andI(b.thread.quad, 1), 0);
  // The element in this place, from the first row and the first column of this
  // thread.
  auto isBelow = [&](Value at, ValueRange end) -> Value {
    if (end.empty())
      return {};
    return b.slt(at, b.toInt(end, 64));
  };
  Elements list(in.getVector());
  auto emitRow = [&](Value inM, Value inN,
                     ArrayRef<SmallVector<Value>> groups) {
    Value atM = b.add(firstM, b.zext64(inM));
    b.ifThen(isBelow(atM, in.getEndM()), [&] {
      Value atN = b.add(firstN, b.zext64(inN));
      // A group of one element has its neighbour as the next one.
      auto size = static_cast<int64_t>(groups.size());
      for (int64_t number = 0; number < size; ++number) {
        int64_t column = width == 1 ? number / 2 * 8 + number % 2 : number * 8;
        position[m] = {atM, 0};
        position[n] = {atN, column};
        b.ifThen(isBelow(b.addOffset(atN, column), in.getEndN()), [&] {
          reduction.emit(b.getAddress(buffer, position, /*bytes=*/4),
                         groups[number]);
        });
      }
    });
  };
  Value pair = b.shl(b.thread.quad, 1);
  if (width < 4) {
    for (int64_t r : {0, 1}) {
      SmallVector<SmallVector<Value>> groups;
      for (size_t e = 2 * r; e < list.size(); e += 4) {
        if (width == 2)
          groups.push_back({list[e], list[e + 1]});
        else
          groups.append({{list[e]}, {list[e + 1]}});
      }
      emitRow(b.addOffset(b.thread.row, 8 * r), pair, groups);
    }
    return;
  }
  SmallVector<SmallVector<Value>> groups;
  for (size_t e = 0; e < list.size(); e += 4) {
    SmallVector<Value> group(4);
    for (int64_t p : {0, 1}) {
      Value first = list[e + p], second = list[e + 2 + p];
      Value other = b.shuffle(b.select(isOdd, first, second), 1);
      group[p] = b.select(isOdd, other, first);
      group[2 + p] = b.select(isOdd, second, other);
    }
    groups.push_back(group);
  }
  Value ownRow = b.add(b.thread.row, b.select(isOdd, b.i32(8), b.i32(0)));
  Value ownColumn = b.shl(b.shrU(b.thread.quad, 1), 2);
  emitRow(ownRow, ownColumn, groups);
}

static void lowerReduceAdd(hopper::ReduceAddOp op,
                           Operands<hopper::ReduceAddOp> in, ThreadBuilder &b) {
  b.ifThen(getOptional(in.getCondition()), [&] {
    Reduction reduction{b, getOptional(in.getFirst())};
    if (op.isFragment())
      emitReduceFragment(op, in, reduction);
    else
      emitReduceRows(op, in, reduction);
  });
}

void mlir::attn::populateSumPatterns(ThreadPatterns &patterns) {
  patterns.add(lowerReduceAdd);
}
