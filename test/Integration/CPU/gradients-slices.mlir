// Gradients through slices that are put together, as rotary embeddings make them:
// of both halves, and of the tensor that a slice is put into.

// RUN: attn-run %s --target=cpu --grad --check --arg=a=randn:9x16 --arg=k=randn:1x2x11x32 --arg=v=randn:1x2x11x32 --arg=rest=randn:1x2x9x32 --arg=do=randn:1x2x9x32 | FileCheck %s
// CHECK: da
// CHECK: drest
// CHECK: PASS

#all = affine_map<(b, h, i, d) -> (b, h, i, d)>
#row = affine_map<(b, h, i, d) -> (i, d)>
!q = tensor<1x2x?x32xf32>
!half = tensor<1x2x?x16xf32>

func.func @rotated(%rest: !q {attn.name = "rest"}, %a: tensor<?x16xf32> {attn.name = "a"}, %k: !q {attn.name = "k"}, %v: !q {attn.name = "v"}) -> (!q {attn.name = "o"}) {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %rest, %c2 : !q
  %low = tensor.extract_slice %rest[0, 0, 0, 0] [1, 2, %n, 16] [1, 1, 1, 1] : !q to !half
  %high = tensor.extract_slice %rest[0, 0, 0, 16] [1, 2, %n, 16] [1, 1, 1, 1] : !q to !half
  %e = tensor.empty(%n) : !half
  %turned = linalg.generic {indexing_maps = [#all, #all, #row, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%low, %high, %a : !half, !half, tensor<?x16xf32>) outs(%e : !half) {
    ^bb0(%x: f32, %y: f32, %angle: f32, %unused: f32):
      %cos = math.cos %angle : f32
      %sin = math.sin %angle : f32
      %p = arith.mulf %x, %cos : f32
      %r = arith.mulf %y, %sin : f32
      %z = arith.subf %p, %r : f32
      linalg.yield %z : f32
  } -> !half
  // Into what has a gradient, and into what has no contents.
  %first = tensor.insert_slice %turned into %rest[0, 0, 0, 0] [1, 2, %n, 16] [1, 1, 1, 1] : !half into !q
  %empty = tensor.empty(%n) : !q
  %part = tensor.insert_slice %high into %empty[0, 0, 0, 0] [1, 2, %n, 16] [1, 1, 1, 1] : !half into !q
  %second = tensor.insert_slice %turned into %part[0, 0, 0, 16] [1, 2, %n, 16] [1, 1, 1, 1] : !half into !q
  %sum = arith.addf %first, %second : !q
  %init = tensor.empty(%n) : !q
  %o = attn.attention ins(%sum, %k, %v : !q, !q, !q) outs(%init : !q)
  return %o : !q
}
