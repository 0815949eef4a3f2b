#include "tools/heddle-run/bench/FillVariables.h"

#include "tools/heddle-run/call/RandomInputs.h"

namespace heddle::run {

Status fillVariables(Session &session, std::span<const std::string> entries, uint64_t seed) {
  std::vector<std::string_view> names(entries.begin(), entries.end());
  bool hasInit = session.findEntry("init") != nullptr;
  if (hasInit)
    names.push_back("init");
  HEDDLE_CHECK(session.prepare(names));
  if (hasInit)
    HEDDLE_CHECK(session.init(seed));
  for (const VariableInfo &variable : session.variables()) {
    if (variable.type != ElementType::F32 ||
        (hasInit && variable.kind != VariableKind::Cache && variable.kind != VariableKind::Frozen))
      continue;
    PortInfo port{variable.name, variable.type, {}, 0};
    for (int64_t extent : variable.shape)
      port.dims.push_back({"", extent});
    HEDDLE_ASSIGN(auto values, randomInputs({"", {port}, {}}, {.seed = seed}));
    HEDDLE_CHECK(session.writeVariable(variable.name, values.front().tensor));
  }
  return Success();
}

} // namespace heddle::run
