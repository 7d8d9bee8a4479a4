// A power in a score beside a loop: LLVM's search for checksums in loops does not end
// for it, and is off.

// RUN: attn-run %s --target=cpu --check --seed=1 --arg=q=randn:2x1x33x17 --arg=k=randn:2x1x5x17 --arg=v=randn:2x1x5x4 --arg=n=2 | FileCheck %s
// CHECK: PASS

!q = tensor<2x1x33x17xf32>
!k = tensor<?x?x?x17xf32>
!v = tensor<?x1x?x4xf32>
!o = tensor<2x1x33x4xf32>
func.func @f(%q: !q, %k: !k, %v: !v, %table: tensor<1xf32>, %n: index, %bits: tensor<2x1x?x?xi1>) -> !o {
  %init = tensor.empty() : !o
  %o = attn.attention ins(%q, %k, %v : !q, !k, !v)
      captures(%table, %n : tensor<1xf32>, index)
      sparsity(#attn.sparsity<bits, block = 128x64> %bits : tensor<2x1x?x?xi1>)
      outs(%init : !o)
      score(%s, %b, %h, %i, %j, %t, %m) {
        %bi = arith.index_cast %b : index to i64
        %c15 = arith.constant 15 : i64
        %sum, %carry = arith.addui_extended %bi, %c15 : i64, i1
        %limit = arith.index_cast %sum : i64 to index
        %ji = arith.index_cast %j : index to i32
        %mi = arith.index_cast %m : index to i32
        %power = math.ipowi %ji, %mi : i32
        %p = arith.index_cast %power : i32 to index
        %isBelow = arith.cmpi ule, %limit, %p : index
        %ml = arith.index_cast %m : index to i64
        %mf = arith.sitofp %ml : i64 to f32
        %c0 = arith.constant 0 : i32
        %c1 = arith.constant 1 : i32
        %x = scf.for %l = %c0 to %c1 step %c1 iter_args(%carried = %mf) -> (f32) : i32 {
          %at = arith.index_cast %l : i32 to index
          %element = tensor.extract %t[%at] : tensor<1xf32>
          scf.yield %carried : f32
        }
        %y = arith.select %isBelow, %x, %s : f32
        attn.yield %y : f32
      }
  return %o : !o
}
