//===- AttnDialect.td - The attn dialect ------------------*- tablegen -*-===//
//
// The dialect definition and the classes its operations derive from.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ATTN_IR_ATTNDIALECT_TD
#define ATTN_DIALECT_ATTN_IR_ATTNDIALECT_TD

include "mlir/IR/OpBase.td"

def Attn_Dialect : Dialect {
  let name = "attn";
  let cppNamespace = "::mlir::attn";
  let summary = "Attention variants, from their definition to tiles";
  let description = [{
    The dialect states an attention variant once, as one operation with a
    `score` region and a `mask` region, and carries it down through the levels
    of the compiler:

    | level | operations | says |
    |---|---|---|
    | tensor | `attn.attention`, `attn.attention_grad` | what is computed |
    | online | `attn.online_attention`, `attn.finalize` | softmax as a reduction over keys |
    | tile | `attn.tile_loop`, `attn.step`, `attn.mask_tile`, `attn.online_step`, `attn.gather` | the program of a worker: a loop over tiles, its steps by name, which pairs are allowed, one numerically pinned step on vectors, reads of captures (`attn.scatter` adds to their gradients) |

    Arguments and results of functions may carry `attn.name`, a string that
    tools and the library use to name them.
  }];
  // What canonical forms of the operations are made of, and what passes make
  // of them.
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect"
  ];
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let useDefaultAttributePrinterParser = 1;
}

class Attn_Op<string mnemonic, list<Trait> traits = []>
    : Op<Attn_Dialect, mnemonic, traits>;

#endif // ATTN_DIALECT_ATTN_IR_ATTNDIALECT_TD
