// RUN: attn-opt %s --convert-attn-to-cpu --split-input-file --verify-diagnostics

func.func @tensors(%in: tensor<8xf32>, %out: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%t) in (1) {
    // expected-error @below {{expects tiles on buffers, but got an operand of type 'tensor<8xf32>': run attn-bufferize before convert-attn-to-cpu}}
    %x = vector.transfer_read %in[%c0], %pad {in_bounds = [true]} : tensor<8xf32>, vector<8xf32>
    vector.transfer_write %x, %out[%c0] {in_bounds = [true]} : vector<8xf32>, memref<8xf32>
  } {attn.schedule = #attn.schedule<tile_m = 8, tile_n = 8, lanes = 8, unroll_m = 1, unroll_n = 1>}
  return
}

// -----

func.func @reduction(%in: memref<8xf32>, %out: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%t) in (1) {
    %x = vector.transfer_read %in[%c0], %pad {in_bounds = [true]} : memref<8xf32>, vector<8xf32>
    // expected-error @below {{'vector.interleave' on tiles has no lowering to the CPU}}
    %y = vector.interleave %x, %x : vector<8xf32> -> vector<16xf32>
    vector.transfer_write %y, %out[%c0] : vector<16xf32>, memref<8xf32>
  } {attn.schedule = #attn.schedule<tile_m = 8, tile_n = 8, lanes = 8, unroll_m = 1, unroll_n = 1>}
  return
}

// -----

func.func @contraction(%a: memref<8x8xf32>, %out: memref<8x8xf32>) {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<8x8xf32>
  scf.forall (%t) in (1) {
    %x = vector.transfer_read %a[%t, %c0], %pad {in_bounds = [true, true]} : memref<8x8xf32>, vector<8x8xf32>
    // expected-error @below {{expects a contraction of the form acc(row, query) += lhs(row, inner) * rhs(inner, query)}}
    %z = vector.contract {indexing_maps = [affine_map<(r, q, k) -> (r, k)>, affine_map<(r, q, k) -> (q, k)>, affine_map<(r, q, k) -> (r, q)>],
        iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %x, %x, %zero
        : vector<8x8xf32>, vector<8x8xf32> into vector<8x8xf32>
    vector.transfer_write %z, %out[%t, %c0] {in_bounds = [true, true]} : vector<8x8xf32>, memref<8x8xf32>
  } {attn.schedule = #attn.schedule<tile_m = 8, tile_n = 8, lanes = 8, unroll_m = 1, unroll_n = 1>}
  return
}

// -----

func.func @queries(%a: memref<8x8xf32>, %out: memref<8x8xf32>) {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<8x8xf32>
  scf.forall (%t) in (1) {
    %x = vector.transfer_read %a[%t, %c0], %pad {in_bounds = [true, true]} : memref<8x8xf32>, vector<8x8xf32>
    // expected-error @below {{expects a multiple of 16 queries, but got 8}}
    %z = vector.contract {indexing_maps = [affine_map<(r, q, k) -> (r, k)>, affine_map<(r, q, k) -> (k, q)>, affine_map<(r, q, k) -> (r, q)>],
        iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %x, %x, %zero
        : vector<8x8xf32>, vector<8x8xf32> into vector<8x8xf32>
    vector.transfer_write %z, %out[%t, %c0] {in_bounds = [true, true]} : vector<8x8xf32>, memref<8x8xf32>
  } {attn.schedule = #attn.schedule<tile_m = 16, tile_n = 8, lanes = 16, unroll_m = 1, unroll_n = 1>}
  return
}

// -----

func.func @no_status(%src: memref<?xf32>, %out: memref<f32>) {
  scf.forall (%t) in (1) {
    %true = arith.constant true
    // expected-error @below {{expects the function of a checked read to have an argument with 'attn.status'}}
    %x = attn.gather %src[%t] mask %true site 0 : memref<?xf32>, (index), i1 -> f32
    memref.store %x, %out[] : memref<f32>
  } {attn.schedule = #attn.schedule<tile_m = 8, tile_n = 8, lanes = 8, unroll_m = 1, unroll_n = 1>}
  return
}

// -----

func.func @report_no_status(%x: index, %p: i1) {
  // expected-error @below {{expects the function of a report to have an argument with 'attn.status'}}
  attn.report site 0 (%x, %x) if %p
  return
}

// -----

func.func @masked_write(%out: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %x = arith.constant dense<1.0> : vector<8xf32>
  %m = arith.constant dense<true> : vector<8xi1>
  scf.forall (%t) in (1) {
    // expected-error @below {{expects an unmasked write to a buffer}}
    vector.transfer_write %x, %out[%c0], %m {in_bounds = [true]} : vector<8xf32>, memref<8xf32>
  } {attn.schedule = #attn.schedule<tile_m = 8, tile_n = 8, lanes = 8, unroll_m = 1, unroll_n = 1>}
  return
}

// -----

func.func @no_list(%n: index, %x: vector<1xf32>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  scf.forall (%i) in (4) {
    // expected-error @below {{expects a loop over a list of keys as attn-tile makes it}}
    %s = scf.for %j = %c0 to %n step %c8 iter_args(%a = %x) -> (vector<1xf32>) {
      scf.yield %a : vector<1xf32>
    }
  } {attn.schedule = #attn.row_schedule<rows = 4, tile_n = 8, lanes = 8>}
  return
}

// -----

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func @not_gathered(%k: memref<8x8xf32>, %q: vector<8x1xf32>, %z: vector<8x1xf32>, %out: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%i) in (4) {
    %r = vector.transfer_read %k[%c0, %c0], %pad {in_bounds = [true, true]} : memref<8x8xf32>, vector<8x8xf32>
    // expected-error @below {{expects a product with rows of attn.gather_rows}}
    %s = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} %r, %q, %z : vector<8x8xf32>, vector<8x1xf32> into vector<8x1xf32>
  } {attn.schedule = #attn.row_schedule<rows = 4, tile_n = 8, lanes = 8>}
  return
}

// -----

#a = affine_map<(m, n, k) -> (k, m)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
// expected-error @below {{expects a sum over keys to continue one}}
func.func @no_accumulator(%k: memref<8x8xf32>, %z: vector<8x1xf32>, %rows: vector<8xindex>, %mask: vector<8xi1>) {
  %p = arith.constant dense<1.0> : vector<8x1xf32>
  scf.forall (%i) in (4) {
    %r = attn.gather_rows %k[] rows %rows along 0 columns along 1 mask %mask : memref<8x8xf32>, vector<8xindex> -> vector<8x8xf32>
    %s = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} %r, %p, %z : vector<8x8xf32>, vector<8x1xf32> into vector<8x1xf32>
  } {attn.schedule = #attn.row_schedule<rows = 4, tile_n = 8, lanes = 8>}
  return
}

// -----

func.func @not_of_keys(%x: vector<8x1xf32>, %z: vector<8xf32>) {
  scf.forall (%i) in (4) {
    // expected-error @below {{expects a reduction over the keys of a query}}
    %s = vector.multi_reduction <add>, %x, %z [1] : vector<8x1xf32> to vector<8xf32>
  } {attn.schedule = #attn.row_schedule<rows = 4, tile_n = 8, lanes = 8>}
  return
}

// -----

// expected-error @below {{a value of the columns of a query has no lowering to the CPU}}
func.func @no_columns(%x: vector<8x1xf32>, %out: memref<8x4xf32>) {
  %c0 = arith.constant 0 : index
  scf.forall (%i) in (4) {
    vector.transfer_write %x, %out[%c0, %i] {in_bounds = [true, true]} : vector<8x1xf32>, memref<8x4xf32>
  } {attn.schedule = #attn.row_schedule<rows = 4, tile_n = 8, lanes = 8>}
  return
}

// -----

func.func @rows(%a: memref<8x8xf32>, %out: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<8xf32>
  scf.forall (%t) in (1) {
    %x = vector.transfer_read %a[%t, %c0], %pad {in_bounds = [true, true]} : memref<8x8xf32>, vector<8x8xf32>
    // expected-error @below {{expects a reduction over the rows of a tile}}
    %z = vector.multi_reduction <add>, %x, %zero [1] : vector<8x8xf32> to vector<8xf32>
    vector.transfer_write %z, %out[%t] {in_bounds = [true]} : vector<8xf32>, memref<8xf32>
  } {attn.schedule = #attn.schedule<tile_m = 8, tile_n = 8, lanes = 8, unroll_m = 1, unroll_n = 1>}
  return
}

// -----

func.func @columns(%a: memref<8x8xf32>, %out: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<8xf32>
  scf.forall (%t) in (1) {
    %x = vector.transfer_read %a[%t, %c0], %pad {in_bounds = [true, true]} : memref<8x8xf32>, vector<8x8xf32>
    // expected-error @below {{expects a multiple of 16 columns, but got 8}}
    %z = vector.multi_reduction <add>, %x, %zero [0] : vector<8x8xf32> to vector<8xf32>
    vector.transfer_write %z, %out[%t] {in_bounds = [true]} : vector<8xf32>, memref<8xf32>
  } {attn.schedule = #attn.schedule<tile_m = 16, tile_n = 8, lanes = 8, unroll_m = 2, unroll_n = 1>}
  return
}

// -----

func.func @together() {
  // expected-error @below {{expects a schedule without queries on a CPU, but got #attn.row_schedule<rows = 4, tile_n = 8, lanes = 8, queries = 2>; leave it out, and the compiler chooses one}}
  scf.forall (%i) in (4) {
  } {attn.schedule = #attn.row_schedule<rows = 4, tile_n = 8, lanes = 8, queries = 2>}
  return
}

// -----

func.func @other_choice(%x: vector<1xf32>, %c: i1) {
  scf.forall (%i) in (4) {
    // expected-error @below {{expects a choice to pass over a step as attn-tile makes it}}
    %a:3 = scf.if %c -> (vector<1xf32>, vector<1xf32>, vector<1xf32>) {
      scf.yield %x, %x, %x : vector<1xf32>, vector<1xf32>, vector<1xf32>
    } else {
      scf.yield %x, %x, %x : vector<1xf32>, vector<1xf32>, vector<1xf32>
    }
  } {attn.schedule = #attn.row_schedule<rows = 4, tile_n = 8, lanes = 8>}
  return
}
