#include "runtime/hal/cuda/CudaBackend.h"

#include "runtime/hal/cuda/CudaDevice.h"

namespace heddle::hal::cuda {
namespace {

constexpr uint32_t vendorNvidia = 0x10de;

// What the driver says of a device, without opening it.
Result<DeviceInfo> describeDevice(const Driver &cuda, int index) {
  DeviceInfo info;
  info.id = str("cuda:", index);
  CUdevice device = 0;
  CUresult status = cuda.cuDeviceGet(&device, index);
  auto attribute = [&](int which) {
    int value = 0;
    if (status == CUDA_SUCCESS)
      status = cuda.cuDeviceGetAttribute(&value, which, device);
    return value;
  };
  char name[256] = {};
  if (status == CUDA_SUCCESS)
    status = cuda.cuDeviceGetName(name, sizeof name - 1, device);
  size_t bytes = 0;
  if (status == CUDA_SUCCESS)
    status = cuda.cuDeviceTotalMem_v2(&bytes, device);
  int major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  int minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  info.name = name;
  info.driver = str("CUDA ", versionText(cuda.version), ", compute capability ", major, ".", minor);
  info.type = attribute(CU_DEVICE_ATTRIBUTE_INTEGRATED) ? DeviceType::IntegratedGpu : DeviceType::DiscreteGpu;
  info.vendorId = vendorNvidia;
  info.computeCapability = static_cast<uint32_t>(10 * major + minor);
  info.memoryBytes = info.maxAllocationBytes = bytes;
  info.subgroupSize = info.maxSubgroupSize = 32;
  info.maxLanes = static_cast<uint32_t>(attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
  info.maxSharedBytes = static_cast<uint32_t>(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
  for (int axis = 0; axis < 3; ++axis)
    info.maxWorkgroups[static_cast<size_t>(axis)] =
        static_cast<uint32_t>(attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + axis));
  if (attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_MODE) == CU_COMPUTEMODE_PROHIBITED)
    info.unusable = "its compute mode is 'prohibited' (nvidia-smi -c 0 allows computing)";
  if (status != CUDA_SUCCESS)
    return makeError(ErrorKind::Unsupported, "asking for the properties of '", info.id, "' failed (",
                     cuda.describe(status), ").");
  return info;
}

} // namespace

Result<std::vector<DeviceInfo>> listDevices() {
  HEDDLE_ASSIGN(const Driver *cuda, Driver::get());
  std::vector<DeviceInfo> infos;
  for (int i = 0; i < cuda->devices; ++i) {
    HEDDLE_ASSIGN(infos.emplace_back(), describeDevice(*cuda, i));
  }
  return infos;
}

Result<std::unique_ptr<Device>> openDevice(std::optional<uint32_t> index) {
  HEDDLE_ASSIGN(const Driver *cuda, Driver::get());
  HEDDLE_ASSIGN(std::vector<DeviceInfo> infos, listDevices());
  if (infos.empty())
    return makeError(ErrorKind::NotFound, "there is no CUDA device on this machine: its driver (CUDA ",
                     versionText(cuda->version), ") found no device. Check `nvidia-smi` and CUDA_VISIBLE_DEVICES.");
  if (index && *index >= infos.size())
    return makeError(ErrorKind::NotFound, "there is no device 'cuda:", *index, "': this machine has ", infos.size(),
                     " CUDA device", infos.size() == 1 ? "" : "s",
                     ", numbered from 0. `heddle-run devices` lists the devices.");
  if (!index) // the driver's order, which is the fastest first
    for (index = 0; *index + 1 < infos.size() && !infos[*index].unusable.empty();)
      ++*index;
  DeviceInfo &info = infos[*index];
  if (!info.unusable.empty())
    return makeError(ErrorKind::Unsupported, "'", info.id, "' (", info.name, ", ", info.driver,
                     ") cannot run Heddle: ", info.unusable, ".");
  return CudaDevice::open(*cuda, static_cast<int>(*index), std::move(info));
}

} // namespace heddle::hal::cuda
