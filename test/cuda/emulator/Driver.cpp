// The driver API except for modules and graphs. Work runs when it is submitted; later calls report a kernel's fault.
#include "test/cuda/emulator/DriverState.h"
#include "test/cuda/emulator/Memory.h"
#include "test/cuda/emulator/Registers.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <unistd.h>

using namespace heddle::emulator;

namespace {

constexpr int kLeastPriority = 0, kGreatestPriority = -5;

// The check of calls that need no context.
int initialised(Device device) {
  if (!Driver::get().initialised)
    return kErrorNotInitialized;
  return device == 0 ? kSuccess : kErrorInvalidDevice;
}

bool capturing(Context &context) {
  return std::any_of(context.streams.begin(), context.streams.end(), [](Stream *stream) { return stream->capture; });
}

// Calls that wait for work cannot be captured, and invalidate the capture.
int refuseCapture(Context &context) {
  if (!capturing(context))
    return kSuccess;
  for (Stream *stream : context.streams)
    stream->captureBroken = stream->capture != nullptr;
  return kErrorStreamCaptureUnsupported;
}

int copyNow(Operation::Kind kind, uint64_t to, uint64_t from, size_t bytes) {
  Call call;
  if (call.error())
    return call.error();
  if (int error = refuseCapture(call.context()))
    return error;
  Operation operation;
  operation.kind = kind;
  operation.to = to;
  operation.from = from;
  operation.bytes = bytes;
  return submit(call.context(), call.context().defaultStream, operation);
}

int copyLater(Operation::Kind kind, uint64_t to, uint64_t from, size_t bytes, void *handle) {
  Call call;
  if (call.error())
    return call.error();
  Stream *stream = findStream(call.context(), handle);
  if (!stream)
    return kErrorInvalidHandle;
  Operation operation;
  operation.kind = kind;
  operation.to = to;
  operation.from = from;
  operation.bytes = bytes;
  return submit(call.context(), *stream, operation);
}

int fill(uint64_t to, uint32_t value, uint32_t valueBytes, size_t count, void *handle) {
  Call call;
  if (call.error())
    return call.error();
  Stream *stream = findStream(call.context(), handle);
  if (!stream)
    return kErrorInvalidHandle;
  if (to % valueBytes)
    return kErrorInvalidValue;
  Operation operation;
  operation.kind = Operation::Fill;
  operation.to = to;
  operation.bytes = count * valueBytes;
  operation.value = value;
  operation.valueBytes = valueBytes;
  return submit(call.context(), *stream, operation);
}

uint64_t bits(const void *pointer) { return reinterpret_cast<uint64_t>(pointer); }

} // namespace

HEDDLE_CUDA_API cuInit(unsigned flags) {
  Driver &driver = Driver::get();
  std::lock_guard lock(driver.mutex);
  if (flags)
    return kErrorInvalidValue;
  const char *target = std::getenv("HEDDLE_EMULATOR_SM");
  if (!driver.context.retained) {
    driver.target = target && *target ? static_cast<unsigned>(std::atoi(target)) : 90;
    if (driver.target != 80 && driver.target != 86 && driver.target != 89 && driver.target != 90) {
      std::fprintf(stderr, "heddle emulator: HEDDLE_EMULATOR_SM is 80, 86, 89 or 90, not '%s'\n", target);
      driver.initialised = false;
      return kErrorNoDevice;
    }
  }
  driver.initialised = true;
  return kSuccess;
}

HEDDLE_CUDA_API cuDriverGetVersion(int *version) {
  if (!version)
    return kErrorInvalidValue;
  *version = 13000;
  return kSuccess;
}

HEDDLE_CUDA_API cuGetProcAddress_v2(const char *symbol, void **function, int version, unsigned long long flags,
                                    int *status) {
  if (!symbol || !function)
    return kErrorInvalidValue;
  // Finds the newest version of a name among this library's exports.
  static void *self = [] {
    Dl_info info;
    return dladdr(reinterpret_cast<void *>(&cuInit), &info) ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
  }();
  *function = nullptr;
  for (const char *suffix : {"_v2", ""})
    if (!*function && self)
      *function = dlsym(self, (std::string(symbol) + suffix).c_str());
  if (status)
    *status = *function ? 0 : 1; // CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND
  return *function ? kSuccess : kErrorNotFound;
}

// Devices.

HEDDLE_CUDA_API cuDeviceGetCount(int *count) {
  if (int error = initialised(0))
    return error;
  if (!count)
    return kErrorInvalidValue;
  *count = 1;
  return kSuccess;
}

HEDDLE_CUDA_API cuDeviceGet(Device *device, int ordinal) {
  if (int error = initialised(ordinal))
    return error;
  if (!device)
    return kErrorInvalidValue;
  *device = 0;
  return kSuccess;
}

HEDDLE_CUDA_API cuDeviceGetName(char *name, int length, Device device) {
  if (int error = initialised(device))
    return error;
  if (!name || length <= 0)
    return kErrorInvalidValue;
  std::snprintf(name, static_cast<size_t>(length), "Heddle emulator");
  return kSuccess;
}

HEDDLE_CUDA_API cuDeviceTotalMem_v2(size_t *bytes, Device device) {
  if (int error = initialised(device))
    return error;
  if (!bytes)
    return kErrorInvalidValue;
  *bytes = Memory::kSize;
  return kSuccess;
}

HEDDLE_CUDA_API cuDeviceGetUuid(Uuid *uuid, Device device) {
  if (int error = initialised(device))
    return error;
  if (!uuid)
    return kErrorInvalidValue;
  std::memcpy(uuid->bytes, "heddle emulator", 16);
  return kSuccess;
}

HEDDLE_CUDA_API cuDeviceGetUuid_v2(Uuid *uuid, Device device) { return cuDeviceGetUuid(uuid, device); }

HEDDLE_CUDA_API cuDeviceGetAttribute(int *value, int attribute, Device device) {
  if (int error = initialised(device))
    return error;
  if (!value)
    return kErrorInvalidValue;
  const Driver &driver = Driver::get();
  auto optin = static_cast<int>(driver.sharedOptin());
  const char *domain = std::getenv("HEDDLE_EMULATOR_PCI_DOMAIN");
  const std::map<int, int> attributes = {
      {kMaxThreadsPerBlock, 1024},
      {kMaxBlockDimX, 1024},
      {kMaxBlockDimY, 1024},
      {kMaxBlockDimZ, 64},
      {kMaxGridDimX, 0x7fffffff},
      {kMaxGridDimY, 65535},
      {kMaxGridDimZ, 65535},
      {kMaxSharedPerBlock, kStaticSharedLimit},
      {kTotalConstantMemory, 65536},
      {kWarpSize, 32},
      {kMaxPitch, 0x7fffffff},
      {kMaxRegistersPerBlock, kRegisters},
      {kClockRate, 1000000},
      {kTextureAlignment, 512},
      {kMultiprocessorCount, 4},
      {kKernelExecTimeout, 0},
      {kIntegrated, 0},
      {kCanMapHostMemory, 0},
      {kComputeMode, 0},
      {kConcurrentKernels, 1},
      {kEccEnabled, 0},
      {kPciBusId, 0},
      {kPciDeviceId, 0},
      {kPciDomainId, domain ? std::atoi(domain) : ::getpid()}, // different in each process, as if each had its own GPU
      {kMemoryClockRate, 1000000},
      {kGlobalMemoryBusWidth, 64},
      {kL2CacheSize, 4 << 20},
      {kMaxThreadsPerMultiprocessor, 2048},
      {kAsyncEngineCount, 1},
      {kUnifiedAddressing, 1},
      {kComputeCapabilityMajor, static_cast<int>(driver.target / 10)},
      {kComputeCapabilityMinor, static_cast<int>(driver.target % 10)},
      {kMaxSharedPerMultiprocessor, optin + 1024},
      {kMaxRegistersPerMultiprocessor, kRegisters},
      {kManagedMemory, 0},
      {kCooperativeLaunch, 0},
      {kMaxSharedPerBlockOptin, optin},
      {kMaxBlocksPerMultiprocessor, 32},
      {kReservedSharedPerBlock, 1024},
      {kMemoryPoolsSupported, 0},
      {kClusterLaunch, driver.target >= 90},
  };
  auto found = attributes.find(attribute);
  if (found == attributes.end())
    return kErrorInvalidValue;
  *value = found->second;
  return kSuccess;
}

// Contexts.

HEDDLE_CUDA_API cuDevicePrimaryCtxRetain(void **context, Device device) {
  Driver &driver = Driver::get();
  std::lock_guard lock(driver.mutex);
  if (int error = initialised(device))
    return error;
  if (!context)
    return kErrorInvalidValue;
  ++driver.context.retained;
  *context = &driver.context;
  return kSuccess;
}

HEDDLE_CUDA_API cuDevicePrimaryCtxRelease_v2(Device device) {
  Driver &driver = Driver::get();
  std::lock_guard lock(driver.mutex);
  if (int error = initialised(device))
    return error;
  if (!driver.context.retained)
    return kErrorInvalidContext;
  if (--driver.context.retained == 0)
    driver.context.clear();
  return kSuccess;
}

HEDDLE_CUDA_API cuCtxSetCurrent(void *context) {
  Driver &driver = Driver::get();
  std::lock_guard lock(driver.mutex);
  if (!driver.initialised)
    return kErrorNotInitialized;
  if (context && (context != &driver.context || !driver.context.retained))
    return kErrorInvalidContext;
  currentContext = static_cast<Context *>(context);
  return kSuccess;
}

HEDDLE_CUDA_API cuCtxGetCurrent(void **context) {
  if (!Driver::get().initialised)
    return kErrorNotInitialized;
  if (!context)
    return kErrorInvalidValue;
  *context = currentContext;
  return kSuccess;
}

HEDDLE_CUDA_API cuCtxSynchronize() {
  Call call;
  if (call.error())
    return call.error();
  if (int error = refuseCapture(call.context()))
    return error;
  drainAll(call.context());
  return call.context().sticky;
}

HEDDLE_CUDA_API cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  Call call;
  if (call.error())
    return call.error();
  if (least)
    *least = kLeastPriority;
  if (greatest)
    *greatest = kGreatestPriority;
  return kSuccess;
}

// Streams and events.

HEDDLE_CUDA_API cuStreamCreate(void **stream, unsigned flags) {
  Call call;
  if (call.error())
    return call.error();
  if (!stream || flags > 1)
    return kErrorInvalidValue;
  auto *made = new Stream;
  call.context().streams.insert(made);
  *stream = made;
  return kSuccess;
}

HEDDLE_CUDA_API cuStreamCreateWithPriority(void **stream, unsigned flags, int priority) {
  (void)priority; // out-of-range numbers are clamped, and the emulator ignores priorities
  return cuStreamCreate(stream, flags);
}

HEDDLE_CUDA_API cuStreamDestroy_v2(void *stream) {
  Call call;
  if (call.error())
    return call.error();
  auto *own = static_cast<Stream *>(stream);
  if (!call.context().streams.count(own))
    return kErrorInvalidHandle;
  if (own->capture)
    return kErrorStreamCaptureUnsupported;
  drain(call.context(), *own);
  for (Event *event : call.context().events)
    for (Stream **of : {&event->stream, &event->recordedIn})
      if (*of == own)
        *of = nullptr;
  for (Stream *other : call.context().streams)
    other->waited.erase(own);
  call.context().streams.erase(own);
  delete own;
  return kSuccess;
}

HEDDLE_CUDA_API cuStreamSynchronize(void *handle) {
  Call call;
  if (call.error())
    return call.error();
  Stream *stream = findStream(call.context(), handle);
  if (!stream)
    return kErrorInvalidHandle;
  if (stream->capture) {
    stream->captureBroken = true;
    return kErrorStreamCaptureUnsupported;
  }
  drain(call.context(), *stream);
  return call.context().sticky;
}

HEDDLE_CUDA_API cuStreamQuery(void *stream) { return cuStreamSynchronize(stream); }

HEDDLE_CUDA_API cuStreamWaitEvent(void *handle, void *eventHandle, unsigned flags) {
  Call call;
  if (call.error())
    return call.error();
  Stream *stream = findStream(call.context(), handle);
  auto *event = static_cast<Event *>(eventHandle);
  if (!stream || !call.context().events.count(event))
    return kErrorInvalidHandle;
  if (flags > 1)
    return kErrorInvalidValue;
  if (!event->capture) { // all work before the event is done, except for queued work
    if (event->recordedIn)
      stream->waited[event->recordedIn] = std::max(stream->waited[event->recordedIn], event->lastWork);
    drain(call.context(), *event);
    return kSuccess;
  }
  // The stream joins the capture.
  if (stream->capture && stream->capture != event->capture)
    return kErrorIllegalState;
  stream->capture = event->capture;
  for (Node *node : event->captureAfter)
    if (!std::count(stream->captureAfter.begin(), stream->captureAfter.end(), node))
      stream->captureAfter.push_back(node);
  return kSuccess;
}

HEDDLE_CUDA_API cuEventCreate(void **event, unsigned flags) {
  Call call;
  if (call.error())
    return call.error();
  if (!event || flags > 7)
    return kErrorInvalidValue;
  auto *made = new Event;
  made->timed = !(flags & 2); // CU_EVENT_DISABLE_TIMING
  call.context().events.insert(made);
  *event = made;
  return kSuccess;
}

HEDDLE_CUDA_API cuEventRecord(void *handle, void *streamHandle) {
  Call call;
  if (call.error())
    return call.error();
  Stream *stream = findStream(call.context(), streamHandle);
  auto *event = static_cast<Event *>(handle);
  if (!stream || !call.context().events.count(event))
    return kErrorInvalidHandle;
  event->capture = stream->capture;
  event->captureAfter = stream->captureAfter;
  event->recorded = !stream->capture;
  event->stream = stream->queued.empty() ? nullptr : stream;
  event->after = stream->begun + stream->queued.size();
  event->recordedIn = stream;
  event->lastWork = stream->lastWork;
  event->time = std::chrono::steady_clock::now();
  return kSuccess;
}

HEDDLE_CUDA_API cuEventSynchronize(void *handle) {
  Call call;
  if (call.error())
    return call.error();
  auto *event = static_cast<Event *>(handle);
  if (!call.context().events.count(event))
    return kErrorInvalidHandle;
  if (event->capture)
    return kErrorStreamCaptureUnsupported;
  drain(call.context(), *event);
  return call.context().sticky;
}

HEDDLE_CUDA_API cuEventQuery(void *event) { return cuEventSynchronize(event); }

HEDDLE_CUDA_API cuEventElapsedTime(float *milliseconds, void *first, void *second) {
  Call call;
  if (call.error())
    return call.error();
  auto *start = static_cast<Event *>(first), *end = static_cast<Event *>(second);
  if (!milliseconds)
    return kErrorInvalidValue;
  auto &events = call.context().events;
  if (!events.count(start) || !events.count(end) || !start->recorded || !end->recorded || !start->timed || !end->timed)
    return kErrorInvalidHandle;
  *milliseconds = std::chrono::duration<float, std::milli>(end->time - start->time).count();
  return kSuccess;
}

HEDDLE_CUDA_API cuEventElapsedTime_v2(float *milliseconds, void *first, void *second) {
  return cuEventElapsedTime(milliseconds, first, second);
}

HEDDLE_CUDA_API cuEventDestroy_v2(void *event) {
  Call call;
  if (call.error())
    return call.error();
  if (!call.context().events.erase(static_cast<Event *>(event)))
    return kErrorInvalidHandle;
  delete static_cast<Event *>(event);
  return kSuccess;
}

// Memory.

HEDDLE_CUDA_API cuMemAlloc_v2(DevicePointer *pointer, size_t bytes) {
  Call call;
  if (call.error())
    return call.error();
  if (!pointer || !bytes)
    return kErrorInvalidValue;
  if (int error = refuseCapture(call.context()))
    return error;
  uint64_t address = bytes < Memory::kSize ? Memory::get().allocate(bytes) : 0;
  if (!address)
    return kErrorOutOfMemory;
  call.context().allocations[address] = bytes;
  *pointer = address;
  return kSuccess;
}

HEDDLE_CUDA_API cuMemFree_v2(DevicePointer pointer) {
  Call call;
  if (call.error())
    return call.error();
  if (!pointer)
    return kSuccess;
  drainAll(call.context());
  if (!call.context().allocations.erase(pointer))
    return kErrorInvalidValue;
  Memory::get().release(pointer);
  return kSuccess;
}

HEDDLE_CUDA_API cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags) {
  Call call;
  if (call.error())
    return call.error();
  if (!pointer || !bytes || flags > 7)
    return kErrorInvalidValue;
  *pointer = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  if (!*pointer)
    return kErrorOutOfMemory;
  call.context().hostAllocations[*pointer] = bytes;
  return kSuccess;
}

HEDDLE_CUDA_API cuMemFreeHost(void *pointer) {
  Call call;
  if (call.error())
    return call.error();
  if (!call.context().hostAllocations.erase(pointer))
    return kErrorInvalidValue;
  std::free(pointer);
  return kSuccess;
}

HEDDLE_CUDA_API cuMemGetInfo_v2(size_t *free, size_t *total) {
  Call call;
  if (call.error())
    return call.error();
  if (!free || !total)
    return kErrorInvalidValue;
  *free = Memory::get().freeBytes();
  *total = Memory::kSize;
  return kSuccess;
}

HEDDLE_CUDA_API cuMemcpyHtoD_v2(DevicePointer to, const void *from, size_t bytes) {
  return copyNow(Operation::HostToDevice, to, bits(from), bytes);
}
HEDDLE_CUDA_API cuMemcpyDtoH_v2(void *to, DevicePointer from, size_t bytes) {
  return copyNow(Operation::DeviceToHost, bits(to), from, bytes);
}
HEDDLE_CUDA_API cuMemcpyHtoDAsync_v2(DevicePointer to, const void *from, size_t bytes, void *stream) {
  return copyLater(Operation::HostToDevice, to, bits(from), bytes, stream);
}
HEDDLE_CUDA_API cuMemcpyDtoHAsync_v2(void *to, DevicePointer from, size_t bytes, void *stream) {
  return copyLater(Operation::DeviceToHost, bits(to), from, bytes, stream);
}
HEDDLE_CUDA_API cuMemcpyDtoDAsync_v2(DevicePointer to, DevicePointer from, size_t bytes, void *stream) {
  return copyLater(Operation::DeviceToDevice, to, from, bytes, stream);
}
HEDDLE_CUDA_API cuMemsetD8Async(DevicePointer to, unsigned char value, size_t count, void *stream) {
  return fill(to, value, 1, count, stream);
}
HEDDLE_CUDA_API cuMemsetD32Async(DevicePointer to, unsigned value, size_t count, void *stream) {
  return fill(to, value, 4, count, stream);
}

// The function is called only when somebody waits for it or for work behind it, so that a missing wait shows.
HEDDLE_CUDA_API cuLaunchHostFunc(void *handle, void (*function)(void *), void *data) {
  Call call;
  if (call.error())
    return call.error();
  Stream *stream = findStream(call.context(), handle);
  if (!stream)
    return kErrorInvalidHandle;
  if (!function)
    return kErrorInvalidValue;
  Operation operation;
  operation.kind = Operation::HostFunction;
  operation.function = function;
  operation.data = data;
  return submit(call.context(), *stream, operation);
}
