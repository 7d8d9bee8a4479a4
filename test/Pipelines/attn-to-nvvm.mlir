// RUN: attn-opt %s --attn-to-nvvm -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: FileCheck %s --input-file=%t.mlir --check-prefix=LEFT
// RUN: attn-opt %s --attn-to-nvvm="accurate-tanh" -o %t.accurate.mlir
// RUN: FileCheck %s --input-file=%t.accurate.mlir --check-prefix=ACCURATE
// RUN: FileCheck %s --input-file=%t.accurate.mlir --check-prefix=LEFT

// A function with attention becomes a module of one kernel, which names what
// the caller passes; its shape function stays for the host.

// CHECK: gpu.module @bias.cuda
// CHECK: llvm.func @bias(
// CHECK-SAME: hopper.params = [{{.*}}kind = "map"
// CHECK-SAME: hopper.schedule = #hopper.schedule<
// CHECK-SAME: hopper.shared_bytes =
// CHECK-SAME: hopper.threads =
// CHECK-SAME: nvvm.kernel
// CHECK-DAG: wgmma.mma_async.sync.aligned
// CHECK-DAG: tanh.approx.f32
// CHECK-DAG: cp.async.shared.global
// CHECK: func.func @bias.shapes(
// CHECK-SAME: attn.constraints =
// CHECK-NOT: func.func @attend

// In the kernel, everything is in the LLVM and NVVM dialects.

// LEFT: gpu.module @bias.cuda {
// LEFT-NOT: {{ (attn|hopper|vector|arith|math|scf|affine|memref|cf|gpu)\.[a-z_.]+ [^=]}}
// LEFT-NOT: unrealized_conversion_cast
// LEFT: func.func

// ACCURATE-NOT: tanh.approx.f32
// ACCURATE: func.func @bias.shapes

func.func @bias(%q: tensor<?x4x?x128xbf16>, %k: tensor<?x2x?x128xbf16>, %v: tensor<?x2x?x128xbf16>,
                %w: tensor<?xf32> {attn.name = "w"}) -> tensor<?x4x?x128xbf16> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : tensor<?x4x?x128xbf16>
  %s = tensor.dim %q, %c2 : tensor<?x4x?x128xbf16>
  %o = call @attend(%q, %k, %v, %w, %b, %s)
      : (tensor<?x4x?x128xbf16>, tensor<?x2x?x128xbf16>, tensor<?x2x?x128xbf16>, tensor<?xf32>, index, index) -> tensor<?x4x?x128xbf16>
  return %o : tensor<?x4x?x128xbf16>
}

func.func private @attend(%q: tensor<?x4x?x128xbf16>, %k: tensor<?x2x?x128xbf16>, %v: tensor<?x2x?x128xbf16>,
                          %w: tensor<?xf32>, %b: index, %s: index) -> tensor<?x4x?x128xbf16> {
  %init = tensor.empty(%b, %s) : tensor<?x4x?x128xbf16>
  %o = attn.attention
      ins(%q, %k, %v : tensor<?x4x?x128xbf16>, tensor<?x2x?x128xbf16>, tensor<?x2x?x128xbf16>)
      captures(%w : tensor<?xf32>)
      outs(%init : tensor<?x4x?x128xbf16>)
      score(%x, %mb, %h, %i, %j, %c) {
        %t = math.tanh %x : f32
        %y = tensor.extract %c[%j] : tensor<?xf32>
        %z = arith.addf %t, %y : f32
        attn.yield %z : f32
      }
      mask(%mb, %h, %i, %j, %c) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %o : tensor<?x4x?x128xbf16>
}
