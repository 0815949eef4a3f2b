// Device memory: one reserved address range, with a shadow byte for every byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace heddle::emulator {

// A shadow byte says which accesses its byte allows. Generated code compares the shadow of a whole access with
// `kReadable`, or masks it with `kLive`, in one step.
constexpr uint8_t kLive = 1;        // inside an allocation
constexpr uint8_t kInitialised = 2; // and has been written
constexpr uint8_t kReadable = kLive | kInitialised;
constexpr uint8_t kMayRead = 4; // the running kernel declared that it reads it
constexpr uint8_t kMayWrite = 8;
// For kernels that begin before the kernel before them has ended: what they may do before they wait for it.
constexpr uint8_t kMayReadEarly = 16;
constexpr uint8_t kMayWriteEarly = 32;

// The allocations of the only device. A device address is the host address of the same byte. Thread-safe. Kernels
// access the shadow without a lock, as they do the bytes themselves.
class Memory {
public:
  static constexpr uint64_t kSize = uint64_t(16) << 30;

  static Memory &get();

  // Allocates memory, 256-byte aligned and at least one guard granule away from any other allocation. Returns 0 if
  // memory is exhausted. The bytes are live; they are initialised only if `initialised`.
  uint64_t allocate(uint64_t size, bool initialised = false);
  // Returns false unless `address` is the beginning of an allocation.
  bool release(uint64_t address);
  // Returns true if [address, address + size) lies inside one allocation.
  bool contains(uint64_t address, uint64_t size);
  void markWritten(uint64_t address, uint64_t size);
  // Copies the shadow along with copied bytes.
  void copyShadow(uint64_t to, uint64_t from, uint64_t size);

  // Add bits from kMayRead on to live bytes, remove some of them, and remove all.
  void allow(uint64_t address, uint64_t size, uint8_t bits);
  void remove(uint64_t address, uint64_t size, uint8_t bits);
  void forbid(uint64_t address, uint64_t size);

  uint64_t freeBytes();
  uint64_t base() const { return reinterpret_cast<uint64_t>(bytes); }
  uint8_t *shadowOf(uint64_t address) const { return shadow + (address - base()); }
  uint8_t *shadowBase() const { return shadow; }

private:
  Memory();
  uint8_t *bytes = nullptr;
  uint8_t *shadow = nullptr;
  std::mutex mutex;
  std::map<uint64_t, uint64_t> live; // address -> size
  std::map<uint64_t, uint64_t> gaps; // address -> size of free ranges
};

} // namespace heddle::emulator
