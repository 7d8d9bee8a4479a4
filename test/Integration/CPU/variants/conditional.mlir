// scf.if in both regions, around reads that only its condition makes valid.

// RUN: attn-run %s --check --arg=q=randn:2x3x37x16 --arg=k=randn:2x3x41x16 \
// RUN:   --arg=v=randn:2x3x41x16 --arg=table=randn:9 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:1x2x33x16 --arg=k=randn:1x2x70x16 \
// RUN:   --arg=v=randn:1x2x70x16 --arg=table=randn:0 | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>

func.func @conditional(%q: !t, %k: !t, %v: !t, %table: tensor<?xf32>) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t)
      captures(%table : tensor<?xf32>) outs(%init : !t)
      score(%s, %b, %h, %i, %j, %table) {
        %c0 = arith.constant 0 : index
        %n = tensor.dim %table, %c0 : tensor<?xf32>
        %inside = arith.cmpi ult, %j, %n : index
        %x = scf.if %inside -> (f32) {
          %w = tensor.extract %table[%j] : tensor<?xf32>
          %y = arith.addf %s, %w : f32
          scf.yield %y : f32
        } else {
          %two = arith.constant 2.0 : f32
          %y = arith.mulf %s, %two : f32
          scf.yield %y : f32
        }
        attn.yield %x : f32
      }
      mask(%b, %h, %i, %j, %table) {
        %c1 = arith.constant 1 : index
        %odd = arith.andi %h, %c1 : index
        %is = arith.cmpi eq, %odd, %c1 : index
        %p = scf.if %is -> (i1) {
          %y = arith.cmpi sle, %j, %i : index
          scf.yield %y : i1
        } else {
          %y = arith.cmpi sge, %j, %i : index
          scf.yield %y : i1
        }
        attn.yield %p : i1
      }
  return %o : !t
}
