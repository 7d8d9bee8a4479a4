//===- Sites.cpp - Texts of errors that a call has ------------------------===//

#include "attn/Dialect/Attn/Transforms/Transforms.h"

using namespace mlir;
using namespace mlir::attn;

std::string mlir::attn::getLocationText(Location loc) {
  if (auto file = loc->findInstanceOf<FileLineColLoc>())
    return (file.getFilename().getValue() + ":" + Twine(file.getLine()) + ":" +
            Twine(file.getColumn()))
        .str();
  return "";
}

std::string mlir::attn::getErrorText(Operation *op, const Twine &text) {
  std::string place = getLocationText(op->getLoc());
  return (place + (place.empty() ? "" : ": ") + "error: '" +
          op->getName().getStringRef() + "' op " + text)
      .str();
}

SmallVector<Attribute> mlir::attn::getSites(Operation *root) {
  if (auto known = root->getAttrOfType<ArrayAttr>(kSitesAttrName))
    return llvm::to_vector(known.getValue());
  return {};
}

void mlir::attn::setSites(Operation *root, ArrayRef<Attribute> sites) {
  if (!sites.empty())
    root->setDiscardableAttr(kSitesAttrName,
                             ArrayAttr::get(root->getContext(), sites));
}
