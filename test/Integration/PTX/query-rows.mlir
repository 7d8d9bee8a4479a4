// Queries without tiles, several to a warp, which reads the keys that one of
// them needs: between the bounds of a mask, and in steps of which a key is
// allowed. The last warps of a tile have fewer queries, or none.

// REQUIRES: numpy
// UNSUPPORTED: sanitizer

// DEFINE: %{name} =
// DEFINE: %{run} = %python %S/Inputs/run_kernel.py %s --entry=%{name} --tolerance=1e-4 --arg=q=randn:1x2x37x20 --arg=k=randn:1x2x141x20 --arg=v=randn:1x2x141x12
// REDEFINE: %{name} = window
// RUN: %{run} --arg=w=40 | FileCheck %s
// RUN: %{run} --arg=w=0 | FileCheck %s
// RUN: %{run} --arg=w=40 --schedule '#attn.row_schedule<rows = 6, tile_n = 32, lanes = 2, queries = 3>' | FileCheck %s --check-prefix=GIVEN
// RUN: %{run} --arg=w=40 --schedule '#attn.row_schedule<rows = 2, tile_n = 32, lanes = 32, queries = 2>' | FileCheck %s --check-prefix=LOOP
// RUN: %{run} --arg=w=40 --schedule '#attn.row_schedule<rows = 2, tile_n = 32, lanes = 16, queries = 1>' | FileCheck %s --check-prefix=HALVES
// RUN: attn-run %s --entry=window --target=cpu --check --schedule '#attn.row_schedule<rows = 4, tile_n = 16, lanes = 8>' --arg=q=randn:1x2x37x20 --arg=k=randn:1x2x141x20 --arg=v=randn:1x2x141x12 --arg=w=40 | FileCheck %s --check-prefix=CPU
// RUN: attn-run %s --entry=documents --target=cpu --check --schedule '#attn.row_schedule<rows = 4, tile_n = 16, lanes = 8>' --arg=q=randn:1x2x37x20 --arg=k=randn:1x2x141x20 --arg=v=randn:1x2x141x12 '--arg=own=randint(0,100):141' | FileCheck %s --check-prefix=CPU
// CPU: PASS
// REDEFINE: %{name} = documents
// RUN: %{run} --arg=own=randint(0,4):141 | FileCheck %s
// RUN: %{run} --arg=own=randint(0,100):141 | FileCheck %s
// CHECK: #attn.row_schedule<rows = 32, tile_n = 32, lanes = 8, queries = 8>
// GIVEN: #attn.row_schedule<rows = 6, tile_n = 32, lanes = 2, queries = 3>
// LOOP: #attn.row_schedule<rows = 2, tile_n = 32, lanes = 32, queries = 2>
// HALVES: #attn.row_schedule<rows = 2, tile_n = 32, lanes = 16>
// GIVEN-NEXT: {{^}}o: max error
// GIVEN-NEXT: {{^}}lse: max error
// LOOP-NEXT: {{^}}o: max error
// LOOP-NEXT: {{^}}lse: max error
// HALVES-NEXT: {{^}}o: max error
// HALVES-NEXT: {{^}}lse: max error
// CHECK-NEXT: {{^}}o: max error
// CHECK-NEXT: {{^}}lse: max error

!q = tensor<1x2x?x20xf32>
!v = tensor<1x2x?x12xf32>
!l = tensor<1x2x?xf32>
func.func @window(%q: !q, %k: !q, %v: !v, %w: index) -> (!v {attn.name = "o"}, !l {attn.name = "lse"}) {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%n) : !v
  %stat = tensor.empty(%n) : !l
  %o, %lse = attn.attention ins(%q, %k, %v : !q, !q, !v) captures(%w : index) outs(%init, %stat : !v, !l)
      mask(%b, %h, %i, %j, %size) {
        %from = arith.subi %i, %size : index
        %above = arith.cmpi sgt, %j, %from : index
        %below = arith.cmpi sle, %j, %i : index
        %m = arith.andi %above, %below : i1
        attn.yield %m : i1
      }
  return %o, %lse : !v, !l
}

func.func @documents(%q: !q, %k: !q, %v: !v, %own: tensor<141xi32>) -> (!v {attn.name = "o"}, !l {attn.name = "lse"}) {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%n) : !v
  %stat = tensor.empty(%n) : !l
  %o, %lse = attn.attention ins(%q, %k, %v : !q, !q, !v) captures(%own : tensor<141xi32>) outs(%init, %stat : !v, !l)
      score(%s, %b, %h, %i, %j, %of) {
        %at = arith.index_cast %j : index to i32
        %x = arith.sitofp %at : i32 to f32
        %c = arith.constant 0.01 : f32
        %bias = arith.mulf %x, %c : f32
        %y = arith.addf %s, %bias : f32
        attn.yield %y : f32
      }
      mask(%b, %h, %i, %j, %of) {
        %row = tensor.extract %of[%i] : tensor<141xi32>
        %key = tensor.extract %of[%j] : tensor<141xi32>
        %m = arith.cmpi eq, %row, %key : i32
        attn.yield %m : i1
      }
  return %o, %lse : !v, !l
}
