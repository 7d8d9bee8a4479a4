//===- Masks.h - Masks to combine for AttentionSpec -------------*- C++ -*-===//
//
//   using namespace attn::masks;
//   Capture ids = spec.capture("ids", DType::I32, {kDynamicExtent});
//   spec.mask(sameDocument(ids) && (slidingWindow(511, 0) || globalTokens(4)));
//
// A mask says which pairs of a query and a key are allowed. AttentionSpec::mask
// takes a mask, and any function from MaskArgs to bool converts to one, so that
// named masks and lambdas combine:
//
//   spec.mask(causal() && [](const MaskArgs &at) { return at.h != at.b; });
//
// Combining masks combines their code. Nothing is stored, and the compiler
// finds which tiles of the combined mask are empty or full. A copy of a mask
// shares its function, so that long chains are cheap.
//
// Positions are counted in tokens from 0: i of queries and j of keys. Query 0
// is at key 0 in all masks except those with Align::LowerRight.
//
// Wrong arguments, such as a block of 0 tokens or a capture of another rank,
// are an error of the specification, which its compilation returns and which
// names the mask. Numbers that are only known at run time are not checked. A
// length beyond the sequence has the effect of the sequence's length, a
// division by 0 gives 0, and a document outside of its table is a read outside
// of a capture (CompileOptions::boundsCheck).
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_BUILDER_MASKS_H
#define ATTN_BUILDER_MASKS_H

#include "attn/Builder/AttentionSpec.h"
#include <type_traits>

namespace attn {

/// Which pairs of a query and a key are allowed.
class Mask {
public:
  using Function = std::function<Expr(const MaskArgs &)>;

  /// From any function of MaskArgs that returns a bool. An empty one is an
  /// error of the specification.
  template <typename F, typename = std::enable_if_t<
                            std::is_invocable_r_v<Expr, F, const MaskArgs &> &&
                            !std::is_same_v<std::decay_t<F>, Mask>>>
  Mask(F function)
      : function(std::make_shared<const Function>(std::move(function))) {}

  // Moving copies, so that what was moved from can still be used.
  Mask(const Mask &) = default;
  Mask &operator=(const Mask &) = default;

  Expr operator()(const MaskArgs &at) const;

  /// Pairs that both masks allow, that at least one of them allows, and that a
  /// mask does not allow. Both masks are evaluated for all pairs, so each must
  /// be valid everywhere.
  friend Mask operator&&(const Mask &a, const Mask &b);
  friend Mask operator||(const Mask &a, const Mask &b);
  friend Mask operator!(const Mask &a);

private:
  std::shared_ptr<const Function> function;
};

namespace masks {

/// A number that a mask depends on: a literal, a scalar capture of integers, or
/// a function of the position, such as an element of a capture at the head:
///
///   slidingWindow([=](const MaskArgs &at) { return windows[{at.h}]; }, 0)
class Number {
public:
  /// A literal; one beyond the largest int64_t counts as that, as both are
  /// beyond all lengths.
  template <typename T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
  Number(T value) : literal(static_cast<int64_t>(value)) {
    if (std::is_unsigned_v<T> && static_cast<uint64_t>(value) > INT64_MAX)
      literal = INT64_MAX;
  }
  Number(const Capture &scalar)
      : function([scalar](const MaskArgs &) { return scalar(); }) {}
  template <typename F, typename = std::enable_if_t<
                            std::is_invocable_r_v<Expr, F, const MaskArgs &>>>
  Number(F function) : function(std::move(function)) {}

  const std::optional<int64_t> &getLiteral() const { return literal; }
  Expr get(const MaskArgs &at) const;

private:
  std::optional<int64_t> literal;
  Mask::Function function;
};

/// Where the diagonal of a mask starts.
enum class Align {
  /// Query 0 is at key 0.
  UpperLeft,
  /// The last query is at the last key, as in decoding, where the queries are
  /// the last tokens: query i is at key i + numKeys - numQueries.
  LowerRight,
};

//===----------------------------------------------------------------------===//
// Transformations
//===----------------------------------------------------------------------===//

/// The mask at other positions: a pair (i, j) is allowed if the mask allows
/// (i + queries, j + keys). Offsets may be negative; literals are from -2^60 to
/// 2^60. The mask is also evaluated at positions outside of the sequences, so
/// that captures that it reads by position need elements there.
Mask shift(const Mask &mask, const Number &queries, const Number &keys);

/// Pairs of one document. `ids` holds the document of each token, integers of
/// any kind in any order, as [position] or [batch, position].
Mask sameDocument(const Capture &ids);
/// The same for queries and keys of different sequences.
Mask sameDocument(const Capture &queryIds, const Capture &keyIds);

/// A mask within each document: pairs of one document that the mask allows. The
/// mask gets positions and numbers of queries and keys within the document.
/// `ids` is as above, with documents numbered from 0. `starts` has the first
/// position of each document, and then the end of the last one:
/// [documents + 1], as cu_seqlens of other libraries. Queries and keys have the
/// same documents.
Mask perDocument(const Capture &ids, const Capture &starts, const Mask &mask);

//===----------------------------------------------------------------------===//
// Named masks
//===----------------------------------------------------------------------===//

/// j <= i: keys up to that of the query.
Mask causal(Align align = Align::UpperLeft);

/// i - before <= j <= i + after: the key at the query's position, and so many
/// keys before and after it. Both numbers are 0 or more.
Mask slidingWindow(const Number &before, const Number &after,
                   Align align = Align::UpperLeft);

/// j < length: the first keys.
Mask prefix(const Number &length);
/// Prefix language model: the first keys, and keys up to the query's position.
Mask prefixLM(const Number &length);

/// j < keyLengths[b]: sequences that are padded at their ends. [batch].
Mask padding(const Capture &keyLengths);
/// The same, and i < queryLengths[b]: padded queries see nothing.
Mask padding(const Capture &queryLengths, const Capture &keyLengths);

/// Keys whose distance from the query is a multiple of `step` tokens, 1 or
/// more. With slidingWindow, a dilated window.
Mask dilated(const Number &step);

/// Blocks of `block` tokens whose distance from the query's block is a multiple
/// of `stride` blocks; both are 1 or more. Each block is allowed or masked as a
/// whole.
Mask blockStrided(const Number &block, const Number &stride);

/// The neighbourhood of a query at the border of an image.
enum class Border {
  /// The neighbourhood is cut off.
  Clip,
  /// The neighbourhood is moved inside, so that all have the same size
  /// (NATTEN). The image is at least as large as a neighbourhood.
  Shift,
};

/// Tokens are the pixels of an image of `height` rows of `width`, row by row. A
/// query sees the pixels at most `radiusY` rows and `radiusX` columns from its
/// own. Sizes are 1 or more, radii 0 or more.
Mask neighborhood2D(const Number &height, const Number &width,
                    const Number &radiusY, const Number &radiusX,
                    Border border = Border::Clip);

/// The first `count` tokens see all keys and are seen by all queries.
Mask globalTokens(const Number &count);
/// The same for the tokens whose flag is set. `flags` is i1, as [position] or
/// [batch, position]. Queries and keys are of one sequence. To pass a captured
/// count to the overload above, write a function of MaskArgs, as a Capture
/// selects this overload.
Mask globalTokens(const Capture &flags);

/// Blocks of a block layout: layout[h, i / block, j / block]. `layout` is i1,
/// as [heads, blocks, blocks] or, for all heads, [blocks, blocks]; the last
/// block may have fewer than `block` tokens. BlockLayout.h makes some layouts.
Mask blockLayout(const Capture &layout, const Number &block);

} // namespace masks
} // namespace attn

#endif // ATTN_BUILDER_MASKS_H
