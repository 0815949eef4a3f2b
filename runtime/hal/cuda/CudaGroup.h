// A CUDA device in a group of devices that exchange numbers by NCCL, on a stream of the group's own.
#pragma once

#include "runtime/hal/cuda/CudaStream.h"
#include "runtime/hal/cuda/Nccl.h"

#include <deque>

namespace heddle::hal::cuda {

class CudaGroup final : public DeviceGroup {
public:
  // `compute` is where the device's other work goes; it outlives the group.
  static Result<std::unique_ptr<CudaGroup>> join(const Context &context, Stream &compute, const Nccl &nccl,
                                                 const GroupId &id, uint32_t number, uint32_t devices);
  ~CudaGroup() override;

  Status start(std::span<const Tensor> tensors) override;
  Status finish() override;

private:
  CudaGroup(const Context &context, Stream &compute, const Nccl &nccl)
      : context(context), compute(compute), nccl(nccl) {}
  Result<CUevent> newEvent();
  Status enqueue(std::span<const Tensor> tensors);
  ncclResult_t enqueue(const Tensor &tensor);
  // The error of a call, once NCCL has done what it was asked for; of later calls, too, once there was an error.
  Status settled(ncclResult_t result, std::string_view what);
  Status follow(CUstream after, CUstream before, CUevent event); // `after` waits for what `before` has been given

  const Context &context;
  Stream &compute;
  const Nccl &nccl;
  ncclComm_t comm = nullptr;
  uint32_t number = 0, devices = 1;
  bool isBroken = false; // an exchange may never end
  CUstream stream = nullptr;
  CUevent ready = nullptr;     // what an exchange waits for
  std::deque<CUevent> started; // the ends of exchanges that are not finished, the earliest first
  std::vector<CUevent> spare;
};

} // namespace heddle::hal::cuda
