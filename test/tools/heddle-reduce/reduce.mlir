// RUN: heddle-reduce %s --test=%S/Inputs/has_layer_norm.sh -o %t.mlir 2>&1 | FileCheck --check-prefix=SAID %s
// RUN: FileCheck %s < %t.mlir && heddle-opt %t.mlir -o %t.again && diff %t.mlir %t.again

// RUN: %python %S/../heddle-compile/exit_code.py 1 heddle-reduce %s --test=false 2>&1 | FileCheck --check-prefix=FALSE %s
// RUN: %python %S/../heddle-compile/exit_code.py 1 heddle-reduce %s --test=%t.absent 2>&1 | FileCheck --check-prefix=ABSENT %s
// RUN: %python %S/../heddle-compile/exit_code.py 2 heddle-reduce %s 2>&1 | FileCheck --check-prefix=MISSING %s
// RUN: %python %S/../heddle-compile/exit_code.py 2 heddle-reduce %s --hold --test=false 2>&1 | FileCheck --check-prefix=UNKNOWN %s
// RUN: rm -rf %t.none %t.ran && printf '#!/bin/sh\ntouch %t.ran\n' > %t.touch.sh && chmod +x %t.touch.sh
// RUN: %python %S/../heddle-compile/exit_code.py 1 heddle-reduce %s --test=%t.touch.sh -o %t.none/x 2>&1 | FileCheck --check-prefix=FOLDER %s
// RUN: not ls %t.ran
// RUN: echo 'func.func @f( {' > %t.bad.mlir && %python %S/../heddle-compile/exit_code.py 1 heddle-reduce %t.bad.mlir --test=false 2>&1 | FileCheck --check-prefix=PLACE %s
// FOLDER: heddle-reduce: error: -o: cannot write '{{.*}}none/x': there is no folder '{{.*}}none'; make it, or name a file elsewhere
// PLACE: {{^.*}}bad.mlir:1:{{[0-9]+}}: error: {{.+}}
// FALSE: heddle-reduce: 'false' does not end with exit code 0 for '{{.*}}reduce.mlir' itself
// ABSENT: heddle-reduce: --test: cannot run '{{.*}}absent': {{.+}}
// UNKNOWN: heddle-reduce: there is no flag '--hold'; --help lists the flags
// MISSING: --test option: must be specified at least once

// SAID: heddle-reduce: 14 ops are now 5, after {{[0-9]+}} tests
// CHECK: module {
// CHECK-NEXT: func.func @model(%[[X:.*]]: tensor<4x8xf32> {heddle.name = "x"}) -> (tensor<4x8xf32> {heddle.name = "y"}) {
// CHECK-NEXT: %[[GAMMA:.*]] = heddle.fill 0.0
// CHECK-NEXT: %[[BETA:.*]] = heddle.fill 0.0
// CHECK-NEXT: %[[Y:.*]], %{{.*}}, %{{.*}} = heddle.layer_norm %[[X]], %[[GAMMA]], %[[BETA]]
// CHECK-NEXT: return %[[Y]]
module attributes {heddle.description = "{}"} {
  heddle.variable @gamma weight : tensor<8xf32>
  heddle.variable @beta weight : tensor<8xf32>
  func.func @other(%x: tensor<4x8xf32> {heddle.name = "x"}) -> (tensor<4x8xf32> {heddle.name = "y"}) {
    %y = math.exp %x : tensor<4x8xf32>
    return %y : tensor<4x8xf32>
  }
  func.func @model(%x: tensor<4x8xf32> {heddle.name = "x"}, %w: tensor<8x8xf32> {heddle.name = "w"})
      -> (tensor<4x8xf32> {heddle.name = "y"}) {
    %gamma = heddle.read @gamma : tensor<8xf32>
    %beta = heddle.read @beta : tensor<8xf32>
    %a = heddle.matmul %x, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
    %b = arith.addf %a, %x : tensor<4x8xf32>
    %c, %mean, %rstd = heddle.layer_norm %b, %gamma, %beta {epsilon = 1.0e-05 : f32}
      : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32> -> tensor<4xf32>
    heddle.write @gamma, %gamma : tensor<8xf32>
    %d = math.tanh %c : tensor<4x8xf32>
    return %d : tensor<4x8xf32>
  }
}
