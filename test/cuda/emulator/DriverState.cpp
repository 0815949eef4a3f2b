#include "test/cuda/emulator/DriverState.h"

#include "test/cuda/emulator/Cluster.h"
#include "test/cuda/emulator/Memory.h"
#include "test/cuda/emulator/Registers.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

namespace heddle::emulator {

thread_local Context *currentContext = nullptr;

Driver &Driver::get() {
  static Driver *driver = new Driver; // never destroyed: code that runs at process exit may use it
  return *driver;
}

Call::Call() : lock(Driver::get().mutex) {
  Driver &driver = Driver::get();
  result = !driver.initialised         ? kErrorNotInitialized
           : !currentContext           ? kErrorInvalidContext
           : !currentContext->retained ? kErrorContextIsDestroyed
                                       : currentContext->sticky;
}

Stream *findStream(Context &context, void *handle) {
  // Null, CU_STREAM_LEGACY and CU_STREAM_PER_THREAD.
  if (reinterpret_cast<uintptr_t>(handle) <= 2)
    return &context.defaultStream;
  auto *stream = static_cast<Stream *>(handle);
  return context.streams.count(stream) ? stream : nullptr;
}

void Context::clear() {
  if (!allocations.empty()) {
    uint64_t total = 0;
    for (auto [address, size] : allocations)
      total += size;
    std::fprintf(stderr,
                 "heddle emulator: %zu allocations (%llu bytes) are leaked as the context is released; the first has "
                 "%llu bytes\n",
                 allocations.size(), static_cast<unsigned long long>(total),
                 static_cast<unsigned long long>(allocations.begin()->second));
  }
  if (!hostAllocations.empty())
    std::fprintf(stderr, "heddle emulator: %zu host allocations are leaked as the context is released\n",
                 hostAllocations.size());
  for (auto [address, size] : allocations)
    Memory::get().release(address);
  for (auto [pointer, size] : hostAllocations)
    std::free(pointer);
  for (Stream *stream : streams)
    delete stream;
  for (Event *event : events)
    delete event;
  for (GraphExec *exec : execs)
    delete exec;
  for (Graph *graph : graphs)
    delete graph;
  for (LoadedModule *module : modules)
    delete module;
  *this = {};
}

int makeLaunch(Context &context, void *function, const uint32_t grid[3], const uint32_t block[3], uint32_t dynamicBytes,
               void **parameters, void **extra, Operation &operation) {
  auto *kernel = static_cast<Kernel *>(function);
  if (!context.kernels.count(kernel))
    return kErrorInvalidHandle;
  const uint64_t gridLimits[] = {0x7fffffff, 65535, 65535}, blockLimits[] = {1024, 1024, 64};
  uint64_t threads = 1;
  for (int i = 0; i < 3; ++i) {
    if (grid[i] == 0 || grid[i] > gridLimits[i] || block[i] == 0 || block[i] > blockLimits[i])
      return kErrorInvalidValue;
    threads *= block[i];
  }
  if (threads > 1024)
    return kErrorInvalidValue;
  const uint32_t *required = kernel->function->requiredThreads;
  if (required[0] && !std::equal(block, block + 3, required))
    return kErrorInvalidValue;
  if (threads > kernel->maxThreads || !kernel->fits(threads))
    return kErrorLaunchOutOfResources;
  if (dynamicBytes > kernel->maxDynamicBytes)
    return kErrorInvalidValue;
  operation.kind = Operation::Kernel;
  operation.access = std::exchange(Driver::get().declared, {});
  operation.kernel = kernel;
  std::copy_n(grid, 3, operation.grid);
  std::copy_n(block, 3, operation.block);
  operation.dynamicBytes = dynamicBytes;
  if (const uint32_t *cluster = kernel->function->requiredCluster; cluster[0])
    if (int error = setCluster(operation, cluster))
      return error;
  operation.params.assign(kernel->layout.paramBytes, 0);
  if (extra) {
    // 1: the buffer; 2: a pointer to its size; 0: the end.
    const void *buffer = nullptr;
    size_t size = 0;
    for (; *extra; extra += 2) {
      if (*extra == reinterpret_cast<void *>(1))
        buffer = extra[1];
      else if (*extra == reinterpret_cast<void *>(2))
        size = *static_cast<size_t *>(extra[1]);
      else
        return kErrorInvalidValue;
    }
    if (parameters || !buffer || size < kernel->layout.paramBytes)
      return kErrorInvalidValue;
    std::memcpy(operation.params.data(), buffer, kernel->layout.paramBytes);
    return kSuccess;
  }
  for (size_t i = 0; i < kernel->layout.paramSizes.size(); ++i) {
    if (!parameters || !parameters[i])
      return kErrorInvalidValue;
    std::memcpy(operation.params.data() + kernel->layout.paramOffsets[i], parameters[i], kernel->layout.paramSizes[i]);
  }
  return kSuccess;
}

int setCluster(Operation &operation, const uint32_t cluster[3]) {
  if (Driver::get().target < 90)
    return kErrorNotSupported;
  const uint32_t *required = operation.kernel->function->requiredCluster;
  if (required[0] && !std::equal(cluster, cluster + 3, required))
    return kErrorInvalidClusterSize;
  uint64_t blocks = 1;
  for (unsigned i = 0; i < 3; ++i) {
    if (cluster[i] == 0 || operation.grid[i] % cluster[i])
      return kErrorInvalidValue;
    blocks *= cluster[i];
  }
  // Larger clusters are not portable.
  if (blocks > Cluster::kMostBlocks)
    return kErrorInvalidClusterSize;
  std::copy_n(cluster, 3, operation.cluster);
  return kSuccess;
}

int checkOperation(const Operation &operation) {
  Memory &memory = Memory::get();
  bool toDevice = operation.kind == Operation::HostToDevice || operation.kind == Operation::DeviceToDevice ||
                  operation.kind == Operation::Fill;
  bool fromDevice = operation.kind == Operation::DeviceToHost || operation.kind == Operation::DeviceToDevice;
  if (operation.bytes == 0)
    return kSuccess;
  if (toDevice && !memory.contains(operation.to, operation.bytes))
    return kErrorInvalidValue;
  if (fromDevice && !memory.contains(operation.from, operation.bytes))
    return kErrorInvalidValue;
  if ((operation.kind == Operation::HostToDevice && !operation.from) ||
      (operation.kind == Operation::DeviceToHost && !operation.to))
    return kErrorInvalidValue;
  return kSuccess;
}

namespace {

// Marks the memory that a kernel may access while it runs.
class DeclaredMemory {
public:
  explicit DeclaredMemory(const Operation &operation) : ranges(operation.access) {
    for (const DeclaredAccess &range : ranges)
      Memory::get().allow(range.address, range.bytes,
                          static_cast<uint8_t>((range.access & 1 ? kMayRead | kMayReadEarly : 0) |
                                               (range.access & 2 ? kMayWrite | kMayWriteEarly : 0)));
    for (const DeclaredAccess &range : operation.before)
      Memory::get().remove(range.address, range.bytes,
                           range.access & 2 ? kMayReadEarly | kMayWriteEarly : kMayWriteEarly);
  }
  ~DeclaredMemory() {
    for (const DeclaredAccess &range : ranges)
      Memory::get().forbid(range.address, range.bytes);
  }
  bool any() const { return !ranges.empty(); }

private:
  const std::vector<DeclaredAccess> &ranges;
};

} // namespace

static void launch(Context &context, const Operation &operation) {
  Kernel &kernel = *operation.kernel;
  Launch launch{};
  launch.name = kernel.name.c_str();
  launch.kernel = kernel.compiled();
  // Tensor maps among the parameters are aligned to 64 bytes.
  constexpr size_t alignment = 64;
  std::vector<uint8_t> room(operation.params.size() + alignment);
  uint8_t *params = room.data() + (alignment - reinterpret_cast<uint64_t>(room.data()) % alignment);
  std::copy(operation.params.begin(), operation.params.end(), params);
  launch.params = params;
  launch.paramBytes = operation.params.size();
  std::copy_n(operation.grid, 3, launch.grid);
  std::copy_n(operation.block, 3, launch.block);
  std::copy_n(operation.cluster, 3, launch.cluster);
  launch.sharedBytes = kernel.layout.sharedBytes + operation.dynamicBytes;
  launch.dynamicBytes = operation.dynamicBytes;
  launch.registers = registerLimit(*kernel.function) / 8 * 8;
  launch.races = kernel.module->races();
  launch.async = kernel.module->usesAsyncProxy();
  launch.initialised = kernel.module->checksInitialised();
  DeclaredMemory declared(operation);
  launch.dependent = operation.dependent;
  launch.declared = declared.any();
  Fault fault = runGrid(launch);
  if (!fault.code)
    return;
  std::fprintf(stderr, "heddle emulator: %s\n", fault.message.c_str());
  context.sticky = fault.code;
}

// Writes a line about each operation to the file that HEDDLE_EMULATOR_LOG names.
static void note(const std::string &line) {
  static std::FILE *log = [] {
    const char *path = std::getenv("HEDDLE_EMULATOR_LOG");
    return path ? std::fopen(path, "w") : nullptr;
  }();
  if (!log || line.empty())
    return;
  std::fprintf(log, "%s\n", line.c_str());
  std::fflush(log);
}

static std::string lineOf(const Operation &operation) {
  switch (operation.kind) {
  case Operation::Kernel:
    return "launch " + operation.kernel->name;
  case Operation::HostToDevice:
    return "to-device " + std::to_string(operation.bytes);
  case Operation::DeviceToHost:
    return "to-host " + std::to_string(operation.bytes);
  default:
    return {};
  }
}

void execute(Context &context, const Operation &operation) {
  if (context.sticky)
    return;
  note(lineOf(operation));
  Memory &memory = Memory::get();
  auto *to = reinterpret_cast<uint8_t *>(operation.to);
  auto *from = reinterpret_cast<const uint8_t *>(operation.from);
  // A graph node may outlive the memory that it copies.
  if (checkOperation(operation) != kSuccess) {
    std::fprintf(stderr, "heddle emulator: a copy of %llu bytes lies outside of every allocation\n",
                 static_cast<unsigned long long>(operation.bytes));
    context.sticky = kErrorIllegalAddress;
    return;
  }
  switch (operation.kind) {
  case Operation::Empty:
    return;
  case Operation::HostFunction:
    return operation.function(operation.data);
  case Operation::Kernel:
    return launch(context, operation);
  case Operation::HostToDevice:
    std::memcpy(to, from, operation.bytes);
    return memory.markWritten(operation.to, operation.bytes);
  case Operation::DeviceToHost:
    std::memcpy(to, from, operation.bytes);
    return;
  case Operation::DeviceToDevice:
    std::memmove(to, from, operation.bytes);
    return memory.copyShadow(operation.to, operation.from, operation.bytes);
  case Operation::Fill:
    for (uint64_t i = 0; i < operation.bytes; i += operation.valueBytes)
      std::memcpy(to + i, &operation.value, operation.valueBytes);
    return memory.markWritten(operation.to, operation.bytes);
  }
}

void runIn(Context &context, Stream &stream, Operation operation) {
  stream.lastWork = ++context.work;
  if (operation.dependent)
    operation.before = stream.lastAccess;
  stream.lastAccess = operation.access;
  if (operation.kind == Operation::HostFunction || !stream.queued.empty())
    stream.queued.push_back(operation);
  else
    execute(context, operation);
}

static void drainUntil(Context &context, Stream &stream, uint64_t end) {
  while (!stream.queued.empty() && stream.begun < end) {
    Operation operation = std::move(stream.queued.front());
    stream.queued.pop_front();
    ++stream.begun;
    execute(context, operation);
  }
}

void drain(Context &context, Stream &stream) { drainUntil(context, stream, stream.begun + stream.queued.size()); }

void drain(Context &context, const Event &event) {
  if (event.stream)
    drainUntil(context, *event.stream, event.after);
}

void drainAll(Context &context) {
  drain(context, context.defaultStream);
  for (Stream *stream : context.streams)
    drain(context, *stream);
}

int submit(Context &context, Stream &stream, Operation operation) {
  if (int error = checkOperation(operation))
    return error;
  if (!stream.capture) {
    runIn(context, stream, operation);
    return kSuccess;
  }
  if (stream.captureBroken)
    return kErrorStreamCaptureInvalidated;
  auto node = std::make_unique<Node>();
  node->operation = std::move(operation);
  node->after = stream.captureAfter;
  stream.captureAfter = {node.get()};
  stream.capture->nodes.push_back(std::move(node));
  return kSuccess;
}

} // namespace heddle::emulator

// Not part of NVIDIA's API; called by the emulated NCCL. Writes a line to the log, or sets an error that ends all
// further work.
HEDDLE_CUDA_API heddleNote(const char *line) {
  std::lock_guard lock(heddle::emulator::Driver::get().mutex);
  heddle::emulator::note(line);
  return heddle::emulator::kSuccess;
}

// Returns whether the stream's next work follows all work of the other streams, because the stream has waited for it.
// Copies in the default stream are finished when their call returns.
HEDDLE_CUDA_API heddleFollowsAll(void *handle) {
  using namespace heddle::emulator;
  Driver &driver = Driver::get();
  std::lock_guard lock(driver.mutex);
  Stream *stream = findStream(driver.context, handle);
  if (!stream)
    return kErrorInvalidHandle;
  for (Stream *other : driver.context.streams)
    if (auto waited = stream->waited.find(other);
        other != stream && other->lastWork > (waited == stream->waited.end() ? 0 : waited->second))
      return kErrorNotReady;
  return kSuccess;
}

HEDDLE_CUDA_API heddleFail(const char *message) {
  heddle::emulator::Driver &driver = heddle::emulator::Driver::get();
  std::lock_guard lock(driver.mutex);
  std::fprintf(stderr, "heddle emulator: %s\n", message);
  driver.context.sticky = heddle::emulator::kErrorLaunchFailed;
  return heddle::emulator::kSuccess;
}
