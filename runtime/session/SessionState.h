// The inside of a Session.
#pragma once

#include "runtime/session/EntryRunner.h"

namespace heddle {

struct Session::State {
  // The order matters, as members are destroyed in reverse: what the device made goes before the device.
  std::shared_ptr<const Artifact> artifact;
  SessionOptions options;
  std::unique_ptr<hal::Device> device;
  const schema::Target *target = nullptr;
  std::unique_ptr<DeviceState> onDevice;
  std::map<std::string, std::unique_ptr<EntryRunner>, std::less<>> runners; // the prepared entries
  EntryRunner *last = nullptr;                                              // the one that ran last
  EntryRunner *sent = nullptr; // the one whose inputs were sent, where nothing has run since
  bool weightsWritten = false; // by the caller, since their copies were made
  std::vector<bool> hasValue;  // by the variable whose memory it is: written, or an entry has run since

  std::vector<EntryInfo> entries;
  std::vector<VariableInfo> variables;
  std::unique_ptr<hal::DeviceGroup>
      group; // with other ranks' devices, or null; goes before the memory that it may be using

  const schema::Module &module() const { return artifact->module(); }

  Result<EntryRunner *> prepared(std::string_view entry);
  Result<EntryRunner *> ready(std::string_view entry, Send send);
  void forgetValues() { last = sent = nullptr; } // the arena has others, or will have
  Status prepare(std::span<const std::string_view> names, const KernelProgress &progress = {});
  Status loadKernels(std::vector<uint32_t> &kernels, const KernelProgress &progress);
  Status launchOnce(std::span<const std::string_view> names, const KernelProgress &progress);
  Status roundWeights(std::string_view before);
  Status beginShards();
  Result<const schema::Port *> lastOutput(std::string_view name) const;
  void noteValue(uint32_t index) {
    hasValue.resize(variables.size());
    hasValue[onDevice->storageOf(index)] = true;
  }
  bool isWritten(uint32_t index) const { return !hasValue.empty() && hasValue[onDevice->storageOf(index)]; }
  Result<uint32_t> variableIndex(std::string_view name) const;
  // Fails if a value for a variable, or for a part of it, lies outside of the variable's limit.
  Status checkVariable(uint32_t index, std::span<const int32_t> values) const;
};

// The target to use: `wanted` by name, or the best for the device.
Result<const schema::Target *> chooseTarget(const Artifact &artifact, std::string_view wanted,
                                            const hal::DeviceInfo &device);

// Fails if the device runs native code, for sessions that refuse it.
Status checkNativeCode(const Artifact &artifact, std::string_view device);

} // namespace heddle
