// The public API: a compiled model on a device.
//
//   auto session = heddle::Session::open("model.heddle");
//   if (!session) { std::cerr << session.message(); return 1; }
//   if (auto status = (*session)->init(/*seed=*/1); !status) ...
//   auto outputs = (*session)->call("eval", {{"source", source}, {"source_lengths", lengths}, ...});
//   std::span<const float> loss = outputs->find("token_loss")->values<float>();
//
// An entry is a compiled function: `init`, `train_step`, `eval`, ... Its inputs and outputs are dense tensors; the
// sizes that vary from call to call (tokens, sequences) are bound by the shapes of the inputs. Variables (weights,
// optimizer state, caches) stay on the device between calls.
//
// Calls are checked before anything runs: names, element types, shapes, sizes against the maxima that the model was
// compiled for, and the values of index inputs against their limits. What ties values of several inputs together (that
// `starts` and `lengths` stay within the tokens) is the caller's business.
//
// A Session is used by one thread at a time; several sessions may live side by side. Nothing here throws.
#pragma once

#include "runtime/artifact/Artifact.h"
#include "runtime/core/Status.h"
#include "runtime/core/Tensor.h"
#include "runtime/hal/Device.h"

#include <filesystem>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

struct SessionOptions {
  // "cuda", "vulkan:1": hal::listDevices() has them all. Empty: a CUDA device if there is one and the artifact has code
  // for it, else the best of Vulkan's.
  std::string device = {};
  std::string target = {}; // a target of the artifact by name; empty: the best that the device supports
  hal::DeviceOptions deviceOptions = {};
  // Every call runs launch by launch, and what each has written is looked through: the first NaN or infinity is an
  // error that names the launch and the ops of the model that it computes. Several times slower; to find out why a
  // training diverges.
  bool checkNumbers = false;
};

// One dimension of a tensor: its extent, or the name of the size that it varies with and that size's maximum.
struct DimInfo {
  std::string size; // empty for a fixed extent
  int64_t extent = 0;
};

struct PortInfo {
  std::string name;
  ElementType type = ElementType::F32;
  std::vector<DimInfo> dims;
  int64_t valueLimit = 0; // i32 inputs: values lie in [0, valueLimit); 0 = any
};

struct EntryInfo {
  std::string name;
  std::vector<PortInfo> inputs, outputs;
};

enum class VariableKind : uint8_t { Weight, OptimizerState, Gradient, Counter, Cache };

const char *toString(VariableKind kind);

struct VariableInfo {
  std::string name;
  VariableKind kind = VariableKind::Weight;
  ElementType type = ElementType::F32;
  Shape shape;
  uint64_t bytes = 0;
  bool isStorage = false; // memory that other variables are views of; no checkpoint holds it
};

// Which variables a checkpoint holds.
using VariableKinds = std::vector<VariableKind>;
inline const VariableKinds kWeightsOnly = {VariableKind::Weight};
inline const VariableKinds kTrainingState = {VariableKind::Weight, VariableKind::OptimizerState, VariableKind::Counter};

// A named input. The tensor is copied before the call returns.
struct Input {
  std::string_view name;
  TensorView tensor;
};

class Outputs {
public:
  // Null where the entry has no such output.
  const HostTensor *find(std::string_view name) const;
  auto begin() const { return tensors.begin(); }
  auto end() const { return tensors.end(); }
  size_t size() const { return tensors.size(); }

  std::map<std::string, HostTensor, std::less<>> tensors;
};

// Device memory in bytes. Variables and the arena are allocated when an entry that uses them is prepared.
struct MemoryReport {
  uint64_t weights = 0, optimizerState = 0, gradients = 0, counters = 0, caches = 0;
  uint64_t arena = 0; // inputs, outputs and intermediate values, shared by all entries
  uint64_t total() const { return weights + optimizerState + gradients + counters + caches + arena; }
  uint64_t peak = 0; // the most that the session's buffers have taken of the device so far, however small
};

struct LaunchProfile {
  std::string_view kernel;     // lives as long as the session
  uint64_t begin = 0, end = 0; // nanoseconds of std::chrono::steady_clock
  hal::WorkgroupCount workgroups;
  std::string_view location; // the ops of the model that it computes, and where they stand; empty where unknown
};

// What a launch needs by the definition of its ops, whatever its kernel does; counted by the compiler.
struct LaunchCost {
  bool known = false;    // false for an artifact of a compiler that did not count
  double flops = 0;      // floating-point operations
  double modelFlops = 0; // those of products, without what a backward pass computes again
  double bytes = 0;      // every operand read once, every result written once
};

// Kernels that are compiled, of how many.
using KernelProgress = std::function<void(size_t done, size_t all)>;

class Session {
public:
  static Result<std::unique_ptr<Session>> open(const std::filesystem::path &artifact,
                                               const SessionOptions &options = {});
  static Result<std::unique_ptr<Session>> open(std::shared_ptr<const Artifact> artifact,
                                               const SessionOptions &options = {});
  ~Session();

  // What is open. Worth printing: the device and the target in use.
  const hal::DeviceInfo &device() const;
  std::string_view target() const;
  std::string_view description() const; // a JSON object with the model's keys: d_model, vocab_size, max_tokens, ...
  const Artifact &artifact() const;
  const std::vector<EntryInfo> &entries() const;
  const std::vector<VariableInfo> &variables() const;
  const EntryInfo *findEntry(std::string_view name) const;       // null where there is none
  const VariableInfo *findVariable(std::string_view name) const; // null where there is none

  // Compiles the entries' kernels, allocates what they use and records their launches. Calls do it when needed; doing
  // it for all entries at once, before the first call, costs the least time and finds missing memory early.
  // With `progress` that hears of each kernel, kernels are also launched once, over nothing, on devices whose driver
  // compiles a kernel at its first launch (software Vulkan): no call waits for that later.
  Status prepare(std::span<const std::string_view> entries, const KernelProgress &progress = {});
  Status prepare(std::initializer_list<std::string_view> entries) {
    return prepare(std::span(entries.begin(), entries.size()));
  }

  // Runs an entry and reads all its outputs.
  Result<Outputs> call(std::string_view entry, std::span<const Input> inputs);
  Result<Outputs> call(std::string_view entry, std::initializer_list<Input> inputs = {}) {
    return call(entry, std::span(inputs.begin(), inputs.size()));
  }

  // Starts an entry and returns without waiting for the device. Runs execute in order.
  Status run(std::string_view entry, std::span<const Input> inputs);
  Status run(std::string_view entry, std::initializer_list<Input> inputs = {}) {
    return run(entry, std::span(inputs.begin(), inputs.size()));
  }

  // Runs an entry with every launch timed on the device, and waits. Launches then run one after the other, so that the
  // whole takes longer than run() does. In the launches' order. The device's clock is not the host's: the last launch
  // is said to end when the host had waited for it, and the others by their distance from it.
  Result<std::vector<LaunchProfile>> profile(std::string_view entry, std::span<const Input> inputs);

  // What each launch of the entry costs for these inputs, in order. Attention counts the pairs of a query and a key
  // that the sequences' lengths and the mask leave. Runs nothing.
  Result<std::vector<LaunchCost>> costs(std::string_view entry, std::span<const Input> inputs);

  // An output of the last run; waits for it. Outputs of earlier runs are gone: entries share their memory.
  Result<HostTensor> output(std::string_view name);
  Result<Outputs> outputs(); // all of them

  Status wait();

  // Seeds the model's random numbers and runs `init`, which draws every weight.
  Status init(uint64_t seed);

  Result<HostTensor> readVariable(std::string_view name);
  Status writeVariable(std::string_view name, const TensorView &value);

  // Writes the variables of these kinds as a safetensors file, wholly or not at all.
  Status save(const std::filesystem::path &path, const VariableKinds &kinds = kTrainingState,
              const std::map<std::string, std::string> &metadata = {});

  // Reads every variable of these kinds from a safetensors file. Nothing is changed unless the file has them all, with
  // their shapes and types, and no tensors of another model.
  Status load(const std::filesystem::path &path, const VariableKinds &kinds = kTrainingState);

  MemoryReport memory() const;

private:
  struct State;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

// How many warnings and errors Vulkan's validation layers have reported in this process; they are on when the
// environment has HEDDLE_VALIDATION=1. A program that wants to fail on them asks after its last session is closed.
uint64_t validationMessageCount();

} // namespace heddle
