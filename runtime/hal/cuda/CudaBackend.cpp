// CUDA's devices, and the targets for them.
#include "runtime/hal/Backend.h"
#include "runtime/hal/cuda/CudaDevice.h"

#include <charconv>

namespace heddle::hal::cuda {
namespace {

constexpr uint32_t vendorNvidia = 0x10de;

// Asks the driver about a device without opening it.
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
  info.bus = str(attribute(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID), ":", attribute(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID), ":",
                 attribute(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID));
  info.computeCapability = static_cast<uint32_t>(10 * major + minor);
  info.processors = static_cast<uint32_t>(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
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

// A CUDA architecture. Code for sm_90 runs on compute capability 9.0 and newer, code for sm_90a only on 9.0.
struct Architecture {
  uint32_t capability = 0;
  bool exact = false;
};

std::optional<Architecture> parseArchitecture(std::string_view target) {
  constexpr std::string_view prefix = "cuda:sm_";
  if (!target.starts_with(prefix))
    return std::nullopt;
  std::string_view text = target.substr(prefix.size());
  Architecture architecture;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), architecture.capability);
  std::string_view suffix = text.substr(static_cast<size_t>(end - text.data()));
  architecture.exact = suffix == "a";
  if (error != std::errc() || !(suffix.empty() || architecture.exact))
    return std::nullopt;
  return architecture;
}

// Data centers' GPUs (8.0, 9.0, 10.0 and 10.3) have the shared memory that kernels for sm_80 may need, others (8.6, 8.9,
// 12.0) have not.
bool hasMuchShared(const DeviceInfo &device) { return device.maxSharedBytes >= 163 * 1024; }
bool hasMuchShared(uint32_t capability) { return capability < 120 && capability % 10 != 6 && capability % 10 != 9; }

constexpr uint32_t kSameShared = 1000; // more than any architecture's number, twice

class CudaBackend final : public Backend {
public:
  std::string_view name() const override { return "cuda"; }
  std::string_view title() const override { return "CUDA"; }
  std::string_view library() const override { return "libcuda.so.1"; }
  Result<std::vector<DeviceInfo>> listDevices() const override;
  Result<std::unique_ptr<Device>> openDevice(std::optional<uint32_t> index, const DeviceOptions &) const override;
  uint32_t suitability(std::string_view target, const DeviceInfo &device) const override;
  std::string advice(const DeviceInfo &device) const override;
};

} // namespace

uint32_t CudaBackend::suitability(std::string_view target, const DeviceInfo &device) const {
  std::optional<Architecture> wanted = parseArchitecture(target);
  if (!wanted)
    return 0;
  bool runs =
      wanted->exact ? device.computeCapability == wanted->capability : device.computeCapability >= wanted->capability;
  if (!runs)
    return 0;
  // Newer is better, and exact (sm_90a) better than sm_90. The small tiles of a target for little shared memory are the
  // last choice of a device with much of it.
  uint32_t newness = 2 * wanted->capability + wanted->exact;
  return hasMuchShared(device) && !hasMuchShared(wanted->capability) ? newness : kSameShared + newness;
}

std::string CudaBackend::advice(const DeviceInfo &device) const {
  uint32_t capability = device.computeCapability;
  if (capability < 80) // kernels use Ampere's instructions
    return "vulkan:portable";
  if (capability / 10 == 9)
    return "cuda:sm_90a";
  if (hasMuchShared(device))
    return capability >= 100 ? "cuda:sm_100" : "cuda:sm_80";
  return capability >= 120 ? "cuda:sm_120" : capability >= 89 ? "cuda:sm_89" : "cuda:sm_86";
}

Result<std::vector<DeviceInfo>> CudaBackend::listDevices() const {
  HEDDLE_ASSIGN(const Driver *cuda, Driver::get());
  std::vector<DeviceInfo> infos;
  for (int i = 0; i < cuda->devices; ++i) {
    HEDDLE_ASSIGN(infos.emplace_back(), describeDevice(*cuda, i));
  }
  return infos;
}

Result<std::unique_ptr<Device>> CudaBackend::openDevice(std::optional<uint32_t> index, const DeviceOptions &) const {
  HEDDLE_ASSIGN(const Driver *cuda, Driver::get());
  HEDDLE_ASSIGN(std::vector<DeviceInfo> infos, listDevices());
  if (infos.empty())
    return makeError(ErrorKind::NotFound, "there is no CUDA device on this machine: its driver (CUDA ",
                     versionText(cuda->version), ") found no device. Check `nvidia-smi` and CUDA_VISIBLE_DEVICES.");
  if (index && *index >= infos.size())
    return makeError(ErrorKind::NotFound, "there is no device 'cuda:", *index, "': this machine has ", infos.size(),
                     " CUDA device", infos.size() == 1 ? "" : "s",
                     ", numbered from 0. `heddle-run devices` lists the devices.");
  if (!index) // the first usable device: the driver lists the fastest first
    for (index = 0; *index + 1 < infos.size() && !infos[*index].unusable.empty();)
      ++*index;
  DeviceInfo &info = infos[*index];
  if (!info.unusable.empty())
    return makeError(ErrorKind::Unsupported, "'", info.id, "' (", info.name, ", ", info.driver,
                     ") cannot run Heddle: ", info.unusable, ".");
  return CudaDevice::open(*cuda, static_cast<int>(*index), std::move(info));
}

const Backend &backend() {
  static const CudaBackend backend;
  return backend;
}

} // namespace heddle::hal::cuda
