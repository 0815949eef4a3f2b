// A session's objects on its device: variables, the arena, the run-time sizes, compiled kernels.
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
  Collectives *collectives = nullptr; // null for one rank
  hal::DeviceGroup *group = nullptr;  // the devices of all ranks; null if ranks exchange values through host memory
  Shards shards;

  // The buffer of a variable, or of its storage if the variable is a view. Allocated and zeroed on first use. The
  // buffer of a sharded variable has only this rank's rows.
  Result<hal::Buffer *> variable(uint32_t index);
  const hal::Buffer *allocatedVariable(uint32_t index) const { return variables[storageOf(index)].get(); }
  // The variable's offset in that buffer, in bytes.
  uint64_t variableOffset(uint32_t index) const { return module.variables()->Get(index)->storage_offset(); }

  // Writes bytes of a variable from `offset` on. Only this rank's rows of a sharded variable are written.
  Status write(uint32_t index, uint64_t offset, std::span<const std::byte> bytes);
  // Reads all bytes of a variable. All ranks must read a sharded variable together, in the same order.
  Status read(uint32_t index, std::span<std::byte> bytes);
  // Reads all bytes of a sharded variable that is not a view. All ranks must call this, in the same order.
  Result<std::vector<std::byte>> gather(uint32_t storage);

  // Returns true if each block of the arena has at least this many bytes.
  bool hasArena(std::span<const uint64_t> blocks) const;
  // Grows the arena's blocks to these sizes. Grown blocks move, so recordings that hold their addresses become invalid.
  Status growArena(std::span<const uint64_t> blocks);
  hal::Buffer *arenaBlock(size_t block) const { return arena[block].get(); }
  uint64_t arenaBytes() const; // all blocks together

  // One i32 for each of Module.sizes.
  Result<hal::Buffer *> sizes();

  // Compiles the kernels that are not compiled yet.
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

// Reads a tensor of this type and shape after all submissions so far and before later ones. A narrow tensor has 16-bit
// elements in the buffer and is widened to f32.
Result<PendingTensor> readLater(hal::Device &device, const hal::Buffer &buffer, uint64_t offset, ElementType type,
                                Shape shape, NarrowType narrow = NarrowType::None);

// Rounds values to the 16-bit type of a narrow variable. Fails with Malformed if they are a weight's, and f16 cannot hold
// one of them.
Result<std::vector<std::byte>> narrowed(const VariableInfo &variable, std::span<const float> values);

// Says why the device cannot run a kernel; empty if it can.
std::string misfit(const schema::Kernel &kernel, const hal::DeviceInfo &device);

} // namespace heddle
