//===- BlockArguments.cpp - Arguments that are layouts of blocks ----------===//

#include "BlockArguments.h"
#include "llvm/Support/MathExtras.h"

using namespace attn;
using namespace attn::cli;
using llvm::Expected;
using mlir::RankedTensorType;

ArgSpec BlockArguments::getDefaultSpec() const {
  ArgSpec spec;
  spec.kind = ArgSpec::Kind::Blocks;
  // Of single pairs, few.
  bool isElementwise = getOp().getSparsityAttr().isElementwise();
  spec.lo = isElementwise ? 0.05 : 0.5;
  spec.text = isElementwise ? "blocks(0.05)" : "blocks(0.5)";
  return spec;
}

Expected<std::pair<Tensor, Tensor>>
BlockArguments::makeLists(const ArgSpec &spec, const Sizes &sizes,
                          uint64_t seed) const {
  mlir::attn::AttentionLikeOpInterface op = getOp();
  Shape shape = sizes.getShape(op.getSparsityOperands()[0]);
  int64_t numKeys = sizes.getShape(op.getKey())[op.getLayout(1).s];
  if (numKeys < 0)
    return llvm::createStringError(
        "expects rows and columns for a sparsity whose number of keys does not "
        "follow from the shapes of arguments");
  int64_t numBlocks =
      llvm::divideCeil(numKeys, op.getSparsityAttr().getBlockColumns());
  // The elements of rows, in row-major order: after each list where the next
  // one starts, and a first 0 for each head.
  std::vector<int64_t> offsets, list;
  int64_t numRows = 1, number = 0;
  for (int64_t extent : shape)
    numRows *= extent;
  for (int64_t row = 0; row < numRows; ++row) {
    offsets.push_back(int64_t(list.size()));
    if (row % shape.back() == shape.back() - 1)
      continue;
    for (int64_t column = 0; column < numBlocks; ++column)
      if (hasBlock(spec, seed, first, number++))
        list.push_back(column);
  }
  auto make = [&](unsigned operand, llvm::ArrayRef<int64_t> shape,
                  llvm::ArrayRef<int64_t> elements) -> Expected<Tensor> {
    auto type = mlir::cast<RankedTensorType>(
        op.getSparsityOperands()[operand].getType());
    Expected<Tensor> tensor = Tensor::create(
        type.getElementType().isInteger(32) ? DType::I32 : DType::I64, shape);
    if (tensor)
      for (auto [index, element] : llvm::enumerate(elements))
        tensor->setFromInt(index, element);
    return tensor;
  };
  Expected<Tensor> rows = make(0, shape, offsets);
  if (!rows)
    return rows.takeError();
  Expected<Tensor> lists = make(1, {int64_t(list.size())}, list);
  if (!lists)
    return lists.takeError();
  return std::make_pair(std::move(*rows), std::move(*lists));
}

std::vector<BlockArguments>
cli::findBlockArguments(mlir::func::FuncOp function) {
  std::vector<BlockArguments> found;
  llvm::SmallDenseSet<unsigned> seen;
  function->walk([&](mlir::attn::AttentionLikeOpInterface op) {
    mlir::attn::SparsityAttr sparsity = op.getSparsityAttr();
    if (!sparsity)
      return;
    std::vector<unsigned> numbers;
    for (mlir::Value operand : op.getSparsityOperands()) {
      auto argument = mlir::dyn_cast<mlir::BlockArgument>(operand);
      if (argument && argument.getOwner()->getParentOp() == function &&
          seen.insert(argument.getArgNumber()).second)
        numbers.push_back(argument.getArgNumber());
    }
    if (numbers.size() != op.getSparsityOperands().size())
      return;
    BlockArguments arguments{op.getOperation(), numbers[0], std::nullopt};
    if (sparsity.isLists()) {
      // A number of columns that is given is not that of random blocks.
      auto columns =
          mlir::cast<RankedTensorType>(op.getSparsityOperands()[1].getType());
      if (!columns.isDynamicDim(0))
        return;
      arguments.columns = numbers[1];
    }
    found.push_back(arguments);
  });
  return found;
}
