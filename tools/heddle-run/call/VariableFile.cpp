#include "tools/heddle-run/call/VariableFile.h"

#include "runtime/artifact/Artifact.h"
#include "runtime/core/Safetensors.h"
#include "runtime/published/PublishedWeights.h"
#include "runtime/session/PublishedCheckpoint.h"
#include "tools/heddle-run/call/Compare.h"

#include <algorithm>
#include <cstdio>
#include <set>

namespace heddle::run {
namespace {

const schema::Target &targetOf(const Session &session) {
  const auto &targets = *session.artifact().module().targets();
  return **std::find_if(targets.begin(), targets.end(),
                        [&](const schema::Target *target) { return view(target->name()) == session.target(); });
}

std::set<uint32_t> usedVariables(const Session &session, std::span<const std::string_view> entries) {
  const schema::Module &module = session.artifact().module();
  std::set<uint32_t> used;
  for (const schema::Entry *entry : entriesOf(module, targetOf(session))) {
    if (std::ranges::find(entries, view(entry->name())) == entries.end())
      continue;
    for (const schema::Launch *launch : *entry->launches())
      for (const schema::Binding *binding : *launch->bindings())
        if (binding->space() == schema::Space::Variable)
          used.insert(binding->index());
  }
  // Callers see the views of a storage, not the storage.
  std::set<uint32_t> storages;
  for (flatbuffers::uoffset_t i = 0; i < module.variables()->size(); ++i)
    if (int32_t storage = module.variables()->Get(i)->storage(); storage >= 0 && used.contains(storage)) {
      used.insert(i);
      storages.insert(storage);
    }
  for (uint32_t storage : storages)
    used.erase(storage);
  return used;
}

} // namespace

std::vector<std::string> usedWeights(const Session &session, std::string_view entry) {
  std::vector<std::string> names;
  for (uint32_t index : usedVariables(session, {&entry, 1}))
    if (const VariableInfo &variable = session.variables()[index]; variable.isWeight())
      names.push_back(variable.name);
  return names;
}

Status loadVariables(Session &session, const std::filesystem::path &path, OtherMeaning others) {
  auto write = [&](std::string_view name, const TensorView &value) { return session.writeVariable(name, value); };
  if (isPublishedCheckpoint(session, path))
    return loadPublishedWeights(path, session.description(), weightSink(session.variables(), write), others);
  HEDDLE_ASSIGN(SafetensorsReader reader, SafetensorsReader::open(path));
  for (const SafetensorsEntry &entry : reader.entries()) {
    HEDDLE_ASSIGN(HostTensor tensor, reader.read(entry.name));
    if (Status status = session.writeVariable(entry.name, tensor); !status.ok())
      return std::move(status).error().within(path.string());
  }
  return Success();
}

Status saveVariables(Session &session, std::span<const std::string_view> entries, const std::filesystem::path &path) {
  std::vector<SafetensorsEntry> saved;
  for (uint32_t index : usedVariables(session, entries)) {
    const VariableInfo &variable = session.variables()[index];
    saved.push_back({variable.name, variable.type, variable.shape});
  }
  HEDDLE_ASSIGN(SafetensorsWriter writer, SafetensorsWriter::create(path, saved));
  for (const SafetensorsEntry &entry : saved) {
    HEDDLE_ASSIGN(HostTensor tensor, session.readVariable(entry.name));
    HEDDLE_CHECK(writer.write(tensor.bytes()));
  }
  return writer.commit();
}

std::string sortOf(const VariableInfo &variable) {
  return variable.role == VariableRole::None ? str("kind ", int(variable.kind)) : str("role ", int(variable.role));
}

Status expectVariables(Session &session, const std::filesystem::path &path, double tolerance) {
  HEDDLE_ASSIGN(SafetensorsReader reader, SafetensorsReader::open(path));
  WholeComparison comparison;
  for (const SafetensorsEntry &entry : reader.entries()) {
    HEDDLE_ASSIGN(HostTensor expected, reader.read(entry.name));
    HEDDLE_ASSIGN(HostTensor actual, session.readVariable(entry.name));
    if (Status status = comparison.add(entry.name, sortOf(*session.findVariable(entry.name)), actual, expected);
        !status.ok())
      return std::move(status).error().within(str("variables against '", path.string(), "'"));
  }
  WholeComparison::Verdict verdict = comparison.judge(tolerance);
  std::printf("%zu variables: largest relative error %g\n", verdict.tensors, verdict.worst);
  std::string wrong;
  for (const WholeComparison::Wrong &tensor : verdict.wrong)
    wrong += (wrong.empty() ? "" : ", ") + tensor.describe();
  if (!wrong.empty())
    return makeError(ErrorKind::InvalidArgument, "not as expected within --tolerance ", tolerance, ": variable ", wrong,
                     ".");
  return Success();
}

} // namespace heddle::run
