// A serialised kernel. The fields are those of `Kernel` in runtime/schema/artifact.fbs.
#pragma once

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <string>

namespace mlir::heddle {

struct KernelCode {
  std::string name;
  std::string entry; // the name of the code's entry point; empty: `main`
  uint32_t lanes = 0;
  uint32_t subgroup = 0; // lanes that exchange values without shared memory
  SmallVector<uint32_t, 0> words;
  SmallVector<uint32_t> texels;           // arguments that are bound as texel buffers too
  uint32_t texelFloats = 4;               // f32 per texel
  bool float16 = false;                   // the device must support 16-bit floats
  bool int16 = false;                     // the device must support 16-bit integers
  uint32_t cooperativeSide = 0;           // rows of its cooperative matrices; 0: it has none
  uint32_t sharedBytes = 0;               // per workgroup
  bool persistent = false;                // any number of workgroups along x does all the work
  std::string binary;                     // the assembled code; may be empty
  uint32_t registers = 0, spillBytes = 0; // per lane, as the assembler reports
};

} // namespace mlir::heddle
