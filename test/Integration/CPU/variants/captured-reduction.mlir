// A bias that is a sum over another tensor, computed before.

// RUN: attn-run %s --check --arg=q=randn:3x2x37x16 --arg=k=randn:3x2x41x16 \
// RUN:   --arg=v=randn:3x2x41x16 --arg=c=randn:3x5 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:1x2x18x16 --arg=k=randn:1x2x66x16 \
// RUN:   --arg=v=randn:1x2x66x16 --arg=c=randn:1x3 | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>

func.func @captured_reduction(%q: !t, %k: !t, %v: !t, %c: tensor<?x?xf32>)
    -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %zero = arith.constant 0.0 : f32
  %sempty = tensor.empty(%B) : tensor<?xf32>
  %szero = linalg.fill ins(%zero : f32) outs(%sempty : tensor<?xf32>)
      -> tensor<?xf32>
  %sum = linalg.reduce ins(%c : tensor<?x?xf32>) outs(%szero : tensor<?xf32>)
      dimensions = [1] (%x: f32, %acc: f32) {
        %y = arith.addf %x, %acc : f32
        linalg.yield %y : f32
      }
  %init = tensor.empty(%B, %H, %M) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t)
      captures(%sum : tensor<?xf32>) outs(%init : !t)
      score(%s, %b, %h, %i, %j, %w) {
        %y = tensor.extract %w[%b] : tensor<?xf32>
        %z = arith.mulf %s, %y : f32
        attn.yield %z : f32
      }
  return %o : !t
}
