#include "test/cuda/emulator/Memory.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace heddle::emulator {
namespace {

constexpr uint64_t kGranule = 256;
// Memory is backed lazily; from this size on, released memory is returned to the system.
constexpr uint64_t kReturnFrom = 64 << 10;

uint8_t *reserve(uint64_t size) {
  void *at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) {
    std::perror("heddle emulator: cannot reserve device memory");
    std::abort();
  }
  return static_cast<uint8_t *>(at);
}

uint64_t roundUp(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

// Fills small ranges. Whole pages of large ranges are returned to the system, and then read as zero.
void clear(uint8_t *at, uint64_t size, int value) {
  if (size < kReturnFrom) {
    std::memset(at, value, size);
    return;
  }
  auto start = reinterpret_cast<uint64_t>(at), first = roundUp(start, 4096), last = (start + size) / 4096 * 4096;
  std::memset(at, 0, first - start);
  madvise(reinterpret_cast<void *>(first), last - first, MADV_DONTNEED);
  std::memset(reinterpret_cast<void *>(last), 0, start + size - last);
}

} // namespace

Memory &Memory::get() {
  static Memory *memory = new Memory; // never destroyed: worker threads may outlive static destructors
  return *memory;
}

Memory::Memory() : bytes(reserve(kSize)), shadow(reserve(kSize + 64)) {
  // The first granule is never live: generated code reads its shadow for out-of-range addresses.
  gaps[base() + kGranule] = kSize - kGranule;
}

uint64_t Memory::allocate(uint64_t size, bool initialised) {
  std::lock_guard lock(mutex);
  uint64_t need = roundUp(size, kGranule) + kGranule; // plus a guard granule
  for (auto gap = gaps.begin(); gap != gaps.end(); ++gap) {
    if (gap->second < need)
      continue;
    auto [address, room] = *gap;
    gaps.erase(gap);
    if (room > need)
      gaps[address + need] = room - need;
    live[address] = size;
    std::memset(shadowOf(address), initialised ? kReadable : kLive, size);
    return address;
  }
  return 0;
}

bool Memory::release(uint64_t address) {
  std::lock_guard lock(mutex);
  auto found = live.find(address);
  if (found == live.end())
    return false;
  uint64_t size = found->second, room = roundUp(size, kGranule) + kGranule;
  // NaN in every format, for the host's reads through stale pointers.
  clear(reinterpret_cast<uint8_t *>(address), size, 0xff);
  clear(shadowOf(address), size, 0);
  live.erase(found);
  auto next = gaps.lower_bound(address);
  if (next != gaps.end() && next->first == address + room) {
    room += next->second;
    next = gaps.erase(next);
  }
  if (next != gaps.begin()) {
    auto before = std::prev(next);
    if (before->first + before->second == address) {
      before->second += room;
      return true;
    }
  }
  gaps[address] = room;
  return true;
}

bool Memory::contains(uint64_t address, uint64_t size) {
  std::lock_guard lock(mutex);
  auto after = live.upper_bound(address);
  if (after == live.begin())
    return false;
  auto [start, length] = *std::prev(after);
  return address - start <= length && size <= length - (address - start);
}

void Memory::markWritten(uint64_t address, uint64_t size) {
  for (uint8_t *at = shadowOf(address), *end = at + size; at < end; ++at)
    *at |= kReadable;
}

void Memory::allow(uint64_t address, uint64_t size, uint8_t bits) {
  for (uint8_t *at = shadowOf(address), *end = at + size; at < end; ++at)
    *at |= *at & kLive ? bits : 0;
}

void Memory::remove(uint64_t address, uint64_t size, uint8_t bits) {
  for (uint8_t *at = shadowOf(address), *end = at + size; at < end; ++at)
    *at &= static_cast<uint8_t>(~bits);
}

void Memory::forbid(uint64_t address, uint64_t size) { remove(address, size, static_cast<uint8_t>(~kReadable)); }

void Memory::copyShadow(uint64_t to, uint64_t from, uint64_t size) { std::memmove(shadowOf(to), shadowOf(from), size); }

uint64_t Memory::freeBytes() {
  std::lock_guard lock(mutex);
  uint64_t total = 0;
  for (auto [address, size] : gaps)
    total += size;
  return total;
}

} // namespace heddle::emulator
