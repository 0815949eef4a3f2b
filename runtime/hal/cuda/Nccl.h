// The part of NCCL's API that Heddle uses. It is declared here so that the build needs no NCCL, and looked up in
// libnccl.so.2 at run time. Names and numbers are those of NCCL's documentation. NCCL 2.13 and newer have all of it.
#pragma once

#include "runtime/hal/Device.h"
#include "runtime/hal/cuda/Driver.h"

namespace heddle::hal::cuda {

using ncclResult_t = int;
using ncclComm_t = struct ncclComm *;
struct ncclUniqueId {
  char internal[128];
};
static_assert(sizeof(ncclUniqueId) == sizeof(GroupId));

inline constexpr ncclResult_t ncclSuccess = 0;
inline constexpr ncclResult_t ncclInProgress = 7;
inline constexpr int ncclInt8 = 0;    // ncclDataType_t
inline constexpr int ncclFloat32 = 7; // ncclDataType_t
inline constexpr int ncclSum = 0;     // ncclRedOp_t

// Every function: its symbol and its parameters. All return an ncclResult_t.
#define HEDDLE_NCCL_FUNCTIONS(F)                                                                                       \
  F(ncclGetVersion, (int *version))                                                                                    \
  F(ncclGetUniqueId, (ncclUniqueId * id))                                                                              \
  F(ncclCommInitRank, (ncclComm_t * comm, int ranks, ncclUniqueId id, int rank))                                       \
  F(ncclCommDestroy, (ncclComm_t comm))                                                                                \
  F(ncclCommAbort, (ncclComm_t comm))                                                                                  \
  F(ncclCommGetAsyncError, (ncclComm_t comm, ncclResult_t * error))                                                    \
  F(ncclGroupStart, ())                                                                                                \
  F(ncclGroupEnd, ())                                                                                                  \
  F(ncclAllReduce, (const void *from, void *to, size_t count, int type, int op, ncclComm_t comm, CUstream stream))     \
  F(ncclReduceScatter, (const void *from, void *to, size_t part, int type, int op, ncclComm_t comm, CUstream stream))  \
  F(ncclAllGather, (const void *from, void *to, size_t part, int type, ncclComm_t comm, CUstream stream))              \
  F(ncclReduce,                                                                                                        \
    (const void *from, void *to, size_t count, int type, int op, int root, ncclComm_t comm, CUstream stream))          \
  F(ncclBroadcast, (const void *from, void *to, size_t count, int type, int root, ncclComm_t comm, CUstream stream))

// The functions, looked up once per process.
struct Nccl {
#define HEDDLE_NCCL_POINTER(name, parameters) ncclResult_t(*name) parameters = nullptr;
  HEDDLE_NCCL_FUNCTIONS(HEDDLE_NCCL_POINTER)
#undef HEDDLE_NCCL_POINTER
  const char *(*ncclGetErrorString)(ncclResult_t result) = nullptr;
  const char *(*ncclGetLastError)(ncclComm_t comm) = nullptr; // as text; null `comm`: of any communicator

  int version = 0; // 22105 for 2.21.5

  // Fails with NotFound if this machine has no libnccl.so.2.
  static Result<const Nccl *> get();

  std::string versionText() const; // "NCCL 2.21.5"
  // Returns the error of a call that has failed or has reported an earlier failure.
  Error error(ncclResult_t result, std::string_view what) const;
};

} // namespace heddle::hal::cuda
