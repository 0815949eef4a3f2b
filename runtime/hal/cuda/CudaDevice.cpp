#include "runtime/hal/cuda/CudaDevice.h"

#include "runtime/core/Tensor.h"
#include "runtime/hal/cuda/CudaGroup.h"

#include <cassert>
#include <cstring>

namespace heddle::hal::cuda {

CudaBuffer::~CudaBuffer() {
  Current current(context);
  (void)stream.wait(); // the device may still be using it
  context.cuda->cuMemFree_v2(deviceAddress);
}

Result<std::unique_ptr<Device>> CudaDevice::open(const Driver &cuda, int index, DeviceInfo info) {
  std::unique_ptr<CudaDevice> device(new CudaDevice);
  Context &context = device->context;
  context.cuda = &cuda;
  context.info = std::move(info);
  if (CUresult status = cuda.cuDeviceGet(&context.device, index))
    return context.error(status, "opening the device");
  if (CUresult status = cuda.cuDevicePrimaryCtxRetain(&context.primary, context.device))
    return context.error(status, "opening the device");
  Current current(context);
  HEDDLE_ASSIGN(device->stream, Stream::create(context));
  return std::unique_ptr<Device>(std::move(device));
}

CudaDevice::~CudaDevice() {
  if (!context.primary)
    return;
  {
    Current current(context);
    stream.reset();
  }
  context.cuda->cuDevicePrimaryCtxRelease_v2(context.device);
}

Result<std::unique_ptr<Buffer>> CudaDevice::newBuffer(std::string_view name, uint64_t bytes) {
  Current current(context);
  bytes = std::max<uint64_t>((bytes + 15) / 16 * 16, 16); // kernels read 16 bytes at a time
  CUdeviceptr address = 0;
  CUresult status =
      bytes > context.info.memoryBytes ? CUDA_ERROR_OUT_OF_MEMORY : context.cuda->cuMemAlloc_v2(&address, bytes);
  if (status == CUDA_ERROR_OUT_OF_MEMORY) {
    size_t free = 0, total = 0;
    context.cuda->cuMemGetInfo_v2(&free, &total);
    return makeError(
        ErrorKind::OutOfMemory, "there is no device memory for ", name, ": it needs ", describeBytes(bytes), ", and ",
        describeBytes(free), " of ", describeBytes(total), " are free on '", context.info.name,
        "'. Compile with smaller --max-tokens or --max-sequences, use a smaller model, or close other programs that "
        "use the device.");
  }
  if (status != CUDA_SUCCESS)
    return context.error(status, str("allocating ", name));
  auto buffer = std::make_unique<CudaBuffer>(context, *stream, address, bytes);
  HEDDLE_CHECK(stream->fillZero(address, bytes));
  return std::unique_ptr<Buffer>(std::move(buffer));
}

Result<std::unique_ptr<Program>> CudaDevice::record(std::span<const Launch> launches, uint32_t counts, bool timed) {
  Current current(context);
  auto program = std::make_unique<CudaProgram>(context, *stream);
  HEDDLE_CHECK(program->record(launches, counts, timed));
  return std::unique_ptr<Program>(std::move(program));
}

Status CudaDevice::wait() {
  Current current(context);
  return stream->wait();
}

Status CudaDevice::write(Buffer &to, uint64_t offset, std::span<const std::byte> data) {
  assert(offset <= to.bytes() && data.size() <= to.bytes() - offset);
  Current current(context);
  HEDDLE_CHECK(stream->wait());
  return stream->write(to.address() + offset, data);
}

Status CudaDevice::read(const Buffer &from, uint64_t offset, std::span<std::byte> into) {
  assert(offset <= from.bytes() && into.size() <= from.bytes() - offset);
  Current current(context);
  return stream->read(from.address() + offset, into);
}

Result<std::unique_ptr<Readback>> CudaDevice::readLater(const Buffer &from, uint64_t offset, uint64_t bytes) {
  assert(offset <= from.bytes() && bytes <= from.bytes() - offset);
  Current current(context);
  HEDDLE_ASSIGN(auto slot, stream->readLater(from.address() + offset, bytes));
  return std::unique_ptr<Readback>(std::make_unique<CudaReadback>(context, *stream, std::move(slot)));
}

Result<std::string> CudaDevice::groupEngine() const {
  HEDDLE_ASSIGN(const Nccl *nccl, Nccl::get());
  return nccl->versionText();
}

Result<GroupId> CudaDevice::newGroupId() const {
  HEDDLE_ASSIGN(const Nccl *nccl, Nccl::get());
  Current current(context);
  ncclUniqueId name;
  if (ncclResult_t result = nccl->ncclGetUniqueId(&name))
    return nccl->error(result, "beginning an exchange between devices");
  GroupId id;
  std::memcpy(id.data(), &name, sizeof name);
  return id;
}

Result<std::unique_ptr<DeviceGroup>> CudaDevice::joinGroup(const GroupId &id, uint32_t number, uint32_t devices) {
  HEDDLE_ASSIGN(const Nccl *nccl, Nccl::get());
  Current current(context);
  HEDDLE_ASSIGN(std::unique_ptr<CudaGroup> group, CudaGroup::join(context, *stream, *nccl, id, number, devices));
  return std::unique_ptr<DeviceGroup>(std::move(group));
}

} // namespace heddle::hal::cuda
