// Sequences of 11 positions packed one behind another: causal by the position
// inside of a sequence, which a table of starts tells.

// RUN: attn-run %s --check --arg=q=randn:1x2x53x16 --arg=k=randn:1x2x53x16 \
// RUN:   --arg=v=randn:1x2x53x16 --arg=starts=arange:5 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:2x1x64x16 --arg=k=randn:2x1x40x16 \
// RUN:   --arg=v=randn:2x1x40x16 --arg=starts=arange:6 | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>

func.func @ragged_causal(%q: !t, %k: !t, %v: !t, %starts: tensor<?xi32>) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t)
      captures(%starts : tensor<?xi32>) outs(%init : !t)
      mask(%b, %h, %i, %j, %starts) {
        %c11 = arith.constant 11 : index
        %si = arith.divui %i, %c11 : index
        %sj = arith.divui %j, %c11 : index
        %same = arith.cmpi eq, %si, %sj : index
        %ti = tensor.extract %starts[%si] : tensor<?xi32>
        %tj = tensor.extract %starts[%sj] : tensor<?xi32>
        %oi = arith.index_cast %ti : i32 to index
        %oj = arith.index_cast %tj : i32 to index
        %mi = arith.muli %oi, %c11 : index
        %mj = arith.muli %oj, %c11 : index
        %li = arith.subi %i, %mi : index
        %lj = arith.subi %j, %mj : index
        %causal = arith.cmpi sle, %lj, %li : index
        %p = arith.andi %same, %causal : i1
        attn.yield %p : i1
      }
  return %o : !t
}
