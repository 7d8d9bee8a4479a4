//===- Masks.cpp - Masks to combine for AttentionSpec ---------------------===//

#include "attn/Builder/Masks.h"
#include "ExprScope.h"
#include "llvm/ADT/Twine.h"

using namespace attn;
using namespace attn::masks;

//===----------------------------------------------------------------------===//
// Logic
//===----------------------------------------------------------------------===//

Expr Mask::operator()(const MaskArgs &at) const {
  if (*function == nullptr)
    return ExprScope::fail(at.i, "expects masks that are functions, but got "
                                 "an empty one");
  return (*function)(at);
}

Mask attn::operator&&(const Mask &a, const Mask &b) {
  return [a, b](const MaskArgs &at) { return a(at) && b(at); };
}

Mask attn::operator||(const Mask &a, const Mask &b) {
  return [a, b](const MaskArgs &at) { return a(at) || b(at); };
}

Mask attn::operator!(const Mask &a) {
  return [a](const MaskArgs &at) { return !a(at); };
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

Expr Number::get(const MaskArgs &at) const {
  if (literal)
    return *literal;
  if (function == nullptr)
    return ExprScope::fail(at.i, "expects numbers that are functions, but got "
                                 "an empty one");
  return function(at);
}

/// `expr`, or an error if it has another type. `name` is what the mask calls
/// it.
static Expr expect(const Expr &expr, ExprScope::Type type,
                   const llvm::Twine &name) {
  std::optional<ExprScope::Type> got = ExprScope::findType(expr);
  if (!got || *got == type)
    return expr;
  return ExprScope::fail(expr, "expects " + name + " to be " +
                                   ExprScope::getName(type) + ", but got " +
                                   ExprScope::getName(*got));
}

/// A number, which is an error if it is a literal below `least`.
static Expr get(const Number &number, const MaskArgs &at, llvm::StringRef name,
                int64_t least) {
  const std::optional<int64_t> &literal = number.getLiteral();
  if (literal && *literal < least)
    return ExprScope::fail(at.i, "expects " + name + " to be at least " +
                                     llvm::Twine(least) + ", but got " +
                                     llvm::Twine(*literal));
  return expect(number.get(at), ExprScope::Type::Int, name);
}

/// The element of a capture that is [position] or [batch, position].
static Expr getAtToken(const Capture &capture, const MaskArgs &at,
                       const Expr &position) {
  if (capture.rank() == 1)
    return capture[{position}];
  return capture[{at.b, position}];
}

/// The document of a token.
static Expr getDocument(const Capture &ids, const MaskArgs &at,
                        const Expr &position) {
  Expr id = getAtToken(ids, at, position);
  // Flags may tell two documents apart.
  if (ExprScope::findType(id) == ExprScope::Type::Float)
    return ExprScope::fail(id, "expects documents to be integers, but got "
                               "floats of '" +
                                   ExprScope::getName(ids) + "'");
  return id;
}

/// The key that a query is at.
static Expr getDiagonal(const MaskArgs &at, Align align) {
  return align == Align::UpperLeft ? at.i : at.i + (at.numKeys - at.numQueries);
}

//===----------------------------------------------------------------------===//
// Transformations
//===----------------------------------------------------------------------===//

/// An offset that leaves positions room in 64 bits, if it is a literal.
static Expr getOffset(const Number &number, const MaskArgs &at) {
  constexpr int64_t most = int64_t(1) << 60;
  const std::optional<int64_t> &literal = number.getLiteral();
  if (literal && *literal > most)
    return ExprScope::fail(at.i, "expects an offset to be at most " +
                                     llvm::Twine(most) + ", but got " +
                                     llvm::Twine(*literal));
  return get(number, at, "an offset", -most);
}

Mask masks::shift(const Mask &mask, const Number &queries, const Number &keys) {
  return [=](const MaskArgs &at) {
    MaskArgs moved = at;
    {
      ExprScope::MaskName name("shift");
      moved.i += getOffset(queries, at);
      moved.j += getOffset(keys, at);
    }
    return mask(moved);
  };
}

Mask masks::sameDocument(const Capture &ids) { return sameDocument(ids, ids); }

Mask masks::sameDocument(const Capture &queryIds, const Capture &keyIds) {
  return [=](const MaskArgs &at) {
    ExprScope::MaskName name("sameDocument");
    return getDocument(queryIds, at, at.i) == getDocument(keyIds, at, at.j);
  };
}

Mask masks::perDocument(const Capture &ids, const Capture &starts,
                        const Mask &mask) {
  return [=](const MaskArgs &at) {
    MaskArgs inside = at;
    Expr isSame(false);
    {
      ExprScope::MaskName name("perDocument");
      Expr queryId = getDocument(ids, at, at.i);
      Expr keyId = getDocument(ids, at, at.j);
      Expr start = starts[{queryId}];
      inside.i -= start;
      inside.j -= starts[{keyId}];
      inside.numQueries = inside.numKeys = starts[{queryId + 1}] - start;
      isSame = queryId == keyId;
    }
    return isSame && mask(inside);
  };
}

//===----------------------------------------------------------------------===//
// Named masks
//===----------------------------------------------------------------------===//

Mask masks::causal(Align align) {
  return [=](const MaskArgs &at) { return at.j <= getDiagonal(at, align); };
}

Mask masks::slidingWindow(const Number &before, const Number &after,
                          Align align) {
  return [=](const MaskArgs &at) {
    ExprScope::MaskName name("slidingWindow");
    // Bounds of distances, as the end of a long window is beyond 64 bits.
    Expr diagonal = getDiagonal(at, align);
    return diagonal - at.j <= get(before, at, "the keys before a window", 0) &&
           at.j - diagonal <= get(after, at, "the keys after a window", 0);
  };
}

Mask masks::prefix(const Number &length) {
  return [=](const MaskArgs &at) {
    ExprScope::MaskName name("prefix");
    return at.j < get(length, at, "the length of a prefix", 0);
  };
}

Mask masks::prefixLM(const Number &length) {
  return prefix(length) || causal();
}

Mask masks::padding(const Capture &keyLengths) {
  return [=](const MaskArgs &at) {
    ExprScope::MaskName name("padding");
    return at.j < keyLengths[{at.b}];
  };
}

Mask masks::padding(const Capture &queryLengths, const Capture &keyLengths) {
  return padding(keyLengths) && [=](const MaskArgs &at) {
    ExprScope::MaskName name("padding");
    return at.i < queryLengths[{at.b}];
  };
}

Mask masks::dilated(const Number &step) {
  return [=](const MaskArgs &at) {
    ExprScope::MaskName name("dilated");
    return (at.i - at.j) % get(step, at, "the step of a dilation", 1) == 0;
  };
}

Mask masks::blockStrided(const Number &block, const Number &stride) {
  return [=](const MaskArgs &at) {
    ExprScope::MaskName name("blockStrided");
    Expr size = get(block, at, "the block of a stride", 1);
    Expr distance = floorDiv(at.i, size) - floorDiv(at.j, size);
    return distance % get(stride, at, "a stride of blocks", 1) == 0;
  };
}

/// Whether two rows, or two columns, of an image are near. `size` is how many
/// there are.
static Expr isNear(const Expr &query, const Expr &key, const Expr &size,
                   const Expr &radius, Border border) {
  // Distances are compared, as the sum of a large radius and a position wraps.
  Expr center = query;
  if (border == Border::Shift)
    center = min(max(query, radius), size - 1 - radius);
  return center - key <= radius && key - center <= radius;
}

Mask masks::neighborhood2D(const Number &height, const Number &width,
                           const Number &radiusY, const Number &radiusX,
                           Border border) {
  return [=](const MaskArgs &at) {
    ExprScope::MaskName name("neighborhood2D");
    Expr columns = get(width, at, "the width of an image", 1);
    Expr rows = get(height, at, "the height of an image", 1);
    Expr y = get(radiusY, at, "the radius of a neighbourhood", 0);
    Expr x = get(radiusX, at, "the radius of a neighbourhood", 0);
    return isNear(floorDiv(at.i, columns), floorDiv(at.j, columns), rows, y,
                  border) &&
           isNear(floorMod(at.i, columns), floorMod(at.j, columns), columns, x,
                  border);
  };
}

Mask masks::globalTokens(const Number &count) {
  return [=](const MaskArgs &at) {
    ExprScope::MaskName name("globalTokens");
    Expr number = get(count, at, "the number of global tokens", 0);
    return at.i < number || at.j < number;
  };
}

Mask masks::globalTokens(const Capture &flags) {
  return [=](const MaskArgs &at) {
    ExprScope::MaskName name("globalTokens");
    auto isGlobal = [&](const Expr &position) {
      return expect(getAtToken(flags, at, position), ExprScope::Type::Bool,
                    "flags of '" + ExprScope::getName(flags) + "'");
    };
    return isGlobal(at.i) || isGlobal(at.j);
  };
}

Mask masks::blockLayout(const Capture &layout, const Number &block) {
  return [=](const MaskArgs &at) {
    ExprScope::MaskName name("blockLayout");
    Expr size = get(block, at, "the block of a layout", 1);
    Expr row = floorDiv(at.i, size), column = floorDiv(at.j, size);
    Expr bit = layout.rank() == 2 ? layout[{row, column}]
                                  : layout[{at.h, row, column}];
    return expect(bit, ExprScope::Type::Bool,
                  "blocks of '" + ExprScope::getName(layout) + "'");
  };
}
