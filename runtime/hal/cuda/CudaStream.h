// The stream of a CUDA device. It runs submissions in order, with a few in flight, and copies between host and device.
#pragma once

#include "runtime/hal/cuda/CudaContext.h"

#include <array>
#include <memory>
#include <span>
#include <vector>

namespace heddle::hal::cuda {

// Pinned host memory, which the device copies from and to without the host's help.
class PinnedMemory {
public:
  PinnedMemory() = default;
  PinnedMemory(PinnedMemory &&other) noexcept { *this = std::move(other); }
  PinnedMemory &operator=(PinnedMemory &&other) noexcept;
  ~PinnedMemory();
  static Result<PinnedMemory> allocate(const Context &context, uint64_t bytes);

  std::byte *data() const { return pointer; }
  uint64_t bytes() const { return size; }

private:
  const Context *context = nullptr;
  std::byte *pointer = nullptr;
  uint64_t size = 0;
};

// All functions require that the context is current.
class Stream {
public:
  // The host memory of a submission: the bytes that it copies, unchanged until it is done. With three slots the host
  // can prepare a step while the device runs the previous one.
  struct Slot {
    PinnedMemory staging;
    uint64_t used = 0;
    CUevent done = nullptr;
  };

  static Result<std::unique_ptr<Stream>> create(const Context &context);
  Stream(const Stream &) = delete;
  Stream &operator=(const Stream &) = delete;
  ~Stream();

  CUstream handle() const { return stream; }

  // Returns a slot with room for `bytes` bytes; waits until one is free. Work that is queued between begin() and
  // finish() may use the slot. The caller must call finish() even if an error happened in between.
  Result<Slot *> begin(uint64_t bytes);
  Status upload(Slot &slot, CUdeviceptr to, std::span<const std::byte> data);
  Status finish(Slot &slot);

  Status wait(); // until the stream is empty
  Status write(CUdeviceptr to, std::span<const std::byte> data);
  Status read(CUdeviceptr from, std::span<std::byte> into);
  Status fillZero(CUdeviceptr to, uint64_t bytes);

  // Queues a read. The caller owns its slot, which submissions do not use, until giveBack().
  Result<std::unique_ptr<Slot>> readLater(CUdeviceptr from, uint64_t bytes);
  Result<std::span<const std::byte>> bytesOf(const Slot &slot) const; // waits for the read
  void giveBack(std::unique_ptr<Slot> slot) { spare.push_back(std::move(slot)); }

private:
  explicit Stream(const Context &context) : context(context) {}

  const Context &context;
  CUstream stream = nullptr;
  std::array<Slot, 3> slots;
  std::vector<std::unique_ptr<Slot>> spare; // for reads
  size_t next = 0;
};

// The bytes of a slot that a copy occupies.
constexpr uint64_t stagingBytes(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

} // namespace heddle::hal::cuda
