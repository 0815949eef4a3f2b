// The part of the CUDA driver API that the emulator implements, with the names, numbers and layouts of the real ABI.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle::emulator {

enum Result : int {
  kSuccess = 0,
  kErrorInvalidValue = 1,
  kErrorOutOfMemory = 2,
  kErrorNotInitialized = 3,
  kErrorDeinitialized = 4,
  kErrorNoDevice = 100,
  kErrorInvalidDevice = 101,
  kErrorInvalidImage = 200,
  kErrorInvalidContext = 201,
  kErrorNoBinaryForGpu = 209,
  kErrorInvalidPtx = 218,
  kErrorInvalidHandle = 400,
  kErrorIllegalState = 401,
  kErrorNotFound = 500,
  kErrorNotReady = 600,
  kErrorIllegalAddress = 700,
  kErrorLaunchOutOfResources = 701,
  kErrorLaunchTimeout = 702,
  kErrorContextIsDestroyed = 709,
  kErrorMisalignedAddress = 716,
  kErrorLaunchFailed = 719,
  kErrorNotSupported = 801,
  kErrorStreamCaptureUnsupported = 900,
  kErrorStreamCaptureInvalidated = 901,
  kErrorStreamCaptureUnmatched = 903,
  kErrorStreamCaptureUnjoined = 904,
  kErrorGraphExecUpdateFailure = 910,
  kErrorInvalidClusterSize = 912,
  kErrorUnknown = 999,
};

enum DeviceAttribute : int {
  kMaxThreadsPerBlock = 1,
  kMaxBlockDimX = 2,
  kMaxBlockDimY = 3,
  kMaxBlockDimZ = 4,
  kMaxGridDimX = 5,
  kMaxGridDimY = 6,
  kMaxGridDimZ = 7,
  kMaxSharedPerBlock = 8,
  kTotalConstantMemory = 9,
  kWarpSize = 10,
  kMaxPitch = 11,
  kMaxRegistersPerBlock = 12,
  kClockRate = 13,
  kTextureAlignment = 14,
  kMultiprocessorCount = 16,
  kKernelExecTimeout = 17,
  kIntegrated = 18,
  kCanMapHostMemory = 19,
  kComputeMode = 20,
  kConcurrentKernels = 31,
  kEccEnabled = 32,
  kPciBusId = 33,
  kPciDeviceId = 34,
  kMemoryClockRate = 36,
  kGlobalMemoryBusWidth = 37,
  kL2CacheSize = 38,
  kMaxThreadsPerMultiprocessor = 39,
  kAsyncEngineCount = 40,
  kUnifiedAddressing = 41,
  kPciDomainId = 50,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
  kMaxSharedPerMultiprocessor = 81,
  kMaxRegistersPerMultiprocessor = 82,
  kManagedMemory = 83,
  kCooperativeLaunch = 95,
  kMaxSharedPerBlockOptin = 97,
  kMaxBlocksPerMultiprocessor = 106,
  kReservedSharedPerBlock = 111,
  kMemoryPoolsSupported = 115,
  kClusterLaunch = 120,
};

enum FunctionAttribute : int {
  kFunctionMaxThreadsPerBlock = 0,
  kFunctionSharedBytes = 1,
  kFunctionConstBytes = 2,
  kFunctionLocalBytes = 3,
  kFunctionRegisters = 4,
  kFunctionPtxVersion = 5,
  kFunctionBinaryVersion = 6,
  kFunctionCacheModeCa = 7,
  kFunctionMaxDynamicSharedBytes = 8,
  kFunctionPreferredSharedCarveout = 9,
};

enum JitOption : int {
  kJitInfoLogBuffer = 3,
  kJitInfoLogBufferBytes = 4,
  kJitErrorLogBuffer = 5,
  kJitErrorLogBufferBytes = 6,
};

using DevicePointer = unsigned long long;
using Device = int;

struct Uuid {
  char bytes[16];
};

enum LaunchAttributeKind : int {
  kAttributeIgnore = 0,
  kAttributeClusterDimension = 4,
  kAttributeProgrammaticSerialization = 6,
};

struct LaunchAttribute { // CUlaunchAttribute
  int kind;
  char padding[4];
  union {
    char bytes[64];
    uint32_t cluster[3];
    int programmatic;
  };
};

struct LaunchConfig { // CUlaunchConfig
  unsigned gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes;
  void *stream;
  LaunchAttribute *attributes;
  unsigned attributeCount;
};

struct KernelNodeParams { // CUDA_KERNEL_NODE_PARAMS_v2
  void *function;
  unsigned gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes;
  void **parameters;
  void **extra;
  void *kernel;
  void *context;
};

struct GraphUpdateResult { // CUgraphExecUpdateResultInfo
  int result;
  void *node, *from;
};

// As in runtime/hal/cuda/Driver.h: memory that a launch may access. Bit 0 of `access` means reads, bit 1 writes.
struct DeclaredAccess {
  DevicePointer address;
  uint64_t bytes, access;
};

} // namespace heddle::emulator
