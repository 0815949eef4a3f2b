// The ranks of a training run, as seen by one of them: the meeting and the transport.
#pragma once

#include "runtime/ranks/Collectives.h"
#include "runtime/ranks/Meeting.h"
#include "runtime/ranks/Mpi.h"

#include <memory>
#include <optional>

namespace heddle {

// The choice of transport. Auto: NCCL if every rank can use it and has a GPU of its own, else Open MPI.
enum class TransportChoice : uint8_t { Auto, Nccl, Mpi };

class Ranks final : public Collectives {
public:
  // Waits until all ranks have met. From then on ranks that share processors divide them (runtime/core/Threads.h).
  static Result<std::unique_ptr<Ranks>> join(MeetingOptions options, TransportChoice choice = TransportChoice::Auto);
  ~Ranks() override;

  uint32_t rank() const override { return meeting->rank(); }
  uint32_t ranks() const override { return meeting->ranks(); }
  bool isFirst() const { return rank() == 0; }
  Result<std::unique_ptr<hal::DeviceGroup>> begin(hal::Device &device) override;
  Status sum(std::span<float> values, std::string_view what) override;
  Status gather(std::span<const std::byte> own, std::span<std::byte> all, std::string_view what) override;
  Status broadcast(std::span<std::byte> bytes, std::string_view what) override;

  Meeting &others() { return *meeting; }
  // Only after begin().
  std::string describeTransport() const { return transport().version(); }
  // Why the transport is not NCCL. Empty if it is, or if MPI was requested.
  const std::string &reasonAgainstNccl() const { return reason; }
  // Sets what this rank does from now on, for work on its device. If devices exchange tensors by themselves, they may
  // wait for each other in this work, which the meeting cannot see.
  void atRun(std::string_view what) { byDevices ? meeting->together(what) : meeting->at(what); }

private:
  Transport &transport() const { return byDevices ? *byDevices : *mpi; }
  // Finds out, together with all ranks, why NCCL cannot be used. Empty if it can.
  Result<std::string> whyNotNccl(hal::Device &device);

  TransportChoice choice = TransportChoice::Auto;
  std::unique_ptr<Meeting> meeting;
  std::optional<Meeting::Waiting> atTheEnd;
  std::unique_ptr<Mpi> mpi; // destroyed before the meeting
  std::unique_ptr<Transport> byDevices;
  std::string reason;
};

} // namespace heddle
