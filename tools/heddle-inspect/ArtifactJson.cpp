#include "tools/heddle-inspect/ArtifactText.h"
#include "tools/heddle-inspect/Show.h"

namespace heddle {

using Json = nlohmann::ordered_json;

static Json portsJson(const schema::Module &module,
                      const flatbuffers::Vector<flatbuffers::Offset<schema::Port>> &ports) {
  Json list = Json::array();
  for (const schema::Port *port : ports) {
    Json shape = Json::array();
    for (const schema::Dim *dim : *port->type()->dims())
      shape.push_back(dim->size() < 0 ? Json(dim->extent()) : Json(view(module.sizes()->Get(dim->size())->name())));
    Json item = {{"name", view(port->name())},
                 {"type", toString(elementType(*port->type()))},
                 {"shape", shape},
                 {"arena_offset", port->arena_offset()},
                 {"bytes", port->bytes()}};
    if (port->value_limit())
      item["value_limit"] = port->value_limit();
    if (port->role())
      item["role"] = view(port->role());
    list.push_back(std::move(item));
  }
  return list;
}

static Json collectivesJson(const schema::Entry &entry) {
  Json list = Json::array();
  for (const schema::Collective *collective : *entry.collectives()) {
    CollectiveSize size = sizeOf(*collective);
    list.push_back({{"kind", kindName(collective->kind())},
                    {"before_launch", collective->before()},
                    {"tensors", size.tensors},
                    {"bytes", size.bytes},
                    {"location", view(collective->location())}});
  }
  return list;
}

Json toJson(const Artifact &artifact) {
  const schema::Module &module = artifact.module();
  Json root = {{"file", artifact.origin()},
               {"bytes", artifact.bytes()},
               {"schema_version", module.schema_version()},
               {"producer", view(module.producer())},
               {"description", descriptionOf(artifact)}};
  root["sizes"] = Json::array();
  for (const schema::Size *size : *module.sizes()) {
    Json item = {{"name", view(size->name())}, {"maximum", size->maximum()}};
    if (size->max_of_input())
      item["max_of_input"] = view(size->max_of_input());
    root["sizes"].push_back(std::move(item));
  }
  root["targets"] = Json::array();
  for (const schema::Target *target : *module.targets()) {
    std::map<uint32_t, size_t> launches = launchesPerKernel(module, *target);
    Json kernels = Json::array();
    for (flatbuffers::uoffset_t i = 0; i < target->kernels()->size(); ++i) {
      const schema::Kernel &kernel = *target->kernels()->Get(i);
      Json item = {{"name", view(kernel.name())},
                   {"lanes", kernel.lanes()},
                   {"code_bytes", codeOf(artifact, *target, i).size()},
                   {"launches", launches[i]}};
      if (!formatOf(*target).binaryName.empty())
        item.update({{"binary_bytes", binaryBytes(artifact, *target, i)},
                     {"shared_bytes", kernel.shared_bytes()},
                     {"persistent", kernel.persistent()},
                     {"registers", kernel.registers()},
                     {"spill_bytes", kernel.spill_bytes()}});
      kernels.push_back(std::move(item));
    }
    root["targets"].push_back({{"name", view(target->name())},
                               {"arena_bytes", target->arena_bytes()},
                               {"arena_blocks", arenaBlocks(module, *target)},
                               {"code_bytes", codeBytes(artifact, *target)},
                               {"packed_bytes", packedBytes(artifact, *target)},
                               {"kernels", std::move(kernels)}});
  }
  root["entries"] = Json::array();
  for (const schema::Entry *entry : *module.entries()) {
    // Launches with the same kernel and cost are counted together.
    std::map<std::pair<uint32_t, int32_t>, size_t> counts;
    for (const schema::Launch *launch : *entry->launches())
      ++counts[{launch->kernel(), launch->cost()}];
    Json costs = Json::array();
    for (const auto &[key, count] : counts) {
      Json item = {{"kernel", view(module.targets()->Get(0)->kernels()->Get(key.first)->name())}, {"launches", count}};
      if (key.second >= 0) {
        const schema::Cost &cost = *module.costs()->Get(static_cast<flatbuffers::uoffset_t>(key.second));
        item.update({{"flops", formulaText(module, cost.flops())},
                     {"model_flops", formulaText(module, cost.model_flops())},
                     {"bytes", formulaText(module, cost.bytes())}});
      }
      costs.push_back(std::move(item));
    }
    Json locations = Json::array(); // one per launch
    for (const schema::Launch *launch : *entry->launches())
      locations.push_back(view(launch->location()));
    root["entries"].push_back({{"name", view(entry->name())},
                               {"inputs", portsJson(module, *entry->inputs())},
                               {"outputs", portsJson(module, *entry->outputs())},
                               {"segments", segmentsOf(module, *entry)},
                               {"launches", entry->launches()->size()},
                               {"locations", std::move(locations)},
                               {"costs", std::move(costs)}});
    if (entry->collectives())
      root["entries"].back()["collectives"] = collectivesJson(*entry);
  }
  root["vocabulary"] = Json::array();
  if (module.vocabulary())
    for (const schema::VocabularyFile *file : *module.vocabulary())
      root["vocabulary"].push_back({{"name", view(file->name())}, {"bytes", file->bytes()->size()}});
  root["variables"] = Json::array();
  for (const schema::Variable *variable : knownVariables(module)) {
    root["variables"].push_back({{"name", view(variable->name())},
                                 {"kind", kindName(variable->kind())},
                                 {"type", toString(variable->type()->element())},
                                 {"shape", maximumShape(module, *variable->type())},
                                 {"bytes", variable->bytes()},
                                 {"storage", storageName(module, *variable)}});
    if (variable->role() != schema::VariableRole::None)
      root["variables"].back()["role"] = roleName(variable->role());
    if (variable->owner() >= 0)
      root["variables"].back()["owner"] = view(module.variables()->Get(variable->owner())->name());
    if (isSharded(module, *variable))
      root["variables"].back()["sharded"] = true;
    if (variable->value_limit())
      root["variables"].back()["value_limit"] = variable->value_limit();
  }
  return root;
}

} // namespace heddle
