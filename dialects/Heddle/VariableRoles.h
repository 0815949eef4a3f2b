// Variables that belong to others, found by what they are to them, and the counters and scalars of training.
#ifndef HEDDLE_DIALECTS_HEDDLE_VARIABLEROLES_H
#define HEDDLE_DIALECTS_HEDDLE_VARIABLEROLES_H

#include "dialects/Heddle/Heddle.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::heddle {

/// An attribute of a variable whose weight a GGUF file has packed: the name of the file's type, "Q4_K".
inline constexpr llvm::StringLiteral kStoredAttrName = "heddle.stored";

/// Whether a variable of this role is a part of a weight of packed numbers: scales, offsets or upper bits.
bool isPartOfPacked(VariableRole role);

/// Whether a variable of this role belongs to a weight.
bool hasOwner(VariableRole role);

/// What checkpoints call the variable of this role, of the weight `owner` where it belongs to one.
std::string getVariableName(VariableRole role, StringRef owner = {});

/// The kind that a variable of this role is of.
VariableKind getKind(VariableRole role);

/// The variables of a module by role.
class VariableRoles {
public:
  explicit VariableRoles(ModuleOp module);

  /// Null where there is no such variable. `owner` is empty for a role of the model's own.
  VariableOp find(VariableRole role, StringRef owner = {}) const {
    return variables[static_cast<size_t>(role)].lookup(owner);
  }
  /// The same; where there is none of this type, null after an error at `user`.
  VariableOp find(Operation *user, VariableRole role, StringRef owner, Type type) const;

private:
  llvm::StringMap<VariableOp> variables[getMaxEnumValForVariableRole() + 1];
};

} // namespace mlir::heddle

#endif
