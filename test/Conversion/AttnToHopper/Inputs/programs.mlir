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

// Below, each consumer computes with a range of its own.

// Three consumers that take no turns.
func.func @wide(%q: tensor<1x8x?x128xbf16>, %k: tensor<1x8x?x128xbf16>, %v: tensor<1x8x?x128xbf16>, %o: tensor<1x8x?x128xbf16>) -> tensor<1x8x?x128xbf16> {
  %r = attn.attention schedule #hopper.schedule<tile_m = 192, tile_n = 80, registers = 160, persistent>
      ins(%q, %k, %v : tensor<1x8x?x128xbf16>, tensor<1x8x?x128xbf16>, tensor<1x8x?x128xbf16>)
      outs(%o : tensor<1x8x?x128xbf16>)
  return %r : tensor<1x8x?x128xbf16>
}

// Two consumers; the first one skips tiles at the start.
func.func @causal(%q: tensor<1x8x?x128xbf16>, %k: tensor<1x8x?x128xbf16>, %v: tensor<1x8x?x128xbf16>, %o: tensor<1x8x?x128xbf16>) -> tensor<1x8x?x128xbf16> {
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 128, registers = 232, head_group = 8, reverse, persistent, ping_pong, q_in_registers>
      ins(%q, %k, %v : tensor<1x8x?x128xbf16>, tensor<1x8x?x128xbf16>, tensor<1x8x?x128xbf16>)
      outs(%o : tensor<1x8x?x128xbf16>)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %r : tensor<1x8x?x128xbf16>
}

// Results lie where queries were until those of the next tile come.
func.func @in_place(%q: tensor<1x8x?x256xbf16>, %k: tensor<1x8x?x256xbf16>, %v: tensor<1x8x?x256xbf16>, %o: tensor<1x8x?x256xbf16>) -> tensor<1x8x?x256xbf16> {
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 64, registers = 232, persistent, ping_pong>
      ins(%q, %k, %v : tensor<1x8x?x256xbf16>, tensor<1x8x?x256xbf16>, tensor<1x8x?x256xbf16>)
      outs(%o : tensor<1x8x?x256xbf16>)
  return %r : tensor<1x8x?x256xbf16>
}

// A capture comes in tiles.
func.func @bias(%q: tensor<1x8x?x64xbf16>, %k: tensor<1x8x?x64xbf16>, %v: tensor<1x8x?x64xbf16>, %x: tensor<1x8x?x?xbf16>, %o: tensor<1x8x?x64xbf16>) -> tensor<1x8x?x64xbf16> {
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 128, registers = 232, capture_stages = 2, ping_pong>
      ins(%q, %k, %v : tensor<1x8x?x64xbf16>, tensor<1x8x?x64xbf16>, tensor<1x8x?x64xbf16>)
      captures(%x : tensor<1x8x?x?xbf16>)
      outs(%o : tensor<1x8x?x64xbf16>)
      score(%s, %b, %h, %i, %j, %x) {
        %y = tensor.extract %x[%b, %h, %i, %j] : tensor<1x8x?x?xbf16>
        %z = arith.extf %y : bf16 to f32
        %t = arith.addf %s, %z : f32
        attn.yield %t : f32
      }
  return %r : tensor<1x8x?x64xbf16>
}

// A warpgroup copies.
func.func @strided(%q: tensor<1x8x?x64xbf16>, %k: tensor<1x8x?x64xbf16>, %v: tensor<1x8x?x64xbf16>, %o: tensor<1x8x?x64xbf16>) -> tensor<1x8x?x64xbf16> {
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 64, registers = 208, ping_pong, strided>
      ins(%q, %k, %v : tensor<1x8x?x64xbf16>, tensor<1x8x?x64xbf16>, tensor<1x8x?x64xbf16>)
      outs(%o : tensor<1x8x?x64xbf16>)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %r : tensor<1x8x?x64xbf16>
}

// Ranges end before the last tile, too; four consumers.
func.func @both_ends(%q: tensor<1x8x?x64xbf16>, %k: tensor<1x8x?x64xbf16>, %v: tensor<1x8x?x64xbf16>, %o: tensor<1x8x?x64xbf16>) -> tensor<1x8x?x64xbf16> {
  %r = attn.attention schedule #hopper.schedule<tile_m = 256, tile_n = 64, registers = 112, persistent, ping_pong>
      ins(%q, %k, %v : tensor<1x8x?x64xbf16>, tensor<1x8x?x64xbf16>, tensor<1x8x?x64xbf16>)
      outs(%o : tensor<1x8x?x64xbf16>)
      mask(%b, %h, %i, %j) {
        %c300 = arith.constant 300 : index
        %end = arith.addi %j, %c300 : index
        %p = arith.cmpi sle, %j, %i : index
        %near = arith.cmpi slt, %i, %end : index
        %and = arith.andi %p, %near : i1
        attn.yield %and : i1
      }
  return %r : tensor<1x8x?x64xbf16>
}

// Below, the producer finds the tiles that are needed, and tells the consumers.

// Tile after tile, with turns.
func.func @dilated(%q: tensor<?x4x?x64xbf16>, %k: tensor<?x2x?x64xbf16>, %v: tensor<?x2x?x64xbf16>, %o: tensor<?x4x?x64xbf16>) -> tensor<?x4x?x64xbf16> {
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 128, registers = 232, persistent, ping_pong, q_in_registers>
      ins(%q, %k, %v : tensor<?x4x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>)
      outs(%o : tensor<?x4x?x64xbf16>)
      mask(%b, %h, %i, %j) {
        %c0 = arith.constant 0 : index
        %c3 = arith.constant 3 : index
        %c256 = arith.constant 256 : index
        %x = arith.divui %i, %c256 : index
        %y = arith.divui %j, %c256 : index
        %z = arith.addi %x, %y : index
        %m = arith.remui %z, %c3 : index
        %p = arith.cmpi eq, %m, %c0 : index
        attn.yield %p : i1
      }
  return %r : tensor<?x4x?x64xbf16>
}

// One tile for each thread block, whose results lie where the queries were; tables of documents.
func.func @documents(%q: tensor<2x4x?x64xbf16>, %k: tensor<2x2x?x64xbf16>, %v: tensor<2x2x?x64xbf16>, %o: tensor<2x4x?x64xbf16>, %doc: tensor<2x?xi32>) -> tensor<2x4x?x64xbf16> {
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 64, registers = 240, ping_pong>
      ins(%q, %k, %v : tensor<2x4x?x64xbf16>, tensor<2x2x?x64xbf16>, tensor<2x2x?x64xbf16>)
      captures(%doc : tensor<2x?xi32>)
      outs(%o : tensor<2x4x?x64xbf16>)
      mask(%b, %h, %i, %j, %d) {
        %x = tensor.extract %d[%b, %i] : tensor<2x?xi32>
        %y = tensor.extract %d[%b, %j] : tensor<2x?xi32>
        %p = arith.cmpi eq, %x, %y : i32
        attn.yield %p : i1
      }
  return %r : tensor<2x4x?x64xbf16>
}

// Three consumers without turns, between bounds, and copies by threads.
func.func @dilated_strided(%q: tensor<1x8x?x64xbf16>, %k: tensor<1x8x?x64xbf16>, %v: tensor<1x8x?x64xbf16>, %o: tensor<1x8x?x64xbf16>) -> tensor<1x8x?x64xbf16> {
  %r = attn.attention schedule #hopper.schedule<tile_m = 192, tile_n = 64, registers = 144, strided>
      ins(%q, %k, %v : tensor<1x8x?x64xbf16>, tensor<1x8x?x64xbf16>, tensor<1x8x?x64xbf16>)
      outs(%o : tensor<1x8x?x64xbf16>)
      mask(%b, %h, %i, %j) {
        %c0 = arith.constant 0 : index
        %c2 = arith.constant 2 : index
        %c64 = arith.constant 64 : index
        %y = arith.divui %j, %c64 : index
        %m = arith.remui %y, %c2 : index
        %even = arith.cmpi eq, %m, %c0 : index
        %p = arith.cmpi sle, %j, %i : index
        %and = arith.andi %p, %even : i1
        attn.yield %and : i1
      }
  return %r : tensor<1x8x?x64xbf16>
}

// Two products for the scores of a tile, of which the second has a bias.
func.func @slopes(%q: tensor<?x4x?x64xbf16>, %k: tensor<?x2x?x64xbf16>, %v: tensor<?x2x?x64xbf16>, %o: tensor<?x4x?x64xbf16>, %slopes: tensor<?xf32>) -> tensor<?x4x?x64xbf16> {
  %r = attn.attention schedule #hopper.schedule<tile_m = 192, tile_n = 128, registers = 160, persistent, ping_pong, bias_in_product>
      ins(%q, %k, %v : tensor<?x4x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>)
      captures(%slopes : tensor<?xf32>)
      outs(%o : tensor<?x4x?x64xbf16>)
      score(%s, %b, %h, %i, %j, %w) {
        %slope = tensor.extract %w[%h] : tensor<?xf32>
        %d = arith.subi %j, %i : index
        %di = arith.index_cast %d : index to i32
        %df = arith.sitofp %di : i32 to f32
        %x = arith.mulf %slope, %df : f32
        %y = arith.addf %s, %x : f32
        attn.yield %y : f32
      }
  return %r : tensor<?x4x?x64xbf16>
}
