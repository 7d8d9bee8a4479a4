//===- Layout.cpp - Order of the dimensions of an attention tensor --------===//

#include "attn/Dialect/Attn/IR/Layout.h"
#include "mlir/IR/AffineExpr.h"

using namespace mlir;
using namespace mlir::attn;

static constexpr StringLiteral kLetters = "bhsd";

Layout Layout::get(AffineMap map) {
  unsigned position[4];
  for (auto [index, expr] : llvm::enumerate(map.getResults()))
    position[cast<AffineDimExpr>(expr).getPosition()] = index;
  return {position[0], position[1], position[2], position[3]};
}

FailureOr<Layout> Layout::parse(StringRef letters) {
  if (letters.size() != kLetters.size())
    return failure();
  unsigned position[4];
  for (auto [index, letter] : llvm::enumerate(kLetters)) {
    size_t found = letters.find(letter);
    if (found == StringRef::npos)
      return failure();
    position[index] = found;
  }
  return Layout{position[0], position[1], position[2], position[3]};
}

AffineMap Layout::getMap(MLIRContext *context) const {
  SmallVector<unsigned> permutation = arrange<unsigned>(0, 1, 2, 3);
  return AffineMap::getPermutationMap(permutation, context);
}

std::string Layout::str() const {
  SmallVector<char> letters = arrange<char>('b', 'h', 's', 'd');
  return std::string(letters.begin(), letters.end());
}
