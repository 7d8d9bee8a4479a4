// RUN: attn-opt %s --attn-hopper-assign-schedule=list --verify-diagnostics

// The schedules are told in the order in which they are tried, also for an
// attention that has been given one.

func.func @f(%q: tensor<1x1x?x256xbf16>) -> tensor<1x1x?x256xbf16> {
  // expected-remark @below {{schedule: #hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 232, head_swizzle = 1, persistent, ping_pong>}}
  // expected-remark @below {{last resort: #hopper.schedule<tile_m = 128, tile_n = 32,}}
  // expected-remark @below {{last resort: #hopper.schedule<tile_m = 64, tile_n = 32,}}
  // expected-remark @below {{last resort: #hopper.schedule<tile_m = 64, tile_n = 16,}}
  // expected-remark @below {{split-KV: #hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 232, head_swizzle = 1, split_kv>}}
  // expected-remark @below {{for any strides: #hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 208, head_swizzle = 1, ping_pong, strided>}}
  %r = attn.attention schedule #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>
      ins(%q, %q, %q : tensor<1x1x?x256xbf16>, tensor<1x1x?x256xbf16>, tensor<1x1x?x256xbf16>)
      outs(%q : tensor<1x1x?x256xbf16>)
  return %r : tensor<1x1x?x256xbf16>
}

// All schedules have an affine bias in the product but the one for any strides,
// whose threads have no registers left for that.

func.func @bias(%q: tensor<1x1x?x192xbf16>, %v: tensor<1x1x?x128xbf16>) -> tensor<1x1x?x128xbf16> {
  // expected-remark @below {{schedule: #hopper.schedule<tile_m = 128, tile_n = 112, stages = 2, registers = 240, head_swizzle = 1, persistent, ping_pong, bias_in_product>}}
  // expected-remark @below {{last resort: #hopper.schedule<tile_m = 128, tile_n = 48,}}
  // expected-remark @below {{last resort: #hopper.schedule<tile_m = 128, tile_n = 32,}}
  // expected-remark @below {{last resort: #hopper.schedule<tile_m = 64, tile_n = 32,}}
  // expected-remark @below {{last resort: #hopper.schedule<tile_m = 64, tile_n = 16,}}
  // expected-remark @below {{split-KV: #hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 232, head_swizzle = 1, bias_in_product, split_kv>}}
  // expected-remark @below {{for any strides: #hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 208, head_swizzle = 1, ping_pong, strided>}}
  %r = attn.attention ins(%q, %q, %v : tensor<1x1x?x192xbf16>, tensor<1x1x?x192xbf16>, tensor<1x1x?x128xbf16>)
      outs(%v : tensor<1x1x?x128xbf16>)
      score(%s, %b, %h, %i, %j) {
        %ji = arith.index_cast %j : index to i32
        %jf = arith.sitofp %ji : i32 to f32
        %y = arith.addf %s, %jf : f32
        attn.yield %y : f32
      }
  return %r : tensor<1x1x?x128xbf16>
}

// There are known to be so many Q blocks, or so few keys, that a launch
// would share out none.

!many = tensor<4x64x4096x256xbf16>
func.func @many_tiles(%q: !many) -> !many {
  // expected-remark @below {{schedule: #hopper.schedule<tile_m = 128, tile_n = 64,}}
  // expected-remark @below {{last resort: #hopper.schedule<tile_m = 128, tile_n = 32,}}
  // expected-remark @below {{last resort: #hopper.schedule<tile_m = 64, tile_n = 32,}}
  // expected-remark @below {{last resort: #hopper.schedule<tile_m = 64, tile_n = 16,}}
  // expected-remark @below {{for any strides: #hopper.schedule<tile_m = 128, tile_n = 64,}}
  %r = attn.attention ins(%q, %q, %q : !many, !many, !many) outs(%q : !many)
  return %r : !many
}

!few = tensor<1x1x256x256xbf16>
func.func @few_keys(%q: tensor<1x1x?x256xbf16>, %k: !few, %o: tensor<1x1x?x256xbf16>) -> tensor<1x1x?x256xbf16> {
  // expected-remark @below {{schedule: #hopper.schedule<tile_m = 128, tile_n = 64,}}
  // expected-remark @below {{last resort: #hopper.schedule<tile_m = 128, tile_n = 32,}}
  // expected-remark @below {{last resort: #hopper.schedule<tile_m = 64, tile_n = 32,}}
  // expected-remark @below {{last resort: #hopper.schedule<tile_m = 64, tile_n = 16,}}
  // expected-remark @below {{for any strides: #hopper.schedule<tile_m = 128, tile_n = 64,}}
  %r = attn.attention ins(%q, %k, %k : tensor<1x1x?x256xbf16>, !few, !few) outs(%o : tensor<1x1x?x256xbf16>)
  return %r : tensor<1x1x?x256xbf16>
}

// What a mask computes of the query alone, such as quotients by a number of the
// head, takes no instructions for each score: the large tiles stay.

func.func @divisions_of_queries(%q: !many, %n: tensor<64xindex>) -> !many {
  // expected-remark @below {{schedule: #hopper.schedule<tile_m = 128, tile_n = 64,}}
  // expected-remark @below {{last resort: #hopper.schedule<tile_m = 128, tile_n = 32,}}
  // expected-remark @below {{last resort: #hopper.schedule<tile_m = 64, tile_n = 32,}}
  // expected-remark @below {{last resort: #hopper.schedule<tile_m = 64, tile_n = 16,}}
  // expected-remark @below {{split-KV: #hopper.schedule<tile_m = 64, tile_n = 64,}}
  // expected-remark @below {{for any strides: #hopper.schedule<tile_m = 128, tile_n = 64,}}
  %r = attn.attention ins(%q, %q, %q : !many, !many, !many)
      captures(%n : tensor<64xindex>) outs(%q : !many)
      mask(%b, %h, %i, %j, %w) {
        %size = tensor.extract %w[%h] : tensor<64xindex>
        %x = arith.divui %i, %size : index
        %y = arith.remui %i, %size : index
        %z = arith.remui %h, %size : index
        %s = arith.addi %x, %y : index
        %t = arith.addi %s, %z : index
        %u = arith.remui %t, %size : index
        %p = arith.cmpi sle, %j, %u : index
        attn.yield %p : i1
      }
  return %r : !many
}
