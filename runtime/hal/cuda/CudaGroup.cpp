#include "runtime/hal/cuda/CudaGroup.h"

#include <cassert>
#include <cstring>

namespace heddle::hal::cuda {

Result<std::unique_ptr<CudaGroup>> CudaGroup::join(const Context &context, Stream &compute, const Nccl &nccl, const GroupId &id, uint32_t number,
                                                   uint32_t devices) {
  std::unique_ptr<CudaGroup> group(new CudaGroup(context, compute, nccl));
  const Driver &cuda = *context.cuda;
  // Kernels that exchange numbers are few and wait for other devices: they go before those that fill the device.
  int least = 0, greatest = 0;
  if (CUresult status = cuda.cuCtxGetStreamPriorityRange(&least, &greatest))
    return context.error(status, "asking for the streams' priorities");
  if (CUresult status = cuda.cuStreamCreateWithPriority(&group->stream, CU_STREAM_NON_BLOCKING, greatest))
    return context.error(status, "creating a stream");
  HEDDLE_ASSIGN(group->ready, group->newEvent());
  ncclUniqueId name;
  std::memcpy(&name, id.data(), sizeof name);
  if (ncclResult_t result = nccl.ncclCommInitRank(&group->comm, int(devices), name, int(number)))
    return nccl.error(result, str("joining '", context.info.name, "' with the other ranks' devices"));
  return group;
}

CudaGroup::~CudaGroup() {
  Current now(context);
  const Driver &cuda = *context.cuda;
  if (stream)
    cuda.cuStreamSynchronize(stream);
  if (comm)
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
  ncclResult_t earlier = ncclSuccess;
  if (ncclResult_t result = nccl.ncclCommGetAsyncError(comm, &earlier))
    return nccl.error(result, "exchanging numbers with the other ranks' devices");
  if (earlier != ncclSuccess && earlier != ncclInProgress)
    return nccl.error(earlier, "exchanging numbers with the other ranks' devices");
  HEDDLE_CHECK(follow(stream, compute.handle(), ready));
  HEDDLE_CHECK(enqueue(tensors));
  HEDDLE_ASSIGN(CUevent done, newEvent());
  started.push_back(done);
  if (CUresult status = context.cuda->cuEventRecord(done, stream))
    return context.error(status, "submitting work");
  return Success();
}

Status CudaGroup::enqueue(std::span<const Tensor> tensors) {
  auto check = [&](ncclResult_t result) -> Status {
    if (result != ncclSuccess)
      return nccl.error(result, "exchanging numbers with the other ranks' devices");
    return Success();
  };
  auto pointer = [](const Buffer *buffer, uint64_t offset) { return reinterpret_cast<void *>(buffer->address() + offset); };
  HEDDLE_CHECK(check(nccl.ncclGroupStart()));
  ncclResult_t result = ncclSuccess;
  for (const Tensor &tensor : tensors) {
    void *from = pointer(tensor.from, tensor.fromOffset), *to = pointer(tensor.to, tensor.toOffset);
    if (result != ncclSuccess || tensor.bytes == 0)
      continue;
    switch (tensor.kind) {
    case Tensor::Sum:
      result = nccl.ncclAllReduce(from, to, tensor.bytes / sizeof(float), ncclFloat32, ncclSum, comm, stream);
      break;
    case Tensor::SumFor:
      result = nccl.ncclReduce(from, to, tensor.bytes / sizeof(float), ncclFloat32, ncclSum, int(tensor.root), comm, stream);
      break;
    case Tensor::Broadcast:
      result = nccl.ncclBroadcast(from, to, tensor.bytes, ncclInt8, int(tensor.root), comm, stream);
      break;
    }
  }
  ncclResult_t ended = nccl.ncclGroupEnd(); // whatever happened: a group that stays open spoils every later call
  HEDDLE_CHECK(check(result));
  return check(ended);
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
