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
// compiled for, and the values of index inputs against their limits. Starts, lengths and lists of rows must name rows
// that exist (SegmentCheck.h).
//
// Use a Session from one thread at a time. Several sessions may exist in one process. Nothing here throws.
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
  // accesses against allocations (compute-sanitizer) detect a kernel that runs from one tensor into another. It takes
  // several times the memory. HEDDLE_SEPARATE_VALUES=1 in the environment does the same.
  bool separateValues = false;
  // Allows code for a processor, which can do whatever this process can. If false, such targets are refused, and
  // opening an artifact that has no other target is an error.
  bool nativeCode = true;
  // The other ranks, if several ranks train together. All ranks must run the entries with collectives in the same
  // order. If null, such an entry computes what a single rank computes. Must outlive the session.
  Collectives *collectives = nullptr;
};

// Which inputs a run sends to the device.
enum class Send {
  All,
  // Only inputs whose memory the entry overwrites. The others are still on the device: the previous run must have been
  // the same entry with the same inputs. For measurements.
  Overwritten,
  // None: send() has sent the same inputs just before. For measurements.
  Nothing,
};

// A dimension of an input's or output's shape.
struct DimInfo {
  std::string size;   // the size that gives the extent ("tokens"); empty for a fixed extent
  int64_t extent = 0; // in elements: the fixed extent, or the size's maximum
};

// An input or an output of an entry.
struct PortInfo {
  std::string name;
  ElementType type = ElementType::F32;
  std::vector<DimInfo> dims; // outermost first; empty for a scalar
  int64_t valueLimit = 0;    // for i32 inputs: a call checks that values lie in [0, valueLimit); 0: no limit
  // The size that equals the largest value of this input, with its maximum. `extent` is 0 if there is no such size.
  DimInfo longest = {};
  // The role of an input (artifact.fbs): "source.positions" is the `role` "positions" `of` "source". Empty if unknown.
  std::string of = {}, role = {};
};

// Rows that an entry reads or writes, as its inputs name them: for each place (such as a sequence) the rows [first,
// first + count) of `rows`. With `list`, the range selects elements of the place's row of that input, and these
// elements are row numbers of `listed`. A call checks that all these rows exist.
struct RowsInfo {
  // The place's element of `input`, plus `number`. `number` only if `input` is empty.
  struct Term {
    std::string input;
    int64_t number = 0;
  };
  std::optional<Term> first, count; // nullopt if the sum has another form
  DimInfo rows;
  std::string list;
  DimInfo listed;
};

struct EntryInfo {
  std::string name;
  std::vector<PortInfo> inputs, outputs;
  std::vector<RowsInfo> rows = {};
};

// Training does not change a frozen weight, and checkpoints leave it out.
enum class VariableKind : uint8_t { Weight, OptimizerState, Gradient, Counter, Cache, Frozen };

const char *toString(VariableKind kind);

// The purpose of a variable, for the weight that owns it (FirstMoment to Rounded, Scales to Table) or for training
// as a whole (LossScale to Seed).
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
  HighBits,
  Table
};

// Returns true if a variable of this role is part of a packed weight.
inline bool isPartOfPacked(VariableRole role) { return role >= VariableRole::Scales; }

// The name that checkpoints give to the variable with this role. `owner` is its weight, if the role belongs to a
// weight.
std::string variableName(VariableRole role, std::string_view owner = {});

// The role of a checkpoint's tensor, derived from its name. None if the tensor is not training state.
VariableRole roleOfName(std::string_view name);

// A tensor that stays on the device between calls.
struct VariableInfo {
  std::string name;
  VariableKind kind = VariableKind::Weight;
  ElementType type = ElementType::F32;
  Shape shape;
  uint64_t bytes = 0;                   // of device memory
  NarrowType narrow = NarrowType::None; // 16-bit type on the device; f32 values are rounded to nearest when written
  bool isStorage = false;               // other variables are views of this one; checkpoints leave it out
  VariableRole role = VariableRole::None;
  std::string owner = {}; // the weight that this variable belongs to
  bool isSharded = false; // each rank keeps only some of its rows (runtime/session/Shards.h)
  int64_t panel = 0;      // columns of a panel, if the device stores the matrix in panels (PackedWeights.h), or else 0

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
  // Null if the entry has no output of this name.
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
  uint64_t peak = 0; // the peak of all the session's buffers together, small internal buffers included
};

// A launch of a kernel, as Session::profile() timed it. The texts live as long as the session.
struct LaunchProfile {
  std::string_view kernel;     // the kernel's name
  uint64_t begin = 0, end = 0; // nanoseconds of std::chrono::steady_clock
  hal::WorkgroupCount workgroups;
  std::string_view location; // the ops of the model that the launch computes, and their lines; empty if unknown
};

// The arithmetic and memory traffic that a launch's ops need by their definition, as the compiler counts them. The
// kernel may do more.
struct LaunchCost {
  bool known = false; // false if the artifact has no counts for this launch
  double flops = 0;   // floating-point operations
  // The part of `flops` in matmuls, without matmuls that the backward pass recomputes.
  double modelFlops = 0;
  double bytes = 0; // memory traffic: every operand read once, every result written once
};

// A value on its way to the host. Call it once, before the session is closed. It waits for the run that made the value,
// but not for later runs.
using PendingTensor = std::function<Result<HostTensor>()>;

// Reports that `done` of `all` kernels are compiled.
using KernelProgress = std::function<void(size_t done, size_t all)>;

class Session {
public:
  // Opens the device and checks that it supports a target of the artifact. prepare() allocates memory for variables
  // later. Errors: NotFound (file, target), Malformed (file), InvalidArgument (device), Unsupported (the device
  // supports no target of the artifact).
  static Result<std::unique_ptr<Session>> open(const std::filesystem::path &artifact,
                                               const SessionOptions &options = {});
  static Result<std::unique_ptr<Session>> open(std::shared_ptr<const Artifact> artifact,
                                               const SessionOptions &options = {});
  ~Session();

  // The device, target, artifact, entries and variables of this session. References and views live as long as the
  // session. A program should print the device and the target, because there may be several of each.
  const hal::DeviceInfo &device() const;
  std::string_view target() const;
  std::string_view description() const; // a JSON object of the description's keys: d_model, vocab_size, max_tokens, ...
  const Artifact &artifact() const;
  const std::vector<EntryInfo> &entries() const;
  const std::vector<VariableInfo> &variables() const;
  const EntryInfo *findEntry(std::string_view name) const;       // null if no entry has this name
  const VariableInfo *findVariable(std::string_view name) const; // null if no variable has this name
  const VariableInfo *findVariable(VariableRole role) const;     // without an owner; null if none has this role

  // Compiles the entries' kernels, allocates their variables and the arena, and records their launches. A call prepares
  // its entry when needed; preparing all entries together, before the first call, takes the least time and reports
  // missing memory early. New variables are zero. Errors: NotFound (entry), OutOfMemory, Unsupported, DeviceLost.
  // `progress` is called as kernels are compiled. If it is given, and the driver compiles a kernel only at its first
  // launch (software Vulkan), each kernel is launched once with no workgroups, so that no later call waits for the
  // compilation.
  Status prepare(std::span<const std::string_view> entries, const KernelProgress &progress = {});
  Status prepare(std::initializer_list<std::string_view> entries) {
    return prepare(std::span(entries.begin(), entries.size()));
  }

  // Runs an entry, waits for it and reads all its outputs. Every input of the entry must be given. A wrong name, type,
  // shape, size or index is an InvalidArgument; nothing runs then.
  Result<Outputs> call(std::string_view entry, std::span<const Input> inputs);
  Result<Outputs> call(std::string_view entry, std::initializer_list<Input> inputs = {}) {
    return call(entry, std::span(inputs.begin(), inputs.size()));
  }

  // Starts an entry and returns without waiting for the device. Checks inputs as call() does. Runs execute in order.
  Status run(std::string_view entry, std::span<const Input> inputs, Send send = Send::All);
  Status run(std::string_view entry, std::initializer_list<Input> inputs = {}) {
    return run(entry, std::span(inputs.begin(), inputs.size()));
  }

  // Sends an entry's inputs without starting it; run() with Send::Nothing then starts it. Waits for earlier runs.
  Status send(std::string_view entry, std::span<const Input> inputs, Send send = Send::All);

  // Runs an entry with every launch timed on the device, waits, and returns the launches in order. The launches run one
  // after the other, so the entry takes longer than with run(). Times are converted from the device's clock to the
  // host's: the end of the last launch is set to the moment when the host's wait ended.
  Result<std::vector<LaunchProfile>> profile(std::string_view entry, std::span<const Input> inputs,
                                             Send send = Send::All);

  // The cost of each launch of the entry for these inputs, in the launches' order. Attention counts the query/key pairs
  // that remain after sequence lengths and the mask. No kernel runs.
  Result<std::vector<LaunchCost>> costs(std::string_view entry, std::span<const Input> inputs);

  // Copies an output of the last run; waits for that run. Outputs of earlier runs are lost, because entries share their
  // memory.
  Result<HostTensor> output(std::string_view name);
  Result<Outputs> outputs(); // all outputs of the last run

  // Like output() and readVariable(), but without waiting. Later runs do not change the returned values.
  // variableLater() fails with Unsupported if the variable is sharded over ranks.
  Result<PendingTensor> outputLater(std::string_view name);
  Result<PendingTensor> variableLater(std::string_view name);

  // Waits for all runs. Returns their errors, such as a lost device.
  Status wait();

  // Seeds the model's random numbers and runs `init`, which initializes all weights.
  Status init(uint64_t seed);

  // Copies a variable from or to the device, after all runs so far. The value must have the variable's type and shape;
  // callers see narrow variables as f32. All ranks must read a sharded variable together, in the same order; when it is
  // written, each rank keeps only its rows.
  Result<HostTensor> readVariable(std::string_view name);
  // A packed weight also accepts the whole matrix in f32: the values are rounded and its scales are computed
  // (PackedWeights.h). That is an error if the weight has offsets, upper bits or packed scales.
  Status writeVariable(std::string_view name, const TensorView &value);

  // Copies rows [from, from + count) to the rows that begin at `to`, after all runs so far, in all caches that have
  // `rows` rows, that a prepared entry uses, and that hold no indices. The two ranges must not overlap.
  Status copyCacheRows(int64_t rows, int64_t from, int64_t to, int64_t count);

  // Writes the variables of these kinds, and the metadata, as a safetensors file. The file is written completely or not
  // at all.
  Status save(const std::filesystem::path &path, const VariableKinds &kinds = kTrainingState,
              const std::map<std::string, std::string> &metadata = {});

  // While one rank saves, the other ranks must call this with the same kinds, to send their parts of the sharded
  // variables.
  Status takePartInSave(const VariableKinds &kinds = kTrainingState);

  // Reads every variable of these kinds from a safetensors file. Changes nothing unless the file has all of them, with
  // the right shapes and types, and no tensors of another model. Weights may also come from the model that the artifact
  // was compiled from: its folder or GGUF file, or a safetensors file with its tensor names.
  Status load(const std::filesystem::path &path, const VariableKinds &kinds = kTrainingState);

  MemoryReport memory() const;

private:
  struct State;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

// The number of warnings and errors that Vulkan's validation layers have reported in this process. HEDDLE_VALIDATION=1
// in the environment turns the layers on. A program that should fail on such messages checks this after it closes its
// last session.
uint64_t validationMessageCount();

// The device that a session opens if its options name none, as hal::openDevice() takes it. Among the devices that can
// run the artifact's code, a GPU comes first (CUDA before Vulkan), then the processor, then a GPU that a Vulkan driver
// emulates. If code for another backend cannot run, the reason is logged.
std::string chooseDevice(const Artifact &artifact, std::string_view wantedTarget, bool nativeCode = true);

} // namespace heddle
