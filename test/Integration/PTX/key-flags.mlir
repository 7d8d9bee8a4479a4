// Flags of keys that a mask reads come as bits, with the block they are of:
// one warp votes, and 32 columns are a word. Blocks of 80 and 96 keys have
// half a word and three; the last block ends behind the last key.

// REQUIRES: numpy
// UNSUPPORTED: sanitizer

// DEFINE: %{run} = %python %S/Inputs/run_kernel.py %s --arg=q=randn:2x1x100x32 --arg=k=randn:2x1x230x32
// RUN: %{run} --arg=flags='randint(0,2):2x230' --schedule '#hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 120, persistent>'
// RUN: %{run} --arg=flags='randint(0,2):2x230' --schedule '#hopper.schedule<tile_m = 128, tile_n = 80, stages = 2, registers = 232, ping_pong>'
// RUN: %{run} --arg=flags='randint(0,2):2x230' --schedule '#hopper.schedule<tile_m = 192, tile_n = 96, stages = 2, registers = 160>'
// RUN: %{run} --arg=flags='full(1):2x230' --schedule '#hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 120>'

// Three loads for 80 keys, and tests of constant bits.
// RUN: attn-run %s --target=cuda --emit=ptx --schedule='#hopper.schedule<tile_m = 128, tile_n = 80, stages = 2, registers = 232>' | FileCheck %s
// CHECK: .visible .entry attention(
// CHECK-COUNT-20: and.b32 t
// CHECK-COUNT-3: ld.global.nc.u8
// CHECK-COUNT-3: vote.sync.ballot

func.func @attention(%q: tensor<?x?x?x32xbf16>, %k: tensor<?x?x?x32xbf16>, %v: tensor<?x?x?x32xbf16>, %flags: tensor<?x?xi1>)
    -> (tensor<?x?x?x32xbf16> {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : tensor<?x?x?x32xbf16>
  %h = tensor.dim %q, %c1 : tensor<?x?x?x32xbf16>
  %s = tensor.dim %q, %c2 : tensor<?x?x?x32xbf16>
  %init = tensor.empty(%b, %h, %s) : tensor<?x?x?x32xbf16>
  %o = attn.attention scale 0.2
      ins(%q, %k, %v : tensor<?x?x?x32xbf16>, tensor<?x?x?x32xbf16>, tensor<?x?x?x32xbf16>)
      captures(%flags : tensor<?x?xi1>)
      outs(%init : tensor<?x?x?x32xbf16>)
      mask(%batch, %head, %i, %j, %of) {
        %flag = tensor.extract %of[%batch, %j] : tensor<?x?xi1>
        attn.yield %flag : i1
      }
  return %o : tensor<?x?x?x32xbf16>
}
