// Code for a GPU needs none to be made.

// RUN: attn-run %s --emit=ptx > %t.ptx
// RUN: FileCheck %s --input-file=%t.ptx --check-prefix=PTX
// Two products for the first tile of keys and two in the loop, of 128 / 16
// instructions each; the last warpgroup waits for them as the others do.
// RUN: grep -o wgmma.mma_async %t.ptx | grep -c . | FileCheck %s --check-prefix=PRODUCTS
// RUN: grep -c setmaxnreg %t.ptx | FileCheck %s --check-prefix=ROLES
// Queries, keys and values come in chunks of 64 columns, results leave so.
// RUN: grep -c 'cp.async.bulk.tensor.4d.shared::cluster.global' %t.ptx | FileCheck %s --check-prefix=LOADS
// RUN: grep -c 'cp.async.bulk.tensor.4d.global.shared::cta' %t.ptx | FileCheck %s --check-prefix=STORES

// PTX:       .target sm_90a
// PTX:       .extern .shared .align 1024 .b8 attn_shared[]
// PTX:       .visible .entry attn(
// Maps by value.
// PTX-COUNT-4: .param .align 64 .b8 attn_param_{{[0-9]+}}[128]
// PTX:       .maxntid 384
// Pointers into shared memory have 32 bits, whatever the tool has made of the
// options of LLVM.
// PTX:       mov.b32 %r{{[0-9]+}}, attn_shared;

// PRODUCTS:  {{^}}32{{$}}
// ROLES:     {{^}}2{{$}}
// LOADS:     {{^}}10{{$}}
// STORES:    {{^}}2{{$}}

// RUN: attn-run %s --emit=ptx --target=auto --emit-to=%t.2.ptx | count 0
// RUN: diff %t.ptx %t.2.ptx

// RUN: attn-run %s --emit=llvm --target=cuda | FileCheck %s --check-prefix=LLVM
// LLVM:      target triple = "nvptx64-nvidia-cuda"
// LLVM:      define ptx_kernel void @attn(
// RUN: attn-run %S/Inputs/tiny.mlir --emit=llvm | FileCheck %s --check-prefix=HOST
// HOST:      define {{.*}}i64 @attn.run(
// RUN: not attn-run %s --emit=llvm 2>&1 | FileCheck %s --check-prefix=SCHEDULE
// SCHEDULE:  emit.mlir:{{[0-9]+}}:{{[0-9]+}}: error: expects a #attn.schedule for a CPU, but got #hopper.schedule<tile_m = 128,{{.*}}>; leave it out, and the compiler chooses one

// RUN: env ATTN_PTXAS=off not attn-run %s --emit=cubin 2>&1 | FileCheck %s --check-prefix=NO-PTXAS
// NO-PTXAS:  error: expects ptxas for --emit=cubin, but ATTN_PTXAS is off; --emit=ptx needs none
// RUN: env ATTN_PTXAS=/nonexistent not attn-run %s --emit=cubin 2>&1 | FileCheck %s --check-prefix=BAD-PTXAS
// BAD-PTXAS: error: expects ATTN_PTXAS to name a program, but got '/nonexistent'

// RUN: not attn-run %s --emit=ptx --emit-to=%t.none/file 2>&1 | FileCheck %s --check-prefix=BAD-FILE
// BAD-FILE:  attn-run: error: cannot write '{{.*}}file': No such file or directory

// RUN: attn-run %s --target=cuda --until-after=attn-hopper-lower | FileCheck %s --check-prefix=LOWERED
// LOWERED:   gpu.module @attn.cuda
// LOWERED:   hopper.grid = {dims = array<i64: 0, 1, 2>, key_dim = 2 : i64, key_operand = 1 : i64, operand = 3 : i64}
// LOWERED:   scf.for
// RUN: attn-run %s --target=cuda --until-after=hopper-assign-layouts | FileCheck %s --check-prefix=LAYOUTS
// LAYOUTS:   #accumulator = #hopper.layout<accumulator>
// LAYOUTS:   hopper.mma {{.*}} -> <tensor<128x64xf32, #accumulator>>
// RUN: not attn-run %s --target=cuda --until-after=attn-bufferize 2>&1 | FileCheck %s --check-prefix=PASS
// PASS:      unknown pass 'attn-bufferize': expects 'inline', {{.*}}'attn-hopper-lower'

func.func @attn(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>,
                %v: tensor<?x?x?x128xbf16>)
    -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %batch = tensor.dim %q, %c0 : tensor<?x?x?x128xbf16>
  %heads = tensor.dim %q, %c1 : tensor<?x?x?x128xbf16>
  %rows = tensor.dim %q, %c2 : tensor<?x?x?x128xbf16>
  %init = tensor.empty(%batch, %heads, %rows) : tensor<?x?x?x128xbf16>
  %lse_init = tensor.empty(%batch, %heads, %rows) : tensor<?x?x?xf32>
  %o, %lse = attn.attention
      schedule #hopper.schedule<tile_m = 128, tile_n = 128, stages = 2, registers = 240,
                                head_swizzle = 8, longest_first, persistent, ping_pong, q_in_registers>
      ins(%q, %k, %v : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>,
                       tensor<?x?x?x128xbf16>)
      outs(%init, %lse_init : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
      mask(%b, %h, %i, %j) {
    %p = arith.cmpi sle, %j, %i : index
    attn.yield %p : i1
  }
  return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}
