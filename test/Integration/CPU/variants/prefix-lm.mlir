// Causal, but for a prefix of another length in each batch, which sees itself.

// RUN: attn-run %s --check --arg=q=randn:4x2x37x16 --arg=k=randn:4x2x37x16 \
// RUN:   --arg=v=randn:4x2x37x16 --arg=prefix=arange:4 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:3x1x70x16 --arg=k=randn:3x1x45x16 \
// RUN:   --arg=v=randn:3x1x45x16 --arg=prefix=arange:3 | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>

func.func @prefix_lm(%q: !t, %k: !t, %v: !t, %prefix: tensor<?xi64>) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t)
      captures(%prefix : tensor<?xi64>) outs(%init : !t)
      mask(%b, %h, %i, %j, %prefix) {
        %c9 = arith.constant 9 : index
        %n = tensor.extract %prefix[%b] : tensor<?xi64>
        %ni = arith.index_cast %n : i64 to index
        %len = arith.muli %ni, %c9 : index
        %causal = arith.cmpi sle, %j, %i : index
        %pi = arith.cmpi sle, %i, %len : index
        %pj = arith.cmpi sle, %j, %len : index
        %both = arith.andi %pi, %pj : i1
        %p = arith.ori %causal, %both : i1
        attn.yield %p : i1
      }
  return %o : !t
}
