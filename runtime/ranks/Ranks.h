// The ranks of a training run, as one of them sees them: their meeting, and what carries their numbers.
#pragma once

#include "runtime/ranks/Collectives.h"
#include "runtime/ranks/Meeting.h"
#include "runtime/ranks/Mpi.h"

#include <memory>
#include <optional>

namespace heddle {

// What carries the numbers of ranks. Auto: NCCL where every rank can use it and has a GPU of its own, else Open MPI.
enum class TransportChoice : uint8_t { Auto, Nccl, Mpi };

class Ranks final : public Collectives {
public:
  // Meets the others.
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
  // Once begun.
  std::string describeTransport() const { return transport().version(); }
  // Why it is not NCCL; empty where it is, or where MPI was asked for.
  const std::string &reasonAgainstNccl() const { return reason; }
  // What this rank does from now on, where it has its device run something: devices that exchange numbers by themselves
  // wait for each other unseen.
  void atRun(std::string_view what) { byDevices ? meeting->together(what) : meeting->at(what); }

private:
  Transport &transport() const { return byDevices ? *byDevices : *mpi; }
  // Why NCCL cannot carry numbers, as all ranks find out together; empty where it can.
  Result<std::string> whyNotNccl(hal::Device &device);

  TransportChoice choice = TransportChoice::Auto;
  std::unique_ptr<Meeting> meeting;
  std::optional<Meeting::Waiting> atTheEnd;
  std::unique_ptr<Mpi> mpi; // ends before the meeting
  std::unique_ptr<Transport> byDevices;
  std::string reason;
};

} // namespace heddle
