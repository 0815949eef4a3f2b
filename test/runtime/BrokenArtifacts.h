// Changes to the adder (ArtifactBuilder.h), and what the artifact verifier says of them.
#pragma once

#include "runtime/artifact/Artifact.h"
#include "test/runtime/ArtifactBuilder.h"

#include <functional>

namespace heddle::test {

// Returns "accepted", or the error message.
inline std::string verdict(std::vector<std::byte> bytes) {
  auto artifact = Artifact::fromBytes(std::move(bytes), "x.heddle");
  return artifact.ok() ? "accepted" : artifact.message();
}

// Changes the adder and packs it again without a seal, so that the rules alone must catch the change.
inline std::string verdictAfter(const std::function<void(schema::ModuleT &)> &change) {
  return verdict(changed(buildAdder(), change));
}

inline schema::EntryT &entry(schema::ModuleT &module, size_t index = 0) { return *module.entries[index]; }
inline schema::LaunchT &launch(schema::ModuleT &module) { return *entry(module).launches[0]; }
/// Adds a repetition of the first launch, along the first size.
inline schema::RepeatT &repeat(schema::ModuleT &module) {
  auto repeat = std::make_unique<schema::RepeatT>();
  repeat->count = 1;
  repeat->steps = static_cast<uint32_t>(module.sizes[0]->maximum);
  entry(module).repeats.push_back(std::move(repeat));
  return *entry(module).repeats.back();
}

/// Adds a collective after the first launch, in place.
inline schema::CollectiveT &collective(schema::ModuleT &module, uint32_t before = 1) {
  auto collective = std::make_unique<schema::CollectiveT>();
  collective->before = before;
  collective->from = collective->to = {schema::Binding(schema::Space::Arena, 0, 64, 32)};
  entry(module).collectives.push_back(std::move(collective));
  return *entry(module).collectives.back();
}
/// Adds a sharded variable of 64 numbers, and returns its index.
inline uint32_t sharded(schema::ModuleT &module) {
  auto variable = std::make_unique<schema::VariableT>();
  variable->name = "state";
  variable->kind = schema::VariableKind::OptimizerState;
  variable->type = std::make_unique<schema::TensorTypeT>();
  variable->type->dims = {schema::Dim(-1, 64)};
  variable->bytes = 256;
  variable->sharded = true;
  module.variables.push_back(std::move(variable));
  return static_cast<uint32_t>(module.variables.size() - 1);
}
/// Adds a moment of 64 numbers of 16 bits.
inline schema::VariableT &narrow(schema::ModuleT &module) {
  schema::VariableT &variable = *module.variables[sharded(module)];
  variable.name = "narrow";
  variable.role = schema::VariableRole::SecondMoment;
  variable.type->element = schema::ElementType::BF16;
  variable.bytes = 128;
  variable.sharded = false;
  return variable;
}
/// Adds a matrix of 64 numbers of 16 bits.
inline schema::VariableT &halfWeight(schema::ModuleT &module) {
  schema::VariableT &variable = narrow(module);
  variable.name = "half";
  variable.kind = schema::VariableKind::Frozen;
  variable.role = schema::VariableRole::None;
  variable.type->element = schema::ElementType::F16;
  variable.type->dims = {schema::Dim(-1, 2), schema::Dim(-1, 32)};
  return variable;
}
/// The same in f32.
inline schema::VariableT &floatWeight(schema::ModuleT &module) {
  schema::VariableT &variable = halfWeight(module);
  variable.type->element = schema::ElementType::F32;
  variable.bytes = 256;
  return variable;
}
/// Shares out the first launch, whose second axis has one workgroup, by the rows of a sharded variable.
inline schema::ShardT &shard(schema::ModuleT &module) {
  auto shard = std::make_unique<schema::ShardT>();
  shard->variable = sharded(module);
  shard->axis = 1;
  shard->tile = 64;
  shard->row_bytes.assign(entry(module).launches[0]->bindings.size(), 0);
  entry(module).launches[0]->shard = std::move(shard);
  return *entry(module).launches[0]->shard;
}
/// Adds a collective that gathers data of the size of a sharded variable.
inline schema::CollectiveT &gather(schema::ModuleT &module) {
  schema::CollectiveT &gather = collective(module);
  gather.kind = schema::CollectiveKind::AllGather;
  gather.from = gather.to = {schema::Binding(schema::Space::Arena, 0, 256, 256)};
  gather.like = {sharded(module)};
  return gather;
}
inline schema::Binding arena(uint64_t offset, uint64_t bytes) { return {schema::Space::Arena, 0, offset, bytes}; }
/// Puts the first entry's arena into three blocks, with a value of the first launch in each.
inline schema::EntryT &inBlocks(schema::ModuleT &module) {
  schema::EntryT &blocked = entry(module);
  blocked.blocks = {4096, 4096, 7680};
  blocked.inputs[1]->arena_offset = 4096;
  blocked.outputs[0]->arena_offset = 8192;
  launch(module).bindings[1] = arena(4096, 4000);
  launch(module).bindings[2] = arena(8192, 4000);
  return blocked;
}

/// Returns a kernel of an unknown target. Its code cannot be read, so only its bindings are checked.
inline schema::KernelT &unreadable(schema::ModuleT &module) {
  module.targets[0]->name = "other:target";
  return *module.targets[0]->kernels[0];
}
// Turns the second target into a CUDA target.
inline schema::KernelT &cuda(schema::ModuleT &module) {
  module.targets[1]->name = "cuda:sm_80";
  schema::KernelT &kernel = *module.targets[1]->kernels[0];
  kernel.code = testPtx("add");
  kernel.lanes = 64;
  kernel.subgroup = 32;
  return kernel;
}
// Turns the second target into one for the processor.
inline schema::KernelT &cpu(schema::ModuleT &module) {
  module.targets[1]->name = "cpu:x86-64-v3";
  schema::KernelT &kernel = *module.targets[1]->kernels[0];
  kernel.code = cpuImage(addOnCpu);
  kernel.lanes = 1;
  kernel.subgroup = 0;
  return kernel;
}
// Gives the second target its own entries.
inline schema::TargetT &own(schema::ModuleT &module) {
  std::vector<std::byte> bytes = buildAdder();
  std::unique_ptr<schema::ModuleT> copy(schema::GetModule(bytes.data())->UnPack());
  module.targets[1]->entries = std::move(copy->entries);
  return *module.targets[1];
}
inline schema::VocabularyFileT &addVocabulary(schema::ModuleT &module, const std::string &name) {
  module.vocabulary.push_back(std::make_unique<schema::VocabularyFileT>());
  module.vocabulary.back()->name = name;
  module.vocabulary.back()->bytes = {1, 2, 3};
  return *module.vocabulary.back();
}
// Packs the first target's code.
inline schema::TargetT &packed(schema::ModuleT &module) {
  packCode(*module.targets[0]);
  return *module.targets[0];
}
inline std::vector<uint32_t> &code(schema::ModuleT &module) { return module.targets[0]->kernels[0]->code; }

} // namespace heddle::test
