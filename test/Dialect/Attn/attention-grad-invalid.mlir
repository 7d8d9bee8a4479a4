// What gradients of attention refuse.

// RUN: attn-opt %s --split-input-file --verify-diagnostics


func.func @f(%q: tensor<2x4x16x8xf32>, %l: tensor<2x4x16xf32>, %w: tensor<8xf32>, %n: tensor<8xi32>, %h: tensor<2x4x16x8xf16>, %s: tensor<2x4x16x4xf32>, %z: tensor<f32>) {
  // expected-error @below {{'attn.attention_grad' op expects wrt to name an input}}
  %r = attn.attention_grad wrt()
      ins(%q, %q, %q, %q, %l, %q : tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16xf32>, tensor<2x4x16x8xf32>)
      captures(%w, %n : tensor<8xf32>, tensor<8xi32>)
      outs(%q : tensor<2x4x16x8xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x4x16x8xf32>, %l: tensor<2x4x16xf32>, %w: tensor<8xf32>, %n: tensor<8xi32>, %h: tensor<2x4x16x8xf16>, %s: tensor<2x4x16x4xf32>, %z: tensor<f32>) {
  // expected-error @+1 {{expects wrt to name q, k, v or the number of a capture, but got 'o'}}
  %r = attn.attention_grad wrt(o)
      ins(%q, %q, %q, %q, %l, %q : tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16xf32>, tensor<2x4x16x8xf32>)
      captures(%w, %n : tensor<8xf32>, tensor<8xi32>)
      outs(%q : tensor<2x4x16x8xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x4x16x8xf32>, %l: tensor<2x4x16xf32>, %w: tensor<8xf32>, %n: tensor<8xi32>, %h: tensor<2x4x16x8xf16>, %s: tensor<2x4x16x4xf32>, %z: tensor<f32>) {
  // expected-error @below {{expects wrt to name q, k, v or one of 2 captures, but got 2}}
  %r = attn.attention_grad wrt(2)
      ins(%q, %q, %q, %q, %l, %q : tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16xf32>, tensor<2x4x16x8xf32>)
      captures(%w, %n : tensor<8xf32>, tensor<8xi32>)
      outs(%q : tensor<2x4x16x8xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x4x16x8xf32>, %l: tensor<2x4x16xf32>, %w: tensor<8xf32>, %n: tensor<8xi32>, %h: tensor<2x4x16x8xf16>, %s: tensor<2x4x16x4xf32>, %z: tensor<f32>) {
  // expected-error @below {{expects wrt to name inputs once and in order, but got q behind k}}
  %r = attn.attention_grad wrt(k, q)
      ins(%q, %q, %q, %q, %l, %q : tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16xf32>, tensor<2x4x16x8xf32>)
      captures(%w, %n : tensor<8xf32>, tensor<8xi32>)
      outs(%q : tensor<2x4x16x8xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x4x16x8xf32>, %l: tensor<2x4x16xf32>, %w: tensor<8xf32>, %n: tensor<8xi32>, %h: tensor<2x4x16x8xf16>, %s: tensor<2x4x16x4xf32>, %z: tensor<f32>) {
  // expected-error @below {{expects wrt to name inputs once and in order, but got capture 0 behind capture 0}}
  %r = attn.attention_grad wrt(0, 0)
      ins(%q, %q, %q, %q, %l, %q : tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16xf32>, tensor<2x4x16x8xf32>)
      captures(%w, %n : tensor<8xf32>, tensor<8xi32>)
      outs(%q : tensor<2x4x16x8xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x4x16x8xf32>, %l: tensor<2x4x16xf32>, %w: tensor<8xf32>, %n: tensor<8xi32>, %h: tensor<2x4x16x8xf16>, %s: tensor<2x4x16x4xf32>, %z: tensor<f32>) {
  // expected-error @below {{expects wrt to name inputs of f64, f32, f16 or bf16, but got capture 1 of 'i32'}}
  %r = attn.attention_grad wrt(1)
      ins(%q, %q, %q, %q, %l, %q : tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16xf32>, tensor<2x4x16x8xf32>)
      captures(%w, %n : tensor<8xf32>, tensor<8xi32>)
      outs(%q : tensor<2x4x16x8xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x4x16x8xf32>, %l: tensor<2x4x16xf32>, %w: tensor<8xf32>, %n: tensor<8xi32>, %h: tensor<2x4x16x8xf16>, %s: tensor<2x4x16x4xf32>, %z: tensor<f32>) {
  // expected-error @below {{expects one out for each of 2 inputs in wrt, but got 1}}
  %r = attn.attention_grad wrt(q, k)
      ins(%q, %q, %q, %q, %l, %q : tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16xf32>, tensor<2x4x16x8xf32>)
      captures(%w, %n : tensor<8xf32>, tensor<8xi32>)
      outs(%q : tensor<2x4x16x8xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x4x16x8xf32>, %l: tensor<2x4x16xf32>, %w: tensor<8xf32>, %n: tensor<8xi32>, %h: tensor<2x4x16x8xf16>, %s: tensor<2x4x16x4xf32>, %z: tensor<f32>) {
  // expected-error @below {{expects the gradient of capture 0 to be like 'tensor<8xf32>', but got 'tensor<2x4x16x8xf32>'}}
  %r = attn.attention_grad wrt(0)
      ins(%q, %q, %q, %q, %l, %q : tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16xf32>, tensor<2x4x16x8xf32>)
      captures(%w, %n : tensor<8xf32>, tensor<8xi32>)
      outs(%q : tensor<2x4x16x8xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x4x16x8xf32>, %l: tensor<2x4x16xf32>, %w: tensor<8xf32>, %n: tensor<8xi32>, %h: tensor<2x4x16x8xf16>, %s: tensor<2x4x16x4xf32>, %z: tensor<f32>) {
  // expected-error @below {{expects o to have the shape 'tensor<2x4x16x8xf32>', but got 'tensor<2x4x16x4xf32>'}}
  %r = attn.attention_grad wrt(q)
      ins(%q, %q, %q, %s, %l, %q : tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x4xf32>, tensor<2x4x16xf32>, tensor<2x4x16x8xf32>)
      captures(%w, %n : tensor<8xf32>, tensor<8xi32>)
      outs(%q : tensor<2x4x16x8xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x4x16x8xf32>, %l: tensor<2x4x16xf32>, %w: tensor<8xf32>, %n: tensor<8xi32>, %h: tensor<2x4x16x8xf16>, %s: tensor<2x4x16x4xf32>, %z: tensor<f32>) {
  // expected-error @below {{expects do to have element type 'f32', but got 'f16'}}
  %r = attn.attention_grad wrt(q)
      ins(%q, %q, %q, %q, %l, %h : tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16xf32>, tensor<2x4x16x8xf16>)
      captures(%w, %n : tensor<8xf32>, tensor<8xi32>)
      outs(%q : tensor<2x4x16x8xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x4x16x8xf32>, %l: tensor<2x4x16xf32>, %w: tensor<8xf32>, %n: tensor<8xi32>, %h: tensor<2x4x16x8xf16>, %s: tensor<2x4x16x4xf32>, %z: tensor<f32>) {
  // expected-error @below {{expects lse to have rank 3, but got rank 4}}
  %r = attn.attention_grad wrt(q)
      ins(%q, %q, %q, %q, %q, %q : tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>)
      captures(%w, %n : tensor<8xf32>, tensor<8xi32>)
      outs(%q : tensor<2x4x16x8xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x4x16x8xf32>, %l: tensor<2x4x16xf32>, %w: tensor<8xf32>, %n: tensor<8xi32>, %h: tensor<2x4x16x8xf16>, %s: tensor<2x4x16x4xf32>, %z: tensor<f32>) {
  // expected-error @below {{expects dlse to have rank 3, but got rank 1}}
  %r = attn.attention_grad wrt(q)
      ins(%q, %q, %q, %q, %l, %q, %w : tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16xf32>, tensor<2x4x16x8xf32>, tensor<8xf32>)
      captures(%w, %n : tensor<8xf32>, tensor<8xi32>)
      outs(%q : tensor<2x4x16x8xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x4x16x8xf32>, %l: tensor<2x4x16xf32>, %w: tensor<8xf32>, %n: tensor<8xi32>, %h: tensor<2x4x16x8xf16>, %s: tensor<2x4x16x4xf32>, %z: tensor<f32>) {
  // expected-error @below {{expects the adjoint region of a score region, but got none}}
  %r = attn.attention_grad wrt(q)
      ins(%q, %q, %q, %q, %l, %q : tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16xf32>, tensor<2x4x16x8xf32>)
      captures(%w, %n : tensor<8xf32>, tensor<8xi32>)
      outs(%q : tensor<2x4x16x8xf32>)
      score(%s, %b, %h, %i, %j, %w0, %w1) {
        %e = tensor.extract %w0[%h] : tensor<8xf32>
        %x = arith.addf %s, %e : f32
        attn.yield %x : f32
      }
  return
}

// -----

func.func @f(%q: tensor<2x4x16x8xf32>, %l: tensor<2x4x16xf32>, %w: tensor<8xf32>, %n: tensor<8xi32>, %h: tensor<2x4x16x8xf16>, %s: tensor<2x4x16x4xf32>, %z: tensor<f32>) {
  // expected-error @below {{expects the adjoint region of a score region, but got one without a score}}
  %r = attn.attention_grad wrt(q)
      ins(%q, %q, %q, %q, %l, %q : tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16xf32>, tensor<2x4x16x8xf32>)
      captures(%w, %n : tensor<8xf32>, tensor<8xi32>)
      outs(%q : tensor<2x4x16x8xf32>)
      adjoint(%s, %ds, %b, %h, %i, %j, %w0, %w1) {
        attn.yield %ds : f32
      }
  return
}

// -----

func.func @f(%q: tensor<2x4x16x8xf32>, %l: tensor<2x4x16xf32>, %w: tensor<8xf32>, %n: tensor<8xi32>, %h: tensor<2x4x16x8xf16>, %s: tensor<2x4x16x4xf32>, %z: tensor<f32>) {
  // expected-error @below {{expects the adjoint region to yield 'f32', but got nothing}}
  %r = attn.attention_grad wrt(q)
      ins(%q, %q, %q, %q, %l, %q : tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16xf32>, tensor<2x4x16x8xf32>)
      captures(%w, %n : tensor<8xf32>, tensor<8xi32>)
      outs(%q : tensor<2x4x16x8xf32>)
      score(%s, %b, %h, %i, %j, %w0, %w1) {
        %e = tensor.extract %w0[%h] : tensor<8xf32>
        %x = arith.addf %s, %e : f32
        attn.yield %x : f32
      }
      adjoint(%s, %ds, %b, %h, %i, %j, %w0, %w1) {
        // expected-note @below {{yielded here}}
        attn.yield
      }
  return
}

// -----

func.func @f(%q: tensor<2x4x16x8xf32>, %l: tensor<2x4x16xf32>) {
  // expected-error @below {{expects the tiles region to yield 'i1', 'i1', but got 'index', 'index'}}
  %r = attn.attention_grad wrt(q)
      ins(%q, %q, %q, %q, %l, %q : tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16xf32>, tensor<2x4x16x8xf32>)
      outs(%q : tensor<2x4x16x8xf32>)
      tiles(%b, %h, %i0, %i1, %j0, %j1) {
        // expected-note @below {{yielded here}}
        attn.yield %i0, %i1 : index, index
      }
  return
}

// -----

func.func @f(%q: tensor<2x4x16x8xf32>, %l: tensor<2x4x16xf32>, %w: tensor<8xf32>, %n: tensor<8xi32>, %h: tensor<2x4x16x8xf16>, %s: tensor<2x4x16x4xf32>, %z: tensor<f32>) {
  // expected-note @below {{in this attention}}
  %r = attn.attention_grad wrt(q)
      ins(%q, %q, %q, %q, %l, %q : tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16xf32>, tensor<2x4x16x8xf32>)
      captures(%w, %n : tensor<8xf32>, tensor<8xi32>)
      outs(%q : tensor<2x4x16x8xf32>)
      score(%s, %b, %h, %i, %j, %w0, %w1) {
        %e = tensor.extract %w0[%h] : tensor<8xf32>
        %x = arith.addf %s, %e : f32
        attn.yield %x : f32
      }
      adjoint(%s, %ds, %b, %h, %i, %j, %w0, %w1) {
        // expected-error @below {{'attn.range' is not allowed in the adjoint region of an attention: expects operations of arith, math and index, tensor.extract, tensor.dim, scf.if, scf.for, attn.dropout, or attn.contribute}}
        %min, %max = attn.range %w1[%i] to [%j] : tensor<8xi32>
        attn.yield %ds : f32
      }
  return
}

// -----

func.func @f(%q: tensor<2x4x16x8xf32>, %l: tensor<2x4x16xf32>, %w: tensor<8xf32>, %n: tensor<8xi32>, %h: tensor<2x4x16x8xf16>, %s: tensor<2x4x16x4xf32>, %z: tensor<f32>) {
  %r = attn.attention_grad wrt(q)
      ins(%q, %q, %q, %q, %l, %q : tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16xf32>, tensor<2x4x16x8xf32>)
      captures(%w, %n : tensor<8xf32>, tensor<8xi32>)
      outs(%q : tensor<2x4x16x8xf32>)
      score(%s, %b, %h, %i, %j, %w0, %w1) {
        %e = tensor.extract %w0[%h] : tensor<8xf32>
        %x = arith.addf %s, %e : f32
        attn.yield %x : f32
      }
      adjoint(%s, %ds, %b, %h, %i, %j, %w0, %w1) {
        // expected-error @below {{'attn.contribute' op expects one index for each of 1 dimensions, but got 0}}
        attn.contribute %ds to %w0 : f32, tensor<8xf32>
        attn.yield %ds : f32
      }
  return
}

// -----

func.func @f(%q: tensor<2x4x16x8xf32>, %l: tensor<2x4x16xf32>, %w: tensor<8xf32>, %n: tensor<8xi32>, %h: tensor<2x4x16x8xf16>, %s: tensor<2x4x16x4xf32>, %z: tensor<f32>) {
  %r = attn.attention_grad wrt(q)
      ins(%q, %q, %q, %q, %l, %q : tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16xf32>, tensor<2x4x16x8xf32>)
      captures(%w, %n : tensor<8xf32>, tensor<8xi32>)
      outs(%q : tensor<2x4x16x8xf32>)
      score(%s, %b, %h, %i, %j, %w0, %w1) {
        %e = tensor.extract %w0[%h] : tensor<8xf32>
        %x = arith.addf %s, %e : f32
        attn.yield %x : f32
      }
      adjoint(%s, %ds, %b, %h, %i, %j, %w0, %w1) {
        // expected-error @below {{'attn.contribute' op expects a capture of floats, but got 'tensor<8xi32>'}}
        attn.contribute %ds to %w1[%h] : f32, tensor<8xi32>
        attn.yield %ds : f32
      }
  return
}

// -----

func.func @f(%q: tensor<2x4x16x8xf32>, %l: tensor<2x4x16xf32>, %w: tensor<8xf32>, %n: tensor<8xi32>, %h: tensor<2x4x16x8xf16>, %s: tensor<2x4x16x4xf32>, %z: tensor<f32>) {
  %r = attn.attention_grad wrt(q)
      ins(%q, %q, %q, %q, %l, %q : tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16xf32>, tensor<2x4x16x8xf32>)
      captures(%w, %n : tensor<8xf32>, tensor<8xi32>)
      outs(%q : tensor<2x4x16x8xf32>)
      score(%s, %b, %h, %i, %j, %w0, %w1) {
        %e = tensor.extract %w0[%h] : tensor<8xf32>
        %x = arith.addf %s, %e : f32
        attn.yield %x : f32
      }
      adjoint(%s, %ds, %b, %h, %i, %j, %w0, %w1) {
        %d = arith.extf %ds : f32 to f64
        // expected-error @below {{'attn.contribute' op expects a value of 'f32', but got 'f64'}}
        attn.contribute %d to %w0[%h] : f64, tensor<8xf32>
        attn.yield %ds : f32
      }
  return
}

// -----

func.func @f(%q: tensor<2x4x16x8xf32>, %l: tensor<2x4x16xf32>, %w: tensor<8xf32>, %n: tensor<8xi32>, %h: tensor<2x4x16x8xf16>, %s: tensor<2x4x16x4xf32>, %z: tensor<f32>) {
  %r = attn.attention_grad wrt(q)
      ins(%q, %q, %q, %q, %l, %q : tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16xf32>, tensor<2x4x16x8xf32>)
      captures(%w, %n : tensor<8xf32>, tensor<8xi32>)
      outs(%q : tensor<2x4x16x8xf32>)
      score(%s, %b, %h, %i, %j, %w0, %w1) {
        %e = tensor.extract %w0[%h] : tensor<8xf32>
        %x = arith.addf %s, %e : f32
        attn.yield %x : f32
      }
      adjoint(%s, %ds, %b, %h, %i, %j, %w0, %w1) {
        // expected-error @below {{'attn.contribute' op expects the capture to be an argument of the adjoint region around it}}
        attn.contribute %ds to %s : f32, f32
        attn.yield %ds : f32
      }
  return
}

// -----

func.func @f(%q: tensor<2x4x16x8xf32>, %l: tensor<2x4x16xf32>, %w: tensor<8xf32>, %n: tensor<8xi32>, %h: tensor<2x4x16x8xf16>, %s: tensor<2x4x16x4xf32>, %z: tensor<f32>) {
  %r = attn.attention_grad wrt(q)
      ins(%q, %q, %q, %q, %l, %q : tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16xf32>, tensor<2x4x16x8xf32>)
      captures(%w, %n : tensor<8xf32>, tensor<8xi32>)
      outs(%q : tensor<2x4x16x8xf32>)
      score(%s, %b, %h, %i, %j, %w0, %w1) {
        %e = tensor.extract %w0[%h] : tensor<8xf32>
        %x = arith.addf %s, %e : f32
        // expected-error @below {{'attn.contribute' op expects the capture to be an argument of the adjoint region around it}}
        attn.contribute %x to %w0[%h] : f32, tensor<8xf32>
        attn.yield %x : f32
      }
      adjoint(%s, %ds, %b, %h, %i, %j, %w0, %w1) {
        attn.yield %ds : f32
      }
  return
}

// -----

func.func @f(%q: tensor<2x4x16x8xf32>) {
  %r = attn.attention_grad wrt(q)
      // expected-error @below {{expects ins to hold q, k, v, o, lse, do and at most dlse, but got 3 operands}}
      ins(%q, %q, %q : tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>)
      outs(%q : tensor<2x4x16x8xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x4x16x8xf32>) {
  // expected-error @below {{expects wrt to name q, k, v or the number of a capture, but got -1}}
  %r = attn.attention_grad wrt(-1)
  return
}
