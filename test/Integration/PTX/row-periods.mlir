// Quotients and remainders of queries by a number that divides a tile's rows,
// but not those of a warpgroup, which computes its rows by itself: grids of 128
// columns with tiles of 128 queries, and of 96 with tiles of 192.

// REQUIRES: numpy
// UNSUPPORTED: sanitizer
// RUN: split-file %s %t
// RUN: %python %S/Inputs/run_kernel.py %t/neighbours.mlir --arg=q=randn:1x1x512x64 --schedule '#hopper.schedule<tile_m = 128, tile_n = 128, stages = 2, registers = 208>'
// RUN: %python %S/Inputs/run_kernel.py %t/columns.mlir --arg=q=randn:1x1x400x64 --schedule '#hopper.schedule<tile_m = 192, tile_n = 64, stages = 2, registers = 160>'

//--- neighbours.mlir
!t = tensor<?x?x?x64xbf16>

// Three rows of the grid, and thirteen columns.
func.func @neighbours(%q: !t, %k: !t, %v: !t) -> (!t {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !t
  %h = tensor.dim %q, %c1 : !t
  %s = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%b, %h, %s) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
      mask(%b0, %h0, %i, %j) {
        %one = arith.constant 1 : index
        %six = arith.constant 6 : index
        %columns = arith.constant 128 : index
        %iy = arith.divui %i, %columns : index
        %jy = arith.divui %j, %columns : index
        %dy = arith.subi %iy, %jy : index
        %ay = math.absi %dy : index
        %ny = arith.cmpi sle, %ay, %one : index
        %ix = arith.remui %i, %columns : index
        %jx = arith.remui %j, %columns : index
        %dx = arith.subi %ix, %jx : index
        %ax = math.absi %dx : index
        %nx = arith.cmpi sle, %ax, %six : index
        %near = arith.andi %ny, %nx : i1
        attn.yield %near : i1
      }
  return %o : !t
}

//--- columns.mlir
!t = tensor<?x?x?x64xbf16>

func.func @columns(%q: !t, %k: !t, %v: !t) -> (!t {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !t
  %h = tensor.dim %q, %c1 : !t
  %s = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%b, %h, %s) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
      score(%x, %b0, %h0, %i, %j) {
        %columns = arith.constant 96 : index
        %r = arith.remui %i, %columns : index
        %m = arith.divui %i, %columns : index
        %d = arith.subi %j, %r : index
        %e = arith.addi %d, %m : index
        %n = arith.index_cast %e : index to i32
        %f = arith.sitofp %n : i32 to f32
        %scale = arith.constant 0.01 : f32
        %y = arith.mulf %f, %scale : f32
        %z = math.absf %y : f32
        %w = arith.addf %x, %z : f32
        attn.yield %w : f32
      }
  return %o : !t
}
