// The processor as a backend: one device, and the targets for it.
#include "runtime/core/ProcessorCount.h"
#include "runtime/hal/Backend.h"
#include "runtime/hal/cpu/CpuDevice.h"
#include "runtime/hal/cpu/Processor.h"

#include <unistd.h>

namespace heddle::hal::cpu {
namespace {

class CpuBackend final : public Backend {
public:
  std::string_view name() const override { return "cpu"; }
  std::string_view title() const override { return "processor"; }
  std::string_view library() const override { return ""; }
  Result<std::vector<DeviceInfo>> listDevices() const override;
  Result<std::unique_ptr<Device>> openDevice(std::optional<uint32_t> index, const DeviceOptions &) const override;
  uint32_t suitability(std::string_view target, const DeviceInfo &) const override {
    return Processor::get().suitability(target);
  }
  std::string obstacle(std::string_view target, const DeviceInfo &) const override {
    return Processor::get().obstacle(target);
  }
  bool runsNativeCode() const override { return true; }
  std::string advice(const DeviceInfo &) const override {
    std::string best = Processor::get().bestTarget();
    return best.empty() ? "vulkan:portable" : best;
  }
};

} // namespace

Result<std::vector<DeviceInfo>> CpuBackend::listDevices() const {
  const Processor &processor = Processor::get();
  DeviceInfo info;
  info.id = "cpu:0";
  info.name = processor.name;
  info.type = DeviceType::Cpu;
  info.processors = threadCount();
  std::string best = processor.bestTarget();
  info.driver = str(best.empty() ? processor.architecture : std::string_view(best).substr(best.find(':') + 1), ", ",
                    info.processors, info.processors == 1 ? " thread" : " threads");
  info.memoryBytes = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  info.maxAllocationBytes = info.memoryBytes;
  info.subgroupSize = info.minSubgroupSize = info.maxSubgroupSize = 1;
  info.maxLanes = 1;
  info.maxSharedBytes = kMaxScratchBytes;
  info.maxWorkgroups = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
  if (processor.architecture.empty())
    info.unusable = "there is no target for its instruction set";
  else if (best.empty())
    info.unusable = processor.obstacle("cpu:x86-64-v3");
  return std::vector{info};
}

Result<std::unique_ptr<Device>> CpuBackend::openDevice(std::optional<uint32_t> index, const DeviceOptions &) const {
  if (index && *index != 0)
    return makeError(ErrorKind::NotFound, "there is no device 'cpu:", *index,
                     "': the processors of this machine are one device, 'cpu:0'.");
  HEDDLE_ASSIGN(std::vector<DeviceInfo> infos, listDevices());
  DeviceInfo &info = infos.front();
  if (!info.unusable.empty())
    return makeError(ErrorKind::Unsupported, "'", info.id, "' (", info.name,
                     ") cannot run Heddle's code: ", info.unusable,
                     ". A Vulkan driver for processors may (Debian: mesa-vulkan-drivers), with code "
                     "for vulkan:portable.");
  return std::unique_ptr<Device>(std::make_unique<CpuDevice>(std::move(info)));
}

const Backend &backend() {
  static const CpuBackend backend;
  return backend;
}

} // namespace heddle::hal::cpu
