#include "compiler/Target/Vulkan/LowerToSpirv.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"
#include "mlir/Target/SPIRV/Serialization.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

using spirv::Opcode;

constexpr size_t kHeader = 5, kBound = 3; // the header's words, and the index of the id bound

/// Calls `visit` for each instruction, with its opcode and words.
void forEachInstruction(ArrayRef<uint32_t> words, function_ref<void(Opcode, ArrayRef<uint32_t>)> visit) {
  for (ArrayRef<uint32_t> rest = words.drop_front(kHeader); !rest.empty();) {
    ArrayRef<uint32_t> instruction = rest.take_front(rest.front() >> 16);
    visit(static_cast<Opcode>(rest.front() & 0xffff), instruction);
    rest = rest.drop_front(instruction.size());
  }
}

uint32_t firstWord(Opcode opcode, uint32_t count) { return count << 16 | static_cast<uint32_t>(opcode); }

/// Replaces casts from pointer to pointer by casts to two 32-bit integers and from there to the pointer. SwiftShader
/// supports only this form, and MLIR's verifier rejects it, so the replacement happens in the binary.
SmallVector<uint32_t> castThroughNumbers(ArrayRef<uint32_t> words) {
  llvm::DenseSet<uint32_t> pointers;
  uint32_t number = 0, pair = 0;
  bool any = false;
  forEachInstruction(words, [&](Opcode opcode, ArrayRef<uint32_t> at) {
    if (opcode == Opcode::OpTypePointer && at[2] == static_cast<uint32_t>(spirv::StorageClass::PhysicalStorageBuffer))
      pointers.insert(at[1]);
    else if (opcode == Opcode::OpTypeInt && at[2] == 32)
      number = at[1];
    else if (opcode == Opcode::OpTypeVector && at[2] == number && at[3] == 2)
      pair = at[1];
    any |= opcode == Opcode::OpBitcast && pointers.contains(at[1]);
  });
  if (!any)
    return SmallVector<uint32_t>(words);
  uint32_t bound = words[kBound];
  bool declares = !pair;
  if (declares)
    pair = bound++;
  SmallVector<uint32_t> result(words.take_front(kHeader));
  forEachInstruction(words, [&](Opcode opcode, ArrayRef<uint32_t> at) {
    if (opcode == Opcode::OpFunction && declares) {
      result.append({firstWord(Opcode::OpTypeVector, 4), pair, number, 2});
      declares = false;
    }
    if (opcode == Opcode::OpBitcast && pointers.contains(at[1])) {
      uint32_t numbers = bound++;
      result.append({firstWord(Opcode::OpBitcast, 4), pair, numbers, at[3]});
      result.append({firstWord(Opcode::OpBitcast, 4), at[1], at[2], numbers});
    } else {
      llvm::append_range(result, at);
    }
  });
  result[kBound] = bound;
  return result;
}

} // namespace

SmallVector<uint32_t> heddle::getTexelArguments(spirv::ModuleOp kernel) {
  SmallVector<uint32_t> arguments;
  for (auto variable : kernel.getOps<spirv::GlobalVariableOp>())
    if (std::optional<uint32_t> binding = variable.getBinding())
      arguments.push_back(*binding);
  llvm::sort(arguments);
  return arguments;
}

int64_t heddle::getSharedBytes(spirv::ModuleOp kernel) {
  int64_t bytes = 0;
  for (auto variable : kernel.getOps<spirv::GlobalVariableOp>())
    if (auto pointer = cast<spirv::PointerType>(variable.getType());
        pointer.getStorageClass() == spirv::StorageClass::Workgroup)
      bytes += *cast<spirv::SPIRVType>(pointer.getPointeeType()).getSizeInBytes();
  return bytes;
}

LogicalResult heddle::serializeKernel(spirv::ModuleOp kernel, SmallVectorImpl<uint32_t> &words) {
  spirv::SerializationOptions options;
  options.emitSymbolName = false;
  SmallVector<uint32_t> serialized;
  if (failed(spirv::serialize(kernel, serialized, options)))
    return failure();
  words = castThroughNumbers(serialized);
  return success();
}
