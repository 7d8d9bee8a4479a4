//===- LowerLists.cpp - Lists as bits of words ----------------------------===//
//
// A warp reads its list once, 32 neighbouring numbers at a time, and sets their
// bits in shared memory, where a row of words lies until it is whole. That is
// as fast as the list can be read, and needs nothing of its order.
//
//===----------------------------------------------------------------------===//

#include "ThreadPatterns.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::attn;

/// Words of a row that a warp has in shared memory; of more, the list is read
/// again for each part.
static constexpr int64_t kListWords = 1024;
static constexpr int64_t kWordBits = 32;
static constexpr StringLiteral kWordsName = "key_bitmask";

/// The words of this warp in shared memory.
static Value getOwnWords(ThreadBuilder &b) {
  auto module = b.kernel.function->getParentOfType<gpu::GPUModuleOp>();
  int64_t numWarps = b.kernel.numThreads / hopper::kWarpThreads;
  if (!module.lookupSymbol(kWordsName)) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    LLVM::GlobalOp::create(
        b, LLVM::LLVMArrayType::get(b.getI32Type(), numWarps * kListWords),
        /*isConstant=*/false, LLVM::Linkage::Internal, kWordsName, Attribute(),
        /*alignment=*/16, /*addrSpace=*/3);
  }
  auto pointer = LLVM::LLVMPointerType::get(b.getContext(), 3);
  Value base = LLVM::AddressOfOp::create(b, pointer, kWordsName);
  Value ownWarp = b.shrU(b.thread.id, 5);
  return LLVM::GEPOp::create(
      b, pointer, LLVM::LLVMArrayType::get(b.getI32Type(), kListWords), base,
      ArrayRef<LLVM::GEPArg>{ownWarp});
}

static void lowerKeyBitmask(KeyBitmaskOp op, Operands<KeyBitmaskOp> in,
                            ThreadBuilder &b) {
  BufferParameter list =
                      b.getBuffer(op.getColumns().getType(), in.getColumns()),
                  table = b.getBuffer(op.getInto().getType(), in.getInto());
  auto shared = LLVM::LLVMPointerType::get(b.getContext(), 3);
  Type element = getElementTypeOrSelf(op.getColumns().getType());
  unsigned bits = element.getIntOrFloatBitWidth();
  Value words = getOwnWords(b);
  auto getWord = [&](Value number) {
    return LLVM::GEPOp::create(b, shared, b.getI32Type(), words,
                               ArrayRef<LLVM::GEPArg>{number});
  };
  auto loop = [&](Value first, Value end, Value step,
                  function_ref<void(Value)> body) {
    auto result = scf::ForOp::create(b, first, end, step);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(result.getBody());
    body(result.getInductionVar());
  };
  auto sync = [&] { NVVM::SyncWarpOp::create(b, b.i32(-1)); };
  // No list is longer than positions in 32 bits reach, but where it starts is
  // any number.
  Value begin = b.maxS(b.toInt(in.getBegin(), 64), 0);
  Value end =
      b.minS(b.toInt(in.getEnd(), 64), b.toInt(list.extents.front(), 64));
  Value lane64 = b.zext64(b.thread.lane);
  Value numWords = b.toInt(table.extents.back(), 32);
  loop(b.i32(0), numWords, b.i32(kListWords), [&](Value part) {
    Value count = b.minS(b.sub(numWords, part), kListWords);
    auto forWords = [&](function_ref<void(Value)> body) {
      loop(b.thread.lane, count, b.i32(hopper::kWarpThreads), body);
      sync();
    };
    forWords([&](Value number) {
      LLVM::StoreOp::create(b, b.i32(0), getWord(number));
    });
    Value firstBit = b.mul(part, kWordBits);
    Value numBits = b.mul(count, kWordBits);
    auto widen = [&](Value value) {
      return bits == 64 ? b.zext64(value) : value;
    };
    Value first = widen(firstBit), most = widen(numBits);
    loop(b.add(begin, lane64), end, b.i64(hopper::kWarpThreads),
         [&](Value number) {
           Value column = LLVM::LoadOp::create(
               b, element, b.getAddress(list, {{number, 0}}, bits / 8));
           Value bit = b.sub(column, first);
           Value isInside = b.ult(bit, most);
           b.ifThen(isInside, [&] {
             Value place = bits == 64 ? b.trunc32(bit) : bit;
             Value word = getWord(b.shrU(place, 5));
             Value one = b.shl(b.i32(1), b.andI(place, kWordBits - 1));
             LLVM::AtomicRMWOp::create(b, LLVM::AtomicBinOp::_or, word, one,
                                       LLVM::AtomicOrdering::monotonic,
                                       "block");
           });
         });
    sync();
    forWords([&](Value number) {
      SmallVector<IndexElement> position = b.getPosition(in.getIndices());
      position.push_back({b.add(part, number), 0});
      Value word = LLVM::LoadOp::create(b, b.getI32Type(), getWord(number));
      LLVM::StoreOp::create(b, word, b.getAddress(table, position, 4));
    });
  });
}

void mlir::attn::populateListPatterns(ThreadPatterns &patterns) {
  patterns.add(lowerKeyBitmask);
}
