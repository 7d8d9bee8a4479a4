// Each error of score and mask regions and of attn.yield.

// RUN: attn-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect

func.func @score_yields(%q: tensor<1x1x2x4xf32>) {
  // expected-error@+1 {{expects the score region to yield 'f32', but got 'i1'}}
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
      score(%s, %b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        // expected-note@+1 {{yielded here}}
        attn.yield %p : i1
      }
  return
}

// -----

func.func @mask_yields(%q: tensor<1x1x2x4xf32>) {
  // expected-error@+1 {{expects the mask region to yield 'i1', but got 'index', 'index'}}
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
      mask(%b, %h, %i, %j) {
        // expected-note@+1 {{yielded here}}
        attn.yield %i, %j : index, index
      }
  return
}

// -----

func.func @mask_yields_nothing(%q: tensor<1x1x2x4xf32>) {
  // expected-error@+1 {{expects the mask region to yield 'i1', but got nothing}}
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
      mask(%b, %h, %i, %j) {
        // expected-note@+1 {{yielded here}}
        attn.yield
      }
  return
}

// -----

func.func @no_yield(%q: tensor<1x1x2x4xf32>) {
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
      mask(%b, %h, %i, %j) {
        // expected-error@+1 {{block with no terminator}}
        %p = arith.cmpi sle, %j, %i : index
      }
  return
}

// -----

func.func @other_terminator(%q: tensor<1x1x2x4xf32>) {
  // expected-note@+1 {{in this attention}}
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
      mask(%b, %h, %i, %j) {
        // expected-error@+1 {{'llvm.unreachable' is not allowed in the mask region of an attention: expects operations of arith, math and index, tensor.extract, tensor.dim, scf.if, or scf.for}}
        llvm.unreachable
      }
  return
}

// -----

func.func @region_terminator(%q: tensor<1x1x2x4xf32>) {
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        // expected-error@+1 {{'scf.yield' op expects parent op to be one of}}
        scf.yield %p : i1
      }
  return
}

// -----

func.func private @callee(index) -> i1
func.func @not_allowed(%q: tensor<1x1x2x4xf32>) {
  // expected-note@+1 {{in this attention}}
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
      mask(%b, %h, %i, %j) {
        // expected-error@+1 {{'func.call' is not allowed in the mask region of an attention: expects operations of arith, math and index, tensor.extract, tensor.dim, scf.if, or scf.for}}
        %p = func.call @callee(%i) : (index) -> i1
        attn.yield %p : i1
      }
  return
}

// -----

func.func @not_allowed_nested(%q: tensor<1x1x2x4xf32>) {
  // expected-note@+1 {{in this attention}}
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
      score(%s, %b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        %r = scf.if %p -> (f32) {
          // expected-error@+1 {{'scf.while' is not allowed in the score region of an attention}}
          %w = scf.while (%x = %s) : (f32) -> f32 {
            scf.condition(%p) %x : f32
          } do {
          ^bb0(%x: f32):
            scf.yield %x : f32
          }
          scf.yield %w : f32
        } else {
          scf.yield %s : f32
        }
        attn.yield %r : f32
      }
  return
}

// -----

func.func @unregistered(%q: tensor<1x1x2x4xf32>) {
  // expected-note@+1 {{in this attention}}
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
      mask(%b, %h, %i, %j) {
        // expected-error@+1 {{'foo.bar' is not allowed in the mask region of an attention}}
        %p = "foo.bar"() : () -> i1
        attn.yield %p : i1
      }
  return
}

// -----

func.func @eight_bits(%q: tensor<1x1x2x4xf32>) {
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
      score(%s, %b, %h, %i, %j) {
        // expected-error@+1 {{expects floats in a region of an attention to be f16, bf16, f32 or f64, which targets compute with, but got 'f8E4M3FN'; convert them before}}
        %x = arith.truncf %s : f32 to f8E4M3FN
        %y = arith.extf %x : f8E4M3FN to f32
        attn.yield %y : f32
      }
  return
}

// -----

func.func @not_scalar(%q: tensor<1x1x2x4xf32>) {
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
      mask(%b, %h, %i, %j) {
        // expected-error@+1 {{expects operations in a region of an attention to yield index, integer or float, but got 'tensor<2xi1>'}}
        %c = arith.constant dense<true> : tensor<2xi1>
        %p = tensor.extract %c[%i] : tensor<2xi1>
        attn.yield %p : i1
      }
  return
}

// -----

func.func @yield_in_if(%q: tensor<1x1x2x4xf32>) {
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        scf.if %p {
          // expected-error@+1 {{'attn.yield' op expects parent op to be one of 'attn.attention, attn.attention_grad, attn.online_attention, attn.tile_loop, attn.step, attn.mask_tile, attn.affine_scores, attn.range_over'}}
          attn.yield
        }
        attn.yield %p : i1
      }
  return
}

// -----

func.func @yield_outside() {
  // expected-error@+1 {{'attn.yield' op expects parent op to be one of 'attn.attention, attn.attention_grad, attn.online_attention, attn.tile_loop, attn.step, attn.mask_tile, attn.affine_scores, attn.range_over'}}
  attn.yield
}
