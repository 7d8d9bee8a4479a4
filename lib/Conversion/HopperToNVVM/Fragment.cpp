//===- Fragment.cpp - The elements of a thread ----------------------------===//

#include "Fragment.h"

using namespace mlir;
using namespace mlir::attn;

static FragmentLayout getLayout(VectorType type) {
  if (type.getDimSize(1) == 1)
    return FragmentLayout::Columns;
  switch (type.getDimSize(0)) {
  case 1:
    return FragmentLayout::Rows;
  case 4:
    return FragmentLayout::Partial;
  default:
    return FragmentLayout::Matrix;
  }
}

Fragment::Fragment(VectorType type)
    : layout(getLayout(type)), numColumns(type.getDimSize(0)),
      elementType(type.getElementType()) {}

std::optional<Fragment> Fragment::get(Type type) {
  if (auto pending = dyn_cast<hopper::PendingType>(type))
    return Fragment(pending.getVector());
  auto vector = dyn_cast<VectorType>(type);
  if (vector && vector.getRank() == 2)
    return Fragment(vector);
  return std::nullopt;
}

int64_t Fragment::getNumRegisters() const {
  switch (layout) {
  case FragmentLayout::Columns:
    return numColumns / 4;
  case FragmentLayout::Rows:
  case FragmentLayout::Partial:
    return 2;
  case FragmentLayout::Matrix:
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
