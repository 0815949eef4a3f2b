#include "runtime/session/PublishedCheckpoint.h"

#include "runtime/artifact/Description.h"
#include "runtime/published/PublishedWeights.h"
#include "runtime/session/PackedWeights.h"

#include <algorithm>

namespace heddle {

bool isPublishedCheckpoint(const Session &session, const std::filesystem::path &path) {
  if (isPublishedModel(path))
    return true;
  Result<Description> model = Description::parse(session.description());
  if (!model.ok() || model->tensors.empty())
    return false;
  Result<SafetensorsReader> reader = SafetensorsReader::open(path, OtherTypes::PassOver);
  if (!reader.ok())
    return false;
  bool hasOurs = std::ranges::any_of(
      reader->entries(), [&](const SafetensorsEntry &entry) { return session.findVariable(entry.name) != nullptr; });
  return !hasOurs && std::ranges::any_of(model->tensors, [&](const auto &weight) {
    return std::ranges::any_of(weight.second.names, [&](const std::string &name) { return reader->find(name); });
  });
}

Status loadPublishedCheckpoint(Session &session, const std::filesystem::path &path, const VariableKinds &kinds) {
  HEDDLE_ASSIGN(Description model, Description::parse(session.description()));
  auto isChosen = [&](const VariableInfo &variable) {
    return !variable.isStorage && std::ranges::find(kinds, variable.kind) != kinds.end();
  };
  for (const VariableInfo &variable : session.variables()) {
    if (model.tensors.empty() || !isChosen(variable)) // of an artifact without published names the reader says so
      continue;
    if (!variable.isWeight())
      return makeError(ErrorKind::InvalidArgument, "'", path.string(),
                       "' is a published model, which has weights alone, and ", toString(variable.kind), " '",
                       variable.name, "' was asked for as well; load the weights only.");
    bool isScales = variable.role == VariableRole::Scales && model.tensors.contains(variable.owner);
    if (!isScales && !model.tensors.contains(variable.name))
      return makeError(ErrorKind::InvalidArgument, "'", path.string(), "' is a published model, which has no ",
                       toString(variable.kind), " '", variable.name,
                       "'. Load the frozen weights from it, and the others from a checkpoint.");
  }
  auto check = [&](std::string_view name, const TensorView &value) -> Status {
    const VariableInfo &weight = *session.findVariable(name);
    const VariableInfo *scales = weight.type == ElementType::I32 ? session.findScales(weight) : nullptr;
    if (!scales || !isChosen(weight))
      return Success();
    Result<PackedWeight> packed = packWeight(value, weight.shape, scales->shape);
    if (!packed.ok())
      return std::move(packed).error().within(str("'", path.string(), "': '", name, "'"));
    return Success();
  };
  auto write = [&](std::string_view name, const TensorView &value) -> Status {
    return isChosen(*session.findVariable(name)) ? session.writeVariable(name, value) : Success();
  };
  // Twice, as memory has no room for all weights at once.
  HEDDLE_CHECK(loadPublishedWeights(path, session.description(), check));
  return loadPublishedWeights(path, session.description(), write);
}

} // namespace heddle
