//===- Masks.h - Masks to combine for AttentionSpec -------------*- C++ -*-===//
//
//   using namespace attn::masks;
//   Capture ids = spec.capture("ids", DType::I32, {kDynamicExtent});
//   spec.mask(sameDocument(ids) && (slidingWindow(511, 0) || globalTokens(4)));
//
// A mask says which pairs of a query and a key count. It is a function that
// AttentionSpec::mask takes, and any such function is a mask, so that named
// masks and lambdas combine:
//
//   spec.mask(causal() && [](const MaskArgs &at) { return at.h != at.b; });
//
// Combining masks combines code: nothing is stored, and the compiler finds out
// which tiles of the result are empty or full as it does for any mask.
//
// Positions are counted in tokens from 0: i of queries and j of keys. All
// masks but lower-right ones put query 0 at key 0.
//
// What a mask cannot be made of, such as a block of 0 tokens or a capture of
// another rank, is an error of the specification that its compilation returns.
// What is only known at run time is not checked: there, lengths are clipped by
// what they are compared with, a division by 0 gives 0, and a document outside
// of its table is a read outside of a capture (CompileOptions::boundsCheck).
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_BUILDER_MASKS_H
#define ATTN_BUILDER_MASKS_H

#include "attn/Builder/AttentionSpec.h"
#include <type_traits>

namespace attn {

/// Which pairs of a query and a key count.
class Mask {
public:
  using Function = std::function<Expr(const MaskArgs &)>;

  /// Any function of MaskArgs that gives a bool.
  template <typename F, typename = std::enable_if_t<
                            std::is_invocable_r_v<Expr, F, const MaskArgs &> &&
                            !std::is_same_v<std::decay_t<F>, Mask>>>
  Mask(F function) : function(std::move(function)) {}

  Expr operator()(const MaskArgs &at) const { return function(at); }

  /// Pairs that both masks allow, that one of them allows, and that a mask does
  /// not allow. Both masks are asked, so each must be valid everywhere.
  friend Mask operator&&(const Mask &a, const Mask &b);
  friend Mask operator||(const Mask &a, const Mask &b);
  friend Mask operator!(const Mask &a);

private:
  Function function;
};

namespace masks {

/// A number that a mask depends on: a literal, a scalar capture of integers, or
/// a function of where the mask is asked, such as an element of a capture at
/// the head:
///
///   slidingWindow([=](const MaskArgs &at) { return windows[{at.h}]; }, 0)
class Number {
public:
  template <typename T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
  Number(T value) : literal(static_cast<int64_t>(value)) {}
  Number(const Capture &scalar)
      : function([scalar](const MaskArgs &) { return scalar(); }) {}
  template <typename F, typename = std::enable_if_t<
                            std::is_invocable_r_v<Expr, F, const MaskArgs &>>>
  Number(F function) : function(std::move(function)) {}

  const std::optional<int64_t> &getLiteral() const { return literal; }
  Expr get(const MaskArgs &at) const {
    return literal ? Expr(*literal) : function(at);
  }

private:
  std::optional<int64_t> literal;
  Mask::Function function;
};

/// Where the diagonal of a mask is that has one.
enum class Align {
  /// Query 0 is at key 0.
  UpperLeft,
  /// The last query is at the last key, as when the queries are the end of the
  /// keys: query i is at key i + numKeys - numQueries.
  LowerRight,
};

//===----------------------------------------------------------------------===//
// Transformations
//===----------------------------------------------------------------------===//

/// The mask at other positions: a pair (i, j) counts if the mask allows
/// (i + queries, j + keys). Offsets may be negative. The mask is asked about
/// positions outside of the sequences, so one that reads captures at positions
/// needs captures that have them.
Mask shift(const Mask &mask, const Number &queries, const Number &keys);

/// Pairs of one document. `ids` holds the document of each token, integers of
/// any kind in any order, as [position] or [batch, position].
Mask sameDocument(const Capture &ids);
/// The same where queries and keys are of different sequences.
Mask sameDocument(const Capture &queryIds, const Capture &keyIds);

/// A mask within each document: pairs of one document that the mask allows,
/// where it counts positions, queries and keys from the start of the document.
/// `ids` is as above, and numbers documents from 0; `starts` holds where each
/// starts and, behind the last one, where that ends: [documents + 1], as
/// cu_seqlens of other libraries. Queries and keys have the same documents.
Mask perDocument(const Capture &ids, const Capture &starts, const Mask &mask);

//===----------------------------------------------------------------------===//
// Named masks
//===----------------------------------------------------------------------===//

/// j <= i: keys up to that of the query.
Mask causal(Align align = Align::UpperLeft);

/// i - before <= j <= i + after: so many keys on either side of the query's,
/// and that. Both are 0 or more.
Mask slidingWindow(const Number &before, const Number &after,
                   Align align = Align::UpperLeft);

/// j < length: the first keys.
Mask prefix(const Number &length);
/// Prefix language model: the first keys, and those up to the query's.
Mask prefixLM(const Number &length);

/// j < keyLengths[b]: sequences that are padded at their ends. [batch].
Mask padding(const Capture &keyLengths);
/// The same, and i < queryLengths[b]: padded queries see nothing.
Mask padding(const Capture &queryLengths, const Capture &keyLengths);

/// Keys whose distance from the query is a multiple of `step` tokens, 1 or
/// more. With slidingWindow, a dilated window.
Mask dilated(const Number &step);

/// Blocks of `block` tokens whose distance from the query's block is a multiple
/// of `stride` blocks; both are 1 or more. Each block is wholly in or out.
Mask blockStrided(const Number &block, const Number &stride);

/// What a neighbourhood does at the border of an image.
enum class Border {
  /// It is cut off.
  Clip,
  /// It is moved inside, so that all have the same size (NATTEN). The image is
  /// at least as large as a neighbourhood.
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
/// So do the tokens whose flag is set: i1, as [position] or [batch, position].
/// Queries and keys are of one sequence. A captured count is a function of
/// MaskArgs here.
Mask globalTokens(const Capture &flags);

/// Blocks that a layout has: layout[h, i / block, j / block]. `layout` is i1,
/// as [heads, blocks, blocks] or, for all heads, [blocks, blocks]; the last of
/// them may stand for fewer than `block` tokens. BlockLayout.h makes some.
Mask blockLayout(const Capture &layout, const Number &block);

} // namespace masks
} // namespace attn

#endif // ATTN_BUILDER_MASKS_H
