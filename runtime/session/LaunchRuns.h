// The launches of an entry one by one, those of repetitions for each of their steps.
#pragma once

#include "runtime/artifact/Artifact.h"

#include <vector>

namespace heddle {

// A launch of an entry, at a step of a repetition where it is in one.
struct LaunchRun {
  uint32_t launch = 0;
  const schema::Repeat *repeat = nullptr;
  uint32_t step = 0;

  // By how many bytes a binding has moved on.
  uint64_t shift(const schema::Launch &of, flatbuffers::uoffset_t binding) const {
    return of.strides() ? step * of.strides()->Get(binding) : 0;
  }
};

// In the order in which they happen, each repetition with all the steps that it may have, or with at most `steps` of
// them.
std::vector<LaunchRun> launchRuns(const schema::Entry &entry, uint32_t steps = 0xffffffff);

// The repetition that a launch is in, or null.
const schema::Repeat *findRepeat(const schema::Entry &entry, uint32_t launch);

// How many steps a repetition takes in a call with these sizes.
uint32_t stepsOf(const schema::Repeat &repeat, std::span<const int32_t> sizes);

} // namespace heddle
