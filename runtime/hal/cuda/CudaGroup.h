// A CUDA device's membership in a group of devices that exchange tensors with NCCL, on a separate stream.
#pragma once

#include "runtime/hal/cuda/CudaStream.h"
#include "runtime/hal/cuda/Nccl.h"

#include <deque>

namespace heddle::hal::cuda {

class CudaGroup final : public DeviceGroup {
public:
  // `compute` is the stream of the device's other work; it must outlive the group.
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
  // Waits until NCCL has processed a call and returns the call's error. After an error all later calls fail too.
  Status settled(ncclResult_t result, std::string_view what);
  Status follow(CUstream after, CUstream before, CUevent event); // makes `after` wait for all work of `before`

  const Context &context;
  Stream &compute;
  const Nccl &nccl;
  ncclComm_t comm = nullptr;
  uint32_t number = 0, devices = 1;
  bool isBroken = false; // an exchange may never end
  CUstream stream = nullptr;
  CUevent ready = nullptr;     // the end of the compute work before an exchange
  std::deque<CUevent> started; // the ends of exchanges without a finish(), the earliest first
  std::vector<CUevent> spare;
};

} // namespace heddle::hal::cuda
