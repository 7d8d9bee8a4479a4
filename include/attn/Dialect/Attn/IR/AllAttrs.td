//===- AllAttrs.td - All attributes of the dialect ---------*- tablegen -*-===//
//
// Their declarations are in several headers, but the dialect's parser and
// printer are one.
//
//===----------------------------------------------------------------------===//

include "attn/Dialect/Attn/IR/AttnAttrs.td"
include "attn/Dialect/Attn/IR/AttnTarget.td"
