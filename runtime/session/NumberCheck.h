// Finds the launch of a call that makes the first NaN or infinity, and says what it computes.
#pragma once

#include "runtime/session/CallBinding.h"
#include "runtime/session/DeviceState.h"
#include "runtime/session/EntryMemory.h"
#include "runtime/session/LaunchAccess.h"
#include "runtime/session/LaunchRuns.h"

#include <optional>
#include <set>

namespace heddle {

// Of numbers that are to be finite, the first that is not, and how many are not.
struct BadNumbers {
  float value = 0;
  uint64_t first = 0, count = 0;
};

// Looks through numbers of a type; those of I32 are never bad. With `infinities`, only NaN is.
std::optional<BadNumbers> findBadNumbers(schema::ElementType type, std::span<const std::byte> bytes, bool infinities);

// Watches one call whose launches run one by one: before() is asked before each of them, and after() once it has run.
class NumberCheck {
public:
  NumberCheck(DeviceState &state, const EntryMemory &memory, const schema::Entry &entry, const CallBinding &binding);

  // Unsupported where the artifact does not say what launches write.
  Status begin();
  Status before(const LaunchRun &run);
  // An error where what the launch wrote is not finite: what, where in the model, and whether it was given such
  // numbers. What a repetition writes is looked at after its last step, but for what a step keeps to itself.
  Status after(const LaunchRun &run);

private:
  using Range = BindingRange;
  // Numbers that were not finite before the call began.
  struct Given {
    Range range;
    std::string text; // "nan at [2,5] of variable 'w'"
  };

  Result<std::optional<BadNumbers>> look(const schema::Binding &binding, const schema::TensorType &type);
  void note(const Range &range, std::string text);
  std::string describe(const schema::Binding &binding, const schema::TensorType &type, const BadNumbers &bad) const;
  std::string describeInputs(const schema::Launch &launch) const;

  DeviceState &state;
  const EntryMemory &memory;
  const schema::Entry &entry;
  const CallBinding &binding;
  bool infinities = false; // a launch has written some by intention
  std::set<Range> known;   // variables' ranges that were looked at, or written in this call
  std::vector<Given> given;
  std::vector<std::byte> numbers; // those that are looked at
};

// " (encoder.0.self: attention (model.toml:4:1))"; empty where the artifact does not say.
std::string placeOf(const schema::Launch &launch);

} // namespace heddle
