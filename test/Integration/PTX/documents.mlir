// Numbers of documents come by key for blocks that a predicate is computed for:
// for none, where all blocks are full, for all, and for some, with a first block
// of either kind.

// REQUIRES: numpy
// UNSUPPORTED: sanitizer
// RUN: %python -c "import numpy; numpy.save(r'%t.npy', numpy.repeat(numpy.arange(4), [128, 256, 200, 56])[None].astype('i4'))"
// RUN: %python %S/Inputs/run_kernel.py %s --blocks 2 --arg=q=randn:1x2x640x64 --arg=ids="randint(0,1)"
// RUN: %python %S/Inputs/run_kernel.py %s --blocks 2 --arg=q=randn:1x2x640x64 --arg=ids=%t.npy
// RUN: %python %S/Inputs/run_kernel.py %s --arg=q=randn:1x2x150x64 --arg=ids="randint(0,9)"
// RUN: %python %S/Inputs/run_kernel.py %s --blocks 2 --arg=q=randn:1x2x640x64 --arg=ids=%t.npy --schedule '#hopper.schedule<tile_m = 128, tile_n = 128, stages = 4, registers = 208, head_swizzle = 1, zigzag, persistent, ping_pong>'
// RUN: %python %S/Inputs/run_kernel.py %s --blocks 2 --arg=q=randn:1x2x640x64 --arg=ids="randint(0,1)" --schedule '#hopper.schedule<tile_m = 128, tile_n = 80, stages = 4, registers = 208, head_swizzle = 1, zigzag, persistent, ping_pong>'

!t = tensor<?x?x?x64xbf16>

func.func @documents(%q: !t, %k: !t, %v: !t, %ids: tensor<?x?xi32>) -> (!t {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !t
  %h = tensor.dim %q, %c1 : !t
  %s = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%b, %h, %s) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t)
      captures(%ids : tensor<?x?xi32>) outs(%init : !t)
      mask(%b0, %h0, %i, %j, %w) {
        %mine = tensor.extract %w[%b0, %i] : tensor<?x?xi32>
        %other = tensor.extract %w[%b0, %j] : tensor<?x?xi32>
        %p = arith.cmpi eq, %mine, %other : i32
        attn.yield %p : i1
      }
  return %o : !t
}
