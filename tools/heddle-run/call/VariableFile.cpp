#include "tools/heddle-run/call/VariableFile.h"

#include "runtime/core/Safetensors.h"
#include "tools/heddle-run/model/HuggingFace.h"

#include <algorithm>
#include <set>

namespace heddle::run {
namespace {

std::set<uint32_t> usedVariables(const schema::Module &module, std::span<const std::string_view> entries) {
  std::set<uint32_t> used;
  for (const schema::Entry *entry : *module.entries()) {
    if (std::ranges::find(entries, view(entry->name())) == entries.end())
      continue;
    for (const schema::Launch *launch : *entry->launches())
      for (const schema::Binding *binding : *launch->bindings())
        if (binding->space() == schema::Space::Variable)
          used.insert(binding->index());
  }
  // Of what is stored together a caller knows the views.
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

Status loadVariables(Session &session, const std::filesystem::path &path) {
  if (isHuggingFaceFolder(path))
    return loadHuggingFaceWeights(path, session.description(), [&](std::string_view name, const TensorView &value) {
      return session.writeVariable(name, value);
    });
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
  for (uint32_t index : usedVariables(session.artifact().module(), entries)) {
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

} // namespace heddle::run
