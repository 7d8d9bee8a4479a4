// RUN: attn-opt %s --attn-differentiate | attn-opt | FileCheck %s

!q = tensor<1x2x8x16xf32>
!t = tensor<?x?xf32>

// A sum: iterations in their order, and nothing carried.
// CHECK-LABEL: func @sum_grad
// CHECK: adjoint(%s, %ds, %b, %h, %i, %j, %w0)
// CHECK-DAG: %[[N:.*]] = arith.constant 4096 : index
// CHECK: scf.for %[[R:.*]] = %{{.*}} to %[[N]] step %{{.*}} {
// CHECK-NEXT: attn.contribute %ds to %w0[%i, %[[R]]]
// CHECK-NEXT: }
// CHECK-NEXT: attn.yield %ds
func.func @sum(%q: !q, %w: !t) -> !q {
  %init = tensor.empty() : !q
  %o = attn.attention ins(%q, %q, %q : !q, !q, !q) captures(%w : !t) outs(%init : !q)
      score(%s, %b, %h, %i, %j, %t) {
        %zero = arith.constant 0 : index
        %one = arith.constant 1 : index
        %n = arith.constant 4096 : index
        %y = scf.for %r = %zero to %n step %one iter_args(%acc = %s) -> (f32) {
          %x = tensor.extract %t[%i, %r] : !t
          %a = arith.addf %acc, %x : f32
          scf.yield %a : f32
        }
        attn.yield %y : f32
      }
  return %o : !q
}

// A sum whose terms are of what is carried: it is carried along.
// CHECK-LABEL: func @along_grad
// CHECK: adjoint(%s, %ds, %b, %h, %i, %j, %w0)
// CHECK: scf.for %[[R:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[P:.*]] = %{{.*}}) -> (f32) : i32
// CHECK: %[[E:.*]] = arith.mulf %ds, %[[P]]
// CHECK: attn.contribute %[[E]] to %w0[%i,
// CHECK: %[[NEXT:.*]] = arith.mulf %[[P]], %{{.*}}
// CHECK: scf.yield %[[NEXT]]
// CHECK: attn.yield %ds
func.func @along(%q: !q, %w: !t) -> !q {
  %init = tensor.empty() : !q
  %o = attn.attention ins(%q, %q, %q : !q, !q, !q) captures(%w : !t) outs(%init : !q)
      score(%s, %b, %h, %i, %j, %t) {
        %zero = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        %n = arith.constant 4096 : i32
        %half = arith.constant 0.5 : f32
        %y, %z = scf.for %r = %zero to %n step %one iter_args(%acc = %s, %p = %half) -> (f32, f32) : i32 {
          %at = arith.index_cast %r : i32 to index
          %x = tensor.extract %t[%i, %at] : !t
          %e = arith.mulf %x, %p : f32
          %a = arith.addf %acc, %e : f32
          %next = arith.mulf %p, %half : f32
          scf.yield %a, %next : f32, f32
        }
        attn.yield %y : f32
      }
  return %o : !q
}

// Linear: the last iteration first, without what was carried. Sums of free
// values are carried.
// CHECK-LABEL: func @linear_grad
// CHECK: adjoint(%s, %ds, %b, %h, %i, %j, %w0, %w1)
// CHECK-DAG: %[[LAST:.*]] = arith.constant 102 : index
// CHECK: %[[G:.*]]:2 = scf.for %[[R:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[D:.*]] = %ds, %[[SUM:.*]] = %{{.*}}) -> (f32, f32)
// CHECK-NEXT: %[[AT:.*]] = arith.subi %[[LAST]], %[[R]]
// CHECK-NOT: scf.for
// CHECK: attn.contribute %[[D]] to %w0[%i, %[[AT]]]
// CHECK: scf.yield
// CHECK: attn.contribute %[[G]]#1 to %w1
// CHECK: attn.yield %[[G]]#0
func.func @linear(%q: !q, %w: !t, %g: f32) -> !q {
  %init = tensor.empty() : !q
  %o = attn.attention ins(%q, %q, %q : !q, !q, !q) captures(%w, %g : !t, f32) outs(%init : !q)
      score(%s, %b, %h, %i, %j, %t, %f) {
        %zero = arith.constant 2 : index
        %one = arith.constant 2 : index
        %n = arith.constant 101 : index
        %half = arith.constant 0.5 : f32
        %y = scf.for %r = %zero to %n step %one iter_args(%acc = %s) -> (f32) {
          %x = tensor.extract %t[%i, %r] : !t
          %e = arith.mulf %acc, %half : f32
          %y = arith.addf %e, %x : f32
          %a = arith.addf %y, %f : f32
          scf.yield %a : f32
        }
        attn.yield %y : f32
      }
  return %o : !q
}

// What was carried into an iteration is computed from the first one on, by as
// many iterations as there are behind this one in reverse.
// CHECK-LABEL: func @recurrence_grad
// CHECK: adjoint(%s, %ds, %b, %h, %i, %j)
// CHECK-DAG: %[[LAST:.*]] = arith.constant 999 : index
// CHECK: scf.for %[[R:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[D:.*]] = %ds) -> (f32)
// CHECK-NEXT: %[[C:.*]] = scf.for %{{.*}} = %[[R]] to %[[LAST]] step %{{.*}} iter_args(%[[IN:.*]] = %s) -> (f32)
// CHECK-NEXT: %[[SIN:.*]] = math.sin %[[IN]]
// CHECK-NEXT: scf.yield %[[SIN]]
// CHECK: math.cos %[[C]]
func.func @recurrence(%q: !q) -> !q {
  %init = tensor.empty() : !q
  %o = attn.attention ins(%q, %q, %q : !q, !q, !q) outs(%init : !q)
      score(%s, %b, %h, %i, %j) {
        %zero = arith.constant 0 : index
        %one = arith.constant 1 : index
        %n = arith.constant 1000 : index
        %y = scf.for %r = %zero to %n step %one iter_args(%acc = %s) -> (f32) {
          %a = math.sin %acc : f32
          scf.yield %a : f32
        }
        attn.yield %y : f32
      }
  return %o : !q
}

// A short one of that kind is unrolled; the sum around it is none.
// CHECK-LABEL: func @short_grad
// CHECK: adjoint(%s, %ds, %b, %h, %i, %j, %w0)
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK-COUNT-40: math.cos
// CHECK-NOT: math.cos
// CHECK: attn.contribute
// CHECK: attn.yield %ds
func.func @short(%q: !q, %w: !t) -> !q {
  %init = tensor.empty() : !q
  %o = attn.attention ins(%q, %q, %q : !q, !q, !q) captures(%w : !t) outs(%init : !q)
      score(%s, %b, %h, %i, %j, %t) {
        %zero = arith.constant 0 : index
        %one = arith.constant 1 : index
        %short = arith.constant 40 : index
        %n = arith.constant 1000 : index
        %y = scf.for %r = %zero to %n step %one iter_args(%acc = %s) -> (f32) {
          %x = tensor.extract %t[%i, %r] : !t
          %z = scf.for %e = %zero to %short step %one iter_args(%in = %x) -> (f32) {
            %a = math.sin %in : f32
            scf.yield %a : f32
          }
          %a = arith.addf %acc, %z : f32
          scf.yield %a : f32
        }
        attn.yield %y : f32
      }
  return %o : !q
}

// One that adds to the gradient of a capture stays a loop.
// CHECK-LABEL: func @reading_grad
// CHECK: adjoint(%s, %ds, %b, %h, %i, %j, %w0)
// CHECK: scf.for
// CHECK: scf.for
// CHECK: attn.contribute
// CHECK-NOT: attn.contribute
// CHECK: attn.yield
func.func @reading(%q: !q, %w: !t) -> !q {
  %init = tensor.empty() : !q
  %o = attn.attention ins(%q, %q, %q : !q, !q, !q) captures(%w : !t) outs(%init : !q)
      score(%s, %b, %h, %i, %j, %t) {
        %zero = arith.constant 0 : index
        %one = arith.constant 1 : index
        %short = arith.constant 16 : index
        %y = scf.for %r = %zero to %short step %one iter_args(%acc = %s) -> (f32) {
          %x = tensor.extract %t[%i, %r] : !t
          %a = arith.mulf %acc, %x : f32
          scf.yield %a : f32
        }
        attn.yield %y : f32
      }
  return %o : !q
}

// One that runs nothing passes gradients on.
// CHECK-LABEL: func @none_grad
// CHECK: adjoint(%s, %ds, %b, %h, %i, %j)
// CHECK-NEXT: attn.yield %ds
func.func @none(%q: !q) -> !q {
  %init = tensor.empty() : !q
  %o = attn.attention ins(%q, %q, %q : !q, !q, !q) outs(%init : !q)
      score(%s, %b, %h, %i, %j) {
        %zero = arith.constant 0 : index
        %one = arith.constant 1 : index
        %y = scf.for %r = %one to %zero step %one iter_args(%acc = %s) -> (f32) {
          %a = math.sin %acc : f32
          scf.yield %a : f32
        }
        attn.yield %y : f32
      }
  return %o : !q
}

// What is compared alone has no gradient: the loop over maxima stays, and none
// is in reverse.
// CHECK-LABEL: func @equal_grad
// CHECK: adjoint(%s, %ds, %b, %h, %i, %j, %w0)
// CHECK: %[[MOST:.*]] = scf.for
// CHECK-NEXT: tensor.extract
// CHECK-NEXT: arith.maximumf
// CHECK-NEXT: scf.yield
// CHECK-NEXT: }
// CHECK-NOT: arith.maximumf
// CHECK: scf.for
// CHECK: arith.cmpf oeq, %{{.*}}, %[[MOST]]
// CHECK-NOT: scf.for
// CHECK: attn.contribute
// CHECK-NOT: scf.for
// CHECK: attn.yield
func.func @equal(%q: !q, %w: !t) -> !q {
  %init = tensor.empty() : !q
  %o = attn.attention ins(%q, %q, %q : !q, !q, !q) captures(%w : !t) outs(%init : !q)
      score(%s, %b, %h, %i, %j, %t) {
        %zero = arith.constant 0 : index
        %one = arith.constant 1 : index
        %n = arith.constant 40 : index
        %none = arith.constant 0.0 : f32
        %least = arith.constant 0xFF800000 : f32
        %most = scf.for %r = %zero to %n step %one iter_args(%acc = %least) -> (f32) {
          %x = tensor.extract %t[%i, %r] : !t
          %a = arith.maximumf %acc, %x : f32
          scf.yield %a : f32
        }
        %y = scf.for %r = %zero to %n step %one iter_args(%acc = %s) -> (f32) {
          %x = tensor.extract %t[%i, %r] : !t
          %c = arith.cmpf oeq, %x, %most : f32
          %z = arith.select %c, %x, %none : f32
          %a = arith.addf %acc, %z : f32
          scf.yield %a : f32
        }
        attn.yield %y : f32
      }
  return %o : !q
}
