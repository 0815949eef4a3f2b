// Stacks the rows of several variables in one larger variable.
#pragma once

#include "dialects/Heddle/VariableRoles.h"

namespace mlir::heddle {

/// Joins the names of variables: common parts appear once, and parts that differ are joined by '+'. "a.q.weight" and
/// "a.k.weight" become "a.q+k.weight".
std::string joinNames(ArrayRef<StringRef> names);

/// Declares a variable `name` that holds the rows of all `parts`, in their order, and makes the parts views of it. The
/// parts have rows of the same type, and no part is a view yet.
VariableOp packVariables(StringRef name, ArrayRef<VariableOp> parts, SymbolTable &symbols);

/// The same for the variables (moments, for example) that have the role `role` for `parts`, which are the parts of
/// `owner`. The new variable has that role for `owner`.
VariableOp packVariables(VariableRole role, VariableOp owner, ArrayRef<VariableOp> parts, SymbolTable &symbols);

} // namespace mlir::heddle
