// A mask that is evaluated where it is not known of all pairs of a tile: blocks
// of positions by a number of the call, and some more by a table. Work tiles have
// parts of 64 queries, of which more may be known than of all.

// REQUIRES: numpy
// UNSUPPORTED: sanitizer
// RUN: %python %S/Inputs/run_kernel.py %s --arg=q=randn:1x4x330x64 --arg=k=randn:1x4x330x64 --arg=v=randn:1x4x330x64 --arg=t='randint(0,2):8x8' --arg=n=64 --schedule '#hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 208>'
// RUN: %python %S/Inputs/run_kernel.py %s --arg=q=randn:1x4x330x64 --arg=k=randn:1x4x330x64 --arg=v=randn:1x4x330x64 --arg=t='full(1):8x8' --arg=n=64 --schedule '#hopper.schedule<tile_m = 192, tile_n = 64, stages = 2, registers = 152>'
// RUN: %python %S/Inputs/run_kernel.py %s --arg=q=randn:1x4x130x64 --arg=k=randn:1x4x200x64 --arg=v=randn:1x4x200x64 --arg=t='randint(0,2):8x8' --arg=n=25 --schedule '#hopper.schedule<tile_m = 64, tile_n = 128, stages = 2, registers = 208>'
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
