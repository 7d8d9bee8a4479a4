//===- Sparsity.h - How a sparse structure runs -----------------*- C++ -*-===//
//
// An attention with lists of single keys runs as rows, each with the keys of
// its list, or as a dense one with a predicate. Which of these is faster is a
// matter of the density, which a launch knows from the extents of its operands.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ATTN_TRANSFORMS_SPARSITY_H
#define ATTN_DIALECT_ATTN_TRANSFORMS_SPARSITY_H

#include "attn/Dialect/Attn/IR/Attn.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {

/// What becomes of a sparsity.
enum class SparsityForm {
  /// The form that the model of costs says.
  Auto,
  /// A condition of the mask, and no tile is passed over for it.
  Dense,
  /// A condition of the mask by which tiles are passed over.
  Blocks,
  /// Rows with lists of single keys.
  Lists,
  /// Q blocks, each with the keys that the lists of some of them hold.
  Gathered
};

/// "auto", "dense", "blocks", "lists", "gathered".
std::optional<SparsityForm> parseSparsityForm(StringRef name);
StringRef getSparsityFormName(SparsityForm form);

/// The most bytes of words that are chosen for an attention by itself. Lists of
/// 32-bit numbers have as many where 3 % of the pairs are allowed.
inline constexpr int64_t kMaxWordBytes = int64_t(2) << 30;

/// What of the extents of an attention with lists of single keys its costs
/// depend on.
struct ListSizes {
  /// Of all heads and batches: rows, and pairs in lists; keys of a row; entries
  /// of the lists, and lists, which heads and batches may share.
  double rows = 0, pairs = 0, keys = 0, entries = 0, lists = 0;

  double getDensity() const {
    return rows * keys > 0 ? pairs / (rows * keys) : 0;
  }
  /// Of words, one for each list and 32 keys.
  double getWordBytes() const { return lists * keys / 8; }
};

/// What the forms of lists of single keys cost, in nanoseconds. A pair is one
/// of a query of a head of a batch and a key.
struct ListCosts {
  /// Of rows: a pair of a list, and a row.
  double pair = 0, row = 0;
  /// Of a dense attention with a predicate: a pair, and an entry of the lists,
  /// of which heads and batches may share some.
  double densePair = 0, entry = 0;

  /// The part of all pairs from which on the dense form is the faster one, if
  /// each head has lists of its own and this many keys.
  double getCrossover(double keys) const;
  /// Whether lists are to run as rows: the form that costs less, or the one
  /// without words where these would be too many.
  bool areRowsBetter(const ListSizes &sizes) const {
    return pair * sizes.pairs + row * sizes.rows <
               densePair * sizes.rows * sizes.keys + entry * sizes.entries ||
           sizes.getWordBytes() > double(kMaxWordBytes);
  }
};

/// The costs on a processor with threads of this kind, each of which does the
/// same share.
ListCosts getCPUListCosts(AttentionLikeOpInterface op);
/// On an H200. What a pair of the dense form costs is for the schedules to say.
ListCosts getCudaListCosts(AttentionLikeOpInterface op);

} // namespace mlir::attn

#endif // ATTN_DIALECT_ATTN_TRANSFORMS_SPARSITY_H
