// RUN: attn-opt %s --attn-online-softmax --attn-hopper-assign-schedule --attn-tile --cse --attn-hopper-outline --split-input-file --verify-diagnostics

!t = tensor<1x1x?x64xbf16>
func.func @filled(%q: !t, %o: !t) -> !t {
  %one = arith.constant 1.0 : f32
  %m = memref.alloc() : memref<64xf32>
  // expected-error @below {{expects zeros in a buffer that the function allocates}}
  linalg.fill ins(%one : f32) outs(%m : memref<64xf32>)
  %r = attn.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t)
  return %r : !t
}

// -----

!t = tensor<1x1x?x64xbf16>
func.func @notWhole(%q: !t, %o: !t) -> !t {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : bf16
  %m = memref.alloc() : memref<8xf32>
  scf.forall (%i) in (8) {
    // expected-error @below {{expects a vector all of which is there}}
    %x = vector.transfer_read %q[%c0, %c0, %c0, %i], %zero : !t, vector<64xbf16>
    %y = arith.extf %x : vector<64xbf16> to vector<64xf32>
    %s = vector.reduction <add>, %y : vector<64xf32> into f32
    memref.store %s, %m[%i] : memref<8xf32>
  }
  %r = attn.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t)
  return %r : !t
}

// -----

!t = tensor<1x1x?x64xbf16>
func.func @maximum(%q: !t, %o: !t) -> !t {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : bf16
  %m = memref.alloc() : memref<8xf32>
  scf.forall (%i) in (8) {
    %x = vector.transfer_read %q[%c0, %c0, %i, %c0], %zero {in_bounds = [true]} : !t, vector<64xbf16>
    %y = arith.extf %x : vector<64xbf16> to vector<64xf32>
    // expected-error @below {{expects the sum of a vector of f32}}
    %s = vector.reduction <maximumf>, %y : vector<64xf32> into f32
    memref.store %s, %m[%i] : memref<8xf32>
  }
  %r = attn.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t)
  return %r : !t
}
