#include "runtime/hal/cuda/CudaGroup.h"

#include <cassert>
#include <chrono>
#include <cstring>
#include <thread>

namespace heddle::hal::cuda {

Result<std::unique_ptr<CudaGroup>> CudaGroup::join(const Context &context, Stream &compute, const Nccl &nccl,
                                                   const GroupId &id, uint32_t number, uint32_t devices) {
  std::unique_ptr<CudaGroup> group(new CudaGroup(context, compute, nccl));
  const Driver &cuda = *context.cuda;
  // NCCL's kernels are small and wait for other devices, so they get priority over kernels that fill the device.
  int least = 0, greatest = 0;
  if (CUresult status = cuda.cuCtxGetStreamPriorityRange(&least, &greatest))
    return context.error(status, "asking for the streams' priorities");
  if (CUresult status = cuda.cuStreamCreateWithPriority(&group->stream, CU_STREAM_NON_BLOCKING, greatest))
    return context.error(status, "creating a stream");
  HEDDLE_ASSIGN(group->ready, group->newEvent());
  ncclUniqueId name;
  std::memcpy(&name, id.data(), sizeof name);
  group->number = number;
  group->devices = devices;
  HEDDLE_CHECK(group->settled(nccl.ncclCommInitRank(&group->comm, int(devices), name, int(number)),
                              str("joining '", context.info.name, "' with the other ranks' devices")));
  return group;
}

CudaGroup::~CudaGroup() {
  Current now(context);
  const Driver &cuda = *context.cuda;
  isBroken |= !started.empty(); // the other devices may never take part in these exchanges
  if (comm && isBroken)
    nccl.ncclCommAbort(comm);
  if (stream)
    cuda.cuStreamSynchronize(stream);
  if (comm && !isBroken)
    nccl.ncclCommDestroy(comm);
  for (CUevent event : started)
    cuda.cuEventDestroy_v2(event);
  for (CUevent event : spare)
    cuda.cuEventDestroy_v2(event);
  if (ready)
    cuda.cuEventDestroy_v2(ready);
  if (stream)
    cuda.cuStreamDestroy_v2(stream);
}

Result<CUevent> CudaGroup::newEvent() {
  CUevent event = nullptr;
  if (!spare.empty()) {
    event = spare.back();
    spare.pop_back();
  } else if (CUresult status = context.cuda->cuEventCreate(&event, CU_EVENT_DISABLE_TIMING)) {
    return context.error(status, "creating an event");
  }
  return event;
}

Status CudaGroup::follow(CUstream after, CUstream before, CUevent event) {
  if (CUresult status = context.cuda->cuEventRecord(event, before))
    return context.error(status, "submitting work");
  if (CUresult status = context.cuda->cuStreamWaitEvent(after, event, 0))
    return context.error(status, "submitting work");
  return Success();
}

Status CudaGroup::start(std::span<const Tensor> tensors) {
  Current now(context);
  HEDDLE_CHECK(settled(ncclSuccess, "exchanging numbers with the other ranks' devices"));
  HEDDLE_CHECK(follow(stream, compute.handle(), ready));
  HEDDLE_CHECK(enqueue(tensors));
  HEDDLE_ASSIGN(CUevent done, newEvent());
  started.push_back(done);
  if (CUresult status = context.cuda->cuEventRecord(done, stream))
    return context.error(status, "submitting work");
  return Success();
}

Status CudaGroup::settled(ncclResult_t result, std::string_view what) {
  // With NCCL_COMM_BLOCKING=0 in the environment, calls return before they are done.
  ncclResult_t state = ncclInProgress;
  while (comm && (result == ncclSuccess || result == ncclInProgress) && state == ncclInProgress) {
    result = nccl.ncclCommGetAsyncError(comm, &state);
    if (state == ncclInProgress)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (result == ncclSuccess && comm)
    result = state;
  if (result == ncclSuccess)
    return Success();
  isBroken = true;
  return nccl.error(result, what);
}

ncclResult_t CudaGroup::enqueue(const Tensor &tensor) {
  auto *from = reinterpret_cast<std::byte *>(tensor.from->address() + tensor.fromOffset);
  auto *to = reinterpret_cast<std::byte *>(tensor.to->address() + tensor.toOffset);
  size_t count = tensor.bytes / sizeof(float), part = tensor.bytes / devices;
  assert(part * devices == tensor.bytes || (tensor.kind != Tensor::SumParts && tensor.kind != Tensor::Gather));
  switch (tensor.kind) {
  case Tensor::Sum:
    return nccl.ncclAllReduce(from, to, count, ncclFloat32, ncclSum, comm, stream);
  case Tensor::SumFor:
    return nccl.ncclReduce(from, to, count, ncclFloat32, ncclSum, int(tensor.root), comm, stream);
  case Tensor::SumParts:
    return nccl.ncclReduceScatter(from, to + number * part, part / sizeof(float), ncclFloat32, ncclSum, comm, stream);
  case Tensor::Broadcast:
    return nccl.ncclBroadcast(from, to, tensor.bytes, ncclInt8, int(tensor.root), comm, stream);
  case Tensor::Gather:
    return nccl.ncclAllGather(from + number * part, to, part, ncclInt8, comm, stream);
  }
  return ncclSuccess;
}

Status CudaGroup::enqueue(std::span<const Tensor> tensors) {
  constexpr std::string_view what = "exchanging numbers with the other ranks' devices";
  HEDDLE_CHECK(settled(nccl.ncclGroupStart(), what));
  ncclResult_t result = ncclSuccess;
  for (const Tensor &tensor : tensors)
    if (tensor.bytes > 0 && (result == ncclSuccess || result == ncclInProgress))
      result = enqueue(tensor);
  ncclResult_t ended = nccl.ncclGroupEnd(); // even after an error: an open group would break every later call
  return settled(result == ncclSuccess || result == ncclInProgress ? ended : result, what);
}

Status CudaGroup::finish() {
  assert(!started.empty());
  Current now(context);
  CUevent done = started.front();
  started.pop_front();
  spare.push_back(done);
  if (CUresult status = context.cuda->cuStreamWaitEvent(compute.handle(), done, 0))
    return context.error(status, "submitting work");
  return Success();
}

} // namespace heddle::hal::cuda
