// Lists the launches of an entry one by one, with repeated launches once per step.
#pragma once

#include "runtime/artifact/Artifact.h"

#include <vector>

namespace heddle {

// A launch of an entry, at one step if the launch is in a repetition.
struct LaunchRun {
  uint32_t launch = 0;
  const schema::Repeat *repeat = nullptr;
  uint32_t step = 0;

  // The bytes by which a binding has advanced at this step.
  uint64_t shift(const schema::Launch &of, flatbuffers::uoffset_t binding) const {
    return of.strides() ? step * of.strides()->Get(binding) : 0;
  }
};

// The launches in execution order. Each repetition has its maximum number of steps, or at most `steps`.
std::vector<LaunchRun> launchRuns(const schema::Entry &entry, uint32_t steps = 0xffffffff);

// The repetition that a launch is in, or null.
const schema::Repeat *findRepeat(const schema::Entry &entry, uint32_t launch);

// The number of steps that a repetition takes in a call with these sizes.
uint32_t stepsOf(const schema::Repeat &repeat, std::span<const int32_t> sizes);

} // namespace heddle
