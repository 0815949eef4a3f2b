// The processor as a device.
#pragma once

#include "runtime/hal/Device.h"
#include "runtime/hal/cpu/LaunchRun.h"

#include <memory>
#include <vector>

namespace heddle::hal::cpu {

// Pages of memory, initially zero, which are unmapped when the object is destroyed.
class Mapping {
public:
  // Returns an empty mapping if there is too little memory. `alignment` is a multiple of the page size, in bytes; 0:
  // the page size.
  static Mapping allocate(uint64_t bytes, uint64_t alignment = 0);
  // The same, in huge pages if the system has them. The mapping is a multiple of 2 MiB long.
  static Mapping allocateHuge(uint64_t bytes);
  Mapping() = default;
  Mapping(Mapping &&other) noexcept { *this = std::move(other); }
  Mapping &operator=(Mapping &&other) noexcept;
  ~Mapping();

  std::byte *data() const { return begin; }
  uint64_t bytes() const { return size; }

private:
  std::byte *begin = nullptr;
  uint64_t size = 0;
};

// A mapping in huge pages that buffers of medium size share. Most weights and caches of a small model are smaller than a
// huge page. A buffer gets bytes that no other had before, so they are zero.
struct Slab {
  std::shared_ptr<Mapping> memory; // its buffers have it, too
  uint64_t used = 0;

  // Returns null if there is too little memory. The bytes belong to `memory`, and are aligned to 64.
  std::byte *take(uint64_t bytes);
};

// Host memory, aligned to 64 bytes. Buffers from 64 KiB on are in huge pages if the system has them.
class CpuBuffer : public Buffer {
public:
  static Result<std::unique_ptr<Buffer>> allocate(const DeviceInfo &device, Slab &slab, uint64_t inUse,
                                                  std::string_view name, uint64_t bytes);
  ~CpuBuffer() override;
  std::byte *data() const { return begin; }

private:
  CpuBuffer() = default;
  std::byte *begin = nullptr;
  std::shared_ptr<Mapping> mapping; // holds the bytes; null for a small buffer
};

class CpuKernel : public Executable {
public:
  CpuKernel(std::shared_ptr<const Mapping> memory, ImageEntry entry, uint32_t scratchBytes)
      : entry(entry), scratchBytes(scratchBytes), memory(std::move(memory)) {}

  const ImageEntry entry;
  const uint32_t scratchBytes; // per thread

private:
  std::shared_ptr<const Mapping> memory; // holds the image, and the others that were loaded with it
};

// A device's scratch memory for all threads. It grows as kernels need more.
struct Scratch {
  Mapping memory;
  uint64_t stride = 0; // bytes per thread
  unsigned threads = 0;

  // Makes the memory large enough. Fails with OutOfMemory.
  Status reserve(unsigned threads, uint64_t bytes);
};

// A program has a task for each launch with workgroups. Calls of the same entry mostly use the same launches: those for
// one row, for a few rows or for many. So tasks are made when another launch has workgroups than in the call before.
class CpuProgram : public Program {
public:
  CpuProgram(const DeviceInfo &device, Scratch &scratch) : device(device), scratch(scratch) {}

  Status record(std::span<const Launch> launches, uint32_t counts, bool timed);
  Status submit(std::span<const Upload> uploads, std::span<const WorkgroupCount> counts) override;
  Result<std::vector<LaunchTime>> launchTimes() override;

private:
  struct Recorded {
    ImageEntry entry = nullptr;
    size_t address = 0;              // index of its first argument in `addresses`
    uint32_t count = 0;              // index into the submission's workgroup counts
    std::span<const uint32_t> after; // the launches that it must follow
    bool isEmpty = true;             // no workgroups in the last submission
  };

  void recordOrder(std::span<const Launch> given);
  void makeTasks();

  const DeviceInfo &device;
  Scratch &scratch; // the device's
  std::vector<Recorded> launches;
  std::vector<uint64_t> addresses;     // of every launch's arguments
  std::vector<uint32_t> launchOrder;   // `after` of all launches
  std::unique_ptr<LaunchTask[]> tasks; // of the launches that are not empty, in their order
  size_t taskCount = 0;
  std::vector<uint32_t> taskOrder; // `after` of all tasks
  std::vector<TaskTime> taskTimes; // of the last submission, if the program is timed
  bool timed = false;
};

// All work is done when submit() returns, so wait() does nothing.
class CpuDevice : public Device {
public:
  explicit CpuDevice(DeviceInfo info) : description(std::move(info)) {}

  const DeviceInfo &info() const override { return description; }
  Result<std::vector<std::unique_ptr<Executable>>> load(std::span<const KernelSource> kernels) override;
  Result<std::unique_ptr<Program>> record(std::span<const Launch> launches, uint32_t counts, bool timed) override;
  Status wait() override { return Success(); }
  Status write(Buffer &to, uint64_t offset, std::span<const std::byte> data) override;
  Status read(const Buffer &from, uint64_t offset, std::span<std::byte> into) override;
  Result<std::unique_ptr<Readback>> readLater(const Buffer &from, uint64_t offset, uint64_t bytes) override;

private:
  Result<std::unique_ptr<Buffer>> newBuffer(std::string_view name, uint64_t bytes) override;

  const DeviceInfo description;
  Scratch scratch;
  Slab slab;
};

// Returns the memory that a program can still get, in bytes, swap included. UINT64_MAX if the system does not say.
uint64_t freeMemory();

} // namespace heddle::hal::cpu
