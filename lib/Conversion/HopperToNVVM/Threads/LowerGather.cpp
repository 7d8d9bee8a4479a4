//===- LowerGather.cpp - Elements of buffers ------------------------------===//

#include "ThreadPatterns.h"
#include <map>

using namespace mlir;
using namespace mlir::attn;

static Elements lowerGather(GatherOp op, Operands<GatherOp> in,
                            ThreadBuilder &b) {
  BufferParameter buffer =
      b.getBuffer(op.getSource().getType(), in.getSource());
  Type element = getElementTypeOrSelf(op.getType());
  bool isIndex = element.isIndex(), isBool = element.isInteger(1);
  unsigned bits = isIndex ? 64 : isBool ? 8 : element.getIntOrFloatBitWidth();
  Elements list;
  // Of 16-bit floats, two go to one register.
  std::optional<Fragment> fragment = Fragment::get(op.getType());
  bool isPacked = fragment && fragment->isPacked();
  int64_t count =
      (fragment ? fragment->getNumRegisters() : 1) * (isPacked ? 2 : 1);
  // Elements with one position are loaded once, such as those on a diagonal of
  // what is read at the distance of query and key.
  std::map<SmallVector<int64_t>, Value> known;
  for (int64_t e = 0; e < count; ++e) {
    SmallVector<IndexElement> position;
    ValueRange mask = in.getMask();
    Value active = mask.size() == 1 ? mask[0] : mask[e];
    SmallVector<int64_t> key;
    llvm::append_range(key, b.getKey(IndexElement{active, 0}));
    for (ValueRange elements : in.getIndices()) {
      IndexElement at =
          b.getIndex(elements.size() == 1 ? elements[0] : elements[e]);
      position.push_back(at);
      llvm::append_range(key, b.getKey(at));
    }
    if (auto it = known.find(key); it != known.end()) {
      list.push_back(it->second);
      continue;
    }
    for (auto [number, index] : llvm::enumerate(op.getIndices())) {
      unsigned width = b.kernel.ranges.fitsInt32(index) ? 32 : 64;
      Value inRange = b.ult(b.toInt(position[number], width),
                            b.toInt(buffer.extents[number], width));
      active = b.andI(active, inRange);
    }
    Value address = b.getAddress(buffer, position, bits / 8);
    Value loaded = b.loadGlobal(address, active, bits);
    if (isPacked)
      loaded = arith::ExtUIOp::create(b, b.getI32Type(), loaded);
    else if (isBool)
      loaded = b.toBool(loaded);
    else if (bits == 8)
      loaded = arith::TruncIOp::create(b, element, loaded);
    else if (isa<FloatType>(element))
      loaded = arith::BitcastOp::create(b, element, loaded);
    known[key] = loaded;
    list.push_back(loaded);
  }
  if (isPacked) {
    Elements packed;
    for (size_t e = 0; e < list.size(); e += 2)
      packed.push_back(b.orI(list[e], b.shl(list[e + 1], 16)));
    list = packed;
  }
  return list;
}

void mlir::attn::populateGatherPatterns(ThreadPatterns &patterns) {
  patterns.add(lowerGather);
}
