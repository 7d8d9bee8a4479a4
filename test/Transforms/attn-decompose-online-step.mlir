// RUN: attn-opt %s --attn-decompose-online-step --canonicalize --split-input-file | FileCheck %s

// The example of the pass's documentation.

// CHECK-LABEL: func @exact
// CHECK-SAME: %[[S:[^ ]*]]: vector<64x32xf32>, %[[ACC:[^ ]*]]: vector<128x32xf32>, %[[MAX:[^ ]*]]: vector<32xf32>, %[[SUM:[^ ]*]]: vector<32xf32>
// CHECK: %[[MOST:.*]] = vector.multi_reduction <maxnumf>, %[[S]], %{{.*}} [0] : vector<64x32xf32> to vector<32xf32>
// CHECK: %[[GROWS:.*]] = arith.cmpf ogt, %[[MOST]], %[[MAX]]
// CHECK: %[[MAX1:.*]] = arith.select %[[GROWS]], %[[MOST]], %[[MAX]]
// CHECK: %[[EMPTY:.*]] = arith.cmpf oeq, %[[MAX1]], %{{.*}}
// CHECK: %[[SHIFT:.*]] = arith.select %[[EMPTY]], %{{.*}}, %[[MAX1]]
// CHECK: %[[SHIFTS:.*]] = vector.broadcast %[[SHIFT]] : vector<32xf32> to vector<64x32xf32>
// CHECK: %[[E:.*]] = arith.subf %[[S]], %[[SHIFTS]]
// CHECK: %[[P:.*]] = math.exp2 %[[E]] fastmath<afn>
// CHECK: %[[ADDED:.*]] = vector.multi_reduction <add>, %[[P]], %{{.*}} [0]
// CHECK: %[[D:.*]] = arith.subf %[[MAX]], %[[SHIFT]]
// CHECK: %[[RESCALE:.*]] = math.exp2 %[[D]] fastmath<afn>
// CHECK: %[[RESCALES:.*]] = vector.broadcast %[[RESCALE]] : vector<32xf32> to vector<128x32xf32>
// CHECK: %[[ACC1:.*]] = arith.mulf %[[ACC]], %[[RESCALES]]
// CHECK: %[[SUM1:.*]] = math.fma %[[SUM]], %[[RESCALE]], %[[ADDED]]
// CHECK: return %[[P]], %[[ACC1]], %[[MAX1]], %[[SUM1]]
func.func @exact(%s: vector<64x32xf32>, %acc: vector<128x32xf32>, %max: vector<32xf32>, %sum: vector<32xf32>)
    -> (vector<64x32xf32>, vector<128x32xf32>, vector<32xf32>, vector<32xf32>) {
  %0:4 = attn.online_step %s, %acc, %max, %sum : vector<64x32xf32>, vector<128x32xf32>, vector<32xf32>
  return %0#0, %0#1, %0#2, %0#3 : vector<64x32xf32>, vector<128x32xf32>, vector<32xf32>, vector<32xf32>
}

// -----

// With a factor the exponent is rounded once, and bounded where the maximum has
// been rounded.

// CHECK-LABEL: func @factor
// CHECK-SAME: %[[S:[^ ]*]]: vector<8x4xf64>
// CHECK-DAG: %[[FACTORS:.*]] = arith.constant dense<1.250000e-01> : vector<8x4xf64>
// CHECK-DAG: %[[FACTOR:.*]] = arith.constant dense<1.250000e-01> : vector<4xf64>
// CHECK-DAG: %[[MOST:.*]] = arith.constant dense<1.600000e+01> : vector<8x4xf64>
// CHECK: %[[MAX:.*]] = vector.multi_reduction <maxnumf>, %[[S]]
// CHECK: arith.mulf %[[MAX]], %[[FACTOR]]
// CHECK: arith.cmpf oeq
// CHECK: %[[SHIFT:.*]] = arith.select
// CHECK: %[[NEGATED:.*]] = arith.negf %[[SHIFT]]
// CHECK: %[[SHIFTS:.*]] = vector.broadcast %[[NEGATED]]
// CHECK: %[[E:.*]] = math.fma %[[S]], %[[FACTORS]], %[[SHIFTS]]
// CHECK: %[[ABOVE:.*]] = arith.cmpf ogt, %[[E]], %[[MOST]]
// CHECK: %[[BOUND:.*]] = arith.select %[[ABOVE]], %[[MOST]], %[[E]]
// CHECK: math.exp2 %[[BOUND]]
func.func @factor(%s: vector<8x4xf64>, %acc: vector<2x4xf64>, %m: vector<4xf64>) -> (vector<8x4xf64>, vector<2x4xf64>) {
  %0:4 = attn.online_step %s, %acc, %m, %m factor 0.125 : vector<8x4xf64>, vector<2x4xf64>, vector<4xf64>
  return %0#0, %0#1 : vector<8x4xf64>, vector<2x4xf64>
}

// -----

// A maximum that is too small by 8 at most is kept.

// CHECK-LABEL: func @lazy
// CHECK-SAME: %{{.*}}: vector<8x4xf32>, %{{.*}}: vector<2x4xf32>, %[[MAX:[^ ]*]]: vector<4xf32>
// CHECK: %[[EIGHT:.*]] = arith.constant dense<8.000000e+00>
// CHECK: %[[MOST:.*]] = vector.multi_reduction <maxnumf>
// CHECK: %[[LIMIT:.*]] = arith.addf %[[MAX]], %[[EIGHT]]
// CHECK: %[[GROWS:.*]] = arith.cmpf ogt, %[[MOST]], %[[LIMIT]]
// CHECK: %[[MAX1:.*]] = arith.select %[[GROWS]], %[[MOST]], %[[MAX]]
// CHECK: arith.cmpf oeq, %[[MAX1]]
// CHECK: %[[ACC1:.*]] = arith.mulf
// CHECK: return %[[ACC1]], %[[MAX1]]
func.func @lazy(%s: vector<8x4xf32>, %acc: vector<2x4xf32>, %m: vector<4xf32>) -> (vector<2x4xf32>, vector<4xf32>) {
  %0:4 = attn.online_step %s, %acc, %m, %m rescale(lazy) : vector<8x4xf32>, vector<2x4xf32>, vector<4xf32>
  return %0#1, %0#2 : vector<2x4xf32>, vector<4xf32>
}

// -----

// The maximum stays, and with it what the accumulator is relative to. Exponents
// may be as large as the range of the scores lets them.

// CHECK-LABEL: func @never
// CHECK-SAME: %[[S:[^ ]*]]: vector<8x4xf32>, %[[ACC:[^ ]*]]: vector<2x4xf32>, %[[MAX:[^ ]*]]: vector<4xf32>, %[[SUM:[^ ]*]]: vector<4xf32>
// CHECK-NOT: maxnumf
// CHECK: %[[E:.*]] = math.fma %[[S]]
// CHECK-NEXT: %[[P:.*]] = math.exp2 %[[E]]
// CHECK: %[[ADDED:.*]] = vector.multi_reduction <add>, %[[P]]
// CHECK-NEXT: %[[SUM1:.*]] = arith.addf %[[SUM]], %[[ADDED]]
// CHECK-NEXT: return %[[P]], %[[ACC]], %[[MAX]], %[[SUM1]]
func.func @never(%s: vector<8x4xf32>, %acc: vector<2x4xf32>, %max: vector<4xf32>, %sum: vector<4xf32>)
    -> (vector<8x4xf32>, vector<2x4xf32>, vector<4xf32>, vector<4xf32>) {
  %0:4 = attn.online_step %s, %acc, %max, %sum rescale(never) factor 0.125 : vector<8x4xf32>, vector<2x4xf32>, vector<4xf32>
  return %0#0, %0#1, %0#2, %0#3 : vector<8x4xf32>, vector<2x4xf32>, vector<4xf32>, vector<4xf32>
}

// -----

// The state before the first key, and what that after the last one stands for.

// CHECK-LABEL: func @start
// CHECK-DAG: %[[ZEROS:.*]] = arith.constant dense<0.000000e+00> : vector<2x4xf32>
// CHECK-DAG: %[[NONE:.*]] = arith.constant dense<0xFF800000> : vector<4xf32>
// CHECK-DAG: %[[BOUND:.*]] = arith.constant dense<2.500000e+01> : vector<4xf32>
// CHECK-DAG: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<4xf32>
// CHECK: return %[[ZEROS]], %[[NONE]], %[[BOUND]], %[[ZERO]]
func.func @start() -> (vector<2x4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>) {
  %acc, %m, %l = attn.online_start : vector<2x4xf32>, vector<4xf32>
  %acc1, %m1, %l1 = attn.online_start from 25.0 : vector<2x4xf32>, vector<4xf32>
  return %acc, %m, %m1, %l1 : vector<2x4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>
}

// -----

// CHECK-LABEL: func @normalize
// CHECK-SAME: %[[ACC:[^ ]*]]: vector<2x4xf32>, %[[MAX:[^ ]*]]: vector<4xf32>, %[[SUM:[^ ]*]]: vector<4xf32>
// CHECK-DAG: %[[ONE:.*]] = arith.constant dense<1.000000e+00>
// CHECK-DAG: %[[NONE:.*]] = arith.constant dense<0xFF800000>
// CHECK-DAG: %[[LN2:.*]] = arith.constant dense<0.693147182>
// CHECK: %[[EMPTY:.*]] = arith.cmpf oeq, %[[SUM]], %{{.*}}
// CHECK: %[[DIVISOR:.*]] = arith.select %[[EMPTY]], %[[ONE]], %[[SUM]]
// CHECK: %[[FACTOR:.*]] = arith.divf %[[ONE]], %[[DIVISOR]]
// CHECK: %[[FACTORS:.*]] = vector.broadcast %[[FACTOR]]
// CHECK: %[[O:.*]] = arith.mulf %[[ACC]], %[[FACTORS]]
// CHECK: %[[ROUNDED:.*]] = arith.truncf %[[O]]
// CHECK: %[[LOG:.*]] = math.log2 %[[DIVISOR]]
// CHECK: %[[LSE2:.*]] = arith.addf %[[MAX]], %[[LOG]]
// CHECK: %[[LSE:.*]] = arith.mulf %[[LSE2]], %[[LN2]]
// CHECK: %[[RESULT:.*]] = arith.select %[[EMPTY]], %[[NONE]], %[[LSE]]
// CHECK: return %[[ROUNDED]], %[[RESULT]]
func.func @normalize(%acc: vector<2x4xf32>, %m: vector<4xf32>, %l: vector<4xf32>) -> (vector<2x4xbf16>, vector<4xf32>) {
  %o, %lse = attn.normalize %acc, %m, %l : vector<2x4xf32>, vector<4xf32> -> vector<2x4xbf16>
  return %o, %lse : vector<2x4xbf16>, vector<4xf32>
}

// -----

// Without a use, the log-sum-exp is not computed.

// CHECK-LABEL: func @normalize_alone
// CHECK-NOT: math.log2
func.func @normalize_alone(%acc: vector<2x4xf64>, %m: vector<4xf64>) -> vector<2x4xf64> {
  %o, %lse = attn.normalize %acc, %m, %m : vector<2x4xf64>, vector<4xf64> -> vector<2x4xf64>
  return %o : vector<2x4xf64>
}

// -----

// Factors of queries, times the constant.

// CHECK-LABEL: func @factors
// CHECK-SAME: %[[S:[^ ]*]]: vector<8x4xf32>, %{{.*}}: vector<2x4xf32>, %{{.*}}: vector<4xf32>, %[[F:[^ ]*]]: vector<4xf32>
// CHECK: %[[MOST:.*]] = vector.multi_reduction <maxnumf>
// CHECK: %[[OF_ROWS:.*]] = arith.mulf %[[F]], %{{.*}} : vector<4xf32>
// CHECK: arith.mulf %[[MOST]], %[[OF_ROWS]]
// CHECK: %[[SCALED:.*]] = arith.mulf %[[F]], %{{.*}} : vector<4xf32>
// CHECK: %[[FACTORS:.*]] = vector.broadcast %[[SCALED]] : vector<4xf32> to vector<8x4xf32>
// CHECK: math.fma %[[S]], %[[FACTORS]]
func.func @factors(%s: vector<8x4xf32>, %acc: vector<2x4xf32>, %m: vector<4xf32>, %f: vector<4xf32>) -> (vector<8x4xf32>, vector<2x4xf32>) {
  %0:4 = attn.online_step %s, %acc, %m, %m factor 0.125 factors %f : vector<8x4xf32>, vector<2x4xf32>, vector<4xf32>
  return %0#0, %0#1 : vector<8x4xf32>, vector<2x4xf32>
}

// -----

// CHECK-LABEL: func @negated
// CHECK-SAME: %[[Q:[^ ]*]]: vector<8x4xf32>, %[[P:[^ ]*]]: vector<4xi1>
// CHECK: %[[WHERE:.*]] = vector.broadcast %[[P]] : vector<4xi1> to vector<8x4xi1>
// CHECK: %[[MINUS:.*]] = arith.negf %[[Q]]
// CHECK: arith.select %[[WHERE]], %[[MINUS]], %[[Q]]
func.func @negated(%q: vector<8x4xf32>, %p: vector<4xi1>) -> vector<8x4xf32> {
  %0 = attn.negate_queries %q where %p : vector<8x4xf32>, vector<4xi1>
  return %0 : vector<8x4xf32>
}
