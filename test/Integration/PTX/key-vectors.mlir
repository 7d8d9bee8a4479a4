// What scores and masks read of a capture for each key comes with the block of
// keys it is of, whatever its element type. Flags come as bits: one warp votes,
// and 32 columns are a word. Blocks of 80 and 96 keys have half a word and
// three; the last block ends behind the last key.

// REQUIRES: numpy
// UNSUPPORTED: sanitizer

// DEFINE: %{run} = %python %S/Inputs/run_kernel.py %s --arg=q=randn:2x1x100x32 --arg=k=randn:2x1x230x32
// DEFINE: %{flags} = %{run} --entry=flags --arg=c0='randint(0,2):2x230'
// DEFINE: %{small} = %{run} --entry=small --arg=c0=randn:230 --arg=c1=randn:230 --arg=c2='randint(-3,4):230' --arg=c3='randint(-3,4):230' --arg=c4='randint(0,2):230'
// DEFINE: %{wide} = %{run} --entry=wide --arg=c0='randint(0,3):230' --arg=c1=randn:230
// DEFINE: %{s64} = --schedule '#hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 120, persistent>'
// DEFINE: %{s80} = --schedule '#hopper.schedule<tile_m = 128, tile_n = 80, stages = 2, registers = 232, ping_pong>'
// DEFINE: %{s96} = --schedule '#hopper.schedule<tile_m = 192, tile_n = 96, stages = 2, registers = 160>'
// RUN: %{flags} %{s64}
// RUN: %{flags} %{s80}
// RUN: %{flags} %{s96}
// RUN: %{run} --entry=flags --arg=c0='full(1):2x230' %{s64}
// RUN: %{small} %{s64}
// RUN: %{small} %{s80}
// RUN: %{small} %{s96}
// RUN: %{wide} %{s64}
// RUN: %{wide} %{s80}

// Three loads for 80 keys, and tests of constant bits.
// RUN: attn-run %s --entry=flags --target=cuda --emit=ptx --schedule='#hopper.schedule<tile_m = 128, tile_n = 80, stages = 2, registers = 232>' | FileCheck %s
// CHECK: .visible .entry flags(
// CHECK-COUNT-20: and.b32 t
// CHECK-COUNT-3: ld.global.nc.u8
// CHECK-COUNT-3: vote.sync.ballot

// Nothing is read for each column of a thread.
// RUN: attn-run %s --entry=small --target=cuda --emit=ptx --schedule='#hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 232>' | FileCheck %s --check-prefix=SMALL
// SMALL-COUNT-20: ld.global.nc
// SMALL-NOT: ld.global

!t = tensor<?x?x?x32xbf16>

func.func @flags(%q: !t, %k: !t, %v: !t, %c0: tensor<?x?xi1>) -> (!t {attn.name = "o"}) {
  %i0 = arith.constant 0 : index
  %i1 = arith.constant 1 : index
  %i2 = arith.constant 2 : index
  %b = tensor.dim %q, %i0 : !t
  %h = tensor.dim %q, %i1 : !t
  %s = tensor.dim %q, %i2 : !t
  %init = tensor.empty(%b, %h, %s) : !t
  %o = attn.attention scale 0.2 ins(%q, %k, %v : !t, !t, !t)
      captures(%c0 : tensor<?x?xi1>) outs(%init : !t)
      mask(%batch, %head, %i, %j, %r0) {
        %flag = tensor.extract %r0[%batch, %j] : tensor<?x?xi1>
        attn.yield %flag : i1
      }
  return %o : !t
}

func.func @small(%q: !t, %k: !t, %v: !t, %c0: tensor<?xbf16>, %c1: tensor<?xf16>, %c2: tensor<?xi8>, %c3: tensor<?xi16>, %c4: tensor<?xi1>) -> (!t {attn.name = "o"}) {
  %i0 = arith.constant 0 : index
  %i1 = arith.constant 1 : index
  %i2 = arith.constant 2 : index
  %b = tensor.dim %q, %i0 : !t
  %h = tensor.dim %q, %i1 : !t
  %s = tensor.dim %q, %i2 : !t
  %init = tensor.empty(%b, %h, %s) : !t
  %o = attn.attention scale 0.2 ins(%q, %k, %v : !t, !t, !t)
      captures(%c0, %c1, %c2, %c3, %c4 : tensor<?xbf16>, tensor<?xf16>, tensor<?xi8>, tensor<?xi16>, tensor<?xi1>) outs(%init : !t)
      score(%x, %batch, %head, %i, %j, %r0, %r1, %r2, %r3, %r4) {
        %a = tensor.extract %r0[%j] : tensor<?xbf16>
        %b0 = tensor.extract %r1[%j] : tensor<?xf16>
        %c = tensor.extract %r2[%j] : tensor<?xi8>
        %d = tensor.extract %r3[%j] : tensor<?xi16>
        %p = tensor.extract %r4[%j] : tensor<?xi1>
        %fa = arith.extf %a : bf16 to f32
        %fb = arith.extf %b0 : f16 to f32
        %fc = arith.sitofp %c : i8 to f32
        %fd = arith.sitofp %d : i16 to f32
        %0 = arith.mulf %x, %fa : f32
        %1 = arith.addf %0, %fb : f32
        %2 = arith.addf %1, %fc : f32
        %3 = arith.subf %2, %fd : f32
        %4 = arith.select %p, %3, %x : f32
        attn.yield %4 : f32
      }
  return %o : !t
}

func.func @wide(%q: !t, %k: !t, %v: !t, %c0: tensor<?xi64>, %c1: tensor<?xf64>) -> (!t {attn.name = "o"}) {
  %i0 = arith.constant 0 : index
  %i1 = arith.constant 1 : index
  %i2 = arith.constant 2 : index
  %b = tensor.dim %q, %i0 : !t
  %h = tensor.dim %q, %i1 : !t
  %s = tensor.dim %q, %i2 : !t
  %init = tensor.empty(%b, %h, %s) : !t
  %o = attn.attention scale 0.2 ins(%q, %k, %v : !t, !t, !t)
      captures(%c0, %c1 : tensor<?xi64>, tensor<?xf64>) outs(%init : !t)
      score(%x, %batch, %head, %i, %j, %r0, %r1) {
        %a = tensor.extract %r1[%j] : tensor<?xf64>
        %fa = arith.truncf %a : f64 to f32
        %0 = arith.mulf %x, %fa : f32
        attn.yield %0 : f32
      }
      mask(%batch, %head, %i, %j, %r0, %r1) {
        %a = tensor.extract %r0[%i] : tensor<?xi64>
        %b0 = tensor.extract %r0[%j] : tensor<?xi64>
        %same = arith.cmpi eq, %a, %b0 : i64
        attn.yield %same : i1
      }
  return %o : !t
}
