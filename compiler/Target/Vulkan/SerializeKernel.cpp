#include "compiler/Target/Vulkan/LowerToSpirv.h"

#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"
#include "mlir/Target/SPIRV/Serialization.h"

using namespace mlir;

LogicalResult heddle::serializeKernel(spirv::ModuleOp kernel, SmallVectorImpl<uint32_t> &words) {
  spirv::SerializationOptions options;
  options.emitSymbolName = false;
  words.clear();
  return spirv::serialize(kernel, words, options);
}
