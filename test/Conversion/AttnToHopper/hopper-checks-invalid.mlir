// RUN: attn-opt %s --split-input-file --verify-diagnostics --attn-hopper-checks

module attributes {attn.sites = ["text %0 %1"]} {
  func.func @computed(%n: index, %condition: i1) {
    %c0 = arith.constant 0 : index
    %list = tensor.empty(%n) : tensor<?xindex>
    scf.forall (%i) in (4) {
      // expected-error@+1 {{expects an element of an argument of the function; the target cpu can run it}}
      %x = tensor.extract %list[%i] : tensor<?xindex>
      attn.report site 0(%x, %x) if %condition
    }
    return
  }
}

// -----

module attributes {attn.sites = ["text %0 %1"]} {
  func.func @effect(%list: tensor<?xindex>, %buffer: memref<4xindex>, %condition: i1) {
    scf.forall (%i) in (4) {
      %x = tensor.extract %list[%i] : tensor<?xindex>
      // expected-error@+1 {{'memref.store' has no form in a check on a GPU; the target cpu can run it}}
      memref.store %x, %buffer[%i] : memref<4xindex>
      attn.report site 0(%x, %x) if %condition
    }
    return
  }
}

// -----

module attributes {attn.sites = ["text %0 %1"]} {
  func.func @extent(%list: tensor<?xindex>, %n: index, %condition: i1) {
    // expected-error@+1 {{expects the extents of a table to be those of arguments, or their quotients}}
    scf.forall (%i) in (%n) {
      %x = tensor.extract %list[%i] : tensor<?xindex>
      attn.report site 0(%x, %x) if %condition
    }
    return
  }
}
