#include "runtime/core/Tensor.h"
#include "runtime/hal/cpu/CpuDevice.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace heddle::hal::cpu {
namespace {

constexpr uint64_t kAlignment = 64; // of a small buffer
constexpr uint64_t kHugePage = uint64_t(2) << 20;
// The smallest buffer in a slab, the smallest with a mapping of its own, and the size of a slab.
constexpr uint64_t kMedium = uint64_t(64) << 10, kLarge = uint64_t(8) << 20, kSlab = uint64_t(32) << 20;

uint64_t pageBytes() { return static_cast<uint64_t>(sysconf(_SC_PAGESIZE)); }

uint64_t roundUp(uint64_t bytes, uint64_t multiple) { return (bytes + multiple - 1) / multiple * multiple; }

} // namespace

Mapping Mapping::allocate(uint64_t bytes, uint64_t alignment) {
  uint64_t page = pageBytes();
  alignment = std::max(alignment, page);
  bytes = roundUp(std::max<uint64_t>(bytes, 1), page);
  uint64_t whole = bytes + alignment - page;
  void *memory = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  Mapping mapping;
  if (memory == MAP_FAILED)
    return mapping;
  auto *all = static_cast<std::byte *>(memory);
  uint64_t before = roundUp(reinterpret_cast<uintptr_t>(all), alignment) - reinterpret_cast<uintptr_t>(all);
  uint64_t after = whole - before - bytes;
  if (before)
    munmap(all, before);
  if (after)
    munmap(all + before + bytes, after);
  mapping.begin = all + before;
  mapping.size = bytes;
  return mapping;
}

Mapping Mapping::allocateHuge(uint64_t bytes) {
  Mapping mapping = allocate(roundUp(bytes, kHugePage), kHugePage);
  if (mapping.begin)
    madvise(mapping.begin, mapping.size, MADV_HUGEPAGE); // failure is harmless: small pages work too
  return mapping;
}

Mapping &Mapping::operator=(Mapping &&other) noexcept {
  std::swap(begin, other.begin);
  std::swap(size, other.size);
  return *this;
}

Mapping::~Mapping() {
  if (begin)
    munmap(begin, size);
}

uint64_t freeMemory() {
  std::ifstream file("/proc/meminfo");
  uint64_t kibibytes = 0;
  bool known = false;
  std::string name, unit;
  for (uint64_t value = 0; file >> name >> value; std::getline(file, unit))
    if (name == "MemAvailable:" || name == "SwapFree:") {
      kibibytes += value;
      known |= name == "MemAvailable:";
    }
  return known ? kibibytes << 10 : UINT64_MAX;
}

std::byte *Slab::take(uint64_t bytes) {
  bytes = roundUp(bytes, kAlignment);
  if (!memory || memory->bytes() - used < bytes) {
    memory = std::make_shared<Mapping>(Mapping::allocateHuge(kSlab));
    used = 0;
    if (!memory->data()) {
      memory = nullptr;
      return nullptr;
    }
  }
  std::byte *begin = memory->data() + used;
  used += bytes;
  return begin;
}

Result<std::unique_ptr<Buffer>> CpuBuffer::allocate(const DeviceInfo &device, Slab &slab, uint64_t inUse,
                                                    std::string_view name, uint64_t bytes) {
  auto tooLittle = [&] {
    return makeError(ErrorKind::OutOfMemory, "there is no device memory for ", name, ": it needs ",
                     describeBytes(bytes), ", and ", describeBytes(freeMemory()), " of ",
                     describeBytes(device.memoryBytes), " are free on '", device.name,
                     "'. Compile with smaller --max-tokens or --max-sequences, use a smaller model, or close other "
                     "programs that use memory.");
  };
  // Linux overcommits memory and kills the process when it runs out, so check before allocating.
  if (bytes > device.memoryBytes || bytes > device.memoryBytes - std::min(inUse, device.memoryBytes) ||
      (bytes >= kHugePage && bytes > freeMemory()))
    return tooLittle();
  std::unique_ptr<CpuBuffer> buffer(new CpuBuffer);
  buffer->size = std::max<uint64_t>(roundUp(bytes, 16), 16); // the same size as on other devices
  if (buffer->size >= kLarge) {
    buffer->mapping = std::make_shared<Mapping>(Mapping::allocateHuge(buffer->size));
    buffer->begin = buffer->mapping->data();
  } else if (buffer->size >= kMedium) {
    buffer->begin = slab.take(buffer->size);
    buffer->mapping = slab.memory;
  } else {
    buffer->begin = static_cast<std::byte *>(std::aligned_alloc(kAlignment, roundUp(buffer->size, kAlignment)));
    if (buffer->begin)
      std::memset(buffer->begin, 0, buffer->size);
  }
  if (!buffer->begin)
    return tooLittle();
  buffer->deviceAddress = reinterpret_cast<uintptr_t>(buffer->begin);
  return std::unique_ptr<Buffer>(std::move(buffer));
}

CpuBuffer::~CpuBuffer() {
  if (!mapping) {
    std::free(begin);
    return;
  }
  if (mapping.use_count() == 1)
    return; // the mapping goes, too
  // The other buffers of the slab may stay for long, so the whole pages of this one go back to the system.
  auto first = roundUp(reinterpret_cast<uintptr_t>(begin), pageBytes());
  auto end = (reinterpret_cast<uintptr_t>(begin) + size) / pageBytes() * pageBytes();
  if (begin && first < end)
    madvise(reinterpret_cast<void *>(first), end - first, MADV_DONTNEED);
}

Status Scratch::reserve(unsigned wantedThreads, uint64_t bytes) {
  bytes = roundUp(kLaunchBytes + bytes, pageBytes());
  if (wantedThreads <= threads && bytes <= stride)
    return Success();
  wantedThreads = std::max(wantedThreads, threads);
  bytes = std::max(bytes, stride);
  Mapping larger = Mapping::allocateHuge(std::max<uint64_t>(wantedThreads * bytes, 1));
  if (!larger.data())
    return makeError(ErrorKind::OutOfMemory, "there is no memory for the kernels of ", wantedThreads,
                     " threads: each needs ", describeBytes(bytes),
                     ". Use fewer threads (HEDDLE_THREADS), or close other programs that use memory.");
  memory = std::move(larger);
  stride = bytes;
  threads = wantedThreads;
  return Success();
}

} // namespace heddle::hal::cpu
