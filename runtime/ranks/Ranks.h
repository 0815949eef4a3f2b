// The ranks of a training, as one of them sees them: their meeting, and the engine that moves their numbers.
#pragma once

#include "runtime/ranks/Collectives.h"
#include "runtime/ranks/Meeting.h"
#include "runtime/ranks/Mpi.h"

#include <memory>
#include <optional>

namespace heddle {

class Ranks final : public Collectives {
public:
  // Meets the others, and begins the engine together with them.
  static Result<std::unique_ptr<Ranks>> join(MeetingOptions options);
  ~Ranks() override;

  uint32_t rank() const override { return meeting->rank(); }
  uint32_t ranks() const override { return meeting->ranks(); }
  bool isFirst() const { return rank() == 0; }
  Status sum(std::span<float> values, std::string_view what) override;
  Status gather(std::span<const std::byte> own, std::span<std::byte> all, std::string_view what) override;
  Status broadcast(std::span<std::byte> bytes, std::string_view what) override;

  Meeting &others() { return *meeting; }
  std::string describeEngine() const { return mpi->version(); }

private:
  std::unique_ptr<Meeting> meeting;
  std::optional<Meeting::Waiting> atTheEnd;
  std::unique_ptr<Mpi> mpi; // ends first
};

} // namespace heddle
