// Device memory: one reserved range of addresses, with a shadow byte for every byte of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace heddle::emulator {

// A shadow byte says what its byte allows. Generated code compares the shadow of a whole access with `kReadable`, or
// masked by `kLive`, in one step.
constexpr uint8_t kLive = 1;        // inside an allocation
constexpr uint8_t kInitialised = 2; // and written before
constexpr uint8_t kReadable = kLive | kInitialised;
constexpr uint8_t kMayRead = 4; // the running kernel said that it would
constexpr uint8_t kMayWrite = 8;

// The allocations of the one device. A device address is the host's address of the same byte. Thread-safe; the shadow
// is read and written by kernels without a lock, as the bytes themselves are.
class Memory {
public:
  static constexpr uint64_t kSize = uint64_t(16) << 30;

  static Memory &get();

  // 256-byte aligned, at least one guard granule away from any other allocation; 0 if memory is exhausted. The bytes
  // are live, and initialised only if the caller says so.
  uint64_t allocate(uint64_t size, bool initialised = false);
  // False unless `address` is what an allocation begins with.
  bool release(uint64_t address);
  // Whether [address, address + size) lies inside one allocation.
  bool contains(uint64_t address, uint64_t size);
  void markWritten(uint64_t address, uint64_t size);
  // Hands on what is known of the bytes when they are copied.
  void copyShadow(uint64_t to, uint64_t from, uint64_t size);

  // Adds kMayRead and kMayWrite to live bytes, and takes them away.
  void allow(uint64_t address, uint64_t size, uint8_t bits);
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
  std::map<uint64_t, uint64_t> gaps; // address -> size of what may be handed out
};

} // namespace heddle::emulator
