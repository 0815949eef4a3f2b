// The checks of a call: inputs against the entry's ports, and the run-time sizes that follow from them.
#pragma once

#include "runtime/artifact/Artifact.h"
#include "runtime/session/Session.h"

namespace heddle {

struct CallBinding {
  std::vector<int32_t> sizes;        // by index in Module.sizes; 0 for those that the entry does not use
  std::vector<const Input *> inputs; // by index in Entry.inputs
};

Result<CallBinding> bindCall(const schema::Module &module, const schema::Entry &entry, std::span<const Input> inputs);

// Whether all values lie in [0, limit), where the limit is not 0; the message begins with "holds".
Status checkLimit(std::span<const int32_t> values, int64_t limit);

// The shape of a port at these sizes.
Shape boundShape(const schema::TensorType &type, std::span<const int32_t> sizes);

// ceil(size / tile) * repeat on one axis of a launch.
uint64_t workgroups(const schema::Grid &grid, std::span<const int32_t> sizes);

} // namespace heddle
