// A kernel as a backend leaves it for the artifact. Fields are those of `Kernel` in runtime/schema/artifact.fbs.
#ifndef HEDDLE_COMPILER_TARGET_KERNELCODE_H
#define HEDDLE_COMPILER_TARGET_KERNELCODE_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <string>

namespace mlir::heddle {

struct KernelCode {
  std::string name;
  std::string entry; // the name of the code's entry point, where it is not `main`
  uint32_t lanes = 0;
  uint32_t subgroup = 0; // lanes that exchange values without shared memory
  SmallVector<uint32_t, 0> words;
  SmallVector<uint32_t> texels;           // follows from the words
  bool float16 = false;                   // the device must have floats of 16 bits
  bool int16 = false;                     // the device must have whole numbers of 16 bits
  uint32_t cooperativeSide = 0;           // of cooperative matrices; 0: there are none
  uint32_t sharedBytes = 0;               // of a workgroup
  std::string binary;                     // the same code assembled; may be empty
  uint32_t registers = 0, spillBytes = 0; // of a lane, as the assembler says
};

} // namespace mlir::heddle

#endif
