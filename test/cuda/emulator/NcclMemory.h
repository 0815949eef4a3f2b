// What the processes of an emulated NCCL communicator share: a file that all of them map.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace heddle::emulator {

// What a process asks of all others; they have to ask the same.
struct Exchange {
  enum Kind : uint32_t { AllReduce, Reduce, ReduceScatter, Broadcast, AllGather } kind = AllReduce;
  uint32_t type = 0, root = 0;
  uint64_t bytes = 0;

  bool operator==(const Exchange &) const = default;
  std::string describe() const; // "sums 4096 bytes"
};

// Waits by asking again and again: a process that was killed leaves nothing behind that others wait for by the system's
// means.
class NcclMemory {
public:
  static constexpr uint32_t kMostRanks = 16;
  static constexpr size_t kPiece = size_t(64) << 10; // bytes that a rank gives at once

  // Makes or opens the file, and waits until all ranks have; then the file has no name any more. Null where that fails.
  static NcclMemory *join(const std::string &path, uint32_t rank, uint32_t ranks);
  ~NcclMemory();

  // `read` fills a piece of what this rank gives, at an offset; `take` gets a piece of each rank. False, and why, where
  // ranks ask for different things.
  bool exchange(const Exchange &what, const std::function<void(size_t, std::span<std::byte>)> &read,
                const std::function<void(size_t, std::span<const std::byte *const>, size_t)> &take, std::string &why);

  // Waits until all ranks are here.
  void leave();

  uint32_t rank() const { return own; }
  uint32_t ranks() const { return count; }

private:
  struct Rank {
    std::atomic<uint64_t> given, taken; // the number of the last piece that it has given, and taken from all
    Exchange what;
    uint64_t at;
  };
  struct Header {
    std::atomic<uint32_t> joined, left;
    Rank ranks[kMostRanks];
  };

  NcclMemory() = default;
  std::byte *piece(uint32_t rank) const { return base + sizeof(Header) + rank * kPiece; }

  Header *header = nullptr;
  std::byte *base = nullptr;
  size_t size = 0;
  uint32_t own = 0, count = 1;
  uint64_t pieces = 0;
};

} // namespace heddle::emulator
