#include "dialects/Heddle/VariableRoles.h"

#include "runtime/schema/RoleNames.h"

using namespace mlir;
using namespace mlir::heddle;

static_assert(::heddle::schema::kRoleNames.size() == getMaxEnumValForVariableRole() + 1);

std::string mlir::heddle::getStateName(StringRef state, StringRef weight) {
  return ("optimizer." + state + "." + weight).str();
}

bool mlir::heddle::isPartOfPacked(VariableRole role) { return role >= VariableRole::Scales; }

bool mlir::heddle::hasOwner(VariableRole role) { return role <= VariableRole::Rounded || isPartOfPacked(role); }

std::string mlir::heddle::getVariableName(VariableRole role, StringRef owner) {
  assert(hasOwner(role) == !owner.empty() && "a weight's variable is named after it");
  std::string_view name = ::heddle::schema::kRoleNames[static_cast<size_t>(role)];
  return (StringRef(name) + owner).str();
}

VariableKind mlir::heddle::getKind(VariableRole role) {
  switch (role) {
  case VariableRole::FirstMoment:
  case VariableRole::SecondMoment:
  case VariableRole::Average:
  case VariableRole::LossScale:
    return VariableKind::OptimizerState;
  case VariableRole::Gradient:
    return VariableKind::Gradient;
  case VariableRole::Rounded:
    return VariableKind::Cache;
  case VariableRole::Scales:
  case VariableRole::Offsets:
  case VariableRole::HighBits:
  case VariableRole::Table:
    return VariableKind::Weight;
  case VariableRole::Steps:
  case VariableRole::MicroSteps:
  case VariableRole::GoodSteps:
  case VariableRole::SkippedSteps:
  case VariableRole::Seed:
    return VariableKind::Counter;
  }
  llvm_unreachable("unknown role of a variable");
}

VariableRoles::VariableRoles(ModuleOp module) {
  for (auto variable : module.getOps<VariableOp>())
    if (std::optional<VariableRole> role = variable.getRole())
      variables[static_cast<size_t>(*role)].try_emplace(variable.getOwner().value_or(""), variable);
}

VariableOp VariableRoles::find(Operation *user, VariableRole role, StringRef owner, Type type) const {
  VariableOp variable = find(role, owner);
  if (variable && variable.getType() == type)
    return variable;
  InFlightDiagnostic error = user->emitOpError() << "needs a variable ";
  if (!owner.empty())
    error << "of @\"" << owner << "\" ";
  error << "as " << stringifyVariableRole(role) << ", of type " << type;
  if (variable)
    error << ", but @\"" << variable.getSymName() << "\" is " << variable.getType();
  else
    error << ", but the module has none; declare it";
  return nullptr;
}
