// Queries, keys and values in one tensor: views with strides, and the output in
// the layout of the packed tensor.

// RUN: attn-run %s --check --arg=qkv=randn:2x37x3x4x16 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check \
// RUN:   --arg=qkv=randn:1x65x3x2x16 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = f16/' %s | attn-run - --check \
// RUN:   --arg=qkv=randn:3x1x3x1x16 | FileCheck %s
// CHECK: PASS

!e = f32
!p = tensor<?x?x3x?x16x!e>
!t = tensor<?x?x?x16x!e>

func.func @packed(%qkv: !p) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %B = tensor.dim %qkv, %c0 : !p
  %M = tensor.dim %qkv, %c1 : !p
  %H = tensor.dim %qkv, %c3 : !p
  %q = tensor.extract_slice %qkv[0, 0, 0, 0, 0] [%B, %M, 1, %H, 16]
      [1, 1, 1, 1, 1] : !p to !t
  %k = tensor.extract_slice %qkv[0, 0, 1, 0, 0] [%B, %M, 1, %H, 16]
      [1, 1, 1, 1, 1] : !p to !t
  %v = tensor.extract_slice %qkv[0, 0, 2, 0, 0] [%B, %M, 1, %H, 16]
      [1, 1, 1, 1, 1] : !p to !t
  %init = tensor.empty(%B, %M, %H) : !t
  %o = attn.attention layout(bshd) ins(%q, %k, %v : !t, !t, !t)
      outs(%init : !t)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %o : !t
}
