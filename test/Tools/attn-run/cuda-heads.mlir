// Heads that share keys: a launch takes the variant whose tiles have several of
// them where queries are few, and a remark tells whether there is one.

// RUN: env ATTN_LIBCUDA=%fake_cuda ATTN_PTXAS=off attn-run %s --target=cuda --arg=q=randn:16x8x1x64 --arg=k=randn:16x2x500x64 --arg=v=randn:16x2x500x64 --format=json | FileCheck %s
// CHECK:      "schedule": "#hopper.schedule<tile_m = 192,
// CHECK:      "schedule": "#hopper.schedule<tile_m = 64, {{.*}}, pack_gqa>"
// CHECK:      remark: pack-gqa: where queries are few, tiles have those of several heads, whose keys are read once"

// None do where each has keys of its own.

// RUN: sed 's/x2x?x64/x8x?x64/g' %s > %t.mlir
// RUN: env ATTN_LIBCUDA=%fake_cuda ATTN_PTXAS=off attn-run %t.mlir --target=cuda --format=json | FileCheck %s --check-prefix=ALONE
// ALONE-NOT:  pack_gqa
// ALONE-NOT:  pack-gqa

func.func @decode(%q: tensor<?x8x?x64xbf16>, %k: tensor<?x2x?x64xbf16>, %v: tensor<?x2x?x64xbf16>)
    -> (tensor<?x8x?x64xbf16> {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : tensor<?x8x?x64xbf16>
  %s = tensor.dim %q, %c2 : tensor<?x8x?x64xbf16>
  %init = tensor.empty(%b, %s) : tensor<?x8x?x64xbf16>
  %o = attn.attention ins(%q, %k, %v : tensor<?x8x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>)
      outs(%init : tensor<?x8x?x64xbf16>)
  return %o : tensor<?x8x?x64xbf16>
}
