//===- ValueOrder.cpp - An order of values by what they are ---------------===//

#include "ValueOrder.h"
#include "attn/Dialect/Attn/IR/Attn.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

template <typename T> static int compareNumbers(const T &a, const T &b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

/// Positions of the query and the key come before batch and head.
static unsigned getArgumentRank(BlockArgument argument) {
  unsigned number = argument.getArgNumber();
  return number < kNumMaskArgs ? (number + 2) % kNumMaskArgs : number;
}

/// Arguments, operations, constants.
static unsigned getKindRank(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return 0;
  return op->hasTrait<OpTrait::ConstantLike>() ? 2 : 1;
}

template <typename T> static std::string print(T printable) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  printable.print(stream);
  return text;
}

int ValueOrder::compareOps(Operation *a, Operation *b) {
  if (a->getName() != b->getName())
    return a->getName().getStringRef().compare(b->getName().getStringRef());
  // Constants by their numbers, others by their texts.
  APInt x, y;
  if (matchPattern(a, m_ConstantInt(&x)) &&
      matchPattern(b, m_ConstantInt(&y)) &&
      x.getBitWidth() == y.getBitWidth() && x != y)
    return x.slt(y) ? -1 : 1;
  if (a->getAttrDictionary() != b->getAttrDictionary())
    if (int order = print(a->getAttrDictionary())
                        .compare(print(b->getAttrDictionary())))
      return order;
  if (int order = compareNumbers(a->getNumOperands(), b->getNumOperands()))
    return order;
  for (auto [p, q] : llvm::zip_equal(a->getOperands(), b->getOperands()))
    if (int order = compare(p, q))
      return order;
  if (a->getResultTypes() != b->getResultTypes())
    return print(a->getResult(0).getType())
        .compare(print(b->getResult(0).getType()));
  // What regions hold is told apart by where it is.
  if (a->getNumRegions() != 0 && a->getBlock() == b->getBlock())
    return a->isBeforeInBlock(b) ? -1 : 1;
  return 0;
}

int ValueOrder::compare(Value a, Value b) {
  if (a == b)
    return 0;
  if (int order = compareNumbers(getKindRank(a), getKindRank(b)))
    return order;
  if (auto first = dyn_cast<BlockArgument>(a))
    return compareNumbers(getArgumentRank(first),
                          getArgumentRank(cast<BlockArgument>(b)));
  auto first = cast<OpResult>(a), second = cast<OpResult>(b);
  if (first.getOwner() == second.getOwner())
    return compareNumbers(first.getResultNumber(), second.getResultNumber());
  if (auto found = known.find({a, b}); found != known.end())
    return found->second;
  int order = compareOps(first.getOwner(), second.getOwner());
  if (order == 0)
    order = compareNumbers(first.getResultNumber(), second.getResultNumber());
  known[{a, b}] = order;
  known[{b, a}] = -order;
  return order;
}
