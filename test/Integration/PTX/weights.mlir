// A weight that the score region yields may depend on the score: in tiles, with
// a query for each warp, and on a CPU.

// REQUIRES: numpy
// UNSUPPORTED: sanitizer

// DEFINE: %{args} = --arg=q=randn:1x2x37x16 --arg=k=randn:1x2x41x16 --arg=v=randn:1x2x41x16
// RUN: %python %S/Inputs/run_kernel.py %s --entry=half %{args} | FileCheck %s --check-prefix=TILES
// RUN: %python %S/Inputs/run_kernel.py %s --entry=single --tolerance=1e-4 %{args} | FileCheck %s --check-prefix=ROWS
// RUN: attn-run %s --entry=half --target=cpu --check | FileCheck %s
// RUN: attn-run %s --entry=single --target=cpu --check | FileCheck %s
// RUN: not attn-run %s --entry=single --target=cpu --grad 2>&1 | FileCheck %s --check-prefix=GRAD
// TILES: #hopper.schedule
// TILES-NEXT: {{^}}o: max error
// ROWS: #attn.row_schedule
// ROWS-NEXT: {{^}}o: max error
// CHECK: pass
// GRAD: weights.mlir:[[#@LINE+23]]:8: error: expects the weight that the score region yields not to depend on the score, as it has no gradient
// GRAD: note: computed here

!h = tensor<1x2x?x16xf16>
func.func @half(%q: !h, %k: !h, %v: !h) -> (!h {attn.name = "o"}) {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : !h
  %init = tensor.empty(%n) : !h
  %o = attn.attention ins(%q, %k, %v : !h, !h, !h) outs(%init : !h)
      score(%s, %b, %h, %i, %j) {
        %half = arith.constant 0.5 : f32
        %y = arith.mulf %s, %half : f32
        %w = math.sin %s : f32
        attn.yield %y, %w : f32, f32
      }
  return %o : !h
}

!s = tensor<1x2x?x16xf32>
func.func @single(%q: !s, %k: !s, %v: !s) -> (!s {attn.name = "o"}) {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : !s
  %init = tensor.empty(%n) : !s
  %o = attn.attention ins(%q, %k, %v : !s, !s, !s) outs(%init : !s)
      score(%s, %b, %h, %i, %j) {
        %two = arith.constant 2.0 : f32
        %y = arith.addf %s, %two : f32
        %w = arith.mulf %s, %s : f32
        attn.yield %y, %w : f32, f32
      }
      mask(%b, %h, %i, %j) {
        %m = arith.cmpi sle, %j, %i : index
        attn.yield %m : i1
      }
  return %o : !s
}
