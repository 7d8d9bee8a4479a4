// RUN: attn-opt %s --attn-to-cpu | FileCheck %s
// RUN: attn-opt %s --attn-to-cpu="vector-bits=512 vector-registers=32 l1-bytes=49152" | FileCheck %s --check-prefix=WIDE
// RUN: attn-opt %s --attn-to-cpu="bounds-check" | FileCheck %s --check-prefix=BOUNDS

// Everything is in the LLVM dialect; the entry launches a worker and has a
// shape function. An attention on its own allocates nothing but scratch of workers.

// CHECK-NOT: {{func\.func|memref\.|arith\.|math\.|scf\.|vector\.|unrealized}}
// CHECK-LABEL: llvm.func @bias(
// CHECK-NOT: attn_rt_alloc
// CHECK: llvm.call @attn_rt_parallel
// CHECK: llvm.return %{{.*}} : i64
// CHECK-LABEL: llvm.func @bias.worker0(
// CHECK: llvm.call @attn_rt_alloc
// CHECK: llvm.call @attn_rt_next_task
// CHECK: vector<8xf32>
// CHECK-LABEL: llvm.func @bias.shapes(
// CHECK-SAME: -> !llvm.struct<(i1, i64, i64, {{.*}})> attributes {attn.constraints = ["{{.*}}expects k and v to have the same length
// CHECK-NOT: {{func\.func|memref\.|arith\.|math\.|scf\.|vector\.|unrealized}}

// WIDE: vector<16xf32>

// BOUNDS: module attributes {attn.sites = ["{{.*}}attn-to-cpu.mlir:[[#@LINE+21]]:14: error: expects an index below %1 in dimension 0 of 'w', but got %0"
func.func @bias(%q: tensor<?x4x?x16xbf16>, %k: tensor<?x2x?x16xbf16>, %v: tensor<?x2x?x16xbf16>,
                %w: tensor<?xf32> {attn.name = "w"}) -> tensor<?x4x?x16xbf16> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : tensor<?x4x?x16xbf16>
  %s = tensor.dim %q, %c2 : tensor<?x4x?x16xbf16>
  %o = call @attend(%q, %k, %v, %w, %b, %s)
      : (tensor<?x4x?x16xbf16>, tensor<?x2x?x16xbf16>, tensor<?x2x?x16xbf16>, tensor<?xf32>, index, index) -> tensor<?x4x?x16xbf16>
  return %o : tensor<?x4x?x16xbf16>
}

func.func private @attend(%q: tensor<?x4x?x16xbf16>, %k: tensor<?x2x?x16xbf16>, %v: tensor<?x2x?x16xbf16>,
                          %w: tensor<?xf32>, %b: index, %s: index) -> tensor<?x4x?x16xbf16> {
  %init = tensor.empty(%b, %s) : tensor<?x4x?x16xbf16>
  %o = attn.attention
      ins(%q, %k, %v : tensor<?x4x?x16xbf16>, tensor<?x2x?x16xbf16>, tensor<?x2x?x16xbf16>)
      captures(%w : tensor<?xf32>)
      outs(%init : tensor<?x4x?x16xbf16>)
      score(%x, %mb, %h, %i, %j, %c) {
        %t = math.tanh %x : f32
        %y = tensor.extract %c[%j] : tensor<?xf32>
        %z = arith.addf %t, %y : f32
        attn.yield %z : f32
      }
  return %o : tensor<?x4x?x16xbf16>
}
