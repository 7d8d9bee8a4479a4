// All elements of a result may have the same few scores, and so the same errors
// of them: what evaluation step by step loses is then less by chance.

// RUN: attn-run %s --check --seed=1001207 | FileCheck %s
// CHECK: PASS

func.func @f(%q: tensor<1x1x3x1xf32>, %k: tensor<1x1x31x1xf32>, %v: tensor<1x1x31x1xf32>, %w: tensor<31xf16>) -> tensor<1x1x3x1xf32> {
  %init = tensor.empty() : tensor<1x1x3x1xf32>
  %o = attn.attention
      ins(%q, %k, %v : tensor<1x1x3x1xf32>, tensor<1x1x31x1xf32>, tensor<1x1x31x1xf32>)
      captures(%w : tensor<31xf16>) outs(%init : tensor<1x1x3x1xf32>)
      score(%s, %b, %h, %i, %j, %w0) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %zero = arith.constant 0.0 : f32
        %one = arith.constant 1.0 : f32
        %p = arith.cmpi ule, %j, %c1 : index
        %x = tensor.extract %w0[%c0] : tensor<31xf16>
        %y = arith.extf %x : f16 to f32
        %z = arith.select %p, %zero, %y : f32
        %t = arith.addf %z, %one : f32
        %a = math.atan2 %one, %t : f32
        attn.yield %a : f32
      }
  return %o : tensor<1x1x3x1xf32>
}
