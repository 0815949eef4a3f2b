// Maps variable names to roles, for checkpoints and for artifacts that predate roles.
#include "runtime/schema/RoleNames.h"
#include "runtime/schema/artifact_generated.h"
#include "runtime/session/Session.h"

namespace heddle {

static_assert(static_cast<int>(VariableRole::Scales) == static_cast<int>(schema::VariableRole::Scales) &&
                  static_cast<int>(VariableRole::Rounded) == static_cast<int>(schema::VariableRole::Rounded),
              "roles have the artifact's numbers");

std::string variableName(VariableRole role, std::string_view owner) {
  return std::string(schema::kRoleNames[static_cast<size_t>(role)]).append(owner);
}

VariableRole roleOfName(std::string_view name) {
  for (size_t role = 0; role < schema::kRoleNames.size(); ++role) {
    std::string_view known = schema::kRoleNames[role];
    if (!known.empty() && (known.back() == '.' ? name.starts_with(known) : name == known))
      return static_cast<VariableRole>(role);
  }
  return VariableRole::None;
}

} // namespace heddle
