// Checks a call's inputs against the entry's ports, and derives the run-time sizes from them.
#pragma once

#include "runtime/artifact/Artifact.h"
#include "runtime/session/Session.h"

namespace heddle {

struct CallBinding {
  std::vector<int32_t> sizes;        // by index in Module.sizes; 0 for sizes that the entry does not use
  std::vector<const Input *> inputs; // by index in Entry.inputs
};

Result<CallBinding> bindCall(const schema::Module &module, const schema::Entry &entry, std::span<const Input> inputs);

// Checks that all values lie in [0, limit); a limit of 0 allows any value. The error's message begins with "holds".
Status checkLimit(std::span<const int32_t> values, int64_t limit);

// The shape of a port at these sizes.
Shape boundShape(const schema::TensorType &type, std::span<const int32_t> sizes);

// The workgroups of a launch along one axis: ceil(size / tile) * repeat.
uint64_t workgroups(const schema::Grid &grid, std::span<const int32_t> sizes);

} // namespace heddle
