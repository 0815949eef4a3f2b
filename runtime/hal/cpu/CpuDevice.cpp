#include "runtime/hal/cpu/CpuDevice.h"

#include <cassert>
#include <cstring>

namespace heddle::hal::cpu {
namespace {

class CpuReadback : public Readback {
public:
  explicit CpuReadback(std::span<const std::byte> bytes) : copy(bytes.begin(), bytes.end()) {}
  Result<std::span<const std::byte>> bytes() override { return std::span<const std::byte>(copy); }

private:
  const std::vector<std::byte> copy;
};

// Returns a range of a buffer's bytes.
std::span<std::byte> part(const Buffer &buffer, uint64_t offset, uint64_t bytes) {
  assert(offset <= buffer.bytes() && bytes <= buffer.bytes() - offset);
  return {static_cast<const CpuBuffer &>(buffer).data() + offset, bytes};
}

} // namespace

Result<std::unique_ptr<Buffer>> CpuDevice::newBuffer(std::string_view name, uint64_t bytes) {
  return CpuBuffer::allocate(description, slab, memory().bytes, name, bytes);
}

Result<std::unique_ptr<Program>> CpuDevice::record(std::span<const Launch> launches, uint32_t counts, bool timed) {
  auto program = std::make_unique<CpuProgram>(description, scratch);
  HEDDLE_CHECK(program->record(launches, counts, timed));
  return std::unique_ptr<Program>(std::move(program));
}

Status CpuDevice::write(Buffer &to, uint64_t offset, std::span<const std::byte> data) {
  if (!data.empty())
    std::memcpy(part(to, offset, data.size()).data(), data.data(), data.size());
  return Success();
}

Status CpuDevice::read(const Buffer &from, uint64_t offset, std::span<std::byte> into) {
  if (!into.empty())
    std::memcpy(into.data(), part(from, offset, into.size()).data(), into.size());
  return Success();
}

Result<std::unique_ptr<Readback>> CpuDevice::readLater(const Buffer &from, uint64_t offset, uint64_t bytes) {
  return std::unique_ptr<Readback>(std::make_unique<CpuReadback>(part(from, offset, bytes)));
}

} // namespace heddle::hal::cpu
