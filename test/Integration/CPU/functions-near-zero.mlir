// expm1 and log1p of f64 keep their digits near 0, in a vector and alone.

// RUN: attn-run %s --check '--arg=t=uniform(-1e-12,1e-12):37' --arg=q=randn:1x1x5x8 --arg=k=randn:1x1x37x8 --arg=v=randn:1x1x37x8 | FileCheck %s
// CHECK: o  max {{.*}} pass
// CHECK: PASS
func.func @f(%q: tensor<1x1x?x8xf64>, %k: tensor<1x1x?x8xf64>, %v: tensor<1x1x?x8xf64>, %t: tensor<?xf64>) -> tensor<1x1x?x8xf64> {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : tensor<1x1x?x8xf64>
  %i = tensor.empty(%n) : tensor<1x1x?x8xf64>
  %o = attn.attention ins(%q, %k, %v : tensor<1x1x?x8xf64>, tensor<1x1x?x8xf64>, tensor<1x1x?x8xf64>)
      captures(%t : tensor<?xf64>) outs(%i : tensor<1x1x?x8xf64>)
      score(%s, %b, %h, %x, %j, %u) {
        %e = tensor.extract %u[%j] : tensor<?xf64>
        %m = math.expm1 %e : f64
        %l = math.log1p %e : f64
        %c = arith.constant 1.0e12 : f64
        %a = arith.addf %m, %l : f64
        %r = arith.mulf %a, %c : f64
        attn.yield %r : f64
      }
  return %o : tensor<1x1x?x8xf64>
}
