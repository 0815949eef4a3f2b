#include "runtime/hal/cuda/CudaStream.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <utility>

namespace heddle::hal::cuda {
namespace {

constexpr uint64_t smallestStaging = uint64_t(64) << 10;
constexpr uint64_t transferChunk = uint64_t(16) << 20;

} // namespace

Result<PinnedMemory> PinnedMemory::allocate(const Context &context, uint64_t bytes) {
  PinnedMemory memory;
  void *pointer = nullptr;
  if (CUresult status = context.cuda->cuMemHostAlloc(&pointer, bytes, 0))
    return context.error(status, "allocating host memory for copies");
  memory.context = &context;
  memory.pointer = static_cast<std::byte *>(pointer);
  memory.size = bytes;
  return memory;
}

PinnedMemory &PinnedMemory::operator=(PinnedMemory &&other) noexcept {
  std::swap(context, other.context);
  std::swap(pointer, other.pointer);
  std::swap(size, other.size);
  return *this;
}

PinnedMemory::~PinnedMemory() {
  if (pointer)
    context->cuda->cuMemFreeHost(pointer);
}

Result<std::unique_ptr<Stream>> Stream::create(const Context &context) {
  std::unique_ptr<Stream> stream(new Stream(context));
  if (CUresult status = context.cuda->cuStreamCreate(&stream->stream, CU_STREAM_NON_BLOCKING))
    return context.error(status, "creating a stream");
  for (Slot &slot : stream->slots)
    if (CUresult status = context.cuda->cuEventCreate(&slot.done, CU_EVENT_DISABLE_TIMING))
      return context.error(status, "creating an event");
  return stream;
}

Stream::~Stream() {
  if (stream)
    context.cuda->cuStreamSynchronize(stream);
  auto destroy = [&](Slot &slot) {
    if (slot.done)
      context.cuda->cuEventDestroy_v2(slot.done);
  };
  std::ranges::for_each(slots, destroy);
  for (auto &slot : spare)
    destroy(*slot);
  if (stream)
    context.cuda->cuStreamDestroy_v2(stream);
}

Result<Stream::Slot *> Stream::begin(uint64_t bytes) {
  Slot &slot = slots[next];
  next = (next + 1) % slots.size();
  // An event that was never recorded counts as done.
  if (CUresult status = context.cuda->cuEventSynchronize(slot.done))
    return context.error(status, "waiting for the device");
  slot.used = 0;
  if (bytes > slot.staging.bytes()) {
    slot.staging = PinnedMemory(); // freed before its larger successor is allocated
    HEDDLE_ASSIGN(slot.staging, PinnedMemory::allocate(context, std::max(std::bit_ceil(bytes), smallestStaging)));
  }
  return &slot;
}

Status Stream::upload(Slot &slot, CUdeviceptr to, std::span<const std::byte> data) {
  if (data.empty())
    return Success();
  assert(slot.used + data.size() <= slot.staging.bytes());
  std::byte *from = slot.staging.data() + slot.used;
  slot.used += stagingBytes(data.size());
  std::memcpy(from, data.data(), data.size());
  if (CUresult status = context.cuda->cuMemcpyHtoDAsync_v2(to, from, data.size(), stream))
    return context.error(status, "copying to the device");
  return Success();
}

Status Stream::finish(Slot &slot) {
  if (CUresult status = context.cuda->cuEventRecord(slot.done, stream))
    return context.error(status, "submitting work");
  return Success();
}

Status Stream::wait() {
  if (CUresult status = context.cuda->cuStreamSynchronize(stream))
    return context.error(status, "waiting for the device");
  return Success();
}

Status Stream::write(CUdeviceptr to, std::span<const std::byte> data) {
  while (!data.empty()) {
    std::span<const std::byte> chunk = data.first(std::min<uint64_t>(data.size(), transferChunk));
    HEDDLE_ASSIGN(Slot * slot, begin(chunk.size()));
    Status copied = upload(*slot, to, chunk);
    HEDDLE_CHECK(finish(*slot));
    HEDDLE_CHECK(std::move(copied));
    to += chunk.size();
    data = data.subspan(chunk.size());
  }
  return Success();
}

// Keeps two chunks in flight: the device fills one while the host empties the other.
Status Stream::read(CUdeviceptr from, std::span<std::byte> into) {
  Slot *pending = nullptr;
  std::span<std::byte> pendingInto;
  auto take = [&]() -> Status {
    if (!pending)
      return Success();
    if (CUresult status = context.cuda->cuEventSynchronize(pending->done))
      return context.error(status, "waiting for the device");
    std::memcpy(pendingInto.data(), pending->staging.data(), pendingInto.size());
    return Success();
  };
  while (!into.empty()) {
    std::span<std::byte> chunk = into.first(std::min<uint64_t>(into.size(), transferChunk));
    HEDDLE_ASSIGN(Slot * slot, begin(chunk.size()));
    CUresult status = context.cuda->cuMemcpyDtoHAsync_v2(slot->staging.data(), from, chunk.size(), stream);
    HEDDLE_CHECK(finish(*slot));
    if (status)
      return context.error(status, "copying from the device");
    HEDDLE_CHECK(take());
    pending = slot;
    pendingInto = chunk;
    from += chunk.size();
    into = into.subspan(chunk.size());
  }
  return take();
}

Result<std::unique_ptr<Stream::Slot>> Stream::readLater(CUdeviceptr from, uint64_t bytes) {
  std::unique_ptr<Slot> slot;
  if (!spare.empty()) {
    slot = std::move(spare.back());
    spare.pop_back();
  } else {
    slot = std::make_unique<Slot>();
    if (CUresult status = context.cuda->cuEventCreate(&slot->done, CU_EVENT_DISABLE_TIMING))
      return context.error(status, "creating an event");
  }
  slot->used = bytes;
  Status status = Success();
  if (bytes > slot->staging.bytes()) {
    slot->staging = PinnedMemory();
    auto memory = PinnedMemory::allocate(context, std::bit_ceil(bytes));
    if (memory.ok())
      slot->staging = std::move(*memory);
    else
      status = std::move(memory).error();
  }
  if (status.ok() && bytes > 0)
    if (CUresult result = context.cuda->cuMemcpyDtoHAsync_v2(slot->staging.data(), from, bytes, stream))
      status = context.error(result, "copying from the device");
  if (status.ok())
    status = finish(*slot);
  if (!status.ok()) {
    giveBack(std::move(slot));
    return std::move(status).error();
  }
  return slot;
}

Result<std::span<const std::byte>> Stream::bytesOf(const Slot &slot) const {
  if (CUresult status = context.cuda->cuEventSynchronize(slot.done))
    return context.error(status, "waiting for the device");
  return std::span<const std::byte>(slot.staging.data(), slot.used);
}

Status Stream::fillZero(CUdeviceptr to, uint64_t bytes) {
  if (CUresult status = context.cuda->cuMemsetD8Async(to, 0, bytes, stream))
    return context.error(status, "clearing memory");
  return Success();
}

} // namespace heddle::hal::cuda
