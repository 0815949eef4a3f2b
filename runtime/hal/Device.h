// The hardware abstraction: the interface between the session and a device. Backends (Backend.h) live in folders beside
// this file (vulkan/, cuda/, cpu/). They open their drivers at run time, so that the same build runs on machines with
// both drivers, with either, and with neither.
//
// A device is an in-order queue. A program is a fixed sequence of kernel launches on fixed device addresses. It is
// recorded once and submitted many times, with different workgroup counts each time. Submissions run one after the
// other. The host waits only in wait(), in reads, and when it gets too far ahead of the device.
//
// Only one thread at a time uses a Device and the objects that it made. The caller owns these objects and destroys them
// before the Device.
#pragma once

#include "runtime/core/Status.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::hal {

enum class DeviceType { Cpu, IntegratedGpu, DiscreteGpu, VirtualGpu, Other };

const char *toString(DeviceType type);

struct DeviceInfo {
  std::string id;     // "vulkan:0", "cuda:0" or "cpu:0", as openDevice() takes it
  std::string name;   // "NVIDIA H200"
  std::string driver; // "llvmpipe Mesa 22.3.6 (LLVM 15.0.6), Vulkan 1.3.230"
  DeviceType type = DeviceType::Other;
  uint32_t vendorId = 0; // PCI
  std::string bus;       // the GPU's PCI domain, bus and device, "0:65:0"; CUDA only
  uint64_t memoryBytes = 0;
  uint64_t maxAllocationBytes = 0;         // of one buffer
  uint32_t subgroupSize = 0;               // default lanes of a subgroup
  uint32_t minSubgroupSize = 0;            // fewest lanes of a subgroup that a kernel may request
  uint32_t maxSubgroupSize = 0;            // most lanes of a subgroup that a kernel may request
  uint32_t maxLanes = 0;                   // of a workgroup
  uint32_t maxSharedBytes = 0;             // most shared memory of a workgroup; on CUDA the opt-in maximum
  uint32_t computeCapability = 0;          // 90 for 9.0; CUDA only
  uint32_t processors = 0;                 // units that run workgroups independently; 0: the driver does not say
  std::array<uint32_t, 3> maxWorkgroups{}; // of a launch, in x, y and z
  bool float16 = false;                   // has 16-bit floats, rounded to nearest, in memory and registers; Vulkan only
  bool int16 = false;                     // has 16-bit integers, in memory too; Vulkan only
  std::vector<uint32_t> cooperativeSides; // of square cooperative matrices, f16 with f32 accumulators; Vulkan only
  bool emulated = false;                  // a GPU that the driver emulates on the processor; it compiles a kernel when
                                          // the kernel is first launched
  bool compilesOnly = false;              // usable only for codeReports: it has no memory and runs nothing
  std::string unusable;                   // the reason why Heddle cannot run on this device; empty if it can
};

// The bytes of all buffers of a device: now, and at most so far.
struct MemoryUse {
  uint64_t bytes = 0, peak = 0;
};

// A piece of device memory, freed when the object is destroyed.
class Buffer {
public:
  virtual ~Buffer() {
    if (use)
      use->bytes -= size;
  }
  uint64_t bytes() const { return size; }
  uint64_t address() const { return deviceAddress; } // as kernels see it

protected:
  uint64_t size = 0;
  uint64_t deviceAddress = 0;

private:
  friend class Device;
  MemoryUse *use = nullptr; // the device's counters, which include this buffer
};

// A kernel that a device has loaded.
class Executable {
public:
  virtual ~Executable() = default;
};

// The driver's statistics of a kernel that it has compiled.
struct CodeReport {
  struct Number {
    std::string name; // the driver's name: "VGPRs", "Spilled VGPRs"
    double value = 0;
  };
  uint32_t subgroup = 0; // lanes
  std::vector<Number> numbers;
  std::string assembly; // machine code as text; empty if the driver does not show it
};

// A kernel as an artifact stores it. `Kernel` in schema/artifact.fbs defines each backend's code.
struct KernelSource {
  std::string_view name;           // for messages
  std::string_view entry = "main"; // the code's entry point
  std::span<const uint32_t> code;
  std::span<const uint8_t> binary; // machine code of the same kernel, used if the device accepts it; may be empty
  uint32_t lanes = 0;              // of a workgroup; at most the device's maxLanes
  uint32_t subgroup = 0;           // lanes that must share a subgroup; at most the device's maxSubgroupSize
  bool exactSubgroup = false;      // the subgroup must have exactly `subgroup` lanes
  uint32_t sharedBytes = 0;        // shared memory of a workgroup; at most the device's maxSharedBytes
  // Arguments that the code also reads through a texel buffer, ascending; see schema/artifact.fbs.
  std::span<const uint32_t> texels;
  uint32_t texelFloats = 4; // f32 of a texel: 1, 2 or 4
};

struct WorkgroupCount {
  uint32_t x = 0, y = 0, z = 0;
};

// A part of a buffer, in bytes. A kernel gets the part's address.
struct Argument {
  const Buffer *buffer = nullptr;
  uint64_t offset = 0, bytes = 0;
  bool read = true, written = true; // false: the kernel certainly does not read it, or not write it
};

// A launch of a kernel within a program. Spans and pointers must live until Device::record() returns. The kernel and
// the buffers must live as long as the program.
struct Launch {
  const Executable *kernel = nullptr;
  std::span<const Argument> arguments;
  uint32_t count = 0;   // index into the workgroup counts that come with each submission
  bool barrier = false; // this launch waits for all earlier launches
  // The indices of the earlier launches that this launch must wait for, transitive dependencies included. If every
  // launch of the program has them, a device that supports dependencies uses them instead of the barriers.
  std::optional<std::span<const uint32_t>> after = std::nullopt;
};

// A write on the queue, before a program. submit() copies the data before it returns.
struct Upload {
  Buffer *to = nullptr;
  uint64_t offset = 0;
  std::span<const std::byte> data;
};

// Bytes on their way to the host, as they are after all submissions before the read. The caller destroys it before the
// device.
class Readback {
public:
  virtual ~Readback() = default;
  // Waits for the copy, but not for later submissions. The bytes live as long as the object.
  virtual Result<std::span<const std::byte>> bytes() = 0;
};

// The devices of several processes, one per process, which exchange tensors in device memory without the hosts' help.
// All of them start the same exchanges in the same order, and finish them in this order. The caller destroys the group
// before the device.
class DeviceGroup {
public:
  // A tensor of an exchange among N devices; `from` and `to` may be the same bytes.
  //   Sum        `to` becomes the sum of all devices' `from`, in f32, with the same bits on each device
  //   SumFor     the same, but only on the device `root`
  //   SumParts   the sum is cut into N equal parts; device n gets part n, at its place in `to`; the other parts of `to`
  //              are undefined
  //   Broadcast  `to` of all devices becomes `from` of the device `root`
  //   Gather     `to` has N equal parts; part n becomes, on all devices, part n of device n's `from`
  struct Tensor {
    enum Kind { Sum, SumFor, SumParts, Broadcast, Gather } kind = Sum;
    uint32_t root = 0;
    const Buffer *from = nullptr;
    uint64_t fromOffset = 0;
    Buffer *to = nullptr;
    uint64_t toOffset = 0;
    uint64_t bytes = 0;
  };

  virtual ~DeviceGroup() = default;
  // Queues an exchange of any number of tensors and returns at once. The exchange begins after all earlier work of the
  // device, and runs concurrently with later work. The tensors must not overlap each other.
  virtual Status start(std::span<const Tensor> tensors) = 0;
  // Makes later work of the device wait for the earliest exchange that is started and not finished. Returns at once.
  virtual Status finish() = 0;
};

// Identifies a group that devices join: the same bytes for all its devices, and different from other groups'.
using GroupId = std::array<std::byte, 128>;

struct LaunchTime {
  uint64_t begin = 0, end = 0; // nanoseconds of the device's clock
};

// A recorded sequence of launches.
class Program {
public:
  virtual ~Program() = default;
  // Queues the uploads, then the program, and returns. Errors of the work itself are reported by the device's wait().
  virtual Status submit(std::span<const Upload> uploads, std::span<const WorkgroupCount> counts) = 0;
  // Waits, and returns the times of the last submission, in the order of the launches. Fails with Unsupported if the
  // program was not recorded with times.
  virtual Result<std::vector<LaunchTime>> launchTimes() = 0;
};

class Device {
public:
  virtual ~Device() = default;
  virtual const DeviceInfo &info() const = 0;

  // Allocates a buffer of zeros. Error messages call it `name` ("the arena", "variable 'embedding'"). Fails with
  // OutOfMemory if there is too little memory, or if the device does not allow buffers of this size.
  Result<std::unique_ptr<Buffer>> allocate(std::string_view name, uint64_t bytes);
  const MemoryUse &memory() const { return use; }

  // Compiles kernels, in parallel if the backend can. The executables are in the order of the sources.
  virtual Result<std::vector<std::unique_ptr<Executable>>> load(std::span<const KernelSource> kernels) = 0;

  // Reports on an executable. The device must have been opened with codeReports. Fails with Unsupported if the driver
  // has no reports.
  virtual Result<CodeReport> report(const Executable &kernel) const;

  // Records launches. Each submission passes `counts` workgroup counts. With `timed`, the device times every launch.
  virtual Result<std::unique_ptr<Program>> record(std::span<const Launch> launches, uint32_t counts, bool timed) = 0;

  // Each of these waits for all earlier submissions. Offsets are in bytes.
  virtual Status wait() = 0;
  virtual Status write(Buffer &to, uint64_t offset, std::span<const std::byte> data) = 0;
  virtual Status read(const Buffer &from, uint64_t offset, std::span<std::byte> into) = 0;

  // Queues a read and returns: for small values that are wanted while later work runs.
  virtual Result<std::unique_ptr<Readback>> readLater(const Buffer &from, uint64_t offset, uint64_t bytes) = 0;

  // The library with which the device exchanges tensors with other processes' devices: "NCCL 2.21.5". Fails with
  // Unsupported, and the reason, if it cannot.
  virtual Result<std::string> groupEngine() const;
  virtual Result<GroupId> newGroupId() const;
  // Joins a group as device `number`. Returns when all devices, 0 to `devices - 1`, have joined.
  virtual Result<std::unique_ptr<DeviceGroup>> joinGroup(const GroupId &id, uint32_t number, uint32_t devices);

private:
  virtual Result<std::unique_ptr<Buffer>> newBuffer(std::string_view name, uint64_t bytes) = 0;
  MemoryUse use;
};

struct DeviceOptions {
  // Lets the host access device memory in place if the device can. Tests turn it off, to exercise everywhere the copies
  // that other devices need.
  bool directAccess = true;
  // Makes the driver keep the data for report(). This also allows devices without memory, which some drivers offer to
  // compile for GPUs that the machine does not have.
  bool codeReports = false;
};

// Lists all devices of this machine: GPUs, CUDA's before Vulkan's, then the processor, then GPUs that drivers emulate.
// A machine without devices, or without a backend's driver, is not an error. A broken driver is an error if no other
// backend has a device, else a warning in the log.
Result<std::vector<DeviceInfo>> listDevices();

// Opens "vulkan:1", "cuda:1" or "cpu:0". "vulkan" and "cuda" open the first usable device of the backend, GPUs before
// emulated ones. There is no silent fallback to another device.
Result<std::unique_ptr<Device>> openDevice(std::string_view choice, const DeviceOptions &options = {});

// The number of warnings and errors that the backends' validation layers have reported in this process. The layers are
// on if the environment has HEDDLE_VALIDATION=1; each message is printed on stderr. Devices report leaks when they are
// closed.
uint64_t validationMessageCount();

} // namespace heddle::hal
