// NCCL on the emulated driver: processes on this machine exchange numbers through shared memory. All ranks must make
// the same requests in the same order. If they do not, a real NCCL would hang or compute nonsense; here it is an error.
//
// An exchange runs as late as possible, when somebody waits for its stream, so that a missing wait shows in the
// results.
#include "test/cuda/emulator/Cuda.h"
#include "test/cuda/emulator/NcclMemory.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

using namespace heddle::emulator;

#define HEDDLE_NCCL_API extern "C" __attribute__((visibility("default")))

// Functions of the emulated driver, which this library links with.
extern "C" {
int cuCtxGetCurrent(void **context);
int cuLaunchHostFunc(void *stream, void (*function)(void *), void *data);
int cuMemcpyDtoH_v2(void *to, DevicePointer from, size_t bytes);
int cuMemcpyHtoD_v2(DevicePointer to, const void *from, size_t bytes);
int heddleNote(const char *line);
int heddleFollowsAll(void *stream);
int heddleFail(const char *message);
}

namespace {

enum NcclResult : int { kNcclSuccess = 0, kNcclSystemError = 2, kNcclInvalidArgument = 4, kNcclInvalidUsage = 5 };
constexpr int kInt8 = 0, kFloat32 = 7, kSum = 0;

struct Id {
  char bytes[128];
};

struct Communicator {
  std::unique_ptr<NcclMemory> memory;
  NcclResult failure = kNcclSuccess;
};

struct Request {
  Communicator *communicator;
  Exchange what;
  DevicePointer from, to;
};

// The argument of a stream's host function, which frees it.
struct Group {
  std::vector<Request> requests;
};

thread_local int openGroups = 0;
thread_local Group group;
thread_local void *groupStream = nullptr;
thread_local std::string lastError;

NcclResult failure(NcclResult result, std::string why) {
  lastError = std::move(why);
  return result;
}

void sum(std::vector<std::byte> &result, std::span<const std::byte *const> parts, size_t bytes) {
  for (size_t i = 0; i < bytes; i += sizeof(float)) {
    float total = 0, value = 0;
    for (size_t rank = 0; rank < parts.size(); ++rank) {
      std::memcpy(&value, parts[rank] + i, sizeof value);
      total = rank == 0 ? value : total + value;
    }
    std::memcpy(result.data() + i, &total, sizeof total);
  }
}

// `bytes` of an exchange is what each rank contributes. For exchanges by parts, the nth part of all ranks belongs to
// rank n.
void perform(Request &request) {
  Communicator &communicator = *request.communicator;
  const Exchange &what = request.what;
  uint64_t rank = communicator.memory->rank(), ranks = communicator.memory->ranks();
  bool isOk = true, isRoot = what.root == rank;
  bool isSum =
      what.kind == Exchange::AllReduce || what.kind == Exchange::Reduce || what.kind == Exchange::ReduceScatter;
  uint64_t part = what.bytes / ranks, firstOfPart = rank * part, endOfPart = firstOfPart + part; // for ReduceScatter
  auto read = [&](size_t at, std::span<std::byte> into) {
    if (what.kind != Exchange::Broadcast || isRoot)
      isOk &= cuMemcpyDtoH_v2(into.data(), request.from + at, into.size()) == kSuccess;
  };
  auto write = [&](DevicePointer to, const std::byte *from, size_t bytes) {
    isOk &= cuMemcpyHtoD_v2(to, from, bytes) == kSuccess;
  };
  auto take = [&](size_t at, std::span<const std::byte *const> parts, size_t bytes) {
    std::vector<std::byte> sums(isSum ? bytes : 0);
    if (isSum)
      sum(sums, parts, bytes);
    if (what.kind == Exchange::AllReduce || (what.kind == Exchange::Reduce && isRoot))
      write(request.to + at, sums.data(), bytes);
    if (what.kind == Exchange::Broadcast)
      write(request.to + at, parts[what.root], bytes);
    for (uint64_t other = 0; what.kind == Exchange::AllGather && other < ranks; ++other)
      write(request.to + other * what.bytes + at, parts[other], bytes);
    uint64_t begin = std::max<uint64_t>(at, firstOfPart), end = std::min<uint64_t>(at + bytes, endOfPart);
    if (what.kind == Exchange::ReduceScatter && begin < end)
      write(request.to + (begin - firstOfPart), sums.data() + (begin - at), end - begin);
  };
  std::string why;
  if (!communicator.memory->exchange(what, read, take, why)) {
    communicator.failure = kNcclInvalidUsage;
    heddleFail(("ranks do not exchange the same: " + why).c_str());
  } else if (!isOk) {
    communicator.failure = kNcclInvalidUsage;
    heddleFail("an exchange between devices reads or writes outside of every allocation");
  }
}

void performGroup(void *data) {
  std::unique_ptr<Group> requests(static_cast<Group *>(data));
  for (Request &request : requests->requests)
    if (request.communicator->failure == kNcclSuccess)
      perform(request);
}

// Submits all requests since the outermost group began.
NcclResult submit() {
  if (group.requests.empty())
    return kNcclSuccess;
  uint64_t bytes = 0; // contributed by this rank
  for (const Request &request : group.requests)
    bytes += request.what.bytes;
  auto requests = std::make_unique<Group>(std::move(group));
  group = {};
  if (heddleFollowsAll(groupStream) != kSuccess) {
    heddleFail("an exchange between devices does not wait for what other streams were given before");
    return failure(kNcclInvalidUsage, "the emulator finds an exchange that may come too early");
  }
  heddleNote(("exchange " + std::to_string(bytes)).c_str());
  if (cuLaunchHostFunc(groupStream, performGroup, requests.get()) != kSuccess)
    return failure(kNcclInvalidUsage, "the stream takes no work");
  requests.release();
  return kNcclSuccess;
}

NcclResult add(Request request, void *stream) {
  if (!request.communicator || !request.from || !request.to)
    return failure(kNcclInvalidArgument, "a communicator or a buffer is null");
  if (!group.requests.empty() && groupStream != stream)
    return failure(kNcclInvalidUsage, "the emulator takes one stream a group");
  groupStream = stream;
  group.requests.push_back(request);
  return openGroups == 0 ? submit() : kNcclSuccess;
}

NcclResult addSum(Exchange what, const void *from, void *to, int op, Communicator *communicator, void *stream) {
  if (what.type != kFloat32 || op != kSum)
    return failure(kNcclInvalidArgument, "the emulator sums f32 alone");
  return add({communicator, what, reinterpret_cast<DevicePointer>(from), reinterpret_cast<DevicePointer>(to)}, stream);
}

bool hasRank(const Communicator *communicator, int rank) {
  return communicator && rank >= 0 && static_cast<uint32_t>(rank) < communicator->memory->ranks();
}

} // namespace

HEDDLE_NCCL_API int ncclGetVersion(int *version) {
  if (!version)
    return kNcclInvalidArgument;
  *version = 22105;
  return kNcclSuccess;
}

HEDDLE_NCCL_API const char *ncclGetErrorString(int result) {
  switch (result) {
  case kNcclSuccess:
    return "no error";
  case kNcclSystemError:
    return "unhandled system error";
  case kNcclInvalidArgument:
    return "invalid argument";
  case kNcclInvalidUsage:
    return "invalid usage";
  default:
    return "unknown error";
  }
}

HEDDLE_NCCL_API const char *ncclGetLastError(Communicator *) { return lastError.c_str(); }

HEDDLE_NCCL_API int ncclGetUniqueId(Id *id) {
  if (!id)
    return kNcclInvalidArgument;
  std::random_device random;
  const char *folder = std::getenv("TMPDIR");
  std::memset(id, 0, sizeof *id);
  int length = std::snprintf(id->bytes, sizeof id->bytes, "%s/heddle-nccl-%08x%08x",
                             folder && *folder ? folder : "/tmp", random(), random());
  return length < static_cast<int>(sizeof id->bytes) ? kNcclSuccess
                                                     : failure(kNcclSystemError, "the name of TMPDIR is too long");
}

HEDDLE_NCCL_API int ncclCommInitRank(Communicator **communicator, int ranks, Id id, int rank) {
  void *context = nullptr;
  if (cuCtxGetCurrent(&context) != kSuccess || !context)
    return failure(kNcclInvalidUsage, "no context is current");
  if (!communicator || ranks < 1 || ranks > static_cast<int>(NcclMemory::kMostRanks) || rank < 0 || rank >= ranks)
    return failure(kNcclInvalidArgument, "the ranks are wrong");
  id.bytes[sizeof id.bytes - 1] = 0;
  NcclMemory *memory = NcclMemory::join(id.bytes, static_cast<uint32_t>(rank), static_cast<uint32_t>(ranks));
  if (!memory)
    return failure(kNcclSystemError, std::string("the file ") + id.bytes + " cannot be made or mapped");
  *communicator = new Communicator{std::unique_ptr<NcclMemory>(memory)};
  return kNcclSuccess;
}

HEDDLE_NCCL_API int ncclCommDestroy(Communicator *communicator) {
  if (!communicator)
    return kNcclInvalidArgument;
  communicator->memory->leave(); // waits for all ranks, as NCCL may
  delete communicator;
  return kNcclSuccess;
}

HEDDLE_NCCL_API int ncclCommAbort(Communicator *communicator) {
  if (!communicator)
    return kNcclInvalidArgument;
  communicator->failure = kNcclInvalidUsage; // queued exchanges are dropped
  return kNcclSuccess;
}

HEDDLE_NCCL_API int ncclCommGetAsyncError(Communicator *communicator, int *error) {
  if (!communicator || !error)
    return kNcclInvalidArgument;
  *error = communicator->failure;
  return kNcclSuccess;
}

HEDDLE_NCCL_API int ncclGroupStart() {
  ++openGroups;
  return kNcclSuccess;
}

HEDDLE_NCCL_API int ncclGroupEnd() {
  if (openGroups == 0)
    return failure(kNcclInvalidUsage, "no group is open");
  return --openGroups == 0 ? submit() : kNcclSuccess;
}

HEDDLE_NCCL_API int ncclAllReduce(const void *from, void *to, size_t count, int type, int op,
                                  Communicator *communicator, void *stream) {
  return addSum({Exchange::AllReduce, static_cast<uint32_t>(type), 0, count * sizeof(float)}, from, to, op,
                communicator, stream);
}

HEDDLE_NCCL_API int ncclReduce(const void *from, void *to, size_t count, int type, int op, int root,
                               Communicator *communicator, void *stream) {
  if (!hasRank(communicator, root))
    return failure(kNcclInvalidArgument, "there is no such root");
  return addSum({Exchange::Reduce, static_cast<uint32_t>(type), static_cast<uint32_t>(root), count * sizeof(float)},
                from, to, op, communicator, stream);
}

HEDDLE_NCCL_API int ncclReduceScatter(const void *from, void *to, size_t part, int type, int op,
                                      Communicator *communicator, void *stream) {
  if (!communicator)
    return failure(kNcclInvalidArgument, "a communicator is null");
  uint64_t bytes = part * communicator->memory->ranks() * sizeof(float);
  return addSum({Exchange::ReduceScatter, static_cast<uint32_t>(type), 0, bytes}, from, to, op, communicator, stream);
}

HEDDLE_NCCL_API int ncclAllGather(const void *from, void *to, size_t part, int type, Communicator *communicator,
                                  void *stream) {
  if (type != kInt8 && type != kFloat32)
    return failure(kNcclInvalidArgument, "the emulator gathers bytes and f32 alone");
  Exchange what{Exchange::AllGather, static_cast<uint32_t>(type), 0, part * (type == kInt8 ? 1 : sizeof(float))};
  return add({communicator, what, reinterpret_cast<DevicePointer>(from), reinterpret_cast<DevicePointer>(to)}, stream);
}

HEDDLE_NCCL_API int ncclBroadcast(const void *from, void *to, size_t count, int type, int root,
                                  Communicator *communicator, void *stream) {
  if (type != kInt8 && type != kFloat32)
    return failure(kNcclInvalidArgument, "the emulator hands on bytes and f32 alone");
  if (!hasRank(communicator, root))
    return failure(kNcclInvalidArgument, "there is no such root");
  Exchange what{Exchange::Broadcast, static_cast<uint32_t>(type), static_cast<uint32_t>(root),
                count * (type == kInt8 ? 1 : sizeof(float))};
  return add({communicator, what, reinterpret_cast<DevicePointer>(from), reinterpret_cast<DevicePointer>(to)}, stream);
}
