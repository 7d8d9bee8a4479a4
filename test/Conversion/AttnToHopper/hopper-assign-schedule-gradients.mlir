// RUN: attn-opt %s --attn-hopper-assign-schedule=list --split-input-file --verify-diagnostics

!t = tensor<2x4x?x128xbf16>
!l = tensor<2x4x?xf32>
func.func @d128(%x: !t, %l: !l) -> (!t, !t, !t) {
  // expected-remark @below {{schedule: #hopper.schedule<tile_m = 128, tile_n = 80, stages = 2, registers = 240, head_swizzle = 16, head_swizzle_keys = 131072, head_swizzle_least_keys = 16384, in_flight = 2, order = [load_q, qk, exp, load_do, dp, dv, ds, dq(1), dk, red(1)], exclusive = [exp, dp]>}}
  // expected-remark @below {{schedule: #hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 240, head_swizzle = 16, head_swizzle_keys = 131072, head_swizzle_least_keys = 16384, in_flight = 2, write_dq, order = [load_q, qk, exp, load_do, dp, dv, ds, dq(1), dk, red(1)], exclusive = [exp, dp]>, tile_cost = 4.5000}}
  // expected-remark @below {{fallback: #hopper.schedule<tile_m = 128, tile_n = 80, stages = 2, registers = 240, head_swizzle = 16, head_swizzle_keys = 131072, head_swizzle_least_keys = 16384, in_flight = 2, order = [load_q, qk, exp, load_do, dp, dv, ds, dq, dk, red], exclusive = [exp, dp]>}}
  // expected-remark @below {{last resort: #hopper.schedule<tile_m = 128, tile_n = 64,}}
  // expected-remark @below {{last resort: #hopper.schedule<tile_m = 64, tile_n = 64,}}
  // expected-remark @below {{for any strides: #hopper.schedule<tile_m = 64, tile_n = 64, stages = 1,}}
  %d:3 = attn.attention_grad wrt(q, k, v) ins(%x, %x, %x, %x, %l, %x : !t, !t, !t, !t, !l, !t) outs(%x, %x, %x : !t, !t, !t)
  return %d#0, %d#1, %d#2 : !t, !t, !t
}

// -----

// In any order, work tiles need not start with the last one.
!t = tensor<2x4x?x64xbf16>
!l = tensor<2x4x?xf32>
func.func @nondeterministic(%x: !t, %l: !l) -> (!t, !t) {
  // expected-remark @below {{in_flight = 2, persistent, order = [load_q, qk, exp, load_do, dp, ds, dq(1), dk, red(1)], exclusive = [exp, dp]>}}
  // expected-remark @below {{fallback: #hopper.schedule<tile_m = 128, tile_n = 128, stages = 2, registers = 240, head_swizzle = 1, in_flight = 2, persistent, order = [load_q, qk, exp, load_do, dp, ds, dq, dk, red]>}}
  // expected-remark @below {{last resort: #hopper.schedule<tile_m = 64, tile_n = 64,}}
  // expected-remark @below {{for any strides: #hopper.schedule<tile_m = 64, tile_n = 64, stages = 1,}}
  %d:2 = attn.attention_grad wrt(q, k) ins(%x, %x, %x, %x, %l, %x : !t, !t, !t, !t, !l, !t) outs(%x, %x : !t, !t) attributes {nondeterministic}
  return %d#0, %d#1 : !t, !t
}

// -----

// Of queries alone, work tiles meet all keys.
!t = tensor<2x4x?x64xbf16>
!l = tensor<2x4x?xf32>
func.func @queries(%x: !t, %l: !l) -> !t {
  // expected-remark @below {{schedule: #hopper.schedule<tile_m = 128, tile_n = 128, stages = 2, registers = 240, head_swizzle = 1, order = [load_k, qk, exp, load_v, dp, ds, dq]>}}
  // expected-remark @below {{last resort: #hopper.schedule<tile_m = 128, tile_n = 32,}}
  // expected-remark @below {{for any strides: #hopper.schedule<tile_m = 64, tile_n = 32, stages = 1,}}
  %d = attn.attention_grad wrt(q) ins(%x, %x, %x, %x, %l, %x : !t, !t, !t, !t, !l, !t) outs(%x : !t)
  return %d : !t
}

// -----

// dk and dv are in two partitions.
!t = tensor<2x4x?x192xbf16>
!l = tensor<2x4x?xf32>
func.func @d192(%x: !t, %l: !l) -> (!t, !t) {
  // expected-remark @below {{schedule: #hopper.schedule<tile_m = 64, tile_n = 80, stages = 2, registers = 240, head_swizzle = 1, order = [load_q, qk, dk(1), exp, load_do, dp, dv, ds], partitions = {dp = second, ds = second, dv = second}>}}
  // expected-remark @below {{schedule: #hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 240, head_swizzle = 1, order = [load_q, qk, exp, load_do, dp, dv, ds, dk], partitions = {dp = second, ds = second, dv = second}>}}
  // expected-remark @below {{last resort: #hopper.schedule<tile_m = 64, tile_n = 64,}}
  // expected-remark @below {{for any strides: #hopper.schedule<tile_m = 64, tile_n = 64, stages = 1,}}
  %d:2 = attn.attention_grad wrt(k, v) ins(%x, %x, %x, %x, %l, %x : !t, !t, !t, !t, !l, !t) outs(%x, %x : !t, !t)
  return %d#0, %d#1 : !t, !t
}

// -----

// Steps of gradients that are not wanted are not in the order.
!q = tensor<2x4x?x64xbf16>
!k = tensor<2x2x?x64xbf16>
!l = tensor<2x4x?xf32>
func.func @shared(%x: !q, %k: !k, %l: !l) -> !k {
  // expected-remark @below {{schedule: #hopper.schedule<tile_m = 128, tile_n = 128, stages = 2, registers = 240, head_swizzle = 1, in_flight = 2, persistent, order = [load_q, qk, exp, load_do, dv]>}}
  // expected-remark @below {{last resort: #hopper.schedule<tile_m = 64, tile_n = 64,}}
  // expected-remark @below {{for any strides: #hopper.schedule<tile_m = 64, tile_n = 64, stages = 1,}}
  %d = attn.attention_grad wrt(v) ins(%x, %k, %k, %x, %l, %x : !q, !k, !k, !q, !l, !q) outs(%k : !k)
  return %d : !k
}

// -----

!t = tensor<2x4x?x64xf32>
!l = tensor<2x4x?xf32>
func.func @f32(%x: !t, %l: !l) -> !t {
  // expected-error @below {{expects elements of bf16 or f16, or of f32 without a schedule of tiles, for gradients on a GPU}}
  %d = attn.attention_grad wrt(v) ins(%x, %x, %x, %x, %l, %x : !t, !t, !t, !t, !l, !t) outs(%x : !t)
  return %d : !t
}

// -----

// Sums in one order: under a causal mask the last keys come first, and as few heads take turns as fill the L2 cache.
!t = tensor<2x4x?x64xbf16>
!l = tensor<2x4x?xf32>
func.func @causal(%x: !t, %l: !l) -> (!t, !t, !t) {
  // expected-remark @below {{schedule: #hopper.schedule<tile_m = 128, tile_n = 128, stages = 2, registers = 240, head_swizzle = 1, head_swizzle_least_keys = 65536, longest_first_least_tiles = 512, in_flight = 2, longest_first, persistent, order}}
  // expected-remark @below {{schedule: #hopper.schedule<tile_m = 128, tile_n = 128, stages = 2, registers = 240, head_swizzle = 1, head_swizzle_least_keys = 65536, longest_first_least_tiles = 512, in_flight = 2, longest_first, persistent, write_dq, order}}
  // expected-remark @below {{fallback: #hopper.schedule<tile_m = 128, tile_n = 128,}}
  // expected-remark @below {{last resort: #hopper.schedule<tile_m = 64, tile_n = 64,}}
  // expected-remark @below {{for any strides: #hopper.schedule<tile_m = 64, tile_n = 64, stages = 1,}}
  %d:3 = attn.attention_grad wrt(q, k, v) ins(%x, %x, %x, %x, %l, %x : !t, !t, !t, !t, !l, !t) outs(%x, %x, %x : !t, !t, !t)
    mask(%b, %h, %i, %j) {
      %p = arith.cmpi sle, %j, %i : index
      attn.yield %p : i1
    }
  return %d#0, %d#1, %d#2 : !t, !t, !t
}

// -----

// Of 96 columns, too.
!t = tensor<2x4x?x96xbf16>
!l = tensor<2x4x?xf32>
func.func @causal_96(%x: !t, %l: !l) -> (!t, !t, !t) {
  // expected-remark @below {{schedule: #hopper.schedule<tile_m = 128, tile_n = 96, stages = 2, registers = 240, head_swizzle = 32, head_swizzle_keys = 65536, head_swizzle_least_keys = 32768, longest_first_least_tiles = 512, in_flight = 2, longest_first, order}}
  // expected-remark @below {{schedule: #hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 240, head_swizzle = 32, head_swizzle_keys = 65536, head_swizzle_least_keys = 32768, longest_first_least_tiles = 512, in_flight = 2, longest_first, write_dq, order}}
  // expected-remark @below {{fallback: #hopper.schedule<tile_m = 128, tile_n = 96,}}
  // expected-remark @below {{last resort: #hopper.schedule<tile_m = 128, tile_n = 64,}}
  // expected-remark @below {{last resort: #hopper.schedule<tile_m = 64, tile_n = 64,}}
  // expected-remark @below {{for any strides: #hopper.schedule<tile_m = 64, tile_n = 64, stages = 1,}}
  %d:3 = attn.attention_grad wrt(q, k, v) ins(%x, %x, %x, %x, %l, %x : !t, !t, !t, !t, !l, !t) outs(%x, %x, %x : !t, !t, !t)
    mask(%b, %h, %i, %j) {
      %p = arith.cmpi sle, %j, %i : index
      attn.yield %p : i1
    }
  return %d#0, %d#1, %d#2 : !t, !t, !t
}

// -----

// Those of a window have as many queries as the others, no more than a window has. So each is the last one of few Q blocks, and writes their dq.
!t = tensor<2x4x?x64xbf16>
!l = tensor<2x4x?xf32>
func.func @window(%x: !t, %l: !l) -> (!t, !t, !t) {
  // expected-remark @below {{schedule: #hopper.schedule<tile_m = 128, tile_n = 128, stages = 2, registers = 240, head_swizzle = 32, head_swizzle_least_keys = 65536, longest_first_rows = 2048, longest_first_least_tiles = 1024, in_flight = 2, persistent, write_dq, order}}
  // expected-remark @below {{fallback: #hopper.schedule<tile_m = 128, tile_n = 128, stages = 2, registers = 240, head_swizzle = 32, head_swizzle_least_keys = 65536, longest_first_rows = 2048, longest_first_least_tiles = 1024, in_flight = 2, persistent, order}}
  // expected-remark @below {{last resort: #hopper.schedule<tile_m = 64, tile_n = 64,}}
  // expected-remark @below {{for any strides: #hopper.schedule<tile_m = 64, tile_n = 64, stages = 1,}}
  %d:3 = attn.attention_grad wrt(q, k, v) ins(%x, %x, %x, %x, %l, %x : !t, !t, !t, !t, !l, !t) outs(%x, %x, %x : !t, !t, !t)
    mask(%b, %h, %i, %j) {
      %c9 = arith.constant 9 : index
      %past = arith.cmpi sle, %j, %i : index
      %distance = arith.subi %i, %j : index
      %near = arith.cmpi slt, %distance, %c9 : index
      %p = arith.andi %past, %near : i1
      attn.yield %p : i1
    }
  return %d#0, %d#1, %d#2 : !t, !t, !t
}

// -----

// Nor are those of documents, which are found from data, longer the earlier they come.
!t = tensor<2x4x?x64xbf16>
!l = tensor<2x4x?xf32>
func.func @documents(%x: !t, %l: !l, %doc: tensor<?xi32>) -> (!t, !t, !t) {
  // expected-remark @below {{schedule: #hopper.schedule<tile_m = 128, tile_n = 128, stages = 2, registers = 240, head_swizzle = 32, head_swizzle_least_keys = 65536, in_flight = 2, persistent, order}}
  // expected-remark @below {{schedule: #hopper.schedule<tile_m = 128, tile_n = 128, stages = 2, registers = 240, head_swizzle = 32, head_swizzle_least_keys = 65536, in_flight = 2, persistent, write_dq, order}}
  // expected-remark @below {{fallback: #hopper.schedule<tile_m = 128, tile_n = 128,}}
  // expected-remark @below {{last resort: #hopper.schedule<tile_m = 64, tile_n = 64,}}
  // expected-remark @below {{for any strides: #hopper.schedule<tile_m = 64, tile_n = 64, stages = 1,}}
  %d:3 = attn.attention_grad wrt(q, k, v) ins(%x, %x, %x, %x, %l, %x : !t, !t, !t, !t, !l, !t) captures(%doc : tensor<?xi32>) outs(%x, %x, %x : !t, !t, !t)
    mask(%b, %h, %i, %j, %w) {
      %a = tensor.extract %w[%i] : tensor<?xi32>
      %c = tensor.extract %w[%j] : tensor<?xi32>
      %same = arith.cmpi eq, %a, %c : i32
      %past = arith.cmpi sle, %j, %i : index
      %p = arith.andi %same, %past : i1
      attn.yield %p : i1
    }
  return %d#0, %d#1, %d#2 : !t, !t, !t
}
