// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.func(heddle-expand-cpu-math))' | FileCheck %s

// exp(x) is 2^n e^r, where n is the nearest integer to x / ln(2), and r is the rest. x is clamped first, so that the
// exponents fit. The clamps keep NaN.
// CHECK-LABEL: tile.func @exp
tile.func @exp(%a: memref<1x8xf32>) attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 8 : i64} {
  %c0 = arith.constant 0 : index
  %x = vector.load %a[%c0, %c0] : memref<1x8xf32>, vector<8xf32>
  // CHECK: %[[LOW:.*]] = arith.maximumf %{{.*}}, %{{.*}} : vector<8xf32>
  // CHECK: %[[X:.*]] = arith.minimumf %[[LOW]]
  // CHECK: %[[SCALED:.*]] = arith.mulf %[[X]]
  // CHECK: %[[N:.*]] = math.roundeven %[[SCALED]]
  // ln(2) in two parts.
  // CHECK: %[[FIRST:.*]] = math.fma %[[N]], %{{.*}}, %[[X]]
  // CHECK: %[[R:.*]] = math.fma %[[N]], %{{.*}}, %[[FIRST]]
  // The polynomial of degree 5, then r^2 p(r) + r + 1.
  // CHECK-COUNT-5: math.fma %{{.*}}, %[[R]], %{{.*}}
  // CHECK: %[[SQUARE:.*]] = arith.mulf %[[R]], %[[R]]
  // CHECK: math.fma %{{.*}}, %[[SQUARE]], %[[R]]
  // 2^n as two factors, each of which is an f32.
  // CHECK: %[[WHOLE:.*]] = arith.fptosi %[[N]] : vector<8xf32> to vector<8xi32>
  // CHECK: %[[HALF:.*]] = arith.shrsi %[[WHOLE]]
  // CHECK: arith.addi %[[HALF]]
  // CHECK: arith.shli
  // CHECK: %[[POWER:.*]] = arith.bitcast %{{.*}} : vector<8xi32> to vector<8xf32>
  // CHECK: %[[PART:.*]] = arith.mulf %{{.*}}, %[[POWER]]
  // CHECK: arith.subi %[[WHOLE]], %[[HALF]]
  // CHECK: %[[OTHER:.*]] = arith.bitcast
  // CHECK: %[[Y:.*]] = arith.mulf %[[PART]], %[[OTHER]]
  // CHECK-NOT: math.exp
  // CHECK: vector.store %[[Y]]
  %y = math.exp %x : vector<8xf32>
  vector.store %y, %a[%c0, %c0] : memref<1x8xf32>, vector<8xf32>
  tile.return
}

// exp2(x) needs no scaling: n is the nearest integer to x, and r is (x - n) ln(2). Scalars are expanded in the same
// way.
// CHECK-LABEL: tile.func @exp2
tile.func @exp2(%a: memref<1x8xf32>) attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 8 : i64} {
  %c0 = arith.constant 0 : index
  %x = memref.load %a[%c0, %c0] : memref<1x8xf32>
  // CHECK: %[[X:.*]] = arith.minimumf %{{.*}} : f32
  // CHECK: %[[N:.*]] = math.roundeven %[[X]]
  // CHECK: %[[REST:.*]] = arith.subf %[[X]], %[[N]]
  // CHECK: arith.mulf %[[REST]]
  // CHECK: arith.fptosi %[[N]] : f32 to i32
  // CHECK-NOT: math.exp2
  %y = math.exp2 %x : f32
  memref.store %y, %a[%c0, %c0] : memref<1x8xf32>
  // CHECK: tile.return
  tile.return
}

// If small powers may be zero, the integer is added to the exponent of the fraction's power.
// CHECK-LABEL: tile.func @quick_exp2
tile.func @quick_exp2(%a: memref<1x8xf32>) attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 8 : i64} {
  %c0 = arith.constant 0 : index
  %x = vector.load %a[%c0, %c0] : memref<1x8xf32>, vector<8xf32>
  // CHECK: arith.constant dense<-1.270000e+02>
  // CHECK: %[[LOW:.*]] = arith.maximumf
  // CHECK: %[[X:.*]] = arith.minimumf %[[LOW]]
  // CHECK: %[[N:.*]] = math.roundeven %[[X]]
  // CHECK: %[[R:.*]] = arith.subf %[[X]], %[[N]]
  // CHECK-COUNT-6: math.fma %{{.*}}, %[[R]], %{{.*}}
  // CHECK: %[[WHOLE:.*]] = arith.fptosi %[[N]] : vector<8xf32> to vector<8xi32>
  // CHECK: %[[EXPONENT:.*]] = arith.shli %[[WHOLE]]
  // CHECK: %[[BITS:.*]] = arith.addi %{{.*}}, %[[EXPONENT]]
  // CHECK: %[[Y:.*]] = arith.bitcast %[[BITS]] : vector<8xi32> to vector<8xf32>
  // CHECK: vector.store %[[Y]]
  %y = math.exp2 %x fastmath<afn> : vector<8xf32>
  vector.store %y, %a[%c0, %c0] : memref<1x8xf32>, vector<8xf32>
  tile.return
}

// The processor's instructions for 1 / sqrt(x) are estimates, so the pass uses a division and a square root.
// CHECK-LABEL: tile.func @rsqrt
tile.func @rsqrt(%a: memref<1x8xf32>) attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 8 : i64} {
  %c0 = arith.constant 0 : index
  // CHECK: %[[ONE:.*]] = arith.constant dense<1.000000e+00> : vector<8xf32>
  // CHECK: %[[ROOT:.*]] = math.sqrt %{{.*}} : vector<8xf32>
  // CHECK: arith.divf %[[ONE]], %[[ROOT]] : vector<8xf32>
  // CHECK-NOT: math.rsqrt
  %x = vector.load %a[%c0, %c0] : memref<1x8xf32>, vector<8xf32>
  %y = math.rsqrt %x : vector<8xf32>
  vector.store %y, %a[%c0, %c0] : memref<1x8xf32>, vector<8xf32>
  // CHECK: tile.return
  tile.return
}

// f16 is computed in f32 and converted by the processor's instructions.
// CHECK-LABEL: tile.func @f16
tile.func @f16(%a: memref<1x8xf16>) attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 8 : i64} {
  %c0 = arith.constant 0 : index
  %x = vector.load %a[%c0, %c0] : memref<1x8xf16>, vector<8xf16>
  // CHECK: arith.extf %{{.*}} : vector<8xf16> to vector<8xf32>
  // CHECK: %[[SUM:.*]] = arith.addf %{{.*}} : vector<8xf32>
  // CHECK: arith.truncf %[[SUM]] : vector<8xf32> to vector<8xf16>
  %y = arith.addf %x, %x : vector<8xf16>
  // CHECK-NOT: math.exp
  // CHECK: math.roundeven %{{.*}} : vector<8xf32>
  %z = math.exp %y : vector<8xf16>
  vector.store %z, %a[%c0, %c0] : memref<1x8xf16>, vector<8xf16>
  // CHECK: tile.return
  tile.return
}

// bf16 is the upper half of an f32: a shift extends it, and integer arithmetic rounds to it. LLVM would call a function
// for the rounding.
// CHECK-LABEL: tile.func @bf16
tile.func @bf16(%a: memref<1x8xbf16>) attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 8 : i64} {
  %c0 = arith.constant 0 : index
  // CHECK-NOT: arith.{{extf|truncf}}
  // CHECK: arith.bitcast %{{.*}} : vector<8xbf16> to vector<8xi16>
  // CHECK: arith.extui %{{.*}} : vector<8xi16> to vector<8xi32>
  // CHECK: arith.shli
  // CHECK: arith.bitcast %{{.*}} : vector<8xi32> to vector<8xf32>
  // CHECK-NOT: arith.{{extf|truncf}}
  // CHECK: %[[PRODUCT:.*]] = arith.mulf %{{.*}} : vector<8xf32>
  // CHECK-NOT: arith.{{extf|truncf}}
  // CHECK: arith.bitcast %[[PRODUCT]] : vector<8xf32> to vector<8xi32>
  // CHECK: arith.trunci %{{.*}} : vector<8xi32> to vector<8xi16>
  // CHECK: arith.bitcast %{{.*}} : vector<8xi16> to vector<8xbf16>
  // CHECK-NOT: arith.{{extf|truncf}}
  %x = vector.load %a[%c0, %c0] : memref<1x8xbf16>, vector<8xbf16>
  %y = arith.mulf %x, %x : vector<8xbf16>
  vector.store %y, %a[%c0, %c0] : memref<1x8xbf16>, vector<8xbf16>
  // CHECK: tile.return
  tile.return
}

// Comparisons are made in f32 and keep their predicate.
// CHECK-LABEL: tile.func @cmpf
tile.func @cmpf(%a: memref<1x8xf16>, %b: memref<1x8xbf16>) attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 8 : i64} {
  %c0 = arith.constant 0 : index
  %x = vector.load %a[%c0, %c0] : memref<1x8xf16>, vector<8xf16>
  %zero = arith.constant dense<0.0> : vector<8xf16>
  // CHECK: arith.cmpf ogt, %{{.*}}, %{{.*}} : vector<8xf32>
  %p = arith.cmpf ogt, %x, %zero : vector<8xf16>
  // CHECK: arith.select %{{.*}} : vector<8xi1>, vector<8xf16>
  %r = arith.select %p, %x, %zero : vector<8xi1>, vector<8xf16>
  vector.store %r, %a[%c0, %c0] : memref<1x8xf16>, vector<8xf16>
  %y = memref.load %b[%c0, %c0] : memref<1x8xbf16>
  // CHECK: arith.cmpf une, %{{.*}}, %{{.*}} : f32
  %q = arith.cmpf une, %y, %y : bf16
  scf.if %q {
    memref.store %y, %b[%c0, %c0] : memref<1x8xbf16>
  }
  // CHECK: tile.return
  tile.return
}

// Conversions to integers and classes of bf16 also go through f32. f16 keeps the bounds of its own normal numbers.
// CHECK-LABEL: tile.func @classes
tile.func @classes(%a: memref<1x8xbf16>, %b: memref<1x8xf16>, %i: memref<1x8xi32>) attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 8 : i64} {
  %c0 = arith.constant 0 : index
  %x = vector.load %a[%c0, %c0] : memref<1x8xbf16>, vector<8xbf16>
  %y = vector.load %b[%c0, %c0] : memref<1x8xf16>, vector<8xf16>
  // CHECK: arith.fptosi %{{.*}} : vector<8xf32> to vector<8xi32>
  %0 = arith.fptosi %x : vector<8xbf16> to vector<8xi32>
  // CHECK: arith.fptoui %{{.*}} : vector<8xf32> to vector<8xi32>
  %1 = arith.fptoui %y : vector<8xf16> to vector<8xi32>
  // CHECK: math.isnan %{{.*}} : vector<8xf32>
  %2 = math.isnan %x : vector<8xbf16>
  // CHECK: arith.cmpf oeq, %{{.*}} : vector<8xf32>
  %3 = math.isinf %x : vector<8xbf16>
  // CHECK: arith.cmpf olt, %{{.*}} : vector<8xf32>
  %4 = math.isfinite %x : vector<8xbf16>
  // CHECK: arith.cmpf oge, %{{.*}} : vector<8xf32>
  %5 = math.isnormal %x : vector<8xbf16>
  // CHECK: math.absf %{{.*}} : vector<8xf16>
  // CHECK: arith.cmpf oge, %{{.*}} : vector<8xf32>
  %6 = math.isnormal %y : vector<8xf16>
  %s = arith.select %2, %0, %1 : vector<8xi1>, vector<8xi32>
  %t = arith.select %3, %s, %0 : vector<8xi1>, vector<8xi32>
  %u = arith.select %4, %t, %1 : vector<8xi1>, vector<8xi32>
  %v = arith.select %5, %u, %t : vector<8xi1>, vector<8xi32>
  %w = arith.select %6, %v, %s : vector<8xi1>, vector<8xi32>
  vector.store %w, %i[%c0, %c0] : memref<1x8xi32>, vector<8xi32>
  // CHECK: tile.return
  tile.return
}

// A bf16 constant becomes its bits: 1.5 is 0x3FC0, and -2 is 0xC000.
// CHECK-LABEL: tile.func @constant
tile.func @constant(%a: memref<1x8xbf16>) attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 8 : i64} {
  %c0 = arith.constant 0 : index
  // CHECK: %[[VECTOR:.*]] = arith.constant dense<16320> : vector<8xi16>
  // CHECK: arith.bitcast %[[VECTOR]] : vector<8xi16> to vector<8xbf16>
  %v = arith.constant dense<1.5> : vector<8xbf16>
  // CHECK: %[[SCALAR:.*]] = arith.constant -16384 : i16
  // CHECK: arith.bitcast %[[SCALAR]] : i16 to bf16
  %s = arith.constant -2.0 : bf16
  // Numbers of columns, as constant folding leaves them.
  // CHECK: %[[COLUMNS:.*]] = arith.constant dense<[0, 16256, 16384, 16448, 16512, 16544, 16576, 16608]> : vector<8xi16>
  // CHECK: arith.bitcast %[[COLUMNS]] : vector<8xi16> to vector<8xbf16>
  %columns = arith.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]> : vector<8xbf16>
  vector.store %v, %a[%c0, %c0] : memref<1x8xbf16>, vector<8xbf16>
  vector.store %columns, %a[%c0, %c0] : memref<1x8xbf16>, vector<8xbf16>
  memref.store %s, %a[%c0, %c0] : memref<1x8xbf16>
  // CHECK: tile.return
  tile.return
}
