// The C API over Session. Converts names and shapes to C types, turns errors into codes with a thread-local message,
// and catches all exceptions.
#include "runtime/artifact/Artifact.h"
#include "runtime/c/ApiCall.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <unistd.h>
#include <vector>

using namespace heddle;

static_assert(int(ErrorKind::InvalidArgument) + 1 == HEDDLE_INVALID_ARGUMENT &&
                  int(ErrorKind::NotFound) + 1 == HEDDLE_NOT_FOUND && int(ErrorKind::Io) + 1 == HEDDLE_IO &&
                  int(ErrorKind::Malformed) + 1 == HEDDLE_MALFORMED &&
                  int(ErrorKind::Unsupported) + 1 == HEDDLE_UNSUPPORTED &&
                  int(ErrorKind::OutOfMemory) + 1 == HEDDLE_OUT_OF_MEMORY &&
                  int(ErrorKind::DeviceLost) + 1 == HEDDLE_DEVICE_LOST,
              "a code is the error's kind and 1");
static_assert(int(ElementType::F32) == HEDDLE_F32 && int(ElementType::I32) == HEDDLE_I32,
              "types have the same numbers");
static_assert(1 << int(VariableKind::Weight) == HEDDLE_WEIGHT &&
                  1 << int(VariableKind::OptimizerState) == HEDDLE_OPTIMIZER_STATE &&
                  1 << int(VariableKind::Gradient) == HEDDLE_GRADIENT &&
                  1 << int(VariableKind::Counter) == HEDDLE_COUNTER && 1 << int(VariableKind::Cache) == HEDDLE_CACHE &&
                  1 << int(VariableKind::Frozen) == HEDDLE_FROZEN,
              "a kind is a bit");

struct heddle_outputs {
  Outputs outputs;
  std::vector<heddle_tensor> tensors;
};

namespace {

thread_local std::string message;
thread_local std::vector<hal::DeviceInfo> devices;

Error pastLast(std::string_view what, size_t index, size_t count) {
  return makeError(ErrorKind::InvalidArgument, "there is no ", what, " number ", index, ": there are ", count,
                   ", from 0 on.");
}

// Lists the usable devices anew.
Status listUsable(size_t &count) {
  HEDDLE_ASSIGN(devices, hal::listDevices());
  std::erase_if(devices, [](const hal::DeviceInfo &device) { return !device.unusable.empty(); });
  count = devices.size();
  return Success();
}

std::vector<std::vector<heddle_dimension>> dimensionsOf(const std::vector<PortInfo> &ports) {
  std::vector<std::vector<heddle_dimension>> all;
  for (const PortInfo &port : ports) {
    std::vector<heddle_dimension> &dims = all.emplace_back();
    for (const DimInfo &dim : port.dims)
      dims.push_back({dim.size.empty() ? nullptr : dim.size.c_str(), dim.extent});
  }
  return all;
}

// Counts open sessions. A forked process inherits the drivers' state but not their threads, and closing a session would
// wait for these threads.
struct OpenModels {
  std::mutex mutex;
  pid_t process = ::getpid();
  size_t count = 0;
} openModels;

Status checkFork() {
  std::lock_guard lock(openModels.mutex);
  if (openModels.process != ::getpid() && openModels.count != 0)
    return makeError(
        ErrorKind::Unsupported, "process ", ::getpid(), " is a fork of process ", openModels.process,
        ", which had a model open then: the device's threads are not forked. Open models in processes that "
        "are started anew (multiprocessing's 'spawn'), or fork before the first model is opened.");
  openModels.process = ::getpid();
  return Success();
}

Status take(Result<std::unique_ptr<Session>> opened, heddle_session **result) {
  HEDDLE_ASSIGN(std::unique_ptr<Session> session, std::move(opened));
  auto made = std::make_unique<heddle_session>();
  for (const EntryInfo &entry : session->entries())
    made->dimensions.push_back({dimensionsOf(entry.inputs), dimensionsOf(entry.outputs)});
  made->target = session->target();
  made->description = session->description();
  made->session = std::move(session);
  std::lock_guard lock(openModels.mutex);
  ++openModels.count;
  *result = made.release();
  return Success();
}

Result<SessionOptions> optionsOf(const heddle_options *given) {
  heddle_options options{};
  if (given)
    HEDDLE_CHECK(readFields(given, options));
  SessionOptions result;
  if (options.device)
    result.device = options.device;
  if (options.target)
    result.target = options.target;
  result.checkNumbers = options.check_numbers != 0;
  result.nativeCode = options.refuse_native_code == 0;
  return result;
}

Result<TensorView> viewOf(const heddle_tensor &tensor) {
  std::string_view name = tensor.name ? tensor.name : "";
  if (name.empty())
    return makeError(ErrorKind::InvalidArgument, "a tensor has no name.");
  if (tensor.type != HEDDLE_F32 && tensor.type != HEDDLE_I32)
    return makeError(ErrorKind::InvalidArgument, "the tensor '", name, "' has the type ", int(tensor.type),
                     ", which is neither ", "HEDDLE_F32 nor HEDDLE_I32.");
  if (tensor.rank && !tensor.shape)
    return makeError(ErrorKind::InvalidArgument, "the tensor '", name, "' has ", tensor.rank,
                     " dimensions, and its shape is NULL.");
  std::span<const int64_t> shape(tensor.shape, tensor.rank);
  std::optional<int64_t> count = elementCount(shape);
  if (!count)
    return makeError(ErrorKind::InvalidArgument, "the tensor '", name,
                     "' has a shape that no memory has: ", describe(ElementType(tensor.type), shape), ".");
  if (*count && !tensor.data)
    return makeError(ErrorKind::InvalidArgument, "the tensor '", name, "' has ", *count,
                     " elements, and its data is NULL.");
  return TensorView{ElementType(tensor.type), shape,
                    std::span(static_cast<const std::byte *>(tensor.data), size_t(*count) * kElementBytes)};
}

Result<std::vector<Input>> inputsOf(const heddle_tensor *tensors, size_t count) {
  if (count && !tensors)
    return missing("the list of inputs");
  std::vector<Input> inputs;
  for (size_t i = 0; i < count; ++i) {
    HEDDLE_ASSIGN(TensorView view, viewOf(tensors[i]));
    inputs.push_back({tensors[i].name, view});
  }
  return inputs;
}

heddle_outputs *giveOut(Outputs outputs) {
  auto result = std::make_unique<heddle_outputs>();
  result->outputs = std::move(outputs);
  for (const auto &[name, tensor] : result->outputs)
    result->tensors.push_back({name.c_str(), heddle_element_type(tensor.type()), tensor.shape().size(),
                               tensor.shape().data(), tensor.bytes().data()});
  return result.release();
}

Result<VariableKinds> kindsOf(uint32_t bits) {
  VariableKinds kinds;
  for (int kind = 0; kind <= int(VariableKind::Frozen); ++kind)
    if (bits & (1u << kind))
      kinds.push_back(VariableKind(kind));
  if (kinds.empty() || bits >> (int(VariableKind::Frozen) + 1))
    return makeError(ErrorKind::InvalidArgument, "the kinds of variables are ", bits,
                     ", which are no bits of heddle_kind.");
  return kinds;
}

// The ports of an entry, and their dimensions.
struct Ports {
  const std::vector<PortInfo> *ports;
  const std::vector<std::vector<heddle_dimension>> *dimensions;
};

Result<Ports> portsOf(const heddle_session *session, const char *entry, heddle_direction direction) {
  if (!session || !entry)
    return missing(session ? "the entry's name" : "the session");
  const std::vector<EntryInfo> &entries = session->session->entries();
  const EntryInfo *found = session->session->findEntry(entry);
  if (!found)
    return makeError(ErrorKind::NotFound, "the model has no entry '", entry, "'.");
  const Dimensions &dimensions = session->dimensions[size_t(found - entries.data())];
  if (direction == HEDDLE_INPUT)
    return Ports{&found->inputs, &dimensions.inputs};
  if (direction == HEDDLE_OUTPUT)
    return Ports{&found->outputs, &dimensions.outputs};
  return makeError(ErrorKind::InvalidArgument, "the direction ", int(direction),
                   " is neither HEDDLE_INPUT nor HEDDLE_OUTPUT.");
}

Status describeVariable(const VariableInfo &info, heddle_variable *variable) {
  return fill(variable,
              heddle_variable{0, info.name.c_str(), heddle_kind(1 << int(info.kind)), heddle_element_type(info.type),
                              info.shape.size(), info.shape.data(), info.bytes});
}

} // namespace

heddle_status heddle::fail(ErrorKind kind, std::string text) {
  message = std::move(text);
  return heddle_status(int(kind) + 1);
}

uint32_t heddle_api_version(void) { return HEDDLE_API_VERSION; }
const char *heddle_version(void) { return HEDDLE_VERSION; }
const char *heddle_error_message(void) { return message.c_str(); }

//===-- Devices -------------------------------------------------------------------------------------------------===//

heddle_status heddle_device_count(size_t *count) {
  return guarded([&]() -> Status {
    if (!count)
      return missing("count");
    HEDDLE_CHECK(listUsable(*count));
    return Success();
  });
}

heddle_status heddle_device_at(size_t index, heddle_device *device) {
  return guarded([&]() -> Status {
    if (size_t count = 0; devices.empty()) // the caller may not have called heddle_device_count
      HEDDLE_CHECK(listUsable(count));
    if (index >= devices.size())
      return pastLast("device", index, devices.size());
    return fill(device, heddle_device{0, devices[index].id.c_str(), devices[index].name.c_str()});
  });
}

//===-- Sessions ------------------------------------------------------------------------------------------------===//

heddle_status heddle_open(const char *path, const heddle_options *options, heddle_session **session) {
  return guarded([&]() -> Status {
    if (!path || !session)
      return missing(path ? "session" : "path");
    HEDDLE_CHECK(checkFork());
    HEDDLE_ASSIGN(SessionOptions wanted, optionsOf(options));
    return take(Session::open(path, wanted), session);
  });
}

heddle_status heddle_open_bytes(const void *data, size_t bytes, const heddle_options *options,
                                heddle_session **session) {
  return guarded([&]() -> Status {
    if (!data || !session)
      return missing(data ? "session" : "data");
    HEDDLE_CHECK(checkFork());
    HEDDLE_ASSIGN(SessionOptions wanted, optionsOf(options));
    if (bytes > std::vector<std::byte>().max_size())
      return makeError(ErrorKind::InvalidArgument, "an artifact of ", bytes, " bytes is larger than any memory.");
    const auto *begin = static_cast<const std::byte *>(data);
    HEDDLE_ASSIGN(std::shared_ptr<const Artifact> artifact,
                  Artifact::fromBytes(std::vector<std::byte>(begin, begin + bytes), "the artifact in memory"));
    return take(Session::open(std::move(artifact), wanted), session);
  });
}

void heddle_close(heddle_session *session) {
  if (!session || session->process != ::getpid()) // a fork leaves its parent's models alone
    return;
  delete session;
  std::lock_guard lock(openModels.mutex);
  --openModels.count;
}

const char *heddle_session_device(const heddle_session *session) {
  return session ? session->session->device().id.c_str() : "";
}
const char *heddle_session_target(const heddle_session *session) { return session ? session->target.c_str() : ""; }
const char *heddle_session_description(const heddle_session *session) {
  return session ? session->description.c_str() : "";
}

//===-- Entries and variables -----------------------------------------------------------------------------------===//

size_t heddle_entry_count(const heddle_session *session) { return session ? session->session->entries().size() : 0; }

const char *heddle_entry_name(const heddle_session *session, size_t index) {
  return index < heddle_entry_count(session) ? session->session->entries()[index].name.c_str() : nullptr;
}

heddle_status heddle_port_count(const heddle_session *session, const char *entry, heddle_direction direction,
                                size_t *count) {
  return guarded([&]() -> Status {
    if (!count)
      return missing("count");
    HEDDLE_ASSIGN(Ports ports, portsOf(session, entry, direction));
    *count = ports.ports->size();
    return Success();
  });
}

heddle_status heddle_port_at(const heddle_session *session, const char *entry, heddle_direction direction, size_t index,
                             heddle_port *port) {
  return guarded([&]() -> Status {
    HEDDLE_ASSIGN(Ports ports, portsOf(session, entry, direction));
    if (index >= ports.ports->size())
      return pastLast("port", index, ports.ports->size());
    const PortInfo &info = (*ports.ports)[index];
    const std::vector<heddle_dimension> &dimensions = (*ports.dimensions)[index];
    return fill(port, heddle_port{0, info.name.c_str(), heddle_element_type(info.type), dimensions.size(),
                                  dimensions.data(), info.valueLimit});
  });
}

size_t heddle_variable_count(const heddle_session *session) {
  return session ? session->session->variables().size() : 0;
}

heddle_status heddle_variable_at(const heddle_session *session, size_t index, heddle_variable *variable) {
  return guarded([&]() -> Status {
    if (!session)
      return missing("the session");
    if (index >= heddle_variable_count(session))
      return pastLast("variable", index, heddle_variable_count(session));
    return describeVariable(session->session->variables()[index], variable);
  });
}

heddle_status heddle_variable_named(const heddle_session *session, const char *name, heddle_variable *variable) {
  return guarded([&]() -> Status {
    if (!session || !name)
      return missing(session ? "the variable's name" : "the session");
    if (const VariableInfo *info = session->session->findVariable(name))
      return describeVariable(*info, variable);
    return makeError(ErrorKind::NotFound, "the model has no variable '", name, "'.");
  });
}

heddle_status heddle_read_variable(heddle_session *session, const char *name, void *data, size_t bytes) {
  return guarded([&]() -> Status {
    if (!session || !name || !data)
      return missing(!session ? "the session" : !name ? "the variable's name" : "data");
    HEDDLE_ASSIGN(HostTensor tensor, session->session->readVariable(name));
    if (tensor.bytes().size() != bytes)
      return makeError(ErrorKind::InvalidArgument, "the variable '", name, "' is ",
                       describe(tensor.type(), tensor.shape()), ", which takes ", tensor.bytes().size(),
                       " bytes, and there are ", bytes, ".");
    std::memcpy(data, tensor.bytes().data(), bytes);
    return Success();
  });
}

heddle_status heddle_write_variable(heddle_session *session, const heddle_tensor *value) {
  return guarded([&]() -> Status {
    if (!session || !value)
      return missing(session ? "value" : "the session");
    HEDDLE_ASSIGN(TensorView view, viewOf(*value));
    return session->session->writeVariable(value->name, view);
  });
}

//===-- Calls ---------------------------------------------------------------------------------------------------===//

heddle_status heddle_prepare(heddle_session *session, const char *const *entries, size_t count) {
  return guarded([&]() -> Status {
    if (!session || (count && !entries))
      return missing(session ? "the list of entries" : "the session");
    std::vector<std::string_view> names;
    for (size_t i = 0; i < count; ++i)
      names.push_back(entries[i] ? entries[i] : "");
    return session->session->prepare(names);
  });
}

heddle_status heddle_init(heddle_session *session, uint64_t seed) {
  return guarded([&]() -> Status {
    if (!session)
      return missing("the session");
    return session->session->init(seed);
  });
}

heddle_status heddle_call(heddle_session *session, const char *entry, const heddle_tensor *inputs, size_t count,
                          heddle_outputs **outputs) {
  return guarded([&]() -> Status {
    if (!session || !entry || !outputs)
      return missing(!session ? "the session" : !entry ? "the entry's name" : "outputs");
    HEDDLE_ASSIGN(std::vector<Input> given, inputsOf(inputs, count));
    HEDDLE_ASSIGN(Outputs results, session->session->call(entry, given));
    *outputs = giveOut(std::move(results));
    return Success();
  });
}

heddle_status heddle_run(heddle_session *session, const char *entry, const heddle_tensor *inputs, size_t count) {
  return guarded([&]() -> Status {
    if (!session || !entry)
      return missing(session ? "the entry's name" : "the session");
    HEDDLE_ASSIGN(std::vector<Input> given, inputsOf(inputs, count));
    return session->session->run(entry, given);
  });
}

heddle_status heddle_read_outputs(heddle_session *session, heddle_outputs **outputs) {
  return guarded([&]() -> Status {
    if (!session || !outputs)
      return missing(session ? "outputs" : "the session");
    HEDDLE_ASSIGN(Outputs results, session->session->outputs());
    *outputs = giveOut(std::move(results));
    return Success();
  });
}

heddle_status heddle_wait(heddle_session *session) {
  return guarded([&]() -> Status {
    if (!session)
      return missing("the session");
    return session->session->wait();
  });
}

size_t heddle_output_count(const heddle_outputs *outputs) { return outputs ? outputs->tensors.size() : 0; }

heddle_status heddle_output_at(const heddle_outputs *outputs, size_t index, heddle_tensor *tensor) {
  return guarded([&]() -> Status {
    if (!tensor)
      return missing("tensor");
    if (index >= heddle_output_count(outputs))
      return pastLast("output", index, heddle_output_count(outputs));
    *tensor = outputs->tensors[index];
    return Success();
  });
}

heddle_status heddle_output_named(const heddle_outputs *outputs, const char *name, heddle_tensor *tensor) {
  return guarded([&]() -> Status {
    if (!outputs || !name || !tensor)
      return missing(!outputs ? "outputs" : !name ? "the output's name" : "tensor");
    for (const heddle_tensor &known : outputs->tensors)
      if (std::string_view(known.name) == name) {
        *tensor = known;
        return Success();
      }
    return makeError(ErrorKind::NotFound, "the call gave no output '", name, "'.");
  });
}

void heddle_free_outputs(heddle_outputs *outputs) { delete outputs; }

//===-- Checkpoints and memory ----------------------------------------------------------------------------------===//

heddle_status heddle_save(heddle_session *session, const char *path, uint32_t kinds) {
  return guarded([&]() -> Status {
    if (!session || !path)
      return missing(session ? "path" : "the session");
    HEDDLE_ASSIGN(VariableKinds wanted, kindsOf(kinds));
    return session->session->save(path, wanted);
  });
}

heddle_status heddle_load(heddle_session *session, const char *path, uint32_t kinds) {
  return guarded([&]() -> Status {
    if (!session || !path)
      return missing(session ? "path" : "the session");
    HEDDLE_ASSIGN(VariableKinds wanted, kindsOf(kinds));
    auto isWanted = [&](const VariableInfo &variable) { return std::ranges::count(wanted, variable.kind) != 0; };
    if (std::ranges::none_of(session->session->variables(), isWanted))
      return makeError(ErrorKind::NotFound, "the model has no variable of the kinds that are to be loaded, ", kinds,
                       " (bits of heddle_kind).");
    return session->session->load(path, wanted);
  });
}

heddle_status heddle_session_memory(const heddle_session *session, heddle_memory *memory) {
  return guarded([&]() -> Status {
    if (!session)
      return missing("the session");
    MemoryReport report = session->session->memory();
    return fill(memory, heddle_memory{0, report.weights, report.optimizerState, report.gradients, report.counters,
                                      report.caches, report.arena, report.peak});
  });
}
