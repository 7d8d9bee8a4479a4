// Functions of math that no target has, in scores: they become others, on a CPU and
// on a GPU.

// REQUIRES: numpy
// UNSUPPORTED: sanitizer
// RUN: attn-run %s --target=cpu --check | FileCheck %s --check-prefix=CPU
// RUN: %python %S/Inputs/run_kernel.py %s | FileCheck %s
// CPU: {{^}}PASS{{$}}
// CHECK: o: max error
// CHECK-NEXT: seed 0: {{[0-9]+}} steps,

!head = tensor<1x1x40x16xf16>
func.func @f(%q: !head, %k: !head, %v: !head) -> (!head {attn.name = "o"}) {
  %init = tensor.empty() : !head
  %o = attn.attention ins(%q, %k, %v : !head, !head, !head) outs(%init : !head)
      score(%s, %b, %h, %i, %j) {
        %zero = arith.constant 0.0 : f32
        %one = arith.constant 1.0 : f32
        %low = arith.constant -0.5 : f32
        %two = arith.constant 2 : i32
        %clamped = math.clampf %s to [%low, %one] : f32
        %squared = math.fpowi %clamped, %two : f32, i32
        %place = arith.index_cast %j : index to i32
        %square = math.ipowi %place, %two : i32
        %number = arith.sitofp %square : i32 to f32
        // Infinite for the first key.
        %inverse = arith.divf %one, %number : f32
        %is_inf = math.isinf %inverse : f32
        %bias = arith.select %is_inf, %zero, %inverse : f32
        %y = arith.addf %squared, %bias : f32
        attn.yield %y : f32
      }
  return %o : !head
}
