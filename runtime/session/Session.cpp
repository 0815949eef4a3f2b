#include "runtime/session/Session.h"

#include "runtime/core/Environment.h"
#include "runtime/core/Narrow.h"
#include "runtime/core/Span.h"
#include "runtime/schema/Constants.h"
#include "runtime/session/LaunchCosts.h"
#include "runtime/session/PackedWeights.h"
#include "runtime/session/SessionState.h"

#include <algorithm>
#include <cstdlib>

namespace heddle {
namespace {

DimInfo describeDim(const schema::Module &module, const schema::Dim &dim) {
  if (dim.size() < 0)
    return {"", dim.extent()};
  const schema::Size &size = *module.sizes()->Get(dim.size());
  return {std::string(view(size.name())), size.maximum()};
}

// Returns the role of a port that has none, because the artifact is older than roles or the module was written by hand.
std::string roleOfPort(std::string name) {
  if (name == "source" || name == "left" || name == "right")
    return name + ".tokens";
  if (name == "source_sentences")
    return name + ".positions";
  if (name == "target_in" || name == "target_out")
    return name == "target_in" ? "target.tokens" : "target.next";
  if (size_t end = name.rfind('_'); end != std::string::npos)
    name[end] = '.';
  return name;
}

PortInfo describePort(const schema::Module &module, const schema::Port &port) {
  PortInfo info{std::string(view(port.name())), elementType(*port.type()), {}, port.value_limit()};
  for (const schema::Dim *dim : *port.type()->dims())
    info.dims.push_back(describeDim(module, *dim));
  for (const schema::Size *size : *module.sizes())
    if (view(size->max_of_input()) == info.name)
      info.longest = {std::string(view(size->name())), size->maximum()};
  return info;
}

PortInfo describeInput(const schema::Module &module, const schema::Port &port) {
  PortInfo info = describePort(module, port);
  std::string role = port.role() ? port.role()->str() : roleOfPort(info.name);
  if (size_t dot = role.rfind('.'); dot != std::string::npos) {
    info.of = role.substr(0, dot);
    info.role = role.substr(dot + 1);
  }
  return info;
}

std::optional<RowsInfo::Term> describeSum(const schema::Entry &entry, const schema::Sum &sum) {
  if (!sum.addends() || sum.addends()->size() == 0)
    return RowsInfo::Term{"", sum.constant()};
  const schema::Addend &addend = *sum.addends()->Get(0);
  if (sum.addends()->size() > 1 || addend.coefficient() != 1 || addend.from() != 0)
    return {};
  return RowsInfo::Term{std::string(view(entry.inputs()->Get(addend.input())->name())), sum.constant()};
}

RowsInfo describeRows(const schema::Module &module, const schema::Entry &entry, const schema::Segments &segments) {
  RowsInfo info{describeSum(entry, *segments.first()),
                describeSum(entry, *segments.count()),
                describeDim(module, *segments.rows()),
                {},
                {}};
  if (segments.list() >= 0) {
    info.list = view(entry.inputs()->Get(static_cast<flatbuffers::uoffset_t>(segments.list()))->name());
    info.listed = describeDim(module, *segments.listed());
  }
  return info;
}

std::vector<EntryInfo> describeEntries(const schema::Module &module) {
  std::vector<EntryInfo> entries;
  for (const schema::Entry *entry : *module.entries()) {
    EntryInfo info{std::string(view(entry->name())), {}, {}};
    for (const schema::Port *port : *entry->inputs())
      info.inputs.push_back(describeInput(module, *port));
    for (const schema::Port *port : *entry->outputs())
      info.outputs.push_back(describePort(module, *port));
    if (entry->segments())
      for (const schema::Segments *segments : *entry->segments())
        info.rows.push_back(describeRows(module, *entry, *segments));
    entries.push_back(std::move(info));
  }
  return entries;
}

std::vector<VariableInfo> describeVariables(const schema::Module &module) {
  std::vector<VariableInfo> variables;
  for (const schema::Variable *variable : *module.variables())
    variables.push_back({std::string(view(variable->name())), static_cast<VariableKind>(variable->kind()),
                         elementType(*variable->type()), maximumShape(module, *variable->type()), variable->bytes()});
  for (size_t i = 0; i < variables.size(); ++i) {
    const schema::Variable &variable = *module.variables()->Get(static_cast<uint32_t>(i));
    VariableInfo &info = variables[i];
    if (variable.storage() >= 0)
      variables[static_cast<size_t>(variable.storage())].isStorage = true;
    info.isSharded =
        module.variables()
            ->Get(variable.storage() >= 0 ? static_cast<uint32_t>(variable.storage()) : static_cast<uint32_t>(i))
            ->sharded();
    info.role = static_cast<VariableRole>(variable.role());
    schema::ElementType element = variable.type()->element();
    info.narrow = element == schema::ElementType::BF16  ? NarrowType::BF16
                  : element == schema::ElementType::F16 ? NarrowType::F16
                                                        : NarrowType::None;
    info.panel = variable.panel();
    if (variable.owner() >= 0)
      info.owner = variables[static_cast<size_t>(variable.owner())].name;
    // For artifacts that predate roles, and modules written by hand without them.
    if (info.role == VariableRole::None && !info.isWeight() && info.kind != VariableKind::Cache) {
      info.role = roleOfName(info.name);
      if (size_t prefix = variableName(info.role).size(); variableName(info.role).ends_with('.'))
        info.owner = info.name.substr(prefix);
    }
  }
  return variables;
}

template <typename Infos> std::string listNames(const Infos &infos) {
  std::string names;
  for (const auto &info : infos)
    names += (names.empty() ? "" : ", ") + info.name;
  return names.empty() ? "none" : names;
}

template <typename Infos> auto findByName(const Infos &infos, std::string_view name) {
  auto found = std::find_if(infos.begin(), infos.end(), [&](const auto &info) { return info.name == name; });
  return found == infos.end() ? nullptr : &*found;
}

} // namespace

const char *toString(VariableKind kind) {
  constexpr const char *names[] = {"weight", "optimizer state", "gradient", "counter", "cache", "frozen weight"};
  return names[size_t(kind)];
}

const HostTensor *Outputs::find(std::string_view name) const {
  auto found = tensors.find(name);
  return found == tensors.end() ? nullptr : &found->second;
}

uint64_t validationMessageCount() { return hal::validationMessageCount(); }

Session::Session(std::unique_ptr<State> state) : state(std::move(state)) {}
Session::~Session() = default;

Result<std::unique_ptr<Session>> Session::open(const std::filesystem::path &path, const SessionOptions &options) {
  HEDDLE_ASSIGN(std::shared_ptr<const Artifact> artifact, Artifact::load(path));
  return open(std::move(artifact), options);
}

Result<std::unique_ptr<Session>> Session::open(std::shared_ptr<const Artifact> artifact,
                                               const SessionOptions &options) {
  HEDDLE_CHECK(checkEnvironment());
  auto state = std::make_unique<State>();
  state->artifact = std::move(artifact);
  state->options = options;
  if (const char *separate = std::getenv("HEDDLE_SEPARATE_VALUES"); separate && std::string_view(separate) == "1")
    state->options.separateValues = true;
  std::string device =
      options.device.empty() ? chooseDevice(*state->artifact, options.target, options.nativeCode) : options.device;
  if (!options.nativeCode)
    HEDDLE_CHECK(checkNativeCode(*state->artifact, device));
  {
    Span span("open device");
    span.with("device", device);
    HEDDLE_ASSIGN(state->device, hal::openDevice(device, options.deviceOptions));
  }
  HEDDLE_ASSIGN(state->target, chooseTarget(*state->artifact, options.target, state->device->info()));
  if (options.collectives) {
    HEDDLE_ASSIGN(state->group, options.collectives->begin(*state->device));
  }
  state->onDevice = std::make_unique<DeviceState>(*state->device, *state->artifact, *state->target, options.collectives,
                                                  state->group.get());
  state->entries = describeEntries(state->module());
  state->variables = describeVariables(state->module());
  return std::unique_ptr<Session>(new Session(std::move(state)));
}

const hal::DeviceInfo &Session::device() const { return state->device->info(); }
std::string_view Session::target() const { return view(state->target->name()); }
std::string_view Session::description() const { return state->artifact->description(); }
const Artifact &Session::artifact() const { return *state->artifact; }
const std::vector<EntryInfo> &Session::entries() const { return state->entries; }
const std::vector<VariableInfo> &Session::variables() const { return state->variables; }
const EntryInfo *Session::findEntry(std::string_view name) const { return findByName(state->entries, name); }
const VariableInfo *Session::findVariable(std::string_view name) const { return findByName(state->variables, name); }

const VariableInfo *Session::findVariable(VariableRole role) const {
  auto found = std::find_if(state->variables.begin(), state->variables.end(),
                            [&](const VariableInfo &info) { return info.role == role && info.owner.empty(); });
  return found == state->variables.end() ? nullptr : &*found;
}

Status Session::State::prepare(std::span<const std::string_view> names, const KernelProgress &progress) {
  std::vector<uint32_t> kernels;
  std::vector<uint64_t> blocks; // sizes of the arena's blocks: the maximum over the entries
  for (std::string_view name : names) {
    const EntryInfo *info = findByName(entries, name);
    if (!info)
      return makeError(ErrorKind::NotFound, "'", artifact->origin(), "' has no entry '", name,
                       "'. Its entries are: ", listNames(entries), ".");
    auto position = runners.find(name);
    if (position == runners.end()) {
      auto index = static_cast<flatbuffers::uoffset_t>(info - entries.data());
      const schema::Entry &entry = *entriesOf(module(), *target).Get(index);
      position =
          runners.emplace(info->name, std::make_unique<EntryRunner>(*onDevice, entry, options.separateValues)).first;
    }
    std::vector<uint32_t> used = position->second->kernels();
    kernels.insert(kernels.end(), used.begin(), used.end());
    const std::vector<uint64_t> &needed = position->second->values().blockBytes();
    blocks.resize(std::max(blocks.size(), needed.size()));
    for (size_t i = 0; i < needed.size(); ++i)
      blocks[i] = std::max(blocks[i], needed[i]);
  }

  // Memory before kernels: a lack of memory is found before time is spent on compiling.
  if (!onDevice->hasArena(blocks)) {
    for (auto &[name, runner] : runners)
      runner->forget();
    forgetValues();
    Span span("allocate arena");
    HEDDLE_CHECK(onDevice->growArena(blocks));
    span.with("bytes", int64_t(onDevice->arenaBytes()));
  }
  bool compilesLate = device->info().emulated;
  HEDDLE_CHECK(loadKernels(kernels, compilesLate ? KernelProgress() : progress));
  for (std::string_view name : names)
    if (EntryRunner &runner = *runners.find(name)->second; !runner.recorded()) {
      Span span("record launches");
      span.with("entry", name);
      HEDDLE_CHECK(runner.record());
    }
  return compilesLate && progress ? launchOnce(names, progress) : Success();
}

Status Session::State::loadKernels(std::vector<uint32_t> &kernels, const KernelProgress &progress) {
  std::ranges::sort(kernels);
  kernels.erase(std::unique(kernels.begin(), kernels.end()), kernels.end());
  constexpr size_t portion = 8; // kernels compiled in parallel between two reports
  size_t most = progress ? portion : std::max<size_t>(kernels.size(), 1);
  for (size_t done = 0; done < kernels.size();) {
    std::span<const uint32_t> some = std::span(kernels).subspan(done, std::min(most, kernels.size() - done));
    HEDDLE_CHECK(onDevice->loadKernels(some));
    done += some.size();
    if (progress)
      progress(done, kernels.size());
  }
  return Success();
}

Status Session::State::launchOnce(std::span<const std::string_view> names, const KernelProgress &progress) {
  std::map<uint32_t, std::pair<EntryRunner *, uint32_t>> first; // a launch of each kernel
  for (std::string_view name : names) {
    EntryRunner &runner = *runners.find(name)->second;
    std::vector<uint32_t> kernels = runner.kernels();
    for (uint32_t launch = 0; launch < kernels.size(); ++launch)
      first.try_emplace(kernels[launch], &runner, launch);
  }
  size_t done = 0;
  for (const auto &[kernel, launch] : first) {
    Span span("compile kernel at its first launch");
    HEDDLE_CHECK(launch.first->launchOverNothing(launch.second));
    progress(++done, first.size());
  }
  return Success();
}

Result<EntryRunner *> Session::State::prepared(std::string_view entry) {
  auto found = runners.find(entry);
  if (found == runners.end() || !found->second->recorded()) {
    HEDDLE_CHECK(prepare({&entry, 1}));
    found = runners.find(entry);
  }
  return found->second.get();
}

Result<uint32_t> Session::State::variableIndex(std::string_view name) const {
  const VariableInfo *info = findByName(variables, name);
  if (!info)
    return makeError(ErrorKind::NotFound, "'", artifact->origin(), "' has no variable '", name,
                     "'. `heddle-inspect` lists its variables.");
  return static_cast<uint32_t>(info - variables.data());
}

Status Session::prepare(std::span<const std::string_view> entries, const KernelProgress &progress) {
  return state->prepare(entries, progress);
}

// If the caller has written weights, updates their 16-bit copies before an entry reads them.
Status Session::State::roundWeights(std::string_view before) {
  if (!weightsWritten || before == schema::kRoundEntry || !findByName(entries, schema::kRoundEntry))
    return Success();
  HEDDLE_ASSIGN(EntryRunner * runner, prepared(schema::kRoundEntry));
  forgetValues();
  Span span("round weights");
  HEDDLE_CHECK(runner->run({}, Send::All)); // checkNumbers finds NaN later, in the launches that use the weights
  weightsWritten = false;
  return Success();
}

// Prepares the entry, and checks that the inputs that `send` leaves out are on the device.
Result<EntryRunner *> Session::State::ready(std::string_view entry, Send send) {
  HEDDLE_CHECK(roundWeights(entry));
  HEDDLE_ASSIGN(EntryRunner * runner, prepared(entry));
  if (send == Send::Overwritten && runner != last)
    return makeError(ErrorKind::InvalidArgument, "the inputs of entry '", entry,
                     "' are not on the device: another entry ran last. Send all inputs.");
  if (send == Send::Nothing && runner != sent)
    return makeError(ErrorKind::InvalidArgument, "the inputs of entry '", entry,
                     "' are not on the device: they were not sent just before.");
  forgetValues();
  return runner;
}

// Zeroes the sharded variables. `init` leaves them to the runtime, which knows how many of their rows this rank has.
Status Session::State::beginShards() {
  for (uint32_t i = 0; i < variables.size(); ++i)
    if (const schema::Variable &variable = *module().variables()->Get(i); variable.sharded())
      HEDDLE_CHECK(onDevice->write(i, 0, std::vector<std::byte>(variable.bytes())));
  return Success();
}

Status Session::run(std::string_view entry, std::span<const Input> inputs, Send send) {
  if (entry == schema::kInitEntry)
    HEDDLE_CHECK(state->beginShards());
  HEDDLE_ASSIGN(EntryRunner * runner, state->ready(entry, send));
  Span span("start entry");
  span.with("entry", entry);
  HEDDLE_CHECK(state->options.checkNumbers ? runner->runChecked(inputs) : runner->run(inputs, send));
  state->last = runner;
  state->hasValue.assign(state->variables.size(), true);
  return Success();
}

Status Session::send(std::string_view entry, std::span<const Input> inputs, Send send) {
  HEDDLE_ASSIGN(EntryRunner * runner, state->ready(entry, send));
  Span span("send inputs");
  span.with("entry", entry);
  HEDDLE_CHECK(runner->send(inputs, send));
  state->sent = runner;
  return Success();
}

Result<std::vector<LaunchProfile>> Session::profile(std::string_view entry, std::span<const Input> inputs, Send send) {
  HEDDLE_ASSIGN(EntryRunner * runner, state->ready(entry, send));
  Span span("run entry, timed");
  span.with("entry", entry);
  HEDDLE_ASSIGN(std::vector<LaunchProfile> launches, runner->profile(inputs, send));
  state->last = runner;
  state->hasValue.assign(state->variables.size(), true);
  return launches;
}

Result<std::vector<LaunchCost>> Session::costs(std::string_view entry, std::span<const Input> inputs) {
  HEDDLE_ASSIGN(EntryRunner * runner, state->prepared(entry));
  HEDDLE_ASSIGN(CallBinding binding, bindCall(state->module(), runner->entry, inputs));
  return launchCosts(state->module(), runner->entry, binding);
}

Result<Outputs> Session::call(std::string_view entry, std::span<const Input> inputs) {
  HEDDLE_CHECK(run(entry, inputs));
  return outputs();
}

Result<Outputs> Session::outputs() {
  if (!state->last)
    return makeError(ErrorKind::InvalidArgument, "outputs were asked for, and no entry has run since the session was "
                                                 "opened, another entry was prepared or a call failed.");
  Outputs outputs;
  for (const schema::Port *port : *state->last->entry.outputs()) {
    HEDDLE_ASSIGN(HostTensor tensor, state->last->output(*port));
    outputs.tensors.emplace(view(port->name()), std::move(tensor));
  }
  HEDDLE_CHECK(wait()); // so that an entry without outputs has also run on return
  return outputs;
}

Result<const schema::Port *> Session::State::lastOutput(std::string_view name) const {
  if (!last)
    return makeError(ErrorKind::InvalidArgument, "output '", name,
                     "' was asked for, and no entry has run since the "
                     "session was opened, another entry was prepared or a call failed.");
  for (const schema::Port *port : *last->entry.outputs())
    if (view(port->name()) == name)
      return port;
  return makeError(ErrorKind::NotFound, "entry '", view(last->entry.name()), "' has no output '", name, "'.");
}

Result<HostTensor> Session::output(std::string_view name) {
  HEDDLE_ASSIGN(const schema::Port *port, state->lastOutput(name));
  return state->last->output(*port);
}

Result<PendingTensor> Session::outputLater(std::string_view name) {
  HEDDLE_ASSIGN(const schema::Port *port, state->lastOutput(name));
  return state->last->outputLater(*port);
}

Status Session::State::checkVariable(uint32_t index, std::span<const int32_t> values) const {
  const schema::Variable &variable = *module().variables()->Get(index);
  if (Status status = checkLimit(values, variable.value_limit()); !status)
    return makeError(ErrorKind::InvalidArgument, "variable '", view(variable.name()), "' ", status.message());
  return Success();
}

Status Session::wait() {
  Span span("wait for device");
  return state->device->wait();
}

Status Session::init(uint64_t seed) {
  if (const VariableInfo *seeded = findVariable(VariableRole::Seed)) {
    HostTensor value = HostTensor::vector<int32_t>({static_cast<int32_t>(seed), static_cast<int32_t>(seed >> 32)});
    HEDDLE_CHECK(writeVariable(seeded->name, value));
  }
  return run(schema::kInitEntry);
}

Result<HostTensor> Session::readVariable(std::string_view name) {
  HEDDLE_ASSIGN(uint32_t index, state->variableIndex(name));
  const VariableInfo &info = state->variables[index];
  HEDDLE_ASSIGN(HostTensor tensor, HostTensor::uninitialized(info.type, info.shape));
  if (!info.isNarrow() && info.panel == 0) {
    HEDDLE_CHECK(state->onDevice->read(index, tensor.bytes()));
    return tensor;
  }
  std::vector<std::byte> stored(info.bytes);
  HEDDLE_CHECK(state->onDevice->read(index, stored));
  if (info.panel > 0)
    stored = reorder(stored, info.shape, info.panel, Order::ToRows);
  if (info.isNarrow())
    widenAll(info.narrow, stored, tensor.values<float>());
  else
    std::ranges::copy(stored, tensor.bytes().begin());
  return tensor;
}

Result<PendingTensor> Session::variableLater(std::string_view name) {
  HEDDLE_ASSIGN(uint32_t index, state->variableIndex(name));
  const VariableInfo &info = state->variables[index];
  if (info.panel > 0) { // weights in panels are not trained
    HEDDLE_ASSIGN(HostTensor tensor, readVariable(name));
    return PendingTensor([tensor = std::make_shared<HostTensor>(std::move(tensor))]() -> Result<HostTensor> {
      return std::move(*tensor);
    });
  }
  HEDDLE_ASSIGN(hal::Buffer * buffer, state->onDevice->variable(index));
  if (state->onDevice->shards.has(index))
    return makeError(ErrorKind::Unsupported, "variable '", name, "' is not read later: each rank keeps a part of it.");
  return readLater(*state->device, *buffer, state->onDevice->variableOffset(index), info.type, info.shape, info.narrow);
}

Status Session::writeVariable(std::string_view name, const TensorView &value) {
  HEDDLE_ASSIGN(uint32_t index, state->variableIndex(name));
  const VariableInfo &info = state->variables[index];
  if (value.type == ElementType::F32 && isPackedWeight(state->variables, info)) {
    Result<PackedParts> packed = packWeight(state->variables, info, value);
    if (!packed.ok())
      return std::move(packed).error().within(str("variable '", name, "'"));
    for (const auto &[part, tensor] : *packed)
      HEDDLE_CHECK(writeVariable(part, tensor));
    return Success();
  }
  if (value.type != info.type || !std::ranges::equal(value.shape, info.shape) ||
      value.bytes.size() != info.bytes * (info.isNarrow() ? 2 : 1))
    return makeError(ErrorKind::InvalidArgument, "variable '", name, "' is ", describe(info.type, info.shape),
                     ", and the value for it is ", describe(value.type, value.shape), ".");
  if (info.type == ElementType::I32)
    HEDDLE_CHECK(state->checkVariable(index, value.values<int32_t>()));
  state->weightsWritten |= info.isWeight();
  state->noteValue(index);
  std::vector<std::byte> narrow;
  if (info.isNarrow()) {
    HEDDLE_ASSIGN(narrow, narrowed(info, value.values<float>()));
  }
  std::span<const std::byte> stored = info.isNarrow() ? narrow : value.bytes;
  if (info.panel > 0)
    return state->onDevice->write(index, 0, reorder(stored, info.shape, info.panel, Order::ToPanels));
  return state->onDevice->write(index, 0, stored);
}

Status Session::copyCacheRows(int64_t rows, int64_t from, int64_t to, int64_t count) {
  if (count < 0 || std::min(from, to) < 0 || std::max(from, to) > rows - count || std::abs(from - to) < count)
    return makeError(ErrorKind::InvalidArgument, "rows ", from, " and on cannot be copied to rows ", to,
                     " and on: ", count, " of ", rows, " rows.");
  Span span("copy cache rows");
  span.with("rows", count);
  std::vector<std::byte> held;
  for (uint32_t i = 0; i < state->variables.size(); ++i) {
    const VariableInfo &info = state->variables[i];
    bool isMeant = info.kind == VariableKind::Cache && !info.shape.empty() && info.shape[0] == rows;
    bool holdsIndices = state->module().variables()->Get(i)->value_limit() != 0;
    if (!isMeant || holdsIndices || !state->onDevice->allocatedVariable(i))
      continue;
    HEDDLE_ASSIGN(hal::Buffer * buffer, state->onDevice->variable(i));
    uint64_t row = info.bytes / uint64_t(rows), begin = state->onDevice->variableOffset(i);
    held.resize(row * uint64_t(count));
    HEDDLE_CHECK(state->device->read(*buffer, begin + uint64_t(from) * row, held));
    HEDDLE_CHECK(state->device->write(*buffer, begin + uint64_t(to) * row, held));
  }
  return Success();
}

MemoryReport Session::memory() const {
  MemoryReport report;
  for (uint32_t i = 0; i < state->variables.size(); ++i) {
    const hal::Buffer *buffer = state->onDevice->allocatedVariable(i);
    if (!buffer || state->module().variables()->Get(i)->storage() >= 0) // a view's memory is counted with its storage
      continue;
    uint64_t *total = &report.weights;
    switch (state->variables[i].kind) {
    case VariableKind::Weight:
    case VariableKind::Frozen:
      break;
    case VariableKind::OptimizerState:
      total = &report.optimizerState;
      break;
    case VariableKind::Gradient:
      total = &report.gradients;
      break;
    case VariableKind::Counter:
      total = &report.counters;
      break;
    case VariableKind::Cache:
      total = &report.caches;
      break;
    }
    *total += buffer->bytes();
  }
  report.arena = state->onDevice->arenaBytes();
  for (const auto &[name, runner] : state->runners)
    report.arena += runner->values().ownBytes();
  report.peak = state->device->memory().peak;
  return report;
}

} // namespace heddle
