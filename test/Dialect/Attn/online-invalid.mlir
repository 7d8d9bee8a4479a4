// Each error of the verifiers of the online and the tile level. What
// attn.online_attention shares with attn.attention is in invalid.mlir.

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
  %0 = "attn.online_attention"(%q, %q, %q, %q, %r, %r) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 3>, scale = 1.0}> ({}, {}, {}, {})
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
  // expected-error@+1 {{'attn.range' op expects parent op 'attn.online_attention'}}
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
  // expected-error@+1 {{'attn.range_over' op expects parent op 'attn.online_attention'}}
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

//===----------------------------------------------------------------------===//
// attn.finalize
//===----------------------------------------------------------------------===//

// -----

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

//===----------------------------------------------------------------------===//
// attn.online_step
//===----------------------------------------------------------------------===//

// -----

func.func @step_scores_rank(%s: vector<4xf32>, %a: vector<8x4xf32>, %m: vector<4xf32>) {
  // expected-error@+1 {{expects scores to have rank 2, but got 'vector<4xf32>'}}
  %0:4 = attn.online_step %s, %a, %m, %m : vector<4xf32>, vector<8x4xf32>, vector<4xf32>
  return
}

// -----

func.func @step_acc_rank(%s: vector<4x4xf32>, %a: vector<2x8x4xf32>, %m: vector<4xf32>) {
  // expected-error@+1 {{expects acc to have rank 2, but got 'vector<2x8x4xf32>'}}
  %0:4 = attn.online_step %s, %a, %m, %m : vector<4x4xf32>, vector<2x8x4xf32>, vector<4xf32>
  return
}

// -----

func.func @step_max_rank(%s: vector<4x4xf32>, %m: vector<1x4xf32>) {
  // expected-error@+1 {{expects max to have rank 1, but got 'vector<1x4xf32>'}}
  %0:4 = attn.online_step %s, %s, %m, %m : vector<4x4xf32>, vector<4x4xf32>, vector<1x4xf32>
  return
}

// -----

func.func @step_scalable(%s: vector<4x[4]xf32>, %m: vector<[4]xf32>) {
  // expected-error@+1 {{expects vectors of fixed size, but got 'vector<4x[4]xf32>'}}
  %0:4 = attn.online_step %s, %s, %m, %m : vector<4x[4]xf32>, vector<4x[4]xf32>, vector<[4]xf32>
  return
}

// -----

func.func @step_element_types(%s: vector<4x4xf32>, %m: vector<4xf64>) {
  // expected-error@+1 {{expects all vectors to have element type 'f32', but got 'vector<4xf64>'}}
  %0:4 = attn.online_step %s, %s, %m, %m : vector<4x4xf32>, vector<4x4xf32>, vector<4xf64>
  return
}

// -----

func.func @step_element_type(%s: vector<4x4xf16>, %m: vector<4xf16>) {
  // expected-error@+1 {{expects element type f32 or f64, but got 'f16'}}
  %0:4 = attn.online_step %s, %s, %m, %m : vector<4x4xf16>, vector<4x4xf16>, vector<4xf16>
  return
}

// -----

func.func @step_queries(%s: vector<4x8xf32>, %a: vector<4x16xf32>, %m: vector<32xf32>) {
  // expected-error@+1 {{expects scores, acc, max and sum to have the same number of queries, but got 8, 16 and 32}}
  %0:4 = attn.online_step %s, %a, %m, %m : vector<4x8xf32>, vector<4x16xf32>, vector<32xf32>
  return
}

// -----

func.func @step_generic(%s: vector<4x8xf32>, %m: vector<8xf32>, %l: vector<9xf32>) {
  // expected-error@+1 {{failed to verify that all of {max, sum, newMax, newSum} have same type}}
  %0:4 = "attn.online_step"(%s, %s, %m, %l) : (vector<4x8xf32>, vector<4x8xf32>, vector<8xf32>, vector<9xf32>)
      -> (vector<4x8xf32>, vector<4x8xf32>, vector<8xf32>, vector<8xf32>)
  return
}

// -----

func.func @step_generic_scores(%s: vector<4x8xf32>, %m: vector<8xf32>) {
  // expected-error@+1 {{failed to verify that all of {scores, probabilities} have same type}}
  %0:4 = "attn.online_step"(%s, %s, %m, %m) : (vector<4x8xf32>, vector<4x8xf32>, vector<8xf32>, vector<8xf32>)
      -> (vector<5x8xf32>, vector<4x8xf32>, vector<8xf32>, vector<8xf32>)
  return
}

// -----

func.func @step_factor(%s: vector<4x8xf32>, %m: vector<8xf32>) {
  // expected-error@+1 {{expects a factor that is positive and finite, but got 0.0}}
  %0:4 = attn.online_step %s, %s, %m, %m factor 0.0 : vector<4x8xf32>, vector<4x8xf32>, vector<8xf32>
  return
}

// -----

func.func @step_not_a_vector(%s: f32) {
  // expected-error@+1 {{invalid kind of type specified: expected builtin.vector, but found 'f32'}}
  %0:4 = attn.online_step %s, %s, %s, %s : f32, f32, f32
  return
}

//===----------------------------------------------------------------------===//
// attn.gather
//===----------------------------------------------------------------------===//

// -----

func.func @gather_indices(%t: tensor<8x?xf32>, %i: index, %p: i1) {
  // expected-error@+1 {{expects one index for each of 2 dimensions, but got 1}}
  %0 = attn.gather %t[%i] mask %p : tensor<8x?xf32>, (index), i1 -> f32
  return
}

// -----

func.func @gather_element_type(%t: tensor<8xf32>, %i: index, %p: i1) {
  // expected-error@+1 {{expects a result of element type 'f32', but got 'f16'}}
  %0 = attn.gather %t[%i] mask %p : tensor<8xf32>, (index), i1 -> f16
  return
}

// -----

func.func @gather_result(%t: tensor<8xf32>, %i: index, %p: i1) {
  // expected-error@+1 {{expects the result to be a scalar or a vector, but got 'tensor<f32>'}}
  %0 = attn.gather %t[%i] mask %p : tensor<8xf32>, (index), i1 -> tensor<f32>
  return
}

// -----

func.func @gather_index_shape(%t: tensor<8xf32>, %i: vector<4xindex>, %p: i1) {
  // expected-error@+1 {{expects indices and mask to have the shape of the result, 'vector<8xf32>', but got 'vector<4xindex>'}}
  %0 = attn.gather %t[%i] mask %p : tensor<8xf32>, (vector<4xindex>), i1 -> vector<8xf32>
  return
}

// -----

func.func @gather_mask_shape(%t: tensor<8xf32>, %i: index, %p: vector<4xi1>) {
  // expected-error@+1 {{expects indices and mask to have the shape of the result, 'f32', but got 'vector<4xi1>'}}
  %0 = attn.gather %t[%i] mask %p : tensor<8xf32>, (index), vector<4xi1> -> f32
  return
}

// -----

func.func @gather_source(%t: vector<8xf32>, %i: index, %p: i1) {
  // expected-error@+1 {{operand #0 must be ranked tensor of any type values or memref of any type values, but got 'vector<8xf32>'}}
  %0 = attn.gather %t[%i] mask %p : vector<8xf32>, (index), i1 -> f32
  return
}

// -----

func.func @gather_index_type(%t: tensor<8xf32>, %i: i32, %p: i1) {
  // expected-error@+1 {{operand #1 must be variadic of index or vector of index values or tensor with an encoding of index values, but got 'i32'}}
  %0 = attn.gather %t[%i] mask %p : tensor<8xf32>, (i32), i1 -> f32
  return
}

// -----

func.func @box_index(%t: tensor<8xf32>, %i: vector<4xindex>, %p: i1) {
  // expected-error@+1 {{expects the indices of a box to be of type index}}
  %0 = attn.gather %t[%i] rows along 0 mask %p : tensor<8xf32>, (vector<4xindex>), i1 -> vector<4xf32>
  return
}

// -----

func.func @box_scalar(%t: tensor<8xf32>, %i: index, %p: i1) {
  // expected-error@+1 {{expects a box to be a vector of rank 1, but got 'f32'}}
  %0 = attn.gather %t[%i] columns along 0 mask %p : tensor<8xf32>, (index), i1 -> f32
  return
}

// -----

func.func @box_rank(%t: tensor<8x8xf32>, %i: index, %p: i1) {
  // expected-error@+1 {{expects a box to be a vector of rank 2, but got 'vector<4xf32>'}}
  %0 = attn.gather %t[%i, %i] rows along 1 columns along 0 mask %p : tensor<8x8xf32>, (index, index), i1 -> vector<4xf32>
  return
}

// -----

func.func @box_diagonal(%t: tensor<8x8xf32>, %i: index, %p: i1) {
  // expected-error@+1 {{expects rows and columns along two dimensions, but got 1 for both}}
  %0 = attn.gather %t[%i, %i] rows along 1 columns along 1 mask %p : tensor<8x8xf32>, (index, index), i1 -> vector<4x4xf32>
  return
}

// -----

func.func @box_dimension(%t: tensor<8x8xf32>, %i: index, %p: i1) {
  // expected-error@+1 {{expects a box along dimensions of 'tensor<8x8xf32>', but got 2}}
  %0 = attn.gather %t[%i, %i] rows along 0 columns along 2 mask %p : tensor<8x8xf32>, (index, index), i1 -> vector<4x4xf32>
  return
}

// -----

func.func @box_of_tile(%t: tensor<8xf32>, %i: index, %p: i1) {
  attn.tile_loop %j = %i to %i step 8 {
    // expected-error@+1 {{expects a row for each of the 8 positions of a tile, but got 'vector<4xf32>'}}
    %0 = attn.gather %t[%j] rows along 0 mask %p : tensor<8xf32>, (index), i1 -> vector<4xf32>
    attn.yield
  }
  return
}

// -----

func.func @report_site(%x: index, %p: i1) {
  // expected-error@+1 {{attribute 'site' failed to satisfy constraint: 64-bit signless integer attribute whose value is non-negative}}
  attn.report site -1 (%x, %x) if %p
  return
}

// -----

//===----------------------------------------------------------------------===//
// attn.key_bitmask
//===----------------------------------------------------------------------===//

func.func @words_columns(%c: tensor<?xf32>, %i: index, %w: tensor<4x?xi32>) {
  // expected-error@+1 {{'attn.key_bitmask' op expects columns to be a vector of i32 or i64, but got 'tensor<?xf32>'}}
  %0 = attn.key_bitmask %c[%i, %i] into %w[%i] : tensor<?xf32>, tensor<4x?xi32> -> tensor<4x?xi32>
  return
}

// -----

func.func @words_type(%c: tensor<?xi32>, %i: index, %w: tensor<4x?xi64>) {
  // expected-error@+1 {{'attn.key_bitmask' op expects words of i32 with a rank of at least 1, but got 'tensor<4x?xi64>'}}
  %0 = attn.key_bitmask %c[%i, %i] into %w[%i] : tensor<?xi32>, tensor<4x?xi64> -> tensor<4x?xi64>
  return
}

// -----

func.func @words_indices(%c: tensor<?xi32>, %i: index, %w: tensor<4x?xi32>) {
  // expected-error@+1 {{'attn.key_bitmask' op expects one index for each dimension of the words but the last, 1, but got 2}}
  %0 = attn.key_bitmask %c[%i, %i] into %w[%i, %i] : tensor<?xi32>, tensor<4x?xi32> -> tensor<4x?xi32>
  return
}

// -----

func.func @words_of_buffer(%c: memref<?xi32>, %i: index, %w: memref<4x?xi32>) {
  // expected-error@+1 {{'attn.key_bitmask' op expects no result, as the words are a buffer}}
  %0 = attn.key_bitmask %c[%i, %i] into %w[%i] : memref<?xi32>, memref<4x?xi32> -> tensor<4x?xi32>
  return
}

// -----

func.func @words_result(%c: tensor<?xi32>, %i: index, %w: tensor<4x?xi32>) {
  // expected-error@+1 {{'attn.key_bitmask' op expects a result of the type of the words, 'tensor<4x?xi32>'}}
  attn.key_bitmask %c[%i, %i] into %w[%i] : tensor<?xi32>, tensor<4x?xi32>
  return
}

// -----

//===----------------------------------------------------------------------===//
// attn.key_union
//===----------------------------------------------------------------------===//

func.func @unions_rows(%r: tensor<?xf32>, %c: tensor<?xi32>, %n: index) {
  // expected-error@+1 {{'attn.key_union' op expects rows of i32 or i64 with 1 to 3 dimensions, but got 'tensor<?xf32>'}}
  %0:3 = attn.key_union %r, %c queries %n keys %n tile [64, 64] : tensor<?xf32>, tensor<?xi32> -> tensor<1x1x?x2xi32>, tensor<?x64xi32>, tensor<?x2x64xi32>
  return
}

// -----

func.func @unions_columns(%r: tensor<?xi32>, %c: tensor<?x?xi32>, %n: index) {
  // expected-error@+1 {{'attn.key_union' op expects columns to be a vector of i32 or i64, but got 'tensor<?x?xi32>'}}
  %0:3 = attn.key_union %r, %c queries %n keys %n tile [64, 64] : tensor<?xi32>, tensor<?x?xi32> -> tensor<1x1x?x2xi32>, tensor<?x64xi32>, tensor<?x2x64xi32>
  return
}

// -----

func.func @unions_tile(%r: tensor<?xi32>, %c: tensor<?xi32>, %n: index) {
  // expected-error@+1 {{'attn.key_union' op expects a tile of a multiple of 8 queries and a multiple of 32 keys, but got 64 and 48}}
  %0:3 = attn.key_union %r, %c queries %n keys %n tile [64, 48] : tensor<?xi32>, tensor<?xi32> -> tensor<1x1x?x2xi32>, tensor<?x48xi32>, tensor<?x1x64xi32>
  return
}

// -----

func.func @unions_tables(%r: memref<?xi32>, %c: memref<?xi32>, %n: index) {
  // expected-error@+1 {{'attn.key_union' op expects three tables as buffers, and no results}}
  %0:3 = attn.key_union %r, %c queries %n keys %n tile [64, 64] : memref<?xi32>, memref<?xi32> -> tensor<1x1x?x2xi32>, tensor<?x64xi32>, tensor<?x2x64xi32>
  return
}

// -----

func.func @unions_table(%r: tensor<4x?xi32>, %c: tensor<?xi32>, %n: index) {
  // expected-error@+1 {{'attn.key_union' op expects a table like 'tensor<1x4x?x2xi32>', but got 'tensor<1x3x?x2xi32>'}}
  %0:3 = attn.key_union %r, %c queries %n keys %n tile [64, 64] : tensor<4x?xi32>, tensor<?xi32> -> tensor<1x3x?x2xi32>, tensor<?x64xi32>, tensor<?x2x64xi32>
  return
}
