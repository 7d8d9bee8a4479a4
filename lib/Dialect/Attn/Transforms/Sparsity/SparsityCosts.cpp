//===- SparsityCosts.cpp - What forms of a sparsity cost ------------------===//
//
// Both forms of lists of single keys are linear in what they read and compute:
//
//   lists: pair * (pairs in lists) + row * rows
//   dense: densePair * (all pairs) + entry * (entries of the lists)
//
// A pair of a list reads a row of keys and one of values that no other query
// uses; a pair of the dense form is a part of a product of tiles. Only the
// ratio of these matters for the choice.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Attn/Transforms/Sparsity.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::attn;

static constexpr std::pair<SparsityForm, StringLiteral> kNames[] = {
    {SparsityForm::Auto, "auto"},
    {SparsityForm::Dense, "dense"},
    {SparsityForm::Blocks, "blocks"},
    {SparsityForm::Lists, "lists"},
    {SparsityForm::Gathered, "gathered"}};

std::optional<SparsityForm> mlir::attn::parseSparsityForm(StringRef name) {
  for (auto [form, known] : kNames)
    if (name == known)
      return form;
  return std::nullopt;
}

StringRef mlir::attn::getSparsityFormName(SparsityForm form) {
  for (auto [known, name] : kNames)
    if (form == known)
      return name;
  llvm_unreachable("all forms have names");
}

double ListCosts::getCrossover(double keys) const {
  double gain = pair - entry;
  if (gain <= 0)
    return 0;
  double rest = densePair - (keys > 0 ? row / keys : 0);
  return std::clamp(rest / gain, 0.0, 1.0);
}

/// Measured with one thread of an x86-64 processor with AVX-512, f32, D = 32 to
/// 128, 1024 and 2048 queries and lists of 2 to 50 % of the keys, drawn at
/// random (docs/benchmarks.md). Both forms take as many threads as there are.
ListCosts mlir::attn::getCPUListCosts(AttentionLikeOpInterface op) {
  double columns = static_cast<double>(op.getQueryKeyDim() + op.getValueDim());
  ListCosts costs;
  costs.pair = 0.9 + 0.044 * columns;
  costs.row = 40;
  costs.densePair = 0.7 + 0.0185 * columns;
  costs.entry = 1.4;
  return costs;
}

/// Measured on an H200 with bf16, D = 64, S = 4096, 16384 tokens and lists of
/// random keys for each of 32 heads: 5.31 ms with 10 % of the pairs, 2.89 ms
/// with 5 %, 0.944 ms with 1 %. Rows are bound by the bytes that they read from
/// the L2 cache, 256 for a pair. Entries that become words are read from memory
/// at 1.7 TB/s: 0.67 ms for half of all pairs.
ListCosts mlir::attn::getCudaListCosts(AttentionLikeOpInterface op) {
  double bytes =
      static_cast<double>((op.getQueryKeyDim() + op.getValueDim()) *
                          op.getQueryType().getElementTypeBitWidth() / 8);
  double scale = bytes / 256;
  double entryBytes = 4;
  if (SparsityAttr sparsity = op.getSparsityAttr();
      sparsity && sparsity.isLists())
    entryBytes = getElementTypeOrSelf(op.getSparsityOperands()[1].getType())
                     .getIntOrFloatBitWidth() /
                 8.0;
  ListCosts costs;
  costs.pair = 22.6e-3 * scale;
  costs.row = 0.875 * scale;
  costs.entry = entryBytes / 1.7e3;
  return costs;
}
