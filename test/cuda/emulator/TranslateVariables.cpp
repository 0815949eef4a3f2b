// Where variables lie: shared memory, parameters, local memory.
#include "test/cuda/emulator/Translate.h"

#include <algorithm>
#include <cstddef>

namespace heddle::emulator {

namespace {

uint64_t roundUp(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

void addNames(const Operand &operand, std::set<std::string> &names) {
  names.insert(operand.name);
  for (const Operand &item : operand.items)
    addNames(item, names);
}

// Adds the names that the function's operands contain.
void addNames(const Function &function, std::set<std::string> &names) {
  for (const Instruction &instruction : function.body)
    for (const Operand &operand : instruction.operands)
      addNames(operand, names);
}

} // namespace

void ModuleLayout::placeShared() {
  std::set<std::string> used;
  for (const Function &function : ptx->functions)
    if (!function.entry)
      addNames(function, used);
  auto place = [&](const std::string &name, const Variable &variable) {
    sharedBytes = static_cast<uint32_t>(roundUp(sharedBytes, variable.alignment));
    shared[name] = sharedBytes;
    sharedBytes += static_cast<uint32_t>(variable.size);
  };
  for (const Variable &variable : ptx->variables)
    if (variable.space == Space::Shared && variable.size && used.count(variable.name))
      place(variable.name, variable);
  for (const Function &function : ptx->functions)
    if (!function.entry)
      for (size_t scope = 0; scope < function.scopes.size(); ++scope)
        for (const auto &[name, variable] : function.scopes[scope].variables)
          if (variable.space == Space::Shared)
            place(function.name + "/" + std::to_string(scope) + "/" + name, variable);
}

KernelLayout layOutParameters(const Function &function) {
  KernelLayout kernel;
  for (const Variable &parameter : function.parameters) {
    // A pointer parameter's alignment is that of its target.
    auto alignment =
        static_cast<uint32_t>(std::min<uint64_t>(parameter.alignment, std::max<uint64_t>(parameter.size, 1)));
    if (parameter.size > 8)
      alignment = parameter.alignment;
    kernel.paramBytes = static_cast<uint32_t>(roundUp(kernel.paramBytes, alignment));
    kernel.paramOffsets.push_back(kernel.paramBytes);
    kernel.paramSizes.push_back(static_cast<uint32_t>(parameter.size));
    kernel.paramBytes += static_cast<uint32_t>(parameter.size);
  }
  return kernel;
}

void Translator::placeVariables() {
  llvm::Type *pointer = builder.getPtrTy();
  if (function.entry) {
    Value *params = threadField(offsetof(Thread, params), pointer);
    for (size_t i = 0; i < function.parameters.size(); ++i)
      paramSlots[{0, function.parameters[i].name}] =
          builder.CreateConstGEP1_64(builder.getInt8Ty(), params, kernel.paramOffsets[i]);
  } else {
    unsigned argument = 1;
    for (const Variable &result : function.results)
      paramSlots[{0, result.name}] = translated->getArg(argument++);
    for (const Variable &parameter : function.parameters)
      paramSlots[{0, parameter.name}] = translated->getArg(argument++);
  }
  uint32_t local = 0;
  kernel.sharedBytes = layout.sharedBytes;
  auto placeShared = [&](const Variable &variable) {
    kernel.sharedBytes = static_cast<uint32_t>(roundUp(kernel.sharedBytes, variable.alignment));
    uint32_t offset = kernel.sharedBytes;
    kernel.sharedBytes += static_cast<uint32_t>(variable.size);
    return offset;
  };
  for (unsigned scope = 0; scope < function.scopes.size(); ++scope) {
    // Sorted by name, so that a layout does not depend on a hash.
    std::map<std::string, const Variable *> sorted;
    for (const auto &[name, variable] : function.scopes[scope].variables)
      sorted[name] = &variable;
    for (const auto &[name, variable] : sorted) {
      if (variable->space == Space::Param) {
        auto *slot =
            builder.CreateAlloca(llvm::ArrayType::get(builder.getInt8Ty(), std::max<uint64_t>(variable->size, 1)));
        slot->setAlignment(llvm::Align(16));
        paramSlots[{scope, name}] = slot;
      } else if (variable->space == Space::Local) {
        local = static_cast<uint32_t>(roundUp(local, variable->alignment));
        offsets[{scope, name}] = local;
        local += static_cast<uint32_t>(variable->size);
      } else if (variable->space == Space::Shared) {
        offsets[{scope, name}] = function.entry
                                     ? placeShared(*variable)
                                     : layout.shared.at(function.name + "/" + std::to_string(scope) + "/" + name);
      } else {
        throw PtxError(variable->line, "a variable of this space inside of a function is not known");
      }
    }
  }
  if (function.entry) {
    std::set<std::string> used;
    addNames(function, used);
    for (const Variable &variable : layout.ptx->variables) {
      if (variable.space != Space::Shared || !used.count(variable.name) || layout.shared.count(variable.name))
        continue;
      if (variable.size)
        offsets[{~0u, variable.name}] = placeShared(variable);
    }
    // Dynamic shared memory follows the static part, with an alignment that suits every use.
    uint32_t alignment = 16;
    for (const Variable &variable : layout.ptx->variables)
      if (variable.space == Space::Shared && !variable.size)
        alignment = std::max(alignment, variable.alignment);
    for (const Variable &variable : layout.ptx->variables)
      if (variable.space == Space::Shared && !variable.size && used.count(variable.name)) {
        kernel.sharedBytes = static_cast<uint32_t>(roundUp(kernel.sharedBytes, alignment));
        offsets[{~0u, variable.name}] = kernel.sharedBytes;
      }
  }
  kernel.localBytes = local;
  if (local) {
    localOld = threadField(offsetof(Thread, localTop), builder.getInt64Ty(), false);
    localBase = builder.CreateAnd(builder.CreateAdd(localOld, builder.getInt64(15)), builder.getInt64(~uint64_t(15)));
    Value *top = builder.CreateAdd(localBase, builder.getInt64(local));
    at = function.body.empty() ? nullptr : &function.body.front();
    branchToBad(builder.CreateICmpULE(top, threadField(offsetof(Thread, localEnd), builder.getInt64Ty())),
                [&] { call("heddle_local_overflow", builder.getVoidTy(), {thread, constantPointer(newSite())}); });
    at = nullptr;
    builder.CreateStore(top, builder.CreateConstGEP1_64(builder.getInt8Ty(), thread, offsetof(Thread, localTop)));
  }
}

} // namespace heddle::emulator
