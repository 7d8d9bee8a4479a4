// A mask that is evaluated where it is not known of all pairs of a tile: blocks
// of positions by a number of the call, and some more by a table. Work tiles have
// parts of 64 queries, of which more may be known than of all. A dense mask has
// blocks with all pairs, with none and with some, of which one differs in its last
// row and key alone; blocks at the end have fewer rows and keys than a thread takes
// at once.

// REQUIRES: numpy
// UNSUPPORTED: sanitizer
// RUN: %python -c "import numpy as n; m = n.random.default_rng(0).random((195, 258)) < 0.5; m[:64, :64] = m[64:128, 64:128] = True; m[:64, 128:192] = m[64:128, :64] = m[128:192, 192:] = False; m[192:] = m[:, 256:] = True; m[127, 127] = False; m[127, 63] = True; n.save(r'%t.dense.npy', m)"
// RUN: %python -c "import numpy as n; n.save(r'%t.id.npy', n.repeat(n.arange(9), [32, 1, 31, 63, 1, 60, 1, 3, 66])[:195].astype('i4')); n.save(r'%t.see.npy', n.random.default_rng(0).random((9, 9)) < 0.4)"
// RUN: split-file %s %t
// RUN: %python %S/Inputs/run_kernel.py %t/blocks.mlir --arg=q=randn:1x4x330x64 --arg=k=randn:1x4x330x64 --arg=v=randn:1x4x330x64 --arg=t='randint(0,2):8x8' --arg=n=64 --schedule '#hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 208>'
// RUN: %python %S/Inputs/run_kernel.py %t/blocks.mlir --arg=q=randn:1x4x330x64 --arg=k=randn:1x4x330x64 --arg=v=randn:1x4x330x64 --arg=t='full(1):8x8' --arg=n=64 --schedule '#hopper.schedule<tile_m = 192, tile_n = 64, stages = 2, registers = 152>'
// RUN: %python %S/Inputs/run_kernel.py %t/blocks.mlir --arg=q=randn:1x4x130x64 --arg=k=randn:1x4x200x64 --arg=v=randn:1x4x200x64 --arg=t='randint(0,2):8x8' --arg=n=25 --schedule '#hopper.schedule<tile_m = 64, tile_n = 128, stages = 2, registers = 208>'
// RUN: %python %S/Inputs/run_kernel.py %t/dense.mlir --arg=q=randn:1x1x195x64 --arg=k=randn:1x1x258x64 --arg=v=randn:1x1x258x64 --arg=m=%t.dense.npy --arg=n=0 --schedule '#hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 208>'
// RUN: %python %S/Inputs/run_kernel.py %t/dense.mlir --arg=q=randn:1x1x195x64 --arg=k=randn:1x1x258x64 --arg=v=randn:1x1x258x64 --arg=m=%t.dense.npy --arg=n=130 --schedule '#hopper.schedule<tile_m = 64, tile_n = 128, stages = 2, registers = 208>'
// RUN: %python %S/Inputs/run_kernel.py %t/dense.mlir --arg=q=randn:1x1x66x64 --arg=k=randn:1x1x3x64 --arg=v=randn:1x1x3x64 --arg=m='full(1):66x3' --arg=n=-9223372036854775808 --schedule '#hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 208>'
// RUN: %python %S/Inputs/run_kernel.py %t/dense.mlir --arg=q=randn:1x1x66x64 --arg=k=randn:1x1x70x64 --arg=v=randn:1x1x70x64 --arg=m='full(0):66x70' --arg=n=4294967296 --schedule '#hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 208>'
// RUN: %python %S/Inputs/run_kernel.py %t/see.mlir --arg=q=randn:1x1x195x64 --arg=id=%t.id.npy --arg=see=%t.see.npy --schedule '#hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 208>'
// RUN: %python %S/Inputs/run_kernel.py %t/see.mlir --arg=q=randn:1x1x195x64 --arg=id='randint(0,9)' --arg=see=%t.see.npy --schedule '#hopper.schedule<tile_m = 64, tile_n = 128, stages = 2, registers = 208>'
// RUN: %python %S/Inputs/run_kernel.py %t/see.mlir --arg=q=randn:1x1x33x64 --arg=id='randint(0,2)' --arg=see=%t.see.npy --schedule '#hopper.schedule<tile_m = 64, tile_n = 96, stages = 2, registers = 208>'

//--- blocks.mlir
func.func @blocks(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %t: tensor<?x?xi1>, %n: index)
    -> (tensor<?x?x?x64xbf16> {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n0 = tensor.dim %q, %c0 : tensor<?x?x?x64xbf16>
  %n1 = tensor.dim %q, %c1 : tensor<?x?x?x64xbf16>
  %n2 = tensor.dim %q, %c2 : tensor<?x?x?x64xbf16>
  %init = tensor.empty(%n0, %n1, %n2) : tensor<?x?x?x64xbf16>
  %o = attn.attention
      ins(%q, %k, %v : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>)
      captures(%t, %n : tensor<?x?xi1>, index)
      outs(%init : tensor<?x?x?x64xbf16>)
      mask(%b, %h, %i, %j, %tt, %nn) {
        %one = arith.constant 1 : index
        %zero = arith.constant 0 : index
        %row = arith.divui %i, %nn : index
        %column = arith.divui %j, %nn : index
        %difference = arith.subi %row, %column : index
        %distance = math.absi %difference : index
        %near = arith.cmpi sle, %distance, %one : index
        %first = arith.cmpi eq, %row, %zero : index
        %both = arith.ori %near, %first : i1
        %more = tensor.extract %tt[%row, %column] : tensor<?x?xi1>
        %p = arith.ori %both, %more : i1
        attn.yield %p : i1
      }
  return %o : tensor<?x?x?x64xbf16>
}

//--- dense.mlir
!t = tensor<?x?x?x64xbf16>

func.func @dense(%q: !t, %k: !t, %v: !t, %m: tensor<?x?xi1>, %n: index) -> (!t {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !t
  %h = tensor.dim %q, %c1 : !t
  %s = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%b, %h, %s) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t)
      captures(%m, %n : tensor<?x?xi1>, index) outs(%init : !t)
      mask(%b0, %h0, %i, %j, %w, %behind) {
        %x = tensor.extract %w[%i, %j] : tensor<?x?xi1>
        %is = arith.cmpi sge, %j, %behind : index
        %p = arith.andi %x, %is : i1
        attn.yield %p : i1
      }
  return %o : !t
}

//--- see.mlir
!t = tensor<?x?x?x64xbf16>

func.func @see(%q: !t, %id: tensor<?xi32>, %see: tensor<?x?xi1>) -> (!t {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !t
  %h = tensor.dim %q, %c1 : !t
  %s = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%b, %h, %s) : !t
  %o = attn.attention ins(%q, %q, %q : !t, !t, !t)
      captures(%id, %see : tensor<?xi32>, tensor<?x?xi1>) outs(%init : !t)
      mask(%b0, %h0, %i, %j, %w, %t) {
        %x = tensor.extract %w[%i] : tensor<?xi32>
        %y = tensor.extract %w[%j] : tensor<?xi32>
        %row = arith.index_cast %x : i32 to index
        %column = arith.index_cast %y : i32 to index
        %p = tensor.extract %t[%row, %column] : tensor<?x?xi1>
        attn.yield %p : i1
      }
  return %o : !t
}
