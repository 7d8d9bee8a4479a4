// Functions that are several instructions of f64, and roundings and signs of f32.

// REQUIRES: numpy
// UNSUPPORTED: sanitizer
// RUN: %python %S/Inputs/run_kernel.py %s --arg=q=randn:1x2x37x64 --arg=k=randn:1x2x40x64 --arg=v=randn:1x2x40x64 | FileCheck %s
// CHECK: o: max error
// CHECK: seed 0: {{[0-9]+}} steps,
!t = tensor<1x2x?x64xbf16>
func.func @f(%q: !t {attn.name = "q"}, %k: !t {attn.name = "k"}, %v: !t {attn.name = "v"}) -> !t {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : !t
  %i = tensor.empty(%n) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%i : !t)
      score(%s, %b, %h, %x, %j) {
        %a = math.absf %s : f32
        %e = arith.constant 0.3 : f32
        %p = math.powf %a, %e : f32
        %y = math.copysign %p, %s : f32
        %d = math.floor %s : f32
        %u = math.ceil %y : f32
        %z = math.sin %d : f32
        %r = arith.constant 0.7 : f32
        %m = arith.remf %s, %r : f32
        %0 = arith.addf %y, %z : f32
        %1 = arith.addf %0, %m : f32
        %2 = arith.addf %1, %u : f32
        attn.yield %2 : f32
      }
  return %o : !t
}
