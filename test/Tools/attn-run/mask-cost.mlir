// What the predicate of a mask costs, and what would be cheaper.
//
// RUN: attn-run %s --show-mask --mask-block=64x64 --entry=divisions --arg=w=5 --arg=n=3:100 | FileCheck %s --check-prefix=DIVISIONS
// DIVISIONS: how it knows
// DIVISIONS-NEXT: {{^}}  the predicate takes about {{[0-9]+}} instructions for each pair of a partial tile, 4 for each query;
// DIVISIONS-SAME:  20 of them for a division by a number that changes with the position in line [[#@LINE+18]] (one number for all takes 6, a constant 4);
// DIVISIONS-SAME:  6 of them for a remainder by a captured number in line [[#@LINE+15]] (a constant takes 4);
// DIVISIONS-SAME:  4 of them for a remainder in line {{[0-9]+}} (a power of two takes 1){{$}}
func.func @divisions(%q: tensor<1x1x100x16xf32>, %w: index, %n: tensor<100xindex>) -> tensor<1x1x100x16xf32> {
  %init = tensor.empty() : tensor<1x1x100x16xf32>
  %o = attn.attention
      ins(%q, %q, %q : tensor<1x1x100x16xf32>, tensor<1x1x100x16xf32>, tensor<1x1x100x16xf32>)
      captures(%w, %n : index, tensor<100xindex>)
      outs(%init : tensor<1x1x100x16xf32>)
      mask(%b, %h, %i, %j, %w, %n) {
        %c0 = arith.constant 0 : index
        %c3 = arith.constant 3 : index
        %c8 = arith.constant 8 : index
        %d = arith.addi %i, %j : index
        %eights = arith.remui %d, %c8 : index
        %threes = arith.remui %d, %c3 : index
        %rest = arith.remui %d, %w : index
        %mine = tensor.extract %n[%i] : tensor<100xindex>
        %by = arith.divui %d, %mine : index
        %s = arith.addi %rest, %threes : index
        %t = arith.addi %by, %eights : index
        %p = arith.cmpi sle, %s, %t : index
        attn.yield %p : i1
      }
  return %o : tensor<1x1x100x16xf32>
}

// RUN: attn-run %s --show-mask --format=json --mask-block=64x64 --entry=functions --arg=m=1:100x100x40 | FileCheck %s --check-prefix=FUNCTIONS
// FUNCTIONS: "predicate": "the predicate takes about {{[0-9]+}} instructions for each pair of a partial tile{{.*}}; 160 of them for a read of a tensor in line [[#@LINE+13]] (pairs as a block mask or as lists of keys need no mask); 12 of them for 'math.tanh' in line [[#@LINE+18]] (a comparison of its operand takes 1); 10 of them for a division of floating-point numbers in line [[#@LINE+17]] (a product with the reciprocal takes 1)
func.func @functions(%q: tensor<1x1x100x16xf32>, %m: tensor<100x100x40xf32>) -> tensor<1x1x100x16xf32> {
  %init = tensor.empty() : tensor<1x1x100x16xf32>
  %o = attn.attention
      ins(%q, %q, %q : tensor<1x1x100x16xf32>, tensor<1x1x100x16xf32>, tensor<1x1x100x16xf32>)
      captures(%m : tensor<100x100x40xf32>)
      outs(%init : tensor<1x1x100x16xf32>)
      mask(%b, %h, %i, %j, %m) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c40 = arith.constant 40 : index
        %low = arith.constant 0.1 : f32
        %sum = scf.for %n = %c0 to %c40 step %c1 iter_args(%s = %low) -> f32 {
          %x = tensor.extract %m[%i, %j, %n] : tensor<100x100x40xf32>
          %y = arith.addf %s, %x : f32
          scf.yield %y : f32
        }
        %x = arith.divf %low, %sum : f32
        %y = math.tanh %x : f32
        %p = arith.cmpf olt, %y, %low : f32
        attn.yield %p : i1
      }
  return %o : tensor<1x1x100x16xf32>
}

// A read at a place of both positions; what depends on a key is not a matter of
// pairs.
//
// RUN: attn-run %s --explain --target=cpu --entry=reads | FileCheck %s --check-prefix=READS
// READS: masks
// READS-NEXT: {{^}}  the predicate takes about 6 instructions for each pair of a partial tile, 4 for each key; 4 of them for a read of a tensor in line [[#@LINE+12]] (a comparison of the index takes 1){{$}}
// RUN: attn-run %s --explain=json --target=cpu --entry=reads | FileCheck %s --check-prefix=JSON
// JSON: "masks": [
// JSON-NEXT: "the predicate takes about 6
func.func @reads(%q: tensor<1x1x100x16xf32>, %t: tensor<200xi1>) -> tensor<1x1x100x16xf32> {
  %init = tensor.empty() : tensor<1x1x100x16xf32>
  %o = attn.attention
      ins(%q, %q, %q : tensor<1x1x100x16xf32>, tensor<1x1x100x16xf32>, tensor<1x1x100x16xf32>)
      captures(%t : tensor<200xi1>)
      outs(%init : tensor<1x1x100x16xf32>)
      mask(%b, %h, %i, %j, %t) {
        %d = arith.addi %i, %j : index
        %x = tensor.extract %t[%d] : tensor<200xi1>
        %y = tensor.extract %t[%j] : tensor<200xi1>
        %p = arith.andi %x, %y : i1
        attn.yield %p : i1
      }
  return %o : tensor<1x1x100x16xf32>
}

// Conditions on positions are words with a bit for each of 32 keys, unless a pair
// has one alone; what is compared otherwise is in the cost of a pair.

// RUN: attn-run %s --entry=words --explain --arg=q=randn:1x1x64x16 | FileCheck %s --check-prefix=WORDS
// WORDS: the predicate takes about 1 instruction for each pair of a partial tile, 47 for each query and 32 keys{{.*}}
func.func @words(%q: tensor<1x1x?x16xf32> {attn.name = "q"}) -> tensor<1x1x?x16xf32> {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : tensor<1x1x?x16xf32>
  %init = tensor.empty(%n) : tensor<1x1x?x16xf32>
  %o = attn.attention ins(%q, %q, %q : tensor<1x1x?x16xf32>, tensor<1x1x?x16xf32>, tensor<1x1x?x16xf32>)
      outs(%init : tensor<1x1x?x16xf32>)
      mask(%b, %h, %i, %j) {
        %c0 = arith.constant 0 : index
        %c4 = arith.constant 4 : index
        %c50 = arith.constant 50 : index
        %d = arith.subi %i, %j : index
        %s = math.absi %d : index
        %near = arith.cmpi sle, %s, %c50 : index
        %r = arith.remsi %d, %c4 : index
        %p = arith.cmpi eq, %r, %c0 : index
        %both = arith.andi %near, %p : i1
        attn.yield %both : i1
      }
  return %o : tensor<1x1x?x16xf32>
}
