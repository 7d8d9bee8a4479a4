// Each error of the verifiers of the online level. What attn.online_attention shares with attn.attention is in
// invalid.mlir.

// RUN: attn-opt %s --split-input-file --verify-diagnostics

//===----------------------------------------------------------------------===//
// attn.online_attention
//===----------------------------------------------------------------------===//

func.func @no_scale(%q: tensor<1x1x2x4xf32>, %r: tensor<1x1x2xf32>) {
  // expected-error@+1 {{requires attribute 'scale'}}
  %0:3 = attn.online_attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q, %r, %r : tensor<1x1x2x4xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
  return
}

// -----

func.func @rescale(%q: tensor<1x1x2x4xf32>, %r: tensor<1x1x2xf32>) {
  // expected-error@+1 {{expects rescale(exact), rescale(lazy) or rescale(never), but got 'often'}}
  %0:3 = attn.online_attention scale 1.0 rescale(often)
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q, %r, %r : tensor<1x1x2x4xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
  return
}

// -----

func.func @scale_nan(%q: tensor<1x1x2x4xf32>, %r: tensor<1x1x2xf32>) {
  // expected-error@+1 {{expects the scale to be finite in 'f32', but got nan}}
  %0:3 = attn.online_attention scale 0x7FF8000000000000
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q, %r, %r : tensor<1x1x2x4xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
  return
}

// -----

func.func @inputs(%q: tensor<1x5x2x4xf32>, %k: tensor<1x2x2x4xf32>, %r: tensor<1x5x2xf32>) {
  // expected-error@+1 {{expects the heads of q to be a multiple of the heads of k and v, but got 5 and 2}}
  %0:3 = attn.online_attention scale 1.0
      ins(%q, %k, %k : tensor<1x5x2x4xf32>, tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>)
      outs(%q, %r, %r : tensor<1x5x2x4xf32>, tensor<1x5x2xf32>, tensor<1x5x2xf32>)
  return
}

// -----

func.func @outs_count(%q: tensor<1x1x2x4xf32>, %r: tensor<1x1x2xf32>) {
  // expected-error@+1 {{expects outs to hold acc, max and sum, but got 2 operands}}
  %0:2 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q, %r : tensor<1x1x2x4xf32>, tensor<1x1x2xf32>)
  return
}

// -----

func.func @acc_rank(%q: tensor<1x1x2x4xf32>, %r: tensor<1x1x2xf32>) {
  // expected-error@+1 {{expects acc to have rank 4, but got rank 3}}
  %0:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%r, %r, %r : tensor<1x1x2xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
  return
}

// -----

func.func @acc_element_type(%q: tensor<1x1x2x4xbf16>, %r: tensor<1x1x2xf32>) {
  // expected-error@+1 {{expects acc to have element type 'f32', but got 'bf16'}}
  %0:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<1x1x2x4xbf16>, tensor<1x1x2x4xbf16>, tensor<1x1x2x4xbf16>)
      outs(%q, %r, %r : tensor<1x1x2x4xbf16>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
  return
}

// -----

func.func @acc_shape(%q: tensor<1x1x2x4xf32>, %v: tensor<1x1x2x8xf32>, %r: tensor<1x1x2xf32>) {
  // expected-error@+1 {{expects acc to have the shape 'tensor<1x1x2x8xf32>', but got 'tensor<1x1x2x4xf32>'}}
  %0:3 = attn.online_attention scale 1.0
      ins(%q, %q, %v : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x8xf32>)
      outs(%q, %r, %r : tensor<1x1x2x4xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
  return
}

// -----

func.func @max_rank(%q: tensor<1x1x2x4xf32>, %r: tensor<1x1x2xf32>) {
  // expected-error@+1 {{expects max to have rank 3, but got rank 4}}
  %0:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q, %q, %r : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2xf32>)
  return
}

// -----

func.func @max_shape(%q: tensor<1x1x2x4xf32>, %m: tensor<1x1x3xf32>, %r: tensor<1x1x2xf32>) {
  // expected-error@+1 {{expects max to have the batch, heads and length of q, which are 'tensor<1x1x2xf32>', but got 'tensor<1x1x3xf32>'}}
  %0:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q, %m, %r : tensor<1x1x2x4xf32>, tensor<1x1x3xf32>, tensor<1x1x2xf32>)
  return
}

// -----

func.func @sum_element_type(%q: tensor<1x1x2x4xf64>, %m: tensor<1x1x2xf64>, %r: tensor<1x1x2xf32>) {
  // expected-error@+1 {{expects sum to have element type 'f64', but got 'f32'}}
  %0:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<1x1x2x4xf64>, tensor<1x1x2x4xf64>, tensor<1x1x2x4xf64>)
      outs(%q, %m, %r : tensor<1x1x2x4xf64>, tensor<1x1x2xf64>, tensor<1x1x2xf32>)
  return
}

// -----

func.func @results(%q: tensor<1x1x2x4xf32>, %r: tensor<1x1x2xf32>) {
  // expected-error@+1 {{expects results to have the types of outs, ('tensor<1x1x2x4xf32>', 'tensor<1x1x2xf32>', 'tensor<1x1x2xf32>'), but got ('tensor<1x1x2x4xf32>')}}
  %0 = "attn.online_attention"(%q, %q, %q, %q, %r, %r) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 3>, scale = 1.0}> ({}, {}, {}, {}, {})
      : (tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>) -> tensor<1x1x2x4xf32>
  return
}

// -----

func.func @mask_yields(%q: tensor<1x1x2x4xf32>, %r: tensor<1x1x2xf32>) {
  // expected-error@+1 {{expects the mask region to yield 'i1', but got 'index'}}
  %0:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q, %r, %r : tensor<1x1x2x4xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
      mask(%b, %h, %i, %j) {
        // expected-note@+1 {{yielded here}}
        attn.yield %i : index
      }
  return
}

// -----

func.func @blocks_arguments(%q: tensor<1x1x2x4xf32>, %r: tensor<1x1x2xf32>) {
  %0:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q, %r, %r : tensor<1x1x2x4xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
      // expected-error@+1 {{expects the blocks region to have the arguments (b, h, i0, i1, skv) and one for each of 0 captures, but got 4}}
      blocks(%b, %h, %i0, %i1) {
      }
  return
}

// -----

func.func @blocks_yields(%q: tensor<1x1x2x4xf32>, %r: tensor<1x1x2xf32>) {
  // expected-error@+1 {{expects the blocks region to yield 'index', 'index', 'index', 'index', but got 'index', 'index'}}
  %0:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q, %r, %r : tensor<1x1x2x4xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
      blocks(%b, %h, %i0, %i1, %skv) {
        // expected-note@+1 {{yielded here}}
        attn.yield %i0, %i1 : index, index
      }
  return
}

// -----

func.func @blocks_not_allowed(%q: tensor<1x1x2x4xf32>, %r: tensor<1x1x2xf32>) {
  // expected-note@+1 {{in this attention}}
  %0:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q, %r, %r : tensor<1x1x2x4xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
      blocks(%b, %h, %i0, %i1, %skv) {
        // expected-error@+1 {{'scf.execute_region' is not allowed in the blocks region of an attention: expects operations of arith, math and index, tensor.extract, tensor.dim, scf.if, or scf.for}}
        scf.execute_region {
          scf.yield
        }
        attn.yield %i0, %i1, %i0, %i1 : index, index, index, index
      }
  return
}

// -----

func.func @tiles_arguments(%q: tensor<1x1x2x4xf32>, %r: tensor<1x1x2xf32>) {
  %0:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q, %r, %r : tensor<1x1x2x4xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
      // expected-error@+1 {{expects the tiles region to have the arguments (b, h, i0, i1, j0, j1) and one for each of 0 captures, but got 5}}
      tiles(%b, %h, %i0, %i1, %j0) {
      }
  return
}

// -----

func.func @tiles_yields(%q: tensor<1x1x2x4xf32>, %r: tensor<1x1x2xf32>) {
  // expected-error@+1 {{expects the tiles region to yield 'i1', 'i1', but got 'index', 'index'}}
  %0:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q, %r, %r : tensor<1x1x2x4xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
      tiles(%b, %h, %i0, %i1, %j0, %j1) {
        // expected-note@+1 {{yielded here}}
        attn.yield %i0, %i1 : index, index
      }
  return
}

// -----

func.func @rows_yields(%q: tensor<1x1x2x4xf32>, %r: tensor<1x1x2xf32>) {
  // expected-error@+1 {{expects the rows region to yield 'f32', 'i1', 'f32', but got 'f32', 'f32'}}
  %0:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q, %r, %r : tensor<1x1x2x4xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
      rows(%b, %h, %i) {
        %t = arith.constant 1.0 : f32
        // expected-note@+1 {{yielded here}}
        attn.yield %t, %t : f32, f32
      }
  return
}

// -----

func.func @rows_arguments(%q: tensor<1x1x2x4xf32>, %r: tensor<1x1x2xf32>) {
  %0:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q, %r, %r : tensor<1x1x2x4xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
      // expected-error@+1 {{expects the rows region to have the arguments (b, h, i) and one for each of 0 captures, but got 2}}
      rows(%b, %h) {
      }
  return
}

// -----

func.func @tiles_not_allowed(%q: tensor<1x1x2x4xf32>, %r: tensor<1x1x2xf32>) {
  // expected-note@+1 {{in this attention}}
  %0:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q, %r, %r : tensor<1x1x2x4xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
      tiles(%b, %h, %i0, %i1, %j0, %j1) {
        // expected-error@+1 {{'scf.execute_region' is not allowed in the tiles region of an attention: expects operations of arith, math and index, tensor.extract, tensor.dim, scf.if, scf.for, attn.range or attn.range_over}}
        scf.execute_region {
          scf.yield
        }
        %t = arith.constant true
        attn.yield %t, %t : i1, i1
      }
  return
}

// -----

func.func @range_in_mask(%q: tensor<1x1x2x4xf32>, %r: tensor<1x1x2xf32>, %x: tensor<?xi1>) {
  // expected-note@+1 {{in this attention}}
  %0:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      captures(%x : tensor<?xi1>)
      outs(%q, %r, %r : tensor<1x1x2x4xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
      mask(%b, %h, %i, %j, %x) {
        // expected-error@+1 {{'attn.range' is not allowed in the mask region of an attention: expects operations of arith, math and index, tensor.extract, tensor.dim, scf.if, or scf.for}}
        %all, %any = attn.range %x[%i] to [%j] : tensor<?xi1>
        attn.yield %any : i1
      }
  return
}

// -----

func.func @range_outside(%x: tensor<?xi1>, %i: index) {
  // expected-error@+1 {{'attn.range' op expects parent op to be one of 'attn.online_attention, attn.attention_grad'}}
  %all, %any = attn.range %x[%i] to [%i] : tensor<?xi1>
  return
}

// -----

func.func @range_of_floats(%x: tensor<?xf32>, %i: index) {
  // expected-error@+1 {{expects a ranked tensor of integers, but got 'tensor<?xf32>'}}
  %all, %any = attn.range %x[%i] to [%i] : tensor<?xf32>
  return
}

// -----

func.func @range_rank(%q: tensor<1x1x2x4xf32>, %r: tensor<1x1x2xf32>, %x: tensor<?x?xi1>) {
  %0:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      captures(%x : tensor<?x?xi1>)
      outs(%q, %r, %r : tensor<1x1x2x4xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
      tiles(%b, %h, %i0, %i1, %j0, %j1, %x) {
        // expected-error@+1 {{expects two indices for each of 2 dimensions, but got 1 and 1}}
        %all, %any = attn.range %x[%i0] to [%i1] : tensor<?x?xi1>
        attn.yield %any, %all : i1, i1
      }
  return
}

// -----

func.func @range_over_outside(%i: index) {
  // expected-error@+1 {{'attn.range_over' op expects parent op to be one of 'attn.online_attention, attn.attention_grad'}}
  %all, %any = attn.range_over (%x = %i to %i) : index {
    attn.yield %x : index
  }
  return
}

// -----

func.func @range_over_nothing(%q: tensor<1x1x2x4xf32>, %r: tensor<1x1x2xf32>) {
  %0:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q, %r, %r : tensor<1x1x2x4xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
      tiles(%b, %h, %i0, %i1, %j0, %j1) {
        // expected-error@+1 {{expects one or two positions, but got 0}}
        %all, %any = attn.range_over () : i1 {
          %t = arith.constant true
          attn.yield %t : i1
        }
        attn.yield %any, %all : i1, i1
      }
  return
}

// -----

func.func @range_over_yields(%q: tensor<1x1x2x4xf32>, %r: tensor<1x1x2xf32>) {
  %0:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q, %r, %r : tensor<1x1x2x4xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
      tiles(%b, %h, %i0, %i1, %j0, %j1) {
        // expected-error@+1 {{expects the body to yield 'i1'}}
        %all, %any = attn.range_over (%i = %i0 to %i1) : i1 {
          attn.yield %i : index
        }
        attn.yield %any, %all : i1, i1
      }
  return
}

// -----

func.func @range_over_types(%q: tensor<1x1x2x4xf32>, %r: tensor<1x1x2xf32>) {
  %0:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q, %r, %r : tensor<1x1x2x4xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
      tiles(%b, %h, %i0, %i1, %j0, %j1) {
        // expected-error@+1 {{expects results of one type, but got 'index' and 'i1'}}
        %all, %any = "attn.range_over"(%i0, %i1) ({
        ^bb0(%i: index):
          attn.yield %i : index
        }) : (index, index) -> (index, i1)
        attn.yield %any, %any : i1, i1
      }
  return
}

// -----

func.func @range_over_arguments(%q: tensor<1x1x2x4xf32>, %r: tensor<1x1x2xf32>) {
  %0:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q, %r, %r : tensor<1x1x2x4xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
      tiles(%b, %h, %i0, %i1, %j0, %j1) {
        // expected-error@+1 {{expects the body to have an index for each of 1 positions, but got 2 arguments}}
        %all, %any = "attn.range_over"(%i0, %i1) ({
        ^bb0(%i: index, %j: index):
          %t = arith.constant true
          attn.yield %t : i1
        }) : (index, index) -> (i1, i1)
        attn.yield %any, %any : i1, i1
      }
  return
}

// -----

func.func @blocks_in_attention(%q: tensor<1x1x2x4xf32>) {
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
      // expected-error@+1 {{custom op 'blocks' is unknown}}
      blocks(%b, %h, %i0, %i1, %skv) {
        attn.yield %i0, %i1, %i0, %i1 : index, index, index, index
      }
  return
}

// -----

//===----------------------------------------------------------------------===//
// attn.finalize
//===----------------------------------------------------------------------===//

func.func @finalize_layout(%a: tensor<1x1x2x4xf32>, %r: tensor<1x1x2xf32>) {
  // expected-error@+1 {{expects a layout to be a permutation of 'bhsd', but got 'hbs'}}
  %o = attn.finalize layout(hbs) ins(%a, %r, %r : tensor<1x1x2x4xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
      outs(%a : tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
  return
}

// -----

func.func @finalize_layout_generic(%a: tensor<1x1x2x4xf32>, %r: tensor<1x1x2xf32>) {
  // expected-error@+1 {{expects the layout to be a permutation of (b, h, s, d), but got affine_map<(d0, d1, d2, d3) -> (d0, d1, 0, d3)>}}
  %o = "attn.finalize"(%a, %r, %r, %a) <{layout = affine_map<(b, h, s, d) -> (b, h, 0, d)>}>
      : (tensor<1x1x2x4xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>, tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
  return
}

// -----

func.func @finalize_acc_rank(%r: tensor<1x1x2xf32>) {
  // expected-error@+1 {{expects acc to have rank 4, but got rank 3}}
  %o = attn.finalize ins(%r, %r, %r : tensor<1x1x2xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
      outs(%r : tensor<1x1x2xf32>) -> tensor<1x1x2xf32>
  return
}

// -----

func.func @finalize_acc_element_type(%a: tensor<1x1x2x4xf16>, %r: tensor<1x1x2xf16>) {
  // expected-error@+1 {{expects acc to have element type f32 or f64, but got 'f16'}}
  %o = attn.finalize ins(%a, %r, %r : tensor<1x1x2x4xf16>, tensor<1x1x2xf16>, tensor<1x1x2xf16>)
      outs(%a : tensor<1x1x2x4xf16>) -> tensor<1x1x2x4xf16>
  return
}

// -----

func.func @finalize_outs_count(%a: tensor<1x1x2x4xf32>, %r: tensor<1x1x2xf32>) {
  // expected-error@+1 {{expects outs to hold o and at most lse, but got 3 operands}}
  %o:3 = attn.finalize ins(%a, %r, %r : tensor<1x1x2x4xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
      outs(%a, %r, %r : tensor<1x1x2x4xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
      -> tensor<1x1x2x4xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>
  return
}

// -----

func.func @finalize_output_element_type(%a: tensor<1x1x2x4xf64>, %r: tensor<1x1x2xf64>, %o: tensor<1x1x2x4xf32>) {
  // expected-error@+1 {{expects o to have an element type that accumulates in 'f64', but got 'f32'}}
  %0 = attn.finalize ins(%a, %r, %r : tensor<1x1x2x4xf64>, tensor<1x1x2xf64>, tensor<1x1x2xf64>)
      outs(%o : tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
  return
}

// -----

func.func @finalize_output_shape(%a: tensor<1x1x2x4xf32>, %r: tensor<1x1x2xf32>, %o: tensor<1x1x2x8xf32>) {
  // expected-error@+1 {{expects o to have the shape of acc, 'tensor<1x1x2x4xf32>', but got 'tensor<1x1x2x8xf32>'}}
  %0 = attn.finalize ins(%a, %r, %r : tensor<1x1x2x4xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
      outs(%o : tensor<1x1x2x8xf32>) -> tensor<1x1x2x8xf32>
  return
}

// -----

func.func @finalize_max_rank(%a: tensor<1x1x2x4xf32>, %r: tensor<1x1x2xf32>) {
  // expected-error@+1 {{expects max to have rank 3, but got rank 4}}
  %0 = attn.finalize ins(%a, %a, %r : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2xf32>)
      outs(%a : tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
  return
}

// -----

func.func @finalize_sum_element_type(%a: tensor<1x1x2x4xf32>, %r: tensor<1x1x2xf32>, %s: tensor<1x1x2xf64>) {
  // expected-error@+1 {{expects sum to have element type 'f32', but got 'f64'}}
  %0 = attn.finalize ins(%a, %r, %s : tensor<1x1x2x4xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf64>)
      outs(%a : tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
  return
}

// -----

func.func @finalize_lse_shape(%a: tensor<1x3x2x4xf32>, %r: tensor<3x1x2xf32>, %l: tensor<1x3x2xf32>) {
  // expected-error@+1 {{expects lse to have the shape of acc without d, 'tensor<3x2x4xf32>', but got 'tensor<1x3x2xf32>'}}
  %0:2 = attn.finalize layout(dbhs) ins(%a, %m, %m : tensor<1x3x2x4xf32>, tensor<3x2x4xf32>, tensor<3x2x4xf32>)
      outs(%a, %l : tensor<1x3x2x4xf32>, tensor<1x3x2xf32>) -> tensor<1x3x2x4xf32>, tensor<1x3x2xf32>
  %m = tensor.empty() : tensor<3x2x4xf32>
  return
}

// -----

func.func @finalize_results(%a: tensor<1x1x2x4xf32>, %r: tensor<1x1x2xf32>) {
  // expected-error@+1 {{expects results to have the types of outs, ('tensor<1x1x2x4xf32>'), but got ('tensor<1x1x2x4xf16>')}}
  %0 = attn.finalize ins(%a, %r, %r : tensor<1x1x2x4xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
      outs(%a : tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf16>
  return
}
