// RUN: attn-opt %s --attn-cpu-outline-parallel --split-input-file --verify-diagnostics

// expected-error @below {{'func.func' op expects no results: run attn-bufferize before attn-cpu-outline-parallel}}
func.func @results(%x: memref<4xf32>) -> memref<4xf32> {
  return %x : memref<4xf32>
}

// -----

func.func @tensors(%x: tensor<4xf32>) {
  // expected-error @below {{'scf.forall' op expects no results: run attn-bufferize before attn-cpu-outline-parallel}}
  %r = scf.forall (%i) in (4) shared_outs(%o = %x) -> tensor<4xf32> {
  }
  return
}

// -----

func.func private @helper(%x: memref<4xf32>, %s: f32) {
  // expected-error @below {{'scf.forall' op expects to be in a public function: inline calls before attn-cpu-outline-parallel}}
  scf.forall (%i) in (4) {
    memref.store %s, %x[%i] : memref<4xf32>
  }
  return
}

// -----

func.func @type(%x: tensor<4xf32>) {
  // expected-error @below {{'scf.forall' op expects values from outside to have a type that LLVM has, but got 'tensor<4xf32>'}}
  scf.forall (%i) in (4) {
    %y = tensor.extract %x[%i] : tensor<4xf32>
  }
  return
}
