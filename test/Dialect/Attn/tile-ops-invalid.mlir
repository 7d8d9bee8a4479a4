// Each error of the verifiers of loops over tiles and their steps.

// RUN: attn-opt %s --split-input-file --verify-diagnostics

func.func @step_of_nothing(%i: index) {
  // expected-error@+1 {{attribute 'step' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
  attn.tile_loop %j = %i to %i step 0 {
    attn.yield
  }
  return
}

// -----

func.func @types_of_carried(%i: index) {
  // expected-error@+1 {{expects a type for each of 1 carried values, but got 0}}
  attn.tile_loop %j = %i to %i step 1 iter_args(%a = %i) {
    attn.yield
  }
  return
}

// -----

func.func @results(%i: index, %v: f32) {
  // expected-error@+1 {{expects results of the types of what is carried, but got 'f32' for 'index'}}
  %r = "attn.tile_loop"(%i, %i, %i) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, step = 1 : i64}> ({
  }, {
  }, {
  ^bb0(%j: index, %a: f32):
    "attn.yield"(%a) : (f32) -> ()
  }) : (index, index, index) -> f32
  return
}

// -----

func.func @one_end(%i: index) {
  // expected-error@+1 {{expects both ends of the interval of full tiles, or none}}
  "attn.tile_loop"(%i, %i, %i) <{operandSegmentSizes = array<i32: 1, 1, 0, 1, 0>, step = 1 : i64}> ({
  }, {
  }, {
  ^bb0(%j: index):
    "attn.yield"() : () -> ()
  }) : (index, index, index) -> ()
  return
}

// -----

func.func @interval_of_nothing(%i: index) {
  // expected-error@+1 {{expects a region 'full' with an interval of full tiles}}
  "attn.tile_loop"(%i, %i, %i, %i) <{operandSegmentSizes = array<i32: 1, 1, 0, 1, 1>, step = 1 : i64}> ({
  }, {
  }, {
  ^bb0(%j: index):
    "attn.yield"() : () -> ()
  }) : (index, index, index, index) -> ()
  return
}

// -----

func.func @partial_of_nothing(%i: index) {
  // expected-error@+1 {{expects a region 'full' with only_last_partial}}
  attn.tile_loop %j = %i to %i step 1 only_last_partial {
    attn.yield
  }
  return
}

// -----

func.func @class_argument(%i: index) {
  // expected-error@+1 {{expects 'needed' to have the start of the tile as its argument, but got arguments of 'i32'}}
  "attn.tile_loop"(%i, %i) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>, step = 1 : i64}> ({
  ^bb0(%j: i32):
    %p = "arith.constant"() <{value = true}> : () -> i1
    "attn.yield"(%p) : (i1) -> ()
  }, {
  }, {
  ^bb0(%j: index):
    "attn.yield"() : () -> ()
  }) : (index, index) -> ()
  return
}

// -----

func.func @class_yields(%i: index) {
  // expected-error@+1 {{expects 'full' to yield 'i1', but got 'index'}}
  attn.tile_loop %j = %i to %i step 1
      full(%first) {
        attn.yield %first : index
      } {
    attn.yield
  }
  return
}

// -----

func.func @body_arguments(%i: index) {
  // expected-error@+1 {{expects the body to have the arguments 'index', but got 'i32'}}
  "attn.tile_loop"(%i, %i) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>, step = 1 : i64}> ({
  }, {
  }, {
  ^bb0(%j: i32):
    "attn.yield"() : () -> ()
  }) : (index, index) -> ()
  return
}

// -----

func.func @body_yields(%i: index, %v: vector<4xf32>) {
  // expected-error@+1 {{expects the body to yield 'vector<4xf32>', but got nothing}}
  %r = attn.tile_loop %j = %i to %i step 1 iter_args(%a = %v) : vector<4xf32> {
    attn.yield
  }
  return
}

// -----

func.func @body_ends(%i: index) {
  // expected-error@+1 {{expects the body to end with attn.yield}}
  attn.tile_loop %j = %i to %i step 1 {
    llvm.unreachable
  }
  return
}

// -----

func.func @state_in_part(%i: index, %v: vector<4xf32>) {
  // expected-error@+1 {{expects acc, max and sum of an online softmax, but got 2 values}}
  %r:2 = attn.tile_loop %j = %i to %i step 8 online(%a = %v, %b = %v) : vector<4xf32>, vector<4xf32> {
    attn.yield %a, %b : vector<4xf32>, vector<4xf32>
  }
  return
}

// -----

func.func @state_of_nothing(%i: index) {
  // expected-error@+1 {{expects acc, max and sum of an online softmax, but got 0 values}}
  "attn.tile_loop"(%i, %i) <{online, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>, step = 1 : i64}> ({
  }, {
  }, {
  ^bb0(%j: index):
    "attn.yield"() : () -> ()
  }) : (index, index) -> ()
  return
}

// -----

func.func @no_state(%i: index, %s: vector<8x4xf32>, %acc: vector<2x4xf32>, %m: vector<4xf32>) {
  %r:3 = attn.tile_loop %j = %i to %i step 8 iter_args(%a = %acc, %b = %m, %c = %m) : vector<2x4xf32>, vector<4xf32>, vector<4xf32> {
    // expected-error@+1 {{expects a state that the loop around carries by 'online'}}
    %p, %a1, %b1, %c1 = attn.online_step %s, %a, %b, %c : vector<8x4xf32>, vector<2x4xf32>, vector<4xf32>
    attn.yield %a1, %b1, %c1 : vector<2x4xf32>, vector<4xf32>, vector<4xf32>
  }
  return
}

// -----

func.func @no_step(%i: index, %acc: vector<2x4xf32>, %m: vector<4xf32>) {
  // expected-error@+1 {{expects one step of the online softmax whose state is carried, but got 0}}
  %r:3 = attn.tile_loop %j = %i to %i step 8 online(%a = %acc, %b = %m, %c = %m) : vector<2x4xf32>, vector<4xf32>, vector<4xf32> {
    attn.yield %a, %b, %c : vector<2x4xf32>, vector<4xf32>, vector<4xf32>
  }
  return
}

// -----

func.func @two_steps(%i: index, %s: vector<8x4xf32>, %acc: vector<2x4xf32>, %m: vector<4xf32>) {
  // expected-error@+1 {{expects one step of the online softmax whose state is carried, but got 2}}
  %r:3 = attn.tile_loop %j = %i to %i step 8 online(%a = %acc, %b = %m, %c = %m) : vector<2x4xf32>, vector<4xf32>, vector<4xf32> {
    %p, %a1, %b1, %c1 = attn.online_step %s, %a, %b, %c : vector<8x4xf32>, vector<2x4xf32>, vector<4xf32>
    %q, %a2, %b2, %c2 = attn.online_step %s, %a1, %b1, %c1 : vector<8x4xf32>, vector<2x4xf32>, vector<4xf32>
    attn.yield %a2, %b2, %c2 : vector<2x4xf32>, vector<4xf32>, vector<4xf32>
  }
  return
}

// -----

func.func @other_state(%i: index, %s: vector<8x4xf32>, %acc: vector<2x4xf32>, %m: vector<4xf32>) {
  %r:3 = attn.tile_loop %j = %i to %i step 8 online(%a = %acc, %b = %m, %c = %m) : vector<2x4xf32>, vector<4xf32>, vector<4xf32> {
    // expected-error@+1 {{expects the state that the loop around carries, in its order}}
    %p, %a1, %b1, %c1 = attn.online_step %s, %a, %c, %b : vector<8x4xf32>, vector<2x4xf32>, vector<4xf32>
    attn.yield %a1, %c1, %b1 : vector<2x4xf32>, vector<4xf32>, vector<4xf32>
  }
  return
}

// -----

func.func @state_yields(%i: index, %s: vector<8x4xf32>, %acc: vector<2x4xf32>, %m: vector<4xf32>) {
  // expected-error@+1 {{expects the body to yield the maximum and the sum of its step of the online softmax}}
  %r:3 = attn.tile_loop %j = %i to %i step 8 online(%a = %acc, %b = %m, %c = %m) : vector<2x4xf32>, vector<4xf32>, vector<4xf32> {
    %x:3 = attn.step @softmax -> (vector<2x4xf32>, vector<4xf32>, vector<4xf32>) {
      %p, %a1, %b1, %c1 = attn.online_step %s, %a, %b, %c : vector<8x4xf32>, vector<2x4xf32>, vector<4xf32>
      attn.yield %a1, %b1, %c1 : vector<2x4xf32>, vector<4xf32>, vector<4xf32>
    }
    attn.yield %x#0, %x#2, %x#1 : vector<2x4xf32>, vector<4xf32>, vector<4xf32>
  }
  return
}

// -----

func.func @names(%i: index) {
  attn.tile_loop %j = %i to %i step 1 {
    attn.step @qk {
      attn.yield
    }
    // expected-error@+1 {{expects a name that no other step of the loop has}}
    attn.step @qk {
      attn.yield
    }
    attn.yield
  }
  return
}

// -----

func.func @step_in_step() {
  attn.step @qk {
    // expected-error@+1 {{expects not to be part of another step}}
    attn.step @pv {
      attn.yield
    }
    attn.yield
  }
  return
}

// -----

func.func @step_arguments() {
  // expected-error@+1 {{expects a region without arguments}}
  "attn.step"() <{stepName = "qk"}> ({
  ^bb0(%i: index):
    "attn.yield"() : () -> ()
  }) : () -> ()
  return
}

// -----

func.func @step_yields(%v: f32) {
  // expected-error@+1 {{expects the region to yield nothing, but got 'f32'}}
  attn.step @qk {
    attn.yield %v : f32
  }
  return
}

// -----

func.func @mask_arguments(%s: vector<2xf32>) {
  // expected-error@+1 {{expects a region without arguments}}
  "attn.mask_tile"(%s) <{operandSegmentSizes = array<i32: 1, 0, 0>}> ({
  ^bb0(%p: vector<2xi1>):
    "attn.yield"(%p) : (vector<2xi1>) -> ()
  }) : (vector<2xf32>) -> vector<2xf32>
  return
}

// -----

func.func @mask_shape(%s: vector<2xf32>, %p: vector<4xi1>) {
  // expected-error@+1 {{expects the region to yield 'vector<2xi1>', but got 'vector<4xi1>'}}
  %m = attn.mask_tile %s : vector<2xf32> {
    attn.yield %p : vector<4xi1>
  }
  return
}

// -----

func.func @mask_integers(%s: vector<2xi32>, %p: vector<2xi1>) {
  // expected-error@+1 {{operand #0 must be vector of floating-point values}}
  %m = attn.mask_tile %s : vector<2xi32> {
    attn.yield %p : vector<2xi1>
  }
  return
}

// -----

func.func @mask_keys(%s: vector<2xf32>, %i: index, %p: vector<2xi1>) {
  // expected-error@+1 {{expects scores of keys by queries, but got 'vector<2xf32>'}}
  %m = attn.mask_tile %s keys %i to %i : vector<2xf32> {
    attn.yield %p : vector<2xi1>
  }
  return
}

// -----

func.func @mask_first_alone(%s: vector<2x2xf32>, %i: index, %p: vector<2x2xi1>) {
  // expected-error@+1 {{expects both the first key and the end, or none}}
  %m = "attn.mask_tile"(%s, %i) <{operandSegmentSizes = array<i32: 1, 1, 0>}> ({
    "attn.yield"(%p) : (vector<2x2xi1>) -> ()
  }) : (vector<2x2xf32>, index) -> vector<2x2xf32>
  return
}

// -----

func.func @affine_slopes(%s: vector<8x4xf32>, %r: vector<8xf32>) {
  // expected-error@+1 {{expects one slope for each of 4 queries, but got 'vector<8xf32>'}}
  %m = attn.affine_scores %s factor 1.0 slope %r offset %r : vector<8x4xf32>, vector<8xf32> {
    attn.yield %s : vector<8x4xf32>
  }
  return
}

// -----

func.func @affine_keys(%s: vector<8x4xf32>, %r: vector<4xf32>) {
  // expected-error@+1 {{expects one number for each of 8 keys, but got 'vector<4xf32>'}}
  %m = attn.affine_scores %s factor 1.0 slope %r offset %r keys %r : vector<8x4xf32>, vector<4xf32>, vector<4xf32> {
    attn.yield %s : vector<8x4xf32>
  }
  return
}

// -----

func.func @affine_factor(%s: vector<8x4xf32>, %r: vector<4xf32>) {
  // expected-error@+1 {{expects a factor that is positive and finite, but got -1.0}}
  %m = attn.affine_scores %s factor -1.0 slope %r offset %r : vector<8x4xf32>, vector<4xf32> {
    attn.yield %s : vector<8x4xf32>
  }
  return
}

// -----

func.func @affine_slope_of_tile(%s: vector<8x4xf32>, %n: index) {
  attn.tile_loop %j = %n to %n step 8 {
    %r = arith.constant dense<1.0> : vector<4xf32>
    // expected-error@+1 {{expects slopes that are computed outside of the loop over tiles}}
    %m = attn.affine_scores %s factor 1.0 slope %r offset %r : vector<8x4xf32>, vector<4xf32> {
      attn.yield %s : vector<8x4xf32>
    }
    attn.yield
  }
  return
}

// -----

func.func @affine_product(%s: vector<8x4xf32>, %r: vector<4xf32>) -> vector<8x4xf32> {
  // expected-error@+1 {{expects a product that nothing else uses}}
  %m = attn.affine_scores %s factor 1.0 slope %r offset %r : vector<8x4xf32>, vector<4xf32> {
    attn.yield %s : vector<8x4xf32>
  }
  return %s : vector<8x4xf32>
}

// -----

func.func @affine_yield(%s: vector<8x4xf32>, %r: vector<4xf32>) {
  // expected-error@+1 {{expects the region to yield 'vector<8x4xf32>', but got 'vector<4xf32>'}}
  %m = attn.affine_scores %s factor 1.0 slope %r offset %r : vector<8x4xf32>, vector<4xf32> {
    attn.yield %r : vector<4xf32>
  }
  return
}

// -----

func.func @affine_arguments(%s: vector<8x4xf32>, %r: vector<4xf32>) {
  // expected-error@+1 {{expects a region without arguments}}
  %m = "attn.affine_scores"(%s, %r, %r) <{factor = 1.0 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>}> ({
  ^bb0(%p: vector<8x4xf32>):
    "attn.yield"(%p) : (vector<8x4xf32>) -> ()
  }) : (vector<8x4xf32>, vector<4xf32>, vector<4xf32>) -> vector<8x4xf32>
  return
}

// -----

func.func @affine_type(%s: vector<8x4xf64>, %r: vector<4xf32>) {
  // expected-error@+1 {{operand #0 must be}}
  %m = attn.affine_scores %s factor 1.0 slope %r offset %r : vector<8x4xf64>, vector<4xf32> {
    attn.yield %s : vector<8x4xf64>
  }
  return
}

// -----

func.func @accumulate_element(%v: vector<2xf32>, %m: memref<?xf16>, %i: index) {
  // expected-error@+1 {{expects a tile of element type 'f16', but got 'vector<2xf32>'}}
  attn.accumulate add %v into %m[%i] : vector<2xf32>, memref<?xf16>
  return
}

// -----

func.func @accumulate_indices(%v: vector<2xf32>, %m: memref<?xf32>, %i: index) {
  // expected-error@+1 {{expects one index for each of 1 dimensions, but got 2}}
  attn.accumulate add %v into %m[%i, %i] : vector<2xf32>, memref<?xf32>
  return
}

// -----

func.func @accumulate_rank(%v: vector<2x2xf32>, %m: memref<?xf32>, %i: index) {
  // expected-error@+1 {{expects a tile of at most 1 dimensions, but got 'vector<2x2xf32>'}}
  attn.accumulate add %v into %m[%i] : vector<2x2xf32>, memref<?xf32>
  return
}

// -----

func.func @accumulate_map(%v: vector<2xf32>, %m: memref<?x?xf32>, %i: index) {
  // expected-error@+1 {{expects a projected permutation of 2 dimensions to 1, but got affine_map<(d0, d1) -> (d0 + d1)>}}
  attn.accumulate add %v into %m[%i, %i] map affine_map<(a, b) -> (a + b)> : vector<2xf32>, memref<?x?xf32>
  return
}

// -----

func.func @accumulate_buffer(%v: vector<2xf32>, %m: memref<?xf32>, %i: index) {
  // expected-error@+1 {{expects no result for a buffer}}
  %r = attn.accumulate add %v into %m[%i] : vector<2xf32>, memref<?xf32> -> tensor<?xf32>
  return
}

// -----

func.func @accumulate_tensor(%v: vector<2xf32>, %t: tensor<?xf32>, %i: index) {
  // expected-error@+1 {{expects a result of type 'tensor<?xf32>'}}
  attn.accumulate add %v into %t[%i] : vector<2xf32>, tensor<?xf32>
  return
}

// -----

func.func @accumulate_ordered(%v: vector<2xf32>, %m: memref<?xf32>, %i: index) {
  // expected-error@+1 {{expects counters with ordered, but got none}}
  attn.accumulate ordered %v into %m[%i] : vector<2xf32>, memref<?xf32>
  return
}

// -----

func.func @accumulate_half(%v: vector<2xf32>, %m: memref<?xf32>, %i: index) {
  // expected-error@+1 {{expects the numbers of two workers, and indices, with counters and not without}}
  "attn.accumulate"(%v, %m, %i, %i) {mode = 0 : i32, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0, 0>} : (vector<2xf32>, memref<?xf32>, index, index) -> ()
  return
}

// -----

func.func @accumulate_add_in_turn(%v: vector<2xf32>, %m: memref<?xf32>, %i: index, %t: memref<4xi32>) {
  // expected-error@+1 {{expects counters with ordered, but got some without it}}
  attn.accumulate add %v into %m[%i] after %i as %i in %t[] : vector<2xf32>, memref<?xf32>, memref<4xi32>
  return
}

// -----

func.func @accumulate_counters(%v: vector<2xf32>, %m: memref<?xf32>, %i: index, %t: memref<4xi64>) {
  // expected-error@+1 {{expects counters of i32, but got 'memref<4xi64>'}}
  attn.accumulate ordered %v into %m[%i] after %i as %i in %t[] : vector<2xf32>, memref<?xf32>, memref<4xi64>
  return
}

// -----

func.func @accumulate_counter_indices(%v: vector<2xf32>, %m: memref<?xf32>, %i: index, %t: memref<4x1xi32>) {
  // expected-error@+1 {{expects 1 indices of the counters, but got 2}}
  attn.accumulate ordered %v into %m[%i] after %i as %i in %t[%i, %i] : vector<2xf32>, memref<?xf32>, memref<4x1xi32>
  return
}

// -----

func.func @accumulate_last_in_any_order(%v: vector<2xf32>, %m: memref<?xf32>, %i: index, %p: i1, %o: memref<?xf16>) {
  // expected-error@+1 {{expects counters where there is a last worker}}
  attn.accumulate add %v into %m[%i] last %p to %o[%i] map affine_map<(i) -> (i)> : vector<2xf32>, memref<?xf32> to memref<?xf16>
  return
}

// -----

func.func @accumulate_out_indices(%v: vector<2xf32>, %m: memref<?xf32>, %i: index, %t: memref<4xi32>, %p: i1, %o: memref<?xf16>) {
  // expected-error@+1 {{expects 1 indices of the result, but got 2}}
  attn.accumulate ordered %v into %m[%i] after %i as %i in %t[] last %p to %o[%i, %i] map affine_map<(i) -> (i)> : vector<2xf32>, memref<?xf32>, memref<4xi32> to memref<?xf16>
  return
}

// -----

func.func @accumulate_out_map(%v: vector<2xf32>, %m: memref<?xf32>, %i: index, %t: memref<4xi32>, %p: i1, %o: memref<?xf16>) {
  // expected-error@+1 {{expects a projected permutation of 1 dimensions to 1, but got affine_map<(d0, d1) -> (d0)>}}
  attn.accumulate ordered %v into %m[%i] after %i as %i in %t[] last %p to %o[%i] map affine_map<(i, j) -> (i)> : vector<2xf32>, memref<?xf32>, memref<4xi32> to memref<?xf16>
  return
}

// -----

func.func @rows_dimension(%m: memref<4x?x8xf32>, %i: index, %rows: vector<2xindex>, %p: vector<2xi1>) {
  // expected-error @below {{expects two dimensions of 'memref<4x?x8xf32>', but got 1 and 3}}
  %0 = attn.gather_rows %m[%i] rows %rows along 1 columns along 3 mask %p : memref<4x?x8xf32>, vector<2xindex> -> vector<2x8xf32>
  return
}

// -----

func.func @rows_same(%m: memref<4x?x8xf32>, %i: index, %rows: vector<2xindex>, %p: vector<2xi1>) {
  // expected-error @below {{expects two dimensions of 'memref<4x?x8xf32>', but got 2 and 2}}
  %0 = attn.gather_rows %m[%i] rows %rows along 2 columns along 2 mask %p : memref<4x?x8xf32>, vector<2xindex> -> vector<2x8xf32>
  return
}

// -----

func.func @rows_indices(%m: memref<4x?x8xf32>, %rows: vector<2xindex>, %p: vector<2xi1>) {
  // expected-error @below {{expects one index for each of 1 other dimensions, but got 0}}
  %0 = attn.gather_rows %m[] rows %rows along 1 columns along 2 mask %p : memref<4x?x8xf32>, vector<2xindex> -> vector<2x8xf32>
  return
}

// -----

func.func @rows_result(%m: memref<4x?x8xf32>, %i: index, %rows: vector<2xindex>, %p: vector<2xi1>) {
  // expected-error @below {{expects a result with the rows of 'vector<2xindex>', and columns and elements of 'memref<4x?x8xf32>', but got 'vector<2x4xf32>'}}
  %0 = attn.gather_rows %m[%i] rows %rows along 1 columns along 2 mask %p : memref<4x?x8xf32>, vector<2xindex> -> vector<2x4xf32>
  return
}

// -----

func.func @rows_mask(%m: memref<4x?x8xf32>, %i: index, %rows: vector<2xindex>, %p: vector<3xi1>) {
  // expected-error @below {{mask has an element for each row}}
  %0 = "attn.gather_rows"(%m, %i, %rows, %p) <{rowDim = 1 : i64, columnDim = 2 : i64}> : (memref<4x?x8xf32>, index, vector<2xindex>, vector<3xi1>) -> vector<2x8xf32>
  return
}

// -----

//===----------------------------------------------------------------------===//
// attn.online_start and attn.normalize
//===----------------------------------------------------------------------===//

func.func @start_from() {
  // expected-error@+1 {{expects to start from a number or -inf, but got INF}}
  %a, %m, %l = attn.online_start from 0x7FF0000000000000 : vector<2x4xf32>, vector<4xf32>
  return
}

// -----

func.func @start_from_beyond_f32() {
  // expected-error@+1 {{expects to start from a number or -inf, but got INF}}
  %a, %m, %l = attn.online_start from 1.0e300 : vector<2x4xf32>, vector<4xf32>
  return
}

// -----

func.func @start_ranks() {
  // expected-error@+1 {{expects acc of rank 2 and max of rank 1, but got 'vector<4xf32>' and 'vector<4xf32>'}}
  %a, %m, %l = attn.online_start : vector<4xf32>, vector<4xf32>
  return
}

// -----

func.func @start_element() {
  // expected-error@+1 {{expects element type f32 or f64, but got 'vector<2x4xf16>'}}
  %a, %m, %l = attn.online_start : vector<2x4xf16>, vector<4xf16>
  return
}

// -----

func.func @start_queries() {
  // expected-error@+1 {{expects acc and max to have the same queries and element type, but got 'vector<2x4xf32>' and 'vector<2xf32>'}}
  %a, %m, %l = attn.online_start : vector<2x4xf32>, vector<2xf32>
  return
}

// -----

func.func @normalized_shape(%a: vector<2x4xf32>, %m: vector<4xf32>) {
  // expected-error@+1 {{expects o to have the shape of acc, but got 'vector<4x2xf32>' and 'vector<2x4xf32>'}}
  %o, %lse = attn.normalize %a, %m, %m : vector<2x4xf32>, vector<4xf32> -> vector<4x2xf32>
  return
}

// -----

func.func @normalized_element(%a: vector<2x4xf32>, %m: vector<4xf64>) {
  // expected-error@+1 {{expects acc and max to have the same queries and element type, but got 'vector<2x4xf32>' and 'vector<4xf64>'}}
  %o, %lse = attn.normalize %a, %m, %m : vector<2x4xf32>, vector<4xf64> -> vector<2x4xf32>
  return
}

// -----

func.func @diagonals(%x: vector<11xf32>) {
  // expected-error @below {{'attn.spread_diagonals' op expects 12 diagonals of 'vector<8x4xf32>', but got 'vector<11xf32>'}}
  %y = attn.spread_diagonals %x : vector<11xf32> -> vector<8x4xf32>
  return
}
