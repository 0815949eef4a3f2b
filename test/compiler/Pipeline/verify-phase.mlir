// RUN: heddle-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(heddle-verify-phase{phase=import})'
// RUN: not heddle-opt %s --split-input-file --pass-pipeline='builtin.module(heddle-verify-phase{phase=plan})' 2>&1 | FileCheck %s
// RUN: not heddle-opt %s --split-input-file --pass-pipeline='builtin.module(heddle-verify-phase{phase=later})' 2>&1 | FileCheck --check-prefix=NONE %s

// CHECK: 'func.func' is not legal after phase 'plan'
// NONE: there is no phase 'later'
func.func @graph(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = arith.addf %x, %x : tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

func.func @loop(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @+1 {{'scf.for' is not legal after phase 'import'}}
  scf.for %i = %c0 to %n step %c1 {
  }
  return
}
