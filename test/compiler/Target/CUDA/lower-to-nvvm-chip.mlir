// RUN: not heddle-opt %s --heddle-lower-to-nvvm=chip=hopper 2>&1 | FileCheck %s
// RUN: not heddle-opt %s --heddle-lower-to-nvvm=chip= 2>&1 | FileCheck %s
// RUN: heddle-opt %s --heddle-lower-to-nvvm=chip=sm_90a | FileCheck %s --check-prefix=CHIP
// RUN: heddle-opt %s --heddle-lower-to-nvvm=chip=sm_120 | FileCheck %s --check-prefix=BLACKWELL

// CHECK: error: heddle-lower-to-nvvm: there is no chip '{{(hopper)?}}'; chips are called sm_80 or sm_90a
// CHIP: chip = "sm_90a", features = "+ptx80"
// CHIP-NOT: nvvm.minctasm
// ptxas limits the registers of all kernels for Blackwell unless the kernel says that one workgroup per processor is
// enough.
// BLACKWELL: chip = "sm_120", features = "+ptx87"
// BLACKWELL: nvvm.minctasm = 1
tile.func @nothing() attributes {workgroup = 32 : i64, mapping = #tile.mapping<rows>, vector = 1 : i64} { tile.return }
