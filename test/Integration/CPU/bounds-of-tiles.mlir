// What is computed of a capture for each key of a tile hides no read beyond its
// end: with checks it is an error, whatever the mask says of what is read there.

// RUN: not attn-run %s --target=cpu --bounds-check --arg=q=randn:1x4x64x16 --arg=k=randn:1x4x192x16 --arg=v=randn:1x4x192x16 --arg=w=full(1):0 2>&1 | FileCheck %s
// RUN: sed 's/cmpf ogt/cmpf ole/' %s | not attn-run - --target=cpu --bounds-check --arg=q=randn:1x4x64x16 --arg=k=randn:1x4x192x16 --arg=v=randn:1x4x192x16 --arg=w=full(1):0 2>&1 | FileCheck %s
// CHECK: error: {{.*}}expects an index below 0
// RUN: attn-run %s --target=cpu --bounds-check --check --arg=q=randn:1x4x64x16 --arg=k=randn:1x4x192x16 --arg=v=randn:1x4x192x16 --arg=w=randn:383 | FileCheck %s --check-prefix=PASS
// PASS: PASS

!t = tensor<?x?x?x16xf32>

func.func @weights(%q: !t, %k: !t, %v: !t, %w: tensor<?xf32>) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !t
  %h = tensor.dim %q, %c1 : !t
  %s = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%b, %h, %s) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) captures(%w : tensor<?xf32>) outs(%init : !t)
      mask(%b0, %h0, %i, %j, %x) {
        %zero = arith.constant 0.0 : f32
        // That each key has an element is no constraint of this index.
        %two = arith.constant 2 : index
        %twice = arith.muli %j, %two : index
        %y = tensor.extract %x[%twice] : tensor<?xf32>
        %p = arith.cmpf ogt, %y, %zero : f32
        attn.yield %p : i1
      }
  return %o : !t
}
