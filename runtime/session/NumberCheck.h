// Finds the launch of a call that writes the first NaN or infinity, and says what it computes.
#pragma once

#include "runtime/session/CallBinding.h"
#include "runtime/session/DeviceState.h"
#include "runtime/session/EntryMemory.h"
#include "runtime/session/LaunchAccess.h"
#include "runtime/session/LaunchRuns.h"

#include <optional>
#include <set>

namespace heddle {

// Values that should be finite but are not: the first one, its index, and their count.
struct BadNumbers {
  float value = 0;
  uint64_t first = 0, count = 0;
};

// Searches the values of a tensor; I32 values are never bad. If `infinities` is true, infinities are allowed and only
// NaN is bad.
std::optional<BadNumbers> findBadNumbers(schema::ElementType type, std::span<const std::byte> bytes, bool infinities);

// Watches one call whose launches run one by one. Call before() before each launch, and after() once it has run.
class NumberCheck {
public:
  NumberCheck(DeviceState &state, const EntryMemory &memory, const schema::Entry &entry, const CallBinding &binding);

  // Fails with Unsupported if the artifact does not say what launches write.
  Status begin();
  Status before(const LaunchRun &run);
  // Fails if the launch wrote values that are not finite; the message says which values, where in the model, and
  // whether its inputs were finite. The results of a repetition are checked only after its last step, except tensors
  // that belong to a single step, which are not checked.
  Status after(const LaunchRun &run);

private:
  using Range = BindingRange;
  // Values that were not finite before the call began.
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
  bool infinities = false; // a launch has written infinities on purpose
  std::set<Range> known;   // ranges of variables that were checked, or written in this call
  std::vector<Given> given;
  std::vector<std::byte> numbers; // the values being checked
};

// " (encoder.0.self: attention (model.toml:4:1))"; empty if the artifact does not say.
std::string placeOf(const schema::Launch &launch);

} // namespace heddle
