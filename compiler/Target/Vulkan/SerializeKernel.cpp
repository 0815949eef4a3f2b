#include "compiler/Target/Vulkan/LowerToSpirv.h"

#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"
#include "mlir/Target/SPIRV/Serialization.h"

using namespace mlir;

SmallVector<uint32_t> heddle::getTexelArguments(spirv::ModuleOp kernel) {
  SmallVector<uint32_t> arguments;
  for (auto variable : kernel.getOps<spirv::GlobalVariableOp>())
    if (std::optional<uint32_t> binding = variable.getBinding())
      arguments.push_back(*binding);
  llvm::sort(arguments);
  return arguments;
}

LogicalResult heddle::serializeKernel(spirv::ModuleOp kernel, SmallVectorImpl<uint32_t> &words) {
  spirv::SerializationOptions options;
  options.emitSymbolName = false;
  words.clear();
  return spirv::serialize(kernel, words, options);
}
