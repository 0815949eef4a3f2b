#include "runtime/core/File.h"
#include "runtime/core/Log.h"
#include "runtime/model/Embedder.h"
#include "runtime/model/Generator.h"
#include "runtime/model/Translator.h"
#include "runtime/published/PublishedWeights.h"
#include "runtime/serve/Server.h"
#include "runtime/train/Adapter.h"
#include "runtime/train/Checkpoint.h"
#include "runtime/train/Conversations.h"
#include "tools/heddle-run/commands/OpenModel.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <pthread.h>

namespace heddle::run {
namespace {

struct NamedAdapter {
  std::string name, folder;
};

Result<std::vector<NamedAdapter>> readAdapters(const std::vector<std::string> &flags, const std::string &modelName) {
  std::vector<NamedAdapter> adapters;
  for (const std::string &flag : flags) {
    size_t equals = flag.find('='); // checked by addServing
    NamedAdapter adapter{flag.substr(0, equals), flag.substr(equals + 1)};
    if (adapter.name == modelName || std::ranges::find(adapters, adapter.name, &NamedAdapter::name) != adapters.end())
      return makeError(ErrorKind::InvalidArgument, "the name '", adapter.name,
                       "' is there twice; give each adapter a name of its own.");
    adapters.push_back(std::move(adapter));
  }
  return adapters;
}

// Reads one key per line; skips blank lines and lines that begin with #.
Result<std::vector<std::string>> readKeys(const std::string &path) {
  std::vector<std::string> keys;
  errno = 0;
  std::ifstream file(path); // may be a pipe
  for (std::string line; std::getline(file, line);) {
    line.erase(line.find_last_not_of(" \t\r") + 1);
    if (!line.empty() && line[0] != '#')
      keys.push_back(line);
  }
  if (!file.is_open() || file.bad())
    return makeError(ErrorKind::Io, "cannot read '", path,
                     "' for --api-key-file: ", std::strerror(errno != 0 ? errno : EIO), ".");
  if (keys.empty())
    return makeError(ErrorKind::InvalidArgument, "'", path, "' has no key for --api-key-file: write one on each line.");
  return keys;
}

std::string nameOf(const std::string &checkpoint) {
  std::filesystem::path path = std::filesystem::path(checkpoint).lexically_normal();
  if (!path.has_filename())
    path = path.parent_path();
  return (path.extension() == ".gguf" ? path.stem() : path.filename()).string();
}

// Writes to all rows of the caches. Linux gives a process its memory when it is first written, in huge pages that it
// clears; texts would otherwise wait for that, because kept texts spread over all rows.
Status touchCaches(Engine &engine, int64_t rows) {
  int64_t half = rows / 2;
  HEDDLE_CHECK(engine.copyCacheRows(rows, 0, rows - half, half));
  return engine.copyCacheRows(rows, rows - half, 0, half);
}

// Opens a model and checks what its task needs, before the port is open.
Result<TrainedModel> open(const ServeCommand &command) {
  HEDDLE_ASSIGN(OpenModel opened, openModel(command.common, nullptr));
  const ModelDescription &description = opened.description;
  Labelling kind = description.labelling();
  if (description.architecture == kEncoderAndDecoder) {
    HEDDLE_CHECK(Translator::check(*opened.engine, description, {}));
  } else if (description.architecture == kDecoderAlone) {
    HEDDLE_CHECK(requireEntries(*opened.engine, {Generator::entryOf(*opened.engine, {})}, "continuing text"));
  } else if (description.givesLabels()) {
    HEDDLE_CHECK(requireEntries(*opened.engine, {"logits"}, "a prediction"));
  } else if (description.architecture == kEncoderAlone || description.architecture == kEmbedder) {
    HEDDLE_CHECK(checkEmbeds(*opened.engine));
  }
  HEDDLE_ASSIGN(TrainedModel model, withWeights(std::move(opened), command.common.base, command.checkpoint));
  if (model.description.givesLabels() && kind != Labelling::Grades)
    HEDDLE_CHECK(checkLabels(*model.vocabulary, model.description, command.checkpoint));
  // Prepare the entries before requests arrive: the first request then does not wait for kernels, and a lack of memory
  // shows now.
  std::vector<std::string_view> entries;
  for (std::string_view entry : {"sample_step", "decode_step", "prefill", "encode", "beam_step", "logits"})
    if (model.engine->hasEntry(entry) && (entry != "logits" || kind != Labelling::None))
      entries.push_back(entry);
  HEDDLE_CHECK(model.engine->prepare(entries, {}));
  if (model.description.architecture == kDecoderAlone)
    HEDDLE_CHECK(touchCaches(*model.engine, model.description.cacheRows));
  return model;
}

Result<std::optional<ChatTemplates>> templatesOf(const ServeCommand &command, const ModelDescription &model) {
  if (model.architecture != kDecoderAlone)
    return std::optional<ChatTemplates>();
  Result<ChatTemplates> templates =
      loadTemplates(command.chatTemplate, command.common.base.empty() ? command.checkpoint : command.common.base);
  if (templates.ok())
    return std::optional(std::move(*templates));
  if (command.chatTemplate.empty() && templates.error().kind == ErrorKind::NotFound)
    return std::optional<ChatTemplates>(); // a model for plain text
  return std::move(templates).error();
}

// Waits for a signal of the set, for at most `seconds`. Returns 0 if none came.
int waitForSignal(const sigset_t &signals, double seconds) {
  timespec time{time_t(seconds), long((seconds - double(time_t(seconds))) * 1e9)};
  int signal = sigtimedwait(&signals, nullptr, &time);
  return signal > 0 ? signal : 0;
}

class Serving {
public:
  Serving(const ServeCommand &command, TrainedModel &model, std::vector<NamedAdapter> adapters)
      : command(command), model(model), adapters(std::move(adapters)) {}

  // Loads the weights of an adapter, numbered from 1; 0 restores the weights that the command names.
  Status switchTo(size_t adapter) {
    if (adapter == 0 && isPublishedModel(command.checkpoint))
      return clearAdapter(*model.engine);
    const std::string &folder = adapter == 0 ? command.checkpoint : adapters[adapter - 1].folder;
    Result loaded = loadWeights(folder, *model.engine, model.description, model.otherMeaning);
    if (loaded.ok())
      return Success();
    log(LogLevel::Error, loaded.message()); // not for clients: it has paths
    return makeError(ErrorKind::Io,
                     adapter == 0 ? "the checkpoint" : "the adapter '" + adapters[adapter - 1].name + "'",
                     " cannot be loaded any more; the server's log says why.");
  }

  // Loads each adapter once before requests arrive, so that errors show now.
  Status checkAdapters() {
    if (!adapters.empty() && model.description.architecture != kDecoderAlone)
      return makeError(ErrorKind::Unsupported,
                       "--adapter is for models that continue texts; `heddle-run merge` puts an "
                       "adapter into the weights of another one.");
    if (!adapters.empty() && !isFrozen(*model.engine))
      return makeError(ErrorKind::InvalidArgument, "--adapter is for artifacts that were compiled with --lora.");
    for (const NamedAdapter &adapter : adapters) {
      HEDDLE_CHECK(loadWeights(adapter.folder, *model.engine, model.description, model.otherMeaning));
      log(LogLevel::Info, str("adapter ", adapter.name, " ", adapter.folder));
    }
    return adapters.empty() ? Status(Success()) : switchTo(0);
  }

  Status reload() {
    HEDDLE_CHECK(
        openBase(command.common.base, command.checkpoint, *model.engine, model.description, command.common.others));
    HEDDLE_CHECK(loadTrained(command.checkpoint, model));
    return Success();
  }

private:
  const ServeCommand &command;
  TrainedModel &model;
  std::vector<NamedAdapter> adapters;
};

} // namespace

Status runServe(const ServeCommand &command) {
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGTERM, SIGINT, SIGHUP})
    sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr); // for all threads started from here on
  std::signal(SIGPIPE, SIG_IGN);

  std::string name = command.name.empty() ? nameOf(command.checkpoint) : command.name;
  HEDDLE_ASSIGN(std::vector<NamedAdapter> adapters, readAdapters(command.adapters, name));
  serve::ServeOptions options;
  options.host = command.host;
  options.port = command.port;
  options.readers = command.readers;
  options.queue = command.queue;
  options.promptTokens = command.promptTokens;
  options.time = std::chrono::seconds(command.timeout);
  options.origin = command.origin;
  if (!command.keyFile.empty()) {
    HEDDLE_ASSIGN(options.keys, readKeys(command.keyFile));
  }
  HEDDLE_ASSIGN(TrainedModel model, open(command));
  HEDDLE_ASSIGN(std::optional<ChatTemplates> templates, templatesOf(command, model.description));
  serve::ServedModel served{*model.engine, model.description, *model.vocabulary, templates ? &*templates : nullptr,
                            name};
  if (checkEmbeds(*model.engine).ok()) {
    HEDDLE_ASSIGN(served.embedding, embeddingRule(command.common, command.checkpoint, model.description));
  }
  for (const NamedAdapter &adapter : adapters)
    served.adapters.push_back(adapter.name);
  Serving serving(command, model, std::move(adapters));
  HEDDLE_CHECK(serving.checkAdapters());
  if (!served.adapters.empty())
    served.switchAdapter = [&](size_t adapter) { return serving.switchTo(adapter); };
  HEDDLE_ASSIGN(std::unique_ptr<serve::Server> server, serve::Server::start(served, options));
  std::string host = command.host.find(':') == std::string::npos ? command.host : "[" + command.host + "]";
  log(LogLevel::Info, str("serving ", name, " on http://", host, ":", server->port()));

  while (true) {
    constexpr double often = 3600;
    int signal = waitForSignal(signals, often);
    if (signal == SIGHUP)
      server->reload([&] { return serving.reload(); },
                     [](const Status &status) {
                       log(status.ok() ? LogLevel::Info : LogLevel::Error,
                           status.ok()
                               ? "the checkpoint is loaded again"
                               : "the checkpoint is not loaded again, and the weights stay: " + status.message());
                     });
    else if (signal != 0)
      break;
  }
  log(LogLevel::Info, "finishing what is in work; a second signal ends at once");
  server->drain();
  while (server->pending() != 0)
    if (int signal = waitForSignal(signals, 0.05); signal == SIGTERM || signal == SIGINT)
      break;
  return Success();
}

} // namespace heddle::run
