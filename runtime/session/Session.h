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

#include "runtime/core/Narrow.h"
#include "runtime/core/Status.h"
#include "runtime/core/Tensor.h"
#include "runtime/hal/Device.h"

#include <filesystem>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

class Artifact;    // runtime/artifact/Artifact.h
class Collectives; // runtime/ranks/Collectives.h

struct SessionOptions {
  // The device's id, "vulkan:1", or a backend, "cuda", as hal::openDevice() takes them; hal::listDevices() lists the
  // ids. Empty: the device of chooseDevice().
  std::string device = {};
  // The artifact's target by name, "vulkan:software". Empty: the best target that the device supports.
  std::string target = {};
  hal::DeviceOptions deviceOptions = {};
  // Each call runs its launches one by one, and the session searches the results of each launch. The first NaN or
  // infinity is an error that names the launch and the ops of the model that the launch computes. Calls take several
  // times as long; the option is for finding out why a training run diverges.
  bool checkNumbers = false;
  // Each input, output and intermediate value of an entry has memory of its own, so that tools that check a kernel's
  // accesses against allocations (compute-sanitizer) see where a kernel runs from one tensor into another. It takes
  // several times the memory. HEDDLE_SEPARATE_VALUES=1 in the environment does the same.
  bool separateValues = false;
  // Whether code for a processor may run, which can do whatever this process can. Without it such targets are refused,
  // and an artifact that has no other is an error.
  bool nativeCode = true;
  // The other ranks, where several train together. Entries that ranks run together need it there, and all ranks run
  // these entries in the same order; without it such an entry computes what a single rank does. It outlives the
  // session.
  Collectives *collectives = nullptr;
};

// Which inputs a run sends to the device.
enum class Send {
  All,
  // Those that the entry itself overwrites; the others are on the device already, from the run before, which was one of
  // the same entry with the same inputs. For measurements.
  Overwritten,
  // None: send() has sent the same inputs just before. For measurements.
  Nothing,
};

// A dimension of an input's or output's shape.
struct DimInfo {
  std::string size;   // the name of the size that the extent varies with ("tokens"); empty for a fixed extent
  int64_t extent = 0; // in elements: the fixed extent, or the size's maximum
};

// An input or an output of an entry.
struct PortInfo {
  std::string name;
  ElementType type = ElementType::F32;
  std::vector<DimInfo> dims; // outermost first; empty for a scalar
  int64_t valueLimit = 0; // of an i32 input: a call checks that values lie in [0, valueLimit); 0: any value is allowed
  DimInfo longest = {}; // the size that is the largest value of this input, and its maximum; of others the extent is 0
};

// Rows of `rows` that an entry takes, [first, first + count) at each place; a call checks that they are there. With
// `list` they are elements of that input's rows, which are rows of `listed` in turn.
struct RowsInfo {
  // An input's element of the place and `number` more; without an input `number` alone.
  struct Term {
    std::string input;
    int64_t number = 0;
  };
  std::optional<Term> first, count; // nothing where it is another sum
  DimInfo rows;
  std::string list;
  DimInfo listed;
};

struct EntryInfo {
  std::string name;
  std::vector<PortInfo> inputs, outputs;
  std::vector<RowsInfo> rows = {};
};

// A frozen weight is one that training leaves as it is, and no checkpoint holds.
enum class VariableKind : uint8_t { Weight, OptimizerState, Gradient, Counter, Cache, Frozen };

const char *toString(VariableKind kind);

// What a variable is to the weight that it belongs to (up to Rounded, and from Scales on), or to the training.
enum class VariableRole : uint8_t {
  None,
  FirstMoment,
  SecondMoment,
  Average,
  Gradient,
  Rounded,
  LossScale,
  Steps,
  MicroSteps,
  GoodSteps,
  SkippedSteps,
  Seed,
  Scales,
  Offsets,
  HighBits
};

// What checkpoints call the variable of a role; for a role that belongs to a weight, of the weight `owner`.
std::string variableName(VariableRole role, std::string_view owner = {});

// The role of the tensor of a checkpoint, which has names only; None for all that is no state of training.
VariableRole roleOfName(std::string_view name);

// A tensor that stays on the device between calls.
struct VariableInfo {
  std::string name;
  VariableKind kind = VariableKind::Weight;
  ElementType type = ElementType::F32;
  Shape shape;
  uint64_t bytes = 0;                   // of device memory
  NarrowType narrow = NarrowType::None; // of 16 bits there: f32 that is written is rounded to nearest
  bool isStorage = false; // the variable is memory that other variables are views of; checkpoints leave it out
  VariableRole role = VariableRole::None;
  std::string owner = {}; // the weight that it belongs to
  bool isSharded = false; // of several ranks each keeps a part (runtime/session/Shards.h)

  bool isNarrow() const { return narrow != NarrowType::None; }
  bool isWeight() const { return kind == VariableKind::Weight || kind == VariableKind::Frozen; }
};

// The kinds of variables that a checkpoint holds.
using VariableKinds = std::vector<VariableKind>;
inline const VariableKinds kWeightsOnly = {VariableKind::Weight};
inline const VariableKinds kTrainingState = {VariableKind::Weight, VariableKind::OptimizerState, VariableKind::Counter};

// A named input of a call. The caller owns the name and the tensor's memory; both are copied before the call returns.
struct Input {
  std::string_view name;
  TensorView tensor;
};

// The outputs of a call, in host memory that this object owns.
class Outputs {
public:
  // Null where the entry has no output of this name.
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
  uint64_t peak = 0; // the largest sum of all the session's buffers so far, small buffers of its own included
};

// A launch of a kernel, as Session::profile() timed it. The texts live as long as the session.
struct LaunchProfile {
  std::string_view kernel;     // the kernel's name
  uint64_t begin = 0, end = 0; // nanoseconds of std::chrono::steady_clock
  hal::WorkgroupCount workgroups;
  std::string_view location; // the ops of the model that the launch computes, and their lines; empty where unknown
};

// The arithmetic and traffic that a launch's ops need by their definition, as the compiler counts them; a kernel may do
// more.
struct LaunchCost {
  bool known = false;    // false where the artifact has no counts for this launch
  double flops = 0;      // floating-point operations
  double modelFlops = 0; // the part of `flops` in matrix products, without products that a backward pass computes again
  double bytes = 0;      // of memory: every operand read once, every result written once
};

// A value on its way to the host. Asked once, and before its session is closed, it waits for the run that made the
// value, not for later ones.
using PendingTensor = std::function<Result<HostTensor>()>;

// Kernels that are compiled, of how many.
using KernelProgress = std::function<void(size_t done, size_t all)>;

class Session {
public:
  // Opens the device and checks that it supports a target of the artifact. Memory for variables comes later,
  // with prepare(). Errors: NotFound (file, target), Malformed (file), InvalidArgument (device), Unsupported (the
  // device supports no target of the artifact).
  static Result<std::unique_ptr<Session>> open(const std::filesystem::path &artifact,
                                               const SessionOptions &options = {});
  static Result<std::unique_ptr<Session>> open(std::shared_ptr<const Artifact> artifact,
                                               const SessionOptions &options = {});
  ~Session();

  // The device, target, artifact, entries and variables of this session. References and views live as long as it.
  // A program should print the device and the target: there may be several.
  const hal::DeviceInfo &device() const;
  std::string_view target() const;
  std::string_view description() const; // a JSON object of the description's keys: d_model, vocab_size, max_tokens, ...
  const Artifact &artifact() const;
  const std::vector<EntryInfo> &entries() const;
  const std::vector<VariableInfo> &variables() const;
  const EntryInfo *findEntry(std::string_view name) const;       // null where no entry has this name
  const VariableInfo *findVariable(std::string_view name) const; // null where no variable has this name
  const VariableInfo *findVariable(VariableRole role) const;     // of the model's own; null where it has none

  // Compiles the entries' kernels, allocates their variables and the arena, and records their launches. A call prepares
  // its entry when needed; preparing all entries together, before the first call, takes the least time and reports
  // missing memory early. New variables are zero. Errors: NotFound (entry), OutOfMemory, Unsupported, DeviceLost.
  // `progress` hears of each kernel. With it, kernels are also launched once, over no workgroups, on devices whose
  // driver compiles a kernel at its first launch (software Vulkan), so that no call waits for that later.
  Status prepare(std::span<const std::string_view> entries, const KernelProgress &progress = {});
  Status prepare(std::initializer_list<std::string_view> entries) {
    return prepare(std::span(entries.begin(), entries.size()));
  }

  // Runs an entry, waits for it and reads all its outputs. Every input of the entry must be given. A wrong name, type,
  // shape, size or index is an InvalidArgument, and nothing has run then.
  Result<Outputs> call(std::string_view entry, std::span<const Input> inputs);
  Result<Outputs> call(std::string_view entry, std::initializer_list<Input> inputs = {}) {
    return call(entry, std::span(inputs.begin(), inputs.size()));
  }

  // Starts an entry and returns without waiting for the device; checks are those of call(). Runs execute in order.
  Status run(std::string_view entry, std::span<const Input> inputs, Send send = Send::All);
  Status run(std::string_view entry, std::initializer_list<Input> inputs = {}) {
    return run(entry, std::span(inputs.begin(), inputs.size()));
  }

  // Sends an entry's inputs and starts nothing: a run with Send::Nothing follows. Waits for earlier runs.
  Status send(std::string_view entry, std::span<const Input> inputs, Send send = Send::All);

  // Runs an entry with every launch timed on the device, waits, and returns the launches in their order. Launches then
  // run one after the other, so that the whole takes longer than run() does. The device's clock is not the host's: the
  // last launch's end is set to the moment at which the host's wait was over, and the other times by their distance
  // from that end.
  Result<std::vector<LaunchProfile>> profile(std::string_view entry, std::span<const Input> inputs,
                                             Send send = Send::All);

  // The cost of each launch of the entry for these inputs, in the launches' order. Attention counts the pairs of a
  // query and a key that the sequences' lengths and the mask leave. No kernel runs.
  Result<std::vector<LaunchCost>> costs(std::string_view entry, std::span<const Input> inputs);

  // Copies an output of the last run; waits for that run. Outputs of earlier runs are lost: entries share their memory.
  Result<HostTensor> output(std::string_view name);
  Result<Outputs> outputs(); // all outputs of the last run

  // The same of an output of the last run, and of a variable as all runs so far leave it, without waiting: runs that
  // follow change neither.
  Result<PendingTensor> outputLater(std::string_view name);
  Result<PendingTensor> variableLater(std::string_view name);

  // Waits for all runs; an error of theirs, such as a lost device, is returned here.
  Status wait();

  // Seeds the model's random numbers and runs `init`, which draws every weight.
  Status init(uint64_t seed);

  // Copies a variable from and to the device, after all runs so far. The value must have the variable's type and shape;
  // a narrow one is f32 to callers. Of a sharded variable all ranks must read together, in the same order, and of what
  // is written each rank keeps its rows.
  Result<HostTensor> readVariable(std::string_view name);
  // A weight of packed numbers takes f32 too, as many as it has numbers, and its scales with them (PackedWeights.h): it
  // is an error if it has offsets, upper bits or packed scales, to which nothing is rounded.
  Status writeVariable(std::string_view name, const TensorView &value);

  // Writes the variables of these kinds, and the metadata, as a safetensors file, wholly or not at all.
  Status save(const std::filesystem::path &path, const VariableKinds &kinds = kTrainingState,
              const std::map<std::string, std::string> &metadata = {});

  // What other ranks do while one saves the same kinds: they give it their parts of the sharded variables.
  Status takePartInSave(const VariableKinds &kinds = kTrainingState);

  // Reads every variable of these kinds from a safetensors file. Nothing is changed unless the file has them all, with
  // their shapes and types, and no tensors of another model. Weights may come from the model that the artifact was
  // compiled from: its folder or GGUF file, or a safetensors file with its names.
  Status load(const std::filesystem::path &path, const VariableKinds &kinds = kTrainingState);

  MemoryReport memory() const;

private:
  struct State;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

// How many warnings and errors Vulkan's validation layers have reported in this process. The layers are on when the
// environment has HEDDLE_VALIDATION=1. A program that fails on such messages asks after its last session is closed.
uint64_t validationMessageCount();

// The device that a session opens where its options name none, for hal::openDevice: of the devices that run the
// artifact's code a GPU, CUDA's before Vulkan's, else the processor, else a GPU that a Vulkan driver emulates. The
// reason why code for another backend cannot run is said in the log.
std::string chooseDevice(const Artifact &artifact, std::string_view wantedTarget, bool nativeCode = true);

} // namespace heddle
