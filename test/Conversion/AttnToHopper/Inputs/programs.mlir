// One program for each kind of schedule.

// A kernel of one tile for each thread block; results lie where queries were.
func.func @plain(%q: tensor<2x4x?x64xbf16>, %k: tensor<2x2x?x64xbf16>, %v: tensor<2x2x?x64xbf16>, %o: tensor<2x4x?x64xbf16>) -> tensor<2x4x?x64xbf16> {
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 64, registers = 240, ping_pong>
      ins(%q, %k, %v : tensor<2x4x?x64xbf16>, tensor<2x2x?x64xbf16>, tensor<2x2x?x64xbf16>)
      outs(%o : tensor<2x4x?x64xbf16>)
  return %r : tensor<2x4x?x64xbf16>
}

// One consumer, and more stages; values of another extent.
func.func @narrow(%q: tensor<1x4x?x64xf16>, %k: tensor<1x4x?x64xf16>, %v: tensor<1x4x?x32xf16>, %o: tensor<1x4x?x32xf16>) -> tensor<1x4x?x32xf16> {
  %r = attn.attention schedule #hopper.schedule<tile_m = 64, tile_n = 16, stages = 4, registers = 240>
      ins(%q, %k, %v : tensor<1x4x?x64xf16>, tensor<1x4x?x64xf16>, tensor<1x4x?x32xf16>)
      outs(%o : tensor<1x4x?x32xf16>)
  return %r : tensor<1x4x?x32xf16>
}

// Tile after tile, three consumers that take turns.
func.func @persistent(%q: tensor<?x4x?x64xbf16>, %k: tensor<?x2x?x64xbf16>, %v: tensor<?x2x?x64xbf16>, %o: tensor<?x4x?x64xbf16>) -> tensor<?x4x?x64xbf16> {
  %r = attn.attention schedule #hopper.schedule<tile_m = 192, tile_n = 128, registers = 160, head_group = 8, reverse, persistent, ping_pong>
      ins(%q, %k, %v : tensor<?x4x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>)
      outs(%o : tensor<?x4x?x64xbf16>)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %r : tensor<?x4x?x64xbf16>
}

// Queries in registers, one stage, one batch, and a range of keys that depends
// on the queries and on a capture.
func.func @window(%q: tensor<1x4x?x64xbf16>, %k: tensor<1x4x?x64xbf16>, %v: tensor<1x4x?x64xbf16>, %o: tensor<1x4x?x64xbf16>, %size: index) -> tensor<1x4x?x64xbf16> {
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 64, stages = 1, registers = 232, persistent, q_in_registers>
      ins(%q, %k, %v : tensor<1x4x?x64xbf16>, tensor<1x4x?x64xbf16>, tensor<1x4x?x64xbf16>)
      captures(%size : index)
      outs(%o : tensor<1x4x?x64xbf16>)
      mask(%b, %h, %i, %j, %s) {
        %end = arith.addi %j, %s : index
        %p = arith.cmpi sle, %j, %i : index
        %q0 = arith.cmpi slt, %i, %end : index
        %and = arith.andi %p, %q0 : i1
        attn.yield %and : i1
      }
  return %r : tensor<1x4x?x64xbf16>
}
