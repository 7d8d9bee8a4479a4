// A loop in a score reads captures for each key: where the rows are depends on its
// variable, or is computed of it, so that no step can load them before.

// REQUIRES: numpy
// UNSUPPORTED: sanitizer
// RUN: %python %S/Inputs/run_kernel.py %s --entry=f --arg=q=randn:1x2x70x64 --arg=table=randn:40x70 | FileCheck %s
// RUN: %python %S/Inputs/run_kernel.py %s --entry=repeated --arg=q=randn:1x1x70x64 --arg=table=randn:3x70 | FileCheck %s
// CHECK: o: max error

!t = tensor<?x?x?x64xbf16>
func.func @f(%q: !t, %table: tensor<?x?xf32>) -> (!t {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !t
  %h = tensor.dim %q, %c1 : !t
  %s = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%b, %h, %s) : !t
  %o = attn.attention ins(%q, %q, %q : !t, !t, !t)
      captures(%table : tensor<?x?xf32>) outs(%init : !t)
      score(%x, %bi, %hi, %i, %j, %rows) {
        %first = arith.constant 0 : index
        %one = arith.constant 1 : index
        %end = arith.constant 40 : index
        %sum = scf.for %n = %first to %end step %one iter_args(%before = %x) -> (f32) {
          %y = tensor.extract %rows[%n, %j] : tensor<?x?xf32>
          %next = arith.addf %before, %y : f32
          scf.yield %next : f32
        }
        attn.yield %sum : f32
      }
  return %o : !t
}

// Rows again from the first one on, as many as the table has.
func.func @repeated(%q: !t, %table: tensor<?x?xf32>) -> (!t {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !t
  %h = tensor.dim %q, %c1 : !t
  %s = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%b, %h, %s) : !t
  %o = attn.attention ins(%q, %q, %q : !t, !t, !t)
      captures(%table : tensor<?x?xf32>) outs(%init : !t)
      score(%x, %bi, %hi, %i, %j, %rows) {
        %first = arith.constant 0 : index
        %one = arith.constant 1 : index
        %end = arith.constant 5 : index
        %count = tensor.dim %rows, %first : tensor<?x?xf32>
        %sum = scf.for %n = %first to %end step %one iter_args(%before = %x) -> (f32) {
          %row = arith.remui %n, %count : index
          %y = tensor.extract %rows[%row, %j] : tensor<?x?xf32>
          %next = arith.addf %before, %y : f32
          scf.yield %next : f32
        }
        attn.yield %sum : f32
      }
  return %o : !t
}
