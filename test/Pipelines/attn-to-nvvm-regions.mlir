// Regions that a simple view of kernels would not have thought of.

// RUN: attn-opt %s --attn-to-nvvm --split-input-file | FileCheck %s

// With a factor of 1, what is added to the product is still added by threads.

// CHECK: llvm.func @unscaled(
// CHECK: %[[SUM:.*]] = llvm.fadd %[[S:.*]], %[[S]] {fastmathFlags = #llvm.fastmath<contract>} : f32
// CHECK: llvm.intr.minimum(%[[SUM]],
func.func @unscaled(%q: tensor<1x2x?x64xbf16>, %o: tensor<1x2x?x64xbf16>) -> tensor<1x2x?x64xbf16> {
  %r = attn.attention scale 1.0
      ins(%q, %q, %q : tensor<1x2x?x64xbf16>, tensor<1x2x?x64xbf16>, tensor<1x2x?x64xbf16>)
      outs(%o : tensor<1x2x?x64xbf16>)
      score(%s, %b, %h, %i, %j) {
        %c9 = arith.constant 9.0 : f32
        %t = arith.addf %s, %s : f32
        %y = arith.minimumf %t, %c9 : f32
        attn.yield %y : f32
      }
  return %r : tensor<1x2x?x64xbf16>
}

// -----

// Each tile has keys, which types tell.

// CHECK: llvm.func @heads(
// CHECK: wgmma.mma_async
func.func @heads(%q: tensor<1x8x2x64xbf16>, %o: tensor<1x8x2x64xbf16>) -> tensor<1x8x2x64xbf16> {
  %r = attn.attention
      ins(%q, %q, %q : tensor<1x8x2x64xbf16>, tensor<1x8x2x64xbf16>, tensor<1x8x2x64xbf16>)
      outs(%o : tensor<1x8x2x64xbf16>)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %h : index
        attn.yield %p : i1
      }
  return %r : tensor<1x8x2x64xbf16>
}

// -----

// An absolute value is the same for producer and consumers.

// CHECK: llvm.func @absolute(
// CHECK: wgmma.mma_async
func.func @absolute(%q: tensor<?x8x300x64xbf16>, %o: tensor<?x8x300x64xbf16>) -> tensor<?x8x300x64xbf16> {
  %r = attn.attention
      ins(%q, %q, %q : tensor<?x8x300x64xbf16>, tensor<?x8x300x64xbf16>, tensor<?x8x300x64xbf16>)
      outs(%o : tensor<?x8x300x64xbf16>)
      mask(%b, %h, %i, %j) {
        %distance = math.absi %b : index
        %p = arith.cmpi sge, %i, %distance : index
        attn.yield %p : i1
      }
  return %r : tensor<?x8x300x64xbf16>
}

// -----

// No pair is allowed: the kernel writes what a row without keys has.

// CHECK: llvm.func @nowhere(
// CHECK: llvm.return
func.func @nowhere(%q: tensor<?x8x1x64xbf16>, %k: tensor<?x1x1x64xbf16>, %o: tensor<?x8x1x64xbf16>) -> tensor<?x8x1x64xbf16> {
  %r = attn.attention
      ins(%q, %k, %k : tensor<?x8x1x64xbf16>, tensor<?x1x1x64xbf16>, tensor<?x1x1x64xbf16>)
      outs(%o : tensor<?x8x1x64xbf16>)
      mask(%b, %h, %i, %j) {
        %distance = math.absi %j : index
        %p = arith.cmpi ne, %distance, %i : index
        attn.yield %p : i1
      }
  return %r : tensor<?x8x1x64xbf16>
}

// -----

// Halves are compared as floats, each of a pair.

// CHECK: llvm.func @halves(
// CHECK: llvm.fcmp "ogt" %{{.*}}, %{{.*}} : f32
func.func @halves(%q: tensor<1x1x64x64xbf16>, %w: tensor<64x64xbf16>, %o: tensor<1x1x64x64xbf16>) -> tensor<1x1x64x64xbf16> {
  %r = attn.attention
      ins(%q, %q, %q : tensor<1x1x64x64xbf16>, tensor<1x1x64x64xbf16>, tensor<1x1x64x64xbf16>)
      captures(%w : tensor<64x64xbf16>)
      outs(%o : tensor<1x1x64x64xbf16>)
      mask(%b, %h, %i, %j, %c) {
        %zero = arith.constant 0.0 : bf16
        %x = tensor.extract %c[%i, %j] : tensor<64x64xbf16>
        %p = arith.cmpf ogt, %x, %zero : bf16
        attn.yield %p : i1
      }
  return %r : tensor<1x1x64x64xbf16>
}

// -----

// Each constant in a branch of a mask is one of the kernel, too.

// CHECK: llvm.func @unneeded(
// CHECK: nvvm.vote.sync ballot
func.func @unneeded(%q: tensor<?x1x1x24xbf16>, %k: tensor<1x1x1x24xbf16>, %v: tensor<1x1x1x24xbf16>, %c0: tensor<3xf32>, %c1: tensor<7xf32>) -> tensor<?x1x1x24xbf16> {
  %nb = arith.constant 0 : index
  %db = tensor.dim %q, %nb : tensor<?x1x1x24xbf16>
  %init = tensor.empty(%db) : tensor<?x1x1x24xbf16>
  %o = attn.attention ins(%q, %k, %v : tensor<?x1x1x24xbf16>, tensor<1x1x1x24xbf16>, tensor<1x1x1x24xbf16>)
      captures(%c0, %c1 : tensor<3xf32>, tensor<7xf32>) outs(%init : tensor<?x1x1x24xbf16>)
      mask(%b, %h, %i, %j, %w0, %w1) {
        %c0i = arith.constant 0 : index
        %zero = arith.constant 0.0 : f32
        %false = arith.constant false
        %x = tensor.extract %w0[%j] : tensor<3xf32>
        %p = arith.cmpf ogt, %x, %zero : f32
        %r = scf.if %p -> (i1) {
          scf.yield %false : i1
        } else {
          %y = tensor.extract %w1[%c0i] : tensor<7xf32>
          %a = arith.cmpf ogt, %y, %zero : f32
          %c = arith.cmpi sgt, %b, %c0i : index
          %d = arith.select %a, %false, %c : i1
          scf.yield %d : i1
        }
        attn.yield %r : i1
      }
  return %o : tensor<?x1x1x24xbf16>
}
