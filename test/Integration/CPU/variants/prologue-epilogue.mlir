// Tensor code before and after: q = sin(x), o = cos(attention).

// RUN: attn-run %s --check --arg=x=randn:2x2x37x16 --arg=k=randn:2x2x41x16 \
// RUN:   --arg=v=randn:2x2x41x16 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = f64/' %s | attn-run - --check \
// RUN:   --arg=x=randn:1x3x33x16 --arg=k=randn:1x3x40x16 \
// RUN:   --arg=v=randn:1x3x40x16 | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>

func.func @prologue_epilogue(%x: !t, %k: !t, %v: !t) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %x, %c0 : !t
  %H = tensor.dim %x, %c1 : !t
  %M = tensor.dim %x, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %q = math.sin %x : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
  %y = math.cos %o : !t
  return %y : !t
}
