//===- LowerLists.cpp - Lists as bits of words ----------------------------===//
//
// A warp reads its list once, 32 neighbouring numbers at a time, and sets their
// bits in shared memory, where a row of words lies until it is whole. That is
// as fast as the list can be read, and needs nothing of its order.
//
//===----------------------------------------------------------------------===//

#include "ThreadProgram.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::attn;

/// Words of a row that a warp has in shared memory; of more, the list is read
/// again for each part.
static constexpr int64_t kPartWords = 1024;
static constexpr int64_t kWordBits = 32;
static constexpr StringLiteral kWordsName = "list_words";

/// The words of this warp in shared memory.
Value ThreadProgram::getOwnWords() {
  auto module = kernel->getParentOfType<gpu::GPUModuleOp>();
  int64_t numWarps =
      kernel->getAttrOfType<IntegerAttr>(hopper::kThreadsAttrName).getInt() /
      hopper::kWarpThreads;
  if (!module.lookupSymbol(kWordsName)) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    LLVM::GlobalOp::create(
        b, LLVM::LLVMArrayType::get(b.getI32Type(), numWarps * kPartWords),
        /*isConstant=*/false, LLVM::Linkage::Internal, kWordsName, Attribute(),
        /*alignment=*/16, /*addrSpace=*/3);
  }
  auto pointer = LLVM::LLVMPointerType::get(b.getContext(), 3);
  Value base = LLVM::AddressOfOp::create(b, pointer, kWordsName);
  Value ownWarp = arith::ShRUIOp::create(b, threadId, i32(5));
  return LLVM::GEPOp::create(
      b, pointer, LLVM::LLVMArrayType::get(b.getI32Type(), kPartWords), base,
      ArrayRef<LLVM::GEPArg>{ownWarp});
}

void ThreadProgram::emitListWords(ListWordsOp op) {
  const BufferParameter &list = buffers.at(op.getColumns()),
                        &table = buffers.at(op.getInto());
  auto shared = LLVM::LLVMPointerType::get(b.getContext(), 3);
  Type element = getElementTypeOrSelf(op.getColumns().getType());
  unsigned bits = element.getIntOrFloatBitWidth();
  Value words = getOwnWords();
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
  auto sync = [&] { NVVM::SyncWarpOp::create(b, i32(-1)); };
  // No list is longer than positions in 32 bits reach, but where it starts is
  // any number.
  Value begin =
      arith::MaxSIOp::create(b, getIndexInt(op.getBegin(), 64), i64(0));
  Value end = arith::MinSIOp::create(b, getIndexInt(op.getEnd(), 64),
                                     toInt(list.extents.front(), 64));
  Value lane64 = zext64(lane);
  Value numWords = toInt(table.extents.back(), 32);
  loop(i32(0), numWords, i32(kPartWords), [&](Value part) {
    Value count = arith::MinSIOp::create(
        b, arith::SubIOp::create(b, numWords, part), i32(kPartWords));
    auto forWords = [&](function_ref<void(Value)> body) {
      loop(lane, count, i32(hopper::kWarpThreads), body);
      sync();
    };
    forWords([&](Value number) {
      LLVM::StoreOp::create(b, i32(0), getWord(number));
    });
    Value firstBit = arith::MulIOp::create(b, part, i32(kWordBits));
    Value numBits = arith::MulIOp::create(b, count, i32(kWordBits));
    auto widen = [&](Value value) {
      return bits == 64 ? zext64(value) : value;
    };
    Value first = widen(firstBit), most = widen(numBits);
    loop(
        arith::AddIOp::create(b, begin, lane64), end, i64(hopper::kWarpThreads),
        [&](Value number) {
          Value column = LLVM::LoadOp::create(
              b, element, getAddress(list, {{number, 0}}, bits / 8));
          Value bit = arith::SubIOp::create(b, column, first);
          Value isInside =
              arith::CmpIOp::create(b, arith::CmpIPredicate::ult, bit, most);
          emitIfThen(isInside, [&] {
            Value place = bits == 64
                              ? arith::TruncIOp::create(b, b.getI32Type(), bit)
                                    .getResult()
                              : bit;
            Value word = getWord(arith::ShRUIOp::create(b, place, i32(5)));
            Value one = arith::ShLIOp::create(
                b, i32(1), arith::AndIOp::create(b, place, i32(kWordBits - 1)));
            LLVM::AtomicRMWOp::create(b, LLVM::AtomicBinOp::_or, word, one,
                                      LLVM::AtomicOrdering::monotonic, "block");
          });
        });
    sync();
    forWords([&](Value number) {
      SmallVector<IndexElement> position;
      for (Value index : op.getIndices())
        position.push_back(getIndices(index)[0]);
      position.push_back({arith::AddIOp::create(b, part, number), 0});
      Value word = LLVM::LoadOp::create(b, b.getI32Type(), getWord(number));
      LLVM::StoreOp::create(b, word, getAddress(table, position, 4));
    });
  });
}
