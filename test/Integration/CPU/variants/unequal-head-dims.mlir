// Head dimensions of keys and values that differ, with grouped heads.

// RUN: attn-run %s --check --arg=q0=randn:1x4x37x24 --arg=k0=randn:1x2x41x24 \
// RUN:   --arg=v0=randn:1x2x41x40 --arg=q1=randn:1x4x37x40 \
// RUN:   --arg=k1=randn:1x2x41x40 --arg=v1=randn:1x2x41x24 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check \
// RUN:   --arg=q0=randn:2x3x19x24 --arg=k0=randn:2x1x33x24 \
// RUN:   --arg=v0=randn:2x1x33x40 --arg=q1=randn:2x3x19x40 \
// RUN:   --arg=k1=randn:2x1x33x40 --arg=v1=randn:2x1x33x24 | FileCheck %s
// CHECK: PASS

!e = f32
!a = tensor<?x?x?x24x!e>
!b = tensor<?x?x?x40x!e>

func.func @unequal_head_dims(%q0: !a, %k0: !a, %v0: !b, %q1: !b, %k1: !b,
                             %v1: !a) -> (!b, !a) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q0, %c0 : !a
  %H = tensor.dim %q0, %c1 : !a
  %M = tensor.dim %q0, %c2 : !a
  %init0 = tensor.empty(%B, %H, %M) : !b
  %o0 = attn.attention ins(%q0, %k0, %v0 : !a, !a, !b) outs(%init0 : !b)
  %init1 = tensor.empty(%B, %H, %M) : !a
  %o1 = attn.attention ins(%q1, %k1, %v1 : !b, !b, !a) outs(%init1 : !a)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %o0, %o1 : !b, !a
}
