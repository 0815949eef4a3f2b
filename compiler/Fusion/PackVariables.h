// Stores variables one below the other in one larger variable.
#ifndef HEDDLE_COMPILER_FUSION_PACKVARIABLES_H
#define HEDDLE_COMPILER_FUSION_PACKVARIABLES_H

#include "dialects/Heddle/VariableRoles.h"

namespace mlir::heddle {

/// What the names of variables have in common, with those parts in which they differ joined by '+': "a.q.weight" and
/// "a.k.weight" become "a.q+k.weight".
std::string joinNames(ArrayRef<StringRef> names);

/// Declares a variable `name` that holds the rows of all `parts`, in their order, and makes them views of it. The parts
/// have the same rows and are no views yet.
VariableOp packVariables(StringRef name, ArrayRef<VariableOp> parts, SymbolTable &symbols);

/// The same of what belongs to the parts of `owner` in that role; it then belongs to `owner`.
VariableOp packVariables(VariableRole role, VariableOp owner, ArrayRef<VariableOp> parts, SymbolTable &symbols);

} // namespace mlir::heddle

#endif
