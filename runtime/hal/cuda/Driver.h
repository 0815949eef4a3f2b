// The part of NVIDIA's driver API that Heddle uses. It is declared here so that the build needs no CUDA toolkit, and
// looked up in libcuda.so.1 at run time. Names, numbers and layouts are those of the API's documentation; _v2 suffixes
// are part of the symbols' names. Drivers from CUDA 12.0 on have all of it (version 2 of kernel nodes needs 12.0).
#pragma once

#include "runtime/core/Status.h"

#include <cstddef>
#include <cstdint>

namespace heddle::hal::cuda {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st *;
using CUmodule = struct CUmod_st *;
using CUfunction = struct CUfunc_st *;
using CUstream = struct CUstream_st *;
using CUevent = struct CUevent_st *;
using CUgraph = struct CUgraph_st *;
using CUgraphNode = struct CUgraphNode_st *;
using CUgraphExec = struct CUgraphExec_st *;

inline constexpr CUresult CUDA_SUCCESS = 0;
inline constexpr CUresult CUDA_ERROR_OUT_OF_MEMORY = 2;
inline constexpr CUresult CUDA_ERROR_NO_DEVICE = 100;
inline constexpr CUresult CUDA_ERROR_ECC_UNCORRECTABLE = 214;
inline constexpr CUresult CUDA_ERROR_NVLINK_UNCORRECTABLE = 220;
inline constexpr CUresult CUDA_ERROR_ILLEGAL_ADDRESS = 700;
inline constexpr CUresult CUDA_ERROR_LAUNCH_TIMEOUT = 702;
inline constexpr CUresult CUDA_ERROR_CONTEXT_IS_DESTROYED = 709;
inline constexpr CUresult CUDA_ERROR_ASSERT = 710;
inline constexpr CUresult CUDA_ERROR_HARDWARE_STACK_ERROR = 714;
inline constexpr CUresult CUDA_ERROR_LAUNCH_FAILED = 719;

// CUdevice_attribute
inline constexpr int CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1;
inline constexpr int CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X = 5;
inline constexpr int CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y = 6;
inline constexpr int CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z = 7;
inline constexpr int CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16;
inline constexpr int CU_DEVICE_ATTRIBUTE_INTEGRATED = 18;
inline constexpr int CU_DEVICE_ATTRIBUTE_COMPUTE_MODE = 20;
inline constexpr int CU_DEVICE_ATTRIBUTE_PCI_BUS_ID = 33;
inline constexpr int CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID = 34;
inline constexpr int CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID = 50;
inline constexpr int CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75;
inline constexpr int CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76;
inline constexpr int CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97;
inline constexpr int CU_COMPUTEMODE_PROHIBITED = 2;

// CUfunction_attribute
inline constexpr int CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0;
inline constexpr int CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8;

// CUjit_option
inline constexpr int CU_JIT_ERROR_LOG_BUFFER = 5;
inline constexpr int CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6;

inline constexpr unsigned CU_STREAM_NON_BLOCKING = 1;
inline constexpr unsigned CU_EVENT_DEFAULT = 0;
inline constexpr unsigned CU_EVENT_DISABLE_TIMING = 2;

// CUDA_KERNEL_NODE_PARAMS_v2
struct KernelNodeParams {
  CUfunction func;
  unsigned gridDimX, gridDimY, gridDimZ;
  unsigned blockDimX, blockDimY, blockDimZ;
  unsigned sharedMemBytes;
  void **kernelParams;
  void **extra;
  void *kern = nullptr;    // alternative to func
  CUcontext ctx = nullptr; // null: the current one
};

// CUgraphExecUpdateResultInfo
struct GraphUpdateResult {
  int reason = 0;
  CUgraphNode node = nullptr, from = nullptr; // where the graphs differ
};

// Every function: its symbol and its parameters. All return a CUresult.
#define HEDDLE_CUDA_FUNCTIONS(F)                                                                                       \
  F(cuInit, (unsigned flags))                                                                                          \
  F(cuDriverGetVersion, (int *version))                                                                                \
  F(cuGetErrorName, (CUresult error, const char **name))                                                               \
  F(cuGetErrorString, (CUresult error, const char **text))                                                             \
  F(cuDeviceGetCount, (int *count))                                                                                    \
  F(cuDeviceGet, (CUdevice * device, int ordinal))                                                                     \
  F(cuDeviceGetName, (char *name, int length, CUdevice device))                                                        \
  F(cuDeviceTotalMem_v2, (size_t *bytes, CUdevice device))                                                             \
  F(cuDeviceGetAttribute, (int *value, int attribute, CUdevice device))                                                \
  F(cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device))                                                  \
  F(cuDevicePrimaryCtxRelease_v2, (CUdevice device))                                                                   \
  F(cuCtxGetCurrent, (CUcontext * context))                                                                            \
  F(cuCtxSetCurrent, (CUcontext context))                                                                              \
  F(cuCtxGetStreamPriorityRange, (int *least, int *greatest))                                                          \
  F(cuStreamCreate, (CUstream * stream, unsigned flags))                                                               \
  F(cuStreamCreateWithPriority, (CUstream * stream, unsigned flags, int priority))                                     \
  F(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags))                                               \
  F(cuStreamDestroy_v2, (CUstream stream))                                                                             \
  F(cuStreamSynchronize, (CUstream stream))                                                                            \
  F(cuEventCreate, (CUevent * event, unsigned flags))                                                                  \
  F(cuEventDestroy_v2, (CUevent event))                                                                                \
  F(cuEventRecord, (CUevent event, CUstream stream))                                                                   \
  F(cuEventSynchronize, (CUevent event))                                                                               \
  F(cuEventElapsedTime, (float *milliseconds, CUevent begin, CUevent end))                                             \
  F(cuMemGetInfo_v2, (size_t *free, size_t *total))                                                                    \
  F(cuMemAlloc_v2, (CUdeviceptr * address, size_t bytes))                                                              \
  F(cuMemFree_v2, (CUdeviceptr address))                                                                               \
  F(cuMemHostAlloc, (void **pointer, size_t bytes, unsigned flags))                                                    \
  F(cuMemFreeHost, (void *pointer))                                                                                    \
  F(cuMemsetD8Async, (CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream))                             \
  F(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void *from, size_t bytes, CUstream stream))                           \
  F(cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t bytes, CUstream stream))                                 \
  F(cuModuleLoadDataEx, (CUmodule * module, const void *image, unsigned count, int *options, void **values))           \
  F(cuModuleUnload, (CUmodule module))                                                                                 \
  F(cuModuleGetFunction, (CUfunction * function, CUmodule module, const char *name))                                   \
  F(cuFuncGetAttribute, (int *value, int attribute, CUfunction function))                                              \
  F(cuFuncSetAttribute, (CUfunction function, int attribute, int value))                                               \
  F(cuLaunchKernel,                                                                                                    \
    (CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY,            \
     unsigned blockZ, unsigned sharedBytes, CUstream stream, void **parameters, void **extra))                         \
  F(cuGraphCreate, (CUgraph * graph, unsigned flags))                                                                  \
  F(cuGraphDestroy, (CUgraph graph))                                                                                   \
  F(cuGraphAddKernelNode_v2,                                                                                           \
    (CUgraphNode * node, CUgraph graph, const CUgraphNode *after, size_t count, const KernelNodeParams *parameters))   \
  F(cuGraphInstantiateWithFlags, (CUgraphExec * exec, CUgraph graph, unsigned long long flags))                        \
  F(cuGraphExecDestroy, (CUgraphExec exec))                                                                            \
  F(cuGraphKernelNodeSetParams_v2, (CUgraphNode node, const KernelNodeParams *parameters))                             \
  F(cuGraphExecUpdate_v2, (CUgraphExec exec, CUgraph graph, GraphUpdateResult * result))                               \
  F(cuGraphNodeSetEnabled, (CUgraphExec exec, CUgraphNode node, unsigned enabled))                                     \
  F(cuGraphLaunch, (CUgraphExec exec, CUstream stream))

// Memory that a launch may access. Bits of `access`: 1 for reads, 2 for writes.
struct DeclaredAccess {
  CUdeviceptr address;
  uint64_t bytes;
  uint64_t access;
};

// The functions, looked up once per process.
struct Driver {
#define HEDDLE_CUDA_POINTER(name, parameters) CUresult(*name) parameters = nullptr;
  HEDDLE_CUDA_FUNCTIONS(HEDDLE_CUDA_POINTER)
#undef HEDDLE_CUDA_POINTER

  // Declares the memory that the next launch or graph node may access. Only the tests' emulated driver has this
  // function, and it treats every other access as a fault. Null with NVIDIA's driver.
  CUresult (*heddleDeclareAccess)(const DeclaredAccess *ranges, size_t count) = nullptr;

  int version = 0; // 13000 for CUDA 13.0
  int devices = 0;

  // Returns the initialized driver. Fails with NotFound if this machine has no libcuda.so.1. A driver without devices
  // is not an error.
  static Result<const Driver *> get();

  // "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered"
  std::string describe(CUresult result) const;
};

// "13.0"
std::string versionText(int version);

} // namespace heddle::hal::cuda
