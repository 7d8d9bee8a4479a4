//===- SparsityBlocks.cpp - Which blocks of a layout take part ------------===//

#include "SparsityBlocks.h"
#include "RegionCompiler.h"
#include <algorithm>

using namespace attn::reference;
using llvm::Error;
using llvm::Twine;

SparsityBlocks::SparsityBlocks(mlir::attn::AttentionLikeOpInterface op,
                               const AttentionInputs &inputs)
    : op(op), inputs(inputs), sparsity(op.getSparsityAttr()) {
  const Array &first = *inputs.sparsity[0];
  Shape all = first.strides();
  // Behind the extents of batches and heads come those of blocks.
  size_t numLeading = first.shape.size() - (sparsity.isBits() ? 2 : 1);
  strides[2] = all[numLeading];
  for (size_t dim = 0; dim < numLeading; ++dim)
    if (first.shape[dim] != 1)
      strides[2 - numLeading + dim] = all[dim];
}

Error SparsityBlocks::check(std::array<int64_t, 4> sizes) {
  if (Error error = checkShape(sizes))
    return error;
  int64_t block = sparsity.getBlockColumns();
  // A tile of a whole does not tell how many keys that has.
  int64_t numKeyBlocks =
      op.getOffsets().empty() ? (sizes[3] + block - 1) / block : INT64_MAX;
  return sparsity.isLists() ? checkLists(numKeyBlocks) : Error::success();
}

Error SparsityBlocks::checkShape(std::array<int64_t, 4> sizes) {
  const Shape &shape = inputs.sparsity[0]->shape;
  bool isWhole = op.getOffsets().empty();
  size_t numLeading = shape.size() - (sparsity.isBits() ? 2 : 1);
  std::string name = sparsity.isBits() ? "bits" : "rows";
  auto expect = [&](size_t dim, int64_t wanted, const char *orOne) -> Error {
    int64_t got = shape[dim];
    if (isWhole ? got == wanted : got >= wanted)
      return Error::success();
    return makeError(op, "expects dimension " + Twine(dim) + " of " + name +
                             " of the sparsity to have extent " +
                             (isWhole ? "" : "at least ") + Twine(wanted) +
                             orOne + ", but got " + Twine(got));
  };
  for (size_t dim = 0; dim < numLeading; ++dim) {
    size_t loop = 2 - numLeading + dim;
    if (shape[dim] != 1)
      if (Error error =
              expect(dim, sizes[loop] + inputs.offsets[loop], " or 1"))
        return error;
  }
  auto numBlocks = [&](size_t loop, int64_t block) {
    return (sizes[loop] + inputs.offsets[loop] + block - 1) / block;
  };
  if (Error error = expect(numLeading,
                           numBlocks(2, sparsity.getBlockRows()) +
                               (sparsity.isLists() ? 1 : 0),
                           ""))
    return error;
  if (sparsity.isLists())
    return Error::success();
  return expect(numLeading + 1, numBlocks(3, sparsity.getBlockColumns()), "");
}

Error SparsityBlocks::checkLists(int64_t numKeyBlocks) const {
  const Array &rows = *inputs.sparsity[0], &columns = *inputs.sparsity[1];
  int64_t perHead = rows.shape.back(), numColumns = columns.size();
  for (int64_t at = 0; at < rows.size(); ++at) {
    int64_t begin = rows.ints[at];
    auto where = [&] { return " at " + Twine(at).str() + " of rows"; };
    if (begin < 0 || begin > numColumns)
      return makeError(op, "expects rows of the sparsity to lie in the " +
                               Twine(numColumns) + " columns, but got " +
                               Twine(begin) + where());
    if (at % perHead == perHead - 1)
      continue;
    int64_t end = rows.ints[at + 1];
    if (end < begin)
      return makeError(op, "expects rows of the sparsity not to decrease, but "
                           "got " +
                               Twine(end) + " after " + Twine(begin) + where());
    // What is behind the end is reported when its turn comes.
    for (int64_t n = begin; n < std::min(end, numColumns); ++n) {
      int64_t column = columns.ints[n];
      if (column < 0 || column >= numKeyBlocks)
        return makeError(op, "expects columns of the sparsity to be from 0 to "
                             "below " +
                                 Twine(numKeyBlocks) + ", but got " +
                                 Twine(column) + where());
      if (n > begin && column <= columns.ints[n - 1])
        return makeError(op, "expects the columns of a row of the sparsity to "
                             "ascend, but got " +
                                 Twine(column) + " after " +
                                 Twine(columns.ints[n - 1]) + where());
    }
  }
  return Error::success();
}

void SparsityBlocks::restrict(int64_t b, int64_t h, int64_t i,
                              std::vector<uint8_t> &allowed) const {
  const std::array<int64_t, 4> &at = inputs.offsets;
  int64_t row = (b + at[0]) * strides[0] + (h + at[1]) * strides[1] +
                (i + at[2]) / sparsity.getBlockRows() * strides[2];
  const int64_t *first = inputs.sparsity[0]->ints.data() + row;
  for (size_t j = 0; j < allowed.size(); ++j) {
    if (!allowed[j])
      continue;
    int64_t column = (int64_t(j) + at[3]) / sparsity.getBlockColumns();
    if (sparsity.isBits()) {
      allowed[j] = first[column] != 0;
      continue;
    }
    const int64_t *columns = inputs.sparsity[1]->ints.data();
    allowed[j] =
        std::binary_search(columns + first[0], columns + first[1], column);
  }
}
