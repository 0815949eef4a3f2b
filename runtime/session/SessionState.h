// The implementation state of a Session.
#pragma once

#include "runtime/session/EntryRunner.h"

namespace heddle {

struct Session::State {
  // The order matters: members are destroyed in reverse, and objects of the device must go before the device.
  std::shared_ptr<const Artifact> artifact;
  SessionOptions options;
  std::unique_ptr<hal::Device> device;
  const schema::Target *target = nullptr;
  std::unique_ptr<DeviceState> onDevice;
  std::map<std::string, std::unique_ptr<EntryRunner>, std::less<>> runners; // the prepared entries
  EntryRunner *last = nullptr;                                              // the runner that ran last
  EntryRunner *sent = nullptr; // the runner whose inputs send() sent, if nothing has run since
  bool weightsWritten = false; // by the caller, since their 16-bit copies were made
  std::vector<bool> hasValue;  // by storage variable: it was written, or an entry has run

  std::vector<EntryInfo> entries;
  std::vector<VariableInfo> variables;
  std::unique_ptr<hal::DeviceGroup>
      group; // the devices of all ranks, or null; destroyed before the memory that it may be using

  const schema::Module &module() const { return artifact->module(); }

  Result<EntryRunner *> prepared(std::string_view entry);
  Result<EntryRunner *> ready(std::string_view entry, Send send);
  void forgetValues() { last = sent = nullptr; } // the arena's values are or will be overwritten
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
  // Fails if a value lies outside the variable's limit. `values` may be a part of the variable.
  Status checkVariable(uint32_t index, std::span<const int32_t> values) const;
};

// The target named `wanted`, or the best target for the device if `wanted` is empty.
Result<const schema::Target *> chooseTarget(const Artifact &artifact, std::string_view wanted,
                                            const hal::DeviceInfo &device);

// Fails if the device runs native code. Used by sessions that refuse such code.
Status checkNativeCode(const Artifact &artifact, std::string_view device);

} // namespace heddle
