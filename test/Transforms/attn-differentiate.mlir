// Functions that compute gradients.

// RUN: attn-opt %s --attn-differentiate | FileCheck %s
// RUN: attn-opt %s '--attn-differentiate=joint' --verify-roundtrip -o %t

// Results are taken, not computed again. A branch is taken in reverse as it was,
// and contributes to captures where it is taken. What a maximum did not choose
// is dead: where its gradient is 0, no product with a derivative is taken.
// CHECK-LABEL: func.func @branches_grad(
// CHECK-SAME:    %[[Q:.+]]: tensor<1x2x?x8xf32> {attn.name = "q"}, %[[K:.+]]: tensor<1x2x?x8xf32> {attn.name = "k"}, %[[V:.+]]: tensor<1x2x?x8xf32>, %[[W:.+]]: tensor<2xbf16> {attn.name = "w"}, %[[C:.+]]: f32,
// CHECK-SAME:    %[[O:[^ ]+]]: tensor<1x2x?x8xf32> {attn.name = "o"}, %[[LSE:[^ ]+]]: tensor<1x2x?xf32> {attn.name = "out1"}, %[[DO:[^ ]+]]: tensor<1x2x?x8xf32> {attn.name = "do"}, %[[DLSE:[^ ]+]]: tensor<1x2x?xf32> {attn.name = "dout1"})
// CHECK-SAME:    -> (tensor<1x2x?x8xf32> {attn.name = "dq"}, tensor<1x2x?x8xf32> {attn.name = "dk"}, tensor<1x2x?x8xf32> {attn.name = "darg2"}, tensor<2xbf16> {attn.name = "dw"}, f32 {attn.name = "darg4"})
// CHECK-NOT:     attn.attention
// CHECK:         %dq, %dk, %dv, %dw0, %dw1 = attn.attention_grad wrt(q, k, v, 0, 1)
// CHECK-NEXT:      ins(%[[Q]], %[[K]], %[[V]], %[[O]], %[[LSE]], %[[DO]], %[[DLSE]] :
// CHECK-NEXT:      captures(%[[W]], %[[C]] : tensor<2xbf16>, f32)
// CHECK:         adjoint(%s, %ds, %b, %h, %i, %j, %w0, %w1) {
// CHECK:           %[[Y:.+]] = scf.if %[[P:.+]] -> (f32) {
// CHECK:             math.log
// CHECK:           %[[HALF:.+]] = arith.select %{{.+}}, %cst{{.*}}, %cst{{.*}} : f32
// CHECK-NEXT:      %[[SHARE:.+]] = arith.select %{{.+}}, %cst{{.*}}, %[[HALF]] : f32
// CHECK-NEXT:      %[[G:.+]] = arith.mulf %ds, %[[SHARE]] : f32
// CHECK:           %[[R:.+]]:2 = scf.if %[[P]] -> (f32, f32) {
// CHECK:             %[[L:.+]] = math.log %s : f32
// CHECK:             %[[PRODUCT:.+]] = arith.mulf %[[G]], %[[L]] : f32
// CHECK-NEXT:        %[[GUARDED:.+]] = arith.select %{{.+}}, %{{.+}}, %[[PRODUCT]] : f32
// CHECK-NEXT:        attn.contribute %[[GUARDED]] to %w0[%h] : f32, tensor<2xbf16>
// CHECK:           } else {
// CHECK-NOT:         contribute
// CHECK:           }
// CHECK:           %[[DX:.+]] = arith.addf %{{.+}}, %[[R]]#0 : f32
// CHECK-NEXT:      attn.contribute %[[R]]#1 to %w1 : f32, f32
// CHECK-NEXT:      attn.yield %[[DX]] : f32
// CHECK:         tensor.extract %dw1[] : tensor<f32>
// CHECK:         return %dq, %dk, %dv, %dw0
func.func @branches(%q: tensor<1x2x?x8xf32> {attn.name = "q"}, %k: tensor<1x2x?x8xf32> {attn.name = "k"}, %v: tensor<1x2x?x8xf32>,
    %w: tensor<2xbf16> {attn.name = "w"}, %c: f32, %oi: tensor<1x2x?x8xf32>, %li: tensor<1x2x?xf32>)
    -> (tensor<1x2x?x8xf32> {attn.name = "o"}, tensor<1x2x?xf32>) {
  %o, %lse = attn.attention ins(%q, %k, %v : tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>)
    captures(%w, %c : tensor<2xbf16>, f32)
    outs(%oi, %li : tensor<1x2x?x8xf32>, tensor<1x2x?xf32>)
    score(%s, %b, %h, %i, %j, %w0, %w1) {
      %zero = arith.constant 0.0 : f32
      %t = arith.cmpf ogt, %s, %zero : f32
      %y = scf.if %t -> f32 {
        %l = math.log %s : f32
        %e = tensor.extract %w0[%h] : tensor<2xbf16>
        %ee = arith.extf %e : bf16 to f32
        %z = arith.mulf %l, %ee : f32
        scf.yield %z : f32
      } else {
        %m = arith.mulf %s, %w1 : f32
        scf.yield %m : f32
      }
      %u = arith.maximumf %y, %s : f32
      attn.yield %u : f32
    }
    mask(%b, %h, %i, %j, %w0, %w1) {
      %p = arith.cmpi sle, %j, %i : index
      attn.yield %p : i1
    }
  return %o, %lse : tensor<1x2x?x8xf32>, tensor<1x2x?xf32>
}

// A chain: the first attention runs again, with its lse, as only the second's
// results are there. A tensor that is used several times gets a sum.
// CHECK-LABEL: func.func @chain_grad(
// CHECK-SAME:    %[[X:[^ ]+]]: tensor<1x2x4x8xf64> {attn.name = "x"}, %{{[^ ]+}}: tensor<1x2x4x8xf64>, %[[O2:[^ ]+]]: tensor<1x2x4x8xf64> {attn.name = "o2"}, %[[LSE2:[^ ]+]]: tensor<1x2x4xf64> {attn.name = "l2"}, %[[DO2:[^ ]+]]: tensor<1x2x4x8xf64> {attn.name = "do2"}, %[[DLSE2:[^ ]+]]: tensor<1x2x4xf64> {attn.name = "dl2"})
// CHECK:         %[[O1:.+]], %[[LSE1:.+]] = attn.attention
// CHECK-NOT:     attn.attention{{$}}
// CHECK:         %[[DQ2:.+]], %[[DK2:.+]] = attn.attention_grad wrt(q, k)
// CHECK-NEXT:      ins(%[[O1]], %[[X]], %{{.+}}, %[[O2]], %[[LSE2]], %[[DO2]], %[[DLSE2]] :
// CHECK:         %[[DQ1:.+]], %[[DK1:.+]], %[[DV1:.+]] = attn.attention_grad wrt(q, k, v)
// CHECK-NEXT:      ins(%[[X]], %[[X]], %[[X]], %[[O1]], %[[LSE1]], %[[DQ2]] :
// CHECK:         %[[S0:.+]] = arith.addf %[[DK2]], %[[DQ1]]
// CHECK-NEXT:    %[[S1:.+]] = arith.addf %[[S0]], %[[DK1]]
// CHECK-NEXT:    %[[S2:.+]] = arith.addf %[[S1]], %[[DV1]]
// CHECK-NEXT:    return %[[S2]]
func.func @chain(%x: tensor<1x2x4x8xf64> {attn.name = "x"}, %oi: tensor<1x2x4x8xf64>)
    -> (tensor<1x2x4x8xf64> {attn.name = "o2"}, tensor<1x2x4xf64> {attn.name = "l2"}) {
  %li = tensor.empty() : tensor<1x2x4xf64>
  %c = arith.constant dense<1.0> : tensor<1x2x4x8xf64>
  %o1 = attn.attention ins(%x, %x, %x : tensor<1x2x4x8xf64>, tensor<1x2x4x8xf64>, tensor<1x2x4x8xf64>)
    outs(%oi : tensor<1x2x4x8xf64>)
  %o2, %l2 = attn.attention ins(%o1, %x, %c : tensor<1x2x4x8xf64>, tensor<1x2x4x8xf64>, tensor<1x2x4x8xf64>)
    outs(%oi, %li : tensor<1x2x4x8xf64>, tensor<1x2x4xf64>)
  return %o2, %l2 : tensor<1x2x4x8xf64>, tensor<1x2x4xf64>
}

// What around an attention has gradients of its own.
// CHECK-LABEL: func.func @around_grad(
// CHECK:         %[[X:.+]] = attn.attention_grad
// CHECK:         %[[COLLAPSED:.+]] = tensor.collapse_shape
// CHECK:         %[[ZEROS:.+]] = linalg.fill
// CHECK:         %[[SLICE:.+]] = tensor.insert_slice %[[COLLAPSED]] into %[[ZEROS]][0, 0, 0] [1, %{{.+}}, 16] [1, 1, 1]
// CHECK:         %[[COS:.+]] = math.cos
// CHECK:         %[[G:.+]] = arith.mulf %[[SLICE]], %[[COS]]
// CHECK:         tensor.cast %[[G]]
func.func @around(%x: tensor<1x?x20xf32>, %k: tensor<1x?x2x8xf32>, %oi: tensor<1x?x2x8xf32>) -> tensor<1x?x2x8xf32> {
  %c1 = arith.constant 1 : index
  %d = tensor.dim %x, %c1 : tensor<1x?x20xf32>
  %cast = tensor.cast %x : tensor<1x?x20xf32> to tensor<?x?x20xf32>
  %y = math.sin %cast : tensor<?x?x20xf32>
  %s = tensor.extract_slice %y[0, 0, 0] [1, %d, 16] [1, 1, 1] : tensor<?x?x20xf32> to tensor<1x?x16xf32>
  %q = tensor.expand_shape %s [[0], [1], [2, 3]] output_shape [1, %d, 2, 8] : tensor<1x?x16xf32> into tensor<1x?x2x8xf32>
  %o = attn.attention layout(bshd) ins(%q, %k, %k : tensor<1x?x2x8xf32>, tensor<1x?x2x8xf32>, tensor<1x?x2x8xf32>)
    outs(%oi : tensor<1x?x2x8xf32>)
  return %o : tensor<1x?x2x8xf32>
}

// A slice that is put into a tensor has its part of the gradient, and the tensor the
// rest.
// CHECK-LABEL: func.func @put_grad(
// CHECK:         %[[PART:.+]] = tensor.extract_slice %[[ALL:.+]][0, 0, 0, 2] [1, 2, 4, 3] [1, 1, 1, 1] : tensor<1x2x4x8xf32> to tensor<1x2x4x3xf32>
// CHECK:         %[[REST:.+]] = tensor.insert_slice %{{.+}} into %[[ALL]][0, 0, 0, 2] [1, 2, 4, 3] [1, 1, 1, 1]
// CHECK:         return %[[REST]], %[[PART]]
func.func @put(%x: tensor<1x2x4x8xf32> {attn.name = "x"}, %y: tensor<1x2x4x3xf32> {attn.name = "y"}) -> tensor<1x2x4x8xf32> {
  %z = tensor.insert_slice %y into %x[0, 0, 0, 2] [1, 2, 4, 3] [1, 1, 1, 1] : tensor<1x2x4x3xf32> into tensor<1x2x4x8xf32>
  return %z : tensor<1x2x4x8xf32>
}

// A capture that only the mask reads has no gradient.
// CHECK-LABEL: func.func @limits_grad(
// CHECK-SAME:    -> (tensor<1x2x4x8xf32> {attn.name = "dx"}, tensor<4xf32> {attn.name = "dslopes"}) {
// CHECK:         attn.attention_grad wrt(q, k, v, 1)
func.func @limits(%x: tensor<1x2x4x8xf32> {attn.name = "x"}, %limits: tensor<4xf32> {attn.name = "limits"}, %slopes: tensor<4xf32> {attn.name = "slopes"},
    %oi: tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32> {
  %o = attn.attention ins(%x, %x, %x : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>)
      captures(%limits, %slopes : tensor<4xf32>, tensor<4xf32>) outs(%oi : tensor<1x2x4x8xf32>)
      score(%s, %b, %h, %i, %j, %l, %w) {
        %t = tensor.extract %w[%j] : tensor<4xf32>
        %y = arith.addf %s, %t : f32
        attn.yield %y : f32
      }
      mask(%b, %h, %i, %j, %l, %w) {
        %zero = arith.constant 0.0 : f32
        %t = tensor.extract %l[%j] : tensor<4xf32>
        %p = arith.cmpf ogt, %t, %zero : f32
        attn.yield %p : i1
      }
  return %o : tensor<1x2x4x8xf32>
}
