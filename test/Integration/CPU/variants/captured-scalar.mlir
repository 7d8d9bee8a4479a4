// Scalars of each kind as captures.

// RUN: attn-run %s --check --arg=q=randn:2x2x37x16 --arg=k=randn:2x2x41x16 \
// RUN:   --arg=v=randn:2x2x41x16 --arg=slope=0.25 --arg=shift=-3 --arg=on=1 \
// RUN:   --arg=limit=35 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:1x3x65x16 --arg=k=randn:1x3x40x16 \
// RUN:   --arg=v=randn:1x3x40x16 --arg=slope=-0.5 --arg=shift=7 --arg=on=0 \
// RUN:   --arg=limit=64 | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>

func.func @captured_scalar(%q: !t, %k: !t, %v: !t, %slope: f32, %shift: i32,
                           %on: i1, %limit: index) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t)
      captures(%slope, %shift, %on, %limit : f32, i32, i1, index)
      outs(%init : !t)
      score(%s, %b, %h, %i, %j, %slope, %shift, %on, %limit) {
        %n = arith.index_cast %shift : i32 to index
        %d = arith.addi %i, %n : index
        %di = arith.index_cast %d : index to i32
        %df = arith.sitofp %di : i32 to f32
        %y = arith.mulf %df, %slope : f32
        %x = arith.addf %s, %y : f32
        %z = arith.select %on, %x, %s : f32
        attn.yield %z : f32
      }
      mask(%b, %h, %i, %j, %slope, %shift, %on, %limit) {
        %p = arith.cmpi ult, %j, %limit : index
        attn.yield %p : i1
      }
  return %o : !t
}
