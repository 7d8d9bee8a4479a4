// One query against many keys, grouped heads, up to a length of each batch.

// RUN: attn-run %s --check --arg=q=randn:3x8x1x32 --arg=k=randn:3x2x257x32 \
// RUN:   --arg=v=randn:3x2x257x32 --arg=len=arange:3 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:2x3x1x32 --arg=k=randn:2x1x99x32 \
// RUN:   --arg=v=randn:2x1x99x32 --arg=len=arange:2 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = f16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:4x4x1x32 --arg=k=randn:4x4x300x32 \
// RUN:   --arg=v=randn:4x4x300x32 --arg=len=arange:4 | FileCheck %s
// CHECK: PASS

!e = f32
!q = tensor<?x?x1x32x!e>
!k = tensor<?x?x?x32x!e>
!l = tensor<?x?x1xf32>

func.func @decode(%q: !q, %k: !k, %v: !k, %len: tensor<?xi32>) -> (!q, !l) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %B = tensor.dim %q, %c0 : !q
  %H = tensor.dim %q, %c1 : !q
  %init = tensor.empty(%B, %H) : !q
  %linit = tensor.empty(%B, %H) : !l
  %o, %lse = attn.attention ins(%q, %k, %v : !q, !k, !k)
      captures(%len : tensor<?xi32>) outs(%init, %linit : !q, !l)
      mask(%b, %h, %i, %j, %w) {
        %c100 = arith.constant 100 : index
        %n = tensor.extract %w[%b] : tensor<?xi32>
        %ni = arith.index_cast %n : i32 to index
        %nl = arith.muli %ni, %c100 : index
        %p = arith.cmpi slt, %j, %nl : index
        attn.yield %p : i1
      }
  return %o, %lse : !q, !l
}
