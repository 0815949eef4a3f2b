#include "runtime/session/DeviceState.h"

#include "runtime/core/Narrow.h"

#include <algorithm>
#include <cmath>

namespace heddle {

DeviceState::DeviceState(hal::Device &device, const Artifact &artifact, const schema::Target &target,
                         Collectives *collectives, hal::DeviceGroup *group)
    : device(device), artifact(artifact), module(artifact.module()), target(target), collectives(collectives),
      group(group), shards(artifact.module(), collectives), variables(module.variables()->size()),
      kernels(target.kernels()->size()) {}

Result<hal::Buffer *> DeviceState::variable(uint32_t index) {
  std::unique_ptr<hal::Buffer> &buffer = variables[storageOf(index)];
  if (!buffer) {
    const schema::Variable &variable = *module.variables()->Get(storageOf(index));
    uint64_t bytes = shards.has(index) ? shards.ownRange(storageOf(index), variable.bytes()).bytes : variable.bytes();
    HEDDLE_ASSIGN(buffer, device.allocate(str("variable '", view(variable.name()), "'"), bytes));
  }
  return buffer.get();
}

Status DeviceState::write(uint32_t index, uint64_t offset, std::span<const std::byte> bytes) {
  HEDDLE_ASSIGN(hal::Buffer * buffer, variable(index));
  offset += variableOffset(index);
  if (!shards.has(index))
    return device.write(*buffer, offset, bytes);
  Shards::Range own = shards.ownRange(storageOf(index), module.variables()->Get(storageOf(index))->bytes());
  uint64_t begin = std::max(offset, own.offset), end = std::min(offset + bytes.size(), own.offset + own.bytes);
  return begin >= end ? Success()
                      : device.write(*buffer, begin - own.offset, bytes.subspan(begin - offset, end - begin));
}

Status DeviceState::read(uint32_t index, std::span<std::byte> bytes) {
  HEDDLE_ASSIGN(hal::Buffer * buffer, variable(index));
  if (!shards.has(index))
    return device.read(*buffer, variableOffset(index), bytes);
  HEDDLE_ASSIGN(std::vector<std::byte> whole, gather(storageOf(index)));
  std::ranges::copy(std::span(whole).subspan(variableOffset(index), bytes.size()), bytes.begin());
  return Success();
}

Result<std::vector<std::byte>> DeviceState::gather(uint32_t storage) {
  HEDDLE_ASSIGN(hal::Buffer * buffer, variable(storage));
  std::vector<std::byte> own(buffer->bytes()), parts(own.size() * shards.ranks()),
      whole(module.variables()->Get(storage)->bytes());
  HEDDLE_CHECK(device.read(*buffer, 0, own));
  HEDDLE_CHECK(
      collectives->gather(own, parts, str("the gathering of '", view(module.variables()->Get(storage)->name()), "'")));
  shards.assemble(storage, parts, own.size(), whole);
  return whole;
}

bool DeviceState::hasArena(std::span<const uint64_t> blocks) const {
  for (size_t i = 0; i < blocks.size(); ++i)
    if (i >= arena.size() || !arena[i] || arena[i]->bytes() < blocks[i])
      return false;
  return true;
}

Status DeviceState::growArena(std::span<const uint64_t> blocks) {
  arena.resize(std::max(arena.size(), blocks.size()));
  std::vector<size_t> small;
  for (size_t i = 0; i < blocks.size(); ++i)
    if (!arena[i] || arena[i]->bytes() < blocks[i]) {
      small.push_back(i);
      arena[i].reset(); // free all before allocating: the old and new blocks together may not fit
    }
  uint64_t most = device.info().maxAllocationBytes;
  for (size_t i : small) {
    std::string name = str(blocks.size() > 1 ? str("block ", i + 1, " of ", blocks.size(), " of ") : "",
                           "the arena (inputs, outputs and intermediate values)");
    // An emulated GPU can use all of the host's memory, whatever its driver reports.
    bool hasMore = most < device.info().memoryBytes || device.info().emulated;
    if (blocks[i] > most && hasMore)
      return makeError(ErrorKind::OutOfMemory, "'", device.info().name, "' cannot hold ", name, ": it has ",
                       describeBytes(blocks[i]), ", and the device allocates at most ", describeBytes(most),
                       " at once. Compile again with --max-allocation=", most >> 20,
                       "MiB, which cuts the arena into smaller blocks.");
    HEDDLE_ASSIGN(arena[i], device.allocate(name, blocks[i]));
  }
  return Success();
}

uint64_t DeviceState::arenaBytes() const {
  uint64_t bytes = 0;
  for (const std::unique_ptr<hal::Buffer> &block : arena)
    bytes += block ? block->bytes() : 0;
  return bytes;
}

Result<hal::Buffer *> DeviceState::sizes() {
  if (!sizesBuffer) {
    HEDDLE_ASSIGN(sizesBuffer, device.allocate("the run-time sizes", module.sizes()->size() * sizeof(int32_t)));
  }
  return sizesBuffer.get();
}

Result<PendingTensor> readLater(hal::Device &device, const hal::Buffer &buffer, uint64_t offset, ElementType type,
                                Shape shape, NarrowType narrow) {
  HEDDLE_ASSIGN(HostTensor empty, HostTensor::uninitialized(type, shape));
  HEDDLE_ASSIGN(auto readback,
                device.readLater(buffer, offset, empty.bytes().size() / (narrow == NarrowType::None ? 1 : 2)));
  auto tensor = std::make_shared<HostTensor>(std::move(empty));
  return PendingTensor(
      [tensor, narrow, readback = std::shared_ptr<hal::Readback>(std::move(readback))]() -> Result<HostTensor> {
        HEDDLE_ASSIGN(std::span<const std::byte> bytes, readback->bytes());
        if (narrow != NarrowType::None)
          widenAll(narrow, bytes, tensor->values<float>());
        else
          std::ranges::copy(bytes, tensor->bytes().begin());
        return std::move(*tensor);
      });
}

Result<std::vector<std::byte>> narrowed(const VariableInfo &variable, std::span<const float> values) {
  constexpr float largest = 65504;
  auto isBeyond = [](float value) { return std::isfinite(value) && std::fabs(value) > largest; };
  if (variable.narrow == NarrowType::F16 && variable.isWeight())
    if (auto found = std::ranges::find_if(values, isBeyond); found != values.end())
      return makeError(ErrorKind::Malformed, "'", variable.name, "' has ", *found,
                       ", which 16-bit floats (f16) cannot hold. Compile the model with --weights=bf16 or f32.");
  return narrowAll(variable.narrow, values);
}

std::string misfit(const schema::Kernel &kernel, const hal::DeviceInfo &device) {
  if (kernel.lanes() > device.maxLanes)
    return str("kernel '", view(kernel.name()), "' has workgroups of ", kernel.lanes(), " lanes, and '", device.name,
               "' runs ", device.maxLanes, " at most");
  if (kernel.subgroup() > device.maxSubgroupSize)
    return str("kernel '", view(kernel.name()), "' is written for subgroups of ", kernel.subgroup(), " lanes, and '",
               device.name, "' has ", device.maxSubgroupSize, " at most; --lanes=", device.maxSubgroupSize,
               " of heddle-compile makes kernels for these");
  if (kernel.uses_float16() && !device.float16)
    return str("kernel '", view(kernel.name()), "' has floats of 16 bits, rounded to nearest, which '", device.name,
               "' lacks; compile with --precision=f32, and with --weights=f32 if the model is a GGUF file");
  if (kernel.uses_int16() && !device.int16)
    return str("kernel '", view(kernel.name()), "' has whole numbers of 16 bits, which '", device.name,
               "' lacks; compile with --moments=f32");
  if (uint32_t side = kernel.cooperative_side();
      side &&
      std::find(device.cooperativeSides.begin(), device.cooperativeSides.end(), side) == device.cooperativeSides.end())
    return str("kernel '", view(kernel.name()), "' multiplies cooperative matrices of ", side, " x ", side, ", and '",
               device.name, "' has ", device.cooperativeSides.empty() ? "no such matrices" : "other sizes",
               "; compile with --precision=f32, or for vulkan:portable, which takes f16 without such matrices");
  if (kernel.shared_bytes() > device.maxSharedBytes)
    return str("kernel '", view(kernel.name()), "' needs ", describeBytes(kernel.shared_bytes()),
               " of shared memory, and '", device.name, "' gives a workgroup ", describeBytes(device.maxSharedBytes),
               " at most");
  return "";
}

Status DeviceState::loadKernels(std::span<const uint32_t> indices) {
  std::vector<uint32_t> missing;
  std::vector<hal::KernelSource> sources;
  std::vector<bool> listed(kernels.size());
  for (uint32_t index : indices) {
    if (kernels[index] || listed[index])
      continue;
    listed[index] = true;
    const schema::Kernel &kernel = *target.kernels()->Get(index);
    if (std::string problem = misfit(kernel, device.info()); !problem.empty())
      return makeError(ErrorKind::Unsupported, problem, ". Compile for another target than '", view(target.name()),
                       "'.");
    missing.push_back(index);
    hal::KernelSource &source = sources.emplace_back();
    source.name = view(kernel.name());
    if (kernel.entry())
      source.entry = view(kernel.entry());
    const KernelCode &code = artifact.code(target, index);
    source.code = code.words;
    source.binary = code.binary;
    source.lanes = kernel.lanes();
    source.subgroup = kernel.subgroup();
    source.exactSubgroup = kernel.cooperative_side() != 0;
    source.sharedBytes = kernel.shared_bytes();
    if (const auto *texels = kernel.texels())
      source.texels = {texels->data(), texels->size()};
    source.texelFloats = kernel.texel_floats();
  }
  HEDDLE_ASSIGN(auto loaded, device.load(sources));
  for (size_t i = 0; i < missing.size(); ++i)
    kernels[missing[i]] = std::move(loaded[i]);
  return Success();
}

} // namespace heddle
