// Gradients of what has no elements, of no batches that share keys, and of what
// is not read.

// RUN: attn-run %s --entry=bias --grad --check --target=cpu --arg=q=randn:2x1x5x8 --arg=c=randn:0 | FileCheck %s
// RUN: attn-run %s --entry=batches --grad --check --target=cpu --arg=q=randn:0x3x5x8 --arg=k=randn:1x3x4x8 --arg=v=randn:1x3x4x8 | FileCheck %s
// RUN: attn-run %s --entry=batches --grad --target=cuda --emit=ptx --variant=all | FileCheck %s --check-prefix=PTX
// RUN: attn-run %s --entry=unread --grad --check --target=cpu --arg=c=randn:3 | FileCheck %s
// RUN: attn-run %s --entry=unread --grad --target=cuda --emit=ptx --variant=all | FileCheck %s --check-prefix=PTX
// RUN: attn-run %s --entry=unread --grad=v,c --target=cuda --emit=ptx --variant=all | FileCheck %s --check-prefix=PTX
// RUN: attn-run %s --entry=unread --grad=q --target=cuda --emit=ptx --variant=all | FileCheck %s --check-prefix=PTX
// CHECK: PASS
// PTX: .visible .entry

func.func @bias(%q: tensor<2x1x?x8xbf16>, %c: tensor<0xf32>) -> tensor<2x1x?x8xbf16> {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : tensor<2x1x?x8xbf16>
  %init = tensor.empty(%n) : tensor<2x1x?x8xbf16>
  %o = attn.attention ins(%q, %q, %q : tensor<2x1x?x8xbf16>, tensor<2x1x?x8xbf16>, tensor<2x1x?x8xbf16>)
      captures(%c : tensor<0xf32>) outs(%init : tensor<2x1x?x8xbf16>)
      score(%s, %b, %h, %i, %j, %a) {
        // A branch that is never taken, as nothing can be read.
        %never = arith.cmpi ult, %b, %b : index
        %t = scf.if %never -> f32 {
          %x = tensor.extract %a[%i] : tensor<0xf32>
          %y = arith.addf %s, %x : f32
          scf.yield %y : f32
        } else {
          scf.yield %s : f32
        }
        attn.yield %t : f32
      }
  return %o : tensor<2x1x?x8xbf16>
}

func.func @batches(%q: tensor<0x3x?x8xbf16>, %k: tensor<1x3x?x8xbf16>, %v: tensor<1x3x?x8xbf16>) -> tensor<0x3x?x8xbf16> {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : tensor<0x3x?x8xbf16>
  %init = tensor.empty(%n) : tensor<0x3x?x8xbf16>
  %o = attn.attention ins(%q, %k, %v : tensor<0x3x?x8xbf16>, tensor<1x3x?x8xbf16>, tensor<1x3x?x8xbf16>)
      outs(%init : tensor<0x3x?x8xbf16>)
      score(%s, %b, %h, %i, %j) {
        %t = math.tanh %s : f32
        attn.yield %t : f32
      }
  return %o : tensor<0x3x?x8xbf16>
}

// A capture that nothing reads has no adjoint, and a gradient of zeros.
func.func @unread(%q: tensor<1x1x1x8xbf16>, %k: tensor<1x1x1x8xbf16>, %v: tensor<1x1x1x8xbf16>, %c: tensor<?xf32>) -> tensor<1x1x1x8xbf16> {
  %init = tensor.empty() : tensor<1x1x1x8xbf16>
  %o = attn.attention ins(%q, %k, %v : tensor<1x1x1x8xbf16>, tensor<1x1x1x8xbf16>, tensor<1x1x1x8xbf16>)
      captures(%c : tensor<?xf32>)
      outs(%init : tensor<1x1x1x8xbf16>)
  return %o : tensor<1x1x1x8xbf16>
}
