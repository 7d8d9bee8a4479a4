// RUN: attn-opt %s --split-input-file --verify-diagnostics

func.func @rows(%t: index, %s: index) {
  // expected-error @+1 {{expects a size that is a positive multiple of 64, but got 100}}
  %a, %b = hopper.work_rows %t of %s size 100
  return
}

// -----

func.func @part_step(%t: index, %s: index) {
  // expected-error @+1 {{expects a positive step, but got 0}}
  %a, %b = hopper.split_of_range %t of %s from %t to %s step 0 least 4
  return
}

// -----

func.func @part_least(%t: index, %s: index) {
  // expected-error @+1 {{expects a positive least number of blocks, but got -1}}
  %a, %b = hopper.split_of_range %t of %s from %t to %s step 64 least -1
  return
}

// -----

func.func @work_extents(%n: index) {
  // expected-error @+1 {{expects three or four extents, and an argument more than extents}}
  hopper.work_loop (%b, %h, %t, %number) in (%n, %n, %n, %n) {
  }
  return
}

// -----

func.func @work_arguments(%n: index) {
  // expected-error @+1 {{expects a body with an index for each extent, an i32 and the carried values as arguments}}
  "hopper.work_loop"(%n, %n, %n) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>}> ({
  ^bb0(%b: index, %h: index, %t: index, %p: index, %number: i32):
    "hopper.end"() : () -> ()
  }) : (index, index, index) -> ()
  return
}

// -----

func.func @step_end() {
  // expected-error @+1 {{expects the region to end with values of the types of the results}}
  %x = hopper.step "a" in "load" -> index {
    hopper.end
  }
  return
}

// -----

func.func @stages(%map: !hopper.map<64x64xbf16>, %b: index) {
  // expected-error @+1 {{expects 1, 2 or 4 stages, but got 3}}
  %x = hopper.load %map[%b, %b, %b] stages 3 : !hopper.map<64x64xbf16> -> !hopper.tile<64x64xbf16>
  return
}

// -----

func.func @box(%map: !hopper.map<64x64xbf16>, %b: index) {
  // expected-error @+1 {{expects a tile of the boxes of '!hopper.map<64x64xbf16>'}}
  %x = hopper.load %map[%b, %b, %b] stages 2 : !hopper.map<64x64xbf16> -> !hopper.tile<128x64xbf16>
  return
}

// -----

func.func @published_stages(%v: vector<64x64xbf16>) {
  // expected-error @+1 {{expects 1, 2 or 4 stages, but got 8}}
  %x = hopper.publish %v stages 8 : vector<64x64xbf16> -> !hopper.tile<128x64xbf16>
  return
}

// -----

func.func @split_stages(%v: vector<48x1xf32>) {
  // expected-error @+1 {{expects 1, 2 or 4 stages, but got 8}}
  %x, %y = hopper.publish_bf16x3 %v times 1.0 up_to 1.0 stages 8 : vector<48x1xf32> -> !hopper.tile<48x8xbf16>
  return
}

// -----

func.func @split_tile(%v: vector<48x1xf32>) {
  // expected-error @+1 {{expects a tile of bf16 with 8 columns and a row for each of up to 256 numbers, but got '!hopper.tile<64x8xbf16>' for 'vector<48x1xf32>'}}
  %x, %y = hopper.publish_bf16x3 %v times 1.0 up_to 1.0 stages 4 : vector<48x1xf32> -> !hopper.tile<64x8xbf16>
  return
}

// -----

func.func @split_half(%v: vector<48x1xf32>) {
  // expected-error @+1 {{expects a tile of bf16 with 8 columns and a row for each of up to 256 numbers}}
  %x, %y = hopper.publish_bf16x3 %v times 1.0 up_to 1.0 stages 4 : vector<48x1xf32> -> !hopper.tile<48x8xf16>
  return
}

// -----

func.func @split_rows(%v: vector<1x64xf32>) {
  // expected-error @+1 {{expects a tile of bf16 with 8 columns and a row for each of up to 256 numbers}}
  %x, %y = hopper.publish_bf16x3 %v times 1.0 up_to 1.0 stages 4 : vector<1x64xf32> -> !hopper.tile<64x8xbf16>
  return
}

// -----

func.func @split_factor(%v: vector<48x1xf32>) {
  // expected-error @+1 {{expects a factor and a limit that are positive, but got}}
  %x, %y = hopper.publish_bf16x3 %v times 0.0 up_to 1.0 stages 4 : vector<48x1xf32> -> !hopper.tile<48x8xbf16>
  return
}

// -----

func.func @published_tile(%v: vector<64x64xbf16>) {
  // expected-error @+1 {{expects a tile with blocks of 'vector<64x64xbf16>', but got '!hopper.tile<128x32xbf16>'}}
  %x = hopper.publish %v stages 1 : vector<64x64xbf16> -> !hopper.tile<128x32xbf16>
  return
}

// -----

func.func @exclusive_partitions(%n: index) {
  hopper.pipelined_for %j = %n to %n step 64
      schedule [#hopper.place<"a", 0>, #hopper.place<"b", 0>] exclusive ["a", "b"] {
    hopper.step "a" in "first" {
      hopper.end
    }
    // expected-error @+1 {{expects steps that exclude each other to be of one partition, but got 'second' and 'first'}}
    hopper.step "b" in "second" {
      hopper.end
    }
  }
  return
}

// -----

func.func @own_rows(%tile: !hopper.tile<128x64xbf16>) {
  // expected-error @+1 {{expects 64 rows of the source, but got '!hopper.tile<64x32xbf16, of 128>'}}
  %x = hopper.own_rows %tile : !hopper.tile<128x64xbf16> -> !hopper.tile<64x32xbf16, of 128>
  return
}

// -----

func.func @dot(%q: !hopper.tile<64x64xbf16>, %k: !hopper.tile<64x64xbf16>, %a: vector<32x64xf32>) {
  // expected-error @+1 {{expects the accumulator to be 'vector<64x64xf32>', but got 'vector<32x64xf32>'}}
  %x = hopper.dot %q, %k acc %a : !hopper.tile<64x64xbf16>, !hopper.tile<64x64xbf16>, vector<32x64xf32> -> vector<64x64xf32>
  return
}

// -----

func.func @dot_rows(%q: !hopper.tile<128x64xbf16>, %k: !hopper.tile<64x64xbf16>) {
  // expected-error @+1 {{expects 64 rows of the result, but got 128}}
  %x = hopper.dot %q, %k : !hopper.tile<128x64xbf16>, !hopper.tile<64x64xbf16> -> vector<64x64xf32>
  return
}

// -----

func.func @own_columns(%tile: !hopper.tile<64x96xbf16>) {
  // expected-error @+1 {{expects 64 columns of the source, but got '!hopper.tile<64x32xbf16>'}}
  %x = hopper.own_columns %tile : !hopper.tile<64x96xbf16> -> !hopper.tile<64x32xbf16>
  return
}

// -----

func.func @own_columns_of_chunks(%tile: !hopper.tile<64x96xbf16, chunks of 48>) {
  // expected-error @+1 {{expects 48 columns of the source, but got '!hopper.tile<64x64xbf16>'}}
  %x = hopper.own_columns %tile : !hopper.tile<64x96xbf16, chunks of 48> -> !hopper.tile<64x64xbf16>
  return
}

// -----

func.func @own_rows_of_bits(%tile: !hopper.tile<128xi1>) {
  // expected-error@+1 {{expects rows of 32-bit elements, but got '!hopper.tile<128xi1>'}}
  %x = hopper.own_rows %tile : !hopper.tile<128xi1> -> !hopper.tile<64xi1, of 128>
  return
}

// -----

func.func @own_rows_of_chunks(%tile: !hopper.tile<128x96xbf16, chunks of 48>) {
  // expected-error @+1 {{expects 64 rows of the source, but got '!hopper.tile<64x96xbf16, of 128>'}}
  %x = hopper.own_rows %tile : !hopper.tile<128x96xbf16, chunks of 48> -> !hopper.tile<64x96xbf16, of 128>
  return
}

// -----

func.func @dot_chunks(%p: !hopper.tile<64x64xbf16>, %k: !hopper.tile<64x96xbf16, chunks of 48>) {
  // expected-error @+1 {{expects the columns of a transposed tile to be in one chunk, or in chunks of 64, but got '!hopper.tile<64x96xbf16, chunks of 48>'}}
  %x = hopper.dot %p, %k rhs_transposed : !hopper.tile<64x64xbf16>, !hopper.tile<64x96xbf16, chunks of 48> -> vector<96x64xf32>
  return
}

// -----

func.func @dot_chunks_of_lhs(%p: !hopper.tile<64x64xbf16, chunks of 32>, %k: !hopper.tile<64x64xbf16>) {
  // expected-error @+1 {{expects the columns of a transposed tile to be in one chunk, or in chunks of 64, but got '!hopper.tile<64x64xbf16, chunks of 32>'}}
  %x = hopper.dot %p, %k lhs_transposed rhs_transposed : !hopper.tile<64x64xbf16, chunks of 32>, !hopper.tile<64x64xbf16> -> vector<64x64xf32>
  return
}

// -----

func.func @published_chunks(%v: vector<64x64xbf16>) {
  // expected-error @+1 {{expects a tile with blocks of 'vector<64x64xbf16>', but got '!hopper.tile<64x64xbf16, chunks of 32>'}}
  %x = hopper.publish %v stages 1 : vector<64x64xbf16> -> !hopper.tile<64x64xbf16, chunks of 32>
  return
}

// -----

func.func @published_across(%v: vector<64x64xbf16>) {
  // expected-error @+1 {{expects a tile with blocks of 'vector<64x64xbf16>', but got '!hopper.tile<96x128xbf16>'}}
  %x = hopper.publish %v transposed stages 1 : vector<64x64xbf16> -> !hopper.tile<96x128xbf16>
  return
}

// -----

func.func @published_floats(%v: vector<64x64xf32>) {
  // expected-error @+1 {{expects a tile with blocks of 'vector<64x64xf32>', but got '!hopper.tile<64x64xf32>'}}
  %x = hopper.publish %v stages 1 : vector<64x64xf32> -> !hopper.tile<64x64xf32>
  return
}

// -----

func.func @vector_stages(%source: memref<?xf32>, %i: index) {
  // expected-error @+1 {{expects 1, 2 or 4 stages, but got 3}}
  %x = hopper.load_vector %source[%i] stages 3 : memref<?xf32> -> !hopper.tile<80xf32>
  return
}

// -----

func.func @vector_tile(%source: memref<?xf32>, %i: index) {
  // expected-error @+1 {{expects a vector of a multiple of 8 elements, but got '!hopper.tile<12xf32>'}}
  %x = hopper.load_vector %source[%i] stages 2 : memref<?xf32> -> !hopper.tile<12xf32>
  return
}

// -----

func.func @vector_source(%source: memref<?xbf16>, %i: index) {
  // expected-error @+1 {{expects a buffer of 'f32' with a contiguous last dimension, but got 'memref<?xbf16>'}}
  %x = hopper.load_vector %source[%i] stages 2 : memref<?xbf16> -> !hopper.tile<80xf32>
  return
}

// -----

func.func @vector_indices(%source: memref<?x?xf32>, %i: index) {
  // expected-error @+1 {{expects 2 indices, but got 1}}
  %x = hopper.load_vector %source[%i] stages 2 : memref<?x?xf32> -> !hopper.tile<80xf32>
  return
}

// -----

func.func @view_tile(%n: i32) {
  %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16>
  hopper.step "late" in "compute" {
    // expected-error @+1 {{expects the result to be a tile of the channel, '!hopper.tile<64x64xbf16>', but got '!hopper.tile<64x128xbf16>'}}
    %x = hopper.view %ch[%n] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x128xbf16>
    hopper.end
  }
  return
}

// -----

func.func @view_outside(%n: i32) {
  %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16>
  // expected-error @+1 {{expects to be in a partition of hopper.warp_specialize}}
  %x = hopper.view %ch[%n] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
  return
}

// -----

func.func @mask_when(%s: vector<64x64xf32>, %f: i1, %p: vector<64x64xi1>) {
  // expected-error @+1 {{expects by_block, always or never, but got 'sometimes'}}
  %x = hopper.mask %s unless %f sometimes {
    hopper.end %p : vector<64x64xi1>
  } : vector<64x64xf32>
  return
}

// -----

func.func @mask_end(%s: vector<64x64xf32>, %f: i1) {
  // expected-error @+1 {{expects a region that ends with 'vector<64x64xi1>'}}
  %x = hopper.mask %s unless %f always {
    hopper.end %f : i1
  } : vector<64x64xf32>
  return
}

// -----

func.func @factor(%s: vector<64x64xf32>, %a: vector<64x64xf32>, %m: vector<1x64xf32>, %l: vector<4x64xf32>) {
  // expected-error @+1 {{expects a positive factor}}
  %p, %a1, %m1, %l1 = hopper.softmax_step %s, %a, %m, %l factor 0.0 lazy
      : vector<64x64xf32>, vector<64x64xf32>, vector<1x64xf32>, vector<4x64xf32>
  return
}

// -----

func.func @rescale(%s: vector<64x64xf32>, %a: vector<64x64xf32>, %m: vector<1x64xf32>, %l: vector<4x64xf32>) {
  // expected-error @+1 {{expects lazy, exact or never, but got 'often'}}
  %p, %a1, %m1, %l1 = hopper.softmax_step %s, %a, %m, %l factor 1.0 often
      : vector<64x64xf32>, vector<64x64xf32>, vector<1x64xf32>, vector<4x64xf32>
  return
}

// -----

func.func @state(%s: vector<64x64xf32>, %a: vector<64x64xf32>, %m: vector<2x64xf32>, %l: vector<4x64xf32>) {
  // expected-error @+1 {{expects vectors of 64 columns, with 1 row of negMax and 4 of sum}}
  %p, %a1, %m1, %l1 = hopper.softmax_step %s, %a, %m, %l factor 1.0 lazy
      : vector<64x64xf32>, vector<64x64xf32>, vector<2x64xf32>, vector<4x64xf32>
  return
}

// -----

func.func @offset(%s: vector<64x64xf32>, %o: vector<2x64xf32>, %m: vector<1x64xf32>, %l: vector<4x64xf32>) {
  // expected-error @+1 {{failed to verify that offset has the type of negMax}}
  %p, %a1, %m1, %l1 = "hopper.softmax_step"(%s, %s, %m, %l, %o) {factor = 1.0 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 1>, rescale = "lazy"}
      : (vector<64x64xf32>, vector<64x64xf32>, vector<1x64xf32>, vector<4x64xf32>, vector<2x64xf32>) -> (vector<64x64xf32>, vector<64x64xf32>, vector<1x64xf32>, vector<4x64xf32>)
  return
}

// -----

func.func @place_without_step(%n: index) {
  // expected-error @+1 {{expects a schedule with places for the steps of the loop, but got one for 'qk'; the steps are load_k, softmax}}
  hopper.pipelined_for %j = %n to %n step 64 schedule [#hopper.place<"load_k", 0>, #hopper.place<"qk", 0>] {
    hopper.step "load_k" in "load" {
      hopper.end
    }
    hopper.step "softmax" in "compute" {
      hopper.end
    }
  }
  return
}

// -----

func.func @step_without_place(%n: index) {
  hopper.pipelined_for %j = %n to %n step 64 schedule [] {
    // expected-error @+1 {{expects a schedule with a place for each step of the loop, but got none for 'qk'; the steps are qk}}
    hopper.step "qk" in "compute" {
      hopper.end
    }
  }
  return
}

// -----

func.func @two_places(%n: index) {
  // expected-error @+1 {{expects one place for the step 'qk'}}
  hopper.pipelined_for %j = %n to %n step 64 schedule [#hopper.place<"qk", 0>, #hopper.place<"qk", 1>] {
    hopper.step "qk" in "compute" {
      hopper.end
    }
  }
  return
}

// -----

func.func @two_steps(%n: index) {
  hopper.pipelined_for %j = %n to %n step 64 schedule [#hopper.place<"qk", 0>] {
    hopper.step "qk" in "compute" {
      hopper.end
    }
    // expected-error @+1 {{expects a name that no other step of the loop has, but got 'qk'}}
    hopper.step "qk" in "compute" {
      hopper.end
    }
  }
  return
}

// -----

func.func @exclusive(%n: index) {
  // expected-error @+1 {{expects steps that exclude each other to be of the schedule, but got 'pv'}}
  hopper.pipelined_for %j = %n to %n step 64 schedule [] exclusive ["pv"] {
  }
  return
}

// -----

// A step that uses the result of another one comes after it.

func.func @order(%n: index) {
  hopper.pipelined_for %j = %n to %n step 64 schedule [#hopper.place<"b", 0>, #hopper.place<"a", 0>] {
    // expected-note @+1 {{which is this step}}
    %x = hopper.step "a" in "compute" -> index {
      hopper.end %j : index
    }
    // expected-error @+1 {{expects 'b' to come after 'a' in the schedule, as it uses its result}}
    %y = hopper.step "b" in "compute" -> index {
      %z = arith.addi %x, %x : index
      hopper.end %z : index
    }
  }
  return
}

// -----

// What is carried is there before it is used for the next block.

func.func @carried(%n: index) {
  %r = hopper.pipelined_for %j = %n to %n step 64 iter_args(%c = %n)
      schedule [#hopper.place<"a", 0>, #hopper.place<"b", 1>] : index {
    // expected-error @+1 {{expects 'a' to come after 'b' in the schedule, as it uses its result of the block before}}
    %x = hopper.step "a" in "compute" -> index {
      %y = arith.addi %c, %j : index
      hopper.end %y : index
    }
    // expected-note @+1 {{which is this step}}
    %z = hopper.step "b" in "compute" -> index {
      %y = arith.addi %x, %j : index
      hopper.end %y : index
    }
    hopper.end %z : index
  }
  return
}

// -----

func.func @not_pure(%n: index, %m: memref<2xi32>, %v: i32) {
  hopper.pipelined_for %j = %n to %n step 64 schedule [] {
    // expected-error @+1 {{expects to be in a step of the loop, as it is not pure}}
    memref.store %v, %m[%j] : memref<2xi32>
  }
  return
}

// -----

// expected-error @+1 {{expects the name of a step and a stage of 0 or more, but got "" and 0}}
func.func @place() attributes {p = #hopper.place<"", 0>} { return }

// -----

func.func @exclusive_alone() attributes {
  // expected-error @+1 {{expects exclusive together with an order}}
  s = #hopper.schedule<tile_m = 128, tile_n = 128, stages = 2, registers = 240, head_swizzle = 1, exclusive = [qk]>} { return }

// -----

func.func @class_values(%n: index, %x: i1) {
  // expected-error @+1 {{expects classes that end with two values of i1, for an index}}
  hopper.pipelined_for %j, %full = %n to %n step 64 schedule [] classes(%c) {
    hopper.end %x : i1
  } {
  }
  return
}

// -----

func.func @class_step(%n: index, %x: i1) {
  // expected-error @+1 {{expects a step that is a multiple of 16 of a loop with classes, and neither within nor only_last_partial}}
  hopper.pipelined_for %j, %full = %n to %n step 24 schedule [] classes(%c) {
    hopper.end %x, %x : i1, i1
  } {
  }
  return
}

// -----

func.func @class_within(%n: index, %x: i1) {
  // expected-error @+1 {{expects a step that is a multiple of 16 of a loop with classes, and neither within nor only_last_partial}}
  hopper.pipelined_for %j, %full = %n to %n step 64 within %n to %n schedule [] classes(%c) {
    hopper.end %x, %x : i1, i1
  } {
  }
  return
}

// -----

func.func @no_class_variable(%n: index, %x: i1) {
  // expected-error @+1 {{expects a body with an index, an i1 and the carried values as arguments}}
  hopper.pipelined_for %j = %n to %n step 64 schedule [] classes(%c) {
    hopper.end %x, %x : i1, i1
  } {
  }
  return
}

// -----

func.func @while_without_code(%x: index) {
  // expected-error @+1 {{expects an i32 that is carried first, and neither within nor classes, of a loop with while}}
  %r = hopper.pipelined_for while iter_args(%y = %x) schedule [] : index {
    hopper.end %y : index
  }
  return
}

// -----

func.func @while_without_step(%n: index, %x: i32) {
  // expected-error @+1 {{expects a positive step}}
  %r = hopper.pipelined_for while from %n to %n step 0 iter_args(%y = %x) schedule [] : i32 {
    hopper.end %y : i32
  }
  return
}

// -----

func.func @one_bound(%n: index) {
  // expected-error @+1 {{expects both bounds, or none of a loop with while}}
  "hopper.pipelined_for"(%n) <{operandSegmentSizes = array<i32: 1, 0, 0, 0, 0>, schedule = [], step = 64 : i64}> ({
  ^bb0(%j: index):
    "hopper.end"() : () -> ()
  }, {
  }) : (index) -> ()
  return
}

// -----

func.func @list_map(%map: !hopper.map<64x64xbf16>, %list: memref<?x64xi32>, %b: index) {
  // expected-error @+1 {{expects a strided map for rows of a list, but got '!hopper.map<64x64xbf16>'}}
  %x = hopper.load %map[%b, %b, %b] rows %list[%b] stages 2 : !hopper.map<64x64xbf16>, memref<?x64xi32> -> !hopper.tile<64x64xbf16>
  return
}

// -----

func.func @list_position(%map: !hopper.map<64x64xbf16, strided>, %list: memref<?x64xi32>, %b: index) {
  // expected-error @+1 {{expects one position for each dimension of the list but the last, 1, but got 0}}
  %x = hopper.load %map[%b, %b, %b] rows %list[] stages 2 : !hopper.map<64x64xbf16, strided>, memref<?x64xi32> -> !hopper.tile<64x64xbf16>
  return
}

// -----

func.func @work_types(%n: index, %x: i32) {
  // expected-error @+1 {{expects a type of each carried value}}
  hopper.work_loop (%b, %h, %t, %number) in (%n, %n, %n) iter_args(%y = %x) : i32, i32 {
    hopper.end %y : i32
  }
  return
}
