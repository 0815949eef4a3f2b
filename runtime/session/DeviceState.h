// What a session holds on its device: variables, the arena, the sizes, compiled kernels.
#pragma once

#include "runtime/artifact/Artifact.h"
#include "runtime/session/Session.h"
#include "runtime/session/Shards.h"

namespace heddle {

class DeviceState {
public:
  DeviceState(hal::Device &device, const Artifact &artifact, const schema::Target &target, Collectives *collectives,
              hal::DeviceGroup *group);

  hal::Device &device;
  const Artifact &artifact;
  const schema::Module &module;
  const schema::Target &target;
  Collectives *collectives = nullptr; // with the other ranks; null where there are none
  hal::DeviceGroup *group = nullptr;  // with the other ranks' devices; null where numbers go through host memory
  Shards shards;

  // The buffer of a variable, that of its storage for a view, allocated (and zero) the first time. Of a sharded one it
  // has this rank's rows.
  Result<hal::Buffer *> variable(uint32_t index);
  const hal::Buffer *allocatedVariable(uint32_t index) const { return variables[storageOf(index)].get(); }
  // Where in that buffer it begins.
  uint64_t variableOffset(uint32_t index) const { return module.variables()->Get(index)->storage_offset(); }

  // Bytes of a variable from `offset` on, of a sharded one as far as this rank has them.
  Status write(uint32_t index, uint64_t offset, std::span<const std::byte> bytes);
  // All bytes of a variable. Of a sharded one all ranks must call this, in the same order.
  Status read(uint32_t index, std::span<std::byte> bytes);
  // All bytes of a sharded variable that is no view; the same.
  Result<std::vector<std::byte>> gather(uint32_t storage);

  // Whether the arena's blocks have at least these bytes.
  bool hasArena(std::span<const uint64_t> blocks) const;
  // Makes them so large. Blocks that are too small move: what was recorded with their addresses is void.
  Status growArena(std::span<const uint64_t> blocks);
  hal::Buffer *arenaBlock(size_t block) const { return arena[block].get(); }
  uint64_t arenaBytes() const; // all blocks together

  // One i32 for each of Module.sizes.
  Result<hal::Buffer *> sizes();

  // Compiles those of the kernels that are not there yet.
  Status loadKernels(std::span<const uint32_t> indices);
  const hal::Executable *kernel(uint32_t index) const { return kernels[index].get(); }

  uint32_t storageOf(uint32_t index) const {
    int32_t storage = module.variables()->Get(index)->storage();
    return storage < 0 ? index : static_cast<uint32_t>(storage);
  }

private:
  std::vector<std::unique_ptr<hal::Buffer>> variables;
  std::vector<std::unique_ptr<hal::Buffer>> arena; // by block
  std::unique_ptr<hal::Buffer> sizesBuffer;
  std::vector<std::unique_ptr<hal::Executable>> kernels;
};

// A tensor of this type and shape, read after all submissions so far and before those that follow. A narrow one is of
// bf16 in the buffer, and is widened.
Result<PendingTensor> readLater(hal::Device &device, const hal::Buffer &buffer, uint64_t offset, ElementType type,
                                Shape shape, NarrowType narrow = NarrowType::None);

// Why the device cannot run a kernel; empty where it can.
std::string misfit(const schema::Kernel &kernel, const hal::DeviceInfo &device);

} // namespace heddle
