// Sizes that neither types nor the user tell.

// From one tensor to the others.
// RUN: attn-run %S/Inputs/causal.mlir --arg=q=randn:2x6x9x16 | FileCheck %s --check-prefix=QUERY
// QUERY: q  2x6x9x16xf32
// QUERY: k  2x6x9x16xf32
// QUERY: v  2x6x9x16xf32
// QUERY: o    2x6x9x16xf32

// What must be equal comes before what usually is: k has v's batch,
// heads and length.
// RUN: attn-run %S/Inputs/causal.mlir --arg=q=randn:2x6x9x16 --arg=v=randn:1x3x5x16 | FileCheck %s --check-prefix=VALUE
// VALUE: q  2x6x9x16xf32
// VALUE: k  1x3x5x16xf32
// VALUE: v  1x3x5x16xf32
// VALUE: o    2x6x9x16xf32

// Captures that are read at [b], [h], [i] or [j].
// RUN: attn-run %S/Inputs/captures.mlir | FileCheck %s --check-prefix=CAPTURES
// CAPTURES: rows    5xf64
// CAPTURES: heads   2xf16
// CAPTURES: keys    1x7xi1
// CAPTURES: ids     7xi8
// CAPTURES: order   5xi16

// Around other tensor code, and where nothing else tells.
// RUN: attn-run %s | FileCheck %s --check-prefix=AROUND
// RUN: attn-run %s --arg=x=randn:3x4x10x8 | FileCheck %s --check-prefix=GIVEN
// RUN: attn-run %s --arg=k=randn:3x2x11x8 --format=json --bench=1 | FileCheck %s --check-prefix=WORK
// AROUND: x      1x4x128x8xf32
// AROUND: y      1x4x128x8xf32
// AROUND: z      128x1x4x8xf32
// AROUND: k      1x2x128x8xf32
// AROUND: v      1x2x128x8xf32
// AROUND: other  128xf32
// GIVEN:  x      3x4x10x8xf32
// GIVEN:  y      3x4x10x8xf32
// GIVEN:  z      10x3x4x8xf32
// GIVEN:  k      3x2x10x8xf32
// GIVEN:  v      3x2x10x8xf32
// 2 * 3 * 4 * 11 * 11 * 16
// WORK:   "flop": 46464,

// Sizes that contradict each other are the program's to tell; ours are named.
// RUN: not attn-run %S/Inputs/causal.mlir --arg=k=randn:1x8x5x16 --arg=v=randn:1x8x6x16 2>&1 | FileCheck %s --check-prefix=CONTRADICTION
// CONTRADICTION:      {{^}}attn-run: error: {{.+}}
// CONTRADICTION:      {{^}}sizes of 'q' were left open and became 1x8x5x16; --arg=q=randn:1x8x5x16 would tell them{{$}}

func.func @around(%x: tensor<?x4x?x8xf32>, %y: tensor<?x4x?x8xf32>,
                  %z: tensor<?x?x4x8xf32>, %k: tensor<?x2x?x8xf32>,
                  %v: tensor<?x2x?x8xf32>, %other: tensor<?xf32>)
    -> (tensor<?x4x?x8xf32>, tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %batch = tensor.dim %x, %c0 : tensor<?x4x?x8xf32>
  %length = tensor.dim %x, %c2 : tensor<?x4x?x8xf32>
  %sum = arith.addf %x, %y : tensor<?x4x?x8xf32>
  %init = tensor.empty(%batch, %length) : tensor<?x4x?x8xf32>
  %turned = linalg.generic {
      indexing_maps = [affine_map<(b, h, s, d) -> (b, h, s, d)>,
                       affine_map<(b, h, s, d) -> (s, b, h, d)>,
                       affine_map<(b, h, s, d) -> (b, h, s, d)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%sum, %z : tensor<?x4x?x8xf32>, tensor<?x?x4x8xf32>)
      outs(%init : tensor<?x4x?x8xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %d = arith.addf %a, %b : f32
      linalg.yield %d : f32
  } -> tensor<?x4x?x8xf32>
  %o = attn.attention
      ins(%turned, %k, %v : tensor<?x4x?x8xf32>, tensor<?x2x?x8xf32>,
                            tensor<?x2x?x8xf32>)
      outs(%init : tensor<?x4x?x8xf32>)
  %twice = arith.addf %other, %other : tensor<?xf32>
  return %o, %twice : tensor<?x4x?x8xf32>, tensor<?xf32>
}
