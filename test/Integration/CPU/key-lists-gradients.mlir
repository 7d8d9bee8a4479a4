// Gradients of attention with lists of single keys are dense with a mask, in whatever
// form the attention itself runs.

// RUN: attn-run %s --target=cpu --grad=q,k,v,w --check '--arg=rows=blocks(0.2)' | FileCheck %s
// RUN: attn-run %s --target=cpu --grad=q,k,v,w --check '--arg=rows=blocks(0.2)' --sparsity=lists | FileCheck %s
// RUN: attn-run %s --target=cpu --grad=q,k,v,w --check '--arg=rows=blocks(0)' | FileCheck %s
// CHECK: {{^}}PASS{{$}}

// RUN: env ATTN_PTXAS=off ATTN_LIBCUDA=%fake_cuda attn-run %s --target=cuda --grad=q,k,v,w --explain=json | FileCheck %s --check-prefix=GPU
// RUN: env ATTN_PTXAS=off ATTN_LIBCUDA=%fake_cuda attn-run %s --target=cuda --grad=q,k,v,w --explain=json --sparsity=lists | FileCheck %s --check-prefix=GPU
// GPU: "schedule": "#hopper.schedule<{{.*}}order = [
// One kernel is for tensors of any strides.
// GPU: "schedule": "#hopper.schedule<{{.*}} strided, order = [

!q = tensor<1x4x50x16xbf16>
!k = tensor<1x2x60x16xbf16>
!rows = tensor<4x51xi32>
func.func @f(%q: !q, %k: !k, %v: !k, %rows: !rows, %columns: tensor<?xi32>, %w: tensor<4xf32>) -> (!q {attn.name = "o"}) {
  %init = tensor.empty() : !q
  %o = attn.attention ins(%q, %k, %v : !q, !k, !k)
      captures(%w : tensor<4xf32>)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : !rows, tensor<?xi32>)
      outs(%init : !q)
      score(%s, %b, %h, %i, %j, %wc) {
        %x = tensor.extract %wc[%h] : tensor<4xf32>
        %y = arith.mulf %s, %x : f32
        attn.yield %y : f32
      }
      mask(%b, %h, %i, %j, %wc) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %o : !q
}
