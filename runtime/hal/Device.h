// The hardware abstraction: what the session asks of a device, and nothing else. Backends (Backend.h) live in folders
// beside this file (vulkan/, cuda/, cpu/); their drivers are opened at run time, so that the same build serves machines
// with both drivers, with either, and with neither.
//
// The model is an in-order queue. A program is a fixed sequence of kernel launches over fixed device addresses; it is
// recorded once and submitted many times, with other workgroup counts each time. Submissions run one after the other,
// and the host waits only in wait(), in the reads, and when it runs too far ahead of the device.
//
// A Device and the objects that it made are used by one thread at a time. The caller owns these objects and destroys
// them before the Device.
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
  std::string bus;       // where the GPU is in its machine, "0:65:0" (PCI domain, bus, device); CUDA only
  uint64_t memoryBytes = 0;
  uint64_t maxAllocationBytes = 0;         // of one buffer
  uint32_t subgroupSize = 0;               // lanes of a subgroup where a kernel asks for no size
  uint32_t minSubgroupSize = 0;            // lanes of a subgroup at least, where a kernel asks for a size
  uint32_t maxSubgroupSize = 0;            // and at most
  uint32_t maxLanes = 0;                   // of a workgroup
  uint32_t maxSharedBytes = 0;             // shared memory of a workgroup, on CUDA where a launch asks for it
  uint32_t computeCapability = 0;          // 90 for 9.0; CUDA only
  uint32_t processors = 0;                 // each of which runs workgroups by itself; 0: the driver does not say
  std::array<uint32_t, 3> maxWorkgroups{}; // of a launch, in x, y and z
  bool float16 = false;                    // 16-bit floats, rounded to nearest, in memory and registers; Vulkan only
  bool int16 = false;                      // 16-bit whole numbers, in memory too; Vulkan only
  std::vector<uint32_t> cooperativeSides;  // of square cooperative matrices of f16 with sums of f32; Vulkan only
  bool emulated = false;                   // a GPU that the driver emulates on the processor; it compiles a kernel when
                                           // the kernel is first launched
  bool compilesOnly = false;               // unusable, but for codeReports: it has no memory, and runs nothing
  std::string unusable;                    // the reason why Heddle cannot run on this device; empty where it can
};

// Device memory of all buffers together, in bytes: now, and the largest value so far.
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
  MemoryUse *use = nullptr; // the device's count, which includes this buffer
};

// A kernel made ready for a device.
class Executable {
public:
  virtual ~Executable() = default;
};

// What the driver's compiler says of a kernel that it has compiled.
struct CodeReport {
  struct Number {
    std::string name; // as the driver calls it: "VGPRs", "Spilled VGPRs"
    double value = 0;
  };
  uint32_t subgroup = 0; // lanes
  std::vector<Number> numbers;
  std::string assembly; // machine code as text; empty where the driver does not show it
};

// A recorded sequence of launches.
class Program {
public:
  virtual ~Program() = default;
};

// A kernel as an artifact holds it. `Kernel` of schema/artifact.fbs defines the code of each backend.
struct KernelSource {
  std::string_view name;           // for messages
  std::string_view entry = "main"; // the code's entry point
  std::span<const uint32_t> code;
  std::span<const uint8_t> binary; // machine code of the same kernel, used where the device takes it; may be empty
  uint32_t lanes = 0;              // of a workgroup; at most the device's maxLanes
  uint32_t subgroup = 0;           // lanes that must share a subgroup; at most the device's maxSubgroupSize
  bool exactSubgroup = false;      // a subgroup must not have more of them
  uint32_t sharedBytes = 0; // of a workgroup, which a launch on CUDA asks for; at most the device's maxSharedBytes
  // Arguments that the code reads through a texel buffer beside their address, ascending; see schema/artifact.fbs.
  std::span<const uint32_t> texels;
};

struct WorkgroupCount {
  uint32_t x = 0, y = 0, z = 0;
};

// A part of a buffer, in bytes. A kernel gets the part's address.
struct Argument {
  const Buffer *buffer = nullptr;
  uint64_t offset = 0, bytes = 0;
  bool read = true, written = true; // what the kernel does with it, at most
};

// A launch of a kernel within a program. Spans and pointers must live until Device::record() returns, the kernel and
// the buffers as long as the program.
struct Launch {
  const Executable *kernel = nullptr;
  std::span<const Argument> arguments;
  uint32_t count = 0;   // index into the workgroup counts that come with each submission
  bool barrier = false; // this launch waits for all earlier launches
  // The indices of the earlier launches that this launch must wait for, transitive dependencies included. A device with
  // such dependencies uses them in place of the barriers if every launch of the program has them.
  std::optional<std::span<const uint32_t>> after = std::nullopt;
};

// A write that happens on the queue, before a program; the data is copied before submit() returns.
struct Upload {
  Buffer *to = nullptr;
  uint64_t offset = 0;
  std::span<const std::byte> data;
};

// Bytes on their way to the host: those that the memory had after the submissions before the read. Destroyed before the
// device.
class Readback {
public:
  virtual ~Readback() = default;
  // Waits for the copy, and for nothing that was submitted after it. The bytes live as long as the object.
  virtual Result<std::span<const std::byte>> bytes() = 0;
};

// What devices of several processes, one each, do together with what is in their memories, without the hosts' help. All
// of them start the same exchanges in the same order, and finish them in that order. The device's caller destroys it
// before the device.
class DeviceGroup {
public:
  // A tensor of an exchange; `from` and `to` may be the same bytes.
  //   Sum        `to` gets the sum over all devices of their `from`, f32, the same bits on each
  //   SumFor     `to` of the device `root` alone does
  //   SumParts   of N equal parts of the sum device n gets the nth, in its place in `to`; what the other parts of `to`
  //   have then, nobody may rely on Broadcast  `to` of all devices gets `from` of the device `root` Gather     of N
  //   equal parts of `to` the nth is that of `from` of device n, on all devices
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
  // Queues an exchange of any number of tensors, which begins when all that the device was given before is done, beside
  // what it is given afterwards. Returns at once. No tensor's bytes may be another one's.
  virtual Status start(std::span<const Tensor> tensors) = 0;
  // What the device is given from now on waits for the earliest exchange that was started and not finished. Returns at
  // once.
  virtual Status finish() = 0;
};

// Names a group that is to be made; the same bytes for all its devices, and for no other group.
using GroupId = std::array<std::byte, 128>;

struct LaunchTime {
  uint64_t begin = 0, end = 0; // nanoseconds of the device's clock
};

class Device {
public:
  virtual ~Device() = default;
  virtual const DeviceInfo &info() const = 0;

  // Error messages call the memory `name` ("the arena", "variable 'embedding'"). Contents are zero. Too little memory,
  // or more bytes than the device allows for a buffer, is OutOfMemory.
  Result<std::unique_ptr<Buffer>> allocate(std::string_view name, uint64_t bytes);
  const MemoryUse &memory() const { return use; }

  // Compiles kernels, in parallel where the backend can. The executables are in the sources' order.
  virtual Result<std::vector<std::unique_ptr<Executable>>> load(std::span<const KernelSource> kernels) = 0;

  // Of an executable of a device that was opened with codeReports. Unsupported where the driver tells nothing.
  virtual Result<CodeReport> report(const Executable &kernel) const;

  // Records launches; each submission brings `counts` workgroup counts. With `timed`, the device times every launch,
  // and launchTimes() returns the times of the last submission, in the launches' order, after a wait().
  virtual Result<std::unique_ptr<Program>> record(std::span<const Launch> launches, uint32_t counts, bool timed) = 0;

  // Queues the uploads, then the program, and returns. Errors of the work itself are those of a later wait().
  virtual Status submit(Program &program, std::span<const Upload> uploads, std::span<const WorkgroupCount> counts) = 0;
  virtual Result<std::vector<LaunchTime>> launchTimes(Program &program) = 0;

  // Each of these waits for all earlier submissions. Offsets are in bytes.
  virtual Status wait() = 0;
  virtual Status write(Buffer &to, uint64_t offset, std::span<const std::byte> data) = 0;
  virtual Status read(const Buffer &from, uint64_t offset, std::span<std::byte> into) = 0;

  // Queues a read and returns: for small values that are wanted while later work runs.
  virtual Result<std::unique_ptr<Readback>> readLater(const Buffer &from, uint64_t offset, uint64_t bytes) = 0;

  // By what the device exchanges numbers with other processes' devices: "NCCL 2.21.5". Unsupported, with the reason,
  // where it cannot.
  virtual Result<std::string> groupEngine() const;
  virtual Result<GroupId> newGroupId() const;
  // Returns when devices `0` to `devices - 1` have joined, of which this is number `number`.
  virtual Result<std::unique_ptr<DeviceGroup>> joinGroup(const GroupId &id, uint32_t number, uint32_t devices);

private:
  virtual Result<std::unique_ptr<Buffer>> newBuffer(std::string_view name, uint64_t bytes) = 0;
  MemoryUse use;
};

struct DeviceOptions {
  // Lets the host touch device memory in place where the device has such memory. Tests turn it off, so that the copies
  // that other devices need are exercised everywhere.
  bool directAccess = true;
  // Has the driver keep what report() tells. A device without memory will do, as drivers offer it that compile for GPUs
  // which are not there.
  bool codeReports = false;
};

// All devices of this machine: GPUs, CUDA's before Vulkan's, then the processor, then GPUs that drivers emulate. A
// machine without devices, or without a backend's driver, is no error. A driver that is there but broken is an error if
// no other backend has a device, else a warning in the log.
Result<std::vector<DeviceInfo>> listDevices();

// Opens "vulkan:1", "cuda:1" or "cpu:0"; "vulkan" and "cuda" are the first usable device of that backend, GPUs before
// emulated ones. There is no silent fallback: the device that was asked for is opened, or the result is an error.
Result<std::unique_ptr<Device>> openDevice(std::string_view choice, const DeviceOptions &options = {});

// How many warnings and errors the backend's validation layers have reported in this process. The layers are on when
// the environment has HEDDLE_VALIDATION=1; each message is printed on stderr. Devices report leaks when they are
// closed.
uint64_t validationMessageCount();

} // namespace heddle::hal
