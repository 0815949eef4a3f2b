// A CUDA device.
#pragma once

#include "runtime/hal/cuda/CudaStream.h"

namespace heddle::hal::cuda {

class CudaBuffer : public Buffer {
public:
  CudaBuffer(const Context &context, Stream &stream, CUdeviceptr address, uint64_t bytes)
      : context(context), stream(stream) {
    size = bytes;
    deviceAddress = address;
  }
  ~CudaBuffer() override;

private:
  const Context &context;
  Stream &stream;
};

class CudaKernel : public Executable {
public:
  CudaKernel(const Context &context, const KernelSource &source)
      : name(source.name), lanes(source.lanes), sharedBytes(source.sharedBytes), context(context) {}
  ~CudaKernel() override;
  Status load(const KernelSource &source);

  const std::string name;
  const uint32_t lanes, sharedBytes;
  CUfunction function = nullptr;

private:
  Status loadModule(const KernelSource &source);

  const Context &context;
  CUmodule module = nullptr;
};

// A program is a graph of kernels that the driver starts in one call. Workgroup counts that differ from the previous
// submission's are first set in the graph, and then a single update transfers them to the executable graph. Nodes
// without workgroups are disabled. Launches are started one by one instead if they are timed, or if
// CUDA_LAUNCH_BLOCKING=1 asks to wait for each of them, so that errors name the kernel.
class CudaProgram : public Program {
public:
  CudaProgram(Context &context, Stream &stream) : context(context), stream(stream) {}
  ~CudaProgram() override;

  Status record(std::span<const Launch> launches, uint32_t counts, bool timed);
  Status submit(std::span<const Upload> uploads, std::span<const WorkgroupCount> counts) override;
  Result<std::vector<LaunchTime>> launchTimes() override;

private:
  struct Node {
    const CudaKernel *kernel = nullptr;
    uint32_t count = 0;
    bool barrier = false;
    size_t firstArgument = 0; // index into `addresses`, `arguments` and `accesses`
    CUgraphNode handle = nullptr;
  };

  KernelNodeParams parameters(const Node &node, WorkgroupCount count);
  void describe();
  void declareAccess(const Node &node) const;
  Status buildGraph(std::span<const Launch> launches);
  Status updateGraph(std::span<const WorkgroupCount> counts);
  Status launchEach(std::span<const WorkgroupCount> counts);
  Status start(std::span<const WorkgroupCount> counts);

  Context &context;
  Stream &stream;
  std::vector<Node> nodes;
  std::vector<uint64_t> addresses; // of every launch's arguments
  std::vector<void *> arguments;   // pointers into `addresses`, for the driver
  std::vector<DeclaredAccess> accesses;
  std::vector<std::vector<uint32_t>> nodesOfCount;
  std::vector<WorkgroupCount> current; // the counts that the graph's nodes have
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  std::vector<CUevent> events; // timed programs only: before the first launch and after each
  bool blocking = false;
  std::shared_ptr<const std::string> description;
};

class CudaReadback : public Readback {
public:
  CudaReadback(const Context &context, Stream &stream, std::unique_ptr<Stream::Slot> slot)
      : context(context), stream(stream), slot(std::move(slot)) {}
  ~CudaReadback() override { stream.giveBack(std::move(slot)); }
  Result<std::span<const std::byte>> bytes() override {
    Current current(context);
    return stream.bytesOf(*slot);
  }

private:
  const Context &context;
  Stream &stream;
  std::unique_ptr<Stream::Slot> slot;
};

class CudaDevice : public Device {
public:
  static Result<std::unique_ptr<Device>> open(const Driver &cuda, int index, DeviceInfo info);
  ~CudaDevice() override;

  const DeviceInfo &info() const override { return context.info; }
  Result<std::vector<std::unique_ptr<Executable>>> load(std::span<const KernelSource> kernels) override;
  Result<std::unique_ptr<Program>> record(std::span<const Launch> launches, uint32_t counts, bool timed) override;
  Status wait() override;
  Status write(Buffer &to, uint64_t offset, std::span<const std::byte> data) override;
  Status read(const Buffer &from, uint64_t offset, std::span<std::byte> into) override;
  Result<std::unique_ptr<Readback>> readLater(const Buffer &from, uint64_t offset, uint64_t bytes) override;
  Result<std::string> groupEngine() const override;
  Result<GroupId> newGroupId() const override;
  Result<std::unique_ptr<DeviceGroup>> joinGroup(const GroupId &id, uint32_t number, uint32_t devices) override;

private:
  Result<std::unique_ptr<Buffer>> newBuffer(std::string_view name, uint64_t bytes) override;
  CudaDevice() = default;

  Context context;
  std::unique_ptr<Stream> stream;
};

} // namespace heddle::hal::cuda
