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

WeightSink weightSink(Variables all, std::function<Status(std::string_view, const TensorView &)> write) {
  auto find = [all](std::string_view name) { return std::ranges::find(all, name, &VariableInfo::name); };
  WeightSink sink{.write = write};
  sink.keeps = [all, find](std::string_view name, const PackedFormat &format, const Shape &whole) {
    auto weight = find(name);
    return weight != all.end() && keepsAs(all, *weight, format, whole);
  };
  sink.writePacked = [all, find, write](std::string_view name, PackedTensor value) -> Status {
    HEDDLE_ASSIGN(PackedParts parts, packParts(all, *find(name), std::move(value)));
    for (const auto &[part, tensor] : parts)
      HEDDLE_CHECK(write(part, tensor));
    return Success();
  };
  return sink;
}

// The weight that a part of a packed weight belongs to; other variables own themselves.
static const VariableInfo &ownerOf(const Session &session, const VariableInfo &variable) {
  const VariableInfo *owner = &variable;
  while (isPartOfPacked(owner->role))
    owner = session.findVariable(owner->owner);
  return *owner;
}

Status loadPublishedCheckpoint(Session &session, const std::filesystem::path &path, const VariableKinds &kinds) {
  HEDDLE_ASSIGN(Description model, Description::parse(session.description()));
  auto isChosen = [&](const VariableInfo &variable) {
    return !variable.isStorage && std::ranges::find(kinds, variable.kind) != kinds.end();
  };
  for (const VariableInfo &variable : session.variables()) {
    if (model.tensors.empty() || !isChosen(variable)) // without published names, the reader reports the error
      continue;
    if (!variable.isWeight())
      return makeError(ErrorKind::InvalidArgument, "'", path.string(),
                       "' is a published model, which has weights alone, and ", toString(variable.kind), " '",
                       variable.name, "' was asked for as well; load the weights only.");
    if (!model.tensors.contains(ownerOf(session, variable).name))
      return makeError(ErrorKind::InvalidArgument, "'", path.string(), "' is a published model, which has no ",
                       toString(variable.kind), " '", variable.name,
                       "'. Load the frozen weights from it, and the others from a checkpoint.");
  }
  Variables all = session.variables();
  auto write = [&](std::string_view name, const TensorView &value) { return session.writeVariable(name, value); };
  WeightSink into = weightSink(all, write), check = into, chosen = into;
  check.write = [&](std::string_view name, const TensorView &value) -> Status {
    const VariableInfo &weight = *session.findVariable(name);
    if (!isPackedWeight(all, weight) || !isChosen(weight))
      return Success();
    Result<PackedParts> packed = packWeight(all, weight, value);
    if (!packed.ok())
      return std::move(packed).error().within(str("'", path.string(), "': '", name, "'"));
    return Success();
  };
  check.writePacked = [](std::string_view, PackedTensor) { return Success(); };
  chosen.write = [&](std::string_view name, const TensorView &value) -> Status {
    return isChosen(*session.findVariable(name)) ? into.write(name, value) : Success();
  };
  chosen.writePacked = [&](std::string_view name, PackedTensor value) -> Status {
    return isChosen(*session.findVariable(name)) ? into.writePacked(name, std::move(value)) : Success();
  };
  // Reads the file twice, first only to check: host memory may not hold all weights at once.
  HEDDLE_CHECK(loadPublishedWeights(path, session.description(), check));
  return loadPublishedWeights(path, session.description(), chosen);
}

} // namespace heddle
