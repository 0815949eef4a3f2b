// A transport carries the tensors of ranks: Open MPI (Mpi.h), through host memory, or the devices themselves.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/hal/Device.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace heddle {

class Transport {
public:
  virtual ~Transport() = default;
  virtual std::string version() const = 0; // "Open MPI 4.1.4", "NCCL 2.21.5"

  // All ranks call these functions in the same order, with equally many elements in host memory. Each returns when this
  // rank has its result.
  virtual Status sum(std::span<float> values) = 0;
  virtual Status gather(std::span<const std::byte> own,
                        std::span<std::byte> all) = 0;      // all: own.size() bytes for each rank
  virtual Status broadcast(std::span<std::byte> bytes) = 0; // all ranks get rank 0's bytes
};

// Returns a transport that exchanges host memory through the devices. It allocates a piece of device memory during each
// call. `device` and `group` must outlive all calls.
std::unique_ptr<Transport> transportByDevices(hal::Device &device, hal::DeviceGroup &group, uint32_t rank,
                                              uint32_t ranks);

} // namespace heddle
