//===- Fragment.cpp - The elements of a thread ----------------------------===//

#include "Fragment.h"

using namespace mlir;
using namespace mlir::attn;

Fragment::Fragment(Type type) : layout(*hopper::getLayout(type)) {
  auto pending = dyn_cast<hopper::PendingType>(type);
  auto shaped = cast<ShapedType>(pending ? pending.getFragment() : type);
  bool isOfThreads = layout == hopper::FragmentLayout::Threads;
  numColumns = shaped.getDimSize(isOfThreads ? 1 : 0);
  elementType = shaped.getElementType();
}

std::optional<Fragment> Fragment::get(Type type) {
  if (!hopper::getLayout(type))
    return std::nullopt;
  return Fragment(type);
}

int64_t Fragment::getNumRegisters() const {
  switch (layout) {
  case hopper::FragmentLayout::Columns:
    return numColumns / 4;
  case hopper::FragmentLayout::Lanes:
    return llvm::divideCeil(numColumns, hopper::kWarpThreads);
  case hopper::FragmentLayout::Threads:
    return numColumns / hopper::kWarpgroupThreads;
  case hopper::FragmentLayout::Rows:
  case hopper::FragmentLayout::Partial:
    return 2;
  case hopper::FragmentLayout::Accumulator:
    return numColumns / (isPacked() ? 4 : 2);
  }
  llvm_unreachable("all layouts are handled");
}

Type Fragment::getRegisterType() const {
  MLIRContext *context = elementType.getContext();
  if (isPacked())
    return IntegerType::get(context, 32);
  if (elementType.isIndex())
    return IntegerType::get(context, 64);
  return elementType;
}
