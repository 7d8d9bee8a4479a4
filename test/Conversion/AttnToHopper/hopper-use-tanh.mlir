// Logistic functions are written by tanh, which is one instruction, in
// attentions of bf16 and f16.

// RUN: attn-opt %s --attn-hopper-use-tanh --canonicalize --split-input-file | FileCheck %s

!t = tensor<2x4x?x64xbf16>

// CHECK-LABEL: @logistic
// CHECK: score(%[[S:[a-z0-9]+]],
// CHECK-DAG: %[[HALF:.+]] = arith.constant 5.000000e-01
// CHECK-NOT: math.exp
// CHECK: %[[H:.+]] = arith.mulf %[[S]], %[[HALF]]
// CHECK: %[[T:.+]] = math.tanh %[[H]]
// CHECK: %[[X:.+]] = arith.mulf %[[T]], %[[HALF]]
// CHECK: %[[Y:.+]] = arith.addf %[[X]], %[[HALF]]
// CHECK: attn.yield %[[Y]]
func.func @logistic(%q: !t, %k: !t, %v: !t, %init: !t) -> !t {
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
      score(%s, %b, %h, %i, %j) {
        %one = arith.constant 1.0 : f32
        %n = arith.negf %s : f32
        %e = math.exp %n : f32
        %d = arith.addf %one, %e : f32
        %y = arith.divf %one, %d : f32
        attn.yield %y : f32
      }
  return %o : !t
}

// Of a positive exponent, and of another numerator.
// CHECK-LABEL: @falling
// CHECK: score(%[[S:[a-z0-9]+]],
// CHECK-DAG: %[[THREE:.+]] = arith.constant 3.000000e+00
// CHECK-DAG: %[[HALF:.+]] = arith.constant 5.000000e-01
// CHECK: %[[H:.+]] = arith.mulf %[[S]], %[[HALF]]
// CHECK: %[[T:.+]] = math.tanh %[[H]]
// CHECK: %[[X:.+]] = arith.mulf %[[T]], %[[HALF]]
// CHECK: %[[Y:.+]] = arith.subf %[[HALF]], %[[X]]
// CHECK: %[[Z:.+]] = arith.mulf %[[Y]], %[[THREE]]
func.func @falling(%q: !t, %k: !t, %v: !t, %init: !t) -> !t {
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
      score(%s, %b, %h, %i, %j) {
        %one = arith.constant 1.0 : f32
        %three = arith.constant 3.0 : f32
        %e = math.exp %s : f32
        %d = arith.addf %e, %one : f32
        %y = arith.divf %three, %d : f32
        attn.yield %y : f32
      }
  return %o : !t
}

// Both spellings of x times the logistic function of x.
// CHECK-LABEL: @silu
// CHECK-COUNT-2: score(%[[S:[a-z0-9]+]],
// CHECK: %[[H:.+]] = arith.mulf %[[S]], %{{.+}} : f32
// CHECK-NEXT: %[[T:.+]] = math.tanh %[[H]]
// CHECK-NEXT: %[[X:.+]] = arith.mulf %[[H]], %[[T]]
// CHECK-NEXT: %[[Y:.+]] = arith.addf %[[X]], %[[H]]
// CHECK-NEXT: attn.yield %[[Y]]
func.func @silu(%q: !t, %k: !t, %v: !t, %init: !t) -> (!t, !t) {
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
      score(%s, %b, %h, %i, %j) {
        %one = arith.constant 1.0 : f32
        %n = arith.negf %s : f32
        %e = math.exp %n : f32
        %d = arith.addf %e, %one : f32
        %y = arith.divf %s, %d : f32
        attn.yield %y : f32
      }
  %p = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
      score(%s, %b, %h, %i, %j) {
        %one = arith.constant 1.0 : f32
        %n = arith.negf %s : f32
        %e = math.exp %n : f32
        %d = arith.addf %e, %one : f32
        %l = arith.divf %one, %d : f32
        %y = arith.mulf %l, %s : f32
        attn.yield %y : f32
      }
  return %o, %p : !t, !t
}

// The derivative of silu, as attn-differentiate writes it: of l and 1 - l.
// CHECK-LABEL: @adjoint
// CHECK: score(
// CHECK: math.tanh
// CHECK: adjoint(%[[S:[a-z0-9]+]], %[[DS:[a-z0-9]+]],
// CHECK-DAG: %[[HALF:.+]] = arith.constant 5.000000e-01
// CHECK-NOT: math.exp
// CHECK-NOT: arith.divf
// CHECK: %[[H:.+]] = arith.mulf %[[S]], %[[HALF]]
// CHECK: %[[T:.+]] = math.tanh %[[H]]
// CHECK: %[[X:.+]] = arith.mulf %[[T]], %[[HALF]]
// CHECK: %[[L:.+]] = arith.addf %[[X]], %[[HALF]]
// CHECK: arith.mulf %[[DS]], %[[L]]
// CHECK: %[[REST:.+]] = arith.subf %[[HALF]], %{{.+}}
// CHECK: arith.mulf %{{.+}}, %[[REST]]
// CHECK-NOT: math.exp
// CHECK: return
!l = tensor<2x4x?xf32>
func.func @adjoint(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !l, %do: !t, %dq: !t) -> !t {
  %r = attn.attention_grad wrt(q) ins(%q, %k, %v, %o, %lse, %do : !t, !t, !t, !t, !l, !t) outs(%dq : !t)
      score(%s, %b, %h, %i, %j) {
        %one = arith.constant 1.0 : f32
        %n = arith.negf %s : f32
        %e = math.exp %n : f32
        %d = arith.addf %e, %one : f32
        %l = arith.divf %one, %d : f32
        %y = arith.mulf %s, %l : f32
        attn.yield %y : f32
      }
      adjoint(%s, %ds, %b, %h, %i, %j) {
        %one = arith.constant 1.0 : f32
        %n = arith.negf %s : f32
        %e = math.exp %n : f32
        %d = arith.addf %e, %one : f32
        %l = arith.divf %one, %d : f32
        %x = arith.mulf %ds, %l : f32
        %dl = arith.mulf %ds, %s : f32
        %nl = arith.negf %l : f32
        %dd = arith.divf %nl, %d : f32
        %y = arith.mulf %dl, %dd : f32
        %de = arith.mulf %y, %e : f32
        %dn = arith.negf %de : f32
        %z = arith.addf %x, %dn : f32
        attn.yield %z : f32
      }
  return %r : !t
}

// Exponentials and divisors that are needed anyway, squares of exponentials,
// logarithms of logistic functions, which may be small, and f32, stay.
// CHECK-LABEL: @stay
// CHECK-COUNT-5: math.exp
// CHECK-NOT: math.tanh
!f = tensor<2x4x?x64xf32>
func.func @stay(%q: !t, %k: !t, %v: !t, %init: !t, %fq: !f, %finit: !f) -> (!t, !t, !t, !t, !f) {
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
      score(%s, %b, %h, %i, %j) {
        %one = arith.constant 1.0 : f32
        %e = math.exp %s : f32
        %d = arith.addf %e, %one : f32
        %x = arith.divf %one, %d : f32
        %y = arith.addf %x, %e : f32
        attn.yield %y : f32
      }
  %u = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
      score(%s, %b, %h, %i, %j) {
        %one = arith.constant 1.0 : f32
        %e = math.exp %s : f32
        %d = arith.addf %e, %one : f32
        %x = arith.divf %one, %d : f32
        %y = arith.mulf %x, %d : f32
        attn.yield %y : f32
      }
  %w = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
      score(%s, %b, %h, %i, %j) {
        %one = arith.constant 1.0 : f32
        %e = math.exp %s : f32
        %d = arith.addf %e, %one : f32
        %x = arith.divf %s, %d : f32
        %y = arith.mulf %x, %e : f32
        %z = arith.mulf %y, %e : f32
        attn.yield %z : f32
      }
  %x = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
      score(%s, %b, %h, %i, %j) {
        %one = arith.constant 1.0 : f32
        %n = arith.negf %s : f32
        %e = math.exp %n : f32
        %d = arith.addf %e, %one : f32
        %x = arith.divf %one, %d : f32
        %y = arith.negf %x : f32
        %z = math.log %y : f32
        attn.yield %z : f32
      }
  %p = attn.attention ins(%fq, %fq, %fq : !f, !f, !f) outs(%finit : !f)
      score(%s, %b, %h, %i, %j) {
        %one = arith.constant 1.0 : f32
        %e = math.exp %s : f32
        %d = arith.addf %e, %one : f32
        %y = arith.divf %one, %d : f32
        attn.yield %y : f32
      }
  return %o, %u, %w, %x, %p : !t, !t, !t, !t, !f
}

// What branches and loops give is followed to what uses it, in the next iteration too: a logarithm there stays exact.
// CHECK-LABEL: func @regions
// CHECK: scf.if
// CHECK: math.tanh
// CHECK: attn.yield
// CHECK: scf.for
// CHECK: math.tanh
// CHECK: attn.yield
// CHECK: scf.for
// CHECK: math.exp
// CHECK: math.log
// CHECK: attn.yield
// CHECK: scf.if
// CHECK: math.exp
// CHECK: math.log
func.func @regions(%q: !t, %k: !t, %v: !t, %init: !t) -> (!t, !t, !t, !t) {
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
      score(%s, %b, %h, %i, %j) {
        %one = arith.constant 1.0 : f32
        %p = arith.cmpi ult, %i, %j : index
        %y = scf.if %p -> (f32) {
          %e = math.exp %s : f32
          %d = arith.addf %e, %one : f32
          %x = arith.divf %one, %d : f32
          scf.yield %x : f32
        } else {
          scf.yield %s : f32
        }
        attn.yield %y : f32
      }
  %u = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
      score(%s, %b, %h, %i, %j) {
        %one = arith.constant 1.0 : f32
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c4 = arith.constant 4 : index
        %y = scf.for %n = %c0 to %c4 step %c1 iter_args(%a = %s) -> (f32) {
          %e = math.exp %s : f32
          %d = arith.addf %e, %one : f32
          %x = arith.divf %one, %d : f32
          %z = arith.addf %x, %a : f32
          scf.yield %z : f32
        }
        attn.yield %y : f32
      }
  %w = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
      score(%s, %b, %h, %i, %j) {
        %one = arith.constant 1.0 : f32
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c4 = arith.constant 4 : index
        %y = scf.for %n = %c0 to %c4 step %c1 iter_args(%a = %s) -> (f32) {
          %e = math.exp %s : f32
          %d = arith.addf %e, %one : f32
          %x = arith.divf %one, %d : f32
          %z = math.log %a : f32
          %t = arith.addf %x, %z : f32
          scf.yield %t : f32
        }
        attn.yield %y : f32
      }
  %r = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
      score(%s, %b, %h, %i, %j) {
        %one = arith.constant 1.0 : f32
        %p = arith.cmpi ult, %i, %j : index
        %y = scf.if %p -> (f32) {
          %e = math.exp %s : f32
          %d = arith.addf %e, %one : f32
          %x = arith.divf %one, %d : f32
          scf.yield %x : f32
        } else {
          scf.yield %one : f32
        }
        %z = math.log %y : f32
        attn.yield %z : f32
      }
  return %o, %u, %w, %r : !t, !t, !t, !t
}
