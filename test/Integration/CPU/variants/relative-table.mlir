// A bias from a table over the distance between query and key.

// RUN: attn-run %s --check --arg=q=randn:2x3x37x16 --arg=k=randn:2x3x41x16 \
// RUN:   --arg=v=randn:2x3x41x16 --arg=table=randn:82 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:1x2x18x16 --arg=k=randn:1x2x65x16 \
// RUN:   --arg=v=randn:1x2x65x16 --arg=table=randn:130 | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>

func.func @relative_table(%q: !t, %k: !t, %v: !t, %table: tensor<?xf32>) -> !t {
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
        %c2 = arith.constant 2 : index
        %n = tensor.dim %table, %c0 : tensor<?xf32>
        %mid = arith.divui %n, %c2 : index
        %d = arith.subi %i, %j : index
        %at = arith.addi %d, %mid : index
        %w = tensor.extract %table[%at] : tensor<?xf32>
        %x = arith.addf %s, %w : f32
        attn.yield %x : f32
      }
  return %o : !t
}
