// Documents of 70 tokens, made from positions in front of the attention, and the
// first 10 keys for all.

// RUN: attn-run %s --check --arg=q=randn:1x2x300x16 --arg=k=randn:1x2x300x16 \
// RUN:   --arg=v=randn:1x2x300x16 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check --arg=q=randn:1x1x513x16 --arg=k=randn:1x1x513x16 \
// RUN:   --arg=v=randn:1x1x513x16 | FileCheck %s
// RUN: attn-run %s --check --arg=q=randn:1x1x1x16 --arg=k=randn:1x1x1x16 \
// RUN:   --arg=v=randn:1x1x1x16 | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>

func.func @sorted_documents(%q: !t, %k: !t, %v: !t) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %none = tensor.empty(%M) : tensor<?xi64>
  %doc = linalg.generic {
      indexing_maps = [affine_map<(x) -> (x)>], iterator_types = ["parallel"]
    } outs(%none : tensor<?xi64>) {
    ^bb0(%old: i64):
      %c70 = arith.constant 70 : index
      %at = linalg.index 0 : index
      %number = arith.divui %at, %c70 : index
      %cast = arith.index_cast %number : index to i64
      linalg.yield %cast : i64
    } -> tensor<?xi64>
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) captures(%doc : tensor<?xi64>) outs(%init : !t)
      mask(%b, %h, %i, %j, %w) {
        %c10 = arith.constant 10 : index
        %x = tensor.extract %w[%i] : tensor<?xi64>
        %y = tensor.extract %w[%j] : tensor<?xi64>
        %same = arith.cmpi eq, %x, %y : i64
        %first = arith.cmpi slt, %j, %c10 : index
        %p = arith.ori %same, %first : i1
        attn.yield %p : i1
      }
  return %o : !t
}
