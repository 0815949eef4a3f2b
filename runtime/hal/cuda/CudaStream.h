// The stream of a CUDA device: submissions in order, a few in flight, and copies between host and device.
#pragma once

#include "runtime/hal/cuda/CudaContext.h"

#include <array>
#include <memory>
#include <span>
#include <vector>

namespace heddle::hal::cuda {

// Host memory that the device copies from and to without the host's help.
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

// All of it is called with the context current.
class Stream {
public:
  // What one submission needs of the host: the bytes it copies, untouched until it is done. With three of them the host
  // prepares a step while the device works on the one before.
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

  // A slot with room for `bytes` to copy; waits while all are in use. What goes onto the stream between begin() and
  // finish() uses it; finish() is called whatever happened in between.
  Result<Slot *> begin(uint64_t bytes);
  Status upload(Slot &slot, CUdeviceptr to, std::span<const std::byte> data);
  Status finish(Slot &slot);

  Status wait(); // until the stream is empty
  Status write(CUdeviceptr to, std::span<const std::byte> data);
  Status read(CUdeviceptr from, std::span<std::byte> into);
  Status fillZero(CUdeviceptr to, uint64_t bytes);

  // A read that is queued; its slot is the caller's until it is given back, and is none of those that submissions take.
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

// What a copy takes of a slot.
constexpr uint64_t stagingBytes(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

} // namespace heddle::hal::cuda
