// Batches of other lengths, among them 0.

// RUN: attn-run %s --check --arg=q=randn:4x2x37x16 --arg=k=randn:4x2x41x16 \
// RUN:   --arg=v=randn:4x2x41x16 --arg=len=arange:4 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:3x1x65x16 --arg=k=randn:3x1x40x16 \
// RUN:   --arg=v=randn:3x1x40x16 --arg=len=arange:3 | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>
!lse = tensor<?x?x?xf32>

func.func @padding(%q: !t, %k: !t, %v: !t, %len: tensor<?xi32>) -> (!t, !lse) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %linit = tensor.empty(%B, %H, %M) : !lse
  %o, %lse = attn.attention ins(%q, %k, %v : !t, !t, !t)
      captures(%len : tensor<?xi32>) outs(%init, %linit : !t, !lse)
      mask(%b, %h, %i, %j, %len) {
        %c13 = arith.constant 13 : index
        %n = tensor.extract %len[%b] : tensor<?xi32>
        %ni = arith.index_cast %n : i32 to index
        %l = arith.muli %ni, %c13 : index
        %pi = arith.cmpi slt, %i, %l : index
        %pj = arith.cmpi slt, %j, %l : index
        %p = arith.andi %pi, %pj : i1
        attn.yield %p : i1
      }
  return %o, %lse : !t, !lse
}
