// Tiles by a distance that is compared with a float of the key, and by their
// difference: spans that are NaN or infinite, too.

// REQUIRES: numpy
// UNSUPPORTED: sanitizer
// RUN: %python -c "import numpy as n; s = n.random.default_rng(0).uniform(-40, 300, 512).astype('f4'); s[70] = n.nan; s[[200, 300]] = n.inf; s[320:384] = -n.inf; s[400:] = -1; n.save(r'%t.spans.npy', s)"
// RUN: split-file %s %t
// RUN: %python %S/Inputs/run_kernel.py %t/spans.mlir --arg=q=randn:1x2x512x64 --arg=spans=%t.spans.npy --arg=ramp=16.5
// RUN: %python %S/Inputs/run_kernel.py %t/spans.mlir --arg=q=randn:1x1x512x64 --arg=spans=%t.spans.npy --arg=ramp=-inf
// RUN: %python %S/Inputs/run_kernel.py %t/differences.mlir --arg=q=randn:1x2x512x64 --arg=spans=%t.spans.npy --arg=ramp=16.5
// RUN: attn-run %t/spans.mlir --arg=q=randn:1x2x512x64 --arg=spans=%t.spans.npy --arg=ramp=16.5 --check
// RUN: attn-run %t/differences.mlir --arg=q=randn:1x2x512x64 --arg=spans=%t.spans.npy --arg=ramp=16.5 --check

//--- spans.mlir
!t = tensor<?x?x?x64xbf16>

func.func @spans(%q: !t, %k: !t, %v: !t, %spans: tensor<?xf32>, %ramp: f32) -> (!t {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !t
  %h = tensor.dim %q, %c1 : !t
  %s = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%b, %h, %s) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t)
      captures(%spans, %ramp : tensor<?xf32>, f32) outs(%init : !t)
      mask(%b0, %h0, %i, %j, %w, %r) {
        %behind = arith.cmpi sle, %j, %i : index
        %d = arith.subi %i, %j : index
        %n = arith.index_cast %d : index to i32
        %x = arith.sitofp %n : i32 to f32
        %own = tensor.extract %w[%j] : tensor<?xf32>
        %span = arith.addf %own, %r : f32
        %near = arith.cmpf olt, %x, %span : f32
        %p = arith.andi %behind, %near : i1
        attn.yield %p : i1
      }
  return %o : !t
}

//--- differences.mlir
!t = tensor<?x?x?x64xbf16>

// A NaN is not less.
func.func @differences(%q: !t, %k: !t, %v: !t, %spans: tensor<?xf32>, %ramp: f32) -> (!t {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !t
  %h = tensor.dim %q, %c1 : !t
  %s = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%b, %h, %s) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t)
      captures(%spans, %ramp : tensor<?xf32>, f32) outs(%init : !t)
      mask(%b0, %h0, %i, %j, %w, %r) {
        %d = arith.subi %i, %j : index
        %n = arith.index_cast %d : index to i32
        %x = arith.sitofp %n : i32 to f32
        %own = tensor.extract %w[%j] : tensor<?xf32>
        %other = tensor.extract %w[%i] : tensor<?xf32>
        %left = arith.subf %own, %x : f32
        %both = arith.subf %left, %other : f32
        %no = arith.negf %r : f32
        %p = arith.cmpf uge, %both, %no : f32
        attn.yield %p : i1
      }
  return %o : !t
}
