// Causal with an offset for each batch.

// RUN: attn-run %s --check --arg=q=randn:4x2x37x16 --arg=k=randn:4x2x61x16 \
// RUN:   --arg=v=randn:4x2x61x16 --arg=offset=arange:4 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:2x1x65x16 --arg=k=randn:2x1x40x16 \
// RUN:   --arg=v=randn:2x1x40x16 --arg=offset=arange:2 | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>

func.func @batch_offset_causal(%q: !t, %k: !t, %v: !t, %offset: tensor<?xi64>)
    -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t)
      captures(%offset : tensor<?xi64>) outs(%init : !t)
      mask(%b, %h, %i, %j, %offset) {
        %c8 = arith.constant 8 : index
        %o = tensor.extract %offset[%b] : tensor<?xi64>
        %oi = arith.index_cast %o : i64 to index
        %d = arith.muli %oi, %c8 : index
        %x = arith.addi %i, %d : index
        %p = arith.cmpi sge, %x, %j : index
        attn.yield %p : i1
      }
  return %o : !t
}
