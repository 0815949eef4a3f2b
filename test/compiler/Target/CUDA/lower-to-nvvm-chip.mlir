// RUN: not heddle-opt %s --heddle-lower-to-nvvm=chip=hopper 2>&1 | FileCheck %s
// RUN: not heddle-opt %s --heddle-lower-to-nvvm=chip= 2>&1 | FileCheck %s
// RUN: heddle-opt %s --heddle-lower-to-nvvm=chip=sm_90a | FileCheck %s --check-prefix=CHIP

// CHECK: error: heddle-lower-to-nvvm: there is no chip '{{(hopper)?}}'; chips are called sm_80 or sm_90a
// CHIP: chip = "sm_90a"
tile.func @nothing() attributes {workgroup = 32 : i64, mapping = #tile.mapping<rows>, vector = 1 : i64} { tile.return }
