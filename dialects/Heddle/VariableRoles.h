// Finds variables by role: the variables that belong to a weight, and the counters and scalars of training.
#pragma once

#include "dialects/Heddle/Heddle.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::heddle {

/// An attribute of a variable whose weight is packed in a GGUF file: the name of the file's type, such as "Q4_K".
inline constexpr llvm::StringLiteral kStoredAttrName = "heddle.stored";
/// The same for tensors of a folder that are packed or of 16 bits. They are widened if the weight is trained.
inline constexpr llvm::StringLiteral kStoredInFolderAttrName = "heddle.stored_in_folder";

/// An attribute of a weight matrix that weight decay spares, like biases and gains.
inline constexpr llvm::StringLiteral kNoDecayAttrName = "heddle.no_decay";

/// An attribute of a weight that a text updates: the function of the module that computes the step.
inline constexpr llvm::StringLiteral kUpdateAttrName = "heddle.update";

/// Returns the name of a weight's state that an optimizer's text calls `state`.
std::string getStateName(StringRef state, StringRef weight);

/// Returns true if a variable of this role is part of a packed weight: its scales, offsets, upper bits or table.
bool isPartOfPacked(VariableRole role);

/// Returns true if a variable of this role belongs to a weight.
bool hasOwner(VariableRole role);

/// Returns the name that checkpoints use for this role. `owner` is the weight, or empty if the role belongs to none.
std::string getVariableName(VariableRole role, StringRef owner = {});

/// Returns the kind of variables of this role.
VariableKind getKind(VariableRole role);

/// The variables of a module by role.
class VariableRoles {
public:
  explicit VariableRoles(ModuleOp module);

  /// Returns null if there is no such variable. `owner` is empty for roles that belong to no weight.
  VariableOp find(VariableRole role, StringRef owner = {}) const {
    return variables[static_cast<size_t>(role)].lookup(owner);
  }
  /// The same, but if there is no such variable of this type, returns null after an error at `user`.
  VariableOp find(Operation *user, VariableRole role, StringRef owner, Type type) const;

private:
  llvm::StringMap<VariableOp> variables[getMaxEnumValForVariableRole() + 1];
};

} // namespace mlir::heddle
