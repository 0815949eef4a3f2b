// The file through which the processes of an emulated NCCL communicator share memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace heddle::emulator {

// A process's request; all other processes must make the same.
struct Exchange {
  enum Kind : uint32_t { AllReduce, Reduce, ReduceScatter, Broadcast, AllGather } kind = AllReduce;
  uint32_t type = 0, root = 0;
  uint64_t bytes = 0;

  bool operator==(const Exchange &) const = default;
  std::string describe() const; // "sums 4096 bytes"
};

// Waits by polling: a killed process then leaves no system object behind for which others would wait.
class NcclMemory {
public:
  static constexpr uint32_t kMostRanks = 16;
  static constexpr size_t kPiece = size_t(64) << 10; // bytes that a rank contributes at a time

  // Creates or opens the file, and waits until all ranks have opened it; then the file's name is removed. Returns null
  // on failure.
  static NcclMemory *join(const std::string &path, uint32_t rank, uint32_t ranks);
  ~NcclMemory();

  // `read` fills a piece of this rank's contribution, at an offset; `take` gets a piece of each rank. Returns false,
  // with the reason in `why`, if the ranks make different requests.
  bool exchange(const Exchange &what, const std::function<void(size_t, std::span<std::byte>)> &read,
                const std::function<void(size_t, std::span<const std::byte *const>, size_t)> &take, std::string &why);

  // Waits until all ranks have arrived.
  void leave();

  uint32_t rank() const { return own; }
  uint32_t ranks() const { return count; }

private:
  struct Rank {
    // Number of the last piece that it has contributed, and that it has taken from all ranks.
    std::atomic<uint64_t> given, taken;
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
