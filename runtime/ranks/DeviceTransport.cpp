#include "runtime/ranks/Transport.h"

#include <algorithm>
#include <vector>

namespace heddle {
namespace {

constexpr uint64_t kMostAtOnce = uint64_t(16) << 20; // bytes of device memory

class DeviceTransport final : public Transport {
public:
  DeviceTransport(hal::Device &device, hal::DeviceGroup &group, uint32_t rank, uint32_t ranks)
      : device(device), group(group), rank(rank), ranks(ranks) {}

  std::string version() const override { return device.groupEngine().value(); }

  Status sum(std::span<float> values) override {
    return inPieces(values.size_bytes(), kMostAtOnce, [&](hal::Buffer &memory, uint64_t at, uint64_t bytes) -> Status {
      std::span<std::byte> piece = std::as_writable_bytes(values).subspan(at, bytes);
      HEDDLE_CHECK(device.write(memory, 0, piece));
      HEDDLE_CHECK(exchange({{hal::DeviceGroup::Tensor::Sum, 0, &memory, 0, &memory, 0, bytes}}));
      return device.read(memory, 0, piece);
    });
  }

  Status gather(std::span<const std::byte> own, std::span<std::byte> all) override {
    uint64_t most = std::max<uint64_t>(kMostAtOnce / ranks / 16 * 16, 16); // per rank
    return inPieces(
        own.size(), most,
        [&](hal::Buffer &memory, uint64_t at, uint64_t bytes) -> Status {
          HEDDLE_CHECK(device.write(memory, rank * bytes, own.subspan(at, bytes)));
          std::vector<hal::DeviceGroup::Tensor> parts;
          for (uint32_t root = 0; root < ranks; ++root)
            parts.push_back(
                {hal::DeviceGroup::Tensor::Broadcast, root, &memory, root * bytes, &memory, root * bytes, bytes});
          HEDDLE_CHECK(exchange(parts));
          for (uint32_t root = 0; root < ranks; ++root)
            HEDDLE_CHECK(device.read(memory, root * bytes, all.subspan(root * own.size() + at, bytes)));
          return Success();
        },
        ranks);
  }

  Status broadcast(std::span<std::byte> bytes) override {
    return inPieces(bytes.size(), kMostAtOnce, [&](hal::Buffer &memory, uint64_t at, uint64_t size) -> Status {
      if (rank == 0)
        HEDDLE_CHECK(device.write(memory, 0, bytes.subspan(at, size)));
      HEDDLE_CHECK(exchange({{hal::DeviceGroup::Tensor::Broadcast, 0, &memory, 0, &memory, 0, size}}));
      return rank == 0 ? Success() : device.read(memory, 0, bytes.subspan(at, size));
    });
  }

private:
  // Calls `exchangePiece(memory, offset, bytes)` for pieces of at most `most` bytes. `memory` has room for `copies`
  // pieces.
  template <typename Callable>
  Status inPieces(uint64_t bytes, uint64_t most, Callable exchangePiece, uint64_t copies = 1) {
    if (bytes == 0)
      return Success();
    HEDDLE_ASSIGN(std::unique_ptr<hal::Buffer> memory,
                  device.allocate("numbers that ranks exchange", std::min(bytes, most) * copies));
    for (uint64_t at = 0; at < bytes; at += most)
      HEDDLE_CHECK(exchangePiece(*memory, at, std::min(bytes - at, most)));
    return Success();
  }

  Status exchange(const std::vector<hal::DeviceGroup::Tensor> &tensors) {
    HEDDLE_CHECK(group.start(tensors));
    return group.finish();
  }

  hal::Device &device;
  hal::DeviceGroup &group;
  uint32_t rank, ranks;
};

} // namespace

std::unique_ptr<Transport> transportByDevices(hal::Device &device, hal::DeviceGroup &group, uint32_t rank,
                                              uint32_t ranks) {
  return std::make_unique<DeviceTransport>(device, group, rank, ranks);
}

} // namespace heddle
