// Scores that are homogeneous in their argument, which has no scale then, and
// logistic functions, which tanh computes: on a GPU, in the interpreter, and on a
// CPU.

// REQUIRES: numpy
// UNSUPPORTED: sanitizer

// DEFINE: %{args} = --arg=q=randn:1x2x70x64 --arg=k=randn:1x2x150x64
// DEFINE: %{run} = %python %S/Inputs/run_kernel.py %s %{args}
// DEFINE: %{cpu} = attn-run %s %{args} --check
// RUN: %{run} --entry=relu_squared | FileCheck %s
// RUN: %{cpu} --entry=relu_squared | FileCheck %s --check-prefix=CPU
// RUN: %{run} --entry=silu | FileCheck %s
// RUN: %{cpu} --entry=silu | FileCheck %s --check-prefix=CPU
// RUN: %{run} --entry=silu --grad=q,k | FileCheck %s --check-prefixes=CHECK,GRAD
// RUN: %{run} --entry=bounded '--arg=t=uniform(0.5,2):2' | FileCheck %s
// RUN: %{cpu} --entry=bounded '--arg=t=uniform(0.5,2):2' | FileCheck %s --check-prefix=CPU
// RUN: %{run} --entry=capped --arg=t=5 | FileCheck %s
// RUN: %{cpu} --entry=capped --arg=t=5 | FileCheck %s --check-prefix=CPU
// RUN: %{run} --entry=waves | FileCheck %s
// RUN: %{cpu} --entry=waves | FileCheck %s --check-prefix=CPU
// CHECK: o: max error
// GRAD: dq: max error
// GRAD: dk: max error
// CHECK: seed 0
// CPU: PASS

!t = tensor<1x2x?x64xbf16>
func.func @relu_squared(%q: !t {attn.name = "q"}, %k: !t {attn.name = "k"}) -> (!t {attn.name = "o"}) {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%n) : !t
  %o = attn.attention ins(%q, %k, %k : !t, !t, !t) outs(%init : !t)
      score(%s, %b, %h, %i, %j) {
        %zero = arith.constant 0.0 : f32
        %x = arith.maximumf %s, %zero : f32
        %y = arith.mulf %x, %x : f32
        attn.yield %y : f32
      }
  return %o : !t
}

func.func @silu(%q: !t {attn.name = "q"}, %k: !t {attn.name = "k"}) -> (!t {attn.name = "o"}) {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%n) : !t
  %o = attn.attention ins(%q, %k, %k : !t, !t, !t) outs(%init : !t)
      score(%s, %b, %h, %i, %j) {
        %one = arith.constant 1.0 : f32
        %x = arith.negf %s : f32
        %e = math.exp %x : f32
        %d = arith.addf %one, %e : f32
        %l = arith.divf %one, %d : f32
        %y = arith.mulf %s, %l : f32
        attn.yield %y : f32
      }
  return %o : !t
}

func.func @bounded(%q: !t {attn.name = "q"}, %k: !t {attn.name = "k"}, %t: tensor<2xf32> {attn.name = "t"}) -> (!t {attn.name = "o"}) {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%n) : !t
  %o = attn.attention ins(%q, %k, %k : !t, !t, !t) captures(%t : tensor<2xf32>) outs(%init : !t)
      score(%s, %b, %h, %i, %j, %w) {
        %e = tensor.extract %w[%h] : tensor<2xf32>
        %x = arith.minimumf %s, %e : f32
        attn.yield %x : f32
      }
  return %o : !t
}

func.func @capped(%q: !t {attn.name = "q"}, %k: !t {attn.name = "k"}, %t: tensor<f32> {attn.name = "t"}) -> (!t {attn.name = "o"}) {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%n) : !t
  %o = attn.attention ins(%q, %k, %k : !t, !t, !t) captures(%t : tensor<f32>) outs(%init : !t)
      score(%s, %b, %h, %i, %j, %w) {
        %e = tensor.extract %w[] : tensor<f32>
        %x = arith.divf %s, %e : f32
        %y = math.tanh %x : f32
        %z = arith.mulf %y, %e : f32
        attn.yield %z : f32
      }
  return %o : !t
}

// Angles of many turns, of both signs.
func.func @waves(%q: !t {attn.name = "q"}, %k: !t {attn.name = "k"}) -> (!t {attn.name = "o"}) {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%n) : !t
  %o = attn.attention ins(%q, %k, %k : !t, !t, !t) outs(%init : !t)
      score(%s, %b, %h, %i, %j) {
        %d = arith.subi %i, %j : index
        %n32 = arith.index_cast %d : index to i32
        %x = arith.sitofp %n32 : i32 to f32
        %big = arith.constant 12345.678 : f32
        %a = arith.mulf %x, %big : f32
        %sin = math.sin %a : f32
        %cos = math.cos %x : f32
        %tan = math.tan %cos : f32
        %y = arith.mulf %s, %sin : f32
        %z = arith.addf %y, %tan : f32
        attn.yield %z : f32
      }
  return %o : !t
}
