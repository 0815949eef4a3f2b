// The gradient rules of arith and math, with one function for each rule. The gradient of each result is all ones.
// RUN: heddle-opt %s --heddle-differentiate | FileCheck %s

heddle.variable @a weight : tensor<8xf32>
heddle.variable @grad.a gradient of @a as gradient : tensor<8xf32>
heddle.variable @b weight : tensor<8xf32>
heddle.variable @grad.b gradient of @b as gradient : tensor<8xf32>

// CHECK-LABEL: func.func @addf
func.func @addf() {
  // CHECK: %[[A:.*]] = heddle.read @a
  // CHECK-NEXT: %[[B:.*]] = heddle.read @b
  // CHECK-NEXT: %[[Y:.*]] = arith.addf
  %a = heddle.read @a : tensor<8xf32>
  %b = heddle.read @b : tensor<8xf32>
  %y = arith.addf %a, %b : tensor<8xf32>
  %loss = heddle.sum columns %y : tensor<8xf32> -> tensor<1xf32>
  // CHECK: %[[G:.*]] = heddle.broadcast %{{.*}} : tensor<1xf32> to tensor<8xf32>
  // CHECK-NEXT: %[[OLD_A:.*]] = heddle.read @grad.a
  // CHECK-NEXT: arith.addf %[[OLD_A]], %[[G]]
  // CHECK-NEXT: %[[OLD_B:.*]] = heddle.read @grad.b
  // CHECK-NEXT: arith.addf %[[OLD_B]], %[[G]]
  heddle.accumulate %loss
  return
}

// CHECK-LABEL: func.func @subf
func.func @subf() {
  // CHECK: %[[A:.*]] = heddle.read @a
  // CHECK-NEXT: %[[B:.*]] = heddle.read @b
  // CHECK-NEXT: %[[Y:.*]] = arith.subf
  %a = heddle.read @a : tensor<8xf32>
  %b = heddle.read @b : tensor<8xf32>
  %y = arith.subf %a, %b : tensor<8xf32>
  %loss = heddle.sum columns %y : tensor<8xf32> -> tensor<1xf32>
  // CHECK: %[[G:.*]] = heddle.broadcast %{{.*}} : tensor<1xf32> to tensor<8xf32>
  // CHECK-NEXT: %[[DB:.*]] = arith.negf %[[G]]
  // CHECK-NEXT: %[[OLD_A:.*]] = heddle.read @grad.a
  // CHECK-NEXT: arith.addf %[[OLD_A]], %[[G]]
  // CHECK-NEXT: %[[OLD_B:.*]] = heddle.read @grad.b
  // CHECK-NEXT: arith.addf %[[OLD_B]], %[[DB]]
  heddle.accumulate %loss
  return
}

// CHECK-LABEL: func.func @mulf
func.func @mulf() {
  // CHECK: %[[A:.*]] = heddle.read @a
  // CHECK-NEXT: %[[B:.*]] = heddle.read @b
  // CHECK-NEXT: %[[Y:.*]] = arith.mulf
  %a = heddle.read @a : tensor<8xf32>
  %b = heddle.read @b : tensor<8xf32>
  %y = arith.mulf %a, %b : tensor<8xf32>
  %loss = heddle.sum columns %y : tensor<8xf32> -> tensor<1xf32>
  // CHECK: %[[G:.*]] = heddle.broadcast %{{.*}} : tensor<1xf32> to tensor<8xf32>
  // CHECK-NEXT: %[[DA:.*]] = arith.mulf %[[G]], %[[B]]
  // CHECK-NEXT: %[[DB:.*]] = arith.mulf %[[G]], %[[A]]
  // CHECK-NEXT: %[[OLD_A:.*]] = heddle.read @grad.a
  // CHECK-NEXT: arith.addf %[[OLD_A]], %[[DA]]
  // CHECK-NEXT: %[[OLD_B:.*]] = heddle.read @grad.b
  // CHECK-NEXT: arith.addf %[[OLD_B]], %[[DB]]
  heddle.accumulate %loss
  return
}

// CHECK-LABEL: func.func @divf
func.func @divf() {
  // CHECK: %[[A:.*]] = heddle.read @a
  // CHECK-NEXT: %[[B:.*]] = heddle.read @b
  // CHECK-NEXT: %[[Y:.*]] = arith.divf
  %a = heddle.read @a : tensor<8xf32>
  %b = heddle.read @b : tensor<8xf32>
  %y = arith.divf %a, %b : tensor<8xf32>
  %loss = heddle.sum columns %y : tensor<8xf32> -> tensor<1xf32>
  // CHECK: %[[G:.*]] = heddle.broadcast %{{.*}} : tensor<1xf32> to tensor<8xf32>
  // CHECK-NEXT: %[[DA:.*]] = arith.divf %[[G]], %[[B]]
  // CHECK-NEXT: %[[P:.*]] = arith.mulf %[[DA]], %[[Y]]
  // CHECK-NEXT: %[[DB:.*]] = arith.negf %[[P]]
  // CHECK-NEXT: %[[OLD_A:.*]] = heddle.read @grad.a
  // CHECK-NEXT: arith.addf %[[OLD_A]], %[[DA]]
  // CHECK-NEXT: %[[OLD_B:.*]] = heddle.read @grad.b
  // CHECK-NEXT: arith.addf %[[OLD_B]], %[[DB]]
  heddle.accumulate %loss
  return
}

// CHECK-LABEL: func.func @maximumf
func.func @maximumf() {
  // CHECK: %[[A:.*]] = heddle.read @a
  // CHECK-NEXT: %[[B:.*]] = heddle.read @b
  // CHECK-NEXT: %[[Y:.*]] = arith.maximumf
  %a = heddle.read @a : tensor<8xf32>
  %b = heddle.read @b : tensor<8xf32>
  %y = arith.maximumf %a, %b : tensor<8xf32>
  %loss = heddle.sum columns %y : tensor<8xf32> -> tensor<1xf32>
  // CHECK: %[[G:.*]] = heddle.broadcast %{{.*}} : tensor<1xf32> to tensor<8xf32>
  // CHECK-NEXT: %[[LEFT:.*]] = arith.cmpf ogt, %[[Y]], %[[B]]
  // CHECK-NEXT: %[[ZERO:.*]] = heddle.fill 0.0
  // CHECK-NEXT: %[[DA:.*]] = arith.select %[[LEFT]], %[[G]], %[[ZERO]]
  // CHECK-NEXT: %[[DB:.*]] = arith.select %[[LEFT]], %[[ZERO]], %[[G]]
  // CHECK-NEXT: %[[OLD_A:.*]] = heddle.read @grad.a
  // CHECK-NEXT: arith.addf %[[OLD_A]], %[[DA]]
  // CHECK-NEXT: %[[OLD_B:.*]] = heddle.read @grad.b
  // CHECK-NEXT: arith.addf %[[OLD_B]], %[[DB]]
  heddle.accumulate %loss
  return
}

// CHECK-LABEL: func.func @minimumf
func.func @minimumf() {
  // CHECK: %[[A:.*]] = heddle.read @a
  // CHECK-NEXT: %[[B:.*]] = heddle.read @b
  // CHECK-NEXT: %[[Y:.*]] = arith.minimumf
  %a = heddle.read @a : tensor<8xf32>
  %b = heddle.read @b : tensor<8xf32>
  %y = arith.minimumf %a, %b : tensor<8xf32>
  %loss = heddle.sum columns %y : tensor<8xf32> -> tensor<1xf32>
  // CHECK: %[[G:.*]] = heddle.broadcast %{{.*}} : tensor<1xf32> to tensor<8xf32>
  // CHECK-NEXT: %[[LEFT:.*]] = arith.cmpf ogt, %[[B]], %[[A]]
  // CHECK-NEXT: %[[ZERO:.*]] = heddle.fill 0.0
  // CHECK-NEXT: %[[DA:.*]] = arith.select %[[LEFT]], %[[G]], %[[ZERO]]
  // CHECK-NEXT: %[[DB:.*]] = arith.select %[[LEFT]], %[[ZERO]], %[[G]]
  // CHECK-NEXT: %[[OLD_A:.*]] = heddle.read @grad.a
  // CHECK-NEXT: arith.addf %[[OLD_A]], %[[DA]]
  // CHECK-NEXT: %[[OLD_B:.*]] = heddle.read @grad.b
  // CHECK-NEXT: arith.addf %[[OLD_B]], %[[DB]]
  heddle.accumulate %loss
  return
}

// CHECK-LABEL: func.func @negf
func.func @negf() {
  // CHECK: %[[A:.*]] = heddle.read @a
  // CHECK-NEXT: %[[Y:.*]] = arith.negf %[[A]]
  %a = heddle.read @a : tensor<8xf32>
  %y = arith.negf %a : tensor<8xf32>
  %loss = heddle.sum columns %y : tensor<8xf32> -> tensor<1xf32>
  // CHECK: %[[G:.*]] = heddle.broadcast %{{.*}} : tensor<1xf32> to tensor<8xf32>
  // CHECK-NEXT: %[[DA:.*]] = arith.negf %[[G]]
  // CHECK-NEXT: %[[OLD_A:.*]] = heddle.read @grad.a
  // CHECK-NEXT: arith.addf %[[OLD_A]], %[[DA]]
  heddle.accumulate %loss
  return
}

// CHECK-LABEL: func.func @exp
func.func @exp() {
  // CHECK: %[[A:.*]] = heddle.read @a
  // CHECK-NEXT: %[[Y:.*]] = math.exp %[[A]]
  %a = heddle.read @a : tensor<8xf32>
  %y = math.exp %a : tensor<8xf32>
  %loss = heddle.sum columns %y : tensor<8xf32> -> tensor<1xf32>
  // CHECK: %[[G:.*]] = heddle.broadcast %{{.*}} : tensor<1xf32> to tensor<8xf32>
  // CHECK-NEXT: %[[DA:.*]] = arith.mulf %[[G]], %[[Y]]
  // CHECK-NEXT: %[[OLD_A:.*]] = heddle.read @grad.a
  // CHECK-NEXT: arith.addf %[[OLD_A]], %[[DA]]
  heddle.accumulate %loss
  return
}

// CHECK-LABEL: func.func @log
func.func @log() {
  // CHECK: %[[A:.*]] = heddle.read @a
  // CHECK-NEXT: %[[Y:.*]] = math.log %[[A]]
  %a = heddle.read @a : tensor<8xf32>
  %y = math.log %a : tensor<8xf32>
  %loss = heddle.sum columns %y : tensor<8xf32> -> tensor<1xf32>
  // CHECK: %[[G:.*]] = heddle.broadcast %{{.*}} : tensor<1xf32> to tensor<8xf32>
  // CHECK-NEXT: %[[DA:.*]] = arith.divf %[[G]], %[[A]]
  // CHECK-NEXT: %[[OLD_A:.*]] = heddle.read @grad.a
  // CHECK-NEXT: arith.addf %[[OLD_A]], %[[DA]]
  heddle.accumulate %loss
  return
}

// CHECK-LABEL: func.func @sqrt
func.func @sqrt() {
  // CHECK: %[[A:.*]] = heddle.read @a
  // CHECK-NEXT: %[[Y:.*]] = math.sqrt %[[A]]
  %a = heddle.read @a : tensor<8xf32>
  %y = math.sqrt %a : tensor<8xf32>
  %loss = heddle.sum columns %y : tensor<8xf32> -> tensor<1xf32>
  // CHECK: %[[G:.*]] = heddle.broadcast %{{.*}} : tensor<1xf32> to tensor<8xf32>
  // CHECK-NEXT: %[[HALF:.*]] = heddle.fill 5.0
  // CHECK-NEXT: %[[P:.*]] = arith.mulf %[[G]], %[[HALF]]
  // CHECK-NEXT: %[[DA:.*]] = arith.divf %[[P]], %[[Y]]
  // CHECK-NEXT: %[[OLD_A:.*]] = heddle.read @grad.a
  // CHECK-NEXT: arith.addf %[[OLD_A]], %[[DA]]
  heddle.accumulate %loss
  return
}

// CHECK-LABEL: func.func @rsqrt
func.func @rsqrt() {
  // CHECK: %[[A:.*]] = heddle.read @a
  // CHECK-NEXT: %[[Y:.*]] = math.rsqrt %[[A]]
  %a = heddle.read @a : tensor<8xf32>
  %y = math.rsqrt %a : tensor<8xf32>
  %loss = heddle.sum columns %y : tensor<8xf32> -> tensor<1xf32>
  // CHECK: %[[G:.*]] = heddle.broadcast %{{.*}} : tensor<1xf32> to tensor<8xf32>
  // CHECK-NEXT: %[[HALF:.*]] = heddle.fill -5.0
  // CHECK-NEXT: %[[P:.*]] = arith.mulf %[[G]], %[[HALF]]
  // CHECK-NEXT: %[[Y2:.*]] = arith.mulf %[[Y]], %[[Y]]
  // CHECK-NEXT: %[[Y3:.*]] = arith.mulf %[[Y]], %[[Y2]]
  // CHECK-NEXT: %[[DA:.*]] = arith.mulf %[[P]], %[[Y3]]
  // CHECK-NEXT: %[[OLD_A:.*]] = heddle.read @grad.a
  // CHECK-NEXT: arith.addf %[[OLD_A]], %[[DA]]
  heddle.accumulate %loss
  return
}

// CHECK-LABEL: func.func @tanh
func.func @tanh() {
  // CHECK: %[[A:.*]] = heddle.read @a
  // CHECK-NEXT: %[[Y:.*]] = math.tanh %[[A]]
  %a = heddle.read @a : tensor<8xf32>
  %y = math.tanh %a : tensor<8xf32>
  %loss = heddle.sum columns %y : tensor<8xf32> -> tensor<1xf32>
  // CHECK: %[[G:.*]] = heddle.broadcast %{{.*}} : tensor<1xf32> to tensor<8xf32>
  // CHECK-NEXT: %[[ONE:.*]] = heddle.fill 1.0
  // CHECK-NEXT: %[[Y2:.*]] = arith.mulf %[[Y]], %[[Y]]
  // CHECK-NEXT: %[[D:.*]] = arith.subf %[[ONE]], %[[Y2]]
  // CHECK-NEXT: %[[DA:.*]] = arith.mulf %[[G]], %[[D]]
  // CHECK-NEXT: %[[OLD_A:.*]] = heddle.read @grad.a
  // CHECK-NEXT: arith.addf %[[OLD_A]], %[[DA]]
  heddle.accumulate %loss
  return
}

// CHECK-LABEL: func.func @erf
func.func @erf() {
  // CHECK: %[[A:.*]] = heddle.read @a
  %a = heddle.read @a : tensor<8xf32>
  %y = math.erf %a : tensor<8xf32>
  %loss = heddle.sum columns %y : tensor<8xf32> -> tensor<1xf32>
  // CHECK: %[[G:.*]] = heddle.broadcast %{{.*}} : tensor<1xf32> to tensor<8xf32>
  // CHECK-NEXT: %[[A2:.*]] = arith.mulf %[[A]], %[[A]]
  // CHECK-NEXT: %[[E:.*]] = arith.negf %[[A2]]
  // CHECK-NEXT: %[[SLOPE:.*]] = math.exp %[[E]]
  // CHECK-NEXT: %[[C:.*]] = heddle.fill 1.128379
  // CHECK-NEXT: %[[GC:.*]] = arith.mulf %[[G]], %[[C]]
  // CHECK-NEXT: %[[DA:.*]] = arith.mulf %[[GC]], %[[SLOPE]]
  // CHECK-NEXT: %[[OLD_A:.*]] = heddle.read @grad.a
  // CHECK-NEXT: arith.addf %[[OLD_A]], %[[DA]]
  heddle.accumulate %loss
  return
}

// CHECK-LABEL: func.func @select
// CHECK-SAME: %[[C:.*]]: tensor<8xi1>
func.func @select(%c: tensor<8xi1>) {
  %a = heddle.read @a : tensor<8xf32>
  %b = heddle.read @b : tensor<8xf32>
  %y = arith.select %c, %a, %b : tensor<8xi1>, tensor<8xf32>
  %loss = heddle.sum columns %y : tensor<8xf32> -> tensor<1xf32>
  // CHECK: %[[G:.*]] = heddle.broadcast %{{.*}} : tensor<1xf32> to tensor<8xf32>
  // CHECK-NEXT: %[[ZERO:.*]] = heddle.fill 0.0
  // CHECK-NEXT: arith.select %[[C]], %[[G]], %[[ZERO]]
  // CHECK-NEXT: arith.select %[[C]], %[[ZERO]], %[[G]]
  heddle.accumulate %loss
  return
}

// ReLU: the gradient passes where the result is above zero, so that the input need not be kept. The constant side has none, and nothing is built for it.
// CHECK-LABEL: func.func @relu
func.func @relu() {
  // CHECK: %[[A:.*]] = heddle.read @a
  // CHECK-NEXT: %[[C:.*]] = heddle.fill 0.0
  // CHECK-NEXT: %[[Y:.*]] = arith.maximumf
  %a = heddle.read @a : tensor<8xf32>
  %zero = heddle.fill 0.0 : f32 : tensor<8xf32>
  %y = arith.maximumf %a, %zero : tensor<8xf32>
  %loss = heddle.sum columns %y : tensor<8xf32> -> tensor<1xf32>
  // CHECK: %[[G:.*]] = heddle.broadcast %{{.*}} : tensor<1xf32> to tensor<8xf32>
  // CHECK-NEXT: %[[POSITIVE:.*]] = arith.cmpf ogt, %[[Y]], %[[C]]
  // CHECK-NEXT: %[[ZERO:.*]] = heddle.fill 0.0
  // CHECK-NEXT: arith.select %[[POSITIVE]], %[[G]], %[[ZERO]]
  // CHECK-NEXT: heddle.read @grad.a
  heddle.accumulate %loss
  return
}
